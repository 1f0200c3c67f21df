//! Repairs that have one reading only.

use serde_json::Value;

/// The object in `raw` after the certain repairs, or `None`. Appends to `notes` what was done.
pub(super) fn object(raw: &str, notes: &mut Vec<String>) -> Option<Value> {
    let mut made = Vec::new();
    let mut text = raw.trim();
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        text = rest.trim_start();
        made.push("a byte order mark was removed");
    }
    if let Some(inner) = unfenced(text) {
        text = inner;
        made.push("a code fence was removed");
    }
    let cleaned = cleaned(text, &mut made);
    let value = match serde_json::from_str::<Value>(&cleaned).ok()? {
        Value::String(inner) => {
            made.push("the object was encoded as a string");
            serde_json::from_str::<Value>(&inner).ok()?
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other,
    };
    value.is_object().then(|| {
        notes.extend(made.into_iter().map(str::to_owned));
        value
    })
}

/// What a code fence around the whole text holds.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, body) = inner.split_once('\n')?;
    let body = if language.trim().chars().all(|c| c.is_ascii_alphanumeric()) { body } else { inner };
    (!body.contains("```")).then(|| body.trim())
}

/// The text with control characters in strings escaped and commas before a closing bracket left out.
fn cleaned(text: &str, made: &mut Vec<&'static str>) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let (mut quoted, mut escaped) = (false, false);
    let (mut controls, mut commas) = (false, false);
    for c in text.chars() {
        if quoted {
            if c < ' ' && !escaped {
                controls = true;
                push_escaped(&mut out, c);
            } else {
                out.push(c);
            }
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if matches!(c, '}' | ']') && out.trim_end().ends_with(',') {
            let kept = out.trim_end().len() - 1;
            let before = out.get(..kept).unwrap_or_default().trim_end();
            // `[,]` and `{,}` are no lists with a comma too many.
            if !before.ends_with(['[', '{', ',', ':']) {
                out.truncate(kept);
                commas = true;
            }
        }
        quoted = c == '"';
        out.push(c);
    }
    if controls {
        made.push("raw control characters in a string were escaped");
    }
    if commas {
        made.push("a comma before a closing bracket was removed");
    }
    out
}

/// A control character as JSON spells it.
pub(super) fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.push_str(&format!("\\u{:04x}", u32::from(other))),
    }
}
