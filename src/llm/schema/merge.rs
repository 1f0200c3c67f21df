//! Merging schemas. Every merge accepts at least what the merged schemas accepted, seldom more.

use serde_json::{Map, Value, json};

use super::tree::{self, Node};

/// One schema for `left` **and** `right` (the members of an `allOf`, a base and one of its variants).
///
/// Where the two cannot both be kept, the keyword of `left` stays: what both accept, `left` accepts.
pub(super) fn both(mut left: Node, right: Node) -> Node {
    // These say nothing without the keyword they belong to, and must not follow another side's.
    let foreign = |key: &str| match key {
        "then" | "else" => left.contains_key("if"),
        "minContains" | "maxContains" => left.contains_key("contains"),
        _ => false,
    };
    let right: Vec<(String, Value)> = right.into_iter().filter(|(key, _)| !foreign(key)).collect();
    for (key, theirs) in right {
        let Some(ours) = left.get_mut(&key) else {
            left.insert(key, theirs);
            continue;
        };
        match key.as_str() {
            "type" => intersect_types(&mut left, &theirs),
            "enum" => keep_common(ours, &theirs),
            "required" => add_missing(ours, theirs),
            "properties" | "patternProperties" | "dependentSchemas" => merge_maps(ours, theirs),
            "items" | "propertyNames" => merge_single(ours, theirs),
            // INVARIANT: `properties` is the union, so closing the merged object still admits every key either declares.
            "additionalProperties" if theirs == Value::Bool(false) => *ours = theirs,
            "additionalProperties" if *ours == Value::Bool(true) => *ours = theirs,
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                tighten(ours, theirs, f64::max)
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                tighten(ours, theirs, f64::min)
            }
            "allOf" => append(ours, theirs),
            "description" => join_text(ours, &theirs),
            _ => {}
        }
    }
    // What counts as unevaluated changes with the merge; dropping it widens.
    left.shift_remove("unevaluatedProperties");
    left.shift_remove("unevaluatedItems");
    left
}

fn intersect_types(left: &mut Node, theirs: &Value) {
    let right = Map::from_iter([("type".to_owned(), theirs.clone())]);
    let right = tree::types(&right);
    let fits = |name: &String, list: &[String]| {
        list.contains(name) || (name == "integer" && list.iter().any(|n| n == "number"))
    };
    let ours = tree::types(left);
    let mut common: Vec<String> = ours.iter().filter(|name| fits(name, &right)).cloned().collect();
    common.extend(right.iter().filter(|name| !ours.contains(name) && fits(name, &ours)).cloned());
    if !common.is_empty() {
        tree::set_types(left, common);
    }
}

fn keep_common(ours: &mut Value, theirs: &Value) {
    let (Value::Array(list), Value::Array(other)) = (ours, theirs) else { return };
    let common: Vec<Value> = list.iter().filter(|value| other.contains(value)).cloned().collect();
    if !common.is_empty() {
        *list = common;
    }
}

fn add_missing(ours: &mut Value, theirs: Value) {
    if let (Value::Array(list), Value::Array(other)) = (ours, theirs) {
        for value in other {
            if !list.contains(&value) {
                list.push(value);
            }
        }
    }
}

fn append(ours: &mut Value, theirs: Value) {
    if let (Value::Array(list), Value::Array(other)) = (ours, theirs) {
        list.extend(other);
    }
}

fn merge_maps(ours: &mut Value, theirs: Value) {
    if let (Value::Object(map), Value::Object(other)) = (ours, theirs) {
        for (key, schema) in other {
            match map.get_mut(&key) {
                None => drop(map.insert(key, schema)),
                Some(present) => merge_single(present, schema),
            }
        }
    }
}

fn merge_single(ours: &mut Value, theirs: Value) {
    if *ours == theirs {
        return;
    }
    match (ours, theirs) {
        (Value::Object(node), Value::Object(other)) => *node = both(std::mem::take(node), other),
        (ours @ Value::Bool(true), theirs) => *ours = theirs,
        _ => {}
    }
}

fn tighten(ours: &mut Value, theirs: Value, pick: fn(f64, f64) -> f64) {
    if let (Some(left), Some(right)) = (ours.as_f64(), theirs.as_f64())
        && pick(left, right) != left
    {
        *ours = theirs;
    }
}

fn join_text(ours: &mut Value, theirs: &Value) {
    if let (Some(left), Some(right)) = (ours.as_str(), theirs.as_str())
        && !left.contains(right)
    {
        *ours = Value::String(format!("{left} {right}"));
    }
}

/// One schema for `left` **or** `right`, both describing the same property of different variants.
pub(super) fn either(left: &Value, right: &Value) -> Value {
    if left == right || is_any(left) {
        return left.clone();
    }
    if is_any(right) {
        return right.clone();
    }
    if let (Value::Object(a), Value::Object(b)) = (left, right)
        && let Some(values) = joined_values(a, b)
    {
        return values;
    }
    let mut variants: Vec<Value> = Vec::new();
    for side in [left, right] {
        match side.as_object() {
            Some(node) if node.len() == 1 && node.get("anyOf").is_some_and(Value::is_array) => {
                let members = node.get("anyOf").and_then(Value::as_array);
                variants.extend(members.into_iter().flatten().cloned());
            }
            _ => variants.push(side.clone()),
        }
    }
    let mut distinct: Vec<Value> = Vec::new();
    for variant in variants {
        if !distinct.contains(&variant) {
            distinct.push(variant);
        }
    }
    json!({"anyOf": distinct})
}

fn is_any(schema: &Value) -> bool {
    match schema {
        Value::Bool(open) => *open,
        Value::Object(node) => {
            node.keys().all(|key| matches!(key.as_str(), "title" | "description" | "default" | "examples"))
        }
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// Two schemas that only fix values become one enum, as the discriminators of variants do.
fn joined_values(a: &Node, b: &Node) -> Option<Value> {
    let plain = |node: &Node| {
        node.keys().all(|key| matches!(key.as_str(), "type" | "enum" | "const" | "title" | "description" | "default"))
    };
    if !plain(a) || !plain(b) || a.get("type") != b.get("type") {
        return None;
    }
    let mut values = fixed_values(a)?;
    for value in fixed_values(b)? {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let mut joined = a.clone();
    joined.retain(|key, _| matches!(key.as_str(), "type" | "description" | "title"));
    if joined.get("description") != b.get("description") {
        joined.shift_remove("description");
    }
    joined.insert("enum".to_owned(), Value::Array(values));
    Some(Value::Object(joined))
}

/// The values a node is fixed to by `const` or `enum`.
pub(super) fn fixed_values(node: &Node) -> Option<Vec<Value>> {
    match (node.get("const"), node.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        (None, _) => None,
    }
}
