//! Input schemas.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    capability::{Capability, schema_of},
    types::RiskClass,
};

fn built(schema: Value) -> Value {
    Capability::function("a.b").risk(RiskClass::ReadOnly).input_schema(schema).build().unwrap().input.schema
}

/// DEV-D04
#[test]
fn every_way_to_say_no_parameters_becomes_the_empty_object() {
    let empty = json!({"type": "object", "properties": {}});
    for said in [json!({"type": "object"}), json!({"type": "null"}), json!({}), json!(true), Value::Null] {
        assert_eq!(built(said.clone()), empty, "{said}");
    }
    let absent = Capability::function("a.b").risk(RiskClass::ReadOnly).build().unwrap();
    assert_eq!(absent.input.schema, empty);
}

/// DEV-D04
#[test]
fn a_nested_object_gets_its_properties_too() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "array", "items": {"type": "object"}}}});
    let expected = json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {}},
        "b": {"type": "array", "items": {"type": "object", "properties": {}}},
    }});
    assert_eq!(built(schema), expected);
}

#[test]
fn a_root_that_may_be_an_object_is_one() {
    assert_eq!(built(json!({"type": ["object", "null"]})), json!({"type": "object", "properties": {}}));
}

/// DEV-D01, DEV-D02: what a provider cannot take is the adapter's to convert; the contract keeps it.
#[test]
fn references_and_branches_at_the_root_are_kept() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    let kept = built(tree.clone());
    assert_eq!((&kept["$ref"], &kept["$defs"], &kept["type"]), (&tree["$ref"], &tree["$defs"], &json!("object")));
    let either =
        json!({"oneOf": [{"properties": {"id": {"type": "integer"}}}, {"properties": {"path": {"type": "string"}}}]});
    assert_eq!(built(either.clone())["oneOf"], either["oneOf"]);
}

/// DEV-D06: keys keep the order in which they were declared.
#[test]
fn the_order_of_keys_is_the_order_of_declaration() {
    let schema = json!({"type": "object", "properties": {"zeta": {"type": "string"}, "alpha": {"type": "string"}}});
    assert_eq!(
        built(schema).to_string(),
        r#"{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"string"}}}"#
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Search {
    /// What to look for.
    query: String,
    limit: Option<u32>,
    #[serde(default)]
    order: Order,
    filter: Filter,
    labels: BTreeMap<String, f32>,
}

#[derive(JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Order {
    #[default]
    Newest,
    Best,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Filter {
    hosts: Vec<String>,
}

#[test]
fn the_schema_of_a_type_is_in_place_closed_and_without_noise() {
    let expected = json!({
        "type": "object",
        "properties": {
            "query": {"description": "What to look for.", "type": "string"},
            "limit": {"type": ["integer", "null"], "minimum": 0},
            "order": {"type": "string", "enum": ["newest", "best"]},
            "filter": {
                "type": "object",
                "properties": {"hosts": {"type": "array", "items": {"type": "string"}}},
                "required": ["hosts"],
                "additionalProperties": false,
            },
            "labels": {"type": "object", "additionalProperties": {"type": "number"}, "properties": {}},
        },
        "required": ["query", "filter", "labels"],
        "additionalProperties": false,
    });
    assert_eq!(schema_of::<Search>(), expected);
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[test]
fn a_recursive_type_keeps_its_definition() {
    let schema = schema_of::<Tree>();
    assert_eq!(schema["type"], json!("object"));
    let text = schema.to_string();
    assert!(text.contains("$ref") && text.contains("additionalProperties"), "{text}");
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Tagged {
    id: u8,
    #[serde(flatten)]
    by: By,
}

#[derive(JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum By {
    Name { name: String },
    Path { path: String },
}

#[test]
fn branches_that_share_keys_are_not_closed_against_each_other() {
    let schema = schema_of::<Tagged>();
    let valid = json!({"id": 1, "by": "name", "name": "x"});
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&valid), "{schema}");
    assert!(!validator.is_valid(&json!({"id": 1, "by": "name"})), "{schema}");
}
