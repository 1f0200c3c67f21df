//! Entries of a conversation as messages.
//!
//! Messages end in their role, so that the bytes written so far say by themselves whose turn was last: what follows
//! from the same role is added to that message. Roles alternate then, all results of a reply stand in one message
//! right behind it, and a reply that was continued goes back as the one message it is.

use super::{
    super::{
        super::{arguments, dialect::Target, json, names::NameMap},
        openai_response::{call_id, wire_name},
        render::{hosted_as_text, without_images},
    },
    block::WireBlock,
};
use crate::types::{Entry, FunctionCall, HostedOutput, HostedStatus, Item, Part, Reply, Stop, ToolResult, UserPart};

const USER: &str = r#"],"role":"user"}"#;
const ASSISTANT: &str = r#"],"role":"assistant"}"#;
/// How a result ends whose content is a list, with the message around it.
const OPEN_RESULT: &str = r#"]}],"role":"user"}"#;

/// A history cannot begin with the model.
const BEGINNING: &str = "(The beginning of the conversation is not shown.)";

/// Appends what an entry adds.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry, past: &[Entry], target: &Target, names: &NameMap) {
    match entry {
        Entry::User(parts) => user(out, parts, past, target),
        Entry::Notice(text) => user(out, &[UserPart::Text(text.clone())], past, target),
        Entry::Reply(reply) => {
            let follows = matches!(past.last(), Some(Entry::Reply(before)) if before.stop != Stop::Paused);
            if follows {
                close(out, &open_uses(past, target));
            }
            append(out, ASSISTANT, &reply_blocks(reply, target, names));
        }
        Entry::Results(results) => self::results(out, results, past, target),
    }
}

/// The messages as they are sent: `written`, and a word of the user where they would end with the model although it
/// does not wait for anything. Models since 4.6 answer such a beginning of a reply with a 400 (2026-11).
pub(super) fn whole<'a>(
    written: &'a [u8],
    entries: &[Entry],
    target: &Target,
    names: &NameMap,
) -> std::borrow::Cow<'a, [u8]> {
    let waits = match entries.last() {
        Some(Entry::Reply(reply)) => reply.stop == Stop::Paused && target.issued(&reply.origin),
        Some(Entry::User(_) | Entry::Results(_) | Entry::Notice(_)) | None => true,
    };
    if waits || !written.ends_with(ASSISTANT.as_bytes()) {
        return written.into();
    }
    let mut out = written.to_vec();
    write(&mut out, &Entry::User(vec![UserPart::Text("Go on.".to_owned())]), entries, target, names);
    out.into()
}

/// Adds blocks, separated by commas, to the last message when it has that role, else as a new message.
fn append(out: &mut Vec<u8>, role: &str, blocks: &[u8]) {
    if blocks.is_empty() {
        return;
    }
    if out.is_empty() && role == ASSISTANT {
        append(out, USER, &text_block(BEGINNING));
    }
    if out.ends_with(role.as_bytes()) {
        out.truncate(out.len() - role.len());
        out.push(b',');
    } else {
        if !out.is_empty() {
            out.push(b',');
        }
        json::put(out, "{\"content\":[");
    }
    out.extend_from_slice(blocks);
    json::put(out, role);
}

fn separate(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

/// A text block; none for a blank text, which is refused.
fn text_block(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, text);
    out
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    separate(out);
    json::put(out, "{\"type\":\"text\"");
    json::text_field(out, "text", text);
    out.push(b'}');
}

fn user(out: &mut Vec<u8>, parts: &[UserPart], past: &[Entry], target: &Target) {
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            UserPart::Text(text) => push_text(&mut blocks, text),
            UserPart::Image { url } => image(&mut blocks, url),
        }
    }
    let open = open_uses(past, target);
    let spoken = |entry: &&Entry| matches!(entry, Entry::User(_) | Entry::Notice(_));
    let after_results = matches!(past.iter().rev().find(|entry| !spoken(entry)), Some(Entry::Results(_)));
    if open.is_empty() {
        append(out, USER, &blocks);
    } else if after_results {
        into_last_result(out, &blocks);
    } else {
        close(out, &open);
        append(out, USER, &blocks);
    }
}

fn image(out: &mut Vec<u8>, url: &str) {
    separate(out);
    json::put(out, "{\"type\":\"image\",\"source\":{\"type\":");
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media_type, data)) => {
            json::put(out, "\"base64\"");
            json::text_field(out, "media_type", media_type);
            json::text_field(out, "data", data);
        }
        None => {
            json::put(out, "\"url\"");
            json::text_field(out, "url", url);
        }
    }
    json::put(out, "}}");
}

/// While a server tool waits, a message may hold results and nothing else (2026-11): what else is said goes into the
/// last result.
fn into_last_result(out: &mut Vec<u8>, blocks: &[u8]) {
    if blocks.is_empty() || !out.ends_with(OPEN_RESULT.as_bytes()) {
        return;
    }
    out.truncate(out.len() - OPEN_RESULT.len());
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
    out.extend_from_slice(blocks);
    json::put(out, OPEN_RESULT);
}

fn results(out: &mut Vec<u8>, results: &[ToolResult], past: &[Entry], target: &Target) {
    let reply = past.iter().rev().find_map(|entry| match entry {
        Entry::Reply(reply) => Some(reply.as_ref()),
        Entry::User(_) | Entry::Results(_) | Entry::Notice(_) => None,
    });
    let own = reply.filter(|reply| target.issued(&reply.origin));
    let may_grow = !open_uses(past, target).is_empty();
    let mut blocks = Vec::new();
    for result in results {
        let text = without_images(result);
        separate(&mut blocks);
        json::put(&mut blocks, "{\"type\":\"tool_result\"");
        json::text_field(&mut blocks, "tool_use_id", &call_id(&result.provider_id, own.is_some(), target));
        if let Some(toolset) = own.and_then(|reply| toolset_of(reply, &result.provider_id)) {
            json::text_field(&mut blocks, "toolset_name", &toolset);
        }
        if result.is_error {
            json::put(&mut blocks, ",\"is_error\":true");
        }
        let shown = !result.images.is_empty() && target.api.result_images;
        if may_grow || shown {
            json::put(&mut blocks, ",\"content\":[");
            let mut content = text_block(if shown { &result.content } else { &text });
            result.images.iter().filter(|_| shown).for_each(|url| image(&mut content, url));
            blocks.extend_from_slice(&content);
            blocks.push(b']');
        } else {
            json::text_field(&mut blocks, "content", &text);
        }
        blocks.push(b'}');
    }
    append(out, USER, &blocks);
}

/// The toolset that a call names; its result has to name it too.
fn toolset_of(reply: &Reply, id: &str) -> Option<String> {
    let raws = reply.items.iter().filter_map(|item| item.raw.as_deref());
    raws.filter(|raw| raw.get().contains("toolset_name")).find_map(|raw| {
        let block: WireBlock<'_> = serde_json::from_str(raw.get()).ok()?;
        block.toolset_name.some().filter(|_| block.id.text() == id).map(str::to_owned)
    })
}

fn reply_blocks(reply: &Reply, target: &Target, names: &NameMap) -> Vec<u8> {
    let own = target.issued(&reply.origin);
    let mut out = Vec::new();
    for item in &reply.items {
        match item.raw.as_deref().filter(|_| own) {
            Some(raw) => push_raw(&mut out, raw.get()),
            None => item.parts.iter().for_each(|part| push_part(&mut out, part, own, target, names)),
        }
    }
    out
}

/// The betas whose blocks stand in replies that go back as they are.
pub(super) fn betas(entries: &[Entry], target: &Target) -> Vec<&'static str> {
    const BLOCKS: [(&str, &str); 5] = [
        ("mcp_tool_use", "mcp-client-2025-11-20"),
        ("mcp_tool_result", "mcp-client-2025-11-20"),
        ("advisor_tool_result", "advisor-tool-2026-03-01"),
        ("compaction", "compact-2026-01-12"),
        ("fallback", "server-side-fallback-2026-06-01"),
    ];
    let mut needed = Vec::new();
    for entry in entries {
        let Entry::Reply(reply) = entry else { continue };
        if !target.issued(&reply.origin) {
            continue;
        }
        // Texts and calls, most of a history, need none.
        let plain = |part: &Part| matches!(part, Part::Text { .. } | Part::Call(_) | Part::Refusal { .. });
        let special = reply.items.iter().filter(|item| item.parts.is_empty() || !item.parts.iter().all(plain));
        for raw in special.filter_map(|item| item.raw.as_deref()) {
            let block: WireBlock<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            let beta = BLOCKS.iter().find(|(kind, _)| *kind == block.kind.text());
            needed.extend(beta.map(|(_, beta)| *beta).filter(|beta| !needed.contains(beta)));
        }
    }
    needed
}

/// A block of the provider's own goes back as it came, unless the provider itself would refuse it so: blank texts,
/// and calls whose input is no object.
fn push_raw(out: &mut Vec<u8>, raw: &str) {
    let block: WireBlock<'_> = serde_json::from_str(raw).unwrap_or_default();
    match block.kind.text() {
        "text" if block.text.text().trim().is_empty() => {}
        "tool_use" | "server_tool_use" | "mcp_tool_use" if !block.input.get().is_some_and(|it| it.starts_with('{')) => {
            separate(out);
            json::value(out, &with_valid_input(raw, &block));
        }
        // On the wire, and in no type of the SDK (2026-11).
        kind if kind.ends_with("code_execution_tool_result") => {
            separate(out);
            json::put(out, &raw.replace(",\"abort_reason\":null", "").replace("\"abort_reason\":null,", ""));
        }
        _ => {
            separate(out);
            json::put(out, raw);
        }
    }
}

fn with_valid_input(raw: &str, block: &WireBlock<'_>) -> serde_json::Value {
    let given = block.input.text_or_json().unwrap_or_default();
    let input = serde_json::from_str(&arguments::replayable(&given)).unwrap_or_default();
    let mut mended: serde_json::Value = serde_json::from_str(raw).unwrap_or_default();
    if let Some(fields) = mended.as_object_mut() {
        fields.insert("input".to_owned(), input);
    }
    mended
}

fn push_part(out: &mut Vec<u8>, part: &Part, own: bool, target: &Target, names: &NameMap) {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } => push_text(out, text),
        Part::Hosted(output) => push_text(out, &hosted_as_text(output)),
        Part::Call(call) => push_call(out, call, own, target, names),
        // Thoughts belong to the family that had them; an unknown item means nothing to others.
        Part::Reasoning { .. } | Part::Unknown { .. } => {}
    }
}

fn push_call(out: &mut Vec<u8>, call: &FunctionCall, own: bool, target: &Target, names: &NameMap) {
    separate(out);
    json::put(out, "{\"type\":\"tool_use\"");
    json::text_field(out, "id", &call_id(&call.provider_id, own, target));
    json::text_field(out, "name", &wire_name(&call.name, names));
    json::put(out, ",\"input\":");
    json::put(out, &arguments::replayable(&call.arguments));
    out.push(b'}');
}

/// The uses of server tools that have no result yet, in the bytes written for `past`.
///
/// They stay open over a pause and over the results of client calls; a word of the user, or another reply after one
/// that was not paused, closes them.
fn open_uses<'a>(past: &'a [Entry], target: &Target) -> Vec<&'a Item> {
    let (mut open, mut done): (Vec<&Item>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut entries = past.iter().rev().peekable();
    while let Some(entry) = entries.next() {
        match (entry, entries.peek()) {
            (Entry::User(_) | Entry::Notice(_), None | Some(Entry::Reply(_))) => break,
            (Entry::User(_) | Entry::Notice(_) | Entry::Results(_), _) => {}
            (Entry::Reply(reply), before) => {
                if !target.issued(&reply.origin) {
                    break;
                }
                let items = reply.items.iter().rev().filter(|item| item.raw.is_some());
                for (item, hosted) in items.filter_map(|item| hosted(item).map(|hosted| (item, hosted))) {
                    let id = hosted.id.as_deref().unwrap_or_default();
                    if hosted.status != HostedStatus::Incomplete {
                        done.push(id);
                    } else if !done.contains(&id) {
                        open.push(item);
                    }
                }
                if matches!(before, Some(Entry::Reply(before)) if before.stop != Stop::Paused) {
                    break;
                }
            }
        }
    }
    open.reverse();
    open
}

fn hosted(item: &Item) -> Option<&HostedOutput> {
    item.parts.iter().find_map(|part| if let Part::Hosted(hosted) = part { Some(hosted) } else { None })
}

/// DEV-A06, DEV-C03: gives open uses a result that says they were not finished; without one every later request is
/// refused.
fn close(out: &mut Vec<u8>, open: &[&Item]) {
    let mut blocks = Vec::new();
    for raw in open.iter().filter_map(|item| item.raw.as_deref()) {
        let block: WireBlock<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let result = match (block.kind.text(), block.name.text()) {
            ("mcp_tool_use", _) => serde_json::json!({
                "type": "mcp_tool_result",
                "tool_use_id": block.id.text(),
                "is_error": true,
                "content": [{"type": "text", "text": "The call was interrupted; whether it ran is not known."}],
            }),
            (_, name) => {
                let name = if name.starts_with("tool_search_tool") { "tool_search" } else { name };
                serde_json::json!({
                    "type": format!("{name}_tool_result"),
                    "tool_use_id": block.id.text(),
                    "content": {"type": format!("{name}_tool_result_error"), "error_code": "unavailable"},
                })
            }
        };
        separate(&mut blocks);
        json::value(&mut blocks, &result);
    }
    append(out, ASSISTANT, &blocks);
}

#[cfg(test)]
mod tests;
