use std::sync::Mutex;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::super::tests::reading;
use super::*;
use crate::llm::{ReplyEvent, SseParser};

/// The events of a message, each text in pieces that end where `cut` says.
fn events(message: &Value, cut: &mut dyn FnMut(&str) -> Vec<String>) -> Vec<Value> {
    let mut head = message.clone();
    head["content"] = json!([]);
    head["stop_reason"] = Value::Null;
    head["usage"] = json!({"input_tokens": message["usage"]["input_tokens"], "output_tokens": 1});
    let container = head.as_object_mut().unwrap().remove("container");
    let mut events = vec![json!({"type": "message_start", "message": head}), json!({"type": "ping"})];
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        let (mut start, mut deltas) = (block.clone(), Vec::new());
        let pieces =
            |field: &str, cut: &mut dyn FnMut(&str) -> Vec<String>| cut(block[field].as_str().unwrap_or_default());
        match block["type"].as_str().unwrap() {
            "text" => {
                start["text"] = json!("");
                let texts = pieces("text", cut);
                deltas.extend(texts.iter().map(|text| json!({"type": "text_delta", "text": text})));
                if let Some(citations) = block.get("citations") {
                    start["citations"] = json!([]);
                    let list = citations.as_array().unwrap().iter();
                    deltas.extend(list.map(|citation| json!({"type": "citations_delta", "citation": citation})));
                }
            }
            "thinking" => {
                (start["thinking"], start["signature"]) = (json!(""), json!(""));
                let texts = pieces("thinking", cut);
                deltas.extend(texts.iter().map(|text| json!({"type": "thinking_delta", "thinking": text})));
                deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                start["input"] = json!({});
                let texts =
                    if block["input"] == json!({}) { vec![String::new()] } else { cut(&block["input"].to_string()) };
                deltas.extend(texts.iter().map(|text| json!({"type": "input_json_delta", "partial_json": text})));
            }
            "compaction" => {
                (start["content"], start["encrypted_content"]) = (Value::Null, Value::Null);
                deltas.push(json!({"type": "compaction_delta", "encrypted_content": block["encrypted_content"]}));
                deltas.extend(
                    pieces("content", cut).iter().map(|text| json!({"type": "compaction_delta", "content": text})),
                );
            }
            _ => {}
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut end = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    if let Some(container) = container {
        end["container"] = container;
    }
    events.push(json!({"type": "message_delta", "delta": end, "usage": message["usage"]}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn as_sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
        .collect()
}

fn fold_into(pieces: &[&[u8]], sink: &dyn ReplySink) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), Box::new(MessageFold::new(reading())));
    for piece in pieces {
        parser.push(piece, |event| fold.push(event, sink)).unwrap();
    }
    parser.end(|event| fold.push(event, sink));
    fold.finish()
}

fn folded(events: &[Value]) -> Reply {
    fold_into(&[as_sse(events).as_bytes()], &()).unwrap()
}

fn whole(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

fn as_value(reply: &Reply) -> Value {
    serde_json::to_value(reply).unwrap()
}

fn parsed(message: &Value) -> Reply {
    reply::parse(message.to_string().as_bytes(), &reading()).unwrap()
}

/// A message with every kind of block.
fn everything() -> Value {
    let arguments: Value = serde_json::from_str(
        r#"{"order_id":2512292042121000001,"big":1e400,"text":"quote \" 汉字 🎉 \u2028 end","deep":[{"a":null}]}"#,
    )
    .unwrap();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [
            {"type": "thinking", "thinking": "Let me see, 汉字.", "signature": "S1=="},
            {"type": "redacted_thinking", "data": "R1"},
            {"type": "compaction", "content": "What was said.", "encrypted_content": "C=="},
            {"type": "text", "text": "I will look."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "größe"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "E=", "page_age": null}]},
            {"type": "text", "text": "It is 🎉 5.", "citations": [
                {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "encrypted_index": "I=", "cited_text": "5"},
                {"type": "page_location", "document_index": 0, "document_title": "D", "start_page_number": 1, "end_page_number": 2, "cited_text": "5"}]},
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": 1}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": [{"type": "text", "text": "yes"}]},
            {"type": "hologram", "data": [1, {"x": 2}]},
            {"type": "tool_use", "id": "toolu_1", "name": "book", "input": arguments, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 20, "server_tool_use": {"web_search_requests": 1}},
        "container": {"id": "c1", "expires_at": "2026-12-30T00:00:00Z"},
    })
}

/// DEV-B02, DEV-E01: a streamed reply is the whole one, raw items included, so that it can go back.
#[test]
fn a_streamed_reply_is_the_whole_reply() {
    let message = everything();
    assert_eq!(as_value(&folded(&events(&message, &mut whole))), as_value(&parsed(&message)));
}

proptest! {
    #[test]
    fn no_cut_changes_a_reply(
        lengths in prop::collection::vec(1usize..9, 1..20),
        bytes in prop::collection::vec(1usize..300, 1..20),
    ) {
        let message = everything();
        let mut lengths = lengths.into_iter().cycle();
        let mut cut = |text: &str| {
            let chars: Vec<char> = text.chars().collect();
            let (mut pieces, mut at) = (Vec::new(), 0);
            while at < chars.len() {
                let end = (at + lengths.next().unwrap()).min(chars.len());
                pieces.push(chars[at..end].iter().collect());
                at = end;
            }
            pieces
        };
        let sse = as_sse(&events(&message, &mut cut));
        let (mut rest, mut pieces) = (sse.as_bytes(), Vec::new());
        for length in bytes.into_iter().cycle() {
            let (piece, more) = rest.split_at(length.min(rest.len()));
            pieces.push(piece);
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(as_value(&fold_into(&pieces, &()).unwrap()), as_value(&parsed(&message)));
    }

    /// A stream that breaks off anywhere: nothing of it may run, and it never passes for a whole reply.
    #[test]
    fn a_stream_that_breaks_off_is_failed(share in 0.0f64..1.0) {
        let sse = as_sse(&events(&everything(), &mut whole));
        let end = sse.find("event: message_delta").unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share")]
        let at = (end as f64 * share) as usize;
        match fold_into(&[&sse.as_bytes()[..at]], &()) {
            Ok(reply) => {
                prop_assert!(matches!(reply.stop, Stop::Failed(_)), "{:?}", reply.stop);
                prop_assert!(reply.calls().all(|call| !call.complete));
            }
            Err(error) => prop_assert_eq!((error.kind, error.retryable), (ModelErrorKind::Network, true)),
        }
    }

    #[test]
    fn mutated_events_never_panic(at in 0usize..80, key in 0usize..12, value in 0usize..6) {
        let mut list = events(&everything(), &mut whole);
        let at = at % list.len();
        let key = ["type", "index", "delta", "content_block", "message", "usage"][key % 6];
        list[at][key] = [json!(null), json!([]), json!("x"), json!(-1), json!({"type": 3}), json!({"text": {}})][value].clone();
        let _ = fold_into(&[as_sse(&list).as_bytes()], &());
    }
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn piece(index: u64, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}})
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})
}

fn use_of(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

fn arguments(reply: &Reply) -> Vec<(&str, &str)> {
    reply.calls().map(|call| (call.provider_id.as_str(), call.arguments.as_str())).collect()
}

/// DEV-B01: blank is `{}`, streamed and whole alike; what is broken stays so and is never replayed.
#[test]
fn blank_arguments_are_none_and_broken_ones_stay_broken() {
    for (pieces, expected, replayed) in [
        (vec![], "{}", "{}"),
        (vec!["", "  "], "{}", "{}"),
        (vec!["{\"q\""], "{\"q\"", "{}"),
        (vec!["[1,", "2]"], "[1,2]", "{}"),
        (vec!["{\"a\": 12345678901234567890}"], "{\"a\": 12345678901234567890}", "{\"a\": 12345678901234567890}"),
    ] {
        let mut list = vec![start(0, use_of("a"))];
        list.extend(pieces.into_iter().map(|text| piece(0, text)));
        list.push(end("tool_use"));
        let reply = folded(&list);
        assert_eq!(arguments(&reply), [("a", expected)]);
        let raw = reply.items[0].raw.as_ref().unwrap().get();
        assert!(raw.contains(&format!("\"input\":{replayed}")), "{raw}");
    }
}

/// DEV-B03
#[test]
fn the_output_budget_may_end_inside_a_call() {
    let text = start(0, json!({"type": "text", "text": "I will book it"}));
    let list = [text, start(1, use_of("a")), piece(1, "{\"flight\":\"XY1\",\"seat\":\"1"), end("max_tokens")];
    let reply = folded(&list);
    assert_eq!(reply.stop, Stop::Length);
    assert_eq!(reply.text_and_citations().0, "I will book it");
    assert_eq!(arguments(&reply), [("a", "{\"flight\":\"XY1\",\"seat\":\"1")]);
    assert!(reply.calls().all(|call| !call.complete));
    assert_eq!(reply.usage.map(|usage| usage.output), Some(3));
}

/// DEV-B04: identity is the id first; a start at a used index, or at none, opens a call of its own.
#[test]
fn two_calls_under_one_index_stay_two() {
    for index in [json!(0), Value::Null] {
        let mut list = Vec::new();
        for (id, text) in [("a", "{\"p\":1}"), ("b", "{\"p\":2}")] {
            list.extend([start(0, use_of(id)), piece(0, text)]);
        }
        list.iter_mut().for_each(|event| event["index"] = index.clone());
        list.push(end("tool_use"));
        assert_eq!(arguments(&folded(&list)), [("a", "{\"p\":1}"), ("b", "{\"p\":2}")]);
    }
}

#[test]
fn input_that_comes_whole_with_the_start_is_the_input() {
    let block = json!({"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}});
    let list = [start(0, block), json!({"type": "content_block_stop", "index": 0}), end("tool_use")];
    assert_eq!(arguments(&folded(&list)), [("a", "{\"p\":1}")]);
}

#[test]
fn a_message_that_begins_anew_replaces_the_first() {
    let begin = |id: &str| json!({"type": "message_start", "message": {"id": id, "usage": {"input_tokens": 1}}});
    let list = [
        begin("m1"),
        start(0, use_of("a")),
        piece(0, "{\"v"),
        begin("m2"),
        start(0, use_of("b")),
        piece(0, "{\"v\":1}"),
        end("tool_use"),
        json!({"type": "message_stop"}),
        begin("m3"),
        start(0, use_of("c")),
    ];
    let reply = folded(&list);
    assert_eq!((reply.id.as_deref(), arguments(&reply)), (Some("m2"), vec![("b", "{\"v\":1}")]));
    assert_eq!(reply.notices.len(), 1);
}

#[test]
fn an_error_in_the_stream_is_the_answer() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = fold_into(&[as_sse(&[start(0, use_of("a")), error]).as_bytes()], &()).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Unavailable, true));
}

#[test]
fn what_is_unknown_is_told_and_nothing_stops() {
    let text = json!({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "hi"}});
    let odd = json!({"type": "content_block_delta", "index": 7, "delta": {"type": "smell_delta", "smell": "tar"}});
    let list = [json!({"type": "weather"}), text, odd, json!({"type": "weather"}), end("end_turn")];
    let reply = folded(&list);
    assert_eq!(reply.text_and_citations().0, "hi");
    assert_eq!(
        reply.notices,
        [
            "an event of the unknown type `weather` was left out",
            "a delta of the unknown type `smell_delta` was left out"
        ]
    );
    assert_eq!(reply.stop, Stop::End);
}

/// What broke off goes back only as far as it can be read: no half thought, no half call as the provider's own.
#[test]
fn only_finished_blocks_of_a_broken_stream_keep_their_raw_form() {
    let thought =
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "hm"}});
    let list = [
        start(0, json!({"type": "text", "text": "done"})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, json!({"type": "thinking", "thinking": "", "signature": ""})),
        thought,
    ];
    let reply = folded(&list);
    assert_eq!(reply.items.iter().map(|item| item.raw.is_some()).collect::<Vec<_>>(), [true, false]);
    assert!(matches!(reply.stop, Stop::Failed(_)));
}

#[derive(Debug, Default)]
struct Watch(Mutex<Vec<ReplyEvent>>);

impl ReplySink for Watch {
    fn on(&self, event: ReplyEvent) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn a_watcher_sees_the_reply_come_in() {
    let watch = Watch::default();
    fold_into(&[as_sse(&events(&everything(), &mut whole)).as_bytes()], &watch).unwrap();
    let seen = watch.0.into_inner().unwrap();
    let text: String =
        seen.iter().filter_map(|e| if let ReplyEvent::Text(t) = e { Some(t.as_str()) } else { None }).collect();
    assert_eq!(text, "I will look.It is 🎉 5.");
    let begun = |id: &str, name: &str| ReplyEvent::CallStarted { provider_id: id.to_owned(), name: name.to_owned() };
    let hosted = |kind: &str| ReplyEvent::Hosted(kind.to_owned());
    let rest: Vec<ReplyEvent> = seen
        .into_iter()
        .filter(|event| matches!(event, ReplyEvent::CallStarted { .. } | ReplyEvent::Hosted(_)))
        .collect();
    assert_eq!(
        rest,
        [
            hosted("web_search"),
            hosted("web_search_tool_result"),
            hosted("ask"),
            hosted("mcp_tool_result"),
            begun("toolu_1", "book"),
            begun("toolu_2", "now"),
        ]
    );
}
