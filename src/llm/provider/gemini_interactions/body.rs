//! The part of a body before tools and steps.

use serde_json::{Map, Value, json};

use super::super::{
    super::{
        ModelRequest,
        dialect::{Target, WireError},
        head::{Choice, Offer},
    },
    gemini::{check_reserved, left_to_the_model, merge, write_fields},
};

/// Names the request sets itself; an extra of that name is refused.
const RESERVED: &[(&str, &str)] = &[
    ("model", ""),
    ("input", "; the conversation is what is sent"),
    ("tools", "; provider tools go into `extra.builtin_tools`"),
    ("stream", ""),
];

/// The body up to its tools: `{` and each field with a comma.
pub(super) fn head(request: &ModelRequest, target: &Target, offer: &mut Offer) -> Result<Vec<u8>, WireError> {
    check_reserved(request, RESERVED)?;
    let mut fields = target.fields.clone();
    let mut config = Map::new();
    if let Some(limit) = request.max_output_tokens {
        config.insert(target.api.max_tokens.clone(), limit.into());
    }
    if let Some(temperature) = request.temperature {
        config.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = &request.reasoning_effort {
        config.insert("thinking_level".to_owned(), effort.to_ascii_lowercase().into());
    }
    if let Some(choice) = choice(request, target, offer)? {
        config.insert("tool_choice".to_owned(), choice);
    }
    merge(&mut fields, std::mem::take(&mut offer.body));
    if !config.is_empty() {
        merge(&mut fields, Map::from_iter([("generation_config".to_owned(), Value::Object(config))]));
    }
    let model = request.model.as_ref().unwrap_or(&target.origin.model);
    fields.insert("model".to_owned(), model.as_str().into());
    if !request.instructions.is_empty() {
        fields.insert("system_instruction".to_owned(), request.instructions.as_str().into());
    }
    if let Some((_, schema)) = &request.response_schema {
        let format = json!({"type": "text", "mime_type": "application/json", "schema": schema});
        fields.insert("response_format".to_owned(), format);
    }
    if request.stream {
        fields.insert("stream".to_owned(), true.into());
    }
    if request.parallel_tool_calls == Some(false) && offer.tools.is_some() {
        offer.notices.push("Gemini cannot be told to make one call at a time; it may make several".to_owned());
    }
    Ok(write_fields(fields, request))
}

fn choice(request: &ModelRequest, target: &Target, offer: &mut Offer) -> Result<Option<Value>, WireError> {
    let Some(block) = &offer.tools else { return Ok(None) };
    let (functions, hosted) = (block.functions > 0, block.has_hosted());
    match offer.choice.take() {
        // Whether `none` switches off the provider's own tools is not said; without any tool nothing can run.
        Some(Choice::Word("none")) if hosted || !functions => {
            offer.tools = None;
            offer.body = Map::new();
            Ok(None)
        }
        Some(Choice::Word("none")) => Ok(Some("none".into())),
        Some(Choice::Word(_)) if functions => Ok(Some("any".into())),
        Some(Choice::Function(name)) if functions => {
            Ok(Some(json!({"allowed_tools": {"mode": "any", "tools": [name]}})))
        }
        Some(Choice::Among { functions: names, hosted: _, required }) if functions && !hosted => {
            let mode = if required { "any" } else { "validated" };
            Ok(Some(json!({"allowed_tools": {"mode": mode, "tools": names}})))
        }
        Some(Choice::Word(_) | Choice::Function(_) | Choice::Hosted(_) | Choice::Among { .. }) => {
            left_to_the_model(request, target, offer)?;
            Ok(None)
        }
        None => {
            let strict = functions && request.tools_defs.iter().any(|def| def.strict && target.api.strict);
            Ok(strict.then(|| "validated".into()))
        }
    }
}
