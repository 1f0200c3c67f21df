//! One reply in neutral words, written as each wire format writes it: whole, and as a stream in small pieces.
//!
//! The shapes are those of the providers' own SDKs of 2026-11; nothing here is recorded.

use serde_json::{Value, json};

use super::super::dialect;
use crate::{
    llm::{Fold, ModelError, Profile, Reading, SseParser},
    types::{Api, Origin, Part, Reply},
};

/// Every wire format.
pub(super) const WIRES: [Api; 7] = [
    Api::Responses,
    Api::Chat,
    Api::Messages,
    Api::GenerateContent,
    Api::Interactions,
    Api::Conversations,
    Api::Generation,
];

/// What a reply holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Say {
    Text(&'static str),
    Thought(&'static str),
    /// Id, name and arguments as text.
    Call(&'static str, &'static str, &'static str),
    /// A hosted search: what was asked, what was found.
    Search(&'static str, &'static str),
    /// An item that nobody knows yet.
    Odd,
}

/// How a reply ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Natural,
    Length,
    /// With a reason that nobody knows yet.
    Word(&'static str),
}

/// What the odd item holds: a number that no float takes.
pub(super) const ODD: &str = "12345678901234567890.123456789012345678901";

fn odd() -> Value {
    serde_json::from_str(&format!("{{\"light\":{ODD}}}")).unwrap()
}

/// Arguments as the formats take them that want an object: the object, or the text that is none.
fn object(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into())
}

/// A text in two pieces, cut at a character.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn has_calls(says: &[Say]) -> bool {
    says.iter().any(|say| matches!(say, Say::Call(..)))
}

/// The whole body.
pub(super) fn whole(api: Api, says: &[Say], end: End) -> Value {
    match api {
        Api::Responses => responses::whole(says, end),
        Api::Chat => chat::whole(says, end),
        Api::Messages => messages::whole(says, end),
        Api::GenerateContent => content::whole(says, end),
        Api::Interactions => interactions::whole(says, end),
        Api::Conversations => conversations::whole(says, end),
        Api::Generation => generation::whole(says, end),
        Api::Local => unreachable!("no wire"),
    }
}

/// The data of the events of a stream, and which of them brings the end of the reply.
pub(super) fn stream(api: Api, says: &[Say], end: End) -> (Vec<String>, usize) {
    let (events, last) = match api {
        Api::Responses => responses::stream(says, end),
        Api::Chat => chat::stream(says, end),
        Api::Messages => messages::stream(says, end),
        Api::GenerateContent => content::stream(says, end),
        Api::Interactions => interactions::stream(says, end),
        Api::Conversations => conversations::stream(says, end),
        Api::Generation => generation::stream(says, end),
        Api::Local => unreachable!("no wire"),
    };
    (events.into_iter().map(|event| event.as_str().map_or_else(|| event.to_string(), str::to_owned)).collect(), last)
}

/// Events as they travel.
pub(super) fn sse(events: &[String]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// A reading for replies of a provider that speaks the format.
pub(super) fn reading(api: Api) -> Reading {
    let profile = Profile::shipped().iter().find(|profile| profile.apis.contains_key(&api)).unwrap();
    let model = profile.default_model.clone().unwrap();
    Reading::of(profile.origin(api, model))
}

/// The origin of such replies.
pub(super) fn origin(api: Api) -> Origin {
    (*reading(api).origin).clone()
}

pub(super) fn parse(api: Api, body: &[u8]) -> Result<Reply, ModelError> {
    dialect(api).unwrap().parse(body, &reading(api))
}

pub(super) fn fold(api: Api, sse: &[u8]) -> Result<Reply, ModelError> {
    fold_with(dialect(api).unwrap().fold(reading(api)), &[sse])
}

pub(super) fn fold_with(mut fold: Box<dyn Fold>, pieces: &[&[u8]]) -> Result<Reply, ModelError> {
    let mut parser = SseParser::new();
    for piece in pieces {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

/// The same reply twice: read whole, and put together from a stream.
pub(super) fn both(api: Api, says: &[Say], end: End) -> [(&'static str, Reply); 2] {
    let body = whole(api, says, end).to_string();
    let (events, _) = stream(api, says, end);
    let parsed = parse(api, body.as_bytes()).unwrap_or_else(|error| panic!("{api} whole: {error}\n{body}"));
    let folded = fold(api, sse(&events).as_bytes()).unwrap_or_else(|error| panic!("{api} stream: {error}\n{events:?}"));
    [("whole", parsed), ("stream", folded)]
}

/// The parts that are neither empty texts nor thoughts without words.
pub(super) fn parts(reply: &Reply) -> Vec<Part> {
    let says =
        |part: &&Part| !matches!(part, Part::Text { text, citations } if text.is_empty() && citations.is_empty());
    reply.parts().filter(says).cloned().collect()
}

mod responses {
    use super::*;

    fn item(at: usize, say: Say, end: End) -> Value {
        let status = if matches!(end, End::Length) { "incomplete" } else { "completed" };
        match say {
            Say::Text(text) => {
                json!({"type": "message", "id": format!("msg_{at}"), "role": "assistant", "status": status,
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
            }
            Say::Thought(text) => json!({"type": "reasoning", "id": format!("rs_{at}"), "encrypted_content": "gAAAA",
                "summary": [{"type": "summary_text", "text": text}]}),
            Say::Call(id, name, arguments) => json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": id,
                "name": name, "arguments": arguments, "status": status}),
            Say::Search(query, url) => {
                json!({"type": "web_search_call", "id": format!("ws_{at}"), "status": "completed",
                "action": {"type": "search", "query": query, "sources": [{"type": "url", "url": url}]}})
            }
            Say::Odd => json!({"type": "hologram", "id": format!("ho_{at}"), "hologram": odd()}),
        }
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        let output: Vec<Value> = says.iter().enumerate().map(|(at, say)| item(at, *say, end)).collect();
        let (status, details) = match end {
            End::Natural => ("completed", Value::Null),
            End::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
            End::Word(word) => ("incomplete", json!({"reason": word})),
        };
        json!({"id": "resp_1", "object": "response", "status": status, "model": "gpt-5.6", "error": null,
            "incomplete_details": details, "output": output,
            "usage": {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 600},
                "output_tokens": 256, "output_tokens_details": {"reasoning_tokens": 56}, "total_tokens": 1156}})
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let begun = json!({"id": "resp_1", "status": "in_progress", "output": [], "usage": null});
        let mut events = vec![json!({"type": "response.created", "response": begun})];
        for (at, say) in says.iter().enumerate() {
            let whole = item(at, *say, end);
            let mut begun = whole.clone();
            begun["status"] = "in_progress".into();
            let delta = |kind: &str, delta: &str| {
                json!({"type": kind, "output_index": at, "item_id": whole["id"], "content_index": 0, "summary_index": 0,
                    "delta": delta})
            };
            let mut deltas = Vec::new();
            match *say {
                Say::Text(text) => {
                    begun["content"] = json!([]);
                    deltas.extend(halves(text).map(|half| delta("response.output_text.delta", half)));
                }
                Say::Thought(text) => {
                    begun["summary"] = json!([]);
                    deltas.extend(halves(text).map(|half| delta("response.reasoning_summary_text.delta", half)));
                }
                Say::Call(_, _, arguments) => {
                    begun["arguments"] = "".into();
                    deltas.extend(halves(arguments).map(|half| delta("response.function_call_arguments.delta", half)));
                }
                Say::Search(..) => {
                    begun.as_object_mut().unwrap().remove("action");
                    deltas.push(json!({"type": "response.web_search_call.searching", "output_index": at}));
                }
                Say::Odd => {}
            }
            events.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
            events.extend(deltas);
            events.push(json!({"type": "response.output_item.done", "output_index": at, "item": whole}));
        }
        let kind = if matches!(end, End::Natural) { "response.completed" } else { "response.incomplete" };
        events.push(json!({"type": kind, "response": super::responses::whole(says, end)}));
        let last = events.len() - 1;
        (events, last)
    }
}

mod chat {
    use super::*;

    pub(super) fn finish(says: &[Say], end: End) -> &'static str {
        match end {
            End::Natural if has_calls(says) => "tool_calls",
            End::Natural => "stop",
            End::Length => "length",
            End::Word(word) => word,
        }
    }

    fn call(at: usize, id: &str, name: &str, arguments: &str) -> Value {
        json!({"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    pub(super) fn message(says: &[Say]) -> Value {
        let mut message = json!({"role": "assistant", "content": null});
        let (mut text, mut pieces, mut calls) = (String::new(), Vec::new(), Vec::new());
        for say in says {
            match *say {
                Say::Text(more) => text.push_str(more),
                Say::Thought(thought) => message["reasoning_content"] = thought.into(),
                Say::Call(id, name, arguments) => calls.push(call(calls.len(), id, name, arguments)),
                Say::Odd => pieces.push(json!({"type": "hologram", "hologram": odd()})),
                Say::Search(..) => {}
            }
        }
        if !pieces.is_empty() {
            pieces.insert(0, json!({"type": "text", "text": text}));
            message["content"] = pieces.into();
        } else if !text.is_empty() {
            message["content"] = text.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        message
    }

    /// The pieces of a message.
    pub(super) fn deltas(says: &[Say]) -> Vec<Value> {
        let (mut deltas, mut calls) = (vec![json!({"role": "assistant", "content": ""})], 0);
        for say in says {
            match *say {
                Say::Text(text) => deltas.extend(halves(text).map(|half| json!({"content": half}))),
                Say::Thought(text) => deltas.extend(halves(text).map(|half| json!({"reasoning_content": half}))),
                Say::Call(id, name, arguments) => {
                    deltas.push(json!({"tool_calls": [call(calls, id, name, "")]}));
                    let rest = halves(arguments).into_iter().filter(|half| !half.is_empty());
                    deltas.extend(
                        rest.map(|half| json!({"tool_calls": [{"index": calls, "function": {"arguments": half}}]})),
                    );
                    calls += 1;
                }
                Say::Odd => deltas.push(json!({"content": [{"type": "hologram", "hologram": odd()}]})),
                Say::Search(..) => {}
            }
        }
        deltas
    }

    fn found(says: &[Say]) -> Option<Value> {
        let urls = says.iter().filter_map(|say| if let Say::Search(_, url) = say { Some(*url) } else { None });
        let found: Vec<Value> = urls.map(|url| json!({"link": url, "title": "found", "refer": "ref_1"})).collect();
        (!found.is_empty()).then(|| found.into())
    }

    const USAGE: &str = r#"{"prompt_tokens":900,"completion_tokens":256,"total_tokens":1156,
        "prompt_tokens_details":{"cached_tokens":600},"completion_tokens_details":{"reasoning_tokens":56}}"#;

    pub(super) fn usage() -> Value {
        serde_json::from_str(USAGE).unwrap()
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        let choice = json!({"index": 0, "message": message(says), "finish_reason": finish(says, end)});
        let mut body = json!({"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage()});
        if let Some(found) = found(says) {
            body["web_search"] = found;
        }
        body
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let chunk = |choices: Value| json!({"id": "c1", "object": "chat.completion.chunk", "choices": choices});
        let mut events: Vec<Value> = deltas(says)
            .into_iter()
            .map(|delta| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])))
            .collect();
        if let Some(found) = found(says) {
            events[0]["web_search"] = found;
        }
        events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish(says, end)}])));
        let last = events.len() - 1;
        let mut counted = chunk(json!([]));
        counted["usage"] = usage();
        events.extend([counted, "[DONE]".into()]);
        (events, last)
    }
}

mod messages {
    use super::*;

    fn blocks(at: usize, say: Say) -> Vec<Value> {
        match say {
            Say::Text(text) => vec![json!({"type": "text", "text": text})],
            Say::Thought(text) => vec![json!({"type": "thinking", "thinking": text, "signature": "Es4D"})],
            Say::Call(id, name, arguments) => {
                vec![json!({"type": "tool_use", "id": id, "name": name, "input": object(arguments)})]
            }
            Say::Search(query, url) => {
                let id = format!("srvtoolu_{at}");
                let found =
                    json!([{"type": "web_search_result", "url": url, "title": "found", "encrypted_content": "E"}]);
                vec![
                    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}),
                    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": found}),
                ]
            }
            Say::Odd => vec![json!({"type": "hologram", "hologram": odd()})],
        }
    }

    fn reason(says: &[Say], end: End) -> &'static str {
        match end {
            End::Natural if has_calls(says) => "tool_use",
            End::Natural => "end_turn",
            End::Length => "max_tokens",
            End::Word(word) => word,
        }
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        let content: Vec<Value> = says.iter().enumerate().flat_map(|(at, say)| blocks(at, *say)).collect();
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": content,
            "stop_reason": reason(says, end), "stop_sequence": null,
            "usage": {"input_tokens": 300, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 0,
                "output_tokens": 256}})
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let mut begun = whole(says, end);
        begun["content"] = json!([]);
        begun["stop_reason"] = Value::Null;
        begun["usage"]["output_tokens"] = 1.into();
        let mut events = vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
        let blocks =
            says.iter().enumerate().flat_map(|(at, say)| blocks(at, *say).into_iter().map(|block| (*say, block)));
        for (index, (say, block)) in blocks.enumerate() {
            let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            let (mut begun, mut deltas) = (block.clone(), Vec::new());
            match (say, block["type"].as_str().unwrap()) {
                (Say::Text(text), _) => {
                    begun["text"] = "".into();
                    deltas.extend(halves(text).map(|half| delta(json!({"type": "text_delta", "text": half}))));
                }
                (Say::Thought(text), _) => {
                    (begun["thinking"], begun["signature"]) = ("".into(), "".into());
                    deltas.extend(halves(text).map(|half| delta(json!({"type": "thinking_delta", "thinking": half}))));
                    deltas.push(delta(json!({"type": "signature_delta", "signature": "Es4D"})));
                }
                (Say::Call(_, _, input), _) => {
                    begun["input"] = json!({});
                    let json = |half| delta(json!({"type": "input_json_delta", "partial_json": half}));
                    deltas.extend(halves(input).map(json));
                }
                (_, "server_tool_use") => {
                    begun["input"] = json!({});
                    let input = block["input"].to_string();
                    deltas.push(delta(json!({"type": "input_json_delta", "partial_json": input})));
                }
                _ => {}
            }
            events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
            events.extend(deltas);
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events
            .push(json!({"type": "message_delta", "delta": {"stop_reason": reason(says, end), "stop_sequence": null},
            "usage": {"output_tokens": 256}}));
        let last = events.len() - 1;
        events.push(json!({"type": "message_stop"}));
        (events, last)
    }
}

mod content {
    use super::*;

    fn parts(at: usize, say: Say) -> Vec<Value> {
        match say {
            Say::Text(text) => vec![json!({"text": text})],
            Say::Thought(text) => vec![json!({"text": text, "thought": true})],
            Say::Call(id, name, arguments) => {
                vec![
                    json!({"functionCall": {"id": id, "name": name, "args": object(arguments)}, "thoughtSignature": "Cg=="}),
                ]
            }
            Say::Search(query, _) => {
                let id = format!("s{at}");
                let kind = "GOOGLE_SEARCH_WEB";
                vec![
                    json!({"toolCall": {"id": id, "toolType": kind, "args": {"queries": [query]}}, "thoughtSignature": "Cg=="}),
                    json!({"toolResponse": {"id": id, "toolType": kind, "response": {"search_suggestions": "<p>"}}}),
                ]
            }
            Say::Odd => vec![json!({"hologram": odd()})],
        }
    }

    fn reason(end: End) -> &'static str {
        match end {
            End::Natural => "STOP",
            End::Length => "MAX_TOKENS",
            End::Word(word) => word,
        }
    }

    fn grounding(says: &[Say]) -> Option<Value> {
        let found =
            says.iter().filter_map(|say| if let Say::Search(query, url) = say { Some((query, url)) } else { None });
        let (queries, urls): (Vec<&str>, Vec<&str>) = found.unzip();
        let chunks: Vec<Value> = urls.iter().map(|url| json!({"web": {"uri": url, "title": "found"}})).collect();
        (!queries.is_empty()).then(|| json!({"webSearchQueries": queries, "groundingChunks": chunks}))
    }

    fn chunk(parts: &[Value]) -> Value {
        json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": parts}}]})
    }

    fn ended(mut chunk: Value, says: &[Say], end: End) -> Value {
        chunk["candidates"][0]["finishReason"] = reason(end).into();
        if let Some(grounding) = grounding(says) {
            chunk["candidates"][0]["groundingMetadata"] = grounding;
        }
        chunk["usageMetadata"] = json!({"promptTokenCount": 900, "cachedContentTokenCount": 600,
            "candidatesTokenCount": 200, "thoughtsTokenCount": 56, "totalTokenCount": 1156});
        chunk
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        let parts: Vec<Value> = says.iter().enumerate().flat_map(|(at, say)| parts(at, *say)).collect();
        ended(chunk(&parts), says, end)
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let mut events = Vec::new();
        for (at, say) in says.iter().enumerate() {
            match *say {
                Say::Text(text) => events.extend(halves(text).map(|half| chunk(&[json!({"text": half})]))),
                Say::Thought(text) => {
                    events.extend(halves(text).map(|half| chunk(&[json!({"text": half, "thought": true})])));
                }
                Say::Call(..) | Say::Search(..) | Say::Odd => {
                    events.extend(parts(at, *say).into_iter().map(|part| chunk(&[part])));
                }
            }
        }
        events.push(ended(chunk(&[]), says, end));
        let last = events.len() - 1;
        (events, last)
    }
}

mod interactions {
    use super::*;

    fn steps(at: usize, say: Say) -> Vec<Value> {
        let id = format!("s{at}");
        match say {
            Say::Text(text) => vec![json!({"type": "model_output", "content": [{"type": "text", "text": text}]})],
            Say::Thought(text) => {
                vec![json!({"type": "thought", "summary": [{"type": "text", "text": text}], "signature": "Cg=="})]
            }
            Say::Call(id, name, arguments) => {
                vec![json!({"type": "function_call", "id": id, "name": name, "arguments": object(arguments)})]
            }
            Say::Search(query, url) => vec![
                json!({"type": "google_search_call", "id": id, "arguments": {"queries": [query]}, "signature": "Cg=="}),
                json!({"type": "google_search_result", "call_id": id, "result": [{"url": url, "title": "found"}]}),
            ],
            Say::Odd => vec![json!({"type": "hologram", "hologram": odd()})],
        }
    }

    fn head(says: &[Say], end: End) -> Value {
        let status = match end {
            End::Natural if has_calls(says) => "requires_action",
            End::Natural => "completed",
            End::Length => "incomplete",
            End::Word(word) => word,
        };
        json!({"id": "v1_1", "object": "interaction", "status": status,
            "usage": {"total_input_tokens": 900, "total_cached_tokens": 600, "total_output_tokens": 200,
                "total_thought_tokens": 56, "total_tokens": 1156}})
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        let mut body = head(says, end);
        body["steps"] = says.iter().enumerate().flat_map(|(at, say)| steps(at, *say)).collect();
        body
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let begun = json!({"id": "v1_1", "status": "in_progress"});
        let mut events = vec![json!({"event_type": "interaction.created", "interaction": begun})];
        let steps = says.iter().enumerate().flat_map(|(at, say)| steps(at, *say).into_iter().map(|step| (*say, step)));
        for (index, (say, step)) in steps.enumerate() {
            let delta = |delta: Value| json!({"event_type": "step.delta", "index": index, "delta": delta});
            let (mut begun, mut deltas) = (step.clone(), Vec::new());
            match say {
                Say::Text(text) => {
                    begun.as_object_mut().unwrap().remove("content");
                    deltas.extend(halves(text).map(|half| delta(json!({"type": "text", "text": half}))));
                }
                Say::Thought(text) => {
                    begun = json!({"type": "thought"});
                    let summary = |half| json!({"type": "thought_summary", "content": {"type": "text", "text": half}});
                    deltas.extend(halves(text).map(|half| delta(summary(half))));
                    deltas.push(delta(json!({"type": "thought_signature", "signature": "Cg=="})));
                }
                Say::Call(_, _, arguments) => {
                    begun.as_object_mut().unwrap().remove("arguments");
                    let piece = |half| json!({"type": "arguments_delta", "arguments": half});
                    deltas.extend(halves(arguments).map(|half| delta(piece(half))));
                }
                Say::Search(..) | Say::Odd => {}
            }
            events.push(json!({"event_type": "step.start", "index": index, "step": begun}));
            events.extend(deltas);
            events.push(json!({"event_type": "step.stop", "index": index}));
        }
        events.push(json!({"event_type": "interaction.completed", "interaction": head(says, end)}));
        let last = events.len() - 1;
        (events, last)
    }
}

mod conversations {
    use super::*;

    fn entry(at: usize, say: Say) -> Value {
        match say {
            Say::Text(text) => json!({"object": "entry", "type": "message.output", "id": format!("msg_{at}"),
                "role": "assistant", "content": text}),
            Say::Thought(text) => json!({"object": "entry", "type": "message.output", "id": format!("msg_{at}"),
                "role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}),
            Say::Call(id, name, arguments) => {
                json!({"object": "entry", "type": "function.call", "id": format!("fc_{at}"),
                "tool_call_id": id, "name": name, "arguments": arguments})
            }
            Say::Search(query, _) => {
                json!({"object": "entry", "type": "tool.execution", "id": format!("tool_exec_{at}"),
                "name": "web_search", "arguments": json!({"query": query}).to_string(), "info": {}})
            }
            Say::Odd => json!({"object": "entry", "type": "message.output", "id": format!("msg_{at}"),
                "role": "assistant", "content": [{"type": "hologram", "hologram": odd()}]}),
        }
    }

    fn usage() -> Value {
        json!({"prompt_tokens": 900, "completion_tokens": 256, "total_tokens": 1156, "connector_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 600}})
    }

    /// There is no reason for an end on this surface.
    pub(super) fn whole(says: &[Say], _end: End) -> Value {
        let outputs: Vec<Value> = says.iter().enumerate().map(|(at, say)| entry(at, *say)).collect();
        json!({"object": "conversation.response", "conversation_id": "conv_1", "outputs": outputs, "usage": usage()})
    }

    pub(super) fn stream(says: &[Say], _end: End) -> (Vec<Value>, usize) {
        let mut events = vec![json!({"type": "conversation.response.started", "conversation_id": "conv_1"})];
        for (at, say) in says.iter().enumerate() {
            let whole = entry(at, *say);
            let message = |content: Value| {
                json!({"type": "message.output.delta", "id": whole["id"], "role": "assistant", "output_index": at,
                    "content_index": 0, "content": content})
            };
            match *say {
                Say::Text(text) => events.extend(halves(text).map(|half| message(half.into()))),
                Say::Thought(text) => {
                    let thought =
                        |half: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": half}]});
                    events.extend(halves(text).map(|half| message(thought(half))));
                }
                Say::Odd => events.push(message(whole["content"][0].clone())),
                Say::Call(id, name, arguments) => events.extend(halves(arguments).map(|half| {
                    json!({"type": "function.call.delta", "id": whole["id"], "tool_call_id": id, "name": name,
                        "output_index": at, "arguments": half})
                })),
                Say::Search(..) => {
                    let event = |kind: &str| json!({"type": kind, "id": whole["id"], "name": "web_search", "output_index": at, "info": {}});
                    let mut begun = event("tool.execution.started");
                    begun["arguments"] = whole["arguments"].clone();
                    events.extend([begun, event("tool.execution.done")]);
                }
            }
        }
        events.push(json!({"type": "conversation.response.done", "usage": usage()}));
        let last = events.len() - 1;
        (events, last)
    }
}

mod generation {
    use super::*;

    fn found(says: &[Say]) -> Option<Value> {
        let urls = says.iter().filter_map(|say| if let Say::Search(_, url) = say { Some(*url) } else { None });
        let found: Vec<Value> = urls.map(|url| json!({"index": 1, "url": url, "title": "found"})).collect();
        (!found.is_empty()).then(|| json!({"search_results": found}))
    }

    fn usage() -> Value {
        json!({"input_tokens": 900, "output_tokens": 256, "total_tokens": 1156,
            "prompt_tokens_details": {"cached_tokens": 600}, "output_tokens_details": {"reasoning_tokens": 56}})
    }

    fn output(message: &Value, finish: &str, says: &[Say]) -> Value {
        let mut output = json!({"choices": [{"finish_reason": finish, "message": message}]});
        if let Some(found) = found(says) {
            output["search_info"] = found;
        }
        json!({"request_id": "g1", "output": output, "usage": usage()})
    }

    pub(super) fn whole(says: &[Say], end: End) -> Value {
        output(&chat::message(says), chat::finish(says, end), says)
    }

    pub(super) fn stream(says: &[Say], end: End) -> (Vec<Value>, usize) {
        let mut events: Vec<Value> = chat::deltas(says).iter().map(|delta| output(delta, "null", says)).collect();
        events.push(output(&json!({"role": "assistant", "content": ""}), chat::finish(says, end), says));
        let last = events.len() - 1;
        (events, last)
    }
}
