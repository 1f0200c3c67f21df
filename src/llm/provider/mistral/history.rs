//! Entries of a conversation as inputs.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{
    super::{
        arguments,
        dialect::Target,
        json::{self, Raw, Str},
        names::NameMap,
    },
    openai_response::{call_id, is_object, wire_name},
    render::{hosted_as_text, without_images},
};
use crate::types::{Entry, FunctionCall, Item, Part, UserPart};

/// Appends the inputs of an entry.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry, before: Option<&Entry>, target: &Target, names: &NameMap) {
    match entry {
        Entry::User(parts) => user(out, parts),
        Entry::Notice(text) => message(out, "message.input", &target.api.roles.notice, text),
        Entry::Reply(reply) => {
            let own = target.issued(&reply.origin);
            for item in &reply.items {
                write_item(out, item, own, target, names);
            }
        }
        Entry::Results(results) => {
            let own = matches!(before, Some(Entry::Reply(reply)) if target.issued(&reply.origin));
            for result in results {
                open(out, "function.result");
                json::text_field(out, "tool_call_id", &call_id(&result.provider_id, own, target));
                json::text_field(out, "result", &without_images(result));
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

fn open(out: &mut Vec<u8>, kind: &str) {
    comma(out);
    json::put(out, "{\"object\":\"entry\"");
    json::text_field(out, "type", kind);
}

fn message(out: &mut Vec<u8>, kind: &str, role: &str, text: &str) {
    open(out, kind);
    json::text_field(out, "role", role);
    json::text_field(out, "content", text);
    out.push(b'}');
}

fn user(out: &mut Vec<u8>, parts: &[UserPart]) {
    if let [UserPart::Text(text)] = parts {
        return message(out, "message.input", "user", text);
    }
    open(out, "message.input");
    json::put(out, ",\"role\":\"user\",\"content\":[");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match part {
            UserPart::Text(text) => {
                json::put(out, "{\"type\":\"text\"");
                json::text_field(out, "text", text);
            }
            UserPart::Image { url } => {
                json::put(out, "{\"type\":\"image_url\"");
                json::text_field(out, "image_url", url);
            }
        }
        out.push(b'}');
    }
    json::put(out, "]}");
}

fn write_item(out: &mut Vec<u8>, item: &Item, own: bool, target: &Target, names: &NameMap) {
    if let Some(raw) = item.raw.as_deref().filter(|_| own) {
        comma(out);
        return match with_valid_arguments(raw.get()) {
            Some(mended) => json::value(out, &mended),
            None => json::put(out, raw.get()),
        };
    }
    for part in &item.parts {
        match part {
            Part::Text { text, .. } | Part::Refusal { text } if text.is_empty() => {}
            Part::Text { text, .. } | Part::Refusal { text } => message(out, "message.output", "assistant", text),
            Part::Hosted(output) => message(out, "message.output", "assistant", &hosted_as_text(output)),
            Part::Call(call) => write_call(out, call, own, target, names),
            // Thoughts belong to the family that had them; an unknown entry means nothing to others.
            Part::Reasoning { .. } | Part::Unknown { .. } => {}
        }
    }
}

fn write_call(out: &mut Vec<u8>, call: &FunctionCall, own: bool, target: &Target, names: &NameMap) {
    open(out, "function.call");
    json::text_field(out, "tool_call_id", &call_id(&call.provider_id, own, target));
    json::text_field(out, "name", &wire_name(&call.name, names));
    json::text_field(out, "arguments", &arguments::replayable(&call.arguments));
    out.push(b'}');
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Peek<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    tool_call_id: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    function: Raw<'a>,
}

/// The entry with arguments that are a JSON object, when those it came with are not (DEV-B02): broken ones would have
/// every later request refused.
fn with_valid_arguments(raw: &str) -> Option<Map<String, Value>> {
    let entry: Peek<'_> = serde_json::from_str(raw).ok()?;
    if entry.kind.text() == "tool.execution" && (entry.arguments.get().is_none() || entry.function.get().is_some()) {
        // `arguments` is required on the way back and absent in older replies; `function` is in no type (mistralai 3.7.0).
        let mut mended: Map<String, Value> = serde_json::from_str(raw).ok()?;
        mended.shift_remove("function");
        mended.entry("arguments").or_insert_with(|| "".into());
        return Some(mended);
    }
    if entry.kind.text() != "function.call" || entry.tool_call_id.some().is_none() {
        return None;
    }
    let arguments = entry.arguments.text_or_json().unwrap_or_default();
    if is_object(&arguments) {
        return None;
    }
    let mut mended: Map<String, Value> = serde_json::from_str(raw).ok()?;
    mended.insert("arguments".to_owned(), arguments::replayable(&arguments).into());
    Some(mended)
}
