//! Entries of a conversation as contents.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::super::{
        arguments,
        dialect::Target,
        json::{self, Raw, Str},
        names::NameMap,
    },
    super::{
        openai_response::wire_name,
        render::{hosted_as_text, without_images},
    },
    generation::Generation,
    part::{WireCall, WirePart},
    view,
};
use crate::types::{Entry, FunctionCall, Item, Part, Reply, Stop, ToolResult, UserPart};

/// Stands where a call of another model has no signature of Gemini's (ai.google.dev, 2026-08): a call of the current
/// turn without one is refused by Gemini 3.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Contents must begin with the user's (ai.google.dev, 2026-08).
const LEFT_OUT: &str = "(What was said before is left out.)";

/// What is sent of a conversation. A reply of our own that paused is not sent back as such: the same request goes out
/// again with the token the reply came with (`CONTINUATION`, google-genai 3.6.1), and what follows completes it.
pub(in super::super) fn to_send<'a>(entries: &'a [Entry], target: &Target) -> (&'a [Entry], Option<&'a RawValue>) {
    match entries.split_last() {
        Some((Entry::Reply(reply), before)) if reply.stop == Stop::Paused && target.issued(&reply.origin) => {
            match reply.carry.as_deref() {
                Some(token) => (before, Some(token)),
                None => (entries, None),
            }
        }
        Some(_) | None => (entries, None),
    }
}

/// Appends the content of an entry.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry, past: &[Entry], target: &Target, names: &NameMap) {
    match entry {
        Entry::User(parts) => {
            let mut content = Content::user(out);
            parts.iter().for_each(|part| user_part(&mut content, part));
        }
        Entry::Notice(text) => Content::user(out).text(text),
        Entry::Reply(reply) => write_reply(out, reply, target, names),
        Entry::Results(results) => {
            let reply = match past.last() {
                Some(Entry::Reply(reply)) => Some(reply.as_ref()),
                Some(Entry::User(_) | Entry::Results(_) | Entry::Notice(_)) | None => None,
            };
            let mut content = Content::user(out);
            for result in results {
                write_result(content.part(), result, reply, target, names);
            }
        }
    }
}

/// A content that is written when it gets its first part; one without parts is refused.
#[derive(Debug)]
struct Content<'a> {
    out: &'a mut Vec<u8>,
    role: &'static str,
    parts: usize,
}

impl<'a> Content<'a> {
    fn user(out: &'a mut Vec<u8>) -> Self {
        Self { out, role: "user", parts: 0 }
    }

    /// A place for the next part.
    fn part(&mut self) -> &mut Vec<u8> {
        if self.parts == 0 {
            self.begin();
        } else {
            self.out.push(b',');
        }
        self.parts += 1;
        self.out
    }

    fn begin(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b',');
        }
        json::put(self.out, "{\"role\":\"");
        json::put(self.out, self.role);
        json::put(self.out, "\",\"parts\":[");
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let out = self.part();
        json::put(out, "{\"text\":");
        json::string(out, text);
        out.push(b'}');
    }
}

impl Drop for Content<'_> {
    fn drop(&mut self) {
        if self.parts > 0 {
            json::put(self.out, "]}");
        }
    }
}

fn user_part(content: &mut Content<'_>, part: &UserPart) {
    let url = match part {
        UserPart::Text(text) => return content.text(text),
        UserPart::Image { url } => url,
    };
    let Some(data) = url.strip_prefix("data:") else {
        let out = content.part();
        json::put(out, "{\"fileData\":{\"mimeType\":");
        json::string(out, mime_of(url));
        json::text_field(out, "fileUri", url);
        return json::put(out, "}}");
    };
    if data.contains(";base64,") {
        inline(content.part(), url);
    } else {
        content.text("[an image that cannot be sent: its data is not base64]");
    }
}

/// A part of the data in a `data:` address.
fn inline(out: &mut Vec<u8>, url: &str) {
    let data = url.strip_prefix("data:").unwrap_or(url);
    let (mime, base64) = data.split_once(";base64,").unwrap_or(("image/png", data));
    json::put(out, "{\"inlineData\":{\"mimeType\":");
    json::string(out, mime.split(';').next().unwrap_or(mime));
    json::text_field(out, "data", base64);
    json::put(out, "}}");
}

/// The type of an image by the end of its address; `fileData` wants one.
pub(in super::super) fn mime_of(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "pdf" => "application/pdf",
        _ => "image/jpeg",
    }
}

fn write_reply(out: &mut Vec<u8>, reply: &Reply, target: &Target, names: &NameMap) {
    if out.is_empty() {
        Content::user(out).text(LEFT_OUT);
    }
    let own = target.issued(&reply.origin);
    let mut content = Content { out, role: "model", parts: 0 };
    let sign = !own && Generation::of(target.origin.model.as_str()) == Generation::Three;
    let mut unsigned = sign;
    for item in &reply.items {
        if own && let Some(raw) = item.raw.as_deref() {
            if is_content(raw.get()) {
                match with_valid_arguments(item, raw.get()) {
                    Some(mended) => json::value(content.part(), &mended),
                    None => json::put(content.part(), raw.get()),
                }
            }
            continue;
        }
        for part in &item.parts {
            write_part(&mut content, part, &mut unsigned, names);
        }
    }
}

/// The part of a call with arguments that are an object, when those it came with are not: others would have every later
/// request refused.
fn with_valid_arguments(item: &Item, raw: &str) -> Option<serde_json::Value> {
    let Some(Part::Call(call)) = item.parts.first() else { return None };
    let part: WirePart<'_> = serde_json::from_str(raw).ok()?;
    let wire: WireCall<'_> = part.function_call.read()?;
    if wire.args.get().is_none_or(|args| args.starts_with('{')) {
        return None;
    }
    let mut mended: serde_json::Value = serde_json::from_str(raw).ok()?;
    let arguments = serde_json::from_str(&arguments::replayable(&call.arguments)).ok()?;
    mended.get_mut("functionCall")?.as_object_mut()?.insert("args".to_owned(), arguments);
    Some(mended)
}

/// Whether a raw item is a part with something in it. What was said beside the content is none; an empty text without
/// a signature would be refused.
fn is_content(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Empty<'a> {
        #[serde(borrow)]
        text: Str<'a>,
        #[serde(borrow, default, rename = "thoughtSignature")]
        signature: Str<'a>,
    }
    if view::is_metadata(raw) {
        return false;
    }
    let empty = |part: &Empty<'_>| part.text.0.as_deref() == Some("") && part.signature.some().is_none();
    raw.len() > 64 || !serde_json::from_str::<Empty<'_>>(raw).is_ok_and(|part| empty(&part))
}

fn write_part(content: &mut Content<'_>, part: &Part, unsigned: &mut bool, names: &NameMap) {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } => content.text(text),
        Part::Hosted(output) => content.text(&hosted_as_text(output)),
        Part::Call(call) => write_call(content.part(), call, std::mem::take(unsigned), names),
        // Thoughts belong to the family that had them; an unknown part means nothing to others.
        Part::Reasoning { .. } | Part::Unknown { .. } => {}
    }
}

/// A call of another model. It goes without an id: calls and results are told by name and order, and Vertex knows no ids.
fn write_call(out: &mut Vec<u8>, call: &FunctionCall, sign: bool, names: &NameMap) {
    json::put(out, "{\"functionCall\":{\"name\":");
    json::string(out, &wire_name(&call.name, names));
    json::put(out, ",\"args\":");
    json::put(out, &arguments::replayable(&call.arguments));
    json::put(out, "}");
    if sign {
        json::text_field(out, "thoughtSignature", FOREIGN_SIGNATURE);
    }
    json::put(out, "}");
}

fn write_result(out: &mut Vec<u8>, result: &ToolResult, reply: Option<&Reply>, target: &Target, names: &NameMap) {
    let own = reply.filter(|reply| target.issued(&reply.origin));
    let called = own.and_then(|reply| called(reply, &result.provider_id));
    json::put(out, "{\"functionResponse\":{\"name\":");
    match &called {
        Some(called) if !called.0.is_empty() => json::string(out, &called.0),
        _ => json::string(out, &wire_name(&result.name, names)),
    }
    if let Some((_, Some(id))) = &called {
        json::text_field(out, "id", id);
    }
    // The response has to be an object; `output` and `error` are what the models are used to.
    json::put(out, if result.is_error { ",\"response\":{\"error\":" } else { ",\"response\":{\"output\":" });
    let shows = target.api.result_images && Generation::of(target.origin.model.as_str()) == Generation::Three;
    let images: Vec<&String> = result.images.iter().filter(|url| shows && url.contains(";base64,")).collect();
    let text =
        if images.len() == result.images.len() { result.content.as_str().into() } else { without_images(result) };
    json::string(out, &text);
    json::put(out, "}");
    if !images.is_empty() {
        // From Gemini 3 on a response may hold media (ai.google.dev, 2026-08).
        json::put(out, ",\"parts\":[");
        for (at, url) in images.into_iter().enumerate() {
            json::put(out, if at > 0 { "," } else { "" });
            inline(out, url);
        }
        json::put(out, "]");
    }
    json::put(out, "}}");
}

/// Name and id of an own call as they are on the wire.
fn called(reply: &Reply, provider_id: &str) -> Option<(String, Option<String>)> {
    let is_call = |part: &Part| matches!(part, Part::Call(call) if call.provider_id == provider_id);
    let item: &Item = reply.items.iter().find(|item| item.parts.iter().any(is_call))?;
    let part: WirePart<'_> = serde_json::from_str(item.raw.as_deref()?.get()).ok()?;
    let call: WireCall<'_> = Raw::read(part.function_call)?;
    Some((call.name.text().to_owned(), call.id.some().map(str::to_owned)))
}
