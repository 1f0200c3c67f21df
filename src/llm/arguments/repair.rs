//! The whole repair ladder: from valid JSON to what can be made of a broken one.

use serde_json::Value;

use super::{
    certain,
    tolerant::{self, Parser},
};

/// How many places a JSON value may begin at in a text with prose are tried.
const MAX_STARTS: usize = 16;

/// How often a text may be encoded once more.
const MAX_LAYERS: usize = 3;

/// Makes the likeliest JSON value of a broken text, or nothing: arguments are never invented from text that holds no
/// JSON. The second part says what was done, a sentence each; it is empty when `raw` was valid.
///
/// Not for live calls: a likely value is not what the model said. See [`RepairLevel`](super::RepairLevel).
pub fn repair(raw: &str) -> Option<(Value, Vec<String>)> {
    let mut notes = Vec::new();
    let value = layer(raw, MAX_LAYERS, &mut notes)?;
    Some((value, notes))
}

fn layer(raw: &str, layers: usize, notes: &mut Vec<String>) -> Option<Value> {
    let layers = layers.checked_sub(1)?;
    if let Ok(value) = serde_json::from_str::<Value>(raw) {
        return Some(decoded(value, layers, notes));
    }
    if let Some(value) = certain::object(raw, notes) {
        return Some(value);
    }
    let text = raw.trim().trim_start_matches('\u{feff}');
    if let Some(inner) = encoded(text) {
        notes.push("the text was encoded as a string".to_owned());
        return layer(&inner, layers, notes);
    }
    from_prose(text, notes)
}

/// An object or array that was encoded as a string.
fn decoded(value: Value, layers: usize, notes: &mut Vec<String>) -> Value {
    if let Value::String(inner) = &value
        && inner.trim_start().starts_with(['{', '['])
        && let Some(inner) = layer(inner, layers, notes)
    {
        notes.push("the value was encoded as a string".to_owned());
        return inner;
    }
    value
}

/// The text inside a broken string literal that holds JSON, or inside JSON whose quotes are all escaped.
fn encoded(text: &str) -> Option<String> {
    let literal = text.strip_prefix('"').filter(|rest| rest.starts_with("{\\\"") || rest.starts_with("[\\\""));
    let inner = match literal {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest),
        None if text.starts_with("{\\\"") || text.starts_with("[\\\"") => text,
        None => return None,
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    Some(out)
}

/// The first value in a text that may have prose, a fence, a tag or a function call around it.
fn from_prose(text: &str, notes: &mut Vec<String>) -> Option<Value> {
    let text = fence(text).unwrap_or(text);
    let starts = text.char_indices().filter(|(_, c)| matches!(c, '{' | '['));
    for (start, _) in starts.take(MAX_STARTS) {
        let before = text.get(..start).unwrap_or_default().trim();
        let rest = text.get(start..).unwrap_or_default();
        if !before.is_empty() && !may_begin(rest) {
            continue;
        }
        let mut parser = Parser::new(rest);
        let Some(value) = parser.document(before.is_empty()) else {
            if before.is_empty() {
                return None;
            }
            continue;
        };
        if tolerant::is_only_words(&value) && (!before.is_empty() || !parser.is_at_end()) {
            return None;
        }
        if !before.is_empty() || !parser.is_at_end() {
            notes.push("text around the value was left out".to_owned());
        }
        notes.append(&mut parser.notes);
        return Some(value);
    }
    None
}

/// Whether an object or array, and not a remark in brackets, may begin here.
fn may_begin(text: &str) -> bool {
    let mut chars = text.chars();
    let opening = chars.next();
    let rest = chars.as_str().trim_start();
    let quoted = rest.starts_with(['"', '\'', '“', '‘', '}', ']', '/']);
    match opening {
        Some('{') => quoted || rest.split_once(':').is_some_and(|(key, _)| !key.contains(['\n', '.', '}'])),
        _ => quoted || rest.starts_with(['{', '[', '-']) || rest.starts_with(|c: char| c.is_ascii_digit()),
    }
}

/// What the first code fence holds, if that may be JSON.
fn fence(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (language, body) = after.split_once('\n').unwrap_or(("", after));
    let body = if language.contains(['{', '[']) { after } else { body };
    let body = body.split_once("```").map_or(body, |(inside, _)| inside);
    let first = body.trim_start();
    first.starts_with(['{', '[']).then_some(body)
}
