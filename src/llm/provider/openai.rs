//! OpenAI Chat Completions (`POST /chat/completions`), also spoken by xAI, DeepSeek, Mistral, Z.AI, Aliyun and local
//! servers. It knows function tools only; raw provider tools are refused, not dropped.
//!
//! Facts of 2026-11: openai-python 3.57.0, the providers' references, recorded traffic.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json as value;

use super::super::{
    AnswerSchema, Conversation, ModelError, ModelRequest,
    dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
    head::{self, Choice, Head},
    json,
    schema::SchemaDialect,
    tools::{self, FunctionTool, RenderFunction, ToolBlock, ToolCache},
};
use crate::types::Reply;

pub(super) mod fold;
pub(super) mod history;
pub(super) mod hosted;
pub(super) mod message;
pub(super) mod reply;
mod tagged;

/// The dialect of Chat Completions.
#[derive(Debug, Default)]
pub struct OpenAiChat {
    tools: ToolCache,
}

impl Dialect for OpenAiChat {
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
        let (names, headers) = (Arc::clone(&block.names), block.headers.clone());
        let offer = head::offer(request, target, block)?;
        let messages = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past.last(), target, &names);
        });
        let tool_bytes = offer.tools.as_ref().map_or(0, |tools| tools.bytes.len());
        let mut head = Head::new(request, target, messages.len() + tool_bytes)?;
        write_head(&mut head, request, target, &offer);
        let mut body = head.into_bytes();
        json::put(&mut body, ",\"messages\":[");
        if !request.instructions.is_empty() {
            json::put(&mut body, "{\"role\":");
            json::string(&mut body, &target.api.roles.system);
            json::text_field(&mut body, "content", &request.instructions);
            json::put(&mut body, if messages.is_empty() { "}" } else { "}," });
        }
        body.extend_from_slice(messages);
        json::put(&mut body, "]}");
        let tagged_calls = target.api.tagged_calls && offer.tools.is_some();
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::ChatFold::new(reading))
    }
}

impl OpenAiChat {
    fn block(&self, request: &ModelRequest, target: &Target) -> Result<ToolBlock, WireError> {
        let functions = if target.api.deepseek_strict { DEEPSEEK } else { FUNCTIONS };
        let mut block = ToolBlock::of(request, target, &self.tools, functions)?;
        if !target.api.builtin_tools {
            tools::without_builtin(request, target, &mut block.notices)?;
            return Ok(block);
        }
        let (builtin, skipped) = super::openai_response::builtin_tools(request);
        block.notices.extend(skipped);
        for tool in &builtin {
            block.add_raw(&serde_json::to_value(tool).unwrap_or_default(), "in `extra.builtin_tools`")?;
        }
        Ok(block)
    }
}

fn write_head(head: &mut Head<'_>, request: &ModelRequest, target: &Target, offer: &head::Offer) {
    if request.stream {
        head.field("stream", |out| json::put(out, "true"));
        if target.api.stream_usage {
            head.field("stream_options", |out| json::put(out, "{\"include_usage\":true}"));
        }
    }
    head.max_tokens(target);
    head.optional("temperature", request.temperature);
    head.optional("reasoning_effort", request.reasoning_effort.as_ref());
    if let Some((name, schema)) = &request.response_schema {
        let format = match target.api.answer_schema {
            AnswerSchema::JsonSchema => {
                value!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": true}})
            }
            AnswerSchema::JsonObject => value!({"type": "json_object"}),
        };
        head.field("response_format", |out| json::value(out, &format));
    }
    let Some(tools) = &offer.tools else { return head.extras(target, &offer.body) };
    match &offer.choice {
        None => {}
        Some(Choice::Word(word)) => head.field("tool_choice", |out| json::string(out, word)),
        // A hosted tool cannot be forced here: it is named like a function, which the provider refuses by itself.
        Some(Choice::Function(name) | Choice::Hosted(name)) => head.field("tool_choice", |out| {
            json::value(out, &value!({"type": "function", "function": {"name": name}}));
        }),
        Some(Choice::Among { functions, hosted, required }) => {
            let listed =
                functions.iter().chain(hosted).map(|name| value!({"type": "function", "function": {"name": name}}));
            let mode = if *required { "required" } else { "auto" };
            let allowed = value!({"mode": mode, "tools": listed.collect::<Vec<_>>()});
            head.field("tool_choice", |out| {
                json::value(out, &value!({"type": "allowed_tools", "allowed_tools": allowed}));
            });
        }
    }
    if target.api.takes_parallel {
        head.optional("parallel_tool_calls", request.parallel_tool_calls.or(target.api.parallel_tool_calls));
    }
    head.extras(target, &offer.body);
    head.field("tools", |out| {
        out.push(b'[');
        out.extend_from_slice(&tools.bytes);
        out.push(b']');
    });
}

/// Function tools as Chat Completions and those near it write them.
pub(super) const FUNCTIONS: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::OpenAi, SchemaDialect::OpenAiStrict), write: write_function };

const DEEPSEEK: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::OpenAi, SchemaDialect::DeepSeekStrict), write: write_function };

fn write_function(tool: FunctionTool<'_>) -> Vec<u8> {
    let FunctionTool { name, description, parameters, strict, deferred: _ } = tool;
    let mut function = value!({"name": name, "description": description, "parameters": parameters});
    if let (true, Some(fields)) = (strict, function.as_object_mut()) {
        fields.insert("strict".to_owned(), true.into());
    }
    let mut out = Vec::new();
    json::value(&mut out, &value!({"type": "function", "function": function}));
    out
}

#[cfg(test)]
mod tests;
