use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{SchemaDialect::*, *};
use crate::llm::arguments::{Draft, Formats, Validator};

mod properties;

const ALL: [SchemaDialect; 5] = [OpenAiStrict, OpenAi, AnthropicStrict, Anthropic, Gemini];

fn sent(original: &Value, dialect: SchemaDialect) -> Value {
    convert(original, dialect).unwrap().schema
}

/// Whether the schema, as its provider understands it, accepts the value.
fn accepts(schema: &Value, value: &Value) -> bool {
    let plain = without_nullable(schema);
    Validator::accepts(&plain, std::slice::from_ref(value), Draft::Named, Formats::Annotate).unwrap()[0]
}

fn without_nullable(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let plain: serde_json::Map<String, Value> =
                map.iter().map(|(key, child)| (key.clone(), without_nullable(child))).collect();
            let nullable = map.get("nullable") == Some(&Value::Bool(true));
            if nullable { json!({"anyOf": [plain, {"type": "null"}]}) } else { Value::Object(plain) }
        }
        Value::Array(list) => list.iter().map(without_nullable).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// What the original accepts can be said in every dialect, and comes back as it was.
fn goes_and_returns(original: &Value, arguments: &Value) {
    assert!(accepts(&of_arguments(original), arguments), "the original refuses {arguments}");
    let back = BackMap::of(original).unwrap();
    for dialect in ALL {
        let converted = convert(original, dialect).unwrap();
        let mut wire = converted.express(arguments);
        assert!(accepts(&converted.schema, &wire), "{dialect:?} refuses {wire} by {}", converted.schema);
        back.restore(&mut wire);
        assert_eq!(&wire, arguments, "{dialect:?}");
    }
}

fn tree() -> Value {
    json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
        }, "required": ["name"]}}
    })
}

/// DEV-D01
#[test]
fn references_are_kept_where_the_provider_has_them() {
    let node = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
    }, "required": ["name"]});
    let mut expected = node.clone();
    expected["$defs"] = json!({"node": node});
    assert_eq!(sent(&tree(), Anthropic), expected);
    assert_eq!(sent(&tree(), OpenAi), expected);
    let strict = convert(&tree(), OpenAiStrict).unwrap();
    assert!(strict.strict, "{:?}", strict.log);
    let node = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": ["array", "null"], "items": {"$ref": "#/$defs/node"}}
    }, "required": ["name", "children"], "additionalProperties": false});
    let mut expected = node.clone();
    expected["$defs"] = json!({"node": node});
    assert_eq!(strict.schema, expected);
}

/// DEV-D01
#[test]
fn elsewhere_recursion_is_inlined_to_a_bounded_depth_with_a_leaf_of_the_same_type() {
    let converted = convert(&tree(), Gemini).unwrap();
    assert!(converted.was("schema_degraded"));
    let text = converted.schema.to_string();
    assert!(!text.contains("$ref") && !text.contains("$defs"));
    let leaf =
        converted.schema.pointer("/properties/children/items/properties/children/items/properties/children/items");
    assert_eq!(leaf, Some(&json!({"type": "object", "properties": {}})));
    let child =
        json!({"name": "b", "children": [{"name": "c", "children": [{"name": "d", "children": [{"name": "e"}]}]}]});
    goes_and_returns(&tree(), &json!({"name": "a", "children": [child]}));
}

/// DEV-D01
#[test]
fn root_definitions_survive_and_references_to_anywhere_find_their_target() {
    let filter = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "where": {"$ref": "#/$defs/condition"},
            "again": {"$ref": "#/properties/first"}, "first": {"type": "string", "enum": ["x"]},
            "anchored": {"$ref": "#here"}
        },
        "$defs": {"condition": {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"],
            "additionalProperties": false}, "other": {"$anchor": "here", "type": "integer"}, "unused": {"type": "null"}}
    });
    let expected = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "where": {"$ref": "#/$defs/condition"},
            "again": {"$ref": "#/$defs/first"}, "first": {"type": "string", "enum": ["x"]},
            "anchored": {"$ref": "#/$defs/here"}
        },
        "$defs": {
            "condition": {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"],
                "additionalProperties": false},
            "first": {"type": "string", "enum": ["x"]},
            "here": {"type": "integer"}
        }
    });
    assert_eq!(sent(&filter, Anthropic), expected);
    goes_and_returns(&filter, &json!({"where": {"field": "a"}, "again": "x", "anchored": 3}));
}

/// DEV-D01
#[test]
fn one_bad_tool_is_withheld_with_a_reason_and_no_other() {
    let lost = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}});
    let error = convert(&lost, Gemini).unwrap_err();
    assert_eq!(error, SchemaError::UnresolvedRef { reference: "#/$defs/gone".into(), pointer: "/properties/a".into() });
    let cache = Cache::default();
    let tools = [Arc::new(tree()), Arc::new(lost), Arc::new(json!({"type": "object", "properties": {}}))];
    let loaded: Vec<bool> = tools.iter().map(|schema| cache.get(schema, Gemini).is_ok()).collect();
    assert_eq!(loaded, [true, false, true]);
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(convert(&endless, OpenAi).unwrap_err(), SchemaError::RootTooEntangled);
}

/// DEV-D02
#[test]
fn variants_at_the_root_become_one_object_that_tells_them() {
    let original = json!({"oneOf": [
        {"type": "object", "properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
        {"type": "object", "properties": {"by": {"const": "path"}, "path": {"type": "string"}}, "required": ["by", "path"]}
    ]});
    let expected = json!({
        "type": "object",
        "properties": {"by": {"enum": ["id", "path"]}, "id": {"type": "integer"}, "path": {"type": "string"}},
        "required": ["by"],
        "description": "Give one of: (1) by=\"id\", id; (2) by=\"path\", path."
    });
    assert_eq!(sent(&original, OpenAi), expected);
    assert_eq!(sent(&original, Anthropic), expected);
    let strict = convert(&original, OpenAiStrict).unwrap();
    assert_eq!((strict.schema, strict.strict), (expected, false));
    goes_and_returns(&original, &json!({"by": "id", "id": 3}));
    let mut wire = json!({"by": "path", "path": "/x", "id": null});
    BackMap::of(&original).unwrap().restore(&mut wire);
    assert_eq!(wire, json!({"by": "path", "path": "/x"}));
    let checked = Validator::new(&original).unwrap();
    assert!(checked.check(&json!({"by": "id", "path": "/x"})).is_err(), "the real schema still decides");
}

/// DEV-D02
#[test]
fn all_of_at_the_root_is_merged_and_a_missing_type_is_an_object() {
    let original = json!({"allOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer", "minimum": 1}, "a": {"type": "string", "maxLength": 3}}, "required": ["b"]}
    ]});
    let expected = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "integer", "minimum": 1}},
        "required": ["a", "b"]
    });
    assert_eq!(sent(&original, OpenAi), expected);
    let untyped = json!({"properties": {"q": {"type": "string"}}});
    assert_eq!(sent(&untyped, Anthropic), json!({"type": "object", "properties": {"q": {"type": "string"}}}));
    for dialect in ALL {
        assert!(matches!(
            convert(&json!({"type": "string"}), dialect),
            Err(SchemaError::NotAnObject { found: "string" })
        ));
    }
}

/// DEV-D03
#[test]
fn enums_become_strings_for_gemini_and_come_back_as_they_were() {
    let original = json!({"type": "object", "properties": {
        "level": {"enum": [0, 1, 2]}, "kind": {"enum": ["a", "b"]}, "ids": {"type": ["array", "null"], "items": {"type": "string"}}
    }});
    let expected = json!({"type": "object", "properties": {
        "level": {"type": "string", "enum": ["0", "1", "2"]},
        "kind": {"enum": ["a", "b"], "type": "string"},
        "ids": {"type": "array", "items": {"type": "string"}, "nullable": true}
    }});
    assert_eq!(sent(&original, Gemini), expected);
    let mut wire = json!({"level": "2", "kind": "B", "ids": null});
    BackMap::of(&original).unwrap().restore(&mut wire);
    assert_eq!(wire, json!({"level": 2, "kind": "b", "ids": null}));
    goes_and_returns(&original, &json!({"level": 1, "kind": "a", "ids": ["x"]}));
    let mixed = json!({"type": "object", "properties": {"v": {"enum": ["", "2", 2, true, {"a": 1}]}}});
    for value in [json!(""), json!("2"), json!(2), json!(true), json!({"a": 1})] {
        goes_and_returns(&mixed, &json!({"v": value}));
    }
}

/// DEV-D04
#[test]
fn every_object_has_properties_and_nothing_is_the_empty_object() {
    let open = json!({"type": "object", "properties": {}});
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    for dialect in [OpenAi, Anthropic] {
        assert_eq!(sent(&json!({"type": "object"}), dialect), open);
        assert_eq!(sent(&json!({}), dialect), open);
        assert_eq!(sent(&json!(true), dialect), open);
        assert_eq!(sent(&json!({"type": "null"}), dialect), closed);
        assert_eq!(sent(&Value::Null, dialect), closed);
    }
    for original in [json!({"type": "object"}), json!({}), json!(true), json!({"type": "null"}), Value::Null] {
        assert_eq!(sent(&original, Gemini), open);
        let strict = convert(&original, OpenAiStrict).unwrap();
        assert!(strict.strict && strict.schema["additionalProperties"] == json!(false));
        assert!(Validator::new(&original).unwrap().check(&json!({})).is_ok());
    }
    let nested = json!({"type": "object", "properties": {"options": {"type": "object"}}});
    for dialect in ALL {
        assert_eq!(sent(&nested, dialect)["properties"]["options"], open, "{dialect:?}");
    }
}

/// DEV-D07
#[test]
fn strict_mode_makes_optional_keys_nullable_and_the_nulls_are_taken_out_again() {
    let original = json!({"type": "object", "properties": {
        "q": {"type": "string", "minLength": 1}, "limit": {"type": "integer", "default": 5}, "note": {"type": ["string", "null"]}
    }, "required": ["q"]});
    let expected = json!({"type": "object", "properties": {
        "q": {"type": "string", "description": "(minLength: 1)"},
        "limit": {"type": ["integer", "null"], "description": "(default: 5)"},
        "note": {"type": ["string", "null"]}
    }, "required": ["q", "limit", "note"], "additionalProperties": false});
    let converted = convert(&original, OpenAiStrict).unwrap();
    assert!(converted.strict);
    assert_eq!(converted.schema, expected);
    let mut wire = json!({"q": "x", "limit": null, "note": null});
    let notes = BackMap::of(&original).unwrap().restore(&mut wire);
    assert_eq!(wire, json!({"q": "x", "note": null}));
    assert_eq!(notes.len(), 1);
    goes_and_returns(&original, &json!({"q": "x", "limit": 3, "note": null}));
}

/// DEV-D07
#[test]
fn strict_mode_is_given_up_when_it_would_lose_something_and_the_log_says_why() {
    let lossy = [
        ("an object with free keys", json!({"labels": {"type": "object", "additionalProperties": {"type": "string"}}})),
        ("a value of any type", json!({"any": {}})),
        ("an array of anything", json!({"list": {"type": "array"}})),
        ("strict mode has no `not`", json!({"x": {"type": "string", "not": {"const": "a"}}})),
        ("`oneOf` with variants that overlap", json!({"x": {"oneOf": [{"type": "integer"}, {"type": "number"}]}})),
    ];
    for (why, properties) in lossy {
        let original = json!({"type": "object", "properties": properties});
        let converted = convert(&original, OpenAiStrict).unwrap();
        assert!(!converted.strict);
        let said = converted.log.iter().find(|change| change.transform == "strict_fallback").unwrap();
        assert!(said.note.contains(why), "{} does not say {why}", said.note);
        assert_eq!(converted.schema, sent(&original, OpenAi));
    }
    let wide: Vec<String> = (0..1_001).map(|n| format!("v{n}")).collect();
    assert!(!convert(&json!({"type": "object", "properties": {"v": {"enum": wide}}}), OpenAiStrict).unwrap().strict);
}

#[test]
fn anthropics_strict_mode_keeps_keys_optional_and_tells_bounds() {
    let original = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string", "format": "regex"}, "minItems": 2},
        },
        "required": ["q"],
    });
    let converted = convert(&original, AnthropicStrict).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string", "pattern": "^[a-z]+$", "description": "(minLength: 1)"},
            "limit": {"type": "integer", "description": "(minimum: 1) (maximum: 9)"},
            "tags": {"type": "array", "items": {"type": "string", "description": "(format: \"regex\")"}, "description": "(minItems: 2)"},
        },
        "required": ["q"],
        "additionalProperties": false,
    });
    assert_eq!((converted.schema, converted.strict), (expected, true));
}

#[test]
fn anthropics_strict_mode_is_given_up_for_what_it_refuses() {
    let keys = |count: usize, schema: Value| -> Value {
        let map: serde_json::Map<String, Value> = (0..count).map(|at| (format!("k{at}"), schema.clone())).collect();
        json!({"type": "object", "properties": map})
    };
    for (original, strict) in [
        (tree(), false),
        (keys(24, json!({"type": "string"})), true),
        (keys(25, json!({"type": "string"})), false),
        (keys(16, json!({"type": ["string", "null"]})), true),
        (keys(17, json!({"type": ["string", "null"]})), false),
        (keys(1, json!({"type": "object", "additionalProperties": true})), false),
        (keys(1, json!({"type": "string", "not": {"const": "a"}})), false),
    ] {
        let converted = convert(&original, AnthropicStrict).unwrap();
        assert_eq!(converted.strict, strict, "{original}");
        if !strict {
            assert_eq!(converted.schema, convert(&original, Anthropic).unwrap().schema);
        }
    }
}

#[test]
fn variants_below_the_root_keep_their_shape_in_strict_mode() {
    let original = json!({"type": "object", "properties": {"target": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
        {"type": "object", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}, "alt": {"$ref": "#/$defs/alt"}},
            "required": ["kind", "id"]}
    ]}}, "$defs": {"alt": {"type": "string"}}});
    assert!(convert(&original, OpenAiStrict).unwrap().strict);
    for target in
        [json!({"kind": "url", "url": "u"}), json!({"kind": "id", "id": 1}), json!({"kind": "id", "id": 1, "alt": "x"})]
    {
        goes_and_returns(&original, &json!({"target": target}));
    }
    goes_and_returns(&original, &json!({}));
}

#[test]
fn gemini_gets_no_keyword_it_does_not_know() {
    let original = json!({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#", "properties": {
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        "map": {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false},
        "either": {"type": ["string", "integer"], "minimum": 2, "minLength": 1},
        "when": {"type": "string", "format": "uri", "pattern": "^(?!x)"},
        "above": {"type": "number", "exclusiveMinimum": 0},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
        "union": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"const": 1}}}, {"type": "null"}]},
        "any": {}
    }, "if": {"required": ["pair"]}, "then": {"required": ["map"]}});
    let known = [
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
        "anyOf",
    ];
    let mut root = sent(&original, Gemini).as_object().unwrap().clone();
    tree::walk(&mut root, tree::Order::Down, &mut |node, pointer| {
        for key in node.keys() {
            assert!(known.contains(&key.as_str()), "`{key}` at `{pointer}`");
        }
        assert!(node.contains_key("type") || node.contains_key("anyOf"), "no type at `{pointer}`");
        assert!(!matches!(node.get("type"), Some(Value::Array(_))), "a list of types at `{pointer}`");
    });
    assert_eq!(root["properties"]["maybe"], json!({"type": "string", "description": "d", "nullable": true}));
    goes_and_returns(
        &original,
        &json!({"pair": ["a", 1], "map": {"x1": "y"}, "either": 3, "when": "https://x", "above": 0.5}),
    );
    goes_and_returns(&original, &json!({"maybe": null, "union": {"a": 1}, "any": [1, [true]], "either": "s"}));
}

#[test]
fn odd_property_names_get_an_alias_that_leads_back() {
    let original = json!({"type": "object", "properties": {
        "If-Match": {"type": "string"}, "$filter": {"type": "string"}, "用户": {"type": "object", "properties": {"a b": {"type": "integer"}}}
    }, "required": ["$filter"]});
    let gemini = sent(&original, Gemini);
    let keys: Vec<&String> = gemini["properties"].as_object().unwrap().keys().collect();
    assert!(keys.iter().all(|key| back::KeyRule::Gemini.accepts(key)), "{keys:?}");
    let anthropic = sent(&original, Anthropic);
    assert!(anthropic["properties"].get("If-Match").is_some() && anthropic["properties"].get("$filter").is_none());
    goes_and_returns(&original, &json!({"$filter": "x", "If-Match": "e", "用户": {"a b": 1}}));
}

#[test]
fn older_spellings_become_those_of_2020_12() {
    let original = json!({"type": "object", "id": "urn:x", "properties": {
        "n": {"type": "integer", "minimum": 1, "exclusiveMinimum": true, "required": true},
        "t": {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
        "d": {"type": "any"}, "f": false
    }, "dependencies": {"n": ["t"]}, "required": []});
    let expected = json!({"type": "object", "properties": {
        "n": {"type": "integer", "exclusiveMinimum": 1},
        "t": {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        "d": {}, "f": {"not": {}}
    }, "dependentRequired": {"n": ["t"]}});
    assert_eq!(sent(&original, Anthropic), expected);
}

/// DEV-D06
#[test]
fn equal_schemas_convert_to_equal_bytes() {
    for dialect in ALL {
        let mut texts: Vec<String> = (0..20).map(|_| sent(&tree(), dialect).to_string()).collect();
        texts.dedup();
        assert_eq!(texts.len(), 1);
    }
}

#[test]
fn a_conversion_is_made_once_for_each_schema_and_dialect() {
    let cache = Cache::default();
    let schema = Arc::new(tree());
    let (first, second) = (cache.get(&schema, OpenAi).unwrap(), cache.get(&schema, OpenAi).unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    assert!(!Arc::ptr_eq(&first, &cache.get(&schema, Gemini).unwrap()));
}

#[test]
fn every_real_tool_converts_to_every_dialect() {
    let path = ["../shared", "../../shared"].map(|shared| format!("{shared}/data/mcp/tools/ALL.jsonl"));
    let Some(text) = path.iter().find_map(|path| std::fs::read_to_string(path).ok()) else {
        println!("skipped: the set of real tools is not here");
        return;
    };
    let (mut tools, mut withheld) = (0, Vec::new());
    for line in text.lines() {
        let tool: Value = serde_json::from_str(line).unwrap();
        let schema = &tool["inputSchema"];
        tools += 1;
        for dialect in ALL {
            let converted = convert(schema, dialect).unwrap();
            assert_eq!(converted.schema["type"], json!("object"));
        }
        // Compiling takes most of the time: one in ten will do.
        if tools % 10 != 0 {
            continue;
        }
        if let Err(error) = Validator::new(schema) {
            withheld.push(format!("{}: {error}", tool["name"]));
        }
        for dialect in ALL {
            let converted = convert(schema, dialect).unwrap();
            let plain = without_nullable(&converted.schema);
            assert!(
                Validator::accepts(&plain, &[], Draft::Named, Formats::Annotate).is_ok(),
                "{} {dialect:?}",
                tool["name"]
            );
            assert_eq!(converted.schema["type"], json!("object"));
        }
    }
    assert!(tools > 1_000);
    assert_eq!(withheld, Vec::<String>::new());
}

#[test]
fn a_monstrous_schema_is_refused_and_not_overflowed() {
    let deep =
        (0..200).fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    assert!(matches!(convert(&deep, Gemini), Err(SchemaError::TooDeep { .. })));
    let names: Vec<Value> = (0..60_000).map(Value::from).collect();
    assert!(matches!(
        convert(&json!({"type": "object", "properties": {"a": {"enum": names}}}), OpenAi),
        Err(SchemaError::TooLarge { .. })
    ));
    // Each definition holds the next one ten times: inlined whole it would be 10^12 schemas.
    let mut defs = serde_json::Map::new();
    for n in 0..12 {
        let parts: serde_json::Map<String, Value> =
            (0..10).map(|p| (format!("p{p}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
        defs.insert(format!("d{n}"), json!({"type": "object", "properties": parts}));
    }
    defs.insert("d12".into(), json!({"type": "string"}));
    let bomb = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let converted = convert(&bomb, Gemini).unwrap();
    assert!(converted.was("schema_degraded") && converted.schema.to_string().len() < 3_000_000);
    for dialect in [OpenAiStrict, OpenAi, Anthropic] {
        assert!(convert(&bomb, dialect).is_ok());
    }
}
