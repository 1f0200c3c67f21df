//! Every recorded exchange of the development set, read by the dialects and, apart from them, by the few plain lines
//! of JSON reading below: text, calls, arguments and usage must be the same. Skipped where the recordings are absent.

#![expect(clippy::wildcard_enum_match_arm, reason = "an independent reading looks at few shapes of JSON")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{OpenAiChat, OpenAiResponses, errors};
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

fn check(file: &str, dialect: &dyn Dialect, reading: &Reading, responses: bool, answer: &Value) -> &'static str {
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
    let Some(sse) = answer["sse"].as_str() else {
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let failed = parsed["error"].is_object() || parsed["status"] == "failed";
        let reply = match dialect.parse(body.as_bytes(), reading) {
            Ok(reply) => reply,
            Err(error) => {
                assert!(failed, "{file}: {error}");
                return "errors";
            }
        };
        let plain = if responses {
            plain_responses(&parsed, &[])
        } else {
            let choices: Vec<(&Value, &Value)> =
                list(&parsed["choices"]).iter().take(1).map(|choice| (choice, &choice["message"])).collect();
            plain_chat(&choices, &parsed["usage"])
        };
        compare(file, &reply, &plain);
        return "unary";
    };
    let list_of_events = events(sse);
    let reply = match fold(dialect, reading, sse.as_bytes(), usize::MAX) {
        Ok(reply) => reply,
        Err(error) => {
            let failed =
                list_of_events.iter().any(|event| event["error"].is_object() || event["type"] == "response.failed");
            assert!(failed, "{file}: {error}");
            return "errors";
        }
    };
    let plain = if responses {
        let last = list_of_events.iter().rev().map(|event| &event["response"]).find(|response| response.is_object());
        plain_responses(last.unwrap_or(&Value::Null), &list_of_events)
    } else {
        let choices: Vec<(&Value, &Value)> = list_of_events
            .iter()
            .flat_map(|event| list(&event["choices"]))
            .map(|choice| (choice, choice.get("delta").unwrap_or(&choice["message"])))
            .collect();
        let usage = list_of_events.iter().rev().map(|event| &event["usage"]).find(|usage| usage.is_object());
        plain_chat(&choices, usage.unwrap_or(&Value::Null))
    };
    compare(file, &reply, &plain);
    for size in [1, 7, 1021] {
        let odd = fold(dialect, reading, sse.as_bytes(), size).unwrap();
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
    let providers = ["openai", "xai", "azure", "deepseek", "mistral", "zai", "alibaba", "other"];
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (provider, kind) = (text(&file["provider"]), text(&file["api"]));
        let responses = kind == "responses";
        if !providers.contains(&provider) || !(responses || kind == "chat_completions") {
            continue;
        }
        let api = if responses { Api::Responses } else { Api::Chat };
        let dialect: Box<dyn Dialect> =
            if responses { Box::<OpenAiResponses>::default() } else { Box::<OpenAiChat>::default() };
        let origin =
            Origin { provider: provider.parse().unwrap(), api, model: "m".parse().unwrap(), family: "f".to_owned() };
        for (at, exchange) in list(&file["exchanges"]).iter().enumerate() {
            let reply_path = ["/responses", "/chat/completions"].iter().any(|end| {
                text(&exchange["request"]["path"]).split('?').next().is_some_and(|path| path.ends_with(end))
            });
            if exchange.get("api").is_some_and(|other| other != kind) || !reply_path {
                continue;
            }
            let what = check(
                &format!("{name} #{at}"),
                dialect.as_ref(),
                &Reading::of(origin.clone()),
                responses,
                &exchange["response"],
            );
            *counts.entry(what).or_default() += 1;
        }
    }
    eprintln!("exchanges read: {counts:?}");
    assert!(counts.values().sum::<u32>() > 300, "{counts:?}");
}
