#![no_main]

use agcore::llm::{
    arguments::Validator,
    schema::{SchemaDialect, convert},
};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(schema) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    let _checked = Validator::new(&schema);
    for dialect in [SchemaDialect::OpenAi, SchemaDialect::OpenAiStrict, SchemaDialect::Anthropic, SchemaDialect::Gemini] {
        let _converted = convert(&schema, dialect);
    }
});
