//! Input schemas: derived from a Rust type, written in shorthand, or given; always an object with `properties`.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    error::Problem,
    yaml::{Kind, Located, Node},
};

/// How deep a schema is put in order; what lies deeper stays as it is.
const MAX_DEPTH: usize = 64;

/// The JSON Schema of a Rust type, as a tool's input: an object with explicit `properties`, subschemas in place, closed
/// to unknown keys where serde would ignore them, without titles and integer formats. A recursive type keeps `$defs`.
///
/// Doc comments of fields become the descriptions of parameters. A type that is no struct (a number, a list) gives a
/// schema that [`CapabilityBuilder::build`](super::CapabilityBuilder::build) refuses.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema, Closing::Close, 0);
    normal(schema)
}

/// Whether an object of ours is closed to unknown keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    Close,
    /// Its keys are spread over branches that see each other's.
    Leave,
}

fn tidy(schema: &mut Value, closing: Closing, depth: usize) {
    let Value::Object(keywords) = schema else { return };
    if depth > MAX_DEPTH {
        return;
    }
    keywords.shift_remove("$schema");
    if keywords.get("title").is_some_and(Value::is_string) {
        keywords.shift_remove("title");
    }
    if keywords.get("format").and_then(Value::as_str).is_some_and(is_rust_format) {
        keywords.shift_remove("format");
    }
    let branched = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|word| keywords.contains_key(*word));
    let has_own = keywords.contains_key("properties");
    if has_own && !branched && closing == Closing::Close {
        keywords.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    let inside = if has_own && branched { Closing::Leave } else { closing };
    for (word, value) in keywords.iter_mut() {
        match word.as_str() {
            "properties" | "$defs" | "patternProperties" => {
                named(value).for_each(|schema| tidy(schema, Closing::Close, depth + 1));
            }
            "allOf" => listed(value).for_each(|branch| tidy(branch, Closing::Leave, depth + 1)),
            "anyOf" | "oneOf" | "prefixItems" => listed(value).for_each(|branch| tidy(branch, inside, depth + 1)),
            "items" | "additionalProperties" | "not" => tidy(value, Closing::Close, depth + 1),
            _ => {}
        }
    }
}

/// The schemas of a keyword that names them.
fn named(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(|schemas| schemas.values_mut())
}

/// The schemas of a keyword that lists them.
fn listed(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

/// Widths of Rust's numbers, which say nothing to a model and offend strict providers.
fn is_rust_format(format: &str) -> bool {
    let digits = format.trim_start_matches("uint").trim_start_matches("int");
    matches!(format, "float" | "double" | "int" | "uint")
        || (digits.len() < format.len() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// A schema with every object spelled out: absent, `null`, `true`, `{}` and `{"type": "null"}` are the empty object, the
/// root is an object (arguments always are one), and an object without `properties` gets them, at every depth. Key order
/// is kept.
pub(super) fn normal(schema: Value) -> Value {
    let nothing =
        schema.is_null() || schema == Value::Bool(true) || schema.get("type").is_some_and(|kind| kind == "null");
    let mut schema = if nothing { json!({}) } else { schema };
    if let Value::Object(keywords) = &mut schema {
        let kind = keywords.get("type");
        let among = kind.and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"));
        if kind.is_none() {
            keywords.shift_insert(0, "type".into(), "object".into());
        } else if among {
            keywords.insert("type".into(), "object".into());
        }
        fill(keywords, 0);
    }
    schema
}

fn fill(keywords: &mut Map<String, Value>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    if keywords.get("type").is_some_and(|kind| kind == "object") && !keywords.contains_key("properties") {
        keywords.insert("properties".into(), json!({}));
    }
    let inside = |schema: &mut Value| schema.as_object_mut().into_iter().for_each(|schema| fill(schema, depth + 1));
    for (word, value) in keywords.iter_mut() {
        match word.as_str() {
            "properties" | "$defs" | "definitions" | "patternProperties" => named(value).for_each(inside),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => listed(value).for_each(inside),
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => inside(value),
            _ => {}
        }
    }
}

/// Reads `input_schema` as it is written in YAML: JSON Schema, or the shorthand.
pub(super) fn from_yaml(node: &Node) -> Result<Value, Located> {
    let Kind::Map(entries) = &node.kind else {
        let message = format!("`input_schema` must be a mapping, not {}", node.what());
        return Err(Located::new(node, Problem::new("wrong_type", message)));
    };
    if entries.iter().any(|(key, value)| is_schema_keyword(key, value)) {
        Ok(node.to_json())
    } else {
        shorthand(entries)
    }
}

/// Whether a key shows that the mapping is a JSON Schema and no list of parameters.
fn is_schema_keyword(key: &str, value: &Node) -> bool {
    match key {
        "type" => value.text() == Some("object"),
        "$schema" | "$ref" | "$defs" => true,
        "properties" => value.map().is_some(),
        "anyOf" | "oneOf" | "allOf" => value.list().is_some(),
        _ => false,
    }
}

/// `query: string`, `domains?: string[]`, `level: low|high`, or a JSON Schema per parameter.
fn shorthand(entries: &[(String, Node)]) -> Result<Value, Located> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, node) in entries {
        let name = key.strip_suffix('?').unwrap_or(key).trim();
        let schema = match &node.kind {
            Kind::Map(_) => Some(node.to_json()),
            Kind::Text(text) => short_type(text.trim()),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) => None,
        };
        let Some(schema) = schema.filter(|_| !name.is_empty()) else {
            let problem = Problem::new("bad_schema", format!("`input_schema`: `{key}` has no type that is known"))
                .hint("write string, integer, number, boolean, object, `string[]`, `a|b`, or a JSON Schema");
            return Err(Located::new(node, problem));
        };
        if !key.ends_with('?') {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (Value::Object(keywords), false) = (&mut schema, required.is_empty()) {
        keywords.shift_insert(2, "required".into(), required.into());
    }
    Ok(schema)
}

fn short_type(text: &str) -> Option<Value> {
    if let Some(item) = text.strip_suffix("[]") {
        return Some(json!({"type": "array", "items": short_type(item.trim())?}));
    }
    match text {
        "string" | "integer" | "number" | "boolean" => Some(json!({"type": text})),
        "object" => Some(json!({"type": "object", "properties": {}})),
        choice if choice.contains('|') => {
            let words: Vec<&str> = choice.split('|').map(str::trim).collect();
            let whole = words.iter().all(|word| !word.is_empty());
            whole.then(|| json!({"type": "string", "enum": words}))
        }
        _ => None,
    }
}

/// What makes a value useless as an input schema.
pub(super) fn problems(schema: &Value) -> Vec<Problem> {
    let bad = |message: String| Problem::new("bad_schema", message);
    let Value::Object(keywords) = schema else {
        return vec![bad("the input schema must be a JSON object".into()).hint("start with `type: object`")];
    };
    let mut found = Vec::new();
    if keywords.get("type").is_some_and(|kind| kind != "object") {
        let hint = "wrap it in an object with one property";
        found.push(bad("the root of the input schema must have the type `object`".into()).hint(hint));
    }
    let properties = match keywords.get("properties") {
        Some(Value::Object(properties)) => Some(properties),
        Some(_) => {
            found.push(bad("`properties` of the input schema must be an object".into()));
            None
        }
        None => None,
    };
    if let Some(properties) = properties {
        let odd = properties.iter().filter(|(_, value)| !value.is_object() && !value.is_boolean());
        found.extend(odd.map(|(name, _)| bad(format!("`/properties/{name}` of the input schema is no schema"))));
    }
    match keywords.get("required") {
        None => {}
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {}
        Some(_) => found.push(bad("`required` of the input schema must be a list of names".into())),
    }
    found
}
