//! Entries of a conversation as messages.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{
    super::{
        CallIds, Echo, arguments,
        dialect::Target,
        json::{self, Raw, Str},
        names::NameMap,
    },
    openai_response::{call_id, is_object, wire_name},
    render::{hosted_as_text, without_images},
};
use crate::types::{Api, Entry, FunctionCall, Item, Part, Reply, UserPart};

/// Appends the messages of an entry.
pub(in super::super) fn write(
    out: &mut Vec<u8>,
    entry: &Entry,
    before: Option<&Entry>,
    target: &Target,
    names: &NameMap,
) {
    match entry {
        Entry::User(parts) => user(out, parts, target.origin.api),
        Entry::Notice(text) => simple(out, &target.api.roles.notice, text),
        Entry::Reply(reply) => write_reply(out, reply, target, names),
        Entry::Results(results) => {
            let own = matches!(before, Some(Entry::Reply(reply)) if verbatim(reply, target));
            for result in results {
                comma(out);
                json::put(out, "{\"role\":\"tool\"");
                json::text_field(out, "tool_call_id", &call_id(&result.provider_id, own, target));
                if target.api.name_in_result {
                    json::text_field(out, "name", &wire_name(&result.name, names));
                }
                json::text_field(out, "content", &without_images(result));
                out.push(b'}');
            }
        }
    }
}

fn comma(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

fn simple(out: &mut Vec<u8>, role: &str, text: &str) {
    comma(out);
    json::put(out, "{\"role\":");
    json::string(out, role);
    json::text_field(out, "content", text);
    out.push(b'}');
}

fn user(out: &mut Vec<u8>, parts: &[UserPart], api: Api) {
    if let [UserPart::Text(text)] = parts {
        return simple(out, "user", text);
    }
    comma(out);
    json::put(out, "{\"role\":\"user\",\"content\":[");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match part {
            // DashScope's own format has no `type`.
            UserPart::Text(text) if api == Api::Generation => {
                json::put(out, "{\"text\":");
                json::string(out, text);
                out.push(b'}');
            }
            UserPart::Image { url } if api == Api::Generation => {
                json::put(out, "{\"image\":");
                json::string(out, url);
                out.push(b'}');
            }
            UserPart::Text(text) => {
                json::put(out, "{\"type\":\"text\"");
                json::text_field(out, "text", text);
                out.push(b'}');
            }
            UserPart::Image { url } => {
                json::put(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
                json::string(out, url);
                json::put(out, "}}");
            }
        }
    }
    json::put(out, "]}");
}

/// Whether a reply goes back as it came: it is the target's own, whole, and its call ids are such as the target takes
/// back. (Mistral was seen to send ids of eight characters, and answers anything but nine with a 400.)
fn verbatim(reply: &Reply, target: &Target) -> bool {
    target.issued(&reply.origin)
        && reply.items.iter().all(|item| item.raw.is_some())
        && (target.api.call_ids == CallIds::Portable
            || reply.calls().all(|call| target.api.call_ids.rule().accepts(&call.provider_id)))
}

fn write_reply(out: &mut Vec<u8>, reply: &Reply, target: &Target, names: &NameMap) {
    let own = verbatim(reply, target);
    if own {
        for item in &reply.items {
            write_raw(out, item, target);
        }
        return;
    }
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in reply.parts() {
        match part {
            Part::Text { text: piece, .. } | Part::Refusal { text: piece } => text.push_str(piece),
            Part::Hosted(output) => {
                text.push_str(&hosted_as_text(output));
                text.push('\n');
            }
            Part::Call(call) => calls.push(call),
            Part::Reasoning { .. } | Part::Unknown { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return;
    }
    comma(out);
    json::put(out, "{\"role\":\"assistant\"");
    if text.is_empty() {
        json::put(out, ",\"content\":null");
    } else {
        json::text_field(out, "content", &text);
    }
    if !calls.is_empty() {
        if target.api.echo_reasoning == Echo::ToolCalls {
            json::put(out, ",\"reasoning_content\":\"\"");
        }
        write_calls(out, &calls, own, target, names);
    }
    out.push(b'}');
}

fn write_calls(out: &mut Vec<u8>, calls: &[&FunctionCall], own: bool, target: &Target, names: &NameMap) {
    json::put(out, ",\"tool_calls\":[");
    for (at, call) in calls.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::put(out, "{\"id\":");
        json::string(out, &call_id(&call.provider_id, own, target));
        json::put(out, ",\"type\":\"function\",\"function\":{\"name\":");
        json::string(out, &wire_name(&call.name, names));
        json::text_field(out, "arguments", &arguments::replayable(&call.arguments));
        json::put(out, "}}");
    }
    out.push(b']');
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Peek<'a> {
    #[serde(borrow)]
    role: Str<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
    #[serde(borrow)]
    reasoning_content: Raw<'a>,
    #[serde(borrow)]
    reasoning: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PeekCall<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    function: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PeekFunction<'a> {
    #[serde(borrow)]
    arguments: Raw<'a>,
}

/// A message of the provider's own goes back as it came, unless the provider itself would refuse it so.
fn write_raw(out: &mut Vec<u8>, item: &Item, target: &Target) {
    let Some(raw) = item.raw.as_deref() else { return };
    let message: Peek<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let calls: Vec<&FunctionCall> =
        item.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None }).collect();
    let empty = message.content.get().is_none_or(|content| content == "\"\"");
    if empty && calls.is_empty() {
        return;
    }
    comma(out);
    let has_reasoning = message.reasoning_content.get().is_some() || message.reasoning.get().is_some();
    let echo_changes = match target.api.echo_reasoning {
        Echo::AsSent => false,
        Echo::Never => has_reasoning,
        Echo::ToolCalls if calls.is_empty() => has_reasoning,
        Echo::ToolCalls => message.reasoning_content.get().is_none(),
    };
    let fine = calls_are_fine(message.tool_calls, &calls);
    let replies_only = has_reply_only(raw.get(), message.tool_calls, target);
    let untouched = !echo_changes && !replies_only && message.role.some().is_some() && fine;
    match (untouched, serde_json::from_str::<Map<String, Value>>(raw.get())) {
        (false, Ok(mut fields)) => {
            fields.retain(|name, _| !target.api.reply_only.contains(name));
            mend(&mut fields, &calls, fine, target);
            json::value(out, &fields);
        }
        (true, _) | (false, Err(_)) => json::put(out, raw.get()),
    }
}

fn calls_are_fine(raw: Raw<'_>, calls: &[&FunctionCall]) -> bool {
    let list = raw.list();
    list.len() == calls.len()
        && list.into_iter().all(|raw| {
            let call: PeekCall<'_> = raw.read().unwrap_or_default();
            let function: PeekFunction<'_> = call.function.read().unwrap_or_default();
            let text = function.arguments.read::<std::borrow::Cow<'_, str>>();
            call.id.some().is_some() && text.is_some_and(|text| is_object(&text))
        })
}

/// Whether a message holds what only replies have: fields the profile names, and the `index` that some providers put
/// into whole calls too (Aliyun, Azure; recorded 2026). The SDK's types of a request know neither.
fn has_reply_only(raw: &str, calls: Raw<'_>, target: &Target) -> bool {
    let named = target.api.reply_only.iter().any(|name| raw.contains(&format!("\"{name}\"")));
    named || calls.get().is_some_and(|calls| calls.contains("\"index\""))
}

/// Puts right what would be refused: a missing role or id, arguments that are no JSON object, reasoning text where the
/// provider wants none, or none where it wants some.
fn mend(fields: &mut Map<String, Value>, calls: &[&FunctionCall], fine: bool, target: &Target) {
    fields.entry("role").or_insert_with(|| "assistant".into());
    let list: Vec<Value> = match fields.remove("tool_calls") {
        Some(Value::Array(list)) => list,
        Some(_) | None => Vec::new(),
    };
    fields.remove("function_call");
    if fine && !calls.is_empty() {
        let without_index = |mut call: Value| {
            if let Some(call) = call.as_object_mut() {
                call.shift_remove("index");
            }
            call
        };
        fields.insert("tool_calls".to_owned(), list.into_iter().map(without_index).collect());
    } else if !calls.is_empty() {
        let function = |call: &FunctionCall, wire: Option<&Value>| {
            let name = wire.and_then(|wire| wire.pointer("/function/name")).and_then(Value::as_str);
            serde_json::json!({
                "id": call.provider_id,
                "type": "function",
                "function": {"name": name.unwrap_or(&call.name), "arguments": arguments::replayable(&call.arguments)},
            })
        };
        let calls = calls.iter().enumerate().map(|(at, call)| function(call, list.get(at)));
        fields.insert("tool_calls".to_owned(), calls.collect::<Vec<_>>().into());
    }
    match target.api.echo_reasoning {
        Echo::AsSent => {}
        Echo::ToolCalls if !calls.is_empty() => {
            if !fields.get("reasoning_content").is_some_and(Value::is_string) {
                fields.insert("reasoning_content".to_owned(), "".into());
            }
        }
        Echo::Never | Echo::ToolCalls => {
            fields.retain(|name, _| !matches!(name.as_str(), "reasoning_content" | "reasoning" | "reasoning_details"));
        }
    }
}
