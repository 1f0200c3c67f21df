//! Schemas and values drawn at random.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ALL, accepts};
use crate::llm::schema::{BackMap, convert, of_arguments};

/// A schema, and a value it accepts.
fn pair(depth: u32) -> BoxedStrategy<(Value, Value)> {
    let leaf = prop_oneof![
        "[a-z ]{0,6}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        (-5..90_i64).prop_map(|n| (json!({"type": "integer", "minimum": -5}), json!(n))),
        any::<bool>().prop_map(|b| (json!({"type": "boolean"}), json!(b))),
        Just((json!({"type": ["string", "null"], "maxLength": 9}), Value::Null)),
        (0..3_usize).prop_map(|n| (json!({"enum": [10, 20, 30]}), json!([10, 20, 30][n]))),
        (0..3_usize).prop_map(|n| (json!({"type": "string", "enum": ["x", "", "z"]}), json!(["x", "", "z"][n]))),
        Just((json!({"const": {"k": [1]}}), json!({"k": [1]}))),
        Just((json!({"$ref": "#/$defs/shared"}), json!({"s": 1}))),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    prop_oneof![
        3 => leaf,
        2 => object(depth - 1),
        1 => pair(depth - 1).prop_map(|(schema, value)| (json!({"type": "array", "items": schema}), json!([value, value]))),
        1 => pair(depth - 1).prop_map(|(schema, value)| (json!({"anyOf": [schema, {"type": "null"}]}), value)),
        1 => (object(depth - 1), any::<bool>()).prop_map(|((schema, value), first)| tagged(schema, value, first)),
        1 => (object(depth - 1)).prop_map(|(schema, value)| {
            (json!({"allOf": [schema, {"properties": {"more": {"type": "integer"}}}]}), value)
        }),
    ]
    .boxed()
}

/// A union told apart by a tag.
fn tagged(mut schema: Value, mut value: Value, first: bool) -> (Value, Value) {
    schema["properties"]["tag"] = json!({"const": "one"});
    schema["required"].as_array_mut().unwrap().push(json!("tag"));
    let other =
        json!({"type": "object", "properties": {"tag": {"const": 2}, "n": {"type": "integer"}}, "required": ["tag"]});
    if first {
        value["tag"] = json!("one")
    } else {
        value = json!({"tag": 2})
    }
    (json!({"oneOf": [schema, other]}), value)
}

fn object(depth: u32) -> BoxedStrategy<(Value, Value)> {
    let member = (pair(depth), any::<bool>(), any::<bool>());
    let keys = prop::sample::subsequence(vec!["a", "b c", "$d", "e", "f"], 1..4);
    (keys, prop::collection::vec(member, 5), any::<bool>())
        .prop_map(|(keys, members, closed)| {
            let (mut properties, mut required, mut value) = (Map::new(), Vec::new(), Map::new());
            for (key, ((schema, inner), is_required, given)) in keys.into_iter().zip(members) {
                // A null for an optional nullable key and the missing key are one thing in strict mode.
                let nullable = accepts(&with_shared(schema.clone()), &Value::Null);
                if is_required || given || nullable {
                    value.insert(key.to_owned(), inner);
                }
                properties.insert(key.to_owned(), schema);
                if is_required {
                    required.push(key);
                }
            }
            let mut schema = json!({"type": "object", "properties": properties, "required": required});
            if closed {
                schema["additionalProperties"] = json!(false);
            }
            (schema, Value::Object(value))
        })
        .boxed()
}

fn with_shared(mut schema: Value) -> Value {
    schema["$defs"] =
        json!({"shared": {"type": "object", "properties": {"s": {"type": "integer"}}, "required": ["s"]}});
    schema
}

/// Anything that looks like a schema.
fn wild() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        Just(json!(7)),
        Just(json!("string")),
        Just(json!("#/$defs/a")),
        Just(json!("#")),
        Just(json!(["a", 1, null])),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let keyword = prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "$ref",
            "anyOf",
            "oneOf",
            "allOf",
            "enum",
            "const",
            "required",
            "additionalProperties",
            "$defs",
            "not",
            "if",
            "then",
            "prefixItems",
            "patternProperties",
            "minimum",
            "exclusiveMinimum",
            "dependencies",
            "a",
        ]);
        prop_oneof![
            prop::collection::vec((keyword, inner.clone()), 0..4).prop_map(|pairs| Value::Object(
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
            prop::collection::vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_original_accepts_can_be_said_and_comes_back((schema, value) in object(3)) {
        let schema = with_shared(schema);
        prop_assume!(accepts(&of_arguments(&schema), &value));
        let back = BackMap::of(&schema).unwrap();
        for dialect in ALL {
            let converted = convert(&schema, dialect).unwrap();
            let mut wire = converted.express(&value);
            prop_assert!(accepts(&converted.schema, &wire), "{dialect:?} refuses {wire} by {}", converted.schema);
            back.restore(&mut wire);
            prop_assert_eq!(&wire, &value, "{:?}", dialect);
        }
    }

    #[test]
    fn what_is_valid_as_it_is_stays_as_it_is((schema, value) in object(3)) {
        let schema = with_shared(schema);
        prop_assume!(accepts(&of_arguments(&schema), &value));
        let mut restored = value.clone();
        let notes = BackMap::of(&schema).unwrap().restore(&mut restored);
        prop_assert_eq!(restored, value);
        prop_assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn no_schema_makes_converting_panic(schema in wild(), value in wild()) {
        for dialect in ALL {
            if let Ok(converted) = convert(&schema, dialect) {
                converted.express(&value);
            }
        }
        if let Ok(back) = BackMap::of(&schema) {
            back.restore(&mut value.clone());
        }
        let _ = crate::llm::arguments::Validator::new(&schema);
    }
}
