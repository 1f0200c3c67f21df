//! Gemini Interactions (`POST /v1beta/interactions`): steps in place of contents, JSON in snake_case.
//!
//! Facts of 2026-11: google-genai 3.6.1, ai.google.dev (`Api-Revision` 2026-05-20), recorded traffic.

use bytes::Bytes;
use serde_json::json;

use super::{
    super::{
        Conversation, ModelError, ModelRequest,
        dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
        head, json as wire,
        schema::SchemaDialect,
        tools::{self, FunctionTool, RenderFunction, ToolBlock, ToolCache},
    },
    gemini::{may_stand, to_send},
    openai_response::builtin_tools,
};
use crate::types::Reply;

mod body;
mod fold;
mod history;
mod reply;
mod step;

/// The dialect of Gemini's Interactions API.
#[derive(Debug, Default)]
pub struct GeminiInteractions {
    tools: ToolCache,
}

impl Dialect for GeminiInteractions {
    fn build(
        &self,
        request: &ModelRequest,
        target: &Target,
        conversation: &mut Conversation,
    ) -> Result<Wire, WireError> {
        let narrowed = head::narrowed(request, target)?;
        let request = narrowed.as_ref().unwrap_or(request);
        let (entries, transcript) = conversation.split();
        transcript.aim(&target.origin);
        let block = transcript.tools(request, &self.tools, || self.block(request, target))?;
        let (names, headers) = (std::sync::Arc::clone(&block.names), block.headers.clone());
        let mut offer = head::offer(request, target, block)?;
        let (entries, token) = to_send(entries, target);
        let steps = transcript.extend(entries, |entry, past, out| history::write(out, entry, past, target, &names));
        let mut body = body::head(request, target, &mut offer)?;
        if let Some(token) = token {
            wire::put(&mut body, "\"continuation_token\":");
            wire::put(&mut body, token.get());
            body.push(b',');
        }
        if let Some(tools) = &offer.tools {
            wire::put(&mut body, "\"tools\":[");
            body.extend_from_slice(&tools.bytes);
            wire::put(&mut body, "],");
        }
        wire::put(&mut body, "\"input\":[");
        body.extend_from_slice(steps);
        wire::put(&mut body, "]}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::InteractionFold::new(reading))
    }
}

impl GeminiInteractions {
    fn block(&self, request: &ModelRequest, target: &Target) -> Result<ToolBlock, WireError> {
        let mut block = ToolBlock::of(request, target, &self.tools, FUNCTIONS)?;
        if !target.api.builtin_tools {
            tools::without_builtin(request, target, &mut block.notices)?;
            return Ok(block);
        }
        let (builtin, skipped) = builtin_tools(request);
        block.notices.extend(skipped);
        for tool in &builtin {
            let raw = serde_json::to_value(tool).unwrap_or_default();
            if may_stand(&raw, request, target, &mut block)? {
                block.add_raw(&raw, "in `extra.builtin_tools`")?;
            }
        }
        Ok(block)
    }
}

/// How function tools are written. There is no word for a strict one; the choice `validated` stands for all of them.
const FUNCTIONS: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::Gemini, SchemaDialect::Gemini), write: write_function };

fn write_function(tool: FunctionTool<'_>) -> Vec<u8> {
    let FunctionTool { name, description, parameters, strict: _, deferred } = tool;
    let mut tool = json!({"type": "function", "name": name, "description": description, "parameters": parameters});
    if let (true, Some(fields)) = (deferred, tool.as_object_mut()) {
        fields.insert("defer_loading".to_owned(), true.into());
    }
    let mut out = Vec::new();
    wire::value(&mut out, &tool);
    out
}

#[cfg(test)]
mod tests;
