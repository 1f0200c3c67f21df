use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{super::openai_response::tests::tool, *};
use crate::{
    llm::{HostedTool, Profile, SseParser},
    types::{Api, CitationSource, Entry, HostedKind, Part, Stop, ToolResult, UserPart},
};

fn target() -> Target {
    let profile = Profile::by_name("aliyun").unwrap();
    Target::new(profile, Api::Generation, "qwen3.8-max".parse().unwrap()).unwrap()
}

fn reading() -> Reading {
    Reading::of((*target().origin).clone())
}

fn parse(body: &Value) -> Result<Reply, ModelError> {
    DashScope::default().parse(body.to_string().as_bytes(), &reading())
}

fn fold(events: &[Value], size: usize) -> Result<Reply, ModelError> {
    let event = |(at, data): (usize, &Value)| format!("id:{at}\nevent:result\n:HTTP_STATUS/200\ndata:{data}\n\n");
    let sse: String = events.iter().enumerate().map(event).collect();
    let (mut parser, mut fold) = (SseParser::new(), DashScope::default().fold(reading()));
    for piece in sse.as_bytes().chunks(size) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn whole(message: &Value, finish: &str) -> Value {
    json!({"request_id": "r1", "output": {"choices": [{"message": message, "finish_reason": finish}]},
        "usage": {"input_tokens": 10, "output_tokens": 4, "total_tokens": 14, "prompt_tokens_details": {"cached_tokens": 8}}})
}

fn call(id: &str, name: Option<&str>, arguments: &str) -> Value {
    json!([{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}])
}

fn view(reply: &Reply) -> (Vec<Part>, Stop, Option<crate::types::Usage>) {
    (reply.parts().cloned().collect(), reply.stop.clone(), reply.usage)
}

#[test]
fn a_whole_request_looks_like_this() {
    let message = json!({"role": "assistant", "content": "", "tool_calls": call("call_1", Some("orders_find"), "{}")});
    let request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tools_defs: vec![tool("orders.find")],
        hosted: vec![HostedTool::new(HostedKind::Search)],
        max_output_tokens: Some(500),
        stream: true,
        extra: serde_json::from_value(json!({"parameters": {"enable_thinking": true}})).unwrap(),
        ..ModelRequest::default()
    };
    let entries = vec![
        Entry::User(vec![
            UserPart::Text("look".to_owned()),
            UserPart::Image { url: "https://example.org/a.png".to_owned() },
        ]),
        Entry::Reply(Arc::new(parse(&whole(&message, "tool_calls")).unwrap())),
        Entry::Results(vec![ToolResult {
            provider_id: "call_1".to_owned(),
            name: "orders.find".to_owned(),
            content: "none".to_owned(),
            is_error: false,
            images: Vec::new(),
        }]),
    ];
    let wire = DashScope::default().build(&request, &target(), &mut Conversation::from(entries)).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}

/// DEV-B01, DEV-B04: ids come once, then empty.
#[test]
fn a_stream_of_pieces_and_one_of_growing_texts_equal_the_unary_reply() {
    let message = |reasoning: &str, text: &str, calls: Value| json!({"role": "assistant", "content": text, "reasoning_content": reasoning, "tool_calls": calls});
    let unary = parse(&whole(&message("Hm, ja.", "Guten Täg", call("call_1", Some("f"), "{\"a\":1}")), "tool_calls"));
    let pieces = [
        whole(&message("Hm", "", json!([])), "null"),
        whole(&message(", ja.", "", json!([])), "null"),
        whole(&message("", "Guten", json!([])), "null"),
        whole(&message("", " Täg", call("call_1", Some("f"), "{\"a\"")), "null"),
        whole(&message("", "", call("", None, ":1}")), "tool_calls"),
    ];
    let growing = [
        whole(&message("Hm", "", json!([])), "null"),
        whole(&message("Hm, ja.", "", json!([])), "null"),
        whole(&message("Hm, ja.", "Guten", json!([])), "null"),
        whole(&message("Hm, ja.", "Guten Täg", call("call_1", Some("f"), "{\"a\"")), "null"),
        whole(&message("Hm, ja.", "Guten Täg", call("call_1", Some("f"), "{\"a\":1}")), "tool_calls"),
    ];
    let unary = view(&unary.unwrap());
    for size in [1, 7, 100_000] {
        assert_eq!(view(&fold(&pieces, size).unwrap()), unary);
        assert_eq!(view(&fold(&growing, size).unwrap()), unary);
    }
}

#[test]
fn short_streams_of_both_manners_are_told_apart() {
    let plain = |text: &str, finish: &str| json!({"request_id": "r", "output": {"text": text, "finish_reason": finish}, "usage": {"input_tokens": 1, "output_tokens": 1}});
    for (texts, expected) in [
        (&["Hallo", " du", ""][..], "Hallo du"),
        (&["Hallo", "Hallo du"], "Hallo du"),
        (&["ha", "ha", "ha"], "hahaha"),
        (&["", "Hallo", "Hallo"], "HalloHallo"),
        (&["Hallo"], "Hallo"),
    ] {
        let last = texts.len() - 1;
        let events: Vec<Value> =
            texts.iter().enumerate().map(|(at, text)| plain(text, if at == last { "stop" } else { "null" })).collect();
        let reply = fold(&events, 13).unwrap();
        assert_eq!((reply.text_and_citations().0.as_str(), &reply.stop), (expected, &Stop::End), "{texts:?}");
    }
}

#[test]
fn the_sources_of_a_search_are_a_hosted_output() {
    let mut body = whole(&json!({"role": "assistant", "content": "Ja. [ref_1]"}), "stop");
    body["output"]["search_info"] = json!({"search_results": [
        {"index": 1, "title": "A", "url": "https://a.example", "site_name": "a", "icon": ""}]});
    body["usage"]["plugins"] = json!({"search": {"count": 1, "strategy": "turbo"}});
    let reply = parse(&body).unwrap();
    let output = reply.hosted().next().unwrap();
    assert_eq!(output.kind, HostedKind::Search);
    assert_eq!(output.sources[0].source, CitationSource::Url("https://a.example".to_owned()));
    assert_eq!(reply.usage.unwrap().searches, 1);
    assert_eq!(view(&fold(&[body], 3).unwrap()), view(&reply));
}

#[test]
fn pieces_of_a_list_are_text() {
    let reply = parse(&whole(&json!({"role": "assistant", "content": [{"text": "Ein"}, {"text": " Hund"}]}), "stop"));
    assert_eq!(reply.unwrap().text_and_citations().0, "Ein Hund");
}

#[test]
fn a_failure_is_an_error_whatever_the_status_and_a_cut_stream_no_finished_reply() {
    let failure = json!({"code": "Throttling.RateQuota", "message": "slow down", "request_id": "r"});
    let piece = whole(&json!({"role": "assistant", "content": "Hal"}), "null");
    assert!(parse(&failure).unwrap_err().retryable);
    assert!(fold(&[piece.clone(), failure], 4).unwrap_err().retryable);
    let reply = fold(&[piece], 4).unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)));
    assert_eq!(reply.text_and_citations().0, "Hal");
    assert!(reply.items[0].raw.is_none());
}
