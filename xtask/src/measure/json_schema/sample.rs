//! Values drawn from a schema. Not all are valid; the caller sieves them.

use serde_json::{Map, Value, json};

/// A generator of numbers; equal seeds give equal samples.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }
}

/// Arguments drawn from a schema.
pub(super) fn arguments(schema: &Value, seed: u64) -> Value {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    value(schema, schema, &mut draw, 0)
}

fn value(schema: &Value, whole: &Value, draw: &mut Draw, depth: usize) -> Value {
    let Some(node) = schema.as_object() else { return json!("any") };
    if let Some(target) =
        node.get("$ref").and_then(Value::as_str).and_then(|text| whole.pointer(text.trim_start_matches('#')))
    {
        return if depth > 12 { json!({}) } else { value(target, whole, draw, depth + 1) };
    }
    if let Some(fixed) = node.get("const") {
        return fixed.clone();
    }
    if let Some(Value::Array(values)) = node.get("enum") {
        return values.get(draw.below(values.len())).cloned().unwrap_or_default();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(variants)) = node.get(keyword) {
            let chosen = variants.get(draw.below(variants.len())).cloned().unwrap_or_default();
            let chosen = value(&chosen, whole, draw, depth + 1);
            let mut rest = node.clone();
            rest.shift_remove(keyword);
            return match (chosen, node.contains_key("properties")) {
                (Value::Object(map), true) => joined(value(&Value::Object(rest), whole, draw, depth + 1), map),
                (other, _) => other,
            };
        }
    }
    let mut base = typed(node, whole, draw, depth);
    for part in node.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        base = match value(part, whole, draw, depth + 1) {
            Value::Object(map) => joined(base, map),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => base,
        };
    }
    base
}

fn joined(base: Value, more: Map<String, Value>) -> Value {
    let Value::Object(mut map) = base else { return Value::Object(more) };
    map.extend(more);
    Value::Object(map)
}

fn typed(node: &Map<String, Value>, whole: &Value, draw: &mut Draw, depth: usize) -> Value {
    let names: Vec<&str> = match node.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ if node.contains_key("properties") => vec!["object"],
        _ if node.contains_key("items") => vec!["array"],
        _ => vec!["string", "integer", "boolean", "object", "null", "array"],
    };
    let bound = |key: &str, other: i64| node.get(key).and_then(Value::as_i64).unwrap_or(other);
    match names.get(draw.below(names.len())).copied().unwrap_or_default() {
        "object" => object(node, whole, draw, depth),
        "array" => {
            let (least, most) = (bound("minItems", 0), bound("maxItems", 3));
            let count = usize::try_from(least).unwrap_or_default()
                + draw.below(usize::try_from(most - least + 1).unwrap_or(1).min(3));
            let any = json!({"type": "string"});
            let items = node.get("items").filter(|items| items.is_object()).unwrap_or(&any);
            if depth > 12 { json!([]) } else { (0..count).map(|_| value(items, whole, draw, depth + 1)).collect() }
        }
        "integer" => {
            json!(bound("minimum", bound("exclusiveMinimum", 0) + 1) + i64::try_from(draw.below(2)).unwrap_or_default())
        }
        "number" => json!(bound("minimum", 1)),
        "boolean" => json!(draw.below(2) == 0),
        "null" => Value::Null,
        _ => {
            let words = ["a", "two words", "2", "true", "", "2026-11-30", "https://example.org/x", "{\"a\":1}"];
            json!(words.get(draw.below(words.len())))
        }
    }
}

fn object(node: &Map<String, Value>, whole: &Value, draw: &mut Draw, depth: usize) -> Value {
    let required: Vec<&str> =
        node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut map = Map::new();
    let declared = node.get("properties").and_then(Value::as_object);
    for (key, schema) in declared.into_iter().flatten() {
        let wanted = required.contains(&key.as_str()) || (depth < 8 && draw.below(3) > 0);
        if wanted {
            map.insert(key.clone(), value(schema, whole, draw, depth + 1));
        }
    }
    let rest = node.get("additionalProperties").filter(|rest| rest.is_object());
    if let Some(rest) = rest
        && depth < 8
    {
        map.insert("free_key".to_owned(), value(rest, whole, draw, depth + 1));
    }
    Value::Object(map)
}

/// A schema with OpenAPI's `nullable` spelled in JSON Schema.
pub(super) fn without_nullable(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let plain: Map<String, Value> =
                map.iter().map(|(key, child)| (key.clone(), without_nullable(child))).collect();
            if map.get("nullable") == Some(&Value::Bool(true)) {
                json!({"anyOf": [plain, {"type": "null"}]})
            } else {
                Value::Object(plain)
            }
        }
        Value::Array(list) => list.iter().map(without_nullable).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Equal, except that a null may stand for a key that was left out where the schema cannot tell the two apart.
pub(super) fn same(restored: &Value, value: &Value) -> bool {
    match (restored, value) {
        (Value::Object(left), Value::Object(right)) => {
            let kept = right.iter().all(|(key, child)| left.get(key).is_some_and(|other| same(other, child)));
            kept && left.iter().all(|(key, child)| right.contains_key(key) || child.is_null())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b))
        }
        _ => restored == value,
    }
}
