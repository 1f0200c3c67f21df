//! OpenAI's strict mode (subset and limits of 2026-11): what cannot be said in it is written down as a loss, and the
//! caller then falls back to the lenient dialect.

use serde_json::{Value, json};

use super::{
    Log,
    lenient::{assembled, for_each_schema},
    merge,
    normal::Normal,
    root::resolve,
    shape::{self, TypeSet},
    tree::{self, Node, Order},
};

/// Keywords strict mode knows.
const KNOWN: [&str; 19] = [
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
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
];

/// Keywords whose meaning a sentence in the description carries as well.
pub(super) const HINTS: [&str; 9] = [
    "default",
    "minLength",
    "maxLength",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "contentMediaType",
    "examples",
];

/// Keywords that only narrow and that strict mode cannot say.
pub(super) const LOSSES: [&str; 16] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "prefixItems",
    "contentSchema",
];

const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_NAME_BYTES: usize = 120_000;
const MAX_ENUM_VALUES: usize = 1_000;
const LONG_ENUM: usize = 250;
const MAX_LONG_ENUM_BYTES: usize = 15_000;

/// How often an `allOf` may be merged before the schema counts as too entangled.
const MAX_MERGES: usize = 500;

pub(super) fn convert(mut normal: Normal, log: &mut Log) -> Value {
    merge_all_of(&mut normal, log);
    let defs = normal.defs.clone();
    for_each_schema(&mut normal, &mut |node, pointer| {
        union_of_variants(node, pointer, &defs, log);
        drop_keywords(node, pointer, log);
        type_of_values(node);
        reference_alone(node, pointer, log);
        close(node, pointer, log);
        require_all(node, pointer, &defs, log);
        say_something(node, pointer, log);
    });
    check_limits(&mut normal, log);
    assembled(normal)
}

/// Merges every `allOf` into its schema.
pub(super) fn merge_all_of(normal: &mut Normal, log: &mut Log) {
    let Normal { root, defs } = normal;
    let sources = defs.clone();
    let mut left = MAX_MERGES;
    let mut merge_here = |node: &mut Node, pointer: &str| {
        while let Some(Value::Array(parts)) = node.shift_remove("allOf") {
            for part in parts {
                let Value::Object(mut part) = part else { continue };
                let target = part.get("$ref").and_then(|reference| resolve(reference, &sources)).cloned();
                if let Some(target) = target {
                    if left == 0 {
                        log.loss("all_of", pointer, "`allOf` refers to itself without end");
                        continue;
                    }
                    left -= 1;
                    part.shift_remove("$ref");
                    part = merge::both(part, target);
                }
                *node = merge::both(std::mem::take(node), part);
            }
            log.note("all_of", pointer, "the parts of `allOf` are merged");
        }
    };
    tree::walk(root, Order::Down, &mut merge_here);
    for (_, definition) in defs.iter_mut() {
        if let Value::Object(node) = definition {
            tree::walk(node, Order::Down, &mut merge_here);
        }
    }
}

/// `oneOf` becomes `anyOf`: the same where no two variants can both match.
pub(super) fn union_of_variants(node: &mut Node, pointer: &str, defs: &Node, log: &mut Log) {
    let Some(Value::Array(variants)) = node.get("oneOf") else { return };
    if node.contains_key("anyOf") {
        return;
    }
    let resolved: Vec<&Node> = variants.iter().filter_map(|variant| resolved(variant, defs)).collect();
    let pairs = resolved.iter().enumerate().flat_map(|(n, a)| resolved.iter().skip(n + 1).map(move |b| (a, b)));
    let apart = pairs.into_iter().all(|(a, b)| disjoint(a, b));
    if apart {
        log.note("one_of", pointer, "`oneOf` is sent as `anyOf`");
    } else {
        log.loss("one_of", pointer, "`oneOf` with variants that overlap");
    }
    if let Some(variants) = node.shift_remove("oneOf") {
        node.insert("anyOf".to_owned(), variants);
    }
}

fn resolved<'a>(variant: &'a Value, defs: &'a Node) -> Option<&'a Node> {
    let node = variant.as_object()?;
    node.get("$ref").map_or(Some(node), |reference| resolve(reference, defs))
}

/// Whether no value can match both: other types, or a required key fixed to other values.
fn disjoint(a: &Node, b: &Node) -> bool {
    let (left, right) = (TypeSet::of_node(a), TypeSet::of_node(b));
    if left.and(right).is_empty() {
        return true;
    }
    let fixed = |node: &Node, key: &str| {
        let schema = tree::properties(node)?.get(key)?.as_object()?;
        merge::fixed_values(schema)
    };
    let apart = |key: &String| match (fixed(a, key), fixed(b, key)) {
        (Some(left), Some(right)) => left.iter().all(|value| !right.contains(value)),
        _ => false,
    };
    let keys = tree::required(a);
    let only_objects = TypeSet::of_node(a) == TypeSet::OBJECT || TypeSet::of_node(b) == TypeSet::OBJECT;
    let values_apart = match (merge::fixed_values(a), merge::fixed_values(b)) {
        (Some(left), Some(right)) => left.iter().all(|value| !right.contains(value)),
        _ => false,
    };
    values_apart || only_objects && tree::required(b).iter().any(|key| keys.contains(key) && apart(key))
}

fn drop_keywords(node: &mut Node, pointer: &str, log: &mut Log) {
    for keyword in LOSSES {
        if node.shift_remove(keyword).is_some() {
            log.loss("unsupported", pointer, format!("strict mode has no `{keyword}`"));
        }
    }
    for keyword in HINTS {
        if let Some(value) = node.shift_remove(keyword) {
            hint(node, keyword, &value);
            log.note("hint", pointer, format!("`{keyword}` is told in the description"));
        }
    }
    let format = node.get("format").and_then(Value::as_str);
    if format.is_some_and(|name| !FORMATS.contains(&name)) {
        let value = node.shift_remove("format").unwrap_or_default();
        hint(node, "format", &value);
        log.note("hint", pointer, "`format` is told in the description");
    }
    if node.get("pattern").and_then(Value::as_str).is_some_and(looks_around) {
        let value = node.shift_remove("pattern").unwrap_or_default();
        hint(node, "pattern", &value);
        log.note("hint", pointer, "a `pattern` that looks around is told in the description");
    }
    let known = |key: &str| KNOWN.contains(&key) || key == "maxItems";
    node.retain(|key, _| known(key));
}

/// Whether a regular expression looks around or refers back.
pub(super) fn looks_around(pattern: &str) -> bool {
    let back = pattern.as_bytes().windows(2).any(|two| matches!(two, [b'\\', b'1'..=b'9' | b'k']));
    back || ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|group| pattern.contains(group))
}

/// Tells a keyword in the description, e.g. `(minLength: 3)`.
pub(super) fn hint(node: &mut Node, keyword: &str, value: &Value) {
    let told = value.to_string();
    if told.len() <= 200 && !value.is_null() {
        tree::describe(node, &format!("({keyword}: {told})"));
    }
}

/// `enum` and `const` without a type get the types of their values.
pub(super) fn type_of_values(node: &mut Node) {
    if node.contains_key("type") {
        return;
    }
    if let Some(values) = merge::fixed_values(node) {
        let mut names: Vec<String> = Vec::new();
        for value in &values {
            let name = tree::type_name(value).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        tree::set_types(node, names);
    } else if node.get("properties").is_some() {
        tree::set_types(node, vec!["object".to_owned()]);
    } else if node.get("items").is_some() {
        tree::set_types(node, vec!["array".to_owned()]);
    }
}

/// `$ref` must stand alone.
pub(super) fn reference_alone(node: &mut Node, pointer: &str, log: &mut Log) {
    let Some(reference) = node.get("$ref").cloned() else { return };
    let silent = |key: &str| matches!(key, "$ref" | "title" | "description");
    if node.keys().any(|key| !silent(key)) {
        log.loss("ref_siblings", pointer, "keywords beside `$ref`");
    } else if node.len() > 1 {
        log.note("ref_siblings", pointer, "the description beside `$ref` is left out");
    }
    node.clear();
    node.insert("$ref".to_owned(), reference);
}

/// Every object is closed; one that takes any key cannot be.
pub(super) fn close(node: &mut Node, pointer: &str, log: &mut Log) {
    if !tree::has_type(node, "object") {
        return;
    }
    let open = match node.get("additionalProperties") {
        None => !pointer.is_empty() && tree::properties(node).is_none_or(Node::is_empty),
        Some(Value::Bool(open)) => *open,
        Some(_) => true,
    };
    if open {
        log.loss("close", pointer, "an object with free keys");
    }
    node.entry("properties").or_insert_with(|| json!({}));
    node.insert("additionalProperties".to_owned(), Value::Bool(false));
}

/// Every key is required; the optional ones may be null, and [`BackMap`](super::BackMap) takes the nulls out again.
fn require_all(node: &mut Node, pointer: &str, defs: &Node, log: &mut Log) {
    let required = tree::required(node);
    let Some(Value::Object(map)) = node.get_mut("properties") else { return };
    for (key, schema) in map.iter_mut() {
        if !required.contains(key) {
            make_nullable(schema, defs);
            log.note(
                "nullable",
                &format!("{pointer}/properties/{}", tree::escape(key)),
                "optional: null when left out",
            );
        }
    }
    let keys: Vec<Value> = map.keys().cloned().map(Value::String).collect();
    if required.iter().any(|key| !map.contains_key(key)) {
        log.loss("require_all", pointer, "a required key has no schema");
    }
    node.insert("required".to_owned(), Value::Array(keys));
}

fn make_nullable(schema: &mut Value, defs: &Node) {
    let accepts_null = schema.as_object().is_some_and(|node| shape::accepts_null(node, defs));
    let Value::Object(node) = schema else { return };
    if accepts_null {
        return;
    }
    if let Some(Value::Array(variants)) = node.get_mut("anyOf") {
        variants.push(json!({"type": "null"}));
    } else if node.contains_key("$ref") {
        let reference = std::mem::take(node);
        node.insert("anyOf".to_owned(), json!([reference, {"type": "null"}]));
    } else {
        if let Some(value) = node.shift_remove("const") {
            node.insert("enum".to_owned(), json!([value]));
        }
        if let Some(Value::Array(values)) = node.get_mut("enum") {
            values.push(Value::Null);
        }
        let mut names = tree::types(node);
        names.push("null".to_owned());
        tree::set_types(node, names);
    }
}

pub(super) fn say_something(node: &mut Node, pointer: &str, log: &mut Log) {
    let says = ["type", "anyOf", "$ref"].iter().any(|keyword| node.contains_key(*keyword));
    if !says {
        log.loss("untyped", pointer, "a value of any type");
    }
    if tree::has_type(node, "array") && !node.contains_key("items") {
        log.loss("untyped", pointer, "an array of anything");
    }
}

fn check_limits(normal: &mut Normal, log: &mut Log) {
    let (mut properties, mut names, mut values) = (0, 0, 0);
    let mut deepest = 0;
    let mut long = false;
    for_each_schema(normal, &mut |node, pointer| {
        let map = tree::properties(node);
        properties += map.map_or(0, Node::len);
        names += map.into_iter().flatten().map(|(key, _)| key.len()).sum::<usize>();
        let list = node.get("enum").and_then(Value::as_array);
        let bytes: usize = list.into_iter().flatten().map(|value| value.as_str().map_or(4, str::len)).sum();
        values += list.map_or(0, Vec::len);
        names += bytes;
        long |= list.is_some_and(|list| list.len() > LONG_ENUM) && bytes > MAX_LONG_ENUM_BYTES;
        let levels = pointer.matches("/properties/").count() + pointer.matches("/items").count();
        deepest = deepest.max(levels + 1);
    });
    let over = [
        (properties > MAX_PROPERTIES, "more than 5,000 properties"),
        (deepest > MAX_LEVELS, "more than 10 levels"),
        (names > MAX_NAME_BYTES, "more than 120,000 characters of names and enum values"),
        (values > MAX_ENUM_VALUES, "more than 1,000 enum values"),
        (long, "an enum of more than 250 values with more than 15,000 characters"),
    ];
    for (_, what) in over.into_iter().filter(|(over, _)| *over) {
        log.loss("limits", "", what);
    }
}
