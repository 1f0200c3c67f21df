use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use pretty_assertions::assert_eq;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::*;
use crate::{
    net::HttpConfig,
    types::{Entry, UserPart},
};

const KEY: &str = "sk-test-0123456789abcdef";

/// A server that answers each request with the next of the given answers, in pieces of `piece` bytes, and keeps what
/// it was sent. Each answer is whole HTTP text; the connection closes after it.
struct Server {
    url: Url,
    seen: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        text.extend_from_slice(&buffer[..count]);
        let so_far = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>().unwrap();
            if body.len() >= length {
                return so_far;
            }
        }
        assert!(count > 0, "the request broke off: {so_far}");
    }
}

async fn serve(answers: Vec<String>, piece: usize) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, mut task) = (Arc::clone(&seen), JoinSet::new());
    task.spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            log.lock().unwrap().push(request);
            for part in answer.as_bytes().chunks(piece) {
                stream.write_all(part).await.unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
            let _gone = stream.shutdown().await;
        }
    });
    Server { url, seen, _task: task }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn ok(body: &str) -> String {
    http("200 OK", "content-type: application/json\r\n", body)
}

fn streamed(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

const REPLY: &str = r#"{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;

fn model(server: &Server, limits: CallLimits) -> HttpModel {
    let config = HttpModelConfig {
        api: Some(Api::Chat),
        base_url: Some(server.url.clone()),
        key: Some(SecretString::from(KEY)),
        limits,
        ..HttpModelConfig::default()
    };
    let client = HttpClient::new(&HttpConfig::default()).unwrap();
    HttpModel::new(Profile::by_name("openai").unwrap(), config, client).unwrap()
}

fn hello() -> Conversation {
    Conversation::from(vec![Entry::User(vec![UserPart::Text("hello".to_owned())])])
}

async fn ask(model: &HttpModel, stream: bool) -> Result<Reply, ModelError> {
    let request = ModelRequest { stream, ..ModelRequest::default() };
    model.call(&request, &mut hello(), &(), &CancellationToken::new()).await
}

#[tokio::test]
async fn a_call_goes_to_the_right_place_with_the_key_and_comes_back_as_a_reply() {
    let server = serve(vec![ok(REPLY)], 7).await;
    let model = model(&server, CallLimits::default());
    let reply = ask(&model, false).await.unwrap();
    assert_eq!(reply.text_and_citations().0, "Hi");
    assert_eq!(model.price(&reply.usage.unwrap()), Some(MicroUsd::new(80)));
    let seen = server.seen.lock().unwrap().clone();
    let (head, body) = seen[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
    assert_eq!(body, r#"{"model":"gpt-5.6","messages":[{"role":"user","content":"hello"}]}"#);
}

#[tokio::test]
async fn an_overloaded_provider_is_asked_again_and_no_more_than_three_times() {
    let busy = http("503 Busy", "retry-after-ms: 1\r\n", "{}");
    let server = serve(vec![busy.clone(), busy.clone(), ok(REPLY)], 4096).await;
    assert!(ask(&model(&server, CallLimits::default()), false).await.is_ok());
    assert_eq!(server.seen.lock().unwrap().len(), 3);

    let server = serve(vec![busy.clone(), busy.clone(), busy], 4096).await;
    let error = ask(&model(&server, CallLimits::default()), false).await.unwrap_err();
    assert_eq!((error.kind, error.attempts, error.status), (ModelErrorKind::Unavailable, 3, Some(503)));
}

#[tokio::test]
async fn what_waiting_does_not_help_is_not_asked_again() {
    let body = r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let server = serve(vec![http("429 Too Many", "", body)], 4096).await;
    let error = ask(&model(&server, CallLimits::default()), false).await.unwrap_err();
    assert_eq!((error.kind, error.retryable, error.attempts), (ModelErrorKind::Quota, false, 1));
}

#[tokio::test]
async fn a_request_with_a_hosted_tool_that_may_write_is_repeated_only_if_it_surely_did_not_begin() {
    let mcp = || {
        let mut request = ModelRequest::default();
        let tool = serde_json::json!([{"type": "mcp", "server_label": "s", "server_url": "https://mcp.example/"}]);
        request.extra.insert("builtin_tools".to_owned(), tool);
        request
    };
    let reply = r#"{"id":"r","status":"completed","output":[]}"#;
    for (first, sent) in
        [(http("503 Busy", "retry-after-ms: 1\r\n", "{}"), 1), (http("429 Slow", "retry-after-ms: 1\r\n", "{}"), 2)]
    {
        let server = serve(vec![first, ok(reply)], 4096).await;
        let config = HttpModelConfig { base_url: Some(server.url.clone()), ..HttpModelConfig::default() };
        let client = HttpClient::new(&HttpConfig::default()).unwrap();
        let model = HttpModel::new(Profile::by_name("openai").unwrap(), config, client).unwrap();
        let answer = model.call(&mcp(), &mut hello(), &(), &CancellationToken::new()).await;
        assert_eq!((answer.is_ok(), server.seen.lock().unwrap().len()), (sent == 2, sent));
    }
}

/// DEV-M03
#[tokio::test]
async fn an_error_body_that_echoes_the_key_is_masked() {
    let body = format!(
        r#"{{"error":{{"message":"invalid key {KEY}, also sk-test-01***cdef. Not sk-learn.","code":"invalid_api_key"}}}}"#
    );
    let server = serve(vec![http("401 Unauthorized", "", &body)], 4096).await;
    let model = model(&server, CallLimits::default());
    let error = ask(&model, false).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert_eq!(error.message, "invalid key ***, also ***. Not sk-learn. (code `invalid_api_key`)");
    assert!(!format!("{model:?}").contains("sk-test"));
}

struct Texts(Mutex<String>, AtomicUsize);

impl ReplySink for Texts {
    fn on(&self, event: ReplyEvent) {
        if let ReplyEvent::Text(text) = event {
            self.0.lock().unwrap().push_str(&text);
        }
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

const STREAM: &str = "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"H\u{e9}\"}}]}\r\n\r\n: keep-alive\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\r\n\r\ndata: [DONE]\r\n\r\n";

#[tokio::test]
async fn a_stream_in_pieces_of_three_bytes_is_one_reply() {
    let server = serve(vec![streamed(STREAM)], 3).await;
    let (model, sink) = (model(&server, CallLimits::default()), Texts(Mutex::default(), AtomicUsize::new(0)));
    let request = ModelRequest { stream: true, ..ModelRequest::default() };
    let reply = model.call(&request, &mut hello(), &sink, &CancellationToken::new()).await.unwrap();
    assert_eq!((reply.text_and_citations().0.as_str(), &reply.stop), ("Héllo", &Stop::End));
    assert_eq!(sink.0.into_inner().unwrap(), "Héllo");
    assert!(server.seen.lock().unwrap()[0].contains("\"stream_options\":{\"include_usage\":true}"));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood_all_the_same() {
    let server = serve(vec![ok(REPLY)], 4096).await;
    assert_eq!(ask(&model(&server, CallLimits::default()), true).await.unwrap().text_and_citations().0, "Hi");
}

#[tokio::test]
async fn a_stream_cut_after_it_began_is_kept_and_not_asked_for_again() {
    let cut = STREAM.split_once(": keep-alive").unwrap().0;
    let server = serve(vec![streamed(cut)], 4096).await;
    let reply = ask(&model(&server, CallLimits::default()), true).await.unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)), "{reply:?}");
    assert_eq!(reply.text_and_citations().0, "Hé");
    assert_eq!(server.seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let server = serve(vec![], 1).await;
    let (model, cancel) = (model(&server, CallLimits::default()), CancellationToken::new());
    let request = ModelRequest::default();
    let mut conversation = hello();
    let call = model.call(&request, &mut conversation, &(), &cancel);
    let (reply, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(reply.unwrap_err().kind, ModelErrorKind::Cancelled);
}

#[tokio::test]
async fn a_refused_connection_is_a_network_error_that_may_pass() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let server = Server { url, seen: Arc::default(), _task: JoinSet::new() };
    let limits = CallLimits { attempts: 1, ..CallLimits::default() };
    let error = ask(&model(&server, limits), false).await.unwrap_err();
    assert_eq!((error.kind, error.retryable, error.attempts), (ModelErrorKind::Network, true, 1));
}

#[test]
fn a_model_needs_name_address_and_a_key_that_fits_into_a_header() {
    let client = || HttpClient::new(&HttpConfig::default()).unwrap();
    let set_up =
        |provider: &str, config| HttpModel::new(Profile::by_name(provider).unwrap(), config, client()).map(|_| ());
    assert_eq!(set_up("compatible", HttpModelConfig::default()), Err(SetUpError::NoModel("compatible".to_owned())));
    let named = HttpModelConfig { model: "m".parse().ok(), ..HttpModelConfig::default() };
    assert_eq!(set_up("compatible", named), Err(SetUpError::NoAddress("compatible".to_owned())));
    let split = HttpModelConfig { key: Some(SecretString::from("sk-a\nb")), ..HttpModelConfig::default() };
    assert_eq!(set_up("openai", split), Err(SetUpError::BadKey("openai".to_owned())));
    let other = HttpModelConfig { api: Some(Api::Messages), ..HttpModelConfig::default() };
    assert!(matches!(set_up("openai", other), Err(SetUpError::NoApi { .. })));
}

fn lookup() -> Arc<crate::llm::ToolDef> {
    let schema =
        serde_json::json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    Arc::new(crate::llm::ToolDef {
        name: "file.search".parse().unwrap(),
        description: "Searches files.".to_owned(),
        parameters: Arc::new(schema),
        strict: false,
        deferred: false,
    })
}

#[tokio::test]
async fn a_server_that_ignores_a_forced_choice_is_held_to_a_call_by_the_answers_schema() {
    let written = serde_json::json!(r#"{"name":"file.search","arguments":{"query":"a","n":1.0}}"#);
    let call = format!(
        r#"{{"id":"x","choices":[{{"index":0,"message":{{"role":"assistant","content":{written}}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":5,"completion_tokens":3}}}}"#
    );
    let server = serve(vec![ok(REPLY), ok(&call), ok(&call)], 4096).await;
    let config = HttpModelConfig {
        model: Some("m".parse().unwrap()),
        base_url: Some(server.url.clone()),
        ..HttpModelConfig::default()
    };
    let client = HttpClient::new(&HttpConfig::default()).unwrap();
    let model = HttpModel::new(Profile::by_name("compatible").unwrap(), config, client).unwrap();
    let request =
        ModelRequest { tools_defs: vec![lookup()], tool_choice: ToolChoice::Required, ..ModelRequest::default() };
    // What the ignored call cost is not forgotten.
    for input in [10 + 5, 5] {
        let reply = model.call(&request, &mut hello(), &(), &CancellationToken::new()).await.unwrap();
        let calls: Vec<_> = reply.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, [("file.search", r#"{"query":"a","n":1.0}"#)]);
        assert_eq!((reply.stop, reply.usage.unwrap().prompt()), (Stop::ToolCalls, input));
    }
    let seen = server.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 3, "found out once, then held at once");
    assert!(seen[0].contains(r#""tool_choice":"required""#) && !seen[0].contains("response_format"));
    for held in &seen[1..] {
        assert!(held.contains("json_schema") && held.contains("file.search") && !held.contains(r#""tools""#), "{held}");
    }
}
