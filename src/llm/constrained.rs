//! A forced tool call for servers that ignore `tool_choice`: the answer is held to the shape of a call instead.
//!
//! Several local servers (llama-server with a plain chat template, Ollama; 2026-11) take `tool_choice: required`
//! and answer with text all the same, but obey a JSON-schema `response_format`. The tools go into the prompt, the
//! schema allows nothing but one of their calls, and what comes back is read as that call.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::types::{FunctionCall, Item, Part, Reply, Stop};

use super::{
    ModelRequest, ToolChoice, ToolDef,
    schema::{self, SchemaDialect},
};

/// Whether the request forces a call of one of its functions.
pub(super) fn forces(request: &ModelRequest) -> bool {
    match &request.tool_choice {
        ToolChoice::Required => !request.tools_defs.is_empty(),
        ToolChoice::Named(name) => request.tools_defs.iter().any(|def| def.name == *name),
        ToolChoice::Allowed(allowed) => {
            allowed.required && request.tools_defs.iter().any(|def| allowed.tools.contains(&def.name))
        }
        ToolChoice::Auto | ToolChoice::None => false,
    }
}

/// Whether a reply to such a request is no call although it is whole.
pub(super) fn was_ignored(reply: &Reply) -> bool {
    reply.calls().next().is_none() && matches!(reply.stop, Stop::End | Stop::Length)
}

/// The same request with the answer held to the shape of a call; `None` when no tool has a schema that can be sent.
pub(super) fn request(original: &ModelRequest) -> Option<ModelRequest> {
    let wanted = |def: &&std::sync::Arc<ToolDef>| match &original.tool_choice {
        ToolChoice::Named(name) => def.name == *name,
        ToolChoice::Allowed(allowed) => allowed.tools.contains(&def.name),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => true,
    };
    let mut shapes = Vec::new();
    let mut prompt = original.instructions.clone();
    prompt
        .push_str("\n\nAnswer with one tool call as a JSON object of `name` and `arguments`, nothing else. The tools:");
    for def in original.tools_defs.iter().filter(wanted) {
        let Ok(converted) = schema::convert(&def.parameters, SchemaDialect::OpenAi) else { continue };
        let _ = write!(prompt, "\n- {}: {}\n  arguments: {}", def.name, def.description, converted.schema);
        shapes.push(json!({
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [def.name]}, "arguments": converted.schema},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        }));
    }
    let shape = match <[Value; 1]>::try_from(shapes) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => return None,
        Err(many) => json!({"anyOf": many}),
    };
    Some(ModelRequest {
        instructions: prompt,
        tools_defs: Vec::new(),
        tool_choice: ToolChoice::Auto,
        response_schema: Some(("tool_call".to_owned(), shape)),
        stream: false,
        ..original.clone()
    })
}

#[derive(Debug, Deserialize)]
struct Written<'a> {
    name: String,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// The call that a constrained answer holds. A text that is none stays as it is.
pub(super) fn read(mut reply: Reply) -> Reply {
    let (text, _) = reply.text_and_citations();
    let Ok(written) = serde_json::from_str::<Written<'_>>(text.trim()) else {
        reply.notices.push("the answer was held to the shape of a tool call and is none".to_owned());
        return reply;
    };
    let call = FunctionCall {
        provider_id: format!("call_{}", reply.id.as_deref().unwrap_or("constrained")),
        name: written.name,
        arguments: written.arguments.get().to_owned(),
        complete: true,
    };
    let keep = |item: &Item| !item.parts.iter().any(|part| matches!(part, Part::Text { .. }));
    reply.items.retain(keep);
    reply.items.push(Item::local(Part::Call(call)));
    reply.stop = Stop::ToolCalls;
    reply.notices.push("the server ignores `tool_choice`; the call was had through a JSON-schema answer".to_owned());
    reply
}
