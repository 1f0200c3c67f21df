//! What holds for every dialect: nothing panics on foreign bytes, and cuts do not matter.

mod broken;
mod building;
mod kit;
mod reading;
mod shapes;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::dialect;
use crate::{
    llm::{Conversation, Dialect, ModelError, ModelRequest, Profile, Reading, SseParser, Target, ToolDef},
    types::{Api, Entry, FunctionCall, Item, Part, Reply, Stop, ToolResult},
};

/// Every dialect there is, each with what reads a reply of its first profile.
fn dialects() -> Vec<(Box<dyn Dialect>, Target)> {
    let of = |api: &Api| {
        let dialect = dialect(*api)?;
        let profile = Profile::shipped().iter().find(|profile| profile.apis.contains_key(api))?;
        Some((dialect, Target::new(profile, *api, "m".parse().unwrap()).unwrap()))
    };
    Api::ALL.iter().filter_map(of).collect()
}

fn reading(target: &Target) -> Reading {
    Reading::of((*target.origin).clone())
}

fn fold(dialect: &dyn Dialect, reading: &Reading, pieces: &[&[u8]]) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading.clone()));
    for piece in pieces {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn as_value(reply: Result<Reply, ModelError>) -> Value {
    match reply {
        Ok(reply) => serde_json::to_value(reply).unwrap(),
        Err(error) => json!({"error": error}),
    }
}

/// Values that mean something somewhere.
const WORDS: &[&str] = &[
    "message",
    "function_call",
    "reasoning",
    "web_search_call",
    "custom_tool_call",
    "completed",
    "failed",
    "tool_calls",
    "response.completed",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "message.output",
    "message.output.delta",
    "tool.execution.started",
    "tool.execution.done",
    "function.call.delta",
    "conversation.response.done",
    "thinking",
    "tool_reference",
    "error",
    "stop",
    "length",
    "null",
    "{\"a\":",
    "text",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "text_delta",
    "input_json_delta",
    "citations_delta",
    "signature_delta",
    "pause_turn",
    "",
    "é\u{2028}",
];

/// Names that do.
const KEYS: &[&str] = &[
    "type",
    "output",
    "choices",
    "message",
    "delta",
    "content",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "call_id",
    "index",
    "output_index",
    "item",
    "response",
    "usage",
    "input_tokens",
    "prompt_tokens",
    "status",
    "error",
    "finish_reason",
    "annotations",
    "url",
    "start_index",
    "end_index",
    "summary",
    "action",
    "sources",
    "code",
    "outputs",
    "content_index",
    "tool_call_id",
    "thinking",
    "info",
    "reasoning_details",
    "content_block",
    "partial_json",
    "signature",
    "citation",
    "citations",
    "tool_use_id",
    "stop_reason",
    "container",
    "iterations",
];

/// JSON in which the names that mean something turn up often, with values that often have the wrong type.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(WORDS);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null)
    ];
    let key = prop::sample::select(KEYS);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// The body of a request with fifty tools, a reply and its result, as one dialect after the other builds it.
fn fifty_tools() -> Vec<u8> {
    let tool = |at: usize| {
        let properties: serde_json::Map<String, Value> = ["zeta", "alpha", "mid"]
            .iter()
            .map(|name| (format!("{name}_{at}"), json!({"type": "string", "enum": ["b", "a"], "description": "x"})))
            .collect();
        Arc::new(ToolDef {
            name: format!("group.{}/tool {at}", at % 7).parse().unwrap(),
            description: format!("Tool {at}."),
            parameters: Arc::new(
                json!({"type": "object", "properties": properties, "required": [format!("mid_{at}")]}),
            ),
            strict: at.is_multiple_of(2),
            deferred: false,
        })
    };
    let mut request = ModelRequest { tools_defs: (0..50).map(tool).collect(), ..ModelRequest::default() };
    request.extra.insert("top_p".to_owned(), json!(0.5));
    request.extra.insert("metadata".to_owned(), json!({"b": 1, "a": 2}));
    let mut bytes = Vec::new();
    for (dialect, target) in dialects() {
        let call = FunctionCall {
            provider_id: "functions.x:0".to_owned(),
            name: "group.0/tool 0".to_owned(),
            arguments: "{\"zeta_0\":\"a\"}".to_owned(),
            complete: true,
        };
        let result = ToolResult {
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            content: "ok".to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let items = vec![Item::local(Part::Call(call))];
        let origin = (*target.origin).clone();
        let reply =
            Reply { origin, id: None, items, stop: Stop::ToolCalls, usage: None, notices: Vec::new(), carry: None };
        let mut conversation = Conversation::from(vec![Entry::Reply(Arc::new(reply)), Entry::Results(vec![result])]);
        bytes.extend(dialect.build(&request, &target, &mut conversation).unwrap().body);
    }
    bytes
}

/// Prints what it built, for [`a_hundred_fresh_processes_build_the_same_bytes`].
#[test]
fn fifty_tools_are_on_the_wire() {
    let bytes = fifty_tools();
    let body = String::from_utf8(bytes).unwrap();
    assert_eq!(body.matches("Tool 49.").count(), dialects().len());
    println!("BYTES {body}");
}

/// DEV-D06: no hash order, address or time gets into a request.
#[test]
fn a_hundred_fresh_processes_build_the_same_bytes() {
    let expected = format!("BYTES {}", String::from_utf8(fifty_tools()).unwrap());
    let name = "llm::provider::tests::fifty_tools_are_on_the_wire";
    for _ in 0..100 {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        let output = process.args(["--exact", name, "--nocapture", "--test-threads=1"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.find("BYTES ").and_then(|at| line.get(at..)));
        assert_eq!(line, Some(expected.as_str()));
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for (dialect, target) in dialects() {
            let reading = reading(&target);
            let _ = dialect.parse(&bytes, &reading);
            let _ = fold(dialect.as_ref(), &reading, &[&bytes]);
        }
    }

    #[test]
    fn arbitrary_json_never_panics_and_cuts_do_not_matter(
        bodies in prop::collection::vec(any_json(), 1..8),
        cuts in prop::collection::vec(0usize..4000, 0..12),
    ) {
        let sse: String = bodies.iter().map(|body| format!("data: {body}\r\n\r\n")).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(sse.len())).collect();
        cuts.extend([0, sse.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &sse.as_bytes()[pair[0]..pair[1]]).collect();
        for (dialect, target) in dialects() {
            let reading = reading(&target);
            for body in &bodies {
                let _ = dialect.parse(body.to_string().as_bytes(), &reading);
            }
            let whole = as_value(fold(dialect.as_ref(), &reading, &[sse.as_bytes()]));
            prop_assert_eq!(as_value(fold(dialect.as_ref(), &reading, &pieces)), whole);
        }
    }
}
