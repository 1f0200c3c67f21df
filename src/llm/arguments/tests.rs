use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn validator(schema: Value) -> Validator {
    Validator::new(&schema).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// DEV-B01
#[test]
fn blank_arguments_are_the_empty_object() {
    let now = validator(json!({"type": "object", "properties": {}}));
    for raw in ["", "  ", "\n\t"] {
        assert_eq!(read(raw, &now), Ok(Arguments { value: json!({}), repairs: Vec::new() }));
    }
    assert!(matches!(read("{\"q\"", &now), Err(ArgumentError::NotJson { .. })));
    let needs = validator(json!({"type": "object", "properties": {"q": {}}, "required": ["q"]}));
    assert!(matches!(read("", &needs), Err(ArgumentError::Invalid(_))), "blank is not valid where a key is required");
}

/// DEV-B02
#[test]
fn broken_arguments_are_refused_with_place_and_excerpt_and_never_guessed() {
    let any = validator(json!({"type": "object"}));
    let error = read("file_path=foo", &any).unwrap_err();
    let expected =
        ArgumentError::NotJson { reason: "expected ident".into(), line: 1, column: 2, excerpt: "file_path=foo".into() };
    assert_eq!(error, expected);
    assert_eq!(error.to_tool_error().code, ErrorCode::InvalidArguments);

    let error = read("{\"a\":1}}", &any).unwrap_err();
    let ArgumentError::NotJson { line, column, excerpt, .. } = &error else { panic!("{error}") };
    assert_eq!((*line, *column, excerpt.as_str()), (1, 8, "{\"a\":1}}"));

    let error = read("[1,2]", &any).unwrap_err();
    assert_eq!(error, ArgumentError::NotAnObject { found: "an array", excerpt: "[1,2]".into() });

    for cut in ["{\"flight\":\"XY1\",\"seat\":\"1", "{\"a\":1,", "{\"a\":", "{", "{'a': 1}", "{a: 1}", "{\"a\": True}"]
    {
        assert!(matches!(read(cut, &any), Err(ArgumentError::NotJson { .. })), "{cut}");
    }
}

/// DEV-B02
#[test]
fn the_excerpt_is_short_and_lies_around_the_place_in_any_script() {
    let raw = format!("{{\"a\": \"{}\", \"b\": x, \"c\": \"{}\"}}", "汉字😀".repeat(40), "y".repeat(200));
    let error = parse(&raw, RepairLevel::Certain).unwrap_err();
    let ArgumentError::NotJson { excerpt, .. } = error else { panic!("{error}") };
    assert!(excerpt.chars().count() <= 60 && excerpt.contains("\"b\": x"), "{excerpt}");
}

/// DEV-B02
#[test]
fn a_long_value_with_quotes_and_emoji_is_read_unchanged() {
    let text = "say \"汉字\" 😀\n".repeat(30);
    let raw = json!({"text": text}).to_string();
    let schema = validator(json!({"type": "object", "properties": {"text": {"type": "string"}}}));
    assert_eq!(read(&raw, &schema).unwrap().value, json!({"text": text}));
}

/// DEV-B02
#[test]
fn what_is_replayed_is_always_a_json_object() {
    assert_eq!(replayable("{\"a\": 1.50}"), "{\"a\": 1.50}");
    for broken in ["file_path=foo", "{\"a\":1}}", "[1,2]", "", "null", "\"text\"", "{\"a\":"] {
        assert_eq!(replayable(broken), "{}", "{broken}");
    }
    assert_eq!(replayable("```json\n{\"a\": 1}\n```"), "{\"a\":1}");
}

#[test]
fn certain_repairs_are_made_and_told() {
    let any = validator(json!({"type": "object"}));
    let cases = [
        ("\u{feff}{\"a\": 1}", "a byte order mark was removed"),
        ("```json\n{\"a\": 1}\n```", "a code fence was removed"),
        ("{\"a\": 1,}", "a comma before a closing bracket was removed"),
        ("\"{\\\"a\\\": 1}\"", "the object was encoded as a string"),
    ];
    for (raw, note) in cases {
        let expected = Arguments { value: json!({"a": 1}), repairs: vec![note.to_owned()] };
        assert_eq!(read(raw, &any), Ok(expected), "{raw}");
    }
    let newline = read("{\"a\": \"x\ny,}\"}", &any).unwrap();
    assert_eq!(newline.value, json!({"a": "x\ny,}"}));
    assert_eq!(newline.repairs, ["raw control characters in a string were escaped"]);
}

#[test]
fn likely_repairs_are_for_the_level_all_only() {
    let raw = "Sure: {'city': 'Oslo', days: 3";
    assert!(parse(raw, RepairLevel::Certain).is_err());
    let (value, notes) = parse(raw, RepairLevel::All).unwrap();
    assert_eq!(value, json!({"city": "Oslo", "days": 3}));
    assert!(!notes.is_empty());
}

/// DEV-B05
#[test]
fn strings_become_objects_and_arrays_only_where_the_schema_leaves_no_choice() {
    let schema = validator(json!({"type": "object", "properties": {
        "fields": {"type": "object"},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "body": {"type": "string"},
        "either": {"type": ["string", "object"]},
        "nested": {"type": "array", "items": {"type": "object", "properties": {"deep": {"type": "object"}}}}
    }}));
    let raw = json!({
        "fields": "{\"a\":1}", "tags": "[\"x\"]", "body": "{\"b\":2}", "either": "{\"c\":3}",
        "nested": [{"deep": "{\"d\":4}"}]
    });
    let read_back = read(&raw.to_string(), &schema).unwrap();
    let expected = json!({
        "fields": {"a": 1}, "tags": ["x"], "body": "{\"b\":2}", "either": "{\"c\":3}",
        "nested": [{"deep": {"d": 4}}]
    });
    assert_eq!(read_back.value, expected);
    assert_eq!(
        read_back.repairs,
        [
            "`/fields`: text was read as object",
            "`/tags`: text was read as array",
            "`/nested/0/deep`: text was read as object"
        ]
    );
    let refused = read("{\"fields\":\"not json\"}", &schema).unwrap_err();
    let violation = Violation {
        pointer: "/fields".into(),
        schema_pointer: "/properties/fields/type".into(),
        message: "must be object, not \"not json\"".into(),
    };
    assert_eq!(refused, ArgumentError::Invalid(vec![violation]));
}

/// DEV-B05
#[test]
fn numbers_and_booleans_in_quotes_are_read_where_no_string_is_allowed() {
    let schema = validator(json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "x": {"type": ["number", "null"]}, "b": {"type": "boolean"}, "id": {"type": "string"}
    }}));
    let got = read(r#"{"n":"2512292042121000001","x":"0.10","b":"True","id":"7"}"#, &schema).unwrap();
    assert_eq!(got.value.to_string(), r#"{"n":2512292042121000001,"x":0.10,"b":true,"id":"7"}"#);
    assert_eq!(got.repairs.len(), 3);
    assert!(read(r#"{"n":"two"}"#, &schema).is_err());
    assert!(read(r#"{"n":"2.5"}"#, &schema).is_err());
}

/// DEV-B06
#[test]
fn numbers_keep_every_digit() {
    let raw = r#"{"order_id":2512292042121000001,"ratio":0.1,"big":1e400,"long":123456789012345678901234567890,"money":1.50}"#;
    let schema = validator(json!({"type": "object", "properties": {
        "order_id": {"type": "integer", "minimum": 0}, "ratio": {"type": "number"}, "big": {"type": "number"},
        "long": {"type": "integer"}, "money": {"type": "number", "minimum": 0}
    }, "required": ["order_id", "ratio", "big", "long", "money"]}));
    let arguments = read(raw, &schema).unwrap();
    assert_eq!(arguments.value.to_string().replace("e+", "e"), raw);
    assert_eq!(replayable(raw), raw);
    let exact = validator(json!({"type": "object", "properties": {"id": {"const": 9_007_199_254_740_993_u64}}}));
    assert!(exact.check(&json!({"id": 9_007_199_254_740_993_u64})).is_ok());
    assert!(exact.check(&json!({"id": 9_007_199_254_740_992_u64})).is_err(), "neighbours above 2^53 are told apart");
}

/// DEV-B06
#[test]
fn limits_on_decimal_numbers_are_checked_exactly() {
    let price = validator(
        json!({"type": "object", "properties": {"p": {"type": "number", "multipleOf": 0.01}, "n": {"maximum": 100}}}),
    );
    for text in ["19.99", "0.07", "1.1", "4.35", "1000000.01"] {
        assert_eq!(price.check(&value(&format!("{{\"p\":{text}}}"))), Ok(()), "{text}");
    }
    assert!(price.check(&json!({"p": 0.005})).is_err());
    assert!(price.check(&value("{\"n\":1e400}")).is_err());
}

/// DEV-D07, DEV-D03
#[test]
fn arguments_in_the_form_of_the_wire_are_restored_before_they_are_checked() {
    let schema = validator(json!({"type": "object", "properties": {
        "q": {"type": "string"}, "limit": {"type": "integer"}, "note": {"type": ["string", "null"]}, "level": {"enum": [0, 1, 2]}
    }, "required": ["q"]}));
    let read_back = read(r#"{"q":"x","limit":null,"note":null,"level":"2"}"#, &schema).unwrap();
    assert_eq!(read_back.value, json!({"q": "x", "note": null, "level": 2}));
}

#[test]
fn violations_say_what_to_do_and_where() {
    let schema = validator(json!({"type": "object", "properties": {
        "unit": {"enum": ["celsius", "kelvin"]}, "days": {"type": "integer", "maximum": 7}, "at": {"type": "string", "format": "date"},
        "target": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
            {"type": "object", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["kind", "id"]}
        ]}
    }, "required": ["unit"], "additionalProperties": false}));
    let messages =
        |value: Value| -> Vec<String> { schema.check(&value).unwrap_err().iter().map(ToString::to_string).collect() };
    assert_eq!(messages(json!({})), ["the required key \"unit\" is missing (schema /required)"]);
    assert_eq!(
        messages(json!({"unit": "K"})),
        ["`/unit`: must be one of \"celsius\",\"kelvin\", not \"K\" (schema /properties/unit/enum)"]
    );
    assert_eq!(messages(json!({"unit": "kelvin", "dayz": 1})), ["unknown key \"dayz\" (schema /additionalProperties)"]);
    assert_eq!(
        messages(json!({"unit": "kelvin", "at": "today"})),
        ["`/at`: must be in the format date, not \"today\" (schema /properties/at/format)"]
    );
    assert_eq!(
        messages(json!({"unit": "kelvin", "target": {"kind": "url"}})),
        ["`/target`: the required key \"url\" is missing (schema /properties/target/oneOf/0/required)"]
    );
}

#[test]
fn a_schema_that_reaches_out_of_the_document_is_refused() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "https://example.org/schema.json"}}});
    assert!(Validator::new(&schema).is_err());
    assert!(Validator::new(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}})).is_err());
    assert!(Validator::new(&json!({"type": 7})).is_err());
}

#[test]
fn a_validator_is_made_once_for_each_schema() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Validator>();
    let cache = ValidatorCache::default();
    let schema = Arc::new(json!({"type": "object"}));
    let (first, second) = (cache.get(&schema).unwrap(), cache.get(&schema).unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    let other = cache.get(&Arc::new(json!({"type": "object"}))).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
}

#[test]
fn repair_reads_what_a_person_would_read() {
    let cases = [
        (r#"{"a": "x, "b": 1}"#, r#"{"a":"x","b":1}"#),
        (r#"{"a": 1 "b": 2}"#, r#"{"a":1,"b":2}"#),
        (r#"callback({"a": [1, 2}"#, r#"{"a":[1,2]}"#),
        ("<tool_call>\n{'a': True}\n</tool_call>", r#"{"a":true}"#),
        ("{ // note\n\"a\": “b”, /* c */ }", r#"{"a":"b"}"#),
        ("{a: 1}\n{b: 2}", r#"[{"a":1},{"b":2}]"#),
        (r#"{"say": "the "best" one"}"#, r#"{"say":"the \"best\" one"}"#),
        ("{'s': 'it\\'s \\u4f60'}", r#"{"s":"it's 你"}"#),
    ];
    for (raw, expected) in cases {
        assert_eq!(repair(raw).map(|(value, _)| value), Some(value(expected)), "{raw}");
    }
}

#[test]
fn repair_invents_nothing_from_text_without_json() {
    for raw in [
        "",
        "  ",
        "I cannot call that tool.",
        "file_path=foo",
        "see [the docs](https://x.org)",
        "[note] do it",
        "a { b } c",
    ] {
        assert_eq!(repair(raw), None, "{raw}");
    }
}

#[test]
fn repair_gives_up_where_it_would_have_to_guess() {
    for raw in ["[1,,2]", "{a: 1, ..., b: 2}", "[\"key\": {\"a\": 1}]", "{'a' 1}", "{r: /ab+/i}"] {
        assert_eq!(repair(raw), None, "{raw}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_overflowed() {
    let deep = "[".repeat(100_000);
    assert_eq!(repair(&deep), None);
    assert!(parse(&"{\"a\":".repeat(100_000), RepairLevel::All).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(raw in "[\\PC\\n\"'{}\\[\\]:,\\\\/]{0,120}") {
        let schema = Validator::new(&json!({"type": "object", "properties": {"a": {"type": "object"}}})).unwrap();
        let _ = read(&raw, &schema);
        let _ = repair(&raw);
        let replayed = replayable(&raw).into_owned();
        prop_assert!(serde_json::from_str::<Value>(&replayed).unwrap().is_object());
    }

    #[test]
    fn valid_json_is_left_alone(keys in proptest::collection::btree_map("[\\PC]{0,12}", "[\\PC\\n]{0,20}", 0..6)) {
        let object = json!(keys);
        prop_assert_eq!(parse(&object.to_string(), RepairLevel::All).unwrap(), (object.clone(), Vec::new()));
        let any = Validator::new(&json!({"type": "object"})).unwrap();
        prop_assert_eq!(read(&object.to_string(), &any).unwrap().value, object);
    }

    #[test]
    fn a_cut_text_is_never_read(keys in proptest::collection::btree_map("[a-z]{1,5}", "[\\PC]{0,12}", 1..5), cut in 0.0..1.0_f64) {
        let whole = json!(keys).to_string();
        let at = (cut * whole.len() as f64) as usize;
        let at = (1..=at).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(1).min(whole.len() - 1);
        prop_assert!(parse(&whole[..at], RepairLevel::Certain).is_err());
    }
}
