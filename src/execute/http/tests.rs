use std::collections::BTreeMap;

use agcore_testkit::{FakeProvider, Script, answer as reply};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    execute::{
        Attempted, RunPolicy, run_one,
        testing::{capability, context, context_with},
    },
    net::HttpConfig,
    types::{Content, ErrorCode, SideEffect},
};

fn get(url: &str) -> HttpCall {
    HttpCall {
        method: "get".into(),
        url: url.into(),
        query: BTreeMap::new(),
        headers: BTreeMap::new(),
        json_body: false,
        idempotency_header: None,
        select: None,
    }
}

fn post(url: &str) -> HttpCall {
    HttpCall { method: "POST".into(), json_body: true, ..get(url) }
}

fn declared(call: HttpCall, side_effect: SideEffect) -> Capability {
    let mut declared = capability("shop");
    declared.execution.http = Some(call);
    declared.execution.side_effect = side_effect;
    declared
}

fn tool(call: HttpCall, side_effect: SideEffect) -> Result<HttpTool, HttpToolError> {
    HttpTool::new(&declared(call, side_effect), HttpClient::new(&HttpConfig::default()).unwrap())
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn run(call: HttpCall, side_effect: SideEffect, arguments: Value) -> Result<ToolOutput, ToolError> {
    tool(call, side_effect).unwrap().run(&arguments, &context()).await
}

async fn read(call: HttpCall, arguments: Value) -> Result<ToolOutput, ToolError> {
    run(call, SideEffect::ReadOnly, arguments).await
}

/// A provider whose model address answers with this status and body.
async fn answering(status: u16, body: &str, headers: &[(&str, &str)]) -> (FakeProvider, HttpCall) {
    let answer = headers.iter().fold(reply().status(status, body), |answer, (name, value)| answer.header(name, value));
    let provider = FakeProvider::start(Script::new([answer])).await;
    let call = post(&format!("{}/responses", provider.base_url()));
    (provider, call)
}

/// A request that the fake provider accepts.
fn accepted() -> Value {
    json!({"input": "hi"})
}

#[tokio::test]
async fn arguments_go_into_path_query_and_body_each_in_its_own_form() {
    let provider = FakeProvider::start(Script::default()).await;
    let root = provider.root_url();
    let mut search = get(&format!("{root}/effects/{{kind}}?fixed=1"));
    search.query = pairs(&[("q", "query"), ("tag", "tags"), ("range", "{from}..{to}"), ("absent", "absent")]);
    let arguments = json!({"kind": "a b/c", "query": "ü&x=1", "tags": ["p", "q"], "from": 1, "to": 2.50});
    let output = read(search, arguments).await.unwrap();
    let expected = json!({"name": "a%20b%2Fc", "query": {"fixed": "1", "q": "ü&x=1", "range": "1..2.5", "tag": "q"}});
    assert_eq!(output, ToolOutput::json(&expected));
    let path = &provider.service_requests()[0].path;
    assert!(path.contains("tag=p&tag=q"), "{path}");

    let mut order = post(&format!("{root}/effects/{{kind}}"));
    order.idempotency_header = Some("Idempotency-Key".into());
    order.headers = pairs(&[("x-team", "blue team")]);
    let amount: Value = serde_json::from_str("{\"kind\":\"order\",\"amount\":12345678901234567890.10}").unwrap();
    let output = run(order, SideEffect::IdempotentWrite, amount).await.unwrap();
    assert_eq!(output, ToolOutput::json(&json!({"receipt": "order-0"})));
    let sent = &provider.service_requests()[1];
    assert_eq!(sent.bytes, "{\"amount\":12345678901234567890.10}");
    let headers = ["idempotency-key", "x-team", "content-type"].map(|name| sent.header(name).unwrap());
    assert_eq!(headers, ["turn-1/call-1", "blue team", "application/json"]);
}

#[tokio::test]
async fn arguments_cannot_change_where_the_address_leads() {
    let call = || get("http://127.0.0.1:9/orders/{a}{b}");
    for (a, b) in [("..", ""), (".", "."), ("", "x"), ("x", "")] {
        let error = read(call(), json!({"a": a, "b": b})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::SchemaValidation, "{a:?} {b:?}: {error:?}");
    }
    let missing = read(call(), json!({"a": "x"})).await.unwrap_err();
    assert_eq!(missing, errors::schema_validation("`b` has to be a text or a number"));
}

#[test]
fn whatever_the_arguments_host_and_path_keep_their_shape() {
    let tool = tool(get("http://127.0.0.1:9/orders/{a}/items-{b}?q={c}"), SideEffect::ReadOnly).unwrap();
    proptest!(|(a in any::<String>(), b in "[./\\\\%2eE?#@:]{0,6}", c in any::<String>())| {
        let arguments = json!({"a": a, "b": b, "c": c});
        match tool.target(arguments.as_object().unwrap()) {
            Err(error) => prop_assert_eq!(error.code, ErrorCode::SchemaValidation),
            Ok(url) => {
                prop_assert_eq!((url.scheme(), url.host_str(), url.port()), ("http", Some("127.0.0.1"), Some(9)));
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 3, "{}", url);
                prop_assert_eq!(segments[0], "orders");
                prop_assert!(segments[2].starts_with("items-"), "{}", url);
                prop_assert_eq!(url.query_pairs().collect::<Vec<_>>(), [("q".into(), c.into())]);
                prop_assert_eq!(url.fragment(), None);
            }
        }
    });
}

#[test]
fn a_call_that_could_be_led_elsewhere_is_refused_when_it_is_declared() {
    let with = |change: fn(&mut HttpCall)| {
        let mut call = post("http://h/x");
        change(&mut call);
        call
    };
    for (call, said) in [
        (get("https://{host}/x"), "http.url: the host must not hold an argument"),
        (get("https://api.{host}.com/x"), "http.url: the host must not hold an argument"),
        (get("{scheme}://h/x"), "http.url: the host must not hold an argument"),
        (get("https://me:pw@h/x"), "http.url: it must not hold a credential"),
        (get("https://h/x/../y"), "http.url: its path must not hold"),
        (get("https://h/x/%2E%2e/y"), "http.url: its path must not hold"),
        (get("ftp://h/x"), "http.url: it has to start with http"),
        (get("h/x"), "http.url: it has to start with http"),
        (get("https://h/{x"), "http.url: a `{` has no `}`"),
        (with(|call| call.method = "TRACE".into()), "http.method: use GET"),
        (with(|call| call.method = "GET".into()), "http.json_body: a GET has no body"),
        (with(|call| call.select = Some("a".into())), "http.select: a JSON pointer"),
        (with(|call| call.headers = pairs(&[("a b", "c")])), "http.headers.a b: it is no header name"),
        (with(|call| call.query = pairs(&[("q", "{")])), "http.query.q: a `{` has no `}`"),
    ] {
        let error = tool(call, SideEffect::ReadOnly).unwrap_err().to_string();
        assert!(error.starts_with(&format!("capability `shop`, {said}")), "`{error}` should say `{said}`");
    }
}

#[tokio::test]
async fn secrets_are_sent_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "s3cr3t-value\n").unwrap();
    let provider = FakeProvider::start(Script::default()).await;
    let mut call = get(&format!("{}/effects/x", provider.root_url()));
    call.headers = pairs(&[("authorization", &format!("Bearer file:{}", path.display()))]);
    let made = tool(call.clone(), SideEffect::ReadOnly).unwrap();
    made.run(&json!({}), &context()).await.unwrap();
    assert_eq!(provider.service_requests()[0].header("authorization"), Some("Bearer s3cr3t-value"));
    let request = made.request(&json!({}), &context()).unwrap();
    assert!(!format!("{made:?} {request:?}").contains("s3cr3t"));

    std::fs::remove_file(&path).unwrap();
    let error = read(call, json!({})).await.unwrap_err();
    assert_eq!((error.code, error.retryable), (ErrorCode::ExecutorUnavailable, false));
    assert!(!error.safe_message.contains("token"), "the path is for the trace only");
}

#[tokio::test]
async fn every_status_becomes_its_error() {
    use ErrorCode as E;
    let said = "{\"error\":{\"message\":\"no\\n such <thing>\"}}";
    for (status, side_effect, code, retryable) in [
        (400, SideEffect::ReadOnly, E::SchemaValidation, false),
        (401, SideEffect::ReadOnly, E::PermissionDenied, false),
        (403, SideEffect::ReadOnly, E::PermissionDenied, false),
        (404, SideEffect::ReadOnly, E::NotFound, false),
        (408, SideEffect::ReadOnly, E::Timeout, true),
        (409, SideEffect::NonIdempotentWrite, E::ToolFailed, false),
        (422, SideEffect::NonIdempotentWrite, E::SchemaValidation, false),
        (429, SideEffect::ReadOnly, E::RateLimited, true),
        (302, SideEffect::ReadOnly, E::ToolFailed, false),
        (500, SideEffect::ReadOnly, E::ToolFailed, true),
        (500, SideEffect::NonIdempotentWrite, E::Interrupted, true),
        (502, SideEffect::NonIdempotentWrite, E::Interrupted, true),
        (503, SideEffect::NonIdempotentWrite, E::ExecutorUnavailable, true),
        (504, SideEffect::ReadOnly, E::Timeout, true),
    ] {
        let (_provider, call) = answering(status, said, &[]).await;
        let error = run(call, side_effect, accepted()).await.unwrap_err();
        assert_eq!((error.code, error.retryable), (code, retryable), "{status}: {error:?}");
        assert!(error.developer_message.starts_with(&format!("HTTP {status}")), "{error:?}");
        assert!(!error.next_action_hint.is_empty());
    }
    let (_provider, call) = answering(422, said, &[]).await;
    assert_eq!(
        read(call, accepted()).await.unwrap_err().safe_message,
        "the arguments do not match the schema: no such <thing>"
    );
    let (_provider, call) = answering(429, "<html>slow down</html>", &[("retry-after", "3")]).await;
    let limited = read(call, accepted()).await.unwrap_err();
    assert_eq!(limited, errors::rate_limited(Some(DurationMs(3000))).developer("HTTP 429"));
}

#[tokio::test]
async fn answers_keep_their_kind_and_select_takes_a_part() {
    for (kind, body, select, expected) in [
        ("application/json", "{\"n\":1.50}", None, Ok(Content::Json("{\"n\":1.50}".into()))),
        ("application/json", "{\"n\":1.50}", Some("/n"), Ok(Content::Json("1.50".into()))),
        ("application/json", "{\"a\":[\"x\"]}", Some("/a/0"), Ok(Content::Text("x".into()))),
        ("application/json", "{\"a\":[\"x\"]}", Some("/b"), Err(ErrorCode::ToolFailed)),
        ("application/json", "{broken", None, Ok(Content::Text("{broken".into()))),
        ("text/plain; charset=utf-8", "{}", None, Ok(Content::Text("{}".into()))),
        ("application/pdf", "%PDF", None, Ok(Content::Media { mime: "application/pdf".into(), bytes: "%PDF".into() })),
    ] {
        let (_provider, mut call) = answering(200, body, &[("content-type", kind)]).await;
        call.select = select.map(str::to_owned);
        let got = read(call, accepted()).await;
        let expected = expected.map(|content| ToolOutput { content: vec![content], ..ToolOutput::default() });
        assert_eq!(got.map_err(|error| error.code), expected, "{kind} {body} {select:?}");
    }
    let (_provider, call) = answering(204, "", &[]).await;
    assert_eq!(read(call, accepted()).await, Ok(ToolOutput::text("done (HTTP 204)")));
}

#[tokio::test]
async fn a_write_that_happened_is_no_error_whatever_its_answer_looks_like() {
    let (_provider, mut call) =
        answering(201, "{\"order\":\"o-7\"}", &[("location", "/orders/o-7"), ("content-type", "application/json")])
            .await;
    call.select = Some("/missing".into());
    let output = run(call, SideEffect::NonIdempotentWrite, accepted()).await;
    let expected = ToolOutput {
        receipt: Some("/orders/o-7".into()),
        content: vec![Content::Json("{\"order\":\"o-7\"}".into())],
        ..ToolOutput::default()
    };
    assert_eq!(output, Ok(expected));

    let huge = format!("\"{}\"", "x".repeat(MAX_ANSWER));
    for (side_effect, happened) in [(SideEffect::NonIdempotentWrite, true), (SideEffect::ReadOnly, false)] {
        let answer = reply().status(200, huge.clone()).delivery(Default::default());
        let provider = FakeProvider::start(Script::new([answer])).await;
        let call = post(&format!("{}/responses", provider.base_url()));
        let result = run(call, side_effect, accepted()).await;
        assert_eq!(result.is_ok(), happened, "{side_effect}");
    }
}

/// Runs a POST to the service `name` with this fault, under the policy its capability declares.
async fn faulty(provider: &FakeProvider, fault: &str, side_effect: SideEffect, key: bool) -> Attempted {
    let mut call = post(&format!("{}/effects/order?fault={fault}", provider.root_url()));
    call.idempotency_header = key.then(|| "Idempotency-Key".into());
    let mut declared = declared(call, side_effect);
    declared.execution.retries = 2;
    declared.execution.idempotency_key_required = key;
    let tool = HttpTool::new(&declared, HttpClient::new(&HttpConfig::default()).unwrap()).unwrap();
    run_one(&tool, &json!({"item": 7}), context(), RunPolicy::of(&declared.execution)).await
}

/// DEV-J01: the service commits and the connection breaks.
#[tokio::test]
async fn a_committed_write_whose_answer_is_lost_has_one_effect() {
    let provider = FakeProvider::start(Script::default()).await;
    let keyed = faulty(&provider, "cut", SideEffect::IdempotentWrite, true).await;
    assert_eq!((keyed.result, keyed.attempts), (Ok(ToolOutput::json(&json!({"receipt": "order-0"}))), 2));
    assert_eq!((provider.effects().count("order"), provider.effects().requests("order")), (1, 2));

    let provider = FakeProvider::start(Script::default()).await;
    let plain = faulty(&provider, "cut", SideEffect::NonIdempotentWrite, false).await;
    assert_eq!((plain.result.unwrap_err().code, plain.attempts), (ErrorCode::OutcomeUnknown, 1));
    assert_eq!((provider.effects().count("order"), provider.effects().requests("order")), (1, 1));
}

/// DEV-J01: a service that says that it failed before it did anything.
#[tokio::test]
async fn a_service_that_is_down_is_asked_again_only_for_reads_and_keyed_writes() {
    for (side_effect, key, attempts, code) in [
        (SideEffect::ReadOnly, false, 3, ErrorCode::ExecutorUnavailable),
        (SideEffect::IdempotentWrite, true, 3, ErrorCode::ExecutorUnavailable),
        (SideEffect::NonIdempotentWrite, false, 1, ErrorCode::ExecutorUnavailable),
    ] {
        let provider = FakeProvider::start(Script::default()).await;
        let ended = faulty(&provider, "503", side_effect, key).await;
        assert_eq!((ended.result.unwrap_err().code, ended.attempts), (code, attempts), "{side_effect}");
        assert_eq!(provider.effects().count("order"), 0);
    }
}

/// DEV-J02: cancelled while the service works.
#[tokio::test]
async fn a_write_cancelled_in_flight_is_unknown_and_not_repeated() {
    let provider = FakeProvider::start(Script::default()).await;
    let call = post(&format!("{}/effects/order?fault=stall", provider.root_url()));
    let declared = declared(call, SideEffect::NonIdempotentWrite);
    let tool = HttpTool::new(&declared, HttpClient::new(&HttpConfig::default()).unwrap()).unwrap();
    let cancel = CancellationToken::new();
    let (arguments, policy) = (json!({}), RunPolicy::of(&declared.execution));
    let call = run_one(&tool, &arguments, context_with(cancel.clone()), policy);
    let (ended, ()) = tokio::join!(call, async {
        provider.release().arrived(1).await;
        cancel.cancel();
    });
    assert_eq!((ended.result, ended.attempts), (Err(errors::outcome_unknown("it was stopped")), 1));
    assert_eq!((provider.effects().count("order"), provider.effects().requests("order")), (1, 1));
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unavailable() {
    let provider = FakeProvider::start(Script::default()).await;
    let url = provider.root_url();
    drop(provider);
    let error = run(post(&format!("{url}/x")), SideEffect::NonIdempotentWrite, json!({})).await.unwrap_err();
    assert_eq!((error.code, error.retryable), (ErrorCode::ExecutorUnavailable, true));
}
