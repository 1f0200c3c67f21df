//! Shapes that the providers document (facts of 2026-11), each read whole and as a stream: every hosted tool, every kind of
//! citation, and what only one provider has. The shapes are written after the documents; nothing is recorded.

use pretty_assertions::assert_eq;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::kit;
use crate::{
    llm::{
        Profile,
        wire::{self, Answer},
    },
    types::Api,
};

#[derive(Debug, Deserialize)]
struct Shape {
    api: Api,
    provider: Option<String>,
    name: String,
    /// Items, blocks, parts, steps, entries, or the one message.
    items: Vec<Value>,
    /// Fields beside them.
    #[serde(default)]
    beside: Map<String, Value>,
    expect: Map<String, Value>,
}

fn shapes() -> Vec<Shape> {
    let lines = include_str!("shapes.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn has_calls(shape: &Shape) -> bool {
    shape.expect.get("calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
}

fn whole(shape: &Shape) -> Value {
    let items = &shape.items;
    let mut body = match shape.api {
        Api::Responses => {
            json!({"id": "resp_1", "status": "completed", "output": items, "usage": {"input_tokens": 1, "output_tokens": 1}})
        }
        Api::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "content": items,
            "stop_reason": if has_calls(shape) { "tool_use" } else { "end_turn" }, "usage": {"input_tokens": 1, "output_tokens": 1}}),
        Api::GenerateContent => {
            json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": items}, "finishReason": "STOP"}]})
        }
        Api::Interactions => {
            json!({"id": "v1_1", "status": if has_calls(shape) { "requires_action" } else { "completed" }, "steps": items})
        }
        Api::Conversations => {
            json!({"object": "conversation.response", "conversation_id": "conv_1", "outputs": items, "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        }
        Api::Chat => {
            json!({"id": "c1", "choices": [{"index": 0, "message": items[0], "finish_reason": finish(shape)}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        }
        Api::Generation => {
            json!({"request_id": "g1", "output": {"choices": [{"message": items[0], "finish_reason": finish(shape)}]}, "usage": {"input_tokens": 1, "output_tokens": 1}})
        }
        Api::Local => unreachable!("no wire"),
    };
    let place = match shape.api {
        Api::GenerateContent => body.pointer_mut("/candidates/0").unwrap(),
        Api::Generation => body.pointer_mut("/output").unwrap(),
        Api::Responses | Api::Chat | Api::Messages | Api::Interactions | Api::Conversations | Api::Local => &mut body,
    };
    place.as_object_mut().unwrap().extend(shape.beside.clone());
    body
}

fn finish(shape: &Shape) -> &'static str {
    if has_calls(shape) { "tool_calls" } else { "stop" }
}

/// The same as a stream. `terse` leaves out of the last event what the others said already, where a format does that.
fn stream(shape: &Shape, terse: bool) -> Vec<Value> {
    let mut events = Vec::new();
    for (at, item) in shape.items.iter().enumerate() {
        match shape.api {
            Api::Responses => {
                let begun: Map<String, Value> = ["type", "id", "call_id", "name"]
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())))
                    .collect();
                events.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
                events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
            }
            Api::Messages => block(at, item, &mut events),
            Api::GenerateContent => {
                events
                    .push(json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": [item]}}]}));
            }
            Api::Interactions => step(at, item, &mut events),
            Api::Conversations => entry(at, item, &mut events),
            Api::Chat | Api::Generation => {
                let mut delta = item.clone();
                for (at, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
                    call["index"] = at.into();
                }
                let choice = json!({"index": 0, (if shape.api == Api::Chat { "delta" } else { "message" }): delta, "finish_reason": null});
                let choice = json!([choice]);
                events.push(if shape.api == Api::Chat {
                    json!({"id": "c1", "choices": choice})
                } else {
                    json!({"request_id": "g1", "output": {"choices": choice}})
                });
            }
            Api::Local => unreachable!("no wire"),
        }
    }
    let mut whole = whole(shape);
    match shape.api {
        Api::Responses => {
            if terse {
                whole["output"] = Value::Null;
            }
            events.push(json!({"type": "response.completed", "response": whole}));
        }
        Api::Messages => {
            let mut begun = whole.clone();
            (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
            events.insert(0, json!({"type": "message_start", "message": begun}));
            events.push(json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": {}}));
            events.push(json!({"type": "message_stop"}));
        }
        Api::GenerateContent => {
            whole["candidates"][0].as_object_mut().unwrap().remove("content");
            events.push(whole);
        }
        Api::Interactions => {
            whole.as_object_mut().unwrap().remove("steps");
            events.push(json!({"event_type": "interaction.completed", "interaction": whole}));
        }
        Api::Conversations => events.push(json!({"type": "conversation.response.done", "usage": whole["usage"]})),
        Api::Chat => {
            whole["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": finish(shape)}]);
            events.push(whole);
        }
        Api::Generation => {
            whole["output"]["choices"] =
                json!([{"message": {"role": "assistant", "content": ""}, "finish_reason": finish(shape)}]);
            events.push(whole);
        }
        Api::Local => unreachable!("no wire"),
    }
    events
}

fn block(at: usize, block: &Value, events: &mut Vec<Value>) {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
    let (mut begun, mut deltas) = (block.clone(), Vec::new());
    match block["type"].as_str().unwrap() {
        "text" => {
            begun = json!({"type": "text", "text": ""});
            let citations = block["citations"].as_array().into_iter().flatten();
            deltas.extend(citations.map(|citation| delta(json!({"type": "citations_delta", "citation": citation}))));
            deltas.push(delta(json!({"type": "text_delta", "text": block["text"]})));
        }
        "thinking" => {
            begun = json!({"type": "thinking", "thinking": "", "signature": ""});
            deltas.push(delta(json!({"type": "thinking_delta", "thinking": block["thinking"]})));
            deltas.push(delta(json!({"type": "signature_delta", "signature": block["signature"]})));
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            begun["input"] = json!({});
            deltas.push(delta(json!({"type": "input_json_delta", "partial_json": ""})));
            deltas.push(delta(json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})));
        }
        _ => {}
    }
    events.push(json!({"type": "content_block_start", "index": at, "content_block": begun}));
    events.extend(deltas);
    events.push(json!({"type": "content_block_stop", "index": at}));
}

fn step(at: usize, step: &Value, events: &mut Vec<Value>) {
    let delta = |delta: Value| json!({"event_type": "step.delta", "index": at, "delta": delta});
    let (mut begun, mut deltas) = (step.clone(), Vec::new());
    match step["type"].as_str().unwrap() {
        "model_output" => {
            begun = json!({"type": "model_output"});
            let content = &step["content"][0];
            deltas.push(delta(json!({"type": "text", "text": content["text"]})));
            deltas.push(delta(json!({"type": "text_annotation_delta", "annotations": content["annotations"]})));
        }
        "function_call" => {
            begun.as_object_mut().unwrap().remove("arguments");
            deltas.push(delta(json!({"type": "arguments_delta", "arguments": step["arguments"].to_string()})));
        }
        // A hosted call or result may come whole as a delta.
        kind if at % 2 == 1 => {
            begun = json!({"type": kind});
            deltas.push(delta(step.clone()));
        }
        _ => {}
    }
    events.push(json!({"event_type": "step.start", "index": at, "step": begun}));
    events.extend(deltas);
    events.push(json!({"event_type": "step.stop", "index": at}));
}

fn entry(at: usize, entry: &Value, events: &mut Vec<Value>) {
    let event = |kind: &str, more: Value| {
        let mut event = entry.clone();
        event["type"] = kind.into();
        event["output_index"] = at.into();
        event.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        event
    };
    match entry["type"].as_str().unwrap() {
        "message.output" => {
            let pieces = entry["content"].as_array().unwrap();
            events.extend(pieces.iter().enumerate().map(|(place, piece)| {
                event("message.output.delta", json!({"content": piece, "content_index": place}))
            }));
        }
        "tool.execution" => {
            let mut begun = event("tool.execution.started", json!({}));
            begun.as_object_mut().unwrap().remove("info");
            let mut ended = event("tool.execution.done", json!({}));
            ended.as_object_mut().unwrap().remove("arguments");
            events.extend([begun, ended]);
        }
        "agent.handoff" => {
            events.extend([event("agent.handoff.started", json!({})), event("agent.handoff.done", json!({}))])
        }
        "function.call" => events.push(event("function.call.delta", json!({}))),
        other => panic!("{other}"),
    }
}

/// Keeps of `found` what `expected` speaks of.
fn narrowed(found: &Value, expected: &Value) -> Value {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            let known = expected.iter().map(|(name, expected)| {
                let found = found.get(name).unwrap_or(&Value::Null);
                let found = if name == "sources" { places(found) } else { found.clone() };
                (name.clone(), narrowed(&found, expected))
            });
            Value::Object(known.collect())
        }
        (Value::Array(found), Value::Array(expected)) => {
            let nothing = Value::Null;
            let each = found.iter().enumerate();
            each.map(|(at, found)| narrowed(found, expected.get(at).unwrap_or(&nothing))).collect()
        }
        (Value::Array(list), Value::Number(_)) => list.len().into(),
        _ => found.clone(),
    }
}

/// Where sources lie.
fn places(sources: &Value) -> Value {
    let place = |source: &Value| {
        let place =
            source.pointer("/source/url").or(source.pointer("/source/file/path")).or(source.pointer("/source/call"));
        place.cloned().unwrap_or_default()
    };
    sources.as_array().into_iter().flatten().map(place).collect()
}

#[test]
fn every_documented_shape_is_read_whole_and_streamed() {
    let shapes = shapes();
    assert!(shapes.len() > 40, "{}", shapes.len());
    let mut wrong: Vec<String> = Vec::new();
    for shape in &shapes {
        let profile = Profile::shipped().iter().find(|profile| profile.apis.contains_key(&shape.api)).unwrap();
        let provider = shape.provider.as_deref().unwrap_or(profile.name.as_str());
        let read = |body: &str, stream: bool| {
            let origin = wire::origin(provider, shape.api, "gemini-3.8-flash").unwrap();
            let answer = Answer { body: body.as_bytes(), stream: Some(stream), ..Answer::default() };
            let parsed = wire::parse(origin, &answer).unwrap();
            assert_eq!(parsed.error, None, "{} {}", shape.api, shape.name);
            let parsed = serde_json::to_value(parsed).unwrap();
            narrowed(&parsed, &Value::Object(shape.expect.clone()))
        };
        let mut judge = |how: &str, found: &Value| {
            for (field, expected) in &shape.expect {
                if found.get(field) != Some(expected) {
                    let found = found.get(field).unwrap_or(&Value::Null);
                    wrong.push(format!(
                        "{} {} {how}: {field}\n  is        {found}\n  should be {expected}",
                        shape.api, shape.name
                    ));
                }
            }
        };
        judge("whole", &read(&whole(shape).to_string(), false));
        for terse in [false, true] {
            let events: Vec<String> = stream(shape, terse).iter().map(Value::to_string).collect();
            let sse = kit::sse(&events);
            judge("streamed", &read(&sse, true));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Hosted tools and calls of the client are never mixed up, whatever is between them.
#[test]
fn no_shape_makes_a_call_of_hosted_work() {
    for shape in shapes() {
        let expected = shape.expect.get("calls").and_then(Value::as_array).map_or(0, Vec::len);
        let reply = kit::parse(shape.api, whole(&shape).to_string().as_bytes()).unwrap();
        assert_eq!(reply.calls().count(), expected, "{} {}", shape.api, shape.name);
    }
}
