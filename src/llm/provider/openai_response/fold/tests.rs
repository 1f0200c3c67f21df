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

fn read(output: &Value) -> Reply {
    super::super::reply::parse(completed(output).to_string().as_bytes(), &reading()).unwrap()
}

#[test]
fn a_reply_that_waits_for_somebody_is_not_finished() {
    for item in [
        json!({"type": "mcp_approval_request", "id": "r", "server_label": "s", "name": "t", "arguments": "{}"}),
        json!({"type": "computer_call", "id": "c", "call_id": "c1", "actions": [{"type": "screenshot"}], "status": "completed"}),
        json!({"type": "apply_patch_call", "id": "a", "call_id": "c1", "operation": {"type": "delete_file", "path": "x"}, "status": "completed"}),
        json!({"type": "shell_call", "id": "s", "call_id": "c1", "action": {"commands": ["ls"]}, "environment": {"type": "local"}, "status": "completed"}),
        json!({"type": "tool_search_call", "id": "t", "call_id": "c1", "execution": "client", "arguments": {}, "status": "completed"}),
    ] {
        let reply = read(&json!([item]));
        assert!(matches!(reply.stop, Stop::Unknown(_)), "{item}: {:?}", reply.stop);
        assert_eq!((reply.notices.len(), reply.calls().count()), (1, 0), "{item}");
    }
    let shell = json!({"type": "shell_call", "id": "s", "call_id": "c1", "action": {"commands": ["ls"]}, "status": "completed"});
    let output =
        json!({"type": "shell_call_output", "id": "o", "call_id": "c1", "output": [{"stdout": "a", "stderr": ""}]});
    let reply = read(&json!([shell, output, message_item()]));
    assert_eq!((&reply.stop, reply.notices.len()), (&Stop::End, 0));
    assert_eq!(reply.hosted().next().unwrap().output.as_deref(), Some("a"));
}

/// xAI runs its custom calls itself; those of others are asked of us.
#[test]
fn a_custom_call_of_a_hosted_search_is_never_one_of_ours() {
    let call = |id: &str| json!({"type": "custom_tool_call", "id": "x", "call_id": id, "name": "x_keyword_search", "input": "{}", "status": "completed"});
    let hosted = read(&json!([call("xs_call_1"), message_item()]));
    assert_eq!((hosted.hosted().count(), hosted.calls().count()), (1, 0));
    let own = read(&json!([call("call_1")]));
    assert_eq!((own.hosted().count(), own.calls().count()), (0, 1));
}

#[test]
fn what_is_unknown_is_kept_and_said() {
    let item = json!({"type": "dream_call", "id": "d", "status": "completed", "depth": 1.50});
    let reply =
        read(&json!([item, {"type": "dream", "id": "e"}, {"type": "compaction", "id": "k", "encrypted_content": "x"}]));
    assert_eq!(reply.hosted().next().unwrap().kind, crate::types::HostedKind::Other("dream_call".to_owned()));
    assert_eq!(reply.notices.len(), 2, "{:?}", reply.notices);
    assert_eq!(reply.items[0].raw.as_deref().unwrap().get(), item.to_string());
    assert_eq!(reply.items[2].parts, []);
}

#[test]
fn the_output_of_a_program_of_an_earlier_reply_is_observed() {
    let reply =
        read(&json!([{"type": "program_output", "id": "o", "call_id": "p1", "result": "7", "status": "completed"}]));
    assert_eq!(reply.hosted().next().unwrap().output.as_deref(), Some("7"));
}

#[test]
fn a_failure_counts_even_when_an_end_follows() {
    let error = json!({"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "down"}});
    let (reply, _) = fold(&[error, json!({"type": "response.completed", "response": completed(&json!([]))})]);
    assert!(reply.unwrap_err().retryable);
}
