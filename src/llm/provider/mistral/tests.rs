use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{super::openai_response::tests::tool, *};
use crate::{
    llm::{HostedTool, OnUnsupported, Profile, SseParser, ToolChoice},
    types::{
        Api, Citation, CitationSource, Entry, FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Part, Stop,
        ToolResult, Usage, UserPart,
    },
};

fn target() -> Target {
    let profile = Profile::by_name("mistral").unwrap();
    Target::new(profile, Api::Conversations, "mistral-medium-latest".parse().unwrap()).unwrap()
}

/// What reads a reply to a request that offered `orders.find`.
fn reading() -> Reading {
    let request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    MistralConversations::default().build(&request, &target(), &mut Conversation::new()).unwrap().reading
}

fn parse(outputs: &Value) -> Reply {
    let body = json!({"object": "conversation.response", "conversation_id": "conv_1", "outputs": outputs,
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 150, "connector_tokens": 30,
            "connectors": {"web_search": 2}}});
    MistralConversations::default().parse(body.to_string().as_bytes(), &reading()).unwrap()
}

fn fold(events: &[Value], size: usize) -> Result<Reply, ModelError> {
    let sse: String = events.iter().map(|event| format!("event: {}\r\ndata: {event}\r\n\r\n", event["type"])).collect();
    let (mut parser, mut fold) = (SseParser::new(), MistralConversations::default().fold(reading()));
    for piece in sse.as_bytes().chunks(size) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn url(url: &str, title: &str, range: Option<(usize, usize)>) -> Citation {
    Citation {
        source: CitationSource::Url(url.to_owned()),
        title: Some(title.to_owned()),
        quote: None,
        start: range.map(|it| it.0),
        end: range.map(|it| it.1),
    }
}

fn search_outputs() -> Value {
    json!([
        {"object": "entry", "type": "tool.execution", "id": "tool_exec_1", "name": "web_search", "arguments": "{\"query\":\"Höhe\"}"},
        {"object": "entry", "type": "message.output", "id": "msg_1", "role": "assistant", "content": [
            {"type": "text", "text": "Es ist 324 m höher."},
            {"type": "tool_reference", "tool": "web_search", "title": "Turm", "url": "https://turm.example/a"},
            {"type": "text", "text": " Nicht mehr."},
            {"type": "tool_reference", "tool": "web_search", "title": "B", "url": null, "source": "https://b.example"}]},
        {"object": "entry", "type": "function.call", "id": "fc_1", "tool_call_id": "AbCd12345", "name": "orders_find",
            "arguments": "{\"id\":12345678901234567890}"}
    ])
}

#[test]
fn a_whole_request_looks_like_this() {
    let request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tools_defs: vec![tool("orders.find")],
        hosted: vec![HostedTool::new(HostedKind::Search), HostedTool::new(HostedKind::Code)],
        tool_choice: ToolChoice::Required,
        max_output_tokens: Some(500),
        temperature: Some(0.5),
        reasoning_effort: Some("low".to_owned()),
        response_schema: Some(("answer".to_owned(), json!({"type": "object"}))),
        stream: true,
        extra: serde_json::from_value(json!({"completion_args": {"random_seed": 7}, "name": "probe"})).unwrap(),
        ..ModelRequest::default()
    };
    let reply = parse(&search_outputs());
    let entries = vec![
        Entry::User(vec![
            UserPart::Text("look".to_owned()),
            UserPart::Image { url: "https://example.org/a.png".to_owned() },
        ]),
        Entry::Reply(Arc::new(reply)),
        Entry::Results(vec![ToolResult {
            provider_id: "AbCd12345".to_owned(),
            name: "orders.find".to_owned(),
            content: "none".to_owned(),
            is_error: false,
            images: Vec::new(),
        }]),
        Entry::Notice("One call is left.".to_owned()),
    ];
    let wire = MistralConversations::default().build(&request, &target(), &mut Conversation::from(entries)).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}

#[test]
fn an_agent_is_named_in_a_field_of_its_own() {
    let profile = Profile::by_name("mistral").unwrap();
    let target = Target::new(profile, Api::Conversations, "ag_0198".parse().unwrap()).unwrap();
    let wire =
        MistralConversations::default().build(&ModelRequest::default(), &target, &mut Conversation::new()).unwrap();
    assert_eq!(&*wire.body, br#"{"agent_id":"ag_0198","store":false,"inputs":[]}"#);
}

#[test]
fn text_calls_hosted_tools_and_sources_are_read() {
    let reply = parse(&search_outputs());
    let cited = [url("https://turm.example/a", "Turm", Some((0, 19))), url("https://b.example", "B", Some((19, 31)))];
    let sources = cited.clone().map(|citation| Citation { start: None, end: None, ..citation });
    let parts: Vec<Part> = reply.parts().cloned().collect();
    assert_eq!(
        parts,
        [
            Part::Hosted(HostedOutput {
                kind: HostedKind::Search,
                id: Some("tool_exec_1".to_owned()),
                status: HostedStatus::Completed,
                input: vec!["Höhe".to_owned()],
                output: None,
                sources: sources.to_vec(),
            }),
            Part::Text { text: "Es ist 324 m höher. Nicht mehr.".to_owned(), citations: cited.to_vec() },
            Part::Call(FunctionCall {
                provider_id: "AbCd12345".to_owned(),
                name: "orders.find".to_owned(),
                arguments: "{\"id\":12345678901234567890}".to_owned(),
                complete: true,
            }),
        ]
    );
    assert_eq!((reply.id.as_deref(), &reply.stop), (Some("conv_1"), &Stop::ToolCalls));
}

/// DEV-K01: what connectors read is counted beside the prompt, once.
#[test]
fn tokens_of_connectors_are_counted_once() {
    let usage = Usage { input: 100, output: 20, tool_use: 30, searches: 2, ..Usage::default() };
    assert_eq!(parse(&json!([])).usage, Some(usage));
}

#[test]
fn code_shows_what_it_ran_and_what_came_of_it() {
    let reply = parse(&json!([{"type": "tool.execution", "id": "t", "name": "code_interpreter",
        "arguments": "{\"code\":\"6*7\"}", "info": {"code": "6*7", "code_output": "42\n"}}]));
    let output = reply.hosted().next().unwrap();
    assert_eq!((&output.kind, &output.input), (&HostedKind::Code, &vec!["6*7".to_owned()]));
    assert_eq!(output.output.as_deref(), Some("42\n"));
}

fn search_events() -> Vec<Value> {
    let delta = |index: u64, content: Value| {
        json!({"type": "message.output.delta", "output_index": 1, "id": "msg_1", "content_index": index,
            "role": "assistant", "content": content})
    };
    vec![
        json!({"type": "conversation.response.started", "conversation_id": "conv_1"}),
        json!({"type": "tool.execution.started", "output_index": 0, "id": "tool_exec_1", "name": "web_search", "arguments": ""}),
        json!({"type": "tool.execution.delta", "output_index": 0, "id": "tool_exec_1", "name": "web_search", "arguments": "{\"query\":"}),
        json!({"type": "tool.execution.delta", "output_index": 0, "id": "tool_exec_1", "name": "web_search", "arguments": "\"Höhe\"}"}),
        json!({"type": "tool.execution.done", "output_index": 0, "id": "tool_exec_1", "name": "web_search"}),
        delta(0, json!("Es ist 324 m")),
        delta(0, json!(" höher.")),
        delta(
            1,
            json!({"type": "tool_reference", "tool": "web_search", "title": "Turm", "url": "https://turm.example/a"}),
        ),
        delta(2, json!({"type": "text", "text": " Nicht"})),
        delta(2, json!(" mehr.")),
        delta(
            3,
            json!({"type": "tool_reference", "tool": "web_search", "title": "B", "url": null, "source": "https://b.example"}),
        ),
        json!({"type": "function.call.delta", "output_index": 2, "id": "fc_1", "tool_call_id": "AbCd12345", "name": "orders_find", "arguments": "{\"id\":1234567"}),
        json!({"type": "function.call.delta", "output_index": 2, "id": "fc_1", "tool_call_id": "AbCd12345", "name": "orders_find", "arguments": "8901234567890}"}),
        json!({"type": "conversation.response.done", "usage": {"prompt_tokens": 100, "completion_tokens": 20,
            "total_tokens": 150, "connector_tokens": 30, "connectors": {"web_search": 2}}}),
    ]
}

/// DEV-B06 among others: arguments arrive with every digit.
#[test]
fn a_streamed_reply_equals_the_unary_one_however_it_is_cut() {
    let unary = parse(&search_outputs());
    for size in [1, 3, 64, 100_000] {
        let streamed = fold(&search_events(), size).unwrap();
        assert_eq!(streamed.parts().collect::<Vec<_>>(), unary.parts().collect::<Vec<_>>());
        assert_eq!((streamed.id, streamed.stop, streamed.usage), (unary.id.clone(), unary.stop.clone(), unary.usage));
        let raws = |items: &[Item]| -> Vec<Value> {
            items.iter().map(|item| serde_json::from_str(item.raw.as_deref().unwrap().get()).unwrap()).collect()
        };
        assert_eq!(raws(&streamed.items), raws(&unary.items));
    }
}

/// DEV-A07, DEV-E01: entries of its own go back as they came, hosted ones in their place, results behind them.
#[test]
fn own_entries_are_replayed_byte_for_byte() {
    let outputs = search_outputs();
    let reply = parse(&outputs);
    let mut conversation = Conversation::from(vec![Entry::Reply(Arc::new(reply))]);
    let wire = MistralConversations::default().build(&ModelRequest::default(), &target(), &mut conversation).unwrap();
    let text = outputs.to_string();
    let body = String::from_utf8(wire.body.to_vec()).unwrap();
    assert!(body.ends_with(&format!("\"inputs\":{text}}}")), "{body}\n{text}");
}

/// DEV-B02
#[test]
fn broken_arguments_go_back_as_an_object() {
    let reply =
        parse(&json!([{"type": "function.call", "id": "fc", "tool_call_id": "AbCd12345", "name": "orders_find",
        "arguments": "file_path=foo"}]));
    assert_eq!(reply.calls().next().unwrap().arguments, "file_path=foo");
    let mut conversation = Conversation::from(vec![Entry::Reply(Arc::new(reply))]);
    let wire = MistralConversations::default().build(&ModelRequest::default(), &target(), &mut conversation).unwrap();
    let body: Value = serde_json::from_slice(&wire.body).unwrap();
    let sent = body["inputs"][0]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(sent).unwrap().is_object(), "{sent}");
}

/// DEV-B01, DEV-B04: a new id at a used place is another call, and blank arguments are an object.
#[test]
fn calls_are_told_apart_by_id_first() {
    let piece = |id: &str, arguments: &str| {
        json!({"type": "function.call.delta", "output_index": 0, "id": format!("fc_{id}"), "tool_call_id": id,
            "name": "orders_find", "arguments": arguments})
    };
    let done = json!({"type": "conversation.response.done", "usage": {}});
    let reply = fold(&[piece("aaaaaaaaa", "{\"p\":1}"), piece("bbbbbbbbb", ""), done], 9).unwrap();
    let calls: Vec<(&str, &str)> =
        reply.calls().map(|call| (call.provider_id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("aaaaaaaaa", "{\"p\":1}"), ("bbbbbbbbb", "{}")]);
}

/// DEV-C02, DEV-C01: foreign ids are rewritten the same way for call and result, in the order of the calls.
#[test]
fn a_foreign_history_meets_the_rule_for_ids() {
    let call = |id: &str| {
        let (provider_id, name) = (id.to_owned(), "orders.find".to_owned());
        Item::local(Part::Call(FunctionCall { provider_id, name, arguments: "{}".to_owned(), complete: true }))
    };
    let mut reply = parse(&json!([]));
    reply.origin.provider = "other".parse().unwrap();
    let text = Part::Text { text: "Wait.".to_owned(), citations: Vec::new() };
    reply.items = vec![Item::local(text), call("functions.read:0"), call("toolu_01")];
    let result = |id: &str| ToolResult {
        provider_id: id.to_owned(),
        name: "orders.find".to_owned(),
        content: "ok".to_owned(),
        is_error: false,
        images: Vec::new(),
    };
    let results = Entry::Results(vec![result("functions.read:0"), result("toolu_01")]);
    let mut conversation = Conversation::from(vec![Entry::Reply(Arc::new(reply)), results]);
    let request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    let wire = MistralConversations::default().build(&request, &target(), &mut conversation).unwrap();
    let body: Value = serde_json::from_slice(&wire.body).unwrap();
    let ids: Vec<&str> = (1..5).map(|at| body["inputs"][at]["tool_call_id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())), "{ids:?}");
    assert_eq!((ids[0], ids[1]), (ids[2], ids[3]));
    assert_ne!(ids[0], ids[1]);
    assert_eq!(
        body["inputs"][3],
        json!({"object": "entry", "type": "function.result", "tool_call_id": ids[0], "result": "ok"})
    );
}

#[test]
fn a_server_tool_that_waits_for_consent_is_no_call_of_ours_and_no_answer() {
    let waiting = |name: &str| {
        json!([{"type": "function.call", "id": "fc_1", "tool_call_id": "AbCd12345", "name": name,
            "arguments": "{}", "confirmation_status": "pending"}])
    };
    let reply = parse(&waiting("send_mail"));
    assert_eq!(reply.calls().count(), 0);
    assert_eq!(reply.hosted().next().unwrap().kind, HostedKind::McpApproval);
    assert!(matches!(reply.stop, Stop::Unknown(_)), "{:?}", reply.stop);
    assert_eq!(reply.notices.len(), 1);
    assert_eq!(parse(&waiting("orders_find")).stop, Stop::ToolCalls);
}

#[test]
fn what_is_unknown_is_kept_said_and_never_finished() {
    let strange = json!({"object": "entry", "type": "agent.dream", "id": "d", "vision": [1, 2.50]});
    let reply = parse(&json!([strange]));
    assert_eq!(reply.stop, Stop::Unknown("the last entry is a `agent.dream`".to_owned()));
    assert_eq!(reply.notices, ["an entry of the unknown type `agent.dream` was kept"]);
    assert_eq!(reply.items[0].raw.as_deref().unwrap().get(), strange.to_string());
    let handed = parse(&json!([{"type": "agent.handoff", "id": "h", "previous_agent_id": "a", "next_agent_id": "b"}]));
    assert!(matches!(handed.stop, Stop::Unknown(_)));
    let events = [
        json!({"type": "message.output.delta", "id": "m", "content": "Hi"}),
        json!({"type": "agent.dream.started", "id": "d"}),
        json!({"type": "conversation.response.done", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
    ];
    let reply = fold(&events, 11).unwrap();
    assert_eq!(reply.text_and_citations().0, "Hi");
    assert_eq!(reply.notices, ["an event of the unknown type `agent.dream.started` was left out"]);
}

#[test]
fn a_failure_is_an_error_and_a_cut_stream_no_finished_reply() {
    let mut events = search_events();
    events.truncate(12);
    let reply = fold(&events, 5).unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)));
    assert!(reply.calls().all(|call| !call.complete));
    assert!(reply.items.iter().all(|item| item.raw.is_none()));
    events.push(json!({"type": "conversation.response.error", "message": "overloaded", "code": 503}));
    let error = fold(&events, 5).unwrap_err();
    assert!(error.retryable, "{error}");
    let error = MistralConversations::default()
        .parse(br#"{"object":"error","message":"no such model","type":"invalid_model","code":"1500"}"#, &reading())
        .unwrap_err();
    assert!(error.message.contains("no such model"), "{error}");
    assert!(fold(&[], 1).unwrap_err().retryable);
}

/// DEV-A02: there is no word for one named tool; it is refused, or dropped aloud.
#[test]
fn a_named_tool_is_refused_or_left_to_the_model_aloud() {
    let mut request = ModelRequest {
        tools_defs: vec![tool("orders.find")],
        tool_choice: ToolChoice::Named("orders.find".parse().unwrap()),
        ..ModelRequest::default()
    };
    let build =
        |request: &ModelRequest| MistralConversations::default().build(request, &target(), &mut Conversation::new());
    assert!(matches!(build(&request), Err(WireError::UnsupportedChoice { .. })));
    request.on_unsupported = OnUnsupported::Drop;
    let wire = build(&request).unwrap();
    assert_eq!(wire.reading.notices.len(), 1);
    assert!(!String::from_utf8_lossy(&wire.body).contains("tool_choice"));
}

/// DEV-A05: raw tools are added to the functions, and a name taken twice is an error.
#[test]
fn raw_tools_are_added_to_the_functions() {
    let mut request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    request.extra.insert("builtin_tools".to_owned(), json!([{"type": "web_search_premium"}]));
    let wire = MistralConversations::default().build(&request, &target(), &mut Conversation::new()).unwrap();
    let body: Value = serde_json::from_slice(&wire.body).unwrap();
    let kinds: Vec<&str> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["function", "web_search_premium"]);
}
