//! Words and quotes as people and programs write them where JSON has only one way.

use serde_json::Value;

/// Whether a character may open a string.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '”' | '„' | '‘' | '’' | '´')
}

/// Whether `c` may close a string that `opening` opened.
pub(super) fn closes(opening: char, c: char) -> bool {
    match opening {
        '"' | '\'' | '`' => c == opening,
        '“' | '”' | '„' => matches!(c, '“' | '”' | '"'),
        _ => matches!(c, '‘' | '’' | '´' | '\'' | '`'),
    }
}

/// Whether a word is a regular expression of JavaScript, for which JSON has nothing.
pub(super) fn is_regex(word: &str) -> bool {
    let Some((body, flags)) = word.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) else { return false };
    !body.is_empty() && flags.chars().all(|c| c.is_ascii_lowercase())
}

/// The value of a word that is a number or a literal of JSON, Python or JavaScript.
pub(super) fn literal(word: &str) -> Option<Value> {
    match word {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        "null" | "None" | "NULL" | "undefined" => Some(Value::Null),
        _ => number(word),
    }
}

/// A number as people write it: `.5`, `1.`, `1e`; not `007`, `0xFF` or `1-2`.
fn number(word: &str) -> Option<Value> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let sign = if unsigned.len() < word.len() { "-" } else { "" };
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, "" | "+" | "-")) => (mantissa, String::new()),
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (unsigned, String::new()),
    };
    let zero = if mantissa.starts_with('.') { "0" } else { "" };
    let after = if mantissa.ends_with('.') { "0" } else { "" };
    let text = format!("{sign}{zero}{mantissa}{after}{exponent}");
    serde_json::from_str::<Value>(&text).ok().filter(Value::is_number)
}
