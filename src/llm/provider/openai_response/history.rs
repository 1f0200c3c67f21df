//! Entries of a conversation as input items.

use serde::Deserialize;

use super::super::{
    super::{
        arguments,
        dialect::Target,
        json::{self, Raw, Str},
        names::{self, NameMap},
    },
    render::{hosted_as_text, without_images},
};
use crate::types::{Entry, FunctionCall, Item, Part, Reply, ToolName, ToolResult, UserPart};

/// Appends the items of an entry.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry, before: Option<&Entry>, target: &Target, names: &NameMap) {
    match entry {
        Entry::User(parts) => user(out, parts),
        Entry::Notice(text) => message(out, &target.api.roles.notice, text),
        Entry::Reply(reply) => {
            let own = target.issued(&reply.origin);
            for item in &reply.items {
                write_item(out, item, own, target, names);
            }
        }
        Entry::Results(results) => {
            let reply = match before {
                Some(Entry::Reply(reply)) => Some(reply.as_ref()),
                Some(Entry::User(_) | Entry::Results(_) | Entry::Notice(_)) | None => None,
            };
            for result in results {
                write_result(out, result, reply, target);
            }
        }
    }
}

fn comma(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

fn message(out: &mut Vec<u8>, role: &str, text: &str) {
    comma(out);
    json::put(out, "{\"role\":");
    json::string(out, role);
    json::text_field(out, "content", text);
    out.push(b'}');
}

fn user(out: &mut Vec<u8>, parts: &[UserPart]) {
    if let [UserPart::Text(text)] = parts {
        return message(out, "user", text);
    }
    comma(out);
    json::put(out, "{\"role\":\"user\",\"content\":[");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match part {
            UserPart::Text(text) => {
                json::put(out, "{\"type\":\"input_text\"");
                json::text_field(out, "text", text);
            }
            UserPart::Image { url } => {
                json::put(out, "{\"type\":\"input_image\"");
                json::text_field(out, "image_url", url);
            }
        }
        out.push(b'}');
    }
    json::put(out, "]}");
}

fn write_item(out: &mut Vec<u8>, item: &Item, own: bool, target: &Target, names: &NameMap) {
    let Some(raw) = item.raw.as_deref().filter(|_| own) else {
        for part in &item.parts {
            write_part(out, part, own, target, names);
        }
        return;
    };
    let raw = raw.get();
    if target.api.stateless && is_reasoning(item) && !has_encrypted_content(raw) {
        return;
    }
    comma(out);
    if item.parts.iter().any(|part| matches!(part, Part::Call(call) if !surely_valid(raw, call)))
        && let Some(mended) = with_valid_arguments(raw)
    {
        return json::value(out, &mended);
    }
    if raw.contains("\"created_by\"")
        && let Ok(mut fields) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(raw)
        && fields.shift_remove("created_by").is_some()
    {
        // Only replies have it (openai-python 3.57.0).
        return json::value(out, &fields);
    }
    json::put(out, raw);
}

fn is_reasoning(item: &Item) -> bool {
    item.parts.iter().any(|part| matches!(part, Part::Reasoning { .. }))
}

#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow, default)]
    call_id: Str<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    encrypted_content: Str<'a>,
    #[serde(borrow, default)]
    caller: Raw<'a>,
}

/// Nothing is stored at the provider, so a reasoning item without its content is a dead reference there.
fn has_encrypted_content(raw: &str) -> bool {
    serde_json::from_str::<Peek<'_>>(raw).is_ok_and(|item| item.encrypted_content.some().is_some())
}

/// Whether the item's arguments are an object in a text, told from the text and the call that was read from it.
fn surely_valid(raw: &str, call: &FunctionCall) -> bool {
    let marked = |text: &str| text.contains("\"arguments\":\"{");
    marked(raw) && !marked(&call.arguments) && is_object(&call.arguments)
}

/// The item with arguments that are a JSON object, when those it came with are not: broken ones would have every
/// later request refused.
fn with_valid_arguments(raw: &str) -> Option<serde_json::Value> {
    let item: Peek<'_> = serde_json::from_str(raw).ok()?;
    if item.kind.text() == "custom_tool_call" && raw.contains("\"status\"") {
        // Of all items this one has no status when it goes back (openai-python 3.57.0).
        let mut mended: serde_json::Value = serde_json::from_str(raw).ok()?;
        mended.as_object_mut()?.shift_remove("status");
        return Some(mended);
    }
    if item.kind.text() != "function_call" {
        return None;
    }
    let arguments = item.arguments.text_or_json().unwrap_or_default();
    if is_object(&arguments) && item.arguments.get().is_some_and(|text| text.starts_with('"')) {
        return None;
    }
    let mut mended: serde_json::Value = serde_json::from_str(raw).ok()?;
    mended.as_object_mut()?.insert("arguments".to_owned(), arguments::replayable(&arguments).into());
    Some(mended)
}

pub(in super::super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn write_part(out: &mut Vec<u8>, part: &Part, own: bool, target: &Target, names: &NameMap) {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } if text.is_empty() => {}
        Part::Text { text, .. } | Part::Refusal { text } => message(out, "assistant", text),
        Part::Hosted(output) => message(out, "assistant", &hosted_as_text(output)),
        Part::Call(call) => write_call(out, call, own, target, names),
        // Thoughts belong to the family that had them; an unknown item means nothing to others.
        Part::Reasoning { .. } | Part::Unknown { .. } => {}
    }
}

fn write_call(out: &mut Vec<u8>, call: &FunctionCall, own: bool, target: &Target, names: &NameMap) {
    comma(out);
    json::put(out, "{\"type\":\"function_call\"");
    json::text_field(out, "call_id", &call_id(&call.provider_id, own, target));
    json::text_field(out, "name", &wire_name(&call.name, names));
    json::text_field(out, "arguments", &arguments::replayable(&call.arguments));
    out.push(b'}');
}

/// The name a tool has, or would have, on this wire.
pub(in super::super) fn wire_name(name: &str, names: &NameMap) -> String {
    match ToolName::new(name) {
        Ok(tool) => names.exposed(&tool).into_owned(),
        Err(_) => "unknown_tool".to_owned(),
    }
}

/// An id as the target takes it: its own ids as they are, those of others mapped the same way each time.
pub(in super::super) fn call_id(id: &str, own: bool, target: &Target) -> String {
    if own { id.to_owned() } else { names::call_id(id, target.api.call_ids.rule()) }
}

fn write_result(out: &mut Vec<u8>, result: &ToolResult, reply: Option<&Reply>, target: &Target) {
    let own = reply.is_some_and(|reply| target.issued(&reply.origin));
    let custom = own && reply.is_some_and(|reply| is_custom(reply, &result.provider_id));
    comma(out);
    json::put(out, if custom { "{\"type\":\"custom_tool_call_output\"" } else { "{\"type\":\"function_call_output\"" });
    json::text_field(out, "call_id", &call_id(&result.provider_id, own, target));
    if result.images.is_empty() || !target.api.result_images {
        json::text_field(out, "output", &without_images(result));
    } else {
        json::put(out, ",\"output\":[{\"type\":\"input_text\"");
        json::text_field(out, "text", &result.content);
        for url in &result.images {
            json::put(out, "},{\"type\":\"input_image\"");
            json::text_field(out, "image_url", url);
        }
        json::put(out, "}]");
    }
    if let Some(caller) = reply.filter(|_| own).and_then(|reply| caller(reply, &result.provider_id)) {
        json::put(out, ",\"caller\":");
        json::put(out, caller);
    }
    out.push(b'}');
}

/// Which program of the provider made a call: its result has to say so, or the program does not go on (2026-11).
fn caller<'a>(reply: &'a Reply, id: &str) -> Option<&'a str> {
    let raws = reply.items.iter().filter_map(|item| item.raw.as_deref()).map(serde_json::value::RawValue::get);
    raws.filter(|raw| raw.contains("\"caller\"")).find_map(|raw| {
        let item: Peek<'_> = serde_json::from_str(raw).ok()?;
        item.caller.get().filter(|caller| item.call_id.text() == id && caller.contains("\"program\""))
    })
}

fn is_custom(reply: &Reply, id: &str) -> bool {
    let raws = reply.items.iter().filter_map(|item| item.raw.as_deref());
    let mut candidates = raws.map(serde_json::value::RawValue::get).filter(|raw| raw.contains("custom_tool_call"));
    candidates.any(|raw| {
        serde_json::from_str::<Peek<'_>>(raw)
            .is_ok_and(|item| item.kind.text() == "custom_tool_call" && item.call_id.text() == id)
    })
}

#[cfg(test)]
mod tests;
