use std::sync::Arc;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{
    llm::{HostedTool, ModelErrorKind, OnUnsupported, Profile, SseParser, ToolChoice, ToolDef},
    types::{
        Api, Citation, CitationSource, Entry, FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Origin, Part,
        Stop, ToolResult, Usage, UserPart,
    },
};

const MODEL: &str = "gemini-3-flash-preview";

fn target(model: &str) -> Target {
    let profile = Profile::by_name("gemini").unwrap();
    Target::new(profile, Api::Interactions, model.parse().unwrap()).unwrap()
}

fn reading() -> Reading {
    Reading::of((*target(MODEL).origin).clone())
}

fn interaction(status: &str, steps: Value) -> Value {
    json!({"id": "v1_1", "status": status, "steps": steps})
}

fn try_read(body: &Value) -> Result<Reply, ModelError> {
    GeminiInteractions::default().parse(body.to_string().as_bytes(), &reading())
}

fn read(status: &str, steps: Value) -> Reply {
    try_read(&interaction(status, steps)).unwrap()
}

fn fold(events: &[Value]) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), GeminiInteractions::default().fold(reading()));
    let sse: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["event_type"].as_str().unwrap_or("x")))
        .collect();
    parser.push(sse.as_bytes(), |event| fold.push(event, &())).unwrap();
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn start(index: u64, step: Value) -> Value {
    json!({"event_type": "step.start", "index": index, "step": step})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"event_type": "step.delta", "index": index, "delta": delta})
}

fn completed(status: &str) -> Value {
    json!({"event_type": "interaction.completed", "interaction": {"id": "v1_1", "status": status}})
}

fn parts(reply: &Reply) -> Vec<Part> {
    reply.parts().cloned().collect()
}

fn raws(reply: &Reply) -> Vec<Value> {
    reply.items.iter().map(|item| serde_json::from_str(item.raw.as_ref().unwrap().get()).unwrap()).collect()
}

fn call(id: &str, name: &str, arguments: &str, complete: bool) -> FunctionCall {
    let [provider_id, name, arguments] = [id, name, arguments].map(str::to_owned);
    FunctionCall { provider_id, name, arguments, complete }
}

fn says(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

/// DEV-E04, DEV-B06: steps of a stream are those of one piece, with exact numbers and signatures.
#[test]
fn a_stream_gives_the_reply_that_one_piece_gives() {
    let note =
        json!({"type": "url_citation", "url": "https://a.example", "title": "a", "start_index": 7, "end_index": 11});
    let steps = json!([
        {"type": "thought", "signature": "S1", "summary": [{"type": "text", "text": "I think"}]},
        {"type": "google_search_call", "id": "g", "arguments": {"queries": ["天气"]}},
        {"type": "google_search_result", "call_id": "g", "result": [{"search_suggestions": "<b>"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "天气 🌦.", "annotations": [note]}]},
        {"type": "function_call", "id": "f1", "name": "add", "arguments": {"x": 2512292042121000001u64, "y": 0.1}},
        {"type": "function_call", "id": "f2", "name": "now", "arguments": {}},
    ]);
    let events = [
        json!({"event_type": "interaction.created", "interaction": {"id": "v1_1", "status": "in_progress"}}),
        start(0, json!({"type": "thought"})),
        delta(0, json!({"type": "thought_signature", "signature": "S1"})),
        delta(0, json!({"type": "thought_summary", "content": {"type": "text", "text": "I "}})),
        delta(0, json!({"type": "thought_summary", "content": {"type": "text", "text": "think"}})),
        start(1, json!({"type": "google_search_call", "id": "g"})),
        delta(1, json!({"type": "google_search_call", "arguments": {"queries": ["天气"]}})),
        start(2, json!({"type": "google_search_result", "call_id": "g"})),
        delta(2, json!({"type": "google_search_result", "result": [{"search_suggestions": "<b>"}]})),
        start(3, json!({"type": "model_output"})),
        delta(3, json!({"type": "text", "text": "天"})),
        delta(3, json!({"type": "text", "text": "气 🌦."})),
        delta(3, json!({"type": "text_annotation_delta", "annotations": [note]})),
        start(4, json!({"type": "function_call", "id": "f1", "name": "add", "arguments": {}})),
        delta(4, json!({"type": "arguments_delta", "arguments": "{\"x\":25122920421"})),
        delta(4, json!({"type": "arguments_delta", "arguments": "21000001,\"y\":0.1}"})),
        start(5, json!({"type": "function_call", "id": "f2", "name": "now", "arguments": {}})),
        json!({"event_type": "step.stop", "index": 5}),
        completed("requires_action"),
    ];
    let (whole, streamed) = (read("requires_action", steps.clone()), fold(&events).unwrap());
    assert_eq!(raws(&streamed), raws(&whole));
    assert_eq!(parts(&streamed), parts(&whole));
    let source = CitationSource::Url("https://a.example".to_owned());
    let citation = Citation { source, title: Some("a".to_owned()), quote: None, start: Some(3), end: Some(4) };
    let searched = HostedOutput {
        kind: HostedKind::Search,
        id: Some("g".to_owned()),
        status: HostedStatus::Completed,
        input: vec!["天气".to_owned()],
        output: None,
        sources: Vec::new(),
    };
    let expected = [
        Part::Reasoning { summary: Some("I think".to_owned()) },
        Part::Hosted(searched),
        Part::Text { text: "天气 🌦.".to_owned(), citations: vec![citation] },
        Part::Call(call("f1", "add", "{\"x\":2512292042121000001,\"y\":0.1}", true)),
        Part::Call(call("f2", "now", "{}", true)),
    ];
    assert_eq!(parts(&streamed), expected);
    assert_eq!((&streamed.stop, streamed.id.as_deref()), (&Stop::ToolCalls, Some("v1_1")));
}

/// DEV-B02, DEV-B03: broken arguments are kept for the error, but what goes back is an object.
#[test]
fn arguments_cut_short_never_run_and_never_spoil_the_history() {
    let events = [
        start(0, json!({"type": "function_call", "id": "f", "name": "book", "arguments": {}})),
        delta(0, json!({"type": "arguments_delta", "arguments": "{\"seat\":\"1"})),
        completed("incomplete"),
    ];
    let reply = fold(&events).unwrap();
    assert_eq!(parts(&reply), [Part::Call(call("f", "book", "{\"seat\":\"1", false))]);
    assert_eq!(raws(&reply)[0]["arguments"], json!({}));
    assert_eq!(reply.stop, Stop::Length);
    let reply = fold(&events[..2]).unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)));
    assert!(!reply.calls().next().unwrap().complete);
}

#[test]
fn a_resumed_stream_may_begin_inside_a_step() {
    let reply = fold(&[delta(2, json!({"type": "text", "text": "rest"})), completed("completed")]).unwrap();
    assert_eq!(parts(&reply), [Part::Text { text: "rest".to_owned(), citations: Vec::new() }]);
}

#[test]
fn every_status_keeps_its_meaning() {
    let said = || json!([{"type": "model_output", "content": [{"type": "text", "text": "x"}]}]);
    for (status, expected) in [
        ("completed", Stop::End),
        ("incomplete", Stop::Length),
        ("budget_exceeded", Stop::Unknown("budget_exceeded".to_owned())),
        ("in_progress", Stop::Unknown("in_progress".to_owned())),
        ("brand_new", Stop::Unknown("brand_new".to_owned())),
    ] {
        assert_eq!(read(status, said()).stop, expected, "{status}");
    }
    assert!(matches!(read("cancelled", said()).stop, Stop::Failed(_)));
    // Before the revision of 2026-05-20 steps were outputs.
    let old = json!({"id": "v1_1", "status": "completed", "outputs": [{"type": "text", "text": "old"}]});
    assert_eq!(try_read(&old).unwrap().text_and_citations().0, "old");
}

#[test]
fn failures_inside_a_success_are_errors() {
    let overloaded = json!({"event_type": "error", "error": {"code": "service_unavailable", "message": "Try later."}});
    let error = fold(&[overloaded]).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Unavailable, true));
    let failed = json!({"id": "v1", "status": "failed", "error": {"code": "invalid_request", "message": "no"}});
    assert!(try_read(&failed).is_err());
    assert!(fold(&[json!({"event_type": "interaction.completed", "interaction": failed})]).is_err());
    for nothing in [json!({}), json!([]), json!("x"), json!({"models": []})] {
        assert_eq!(try_read(&nothing).unwrap_err().kind, ModelErrorKind::BadResponse, "{nothing}");
    }
    assert_eq!(fold(&[]).unwrap_err().kind, ModelErrorKind::Network);
}

/// DEV-K01
#[test]
fn every_token_is_counted_once() {
    let mut body = interaction(
        "completed",
        json!([{"type": "google_search_call", "id": "g", "arguments": {"queries": ["a", "b"]}}]),
    );
    body["usage"] = json!({
        "total_input_tokens": 100, "total_cached_tokens": 60, "total_output_tokens": 10, "total_thought_tokens": 20,
        "total_tool_use_tokens": 30, "total_tokens": 160,
    });
    let expected =
        Usage { input: 40, cached: 60, output: 10, reasoning: 20, tool_use: 30, searches: 2, ..Usage::default() };
    assert_eq!(try_read(&body).unwrap().usage, Some(expected));
    body["usage"]["grounding_tool_count"] =
        json!([{"type": "google_search", "count": 3}, {"type": "maps", "count": 9}]);
    assert_eq!(try_read(&body).unwrap().usage.unwrap().searches, 3);
}

#[test]
fn hosted_steps_say_what_they_did() {
    let reply = read(
        "completed",
        json!([
            {"type": "code_execution_call", "id": "c", "arguments": {"code": "1/0", "language": "python"}},
            {"type": "url_context_call", "id": "u", "arguments": {"urls": ["https://a.example", "https://b.example"]}},
            {"type": "mcp_server_tool_call", "id": "m", "name": "search", "server_name": "docs", "arguments": {"q": "x"}},
            {"type": "code_execution_result", "call_id": "c", "result": "ZeroDivisionError", "is_error": true},
            {"type": "url_context_result", "call_id": "u", "result": [{"url": "https://a.example", "status": "success"}, {"url": "https://b.example", "status": "paywall"}]},
            {"type": "mcp_server_tool_result", "call_id": "m", "result": [{"type": "text", "text": "found"}]},
            {"type": "file_search_result", "call_id": "lost", "result": []},
            {"type": "hologram"},
        ]),
    );
    let seen: Vec<_> = reply
        .hosted()
        .map(|output| {
            (output.kind.as_str(), output.status, output.input.len(), output.output.as_deref(), output.sources.len())
        })
        .collect();
    let expected = [
        ("code", HostedStatus::Failed, 1, Some("ZeroDivisionError"), 0),
        ("fetch", HostedStatus::Completed, 2, None, 1),
        ("mcp", HostedStatus::Completed, 2, Some("found"), 0),
        ("file_search", HostedStatus::Completed, 0, None, 0),
    ];
    assert_eq!(seen, expected);
    assert_eq!(parts(&reply).last(), Some(&Part::Unknown { kind: "hologram".to_owned() }));
}

fn tool(name: &str) -> Arc<ToolDef> {
    Arc::new(ToolDef {
        name: name.parse().unwrap(),
        description: format!("Does {name}."),
        parameters: Arc::new(json!({"type": "object", "properties": {"q": {"type": "string"}}})),
        strict: false,
        deferred: name == "b",
    })
}

fn build(request: &ModelRequest, model: &str, entries: Vec<Entry>) -> Result<Value, WireError> {
    let wire = GeminiInteractions::default().build(request, &target(model), &mut Conversation::from(entries))?;
    Ok(serde_json::from_slice(&wire.body).unwrap())
}

/// DEV-E01, DEV-A07, DEV-C01
#[test]
fn a_whole_request_looks_like_this() {
    let request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tools_defs: vec![tool("orders.find"), tool("b")],
        hosted: vec![HostedTool::new(HostedKind::Search), HostedTool::new(HostedKind::Code)],
        tool_choice: ToolChoice::Named("orders.find".parse().unwrap()),
        max_output_tokens: Some(500),
        reasoning_effort: Some("low".to_owned()),
        response_schema: Some(("answer".to_owned(), json!({"type": "object"}))),
        stream: true,
        ..ModelRequest::default()
    };
    let reply = read(
        "requires_action",
        json!([
            {"type": "thought", "signature": "S1"},
            {"type": "google_search_call", "id": "g", "arguments": {"queries": ["x"]}, "signature": "S2"},
            {"type": "google_search_result", "call_id": "g", "result": [], "signature": "S3"},
            {"type": "function_call", "id": "f1", "name": "orders_find", "arguments": {"q": 1.50}},
        ]),
    );
    let stored = serde_json::to_string(&reply).unwrap();
    let result = ToolResult {
        provider_id: "f1".to_owned(),
        name: "orders.find".to_owned(),
        content: "not found".to_owned(),
        is_error: true,
        images: Vec::new(),
    };
    let entries = vec![
        Entry::User(vec![
            UserPart::Text("look".to_owned()),
            UserPart::Image { url: "data:image/png;base64,AAAA".to_owned() },
            UserPart::Image { url: "https://example.org/a.webp".to_owned() },
        ]),
        Entry::Reply(Arc::new(serde_json::from_str(&stored).unwrap())),
        Entry::Results(vec![result]),
        Entry::Notice("Answer now.".to_owned()),
    ];
    let wire = GeminiInteractions::default().build(&request, &target(MODEL), &mut Conversation::from(entries)).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}

/// DEV-C02, DEV-B02
#[test]
fn replies_of_others_are_told_in_steps() {
    let origin = Origin {
        provider: "openai".parse().unwrap(),
        api: Api::Chat,
        model: "gpt".parse().unwrap(),
        family: "gpt".to_owned(),
    };
    let items = vec![
        Item::local(Part::Reasoning { summary: Some("secret".to_owned()) }),
        Item::local(Part::Text { text: "I look.".to_owned(), citations: Vec::new() }),
        Item::local(Part::Call(call("functions.b:0", "b", "oops", true))),
    ];
    let reply = Reply { origin, id: None, items, stop: Stop::ToolCalls, usage: None, notices: Vec::new(), carry: None };
    let result = ToolResult {
        provider_id: "functions.b:0".to_owned(),
        name: "b".to_owned(),
        content: "1".to_owned(),
        is_error: false,
        images: Vec::new(),
    };
    let entries = vec![says("go"), Entry::Reply(Arc::new(reply)), Entry::Results(vec![result])];
    let body = build(&ModelRequest::default(), MODEL, entries).unwrap();
    let id = &body["input"][2]["id"];
    assert_eq!(
        body["input"],
        json!([
            {"type": "user_input", "content": [{"type": "text", "text": "go"}]},
            {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
            {"type": "function_call", "id": id, "name": "b", "arguments": {}},
            {"type": "function_result", "call_id": id, "name": "b", "result": "1"},
        ])
    );
}

/// DEV-A01, DEV-A02, DEV-A05
#[test]
fn tools_that_cannot_be_sent_are_refused() {
    let search = ModelRequest {
        tools_defs: vec![tool("a")],
        hosted: vec![HostedTool::new(HostedKind::Search)],
        ..ModelRequest::default()
    };
    assert!(build(&search, MODEL, vec![]).is_ok());
    assert!(build(&search, "gemini-2.5-flash", vec![]).is_err());
    let mut raw = search.clone();
    raw.hosted.clear();
    raw.extra.insert("builtin_tools".to_owned(), json!([{"type": "google_search"}]));
    assert!(build(&raw, "gemini-2.5-flash", vec![]).is_err());
    raw.on_unsupported = OnUnsupported::Drop;
    assert_eq!(build(&raw, "gemini-2.5-flash", vec![]).unwrap()["tools"].as_array().unwrap().len(), 1);
    raw.extra.insert("builtin_tools".to_owned(), json!([{"type": "function", "name": "a"}]));
    assert!(matches!(build(&raw, MODEL, vec![]), Err(WireError::DuplicateTool { .. })));
    let mut forced = ModelRequest { tool_choice: ToolChoice::Required, ..search };
    assert_eq!(build(&forced, MODEL, vec![]).unwrap()["generation_config"], json!({"tool_choice": "any"}));
    forced.tools_defs.clear();
    assert!(matches!(build(&forced, MODEL, vec![]), Err(WireError::UnsupportedChoice { .. })));
}

/// DEV-A06
#[test]
fn a_paused_interaction_is_continued_by_its_token() {
    let mut body = interaction("requires_continuation", json!([{"type": "thought", "signature": "S"}]));
    body["continuation_token"] = "TOKEN".into();
    let paused = try_read(&body).unwrap();
    assert_eq!(paused.stop, Stop::Paused);
    let sent = build(&ModelRequest::default(), MODEL, vec![says("go"), Entry::Reply(Arc::new(paused))]).unwrap();
    assert_eq!((&sent["continuation_token"], sent["input"].as_array().unwrap().len()), (&json!("TOKEN"), 1));
}

/// JSON in which the names that mean something turn up often, with values that often have the wrong type.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "text",
        "thought",
        "model_output",
        "function_call",
        "google_search_call",
        "url_context_result",
        "image",
        "arguments_delta",
        "thought_summary",
        "thought_signature",
        "step.start",
        "step.delta",
        "interaction.completed",
        "error",
        "completed",
        "{\"a\":",
        "é\u{2028}天",
    ]);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        (-2i64..9).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null)
    ];
    let key = prop::sample::select(vec![
        "type",
        "event_type",
        "index",
        "step",
        "delta",
        "interaction",
        "steps",
        "status",
        "id",
        "call_id",
        "name",
        "arguments",
        "content",
        "text",
        "annotations",
        "url",
        "start_index",
        "end_index",
        "summary",
        "signature",
        "result",
        "usage",
        "total_input_tokens",
        "queries",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn as_value(reply: Result<Reply, ModelError>) -> Value {
    match reply {
        Ok(reply) => serde_json::to_value(reply).unwrap(),
        Err(error) => json!({"error": error}),
    }
}

fn fold_pieces(pieces: &[&[u8]]) -> Value {
    let (mut parser, mut fold) = (SseParser::new(), GeminiInteractions::default().fold(reading()));
    for piece in pieces {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    as_value(fold.finish())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = GeminiInteractions::default().parse(&bytes, &reading());
        fold_pieces(&[&bytes]);
    }

    #[test]
    fn mutated_events_never_panic_and_cuts_do_not_matter(
        mut bodies in prop::collection::vec((prop::sample::select(vec!["step.start", "step.delta", "interaction.completed", "x"]), any_json()), 1..8),
        steps in prop::collection::vec(any_json().prop_filter("a step", |step| !step.is_null()), 0..5),
        cuts in prop::collection::vec(0usize..6000, 0..12),
    ) {
        let whole = interaction("completed", json!(steps));
        let reply = try_read(&whole).unwrap();
        let sent = build(&ModelRequest::default(), MODEL, vec![Entry::Reply(Arc::new(reply))]).unwrap();
        prop_assert_eq!(&sent["input"], &whole["steps"]);
        for (kind, body) in &mut bodies {
            if let Some(event) = body.as_object_mut() {
                event.insert("event_type".to_owned(), (*kind).into());
                let inner = event.clone().into();
                event.entry("delta").or_insert(inner);
            }
        }
        let sse: String = bodies.iter().map(|(_, body)| format!("data: {body}\r\n\r\n")).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(sse.len())).collect();
        cuts.extend([0, sse.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &sse.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(fold_pieces(&pieces), fold_pieces(&[sse.as_bytes()]));
    }
}
