//! The normal form every conversion starts from: one draft's spelling, references only to `#/$defs/…`, an object at
//! the root unless the schema says otherwise.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use serde_json::{Map, Value, json};

use super::{
    SchemaError,
    tree::{self, Node},
};

/// Deepest nesting of a schema that is looked at.
const MAX_DEPTH: usize = 96;

/// Most schemas within one tool's schema.
const MAX_NODES: usize = 50_000;

/// A schema in normal form. `root` holds no `$defs`.
#[derive(Debug, Clone)]
pub(super) struct Normal {
    /// The schema itself.
    pub(super) root: Node,
    /// What its references point to, by name.
    pub(super) defs: Node,
}

/// The schema a tool's arguments are held to: itself, or the empty object where it says nothing.
///
/// `{"type":"null"}`, `null` and a missing schema describe a tool without arguments; `true` and `{}` one whose
/// arguments nobody described.
pub(crate) fn of_arguments(original: &Value) -> Cow<'_, Value> {
    match original {
        Value::Null => Cow::Owned(json!({"type": "object", "properties": {}, "additionalProperties": false})),
        Value::Object(node) if node.get("type").is_some_and(|kind| kind == "null") => of_arguments(&Value::Null),
        Value::Bool(true) => Cow::Owned(json!({"type": "object", "properties": {}})),
        Value::Object(node) if node.is_empty() => of_arguments(&Value::Bool(true)),
        Value::Object(_) | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Borrowed(original)
        }
    }
}

/// Brings a schema into normal form.
pub(super) fn normalise(original: &Value) -> Result<Normal, SchemaError> {
    let whole = of_arguments(original);
    let Value::Object(root) = whole.as_ref() else {
        return Err(SchemaError::NotAnObject { found: tree::type_name(original) });
    };
    measure(&whole)?;
    let mut refs = References { whole: &whole, names: BTreeMap::new(), todo: Vec::new(), old: is_old_draft(root) };
    let mut root = root.clone();
    refs.tidy(&mut root)?;
    let mut defs = Map::new();
    while let Some((name, target)) = refs.todo.pop() {
        let mut node = as_node(target);
        refs.tidy(&mut node)?;
        defs.insert(name, Value::Object(node));
    }
    defs.sort_keys();
    Ok(Normal { root, defs })
}

/// Checks size and depth, so that nothing after it needs to.
fn measure(whole: &Value) -> Result<(), SchemaError> {
    let mut todo = vec![(whole, 0_usize)];
    let mut seen = 0_usize;
    while let Some((value, depth)) = todo.pop() {
        seen += 1;
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep { limit: MAX_DEPTH });
        }
        if seen > MAX_NODES {
            return Err(SchemaError::TooLarge { limit: MAX_NODES });
        }
        match value {
            Value::Array(list) => todo.extend(list.iter().map(|child| (child, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|child| (child, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// Up to draft 7 the neighbours of `$ref` have no effect.
fn is_old_draft(root: &Node) -> bool {
    let named = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|draft| named.contains(draft))
}

/// A schema as an object schema: `true` is `{}`, `false` accepts nothing.
pub(super) fn as_node(value: &Value) -> Node {
    match value {
        Value::Object(node) => node.clone(),
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

struct References<'a> {
    whole: &'a Value,
    /// Name of each target by the reference that led to it.
    names: BTreeMap<String, String>,
    todo: Vec<(String, &'a Value)>,
    old: bool,
}

impl<'a> References<'a> {
    fn tidy(&mut self, node: &mut Node) -> Result<(), SchemaError> {
        let mut failed = None;
        tree::walk(node, tree::Order::Down, &mut |node, pointer| {
            modern_keywords(node);
            if let Err(error) = self.rename(node, pointer) {
                failed.get_or_insert(error);
            }
            plain_children(node);
        });
        failed.map_or(Ok(()), Err)
    }

    /// Points the node's reference to `#/$defs/NAME` and puts its target on the list.
    fn rename(&mut self, node: &mut Node, pointer: &str) -> Result<(), SchemaError> {
        let dynamic = node.shift_remove("$dynamicRef").or_else(|| node.shift_remove("$recursiveRef"));
        if let Some(Value::String(reference)) = dynamic
            && self.find(&reference).is_some()
        {
            node.entry("$ref").or_insert(Value::String(reference));
        }
        let Some(value) = node.shift_remove("$ref") else { return Ok(()) };
        let Value::String(reference) = value else {
            return Err(SchemaError::UnresolvedRef { reference: value.to_string(), pointer: pointer.to_owned() });
        };
        let Some(name) = self.name(&reference) else {
            return Err(SchemaError::UnresolvedRef { reference, pointer: pointer.to_owned() });
        };
        if self.old {
            node.retain(|key, _| matches!(key.as_str(), "title" | "description" | "default"));
        }
        node.insert("$ref".to_owned(), Value::String(format!("#/$defs/{name}")));
        Ok(())
    }

    fn name(&mut self, reference: &str) -> Option<String> {
        if let Some(name) = self.names.get(reference) {
            return Some(name.clone());
        }
        let target = self.find(reference)?;
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let mut name: String =
            last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        name.truncate(48);
        if name.is_empty() {
            name.push_str("root");
        }
        let taken: HashSet<&String> = self.names.values().collect();
        let base = name.clone();
        let mut number = 2;
        while taken.contains(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(reference.to_owned(), name.clone());
        self.todo.push((name.clone(), target));
        Some(name)
    }

    fn find(&self, reference: &str) -> Option<&'a Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if base.is_empty() { self.whole } else { by_id(self.whole, base)? };
        if fragment.is_empty() {
            return Some(resource);
        }
        let fragment = percent_decoded(fragment);
        if fragment.starts_with('/') {
            return resource.pointer(&fragment).filter(|target| target.is_object() || target.is_boolean());
        }
        let anchor = |node: &Node| {
            let named =
                ["$anchor", "$dynamicAnchor"].iter().any(|key| node.get(*key).is_some_and(|name| *name == *fragment));
            named || node.get("$id").and_then(Value::as_str).is_some_and(|id| id.strip_prefix('#') == Some(&fragment))
        };
        search(resource, &anchor)
    }
}

fn by_id<'a>(whole: &'a Value, wanted: &str) -> Option<&'a Value> {
    let matches = |id: &str| {
        let id = id.trim_end_matches('#');
        id == wanted || (!wanted.contains("://") && id.rsplit('/').next() == Some(wanted))
    };
    search(whole, &|node| node.get("$id").and_then(Value::as_str).is_some_and(matches))
}

/// The first object in the document that `wanted` accepts.
fn search<'a>(whole: &'a Value, wanted: &dyn Fn(&Node) -> bool) -> Option<&'a Value> {
    let mut todo = vec![whole];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(node) if wanted(node) => return Some(value),
            Value::Object(node) => todo.extend(node.values().rev()),
            Value::Array(list) => todo.extend(list.iter().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = if *first == b'%' { tail.get(..2).and_then(|two| std::str::from_utf8(two).ok()) } else { None };
        if let Some(byte) = hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// Keywords that say nothing to a model, or only to other software, and definitions: those in use are collected.
const DROPPED: [&str; 16] = [
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "nullable",
    "discriminator",
    "xml",
    "externalDocs",
    "readOnly",
    "writeOnly",
    "deprecated",
];

/// Older and foreign spellings become those of 2020-12.
fn modern_keywords(node: &mut Node) {
    node.retain(|key, value| {
        let dropped = DROPPED.contains(&key.as_str()) || key.starts_with("x-") || key == "id" && value.is_string();
        !dropped
    });
    if node.contains_key("type") {
        let mut names = tree::types(node);
        let unknown = names.iter().any(|name| !TYPES.contains(&name.as_str()));
        names.sort_by_key(|name| TYPES.iter().position(|known| known == name));
        names.dedup();
        if names.iter().any(|name| name == "number") {
            names.retain(|name| name != "integer");
        }
        if unknown || names.len() == TYPES.len() - 1 {
            names.clear();
        }
        tree::set_types(node, names);
    }
    if let Some(list) = node.get_mut("required") {
        let keys: Vec<Value> = list.as_array().into_iter().flatten().filter(|key| key.is_string()).cloned().collect();
        *list = Value::Array(keys);
    }
    if node.get("required").is_some_and(|list| list.as_array().is_none_or(Vec::is_empty)) {
        node.shift_remove("required");
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(Value::Bool(on)) = node.get(exclusive) {
            let on = *on;
            node.shift_remove(exclusive);
            if on && let Some(limit) = node.shift_remove(bound) {
                node.insert(exclusive.to_owned(), limit);
            }
        }
    }
    if let Some(Value::Array(_)) = node.get("items") {
        let list = node.shift_remove("items").unwrap_or_default();
        node.insert("prefixItems".to_owned(), list);
        if let Some(rest) = node.shift_remove("additionalItems") {
            node.insert("items".to_owned(), rest);
        }
    }
    node.shift_remove("additionalItems");
    if let Some(Value::Object(dependencies)) = node.shift_remove("dependencies") {
        let (lists, schemas): (Node, Node) = dependencies.into_iter().partition(|(_, value)| value.is_array());
        for (keyword, map) in [("dependentRequired", lists), ("dependentSchemas", schemas)] {
            if !map.is_empty() {
                node.entry(keyword).or_insert(Value::Object(map));
            }
        }
    }
    if node.get("enum").is_some_and(|values| values.as_array().is_none_or(Vec::is_empty)) {
        node.shift_remove("enum");
    }
}

/// Makes every schema below the node an object, where `true` and `false` are not told apart from their own keyword,
/// and gives every object its `properties`.
fn plain_children(node: &mut Node) {
    let may_be_boolean = ["additionalProperties", "unevaluatedItems", "unevaluatedProperties"];
    tree::for_each_child(node, &mut |segment, child| {
        if child.is_object() || (child.is_boolean() && may_be_boolean.contains(&segment)) {
            return;
        }
        *child = Value::Object(as_node(child));
    });
    for keyword in ["properties", "patternProperties", "dependentSchemas"] {
        if node.get(keyword).is_some_and(|map| !map.is_object()) {
            node.shift_remove(keyword);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if node.get(keyword).is_some_and(|list| list.as_array().is_none_or(Vec::is_empty)) {
            node.shift_remove(keyword);
        }
    }
    if tree::has_type(node, "object") && !node.contains_key("properties") {
        node.insert("properties".to_owned(), json!({}));
    }
}
