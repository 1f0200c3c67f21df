//! Names and schemas of functions.

use pretty_assertions::assert_eq;

use super::*;

fn schemas() -> Vec<Arc<ToolDef>> {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}});
    vec![
        def("tree", json!({"$ref": "#/$defs/node", "$defs": {"node": node}})),
        def(
            "filter",
            json!({"type": "object", "additionalProperties": false, "properties": {"by": {"$ref": "#/$defs/by"}},
            "$defs": {"by": {"enum": ["name", "date"]}}}),
        ),
        def(
            "either",
            json!({"oneOf": [
            {"type": "object", "properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
            {"type": "object", "properties": {"by": {"const": "path"}, "path": {"type": "string"}}, "required": ["by", "path"]}]}),
        ),
        def(
            "both",
            json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]}),
        ),
        def("untyped", json!({"properties": {"a": {"type": "string"}}})),
        def(
            "levels",
            json!({"type": "object", "properties": {"level": {"enum": [0, 1, 2]}, "kind": {"enum": ["a", "b"]},
            "ids": {"type": ["array", "null"], "items": {"type": "string"}}}}),
        ),
        def("nothing", json!({"type": "object"})),
        def("null", json!({"type": "null"})),
        def("empty", json!({})),
        def("any", json!(true)),
        def("nested", json!({"type": "object", "properties": {"options": {"type": "object"}}})),
        lookup(),
    ]
}

/// DEV-D01, DEV-D02, DEV-D03, DEV-D04: schemas that some provider refuses are made such that it does not, or their tool
/// alone is withheld, with a word about it.
#[test]
fn odd_schemas_are_made_acceptable_or_withheld_alone() {
    let request = ModelRequest { tools_defs: schemas(), ..ModelRequest::default() };
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let (body, wire) = send(&way, &request, vec![hello()]).unwrap();
        let sent = functions(&body);
        assert_eq!(sent.len() + wire.reading.notices.len(), request.tools_defs.len(), "{place}: {body}");
        assert!(target.api.strict_only || wire.reading.notices.is_empty(), "{place}: {:?}", wire.reading.notices);
        for (name, schema) in &sent {
            let root = schema.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
            assert_eq!(root, "object", "{place} {name}: {schema}");
            let combined = ["oneOf", "anyOf", "allOf", "$ref"].iter().find(|word| schema.get(**word).is_some());
            assert_eq!(combined, None, "{place} {name}: {schema}");
            references_lead_somewhere(schema, schema, &format!("{place} {name}"));
            objects_have_properties(schema, &format!("{place} {name}"));
        }
        assert!(sent.iter().any(|(name, _)| name == "lookup_order"), "{place}");
    }
}

fn references_lead_somewhere(root: &Value, schema: &Value, place: &str) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                assert!(found.is_some(), "{place}: {reference} in {root}");
            }
            fields.values().for_each(|value| references_lead_somewhere(root, value, place));
        }
        Value::Array(list) => list.iter().for_each(|value| references_lead_somewhere(root, value, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn objects_have_properties(schema: &Value, place: &str) {
    let Value::Object(fields) = schema else { return };
    let is_object = fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("object"));
    assert!(!is_object || fields.contains_key("properties"), "{place}: {schema}");
    for value in fields.values() {
        match value {
            Value::Array(list) => list.iter().for_each(|value| objects_have_properties(value, place)),
            Value::Object(_) => objects_have_properties(value, place),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// DEV-D05: names fit every provider and lead back, also those that differ in their last letter only.
#[test]
fn names_fit_every_provider_and_lead_back() {
    let long = |last: char| format!("{}{last}", "n".repeat(89));
    let odd = ["issues.search", "ns:act", "a/b/c", "9lives", "-dash", "查询", &"m".repeat(128), &long('x'), &long('y')];
    let defs: Vec<Arc<ToolDef>> = odd.iter().map(|name| def(name, json!({"type": "object"}))).collect();
    let request = ModelRequest { tools_defs: defs, ..ModelRequest::default() };
    for way in ways() {
        let place = named(&way.1);
        let (body, wire) = send(&way, &request, vec![hello()]).unwrap();
        let names: Vec<String> = functions(&body).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), odd.len(), "{place}: {:?}", wire.reading.notices);
        for (sent, name) in names.iter().zip(odd) {
            assert!(NameRule::PORTABLE.accepts(sent), "{place}: {sent}");
            assert_eq!(wire.reading.original(sent), name, "{place}");
        }
    }
}

/// DEV-D07: a strict tool keeps its optional fields optional, or is no strict one; what the model leaves out as null is
/// gone before the tool gets it.
#[test]
fn optional_fields_of_a_strict_tool_may_be_left_out() {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"},
        "note": {"type": ["string", "null"]}}, "required": ["q"]});
    let strict = ToolDef { strict: true, ..(*def("find", parameters.clone())).clone() };
    let request = ModelRequest { tools_defs: vec![Arc::new(strict)], ..ModelRequest::default() };
    let mut strict_ones = 0;
    for way in ways() {
        let place = named(&way.1);
        let body = body(&way, &request, vec![hello()]);
        let (_, schema) = functions(&body).remove(0);
        let required = |name: &str| schema["required"].as_array().is_some_and(|list| list.contains(&json!(name)));
        let limit = schema["properties"]["limit"].to_string().to_ascii_lowercase();
        assert!(!required("limit") || limit.contains("null"), "{place}: {schema}");
        strict_ones += usize::from(required("limit"));
        let validator = crate::llm::arguments::Validator::new(&parameters).unwrap();
        let read = crate::llm::arguments::read("{\"q\":\"x\",\"limit\":null,\"note\":null}", &validator).unwrap();
        assert_eq!(read.value, json!({"q": "x", "note": null}), "{place}");
    }
    assert!(strict_ones > 1, "{strict_ones}");
}
