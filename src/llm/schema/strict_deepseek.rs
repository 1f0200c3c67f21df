//! DeepSeek's strict mode at its beta address (api-docs.deepseek.com, 2026-11): OpenAI's subset without bounds on
//! arrays, with definitions under `$def` (singular).

use serde_json::Value;

use super::{Log, lenient::for_each_schema, normal::Normal, strict};

const HINTS: [&str; 2] = ["minItems", "maxItems"];

const FORMATS: [&str; 5] = ["email", "hostname", "ipv4", "ipv6", "uuid"];

pub(super) fn convert(mut normal: Normal, log: &mut Log) -> Value {
    for_each_schema(&mut normal, &mut |node, pointer| {
        let told: Vec<&str> = HINTS.into_iter().filter(|keyword| node.contains_key(*keyword)).collect();
        let format = node.get("format").and_then(Value::as_str).is_some_and(|name| !FORMATS.contains(&name));
        for keyword in told.into_iter().chain(format.then_some("format")) {
            if let Some(value) = node.shift_remove(keyword) {
                strict::hint(node, keyword, &value);
                log.note("hint", pointer, format!("`{keyword}` is told in the description"));
            }
        }
    });
    singular(strict::convert(normal, log))
}

/// `$defs` is called `$def` there, and so is the way to it.
fn singular(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let entry = |(key, value): (String, Value)| match (key.as_str(), value) {
                ("$defs", value) => ("$def".to_owned(), singular(value)),
                ("$ref", Value::String(to)) => (key, Value::String(to.replacen("#/$defs/", "#/$def/", 1))),
                (_, value) => (key, singular(value)),
            };
            Value::Object(map.into_iter().map(entry).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(singular).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{SchemaDialect, convert};

    #[test]
    fn bounds_of_arrays_are_told_and_definitions_are_singular() {
        let schema = json!({"type": "object", "required": ["tags", "at"], "additionalProperties": false,
            "properties": {"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}, "at": {"$ref": "#/$defs/p"}},
            "$defs": {"p": {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"],
                "additionalProperties": false}}});
        let converted = convert(&schema, SchemaDialect::DeepSeekStrict).unwrap();
        assert!(converted.strict, "{:?}", converted.log);
        let text = converted.schema.to_string();
        assert!(!text.contains("\"maxItems\":") && !text.contains("$defs"), "{text}");
        assert_eq!(converted.schema["properties"]["at"]["$ref"], "#/$def/p");
        assert_eq!(converted.schema["$def"]["p"]["properties"]["x"]["minimum"], 0);
    }
}
