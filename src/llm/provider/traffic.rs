//! Every recorded exchange of the development set, read by the dialects. However a stream is cut, the reply is the
//! same; and where the table below has a plain reading of the format, in a few lines of JSON reading apart from the
//! dialects, text, calls, arguments and usage are the same. Skipped where the recordings are absent.

#![expect(clippy::wildcard_enum_match_arm, reason = "an independent reading looks at few shapes of JSON")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{dialect, errors};
use crate::{
    llm::{Dialect, Reading, SseParser},
    net::HeaderMap,
    types::{Api, Origin, Part, Reply},
};

/// What both readings agree on.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    text: String,
    calls: Vec<(String, Value)>,
    ids: Vec<String>,
    input: u64,
    output: u64,
}

fn folder() -> Option<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    ["../shared", "../../shared"].iter().map(|up| here.join(up).join("traffic/dev")).find(|path| path.is_dir())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn arguments(value: &Value) -> Value {
    match value {
        Value::String(text) if matches!(text.trim(), "" | "null") => serde_json::json!({}),
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        Value::Null => serde_json::json!({}),
        other => other.clone(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// The data of each event, by splitting at blank lines.
fn events(sse: &str) -> Vec<Value> {
    let plain = sse.replace("\r\n", "\n");
    let data = |block: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.trim_start().to_owned()).collect::<Vec<_>>().join("\n")
    };
    plain.split("\n\n").map(data).filter_map(|data| serde_json::from_str(&data).ok()).collect()
}

fn plain_responses(response: &Value, streamed: &[Value]) -> Seen {
    let mut seen = Seen::default();
    let finished: Vec<&Value> = match list(&response["output"]) {
        [] => streamed
            .iter()
            .filter(|event| event["type"] == "response.output_item.done")
            .map(|event| &event["item"])
            .collect(),
        items => items.iter().collect(),
    };
    for item in finished {
        match text(&item["type"]) {
            "message" => {
                for part in list(&item["content"]) {
                    seen.text.push_str(part.get("refusal").map_or_else(|| text(&part["text"]), text));
                }
            }
            "function_call" => {
                seen.ids.push(text(&item["call_id"]).to_owned());
                seen.calls.push((text(&item["name"]).to_owned(), arguments(&item["arguments"])));
            }
            "custom_tool_call" if !text(&item["call_id"]).starts_with("xs_") => {
                seen.ids.push(text(&item["call_id"]).to_owned());
                seen.calls.push((text(&item["name"]).to_owned(), arguments(&item["input"])));
            }
            _ => {}
        }
    }
    seen.input = number(&response["usage"]["input_tokens"]);
    seen.output = number(&response["usage"]["output_tokens"]);
    seen
}

fn plain_chat(choices: &[(&Value, &Value)], usage: &Value) -> Seen {
    let mut seen = Seen::default();
    let mut calls: Vec<(Option<u64>, String, String, String)> = Vec::new();
    for (choice, message) in choices {
        if number(&choice["index"]) > 0 {
            continue;
        }
        match &message["content"] {
            Value::Array(pieces) => pieces.iter().for_each(|piece| seen.text.push_str(text(&piece["text"]))),
            other => seen.text.push_str(text(other)),
        }
        seen.text.push_str(text(&message["refusal"]));
        let legacy = message.get("function_call").filter(|call| call.is_object());
        let legacy = legacy.map(|call| serde_json::json!({"index": 0, "id": "", "function": call}));
        for call in list(&message["tool_calls"]).iter().chain(legacy.as_ref()) {
            let (id, function) = (text(&call["id"]), &call["function"]);
            let index = call["index"].as_u64();
            let given = match &function["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let known = calls
                .iter_mut()
                .rev()
                .find(|(at, known, ..)| if id.is_empty() { index.is_none() || *at == index } else { known == id });
            match known {
                Some((.., arguments)) => arguments.push_str(&given),
                None => calls.push((index, id.to_owned(), text(&function["name"]).to_owned(), given)),
            }
        }
    }
    for (_, id, name, given) in calls {
        seen.ids.push(id);
        seen.calls.push((name, arguments(&Value::String(given))));
    }
    seen.input = number(&usage["prompt_tokens"]);
    seen.output = number(&usage["completion_tokens"]);
    seen
}

/// What the dialect read, in the same form. Ids that it had to make are compared as absent.
fn seen(reply: &Reply, plain: &Seen) -> Seen {
    let mut seen = Seen::default();
    for part in reply.parts() {
        match part {
            Part::Text { text, .. } | Part::Refusal { text } => seen.text.push_str(text),
            Part::Call(call) => {
                let given = plain.ids.get(seen.ids.len()).is_some_and(|id| !id.is_empty());
                seen.ids.push(if given { call.provider_id.clone() } else { String::new() });
                seen.calls.push((call.name.clone(), arguments(&Value::String(call.arguments.clone()))));
            }
            Part::Hosted(_) | Part::Reasoning { .. } | Part::Unknown { .. } => {}
        }
    }
    let usage = reply.usage.unwrap_or_default();
    (seen.input, seen.output) = (usage.prompt(), usage.completion());
    seen
}

fn fold(dialect: &dyn Dialect, reading: &Reading, sse: &[u8], size: usize) -> Result<Reply, crate::llm::ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading.clone()));
    for piece in sse.chunks(size) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

/// The events of a stream, or the body as the only one; and whether it was a stream.
type Plain = fn(&[Value], bool) -> Seen;

/// How recordings of a wire format are known, and its plain reading.
struct Row {
    api: Api,
    /// The words of the recordings for it.
    kinds: &'static [&'static str],
    /// What the path of a call contains.
    path: &'static str,
    plain: Option<Plain>,
}

const TABLE: &[Row] = &[
    Row { api: Api::Responses, kinds: &["responses"], path: "/responses", plain: Some(responses) },
    Row { api: Api::Chat, kinds: &["chat_completions", "agents"], path: "/completions", plain: Some(chat) },
    Row { api: Api::Conversations, kinds: &["conversations"], path: "/conversations", plain: Some(conversations) },
    Row { api: Api::Generation, kinds: &["dashscope_generation"], path: "/generation", plain: Some(generation) },
    Row { api: Api::Messages, kinds: &["messages"], path: "", plain: Some(messages) },
    Row { api: Api::GenerateContent, kinds: &["generate_content"], path: "enerateContent", plain: None },
    Row { api: Api::Interactions, kinds: &["interactions"], path: "/interactions", plain: None },
];

fn responses(events: &[Value], streamed: bool) -> Seen {
    if !streamed {
        return plain_responses(&events[0], &[]);
    }
    let last = events.iter().rev().map(|event| &event["response"]).find(|response| response.is_object());
    plain_responses(last.unwrap_or(&Value::Null), events)
}

fn chat(events: &[Value], streamed: bool) -> Seen {
    let first = |choice: &&Value| number(&choice["index"]) == 0;
    let choices: Vec<(&Value, &Value)> = events
        .iter()
        .flat_map(|event| list(&event["choices"]))
        .filter(first)
        .map(|choice| {
            (choice, if streamed { choice.get("delta").unwrap_or(&choice["message"]) } else { &choice["message"] })
        })
        .collect();
    let usage = events.iter().rev().map(|event| &event["usage"]).find(|usage| usage.is_object());
    plain_chat(&choices, usage.unwrap_or(&Value::Null))
}

fn conversations(events: &[Value], streamed: bool) -> Seen {
    let mut seen = Seen::default();
    for entry in if streamed { events } else { list(&events[0]["outputs"]) } {
        match text(&entry["type"]) {
            "message.output" | "message.output.delta" => match &entry["content"] {
                Value::Array(pieces) => pieces.iter().for_each(|piece| seen.text.push_str(text(&piece["text"]))),
                Value::Object(piece) => seen.text.push_str(piece.get("text").map_or("", text)),
                other => seen.text.push_str(text(other)),
            },
            "function.call" => {
                seen.ids.push(text(&entry["tool_call_id"]).to_owned());
                seen.calls.push((text(&entry["name"]).to_owned(), arguments(&entry["arguments"])));
            }
            _ => {}
        }
    }
    let usage = events.iter().rev().map(|event| &event["usage"]).find(|usage| usage.is_object());
    let usage = usage.unwrap_or(&Value::Null);
    seen.input = number(&usage["prompt_tokens"]) + number(&usage["connector_tokens"]);
    seen.output = number(&usage["completion_tokens"]);
    seen
}

fn messages(events: &[Value], streamed: bool) -> Seen {
    let end = events.iter().position(|event| event["type"] == "message_stop").unwrap_or(events.len());
    let events = events.get(..end).unwrap_or_default();
    // A proxy may begin the message anew.
    let start = events.iter().rposition(|event| event["type"] == "message_start").unwrap_or_default();
    let events = events.get(start..).unwrap_or_default();
    let mut blocks: Vec<Value> = if streamed { Vec::new() } else { list(&events[0]["content"]).to_vec() };
    let mut usage = events[0]["message"]["usage"].as_object().or(events[0]["usage"].as_object()).cloned();
    for event in events.iter().filter(|_| streamed) {
        let delta = &event["delta"];
        match (text(&event["type"]), blocks.last_mut()) {
            ("content_block_start", _) => blocks.push(event["content_block"].clone()),
            ("content_block_delta", Some(block)) => {
                for (field, piece) in [("text", &delta["text"]), ("json", &delta["partial_json"])] {
                    block[field] = format!("{}{}", text(&block[field]), text(piece)).into();
                }
            }
            ("message_delta", _) => {
                usage.get_or_insert_default().extend(event["usage"].as_object().cloned().unwrap_or_default())
            }
            _ => {}
        }
    }
    let mut seen = Seen::default();
    for block in &blocks {
        match text(&block["type"]) {
            "text" => seen.text.push_str(text(&block["text"])),
            "tool_use" => {
                let given = block.get("json").filter(|json| !text(json).is_empty()).unwrap_or(&block["input"]);
                seen.ids.push(text(&block["id"]).to_owned());
                seen.calls.push((text(&block["name"]).to_owned(), arguments(given)));
            }
            _ => {}
        }
    }
    let usage = Value::Object(usage.unwrap_or_default());
    // All passes, those of compaction and advice too.
    let passes = match list(&usage["iterations"]) {
        [] => std::slice::from_ref(&usage),
        passes => passes,
    };
    for pass in passes {
        let read = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        seen.input += read.iter().map(|name| number(&pass[*name])).sum::<u64>();
        seen.output += number(&pass["output_tokens"]);
    }
    seen
}

/// All recorded streams of this format come in pieces.
fn generation(events: &[Value], _: bool) -> Seen {
    let mut plain: Vec<Value> = Vec::new();
    for event in events {
        let output = &event["output"];
        let choices = list(&output["choices"]).to_vec();
        plain.extend(if choices.is_empty() {
            vec![serde_json::json!({"message": {"content": output["text"]}})]
        } else {
            choices
        });
    }
    let choices: Vec<(&Value, &Value)> = plain.iter().map(|choice| (choice, &choice["message"])).collect();
    let mut seen = plain_chat(&choices, &Value::Null);
    let usage = events.iter().rev().map(|event| &event["usage"]).find(|usage| usage.is_object());
    let usage = usage.unwrap_or(&Value::Null);
    (seen.input, seen.output) = (number(&usage["input_tokens"]), number(&usage["output_tokens"]));
    seen
}

/// Whether a body or an event reports a failure.
fn failed(event: &Value) -> bool {
    event["error"].is_object()
        || event["type"] == "response.failed"
        || event["status"] == "failed"
        || event["code"].is_string()
}

fn check(file: &str, dialect: &dyn Dialect, reading: &Reading, plain: Option<Plain>, answer: &Value) -> &'static str {
    let status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    let body = match &answer["body"] {
        Value::Null => text(&answer["body_text"]).to_owned(),
        body => body.to_string(),
    };
    if status >= 400 {
        let error = errors::classify(status, &HeaderMap::new(), body.as_bytes());
        assert!(!error.message.is_empty(), "{file}");
        assert_eq!(
            error.retryable,
            (status == 429 || status >= 500) && error.kind != crate::llm::ModelErrorKind::Quota
        );
        return "errors";
    }
    let sse = answer["sse"].as_str();
    let all = sse.map_or_else(|| vec![serde_json::from_str(&body).unwrap()], events);
    let read = |size| match sse {
        Some(sse) => fold(dialect, reading, sse.as_bytes(), size),
        None => dialect.parse(body.as_bytes(), reading),
    };
    let reply = match read(usize::MAX) {
        Ok(reply) => reply,
        Err(error) => {
            assert!(plain.is_none() || all.iter().any(failed), "{file}: {error}");
            return "errors";
        }
    };
    if let Some(plain) = plain {
        compare(file, &reply, &plain(&all, sse.is_some()));
    }
    if sse.is_none() {
        return "unary";
    }
    for size in [1, 7, 1021] {
        let odd = read(size).unwrap();
        assert_eq!(serde_json::to_value(&odd).unwrap(), serde_json::to_value(&reply).unwrap(), "{file} in {size}s");
    }
    "streamed"
}

fn compare(file: &str, reply: &Reply, plain: &Seen) {
    let mut read = seen(reply, plain);
    // xAI counts reasoning beside the output on Chat.
    if read.output != plain.output && reply.usage.is_some_and(|usage| usage.output == plain.output) {
        read.output = plain.output;
    }
    assert_eq!(&read, plain, "{file}");
}

#[test]
fn every_recorded_exchange_reads_as_it_does_without_us() {
    let Some(folder) = folder() else { return eprintln!("skipped: there are no recordings at ../shared/traffic/dev") };
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // The last body of such a file is one entry of the reply only.
        let partial = list(&file["features"]).iter().any(|feature| feature == "doc_partial_response");
        let exchanges = list(&file["exchanges"]);
        for (at, exchange) in exchanges.iter().enumerate().take(exchanges.len() - usize::from(partial)) {
            let kind = exchange["api"].as_str().unwrap_or(text(&file["api"]));
            let path = text(&exchange["request"]["path"]).split('?').next().unwrap_or_default();
            let compacts = path.ends_with("/compact");
            let Some(row) = TABLE.iter().find(|row| row.kinds.contains(&kind) && path.contains(row.path)) else {
                continue;
            };
            let Some(dialect) = dialect(row.api).filter(|_| exchange["request"]["method"] == "POST" && !compacts)
            else {
                continue;
            };
            let provider = text(&file["provider"]).parse().unwrap();
            let origin = Origin { provider, api: row.api, model: "m".parse().unwrap(), family: "f".to_owned() };
            let file = format!("{name} #{at}");
            let what = check(&file, dialect.as_ref(), &Reading::of(origin), row.plain, &exchange["response"]);
            *counts.entry(what).or_default() += 1;
        }
    }
    eprintln!("exchanges read: {counts:?}");
    assert!(counts.values().sum::<u32>() > 300, "{counts:?}");
}
