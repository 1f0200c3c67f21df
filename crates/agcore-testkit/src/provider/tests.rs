use std::time::Duration;

use agcore::net::{HttpClient, HttpConfig, HttpRequest, HttpResponse, NetError, NetErrorKind};
use pretty_assertions::assert_eq;
use tokio::time::Instant;

use super::*;
use crate::answer;

const LONG: Duration = Duration::from_secs(60);

type Headers<'a> = [(&'static str, &'a str)];

async fn send(method: &str, url: &str, body: &Value, headers: &Headers<'_>) -> HttpResponse {
    try_send(method, url, body, headers).await.unwrap()
}

async fn try_send(method: &str, url: &str, body: &Value, headers: &Headers<'_>) -> Result<HttpResponse, NetError> {
    let client = HttpClient::new(&HttpConfig::default()).unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let request = HttpRequest {
        method: method.parse().unwrap(),
        url: url.parse().unwrap(),
        headers: map,
        body: if body.is_null() { Bytes::new() } else { body.to_string().into() },
        idle_timeout: LONG,
        deadline: Instant::now() + LONG,
    };
    client.send(request).await
}

async fn post(provider: &FakeProvider, path: &str, body: &Value) -> HttpResponse {
    send("POST", &format!("{}{path}", provider.base_url()), body, &[]).await
}

async fn json(response: HttpResponse) -> Value {
    serde_json::from_slice(&response.bytes(1 << 20).await.unwrap()).unwrap()
}

/// The pieces a body came in, and the whole.
async fn pieces(mut response: HttpResponse) -> (Vec<usize>, String) {
    let (mut sizes, mut whole) = (Vec::new(), Vec::new());
    while let Some(piece) = response.chunk().await.unwrap() {
        sizes.push(piece.len());
        whole.extend_from_slice(&piece);
    }
    (sizes, String::from_utf8(whole).unwrap())
}

/// The data of each event of a stream.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.split("\r\n\r\n").filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}

fn ask(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "input": "hi", "messages": [{"role": "user", "content": "hi"}]})
}

#[tokio::test]
async fn responses_are_whole_or_streamed_in_odd_pieces_with_the_same_content() {
    let script = || answer().text("héllo 世界, again").call("f", json!({"q": "ü"}));
    let provider = FakeProvider::start(Script::new([script(), script()])).await;
    let whole = json(post(&provider, "/responses", &ask(false)).await).await;
    assert_eq!(whole["output"][0]["content"][0]["text"], "héllo 世界, again");
    assert_eq!(whole["output"][1]["arguments"], "{\"q\":\"ü\"}");

    let (sizes, stream) = pieces(post(&provider, "/responses", &ask(true)).await).await;
    let cuts = || {
        sizes.iter().scan(0, |at, size| {
            *at += size;
            Some(*at)
        })
    };
    assert!(cuts().any(|at| !stream.is_char_boundary(at)), "cut inside a character");
    assert!(cuts().any(|at| stream.as_bytes().get(at - 1..=at) == Some(b"\r\n")), "cut inside a line end");
    let events = events(&stream);
    let of = |kind: &str| -> Vec<&Value> { events.iter().filter(|event| event["type"] == kind).collect() };
    let joined = |kind: &str| -> String { of(kind).iter().filter_map(|event| event["delta"].as_str()).collect() };
    assert_eq!(joined("response.output_text.delta"), "héllo 世界, again");
    assert_eq!(joined("response.function_call_arguments.delta"), "{\"q\":\"ü\"}");
    let last = &events[events.len() - 1];
    assert_eq!(last["response"]["output"][0], whole["output"][0].clone().tap_id("msg_1"));
    assert_eq!(last["type"], "response.completed");
    assert_eq!(provider.violations(), [""; 0]);
}

trait TapId {
    fn tap_id(self, id: &str) -> Self;
}

impl TapId for Value {
    fn tap_id(mut self, id: &str) -> Self {
        self["id"] = id.into();
        self
    }
}

#[tokio::test]
async fn completions_are_whole_or_streamed_with_the_same_content() {
    let script = || answer().text("世界 ok").call("f", json!({"q": 1}));
    let provider = FakeProvider::start(Script::new([script(), script()])).await;
    let whole = json(post(&provider, "/chat/completions", &ask(false)).await).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(
        (message["content"].as_str(), &whole["choices"][0]["finish_reason"]),
        (Some("世界 ok"), &"tool_calls".into())
    );
    assert_eq!(message["tool_calls"][0]["function"], json!({"name": "f", "arguments": "{\"q\":1}"}));

    let (_, stream) = pieces(post(&provider, "/chat/completions", &ask(true)).await).await;
    let events = events(&stream);
    let joined =
        |pointer: &str| -> String { events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect() };
    assert_eq!(joined("/choices/0/delta/content"), "世界 ok");
    assert_eq!(joined("/choices/0/delta/tool_calls/0/function/arguments"), "{\"q\":1}");
    assert_eq!(events[events.len() - 1], "[DONE]");
    assert_eq!(events[events.len() - 2]["usage"]["total_tokens"], 110);
}

#[tokio::test]
async fn a_request_that_breaks_the_protocol_is_refused_and_kept_and_uses_up_no_answer() {
    let provider = FakeProvider::start(Script::new([answer().text("fine")])).await;
    let broken = json!({"input": [{"role": "user", "content": "hi"},
        {"type": "function_call_output", "call_id": "call_x", "output": "?"}]});
    let refused = post(&provider, "/responses", &broken).await;
    assert_eq!(refused.status, 400);
    let message = "No tool call found for function call output with call_id call_x.";
    assert_eq!(json(refused).await["error"]["message"], message);
    assert_eq!(provider.violations(), [message]);
    assert_eq!(post(&provider, "/responses", &ask(false)).await.status, 200);
    assert_eq!(provider.requests().len(), 2);
    assert_eq!(provider.requests()[0].json(), broken);
    assert_eq!(post(&provider, "/responses", &ask(false)).await.status, 400, "the script is over");
    assert_eq!(provider.violations()[1], "the script has 1 answers, none for request 1 (from 0)");
}

#[tokio::test]
async fn answers_by_position_serve_conversations_side_by_side_and_repeats_alike() {
    let script = Script::new([answer().call("f", json!({})), answer().text("done")]).by_position();
    let provider = FakeProvider::start(script).await;
    let first = json!({"input": [{"role": "user", "content": "hi"}]});
    let a = json(post(&provider, "/responses", &first).await).await;
    let b = json(post(&provider, "/responses", &first).await).await;
    assert_ne!(a["output"][0]["call_id"], b["output"][0]["call_id"]);
    let id = &a["output"][0]["call_id"];
    let second = json!({"input": [first["input"][0], a["output"][0],
        {"type": "function_call_output", "call_id": id, "output": "ok"}]});
    for _ in 0..2 {
        let last = json(post(&provider, "/responses", &second).await).await;
        assert_eq!(last["output"][0]["content"][0]["text"], "done");
    }
    assert_eq!(provider.violations(), [""; 0]);
}

#[tokio::test]
async fn a_stream_can_be_cut_and_held_back() {
    let cut = Delivery { cut_after: Some(100), ..Delivery::default() };
    let stall = Delivery { stall_after: Some(100), ..Delivery::default() };
    let script = Script::new([answer().text("x").delivery(cut), answer().text("x").delivery(stall)]);
    let provider = FakeProvider::start(script).await;

    let mut broken = post(&provider, "/responses", &ask(true)).await;
    let mut got = 0;
    let error = loop {
        match broken.chunk().await {
            Ok(piece) => got += piece.expect("not a clean end").len(),
            Err(error) => break error,
        }
    };
    assert_eq!((got, error.kind()), (100, NetErrorKind::Broken));

    let mut held = post(&provider, "/responses", &ask(true)).await;
    assert_eq!(held.chunk().await.unwrap().unwrap().len(), 100);
    provider.release().arrived(1).await;
    provider.release().open();
    assert!(pieces(held).await.1.contains("response.completed"));
}

#[tokio::test]
async fn any_status_header_and_body_can_be_answered_and_failures_with_status_200() {
    let limited = answer().status(429, "{\"error\":{\"message\":\"slow down\"}}").header("retry-after", "2");
    let failed = || answer().failed("server_error", "boom");
    let provider = FakeProvider::start(Script::new([limited, failed(), failed()])).await;
    let response = post(&provider, "/responses", &ask(false)).await;
    assert_eq!((response.status.as_u16(), response.header("retry-after")), (429, Some("2")));
    assert_eq!(json(response).await, json!({"error": {"message": "slow down"}}));
    let response = post(&provider, "/responses", &ask(false)).await;
    assert_eq!(response.status, 200);
    let body = json(response).await;
    assert_eq!((&body["status"], &body["error"]["code"]), (&"failed".into(), &"server_error".into()));
    let response = post(&provider, "/chat/completions", &ask(false)).await;
    assert_eq!(response.status, 200);
    assert_eq!(json(response).await["error"]["message"], "boom");
}

#[tokio::test]
async fn effects_are_counted_once_per_key_and_faults_come_after_the_effect() {
    let provider = FakeProvider::start(Script::default()).await;
    let url = |path: &str| format!("{}/effects{path}", provider.root_url());
    let key = [("idempotency-key", "k1")];
    let order = json!({"item": 7});
    let first = json(send("POST", &url("/order"), &order, &key).await).await;
    let again = json(send("POST", &url("/order"), &order, &key).await).await;
    assert_eq!((&first, &again), (&json!({"receipt": "order-0"}), &first));
    assert_eq!(json(send("GET", &url("/order?key=k1"), &Value::Null, &[]).await).await, first);
    assert_eq!(send("GET", &url("/order?key=k2"), &Value::Null, &[]).await.status, 404);

    assert_eq!(send("POST", &url("/mail?fault=503"), &order, &[]).await.status, 503);
    assert_eq!(provider.effects().count("mail"), 0);
    let cut = try_send("POST", &url("/mail?fault=cut"), &order, &[]).await;
    assert_eq!(cut.unwrap_err().kind(), NetErrorKind::Broken);
    assert_eq!(provider.effects().count("mail"), 1);

    let looked = json(send("GET", &url("/find?q=a%20b%2Bc"), &Value::Null, &[]).await).await;
    assert_eq!(looked, json!({"name": "find", "query": {"q": "a b+c"}}));
    let counts = json(send("GET", &url(""), &Value::Null, &[]).await).await;
    assert_eq!(
        counts,
        json!({
            "find": {"effects": 0, "requests": 1},
            "mail": {"effects": 1, "requests": 2},
            "order": {"effects": 1, "requests": 4},
        })
    );
    let expected = crate::Effect { name: "order".into(), key: Some("k1".into()), body: order };
    assert_eq!(provider.effects().all()[0], expected);
}
