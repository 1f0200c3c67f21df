//! Mistral Conversations (`POST /conversations`), the surface with Mistral's hosted tools; Agents are asked through it too.
//!
//! It is used without state: `store` is false and every request brings the whole conversation as `inputs`. Entries of a
//! reply go back as they came. A model whose name begins with `ag_` is an agent and is named in `agent_id`.
//!
//! Facts of 2026-11: mistralai 3.7.0, docs.mistral.ai, recorded traffic.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json as value};

use super::{
    super::{
        Conversation, ModelError, ModelRequest,
        dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
        head::{self, Choice, Head},
        json,
        tools::{self, ToolBlock, ToolCache},
    },
    openai::FUNCTIONS,
    openai_response::builtin_tools,
};
use crate::types::Reply;

mod entry;
mod fold;
mod history;
mod reply;

/// The dialect of Mistral's Conversations API.
#[derive(Debug, Default)]
pub struct MistralConversations {
    tools: ToolCache,
}

impl Dialect for MistralConversations {
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
        let inputs = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past.last(), target, &names);
        });
        let tool_bytes = offer.tools.as_ref().map_or(0, |tools| tools.bytes.len());
        let model = request.model.as_ref().unwrap_or(&target.origin.model);
        let field = if model.as_str().starts_with("ag_") { "agent_id" } else { "model" };
        let mut head = Head::naming(field, request, target, inputs.len() + tool_bytes)?;
        write_head(&mut head, request, target, &offer);
        let mut body = head.into_bytes();
        json::put(&mut body, ",\"inputs\":[");
        body.extend_from_slice(inputs);
        json::put(&mut body, "]}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::ConversationFold::new(reading))
    }
}

impl MistralConversations {
    fn block(&self, request: &ModelRequest, target: &Target) -> Result<ToolBlock, WireError> {
        let mut block = ToolBlock::of(request, target, &self.tools, FUNCTIONS)?;
        if !target.api.builtin_tools {
            tools::without_builtin(request, target, &mut block.notices)?;
            return Ok(block);
        }
        let (builtin, skipped) = builtin_tools(request);
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
    }
    if !request.instructions.is_empty() {
        head.field("instructions", |out| json::string(out, &request.instructions));
    }
    let arguments = completion_args(request, target, offer);
    head.merged("completion_args", &arguments, None, [&target.fields, &offer.body]);
    head.extras(target, &offer.body);
    if let Some(tools) = &offer.tools {
        head.field("tools", |out| {
            out.push(b'[');
            out.extend_from_slice(&tools.bytes);
            out.push(b']');
        });
    }
}

/// The parameters of the model itself, which this surface keeps apart.
fn completion_args(request: &ModelRequest, target: &Target, offer: &head::Offer) -> Map<String, Value> {
    let mut arguments = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), value);
        }
    };
    set(&target.api.max_tokens, request.max_output_tokens.map(Value::from));
    set("temperature", request.temperature.map(Value::from));
    set("reasoning_effort", request.reasoning_effort.clone().map(Value::from));
    let format = request.response_schema.as_ref().map(|(name, schema)| {
        value!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": true}})
    });
    set("response_format", format);
    // There are plain words only (mistralai 3.7.0), so no single tool can be named; the profile says so.
    match &offer.choice {
        Some(Choice::Word(word)) => set("tool_choice", Some((*word).into())),
        None | Some(Choice::Function(_) | Choice::Hosted(_) | Choice::Among { .. }) => {}
    }
    arguments
}

#[cfg(test)]
mod tests;
