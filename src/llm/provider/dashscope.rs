//! DashScope's own format (`POST …/aigc/text-generation/generation`, and its multimodal twin) of Aliyun.
//!
//! Messages are those of Chat Completions, one level deeper. What only this surface has: the sources of a search
//! (`search_info`), and streams in two manners, of pieces or of the whole text so far.
//!
//! Facts of 2026-11: help.aliyun.com, the dashscope SDK, recorded traffic.

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
    openai::{FUNCTIONS, history},
};
use crate::types::Reply;

mod fold;
mod reply;

/// The dialect of DashScope's generation API.
#[derive(Debug, Default)]
pub struct DashScope {
    tools: ToolCache,
}

impl Dialect for DashScope {
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
        let block = transcript.tools(request, &self.tools, || {
            let mut block = ToolBlock::of(request, target, &self.tools, FUNCTIONS)?;
            tools::without_builtin(request, target, &mut block.notices)?;
            Ok(block)
        })?;
        let (names, headers) = (Arc::clone(&block.names), block.headers.clone());
        let offer = head::offer(request, target, block)?;
        let messages = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past.last(), target, &names);
        });
        let tool_bytes = offer.tools.as_ref().map_or(0, |tools| tools.bytes.len());
        let mut head = Head::new(request, target, messages.len() + tool_bytes)?;
        let tools = offer.tools.as_ref().map(|tools| ("tools", tools.bytes.as_slice()));
        let parameters = parameters(request, target, &offer);
        head.merged("parameters", &parameters, tools, [&target.fields, &offer.body]);
        head.extras(target, &offer.body);
        let mut body = head.into_bytes();
        json::put(&mut body, ",\"input\":{\"messages\":[");
        if !request.instructions.is_empty() {
            json::put(&mut body, "{\"role\":");
            json::string(&mut body, &target.api.roles.system);
            json::text_field(&mut body, "content", &request.instructions);
            json::put(&mut body, if messages.is_empty() { "}" } else { "}," });
        }
        body.extend_from_slice(messages);
        json::put(&mut body, "]}}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::GenerationFold::new(reading))
    }
}

fn parameters(request: &ModelRequest, target: &Target, offer: &head::Offer) -> Map<String, Value> {
    let mut parameters = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            parameters.insert(name.to_owned(), value);
        }
    };
    // Without it there are no tool calls in the reply.
    set("result_format", Some("message".into()));
    set("incremental_output", request.stream.then(|| true.into()));
    set(&target.api.max_tokens, request.max_output_tokens.map(Value::from));
    set("temperature", request.temperature.map(Value::from));
    set("response_format", request.response_schema.as_ref().map(|_| value!({"type": "json_object"})));
    if offer.tools.is_some() {
        let choice = offer.choice.as_ref().and_then(|choice| match choice {
            Choice::Word(word) => Some(Value::from(*word)),
            Choice::Function(name) | Choice::Hosted(name) => {
                Some(value!({"type": "function", "function": {"name": name}}))
            }
            Choice::Among { .. } => None,
        });
        set("tool_choice", choice);
        let parallel = request.parallel_tool_calls.or(target.api.parallel_tool_calls);
        set("parallel_tool_calls", parallel.map(Value::from));
    }
    parameters
}

#[cfg(test)]
mod tests;
