//! The part of a body before tools and contents.

use serde_json::{Map, Value, json};

use super::{
    super::super::{
        ModelRequest, OnUnsupported, ToolChoice,
        dialect::{Target, WireError},
        head::{Choice, Offer},
        json as wire,
    },
    generation::Generation,
};

/// Names the request sets itself; an extra of that name is refused.
const RESERVED: &[(&str, &str)] = &[
    ("model", ""),
    ("contents", "; the conversation is what is sent"),
    ("tools", "; provider tools go into `extra.builtin_tools`"),
    ("stream", ""),
];

/// The body up to its tools: `{` and each field with a comma. What the request's extras say wins over its typed
/// parameters, and these over the profile; objects are merged member by member.
pub(super) fn head(request: &ModelRequest, target: &Target, offer: &mut Offer) -> Result<Vec<u8>, WireError> {
    check_reserved(request, RESERVED)?;
    let mut fields = target.fields.clone();
    let calling = calling(request, target, offer)?;
    merge(&mut fields, std::mem::take(&mut offer.body));
    if !request.instructions.is_empty() {
        fields.insert("systemInstruction".to_owned(), json!({"parts": [{"text": request.instructions}]}));
    }
    if let Some(calling) = calling {
        merge(&mut fields, Map::from_iter([("toolConfig".to_owned(), json!({"functionCallingConfig": calling}))]));
    }
    let config = generation_config(request, target, offer)?;
    if !config.is_empty() {
        merge(&mut fields, Map::from_iter([("generationConfig".to_owned(), Value::Object(config))]));
    }
    Ok(write(fields, request))
}

/// Refuses extras of the names that the request sets itself.
pub(in super::super) fn check_reserved(
    request: &ModelRequest,
    reserved: &'static [(&'static str, &'static str)],
) -> Result<(), WireError> {
    match reserved.iter().find(|(name, _)| request.extra.contains_key(*name)) {
        Some((name, hint)) => Err(WireError::ReservedField { name: (*name).to_owned(), hint }),
        None => Ok(()),
    }
}

/// Writes `{` and the fields in the order of their names, those of the extras over the others, each with a comma.
pub(in super::super) fn write(mut fields: Map<String, Value>, request: &ModelRequest) -> Vec<u8> {
    let mut extra = request.extra.clone();
    extra.shift_remove("builtin_tools");
    merge(&mut fields, extra);
    fields.sort_keys();
    let mut out = Vec::with_capacity(request.instructions.len() + 1024);
    out.push(b'{');
    for (name, value) in &fields {
        wire::string(&mut out, name);
        out.push(b':');
        wire::value(&mut out, value);
        out.push(b',');
    }
    out
}

/// Adds fields: objects are merged, anything else is replaced.
pub(in super::super) fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(own)), Value::Object(other)) => merge(own, other),
            (_, value) => drop(into.insert(name, value)),
        }
    }
}

/// How functions may be called. It must not be said where there are none (400, ai.google.dev and recorded 2026).
fn calling(request: &ModelRequest, target: &Target, offer: &mut Offer) -> Result<Option<Value>, WireError> {
    let Some(block) = &offer.tools else { return Ok(None) };
    let (functions, hosted) = (block.functions > 0, block.has_hosted());
    match offer.choice.take() {
        // `NONE` does not switch off the provider's own tools, so where there are any, no tool is offered at all.
        Some(Choice::Word("none")) if hosted || !functions => {
            offer.tools = None;
            offer.body = Map::new();
            Ok(None)
        }
        Some(Choice::Word("none")) => Ok(Some(json!({"mode": "NONE"}))),
        Some(Choice::Word(_)) if functions => Ok(Some(json!({"mode": "ANY"}))),
        Some(Choice::Function(name)) if functions => Ok(Some(json!({"mode": "ANY", "allowedFunctionNames": [name]}))),
        // The provider's own tools cannot be told apart from those that may be used, so a list is one of functions.
        Some(Choice::Among { functions: names, hosted: _, required }) if functions && !hosted => {
            let mode = if required { "ANY" } else { "VALIDATED" };
            Ok(Some(json!({"mode": mode, "allowedFunctionNames": names})))
        }
        Some(Choice::Word(_) | Choice::Function(_) | Choice::Hosted(_) | Choice::Among { .. }) => {
            left_to_the_model(request, target, offer)?;
            Ok(None)
        }
        None => {
            let strict = functions && request.tools_defs.iter().any(|def| def.strict && target.api.strict);
            Ok(strict.then(|| json!({"mode": "VALIDATED"})))
        }
    }
}

/// Only functions can be forced.
pub(in super::super) fn left_to_the_model(
    request: &ModelRequest,
    target: &Target,
    offer: &mut Offer,
) -> Result<(), WireError> {
    let choice = match &request.tool_choice {
        ToolChoice::Named(name) => format!("the tool `{name}`"),
        ToolChoice::Allowed(_) => "some of the tools where hosted ones are among them".to_owned(),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => "some tool without any function".to_owned(),
    };
    let (provider, api) = (target.origin.provider.clone(), target.origin.api);
    let error = WireError::UnsupportedChoice { choice, provider, api };
    unless_dropped(request, offer, error, "the choice was left to the model")
}

fn unless_dropped(request: &ModelRequest, offer: &mut Offer, error: WireError, what: &str) -> Result<(), WireError> {
    match request.on_unsupported {
        OnUnsupported::Error | OnUnsupported::Reroute => Err(error),
        OnUnsupported::Drop => {
            offer.notices.push(format!("{error}; {what}"));
            Ok(())
        }
    }
}

fn generation_config(
    request: &ModelRequest,
    target: &Target,
    offer: &mut Offer,
) -> Result<Map<String, Value>, WireError> {
    let generation = Generation::of(target.origin.model.as_str());
    let mut config = Map::new();
    let mut set = |name: &str, value: Value| drop(config.insert(name.to_owned(), value));
    if let Some(limit) = request.max_output_tokens {
        set(&target.api.max_tokens, limit.into());
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(effort) = &request.reasoning_effort {
        set("thinkingConfig", thinking(effort, generation));
    }
    if let Some((_, schema)) = &request.response_schema {
        // Up to 2.5 an answer's schema beside functions is refused (recorded 2026).
        if generation == Generation::Two && offer.tools.as_ref().is_some_and(|tools| tools.functions > 0) {
            let (provider, api) = (target.origin.provider.clone(), target.origin.api);
            let choice = "a schema of the answer together with functions".to_owned();
            let error = WireError::UnsupportedChoice { choice, provider, api };
            unless_dropped(request, offer, error, "the schema was left out")?;
        } else {
            set("responseMimeType", "application/json".into());
            set("responseJsonSchema", schema.clone());
        }
    }
    if request.parallel_tool_calls == Some(false) && offer.tools.is_some() {
        offer.notices.push("Gemini cannot be told to make one call at a time; it may make several".to_owned());
    }
    Ok(config)
}

/// Gemini 3 takes a level, 2.5 a number of tokens (google-genai 3.6.1). For 2.5 the words stand for the numbers that
/// Google's OpenAI-compatible endpoint gave them in 2025 (ai.google.dev/gemini-api/docs/openai); a number is sent as it is.
fn thinking(effort: &str, generation: Generation) -> Value {
    if let Ok(budget) = effort.parse::<i64>() {
        return json!({"thinkingBudget": budget});
    }
    match (generation, effort) {
        (Generation::Two, "none") => json!({"thinkingBudget": 0}),
        (Generation::Two, "minimal" | "low") => json!({"thinkingBudget": 1024}),
        (Generation::Two, "medium") => json!({"thinkingBudget": 8192}),
        (Generation::Two, "high") => json!({"thinkingBudget": 24576}),
        (Generation::Two | Generation::Three, level) => json!({"thinkingLevel": level.to_ascii_uppercase()}),
    }
}
