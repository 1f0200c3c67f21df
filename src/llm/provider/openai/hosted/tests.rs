use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::OpenAiChat;
use crate::{
    llm::{Dialect, ModelError, Reading, SseParser},
    types::{Api, Citation, CitationSource, HostedKind, HostedStatus, Origin, Part, Reply, Stop},
};

fn reading() -> Reading {
    let (provider, model) = ("p".parse().unwrap(), "m".parse().unwrap());
    Reading::of(Origin { provider, api: Api::Chat, model, family: "f".to_owned() })
}

fn parse(body: &Value) -> Result<Reply, ModelError> {
    OpenAiChat::default().parse(body.to_string().as_bytes(), &reading())
}

fn fold(chunks: &[Value]) -> Result<Reply, ModelError> {
    let sse: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let (mut parser, mut fold) = (SseParser::new(), OpenAiChat::default().fold(reading()));
    for piece in sse.as_bytes().chunks(5) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn whole(message: Value) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

fn piece(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

fn at(url: &str, title: Option<&str>, range: Option<(usize, usize)>) -> Citation {
    Citation {
        source: CitationSource::Url(url.to_owned()),
        title: title.map(str::to_owned),
        quote: None,
        start: range.map(|it| it.0),
        end: range.map(|it| it.1),
    }
}

fn parts(reply: Result<Reply, ModelError>) -> Vec<Part> {
    reply.unwrap().parts().cloned().collect()
}

#[test]
fn annotations_cite_by_code_points() {
    let note = json!({"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A",
        "start_index": 5, "end_index": 9}});
    let text = "Größe 5 m";
    let expected =
        vec![Part::Text { text: text.to_owned(), citations: vec![at("https://a.example", Some("A"), Some((5, 9)))] }];
    assert_eq!(parts(parse(&whole(json!({"role": "assistant", "content": text, "annotations": [note]})))), expected);
    let chunks = [
        piece(json!({"content": "Größe"}), None),
        piece(json!({"content": " 5 m", "annotations": [note]}), Some("stop")),
    ];
    assert_eq!(parts(fold(&chunks)), expected);
}

#[test]
fn a_range_that_lies_outside_the_text_is_no_range() {
    for (start, end) in [(3, 99), (4, 2), (0, 0)] {
        let note = json!({"type": "url_citation", "url_citation": {"url": "https://a.example", "start_index": start, "end_index": end}});
        let reply = parse(&whole(json!({"role": "assistant", "content": "Hi you", "annotations": [note]}))).unwrap();
        assert_eq!(reply.text_and_citations().1, [at("https://a.example", None, None)]);
    }
}

/// Perplexity repeats its lists with every chunk; each source counts once.
#[test]
fn listed_sources_are_a_search_and_the_citations_of_the_text() {
    let addresses = json!(["https://a.example", "https://b.example"]);
    let results =
        json!([{"title": "A", "url": "https://a.example", "snippet": "…"}, {"title": "B", "url": "https://b.example"}]);
    let listed = |body| with(with(body, "citations", addresses.clone()), "search_results", results.clone());
    let reply = parse(&listed(whole(json!({"role": "assistant", "content": "Ja [1][2]"})))).unwrap();
    let sources = [at("https://a.example", Some("A"), None), at("https://b.example", Some("B"), None)];
    let output = reply.hosted().next().unwrap();
    assert_eq!((&output.kind, output.sources.as_slice()), (&HostedKind::Search, &sources[..]));
    assert_eq!(reply.text_and_citations().1, sources);
    let chunks =
        [listed(piece(json!({"content": "Ja "}), None)), listed(piece(json!({"content": "[1][2]"}), Some("stop")))];
    assert_eq!(parts(fold(&chunks)), parts(Ok(reply)));
}

/// Z.AI lists what it found on one chunk; xAI and Perplexity list addresses only.
#[test]
fn each_provider_has_its_own_list() {
    let message = || whole(json!({"role": "assistant", "content": "Ja"}));
    let zai = json!([{"icon": "", "title": "A", "link": "https://a.example", "refer": "ref_1", "content": "…"}]);
    let aliyun = json!({"search_results": [{"index": 1, "title": "A", "url": "https://a.example"}]});
    for (name, list) in [("web_search", zai), ("search_info", aliyun)] {
        let reply = parse(&with(message(), name, list)).unwrap();
        assert_eq!(reply.hosted().next().unwrap().sources, [at("https://a.example", Some("A"), None)], "{name}");
    }
    let reply = parse(&with(message(), "citations", json!(["https://a.example"]))).unwrap();
    assert_eq!(reply.text_and_citations().1, [at("https://a.example", None, None)]);
}

#[test]
fn a_call_that_was_run_there_is_never_one_of_ours() {
    let call = |output: Value, error: Value| json!({"id": "m1", "type": "mcp", "mcp": {"server_label": "s", "name": "t", "arguments": "{}", "output": output, "error": error}});
    let message = json!({"role": "assistant", "content": "Ja", "tool_calls": [call(json!("7"), Value::Null)]});
    let reply = parse(&whole(message)).unwrap();
    assert_eq!((reply.calls().count(), &reply.stop), (0, &Stop::End));
    let chunks = [
        piece(json!({"tool_calls": [call(Value::Null, Value::Null)]}), None),
        piece(json!({"content": "Ja", "tool_calls": [call(json!("7"), Value::Null)]}), Some("stop")),
    ];
    assert_eq!(parts(fold(&chunks)), parts(Ok(reply)));
    let failed =
        parse(&whole(json!({"role": "assistant", "content": "", "tool_calls": [call(Value::Null, json!("no"))]})));
    assert_eq!(failed.unwrap().hosted().next().unwrap().status, HostedStatus::Failed);
}

#[test]
fn tools_that_groq_ran_are_read_with_their_sources() {
    let message = json!({"role": "assistant", "content": "Ja", "executed_tools": [
        {"index": 0, "type": "search", "arguments": "{\"query\":\"q\"}", "output": "found",
            "search_results": {"results": [{"title": "A", "url": "https://a.example", "content": "…", "score": 0.9}]}},
        {"index": 1, "type": "python", "arguments": "{\"code\":\"1\"}", "output": "1"}]});
    let reply = parse(&whole(message)).unwrap();
    let kinds: Vec<&HostedKind> = reply.hosted().map(|output| &output.kind).collect();
    assert_eq!(kinds, [&HostedKind::Search, &HostedKind::Code]);
    assert_eq!(reply.hosted().next().unwrap().sources, [at("https://a.example", Some("A"), None)]);
}

/// DEV-E01: details go back as they were before they were cut, signatures where they belong.
#[test]
fn reasoning_details_are_put_together_and_shown() {
    let detail = |fields: Value| json!({"reasoning_details": [fields]});
    let chunks = [
        piece(detail(json!({"type": "reasoning.text", "index": 0, "text": "Hm", "signature": null})), None),
        piece(detail(json!({"type": "reasoning.text", "index": 0, "text": ", ja.", "signature": "S1"})), None),
        piece(detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "R1"})), None),
        piece(detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "R2"})), None),
        piece(json!({"content": "Ja"}), Some("stop")),
    ];
    let reply = fold(&chunks).unwrap();
    let raw: Value = serde_json::from_str(reply.items[0].raw.as_deref().unwrap().get()).unwrap();
    assert_eq!(
        raw["reasoning_details"],
        json!([
            {"type": "reasoning.text", "index": 0, "text": "Hm, ja.", "signature": "S1"},
            {"type": "reasoning.encrypted", "index": 1, "data": "R1"},
            {"type": "reasoning.encrypted", "index": 1, "data": "R2"}])
    );
    assert_eq!(reply.items[0].parts[0], Part::Reasoning { summary: Some("Hm, ja.".to_owned()) });
}

#[test]
fn an_unknown_field_with_weight_is_kept_and_said() {
    let message = json!({"role": "assistant", "content": "Ja", "visions": [1], "padding": "xx", "empty": {}});
    let reply = parse(&whole(message.clone())).unwrap();
    assert_eq!(reply.notices, ["the field `visions` of the message was kept unread"]);
    assert_eq!(reply.items[0].raw.as_deref().unwrap().get(), message.to_string());
    let chunks = [piece(json!({"content": "Ja", "visions": [1]}), Some("stop"))];
    assert_eq!(fold(&chunks).unwrap().notices, reply.notices);
}

#[test]
fn a_failure_in_any_form_is_an_error() {
    for failure in [
        json!({"object": "error", "message": "bad", "type": "invalid_request_error", "code": "3051"}),
        json!({"code": "InvalidParameter", "message": "bad", "request_id": "r"}),
        json!({"error": "bad", "code": "400"}),
    ] {
        assert!(parse(&failure).unwrap_err().message.contains("bad"), "{failure}");
        let streamed = fold(&[piece(json!({"content": "Ja"}), None), failure.clone()]);
        assert!(streamed.unwrap_err().message.contains("bad"), "{failure}");
    }
}
