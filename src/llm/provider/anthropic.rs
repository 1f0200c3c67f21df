//! Anthropic Messages (`POST /v1/messages`), also spoken by DeepSeek and gateways.
//!
//! Facts of 2026-11: anthropic-sdk-python 2.14.0, platform.claude.com, recorded traffic.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::{
    Conversation, ModelError, ModelRequest, OnUnsupported,
    dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
    head::{self, Choice, Head, Offer},
    json,
    schema::{self, SchemaDialect},
    tools::{self, FunctionTool, RenderFunction, ToolBlock, ToolCache},
};
use super::openai_response::builtin_tools;
use crate::types::{Entry, Reply};

mod block;
mod cite;
mod fold;
mod history;
mod hosted;
mod open;
mod reply;
mod usage;

/// What a reply may hold when neither request nor profile says so: the field is required.
const MAX_TOKENS: u32 = 8_192;

const BETA: &str = "anthropic-beta";

/// The dialect of Anthropic's Messages API.
///
/// Beside raw provider tools, `extra` takes what the API calls `betas` (a list of names) and sends it as the header it
/// is; fields that need a beta bring its name along.
#[derive(Debug, Default)]
pub struct AnthropicMessages {
    tools: ToolCache,
}

impl Dialect for AnthropicMessages {
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
        let (names, mut headers) = (Arc::clone(&block.names), block.headers.clone());
        let mut offer = head::offer(request, target, block)?;
        allow_choice(&mut offer, request, target)?;
        let written = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past, target, &names);
        });
        let messages = history::whole(written, entries, target, &names);
        let tool_bytes = offer.tools.as_ref().map_or(0, |tools| tools.bytes.len());
        let mut head = Head::new(request, target, messages.len() + tool_bytes)?;
        add_betas(&mut headers, head.take("betas"), request, &history::betas(entries, target));
        write_head(&mut head, request, target, &mut offer, entries);
        let mut body = head.into_bytes();
        json::put(&mut body, ",\"messages\":[");
        body.extend_from_slice(&messages);
        json::put(&mut body, "]}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::MessageFold::new(reading))
    }
}

impl AnthropicMessages {
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

const FUNCTIONS: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::Anthropic, SchemaDialect::AnthropicStrict), write: render_function };

fn render_function(tool: FunctionTool<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    json::put(&mut out, "{\"name\":");
    json::string(&mut out, tool.name);
    json::text_field(&mut out, "description", tool.description);
    json::put(&mut out, ",\"input_schema\":");
    json::value(&mut out, &tool.parameters);
    if tool.strict {
        json::put(&mut out, ",\"strict\":true");
    }
    if tool.deferred {
        json::put(&mut out, ",\"defer_loading\":true");
    }
    out.push(b'}');
    out
}

/// Refuses, or drops, a choice that the request's own thinking rules out: with a fixed thinking budget only `auto` and
/// `none` are allowed; adaptive thinking takes all (2026-11). So does a choice of a tool that has no name.
fn allow_choice(offer: &mut Offer, request: &ModelRequest, target: &Target) -> Result<(), WireError> {
    let thinking = request.extra.get("thinking").or_else(|| target.fields.get("thinking"));
    let fixed = thinking.and_then(|thinking| thinking.get("type")).and_then(Value::as_str) == Some("enabled");
    let ruled_out = match &offer.choice {
        None | Some(Choice::Word("none")) => false,
        Some(Choice::Word(_) | Choice::Function(_) | Choice::Among { .. }) => fixed,
        Some(Choice::Hosted(kind)) => fixed || name_of(kind).is_none(),
    };
    if !ruled_out {
        return Ok(());
    }
    let error = head::unsupported_choice(request, target);
    match request.on_unsupported {
        OnUnsupported::Error | OnUnsupported::Reroute => return Err(error),
        OnUnsupported::Drop => offer.notices.push(format!("{error}; the choice was left to the model")),
    }
    offer.choice = None;
    Ok(())
}

/// The name of a server or client tool of Anthropic's: its type without the date. Toolsets have none.
fn name_of(kind: &str) -> Option<&str> {
    match kind {
        "text_editor_20250124" => return Some("str_replace_editor"),
        _ if kind.starts_with("text_editor_") => return Some("str_replace_based_edit_tool"),
        _ if kind.contains("toolset") => return None,
        _ => {}
    }
    let undated = kind.rsplit_once('_').filter(|(_, date)| date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()));
    Some(undated.map_or(kind, |(name, _)| name))
}

fn write_head(head: &mut Head<'_>, request: &ModelRequest, target: &Target, offer: &mut Offer, entries: &[Entry]) {
    let required = (!target.fields.contains_key("max_tokens")).then_some(MAX_TOKENS);
    head.optional("max_tokens", request.max_output_tokens.or(required));
    if request.stream {
        head.field("stream", |out| json::put(out, "true"));
    }
    if !request.instructions.is_empty() {
        head.field("system", |out| json::string(out, &request.instructions));
    }
    if target.api.takes_temperature {
        head.optional("temperature", request.temperature);
    } else if request.temperature.is_some() {
        offer.notices.push("the temperature was left out: the provider refuses it".to_owned());
    }
    head.optional("output_config", output_config(request));
    let container = container(head.take("container"), entries, target);
    head.optional("container", container);
    if offer.tools.is_some() {
        head.optional("tool_choice", tool_choice(offer, request, target));
    }
    head.extras(target, &offer.body);
    if let Some(tools) = &offer.tools {
        head.field("tools", |out| {
            out.push(b'[');
            out.extend_from_slice(&tools.bytes);
            out.push(b']');
        });
    }
}

fn output_config(request: &ModelRequest) -> Option<Value> {
    let mut config = Map::new();
    if let Some(effort) = &request.reasoning_effort {
        config.insert("effort".to_owned(), effort.as_str().into());
    }
    if let Some((_, schema)) = &request.response_schema {
        let strict = schema::convert(schema, SchemaDialect::AnthropicStrict).ok().filter(|converted| converted.strict);
        let schema = strict.map_or_else(|| schema.clone(), |converted| converted.schema);
        config.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

fn tool_choice(offer: &Offer, request: &ModelRequest, target: &Target) -> Option<Value> {
    let wants_one = request.parallel_tool_calls.or(target.api.parallel_tool_calls) == Some(false);
    let one_call = wants_one && target.api.takes_parallel;
    let mut choice = match &offer.choice {
        None if one_call => json!({"type": "auto"}),
        None => return None,
        // No other field may stand beside it.
        Some(Choice::Word("none")) => return Some(json!({"type": "none"})),
        Some(Choice::Word(_)) => json!({"type": "any"}),
        Some(Choice::Function(name)) => json!({"type": "tool", "name": name}),
        Some(Choice::Hosted(kind)) => json!({"type": "tool", "name": name_of(kind)}),
        // There is no word for it: what may not be used was left out before.
        Some(Choice::Among { required, .. }) => json!({"type": if *required { "any" } else { "auto" }}),
    };
    if let (true, Some(fields)) = (one_call, choice.as_object_mut()) {
        fields.insert("disable_parallel_tool_use".to_owned(), true.into());
    }
    Some(choice)
}

/// The container in which the provider ran code for this conversation, so that its files are there and a call that
/// waits inside it goes on. A `container` of the request that names one wins; one that only lists skills gets the id.
fn container(given: Option<&Value>, entries: &[Entry], target: &Target) -> Option<Value> {
    let id = || {
        let replies = entries.iter().rev().filter_map(|entry| match entry {
            Entry::Reply(reply) if target.issued(&reply.origin) => reply.carry.as_deref(),
            Entry::Reply(_) | Entry::User(_) | Entry::Results(_) | Entry::Notice(_) => None,
        });
        let carried = replies.into_iter().next()?;
        let fields: Map<String, Value> = serde_json::from_str(carried.get()).ok()?;
        fields.get("id").filter(|id| id.is_string()).cloned()
    };
    match given {
        None => id(),
        Some(Value::Object(fields)) if !fields.contains_key("id") => {
            let mut fields = fields.clone();
            fields.extend(id().map(|id| ("id".to_owned(), id)));
            Some(Value::Object(fields))
        }
        Some(given) => Some(given.clone()),
    }
}

/// Names the betas: those asked for, and those that fields of the request or blocks of the past need (2026-11).
fn add_betas(
    headers: &mut BTreeMap<String, String>,
    asked: Option<&Value>,
    request: &ModelRequest,
    past: &[&'static str],
) {
    let extra = |pointer: &[&str]| {
        let (first, rest) = pointer.split_first()?;
        rest.iter().try_fold(request.extra.get(*first)?, |value, key| value.get(key))
    };
    let needs: [(&[&str], &str); 4] = [
        (&["mcp_servers"], "mcp-client-2025-11-20"),
        (&["context_management"], "context-management-2025-06-27"),
        (&["container", "skills"], "skills-2025-10-02"),
        (&["output_config", "task_budget"], "task-budgets-2026-03-13"),
    ];
    let asked = asked.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let needed = needs.iter().filter(|(field, _)| extra(field).is_some()).map(|(_, beta)| *beta);
    let mut all: Vec<&str> = headers.get(BETA).map_or_else(Vec::new, |own| own.split(',').collect());
    for beta in asked.chain(needed).chain(past.iter().copied()) {
        let family = |name: &str| name.split_once("-20").map_or(name.to_owned(), |(family, _)| family.to_owned());
        if !all.iter().any(|own| family(own) == family(beta)) {
            all.push(beta);
        }
    }
    if !all.is_empty() {
        let joined = all.join(",");
        headers.insert(BETA.to_owned(), joined);
    }
}

#[cfg(test)]
mod tests;
