//! Anthropic's strict mode (subset and limits of 2026-11, platform.claude.com, structured outputs): closed objects
//! whose keys may be optional, no recursion, no bounds. What only narrows is told in the description; what cannot be
//! said at all is written down as a loss, and the caller then falls back to the lenient dialect.

use serde_json::Value;

use super::{
    Log, back,
    lenient::{assembled, for_each_schema, rename_keys},
    normal::Normal,
    strict,
    tree::{self, Node, Order},
};

/// Keywords this mode knows.
const KNOWN: [&str; 14] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "const",
    "$ref",
    "pattern",
    "format",
    "minItems",
];

/// Keywords beside those of [`strict::HINTS`] that only a sentence in the description can carry.
const HINTS: [&str; 6] = ["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "maxItems"];

const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Limits over all strict schemas of a request; a schema that exceeds one by itself cannot be strict.
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

pub(super) fn convert(mut normal: Normal, log: &mut Log) -> Value {
    strict::merge_all_of(&mut normal, log);
    let defs = normal.defs.clone();
    for_each_schema(&mut normal, &mut |node, pointer| {
        strict::union_of_variants(node, pointer, &defs, log);
        drop_keywords(node, pointer, log);
        strict::type_of_values(node);
        strict::reference_alone(node, pointer, log);
        strict::close(node, pointer, log);
        rename_keys(node, pointer, back::KeyRule::Anthropic, log);
        strict::say_something(node, pointer, log);
    });
    check(&mut normal, log);
    assembled(normal)
}

fn drop_keywords(node: &mut Node, pointer: &str, log: &mut Log) {
    let told = |node: &mut Node, keyword: &str, log: &mut Log| {
        if let Some(value) = node.shift_remove(keyword) {
            strict::hint(node, keyword, &value);
            log.note("hint", pointer, format!("`{keyword}` is told in the description"));
        }
    };
    for keyword in strict::LOSSES {
        if node.shift_remove(keyword).is_some() {
            log.loss("unsupported", pointer, format!("strict mode has no `{keyword}`"));
        }
    }
    strict::HINTS.iter().chain(&HINTS).for_each(|keyword| told(node, keyword, log));
    let text = |node: &Node, keyword: &str| node.get(keyword).and_then(Value::as_str).map(str::to_owned);
    if text(node, "format").is_some_and(|name| !FORMATS.contains(&name.as_str())) {
        told(node, "format", log);
    }
    if text(node, "pattern").is_some_and(|pattern| strict::looks_around(&pattern) || pattern.contains("\\b")) {
        told(node, "pattern", log);
    }
    if node.get("minItems").is_some_and(|count| count.as_u64().is_none_or(|count| count > 1)) {
        told(node, "minItems", log);
    }
    node.retain(|key, _| KNOWN.contains(&key.as_str()));
}

fn check(normal: &mut Normal, log: &mut Log) {
    let (mut optional, mut unions) = (0, 0);
    for_each_schema(normal, &mut |node, _| {
        let required = tree::required(node);
        let keys = tree::properties(node).into_iter().flatten().map(|(key, _)| key);
        optional += keys.filter(|key| !required.contains(key)).count();
        unions += usize::from(node.contains_key("anyOf") || tree::types(node).len() > 1);
    });
    if optional > MAX_OPTIONAL {
        log.loss("limits", "", "more than 24 optional keys");
    }
    if unions > MAX_UNIONS {
        log.loss("limits", "", "more than 16 unions");
    }
    if is_recursive(&normal.defs) {
        log.loss("recursion", "", "a definition that contains itself");
    }
}

/// Whether a definition refers to itself, directly or through others.
fn is_recursive(defs: &Node) -> bool {
    let edges: Vec<(&String, Vec<String>)> = defs.iter().map(|(name, schema)| (name, references(schema))).collect();
    // Definitions that refer to nothing left are taken away until none is left, or only circles are.
    let mut left: Vec<&(&String, Vec<String>)> = edges.iter().collect();
    loop {
        let names: Vec<&String> = left.iter().map(|(name, _)| *name).collect();
        let before = left.len();
        left.retain(|(_, targets)| targets.iter().any(|target| names.contains(&target)));
        if left.len() == before {
            return before > 0;
        }
    }
}

fn references(schema: &Value) -> Vec<String> {
    let Value::Object(mut node) = schema.clone() else { return Vec::new() };
    let mut names = Vec::new();
    tree::walk(&mut node, Order::Down, &mut |node, _| {
        let name = node.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"));
        names.extend(name.map(str::to_owned));
    });
    names
}
