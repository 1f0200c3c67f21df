//! Gemini's `parameters` (keywords of the SDK, 2026-11): an OpenAPI-like subset without references, with enums of
//! strings and `nullable`.

use serde_json::{Map, Value, json};

use super::{
    Log,
    back::{self, KeyRule},
    lenient::{assembled, rename_keys},
    merge,
    normal::Normal,
    root::resolve,
    strict::{self, hint, looks_around},
    tree::{self, Node, Order},
};

/// Keywords that are sent. `default`, `additionalProperties`, `$defs` and `$ref` are known to newer models only.
const KNOWN: [&str; 18] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
];

/// How often a definition may contain itself before it is cut.
const MAX_REPEAT: usize = 2;

/// How deep definitions may lie in one another before they are cut.
const MAX_STACK: usize = 16;

/// How many schemas all inlined definitions together may have.
const MAX_INLINED: usize = 4_000;

pub(super) fn convert(mut normal: Normal, log: &mut Log) -> Value {
    let defs = std::mem::take(&mut normal.defs);
    let mut inline = Inline { defs: &defs, stack: Vec::new(), left: MAX_INLINED, log };
    inline.children(&mut normal.root, "");
    strict::merge_all_of(&mut normal, log);
    tree::walk(&mut normal.root, Order::Down, &mut |node, pointer| unions(node, pointer, log));
    tree::walk(&mut normal.root, Order::Up, &mut |node, pointer| {
        values_as_strings(node, pointer, log);
        null_as_nullable(node);
        one_type(node, pointer, log);
        arrays(node, pointer, log);
        objects(node);
        keywords(node, pointer, log);
        rename_keys(node, pointer, KeyRule::Gemini, log);
    });
    assembled(normal)
}

/// Puts definitions where they are referred to.
struct Inline<'a> {
    defs: &'a Node,
    stack: Vec<String>,
    left: usize,
    log: &'a mut Log,
}

impl Inline<'_> {
    fn children(&mut self, node: &mut Node, pointer: &str) {
        // Only what is sent or merged is followed.
        for keyword in
            ["not", "if", "then", "else", "propertyNames", "patternProperties", "dependentSchemas", "contains"]
        {
            node.shift_remove(keyword);
        }
        for keyword in ["unevaluatedItems", "unevaluatedProperties", "contentSchema"] {
            node.shift_remove(keyword);
        }
        if node.shift_remove("additionalProperties").is_some_and(|rest| rest != Value::Bool(false)) {
            self.log.loss("free_keys", pointer, "that other keys may be given is not told");
        }
        tree::for_each_child(node, &mut |segment, child| {
            if let Value::Object(child) = child {
                self.node(child, &format!("{pointer}/{segment}"));
            }
        });
    }

    fn node(&mut self, node: &mut Node, pointer: &str) {
        self.left = self.left.saturating_sub(1);
        let Some(Value::String(reference)) = node.shift_remove("$ref") else { return self.children(node, pointer) };
        let target = resolve(&Value::String(reference.clone()), self.defs).cloned().unwrap_or_default();
        let repeats = self.stack.iter().filter(|name| **name == reference).count();
        if repeats >= MAX_REPEAT || self.stack.len() >= MAX_STACK || self.left == 0 {
            let leaf = self.leaf(&target);
            *node = merge::both(std::mem::take(node), leaf);
            self.log.loss(
                "schema_degraded",
                pointer,
                format!("`{reference}` is cut here: anything of its type may be given"),
            );
            return;
        }
        self.stack.push(reference);
        *node = merge::both(std::mem::take(node), target);
        // A definition that is itself only a reference.
        self.node(node, pointer);
        self.stack.pop();
    }

    /// The type of a definition and nothing else.
    fn leaf(&self, target: &Node) -> Node {
        let mut target = target.clone();
        for _ in 0..MAX_STACK {
            let Some(next) = target.shift_remove("$ref") else { break };
            let next = resolve(&next, self.defs).cloned().unwrap_or_default();
            target = merge::both(target, next);
        }
        target.retain(|key, _| matches!(key.as_str(), "type" | "description"));
        target
    }
}

/// `oneOf` becomes `anyOf`, what stands beside an `anyOf` moves into its variants, nested ones are flattened.
fn unions(node: &mut Node, pointer: &str, log: &mut Log) {
    if let Some(variants) = node.shift_remove("oneOf") {
        if !node.contains_key("anyOf") {
            node.insert("anyOf".to_owned(), variants);
        }
        log.note("one_of", pointer, "`oneOf` is sent as `anyOf`");
    }
    let Some(Value::Array(variants)) = node.shift_remove("anyOf") else { return };
    let mut base = std::mem::take(node);
    let notes: Node = take(&mut base, &["title", "description", "default", "examples"]);
    let mut flat = Vec::new();
    flatten(variants, &base, &mut flat, 0);
    let count = flat.len();
    flat.retain(|variant| !only_null(variant));
    let with_null = flat.len() < count;
    let speaks = |variant: &Node| {
        ["type", "properties", "items", "prefixItems", "enum", "const"].iter().any(|k| variant.contains_key(*k))
    };
    if flat.is_empty() {
        *node = base;
        node.insert("type".to_owned(), json!("null"));
    } else if flat.iter().any(|variant| !speaks(variant)) {
        // Some variant says nothing of its own (`required` only, or anything at all): the base is the wider.
        log.loss("any_of", pointer, "the variants of `anyOf` are left out");
        *node = base;
    } else if let [only] = flat.as_slice() {
        *node = only.clone();
    } else {
        node.insert("anyOf".to_owned(), flat.into_iter().map(Value::Object).collect());
    }
    for (key, value) in notes {
        node.insert(key, value);
    }
    if with_null && count > 1 {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
}

fn only_null(variant: &Node) -> bool {
    tree::types(variant) == ["null"] || merge::fixed_values(variant).is_some_and(|values| values == [Value::Null])
}

fn flatten(variants: Vec<Value>, base: &Node, into: &mut Vec<Node>, depth: usize) {
    for variant in variants {
        let Value::Object(mut variant) = variant else { continue };
        let inner = variant.shift_remove("anyOf").or_else(|| variant.shift_remove("oneOf"));
        let merged = merge::both(variant, base.clone());
        match inner {
            Some(Value::Array(inner)) if depth < MAX_STACK => flatten(inner, &merged, into, depth + 1),
            _ if into.contains(&merged) => {}
            _ => into.push(merged),
        }
    }
}

fn take(node: &mut Node, keys: &[&str]) -> Node {
    let pairs = keys.iter().filter_map(|key| Some(((*key).to_owned(), node.shift_remove(*key)?)));
    pairs.collect()
}

/// `const` and every enum become an enum of strings.
fn values_as_strings(node: &mut Node, pointer: &str, log: &mut Log) {
    let Some(values) = merge::fixed_values(node) else { return };
    node.shift_remove("const");
    let labels: Vec<Value> = back::labels(&values).into_iter().map(|(label, _)| Value::String(label)).collect();
    let with_null = values.iter().any(Value::is_null);
    if labels != values {
        log.note("string_enum", pointer, "enum values are sent as strings");
    }
    for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format"] {
        node.shift_remove(keyword);
    }
    for keyword in ["properties", "required", "items", "minLength", "maxLength", "minItems", "maxItems"] {
        node.shift_remove(keyword);
    }
    node.insert("type".to_owned(), json!("string"));
    node.shift_remove("enum");
    if !labels.is_empty() {
        node.insert("enum".to_owned(), Value::Array(labels));
    }
    if with_null {
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
}

/// `null` in a list of types becomes `nullable`.
fn null_as_nullable(node: &mut Node) {
    let mut names = tree::types(node);
    if names.iter().any(|name| name == "null") {
        names.retain(|name| name != "null");
        if names.is_empty() {
            names.push("string".to_owned());
        }
        tree::set_types(node, names);
        node.insert("nullable".to_owned(), Value::Bool(true));
    }
}

/// A place for any value.
fn anything(depth: usize) -> Value {
    let mut variants = json!([
        {"type": "string"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "object", "properties": {}},
    ]);
    if let (Some(list), Some(depth)) = (variants.as_array_mut(), depth.checked_sub(1)) {
        list.push(json!({"type": "array", "items": anything(depth)}));
    }
    json!({"anyOf": variants, "nullable": true})
}

/// Exactly one type: a list becomes variants, a missing one is inferred or becomes a place for anything.
fn one_type(node: &mut Node, pointer: &str, log: &mut Log) {
    if node.contains_key("anyOf") {
        return;
    }
    let names = tree::types(node);
    match names.as_slice() {
        [_] => {}
        [] if node.contains_key("properties") => tree::set_types(node, vec!["object".to_owned()]),
        [] if node.contains_key("items") || node.contains_key("prefixItems") => {
            tree::set_types(node, vec!["array".to_owned()])
        }
        [] => {
            node.retain(|key, _| matches!(key.as_str(), "title" | "description" | "default" | "examples" | "nullable"));
            if let Value::Object(any) = anything(2) {
                node.extend(any);
            }
            log.note("any_value", pointer, "a value of any type is sent as variants");
        }
        _ => {
            let variants: Vec<Value> = names.iter().map(|name| Value::Object(only_for(node, name))).collect();
            let notes = take(node, &["title", "description", "default", "examples", "nullable"]);
            node.clear();
            node.extend(notes);
            node.insert("anyOf".to_owned(), Value::Array(variants));
            log.note("type_list", pointer, "a list of types is sent as variants");
        }
    }
}

/// The keywords of a node that concern one type.
fn only_for(node: &Node, name: &str) -> Node {
    let concerns: &[&str] = match name {
        "string" => &["minLength", "maxLength", "pattern", "format"],
        "integer" | "number" => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        "array" => &["items", "prefixItems", "minItems", "maxItems"],
        "object" => &["properties", "required", "minProperties", "maxProperties"],
        _ => &[],
    };
    let mut only = Map::from_iter([("type".to_owned(), json!(name))]);
    for key in concerns {
        if let Some(value) = node.get(*key) {
            only.insert((*key).to_owned(), value.clone());
        }
    }
    match name {
        "object" => drop(only.entry("properties").or_insert_with(|| json!({}))),
        "array" if !only.contains_key("prefixItems") => drop(only.entry("items").or_insert_with(|| anything(1))),
        _ => {}
    }
    only
}

/// Every array says what its items are; places of a tuple become variants.
fn arrays(node: &mut Node, pointer: &str, log: &mut Log) {
    if !tree::has_type(node, "array") {
        return;
    }
    if let Some(Value::Array(places)) = node.shift_remove("prefixItems") {
        let rest = node.shift_remove("items").filter(|rest| rest.get("not").is_none());
        let rest = rest.unwrap_or_else(|| anything(1));
        let joined = places.iter().chain([&rest]).fold(None, |sum: Option<Value>, place| {
            Some(sum.map_or_else(|| place.clone(), |sum| merge::either(&sum, place)))
        });
        node.insert("items".to_owned(), joined.unwrap_or_else(|| anything(1)));
        log.loss("tuple", pointer, "the places of a tuple are sent as variants of its items");
    }
    node.entry("items").or_insert_with(|| anything(1));
}

/// Every object has properties, even a leaf.
fn objects(node: &mut Node) {
    if tree::has_type(node, "object") {
        node.entry("properties").or_insert_with(|| json!({}));
    }
}

/// Keywords the dialect lacks are dropped, the telling ones into the description.
fn keywords(node: &mut Node, pointer: &str, log: &mut Log) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(limit) = node.shift_remove(exclusive) {
            hint(node, exclusive, &limit);
            node.entry(bound).or_insert(limit);
        }
    }
    let unfit = |value: &Value| {
        value.as_str().is_none_or(|name| !["date-time", "int32", "int64", "float", "double"].contains(&name))
    };
    for (keyword, drop_it) in [
        ("format", node.get("format").is_some_and(unfit)),
        ("pattern", node.get("pattern").and_then(Value::as_str).is_some_and(looks_around)),
        ("default", true),
        ("multipleOf", true),
        ("uniqueItems", true),
    ] {
        if drop_it && let Some(value) = node.shift_remove(keyword) {
            hint(node, keyword, &value);
            log.note("hint", pointer, format!("`{keyword}` is told in the description"));
        }
    }
    node.retain(|key, _| KNOWN.contains(&key.as_str()) || key == "anyOf");
    let keys: Vec<String> = tree::properties(node).into_iter().flat_map(Node::keys).cloned().collect();
    if let Some(Value::Array(list)) = node.get_mut("required") {
        list.retain(|key| key.as_str().is_some_and(|key| keys.iter().any(|known| known == key)));
        if list.is_empty() {
            node.shift_remove("required");
        }
    }
}
