//! What an argument is to its call, by the contract, its name and its value.

use serde_json::Value;

use super::{address, date};
use crate::{capability::Capability, types::ArgumentRole};

/// Names of free text: what is said, not to whom or where.
const CONTENT: [&str; 24] = [
    "abstract",
    "agenda",
    "body",
    "caption",
    "comment",
    "comments",
    "content",
    "contents",
    "description",
    "details",
    "html",
    "location",
    "markdown",
    "memo",
    "message",
    "note",
    "notes",
    "place",
    "reason",
    "subject",
    "summary",
    "text",
    "title",
    "venue",
];

/// Names of handles that only a look-up can tell.
const REFERENCES: [&str; 8] = ["handle", "id", "ids", "key", "ref", "reference", "uid", "uuid"];

/// Names of numbers that are also written as texts.
const AMOUNTS: [&str; 6] = ["amount", "price", "qty", "quantity", "sum", "total"];

/// Names of choices among a few words.
const OPTIONS: [&str; 18] = [
    "category",
    "color",
    "currency",
    "encoding",
    "format",
    "kind",
    "lang",
    "language",
    "limit",
    "locale",
    "mode",
    "permission",
    "priority",
    "role",
    "status",
    "timezone",
    "type",
    "unit",
];

/// What an argument is. What the contract declares wins; a name that says nothing is taken for a target, so that an
/// unknown argument is looked at rather than let through.
pub(super) fn of(capability: &Capability, name: &str, value: &Value) -> ArgumentRole {
    if let Some(declared) = capability.governance.arguments.get(name) {
        return *declared;
    }
    if matches!(value, Value::Bool(_) | Value::Null) || is_choice(&capability.input.schema, name) {
        return ArgumentRole::Option;
    }
    let last = last_word(name);
    let listed = |names: &[&str]| names.binary_search(&last.as_str()).is_ok();
    if listed(&REFERENCES) {
        return ArgumentRole::Reference;
    }
    match value {
        Value::Number(_) if capability.governance.risk_class.writes() => ArgumentRole::Amount,
        Value::Number(_) => ArgumentRole::Option,
        Value::String(_) if listed(&AMOUNTS) => ArgumentRole::Amount,
        _ if listed(&CONTENT) => ArgumentRole::Content,
        _ if listed(&OPTIONS) => ArgumentRole::Option,
        Value::String(text) if date::read(text).is_some() => ArgumentRole::Date,
        Value::String(text) if is_url(text) || is_host_name(&last) => ArgumentRole::Host,
        Value::String(_) | Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Null => ArgumentRole::Target,
    }
}

fn is_url(text: &str) -> bool {
    text.contains("://") || matches!(address::read(text), Some(address::Address::Web(_)) if text.starts_with("www."))
}

fn is_host_name(last: &str) -> bool {
    matches!(
        last,
        "url" | "urls" | "uri" | "link" | "href" | "host" | "hostname" | "domain" | "website" | "webhook" | "endpoint"
    )
}

/// Whether the schema gives a closed list for an argument.
fn is_choice(schema: &Value, name: &str) -> bool {
    let property = schema.get("properties").and_then(|properties| properties.get(name));
    property.is_some_and(|property| {
        let nested = property.get("$ref").and_then(Value::as_str).and_then(|at| schema.pointer(at.strip_prefix('#')?));
        nested.unwrap_or(property).get("enum").is_some_and(Value::is_array)
    })
}

/// `file_id` → `id`, `newStartTime` → `time`.
fn last_word(name: &str) -> String {
    let start = name.char_indices().rev().find_map(|(at, c)| {
        if !c.is_alphanumeric() {
            return Some(at + c.len_utf8());
        }
        let before = name.get(..at).and_then(|before| before.chars().next_back());
        (c.is_uppercase() && before.is_some_and(char::is_lowercase)).then_some(at)
    });
    name.get(start.unwrap_or(0)..).unwrap_or(name).to_lowercase()
}

#[cfg(test)]
pub(super) fn check_lists() {
    assert!(CONTENT.is_sorted() && REFERENCES.is_sorted() && AMOUNTS.is_sorted() && OPTIONS.is_sorted());
}
