use std::sync::Mutex;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::{llm::SseParser, types::HostedStatus};

#[derive(Default)]
struct Sink(Mutex<Vec<ReplyEvent>>);

impl ReplySink for Sink {
    fn on(&self, event: ReplyEvent) {
        self.0.lock().unwrap().push(event);
    }
}

fn reading() -> Reading {
    Reading::of((*super::super::tests::target().origin).clone())
}

fn fold(events: &[Value]) -> (Result<Reply, ModelError>, Vec<ReplyEvent>) {
    let sink = Sink::default();
    let (mut parser, mut fold) = (SseParser::new(), Box::new(ResponseFold::new(reading())));
    let sse: String = events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect();
    parser.push(sse.as_bytes(), |event| fold.push(event, &sink)).unwrap();
    (fold.finish(), sink.0.into_inner().unwrap())
}

fn value(reply: &Reply) -> Value {
    serde_json::to_value(reply).unwrap()
}

fn call_item() -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "call_1", "name": "now", "arguments": "{\"a\":1}", "status": "completed"})
}

fn message_item() -> Value {
    json!({"type": "message", "id": "msg", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Hi é", "annotations": []}]})
}

fn completed(output: &Value) -> Value {
    json!({"id": "resp", "status": "completed", "output": output, "usage": {"input_tokens": 3, "output_tokens": 4}})
}

fn stream(output: &Value) -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"id": "resp", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "a", "call_id": "call_1", "name": "now", "arguments": ""}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "b", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "rotated", "content_index": 0, "delta": "Hi ", "obfuscation": "xx"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "rotated", "delta": "{\"a\""}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "again", "content_index": 0, "delta": "é"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"}),
        json!({"type": "response.brand_new.thing", "output_index": 9}),
        json!({"type": "keepalive"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": message_item()}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call_item()}),
        json!({"type": "response.completed", "response": completed(output)}),
    ]
}

#[test]
fn a_streamed_reply_equals_the_unary_one_also_when_the_last_event_has_no_items() {
    let unary =
        super::super::reply::parse(completed(&json!([message_item(), call_item()])).to_string().as_bytes(), &reading());
    let mut unary = value(&unary.unwrap());
    unary["notices"] = json!(["an event of the unknown type `response.brand_new.thing` was left out"]);
    for output in [json!([message_item(), call_item()]), json!([]), Value::Null] {
        let (reply, events) = fold(&stream(&output));
        assert_eq!(value(&reply.unwrap()), unary, "{output}");
        let text = |text: &str| ReplyEvent::Text(text.to_owned());
        let arguments =
            |delta: &str| ReplyEvent::Arguments { provider_id: "call_1".to_owned(), delta: delta.to_owned() };
        let started = ReplyEvent::CallStarted { provider_id: "call_1".to_owned(), name: "now".to_owned() };
        assert_eq!(events, [started, text("Hi "), arguments("{\"a\""), text("é"), arguments(":1}")]);
    }
}

/// DEV-B01
#[test]
fn blank_arguments_are_an_empty_object_streamed_and_not() {
    for blank in [json!(""), json!("  "), json!("null"), Value::Null] {
        let item = json!({"type": "function_call", "call_id": "c", "name": "now", "arguments": blank});
        let output = json!([item]);
        let unary = super::super::reply::parse(completed(&output).to_string().as_bytes(), &reading()).unwrap();
        let (streamed, _) = fold(&[
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": completed(&json!([]))}),
        ]);
        for reply in [unary, streamed.unwrap()] {
            let call = reply.calls().next().unwrap();
            assert_eq!((call.arguments.as_str(), call.complete), ("{}", true), "{blank}");
        }
    }
    let broken = json!([{"type": "function_call", "call_id": "c", "name": "now", "arguments": "{\"q\""}]);
    let reply = super::super::reply::parse(completed(&broken).to_string().as_bytes(), &reading()).unwrap();
    assert_eq!(reply.calls().next().unwrap().arguments, "{\"q\"");
}

/// DEV-B03
#[test]
fn a_length_stop_inside_a_call_keeps_text_and_usage_and_marks_only_that_call() {
    let body = json!({"id": "r", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [message_item(), call_item(), {"type": "function_call", "call_id": "c2", "name": "book", "arguments": "{\"flight\":\"XY1\",\"seat\":\"1", "status": "incomplete"}],
        "usage": {"input_tokens": 900, "output_tokens": 256}});
    let reply = super::super::reply::parse(body.to_string().as_bytes(), &reading()).unwrap();
    assert_eq!(reply.stop, Stop::Length);
    assert_eq!(reply.text_and_citations().0, "Hi é");
    assert_eq!(reply.calls().map(|call| call.complete).collect::<Vec<_>>(), [true, false]);
    assert_eq!(reply.usage.map(|usage| (usage.input, usage.output)), Some((900, 256)));
}

#[test]
fn a_cut_stream_keeps_what_is_known_and_no_call_of_it_may_run() {
    let events = stream(&json!([]));
    let (reply, _) = fold(&events[..7]);
    let reply = reply.unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)));
    assert_eq!(reply.text_and_citations().0, "Hi é");
    let calls: Vec<_> = reply.calls().map(|call| (call.arguments.as_str(), call.complete)).collect();
    assert_eq!(calls, [("{\"a\":1}", false)]);
    let (nothing, _) = fold(&events[..1]);
    assert_eq!(nothing.map_err(|error| (error.kind, error.retryable)).unwrap_err(), (ModelErrorKind::Network, true));
}

#[test]
fn a_failure_in_the_stream_is_an_error_flat_or_nested() {
    for error in [
        json!({"type": "error", "code": "server_error", "message": "x", "param": null}),
        json!({"type": "error", "sequence_number": 2, "error": {"type": "server_error", "code": "server_error", "message": "x"}}),
        json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "x"}, "output": []}}),
    ] {
        let (reply, _) = fold(&[stream(&json!([]))[1].clone(), error.clone()]);
        assert_eq!(reply.map_err(|error| error.kind).unwrap_err(), ModelErrorKind::Unavailable, "{error}");
    }
}

#[test]
fn two_items_under_one_index_are_both_kept() {
    let item = |id: &str| json!({"type": "message", "id": id, "content": [{"type": "text", "text": id}]});
    let (reply, _) = fold(&[
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("a")}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("b")}),
        json!({"type": "response.completed", "response": completed(&json!([]))}),
    ]);
    assert_eq!(reply.unwrap().text_and_citations().0, "ab");
}

#[test]
fn hosted_work_is_observed_with_its_sources_and_never_called() {
    let output = json!([
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q", "queries": ["q", "r"],
            "sources": [{"type": "url", "url": "https://a.example/"}]}},
        {"type": "custom_tool_call", "call_id": "xs_call_1", "name": "x_keyword_search", "input": "{}", "status": "completed"},
        {"type": "shell_call", "call_id": "s", "status": "completed", "action": {"commands": ["ls"]}, "environment": {"type": "container_reference"}},
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a.txt", "stderr": ""}]},
        {"type": "computer_call", "call_id": "cu", "status": "completed", "actions": []},
        {"type": "mcp_call", "id": "m", "server_label": "s", "name": "t", "arguments": "{}", "output": null, "error": {"type": "http_error"}},
    ]);
    let reply = super::super::reply::parse(completed(&output).to_string().as_bytes(), &reading()).unwrap();
    assert_eq!(reply.calls().count(), 0);
    let statuses: Vec<HostedStatus> = reply.hosted().map(|output| output.status).collect();
    use HostedStatus::{Completed, Failed, Incomplete};
    assert_eq!(statuses, [Completed, Completed, Completed, Incomplete, Failed]);
    let first = reply.hosted().next().unwrap();
    assert_eq!((first.input.as_slice(), first.sources.len()), (&["q".to_owned(), "r".to_owned()][..], 1));
    assert_eq!(reply.hosted().nth(2).unwrap().output.as_deref(), Some("a.txt"));
    assert_eq!(reply.usage.unwrap().searches, 2);
}
