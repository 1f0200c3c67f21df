//! Where schemas lie within a schema, and walking them.

use serde_json::{Map, Value};

/// An object schema.
pub(super) type Node = Map<String, Value>;

/// Keywords whose value is a map of schemas.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose value is one schema.
const SINGLES: [&str; 12] = [
    "items",
    "additionalProperties",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Calls `f` with the pointer segment and the value of each schema directly below `node`, in a fixed order of keywords.
pub(super) fn for_each_child(node: &mut Node, f: &mut dyn FnMut(&str, &mut Value)) {
    for keyword in MAPS {
        if let Some(Value::Object(map)) = node.get_mut(keyword) {
            for (key, child) in map.iter_mut() {
                f(&format!("{keyword}/{}", escape(key)), child);
            }
        }
    }
    for keyword in SINGLES {
        match node.get_mut(keyword) {
            // The list form of `items` (before 2020-12).
            Some(Value::Array(list)) => each(keyword, list, f),
            Some(child) => f(keyword, child),
            None => {}
        }
    }
    for keyword in LISTS {
        if let Some(Value::Array(list)) = node.get_mut(keyword) {
            each(keyword, list, f);
        }
    }
}

fn each(keyword: &str, list: &mut [Value], f: &mut dyn FnMut(&str, &mut Value)) {
    for (index, child) in list.iter_mut().enumerate() {
        f(&format!("{keyword}/{index}"), child);
    }
}

/// In which order a walk meets a schema and the schemas below it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The parent first: `f` may change what is walked next.
    Down,
    /// The children first.
    Up,
}

/// Calls `f` with each object schema of the tree and its JSON pointer.
pub(super) fn walk(node: &mut Node, order: Order, f: &mut dyn FnMut(&mut Node, &str)) {
    walk_at(node, order, &mut String::new(), f);
}

fn walk_at(node: &mut Node, order: Order, pointer: &mut String, f: &mut dyn FnMut(&mut Node, &str)) {
    if order == Order::Down {
        f(node, pointer);
    }
    for_each_child(node, &mut |segment, child| {
        if let Value::Object(child) = child {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(segment);
            walk_at(child, order, pointer, f);
            pointer.truncate(length);
        }
    });
    if order == Order::Up {
        f(node, pointer);
    }
}

/// A key as a segment of a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    if key.contains(['~', '/']) { key.replace('~', "~0").replace('/', "~1") } else { key.to_owned() }
}

/// Whether the node's `type` is or lists `wanted`.
pub(super) fn has_type(node: &Node, wanted: &str) -> bool {
    match node.get("type") {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(list)) => list.iter().any(|one| one == wanted),
        _ => false,
    }
}

/// The names in the node's `type`.
pub(super) fn types(node: &Node) -> Vec<String> {
    match node.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Sets `type` to one name or to a list; an empty list removes it.
pub(super) fn set_types(node: &mut Node, mut names: Vec<String>) {
    match names.len() {
        0 => drop(node.shift_remove("type")),
        1 => drop(node.insert("type".to_owned(), Value::String(names.remove(0)))),
        _ => drop(node.insert("type".to_owned(), names.into())),
    }
}

/// The JSON type of a value in the words of JSON Schema.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a number is an integer by JSON Schema (`1.0` is one).
pub(super) fn is_integer(number: &serde_json::Number) -> bool {
    let text = number.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    digits.bytes().all(|b| b.is_ascii_digit()) || number.as_f64().is_some_and(|n| n.is_finite() && n.fract() == 0.0)
}

/// The required keys of a node.
pub(super) fn required(node: &Node) -> Vec<String> {
    let list = node.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The declared properties of a node.
pub(super) fn properties(node: &Node) -> Option<&Node> {
    node.get("properties").and_then(Value::as_object)
}

/// Adds a sentence to the node's description.
pub(super) fn describe(node: &mut Node, sentence: &str) {
    let text = match node.get("description").and_then(Value::as_str).map(str::trim) {
        None | Some("") => sentence.to_owned(),
        Some(text) if text.contains(sentence) => text.to_owned(),
        Some(text) => format!("{text} {sentence}"),
    };
    node.insert("description".to_owned(), Value::String(text));
}
