//! Entries of a conversation as steps.

use super::super::{
    super::{
        arguments,
        dialect::Target,
        json::{self, Raw, Str},
        names::NameMap,
    },
    gemini::mime_of,
    openai_response::{call_id, wire_name},
    render::{hosted_as_text, without_images},
};
use crate::types::{Entry, FunctionCall, Part, Reply, ToolResult, UserPart};

/// Appends the steps of an entry.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry, past: &[Entry], target: &Target, names: &NameMap) {
    match entry {
        Entry::User(parts) => user(out, parts),
        Entry::Notice(text) => text_step(out, "user_input", text),
        Entry::Reply(reply) => write_reply(out, reply, target, names),
        Entry::Results(results) => {
            let reply = match past.last() {
                Some(Entry::Reply(reply)) => Some(reply.as_ref()),
                Some(Entry::User(_) | Entry::Results(_) | Entry::Notice(_)) | None => None,
            };
            let own = reply.filter(|reply| target.issued(&reply.origin));
            results.iter().for_each(|result| write_result(out, result, own, target, names));
        }
    }
}

/// Begins a step of this kind.
fn step(out: &mut Vec<u8>, kind: &str) {
    if !out.is_empty() {
        out.push(b',');
    }
    json::put(out, "{\"type\":\"");
    json::put(out, kind);
    out.push(b'"');
}

fn text_step(out: &mut Vec<u8>, kind: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    step(out, kind);
    json::put(out, ",\"content\":[{\"type\":\"text\"");
    json::text_field(out, "text", text);
    json::put(out, "}]}");
}

fn user(out: &mut Vec<u8>, parts: &[UserPart]) {
    if let [UserPart::Text(text)] = parts {
        return text_step(out, "user_input", text);
    }
    if parts.is_empty() {
        return;
    }
    step(out, "user_input");
    json::put(out, ",\"content\":[");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match part {
            UserPart::Text(text) => {
                json::put(out, "{\"type\":\"text\"");
                json::text_field(out, "text", text);
            }
            UserPart::Image { url } => image(out, url),
        }
        out.push(b'}');
    }
    json::put(out, "]}");
}

fn image(out: &mut Vec<u8>, url: &str) {
    json::put(out, "{\"type\":\"image\"");
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((mime, base64)) => {
            json::text_field(out, "data", base64);
            json::text_field(out, "mime_type", mime.split(';').next().unwrap_or(mime));
        }
        None => {
            json::text_field(out, "uri", url);
            json::text_field(out, "mime_type", mime_of(url));
        }
    }
}

fn write_reply(out: &mut Vec<u8>, reply: &Reply, target: &Target, names: &NameMap) {
    let own = target.issued(&reply.origin);
    for item in &reply.items {
        if own && let Some(raw) = item.raw.as_deref() {
            if !out.is_empty() {
                out.push(b',');
            }
            match with_valid_arguments(&item.parts, raw.get()) {
                Some(mended) => json::value(out, &mended),
                None => json::put(out, raw.get()),
            }
            continue;
        }
        for part in &item.parts {
            match part {
                Part::Text { text, .. } | Part::Refusal { text } => text_step(out, "model_output", text),
                Part::Hosted(output) => text_step(out, "model_output", &hosted_as_text(output)),
                Part::Call(call) => write_call(out, call, own, target, names),
                // Thoughts belong to the family that had them; an unknown step means nothing to others.
                Part::Reasoning { .. } | Part::Unknown { .. } => {}
            }
        }
    }
}

/// The step of a call with arguments that are an object, when those it came with are not: others would have every later
/// request refused.
fn with_valid_arguments(parts: &[Part], raw: &str) -> Option<serde_json::Value> {
    #[derive(serde::Deserialize)]
    struct Given<'a> {
        #[serde(borrow, default)]
        arguments: Raw<'a>,
    }
    let Some(Part::Call(call)) = parts.first() else { return None };
    let given: Given<'_> = serde_json::from_str(raw).ok()?;
    if given.arguments.get().is_some_and(|arguments| arguments.starts_with('{')) {
        return None;
    }
    let mut mended: serde_json::Value = serde_json::from_str(raw).ok()?;
    let arguments = serde_json::from_str(&arguments::replayable(&call.arguments)).ok()?;
    mended.as_object_mut()?.insert("arguments".to_owned(), arguments);
    Some(mended)
}

fn write_call(out: &mut Vec<u8>, call: &FunctionCall, own: bool, target: &Target, names: &NameMap) {
    step(out, "function_call");
    json::text_field(out, "id", &call_id(&call.provider_id, own, target));
    json::text_field(out, "name", &wire_name(&call.name, names));
    json::put(out, ",\"arguments\":");
    json::put(out, &arguments::replayable(&call.arguments));
    out.push(b'}');
}

fn write_result(out: &mut Vec<u8>, result: &ToolResult, own: Option<&Reply>, target: &Target, names: &NameMap) {
    step(out, "function_result");
    json::text_field(out, "call_id", &call_id(&result.provider_id, own.is_some(), target));
    let name = own.and_then(|reply| called(reply, &result.provider_id));
    json::text_field(out, "name", &name.unwrap_or_else(|| wire_name(&result.name, names)));
    json::text_field(out, "result", &without_images(result));
    json::put(out, if result.is_error { ",\"is_error\":true}" } else { "}" });
}

/// The name of an own call as it is on the wire.
fn called(reply: &Reply, provider_id: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Str<'a>,
    }
    let is_call = |part: &Part| matches!(part, Part::Call(call) if call.provider_id == provider_id);
    let item = reply.items.iter().find(|item| item.parts.iter().any(is_call))?;
    let step: Named<'_> = serde_json::from_str(item.raw.as_deref()?.get()).ok()?;
    step.name.some().map(str::to_owned)
}
