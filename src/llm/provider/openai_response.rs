//! OpenAI Responses (`POST /responses`), also spoken by xAI, Aliyun, DeepSeek and gateways.
//!
//! Facts of 2026-11: openai-python 3.57.0, docs.x.ai, help.aliyun.com, recorded traffic.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::Value;

use super::super::{
    Conversation, HostedTool, ModelError, ModelRequest,
    dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
    head::{self, Choice, Head},
    json,
    schema::SchemaDialect,
    tools::{self, FunctionTool, RenderFunction, ToolBlock, ToolCache},
};
use crate::types::{HostedKind, Reply};

mod fold;
mod history;
mod item;
mod reply;

pub(super) use history::{call_id, is_object, wire_name};
pub(super) use item::{arguments_text, citations, normal_arguments};

/// The dialect of OpenAI's Responses API.
#[derive(Debug, Default)]
pub struct OpenAiResponses {
    tools: ToolCache,
}

impl Dialect for OpenAiResponses {
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
        let offer = head::offer(request, target, block)?;
        let items = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past.last(), target, &names);
        });
        let tool_bytes = offer.tools.as_ref().map_or(0, |tools| tools.bytes.len());
        let mut head = Head::new(request, target, items.len() + tool_bytes)?;
        write_head(&mut head, request, target, &offer);
        let mut body = head.into_bytes();
        json::put(&mut body, ",\"input\":[");
        body.extend_from_slice(items);
        json::put(&mut body, "]}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        reply::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::ResponseFold::new(reading))
    }
}

impl OpenAiResponses {
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
    head.max_tokens(target);
    head.optional("temperature", request.temperature);
    if let Some(effort) = &request.reasoning_effort {
        head.field("reasoning", |out| json::value(out, &serde_json::json!({"effort": effort})));
    }
    if let Some((name, schema)) = &request.response_schema {
        let format = serde_json::json!({"type": "json_schema", "name": name, "schema": schema, "strict": true});
        head.field("text", |out| json::value(out, &serde_json::json!({"format": format})));
    }
    if let Some(tools) = &offer.tools {
        match &offer.choice {
            None => {}
            Some(Choice::Word(word)) => head.field("tool_choice", |out| json::string(out, word)),
            Some(Choice::Function(name)) => head.field("tool_choice", |out| {
                json::value(out, &serde_json::json!({"type": "function", "name": name}));
            }),
            Some(Choice::Hosted(kind)) => {
                head.field("tool_choice", |out| json::value(out, &serde_json::json!({"type": kind})));
            }
            Some(Choice::Among { functions, hosted, required }) => {
                let functions = functions.iter().map(|name| serde_json::json!({"type": "function", "name": name}));
                let listed: Vec<Value> =
                    functions.chain(hosted.iter().map(|kind| listed(kind, &request.hosted))).collect();
                let mode = if *required { "required" } else { "auto" };
                let choice = serde_json::json!({"type": "allowed_tools", "mode": mode, "tools": listed});
                head.field("tool_choice", |out| json::value(out, &choice));
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
    } else {
        head.extras(target, &offer.body);
    }
}

/// A hosted tool in a list of those that may be used. A remote server is named by its label.
fn listed(kind: &str, hosted: &[HostedTool]) -> Value {
    let server = hosted.iter().find(|tool| kind == "mcp" && tool.kind == HostedKind::Mcp);
    match server.and_then(|tool| tool.params.get("server")?.get("label")) {
        Some(label) => serde_json::json!({"type": kind, "server_label": label}),
        None => serde_json::json!({"type": kind}),
    }
}

/// A tool in a Responses request.
///
/// `type == "function"` with just name, description and parameters is a [`ResponseTool::Function`]; all else is
/// passed through with every field it has, so that no provider tool is lost for want of a type of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResponseTool {
    /// A plain function. Serialises as `type`, `name`, `description`, `parameters`, in this order.
    Function {
        /// Its name on the wire; never empty.
        name: String,
        /// What it does.
        description: String,
        /// The JSON Schema of its arguments.
        parameters: Value,
    },
    /// A provider's own tool, or a function with options, as it is. Always an object with a text `type`.
    Builtin(Value),
}

impl Serialize for ResponseTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Function { name, description, parameters } => {
                let mut map = serializer.serialize_map(Some(4))?;
                map.serialize_entry("type", "function")?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("description", description)?;
                map.serialize_entry("parameters", parameters)?;
                map.end()
            }
            Self::Builtin(tool) => tool.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResponseTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let Some(tool) = value.as_object() else { return Err(de::Error::custom("a tool must be an object")) };
        let kind = match tool.get("type") {
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(de::Error::custom("the `type` of a tool must be a text")),
            None => return Err(de::Error::missing_field("type")),
        };
        if kind != "function" {
            return Ok(Self::Builtin(value));
        }
        let name = match tool.get("name") {
            Some(Value::String(name)) if !name.is_empty() => name,
            Some(_) => return Err(de::Error::custom("the `name` of a function must be a text that is not empty")),
            None => return Err(de::Error::missing_field("name")),
        };
        if let (4, Some(Value::String(description)), Some(parameters)) =
            (tool.len(), tool.get("description"), tool.get("parameters"))
        {
            let (name, description, parameters) = (name.clone(), description.clone(), parameters.clone());
            return Ok(Self::Function { name, description, parameters });
        }
        Ok(Self::Builtin(value))
    }
}

/// The raw provider tools of a request that are valid, and a word about each that was skipped.
pub(crate) fn builtin_tools(request: &ModelRequest) -> (Vec<ResponseTool>, Vec<String>) {
    let list = match request.extra.get("builtin_tools") {
        None | Some(Value::Null) => return (Vec::new(), Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => {
            let tool = summary(other);
            tracing::warn!(%tool, error = "`builtin_tools` must be an array", "skipping built-in tools");
            return (Vec::new(), vec![format!("`builtin_tools` was skipped: it must be an array, found {tool}")]);
        }
    };
    let (mut valid, mut skipped) = (Vec::new(), Vec::new());
    for (index, value) in list.iter().enumerate() {
        match ResponseTool::deserialize(value) {
            Ok(tool) => valid.push(tool),
            Err(error) => {
                let tool = summary(value);
                tracing::warn!(index, %tool, %error, "skipping an invalid built-in tool");
                skipped.push(format!("`builtin_tools[{index}]` was skipped: {error}, found {tool}"));
            }
        }
    }
    (valid, skipped)
}

/// All tools of a request: functions first, then provider tools, each in the order given.
#[cfg(test)]
pub(crate) fn collect_tools(request: &ModelRequest) -> Vec<ResponseTool> {
    let function = |def: &std::sync::Arc<super::super::ToolDef>| ResponseTool::Function {
        name: def.name.to_string(),
        description: def.description.clone(),
        parameters: (*def.parameters).clone(),
    };
    request.tools_defs.iter().map(function).chain(builtin_tools(request).0).collect()
}

/// The shape of a value without what may be secret in it: types and key names, and the `type` it claims.
pub(super) fn summary(value: &Value) -> String {
    let shape = |value: &Value| -> Cow<'static, str> {
        match value {
            Value::Null => "null".into(),
            Value::Bool(_) => "boolean".into(),
            Value::Number(_) => "number".into(),
            Value::String(text) => format!("text of {} characters", text.chars().count()).into(),
            Value::Array(list) => format!("array of {}", list.len()).into(),
            Value::Object(map) => format!("object of {}", map.len()).into(),
        }
    };
    let Value::Object(map) = value else { return shape(value).into_owned() };
    let field = |(key, value): (&String, &Value)| -> String {
        let key: String = key.chars().take(32).collect();
        match value.as_str().filter(|kind| key == "type" && kind.len() <= 64) {
            Some(kind) => format!("{key}: \"{kind}\""),
            None => format!("{key}: {}", shape(value)),
        }
    };
    let mut fields: Vec<String> = map.iter().take(8).map(field).collect();
    if map.len() > 8 {
        fields.push(format!("{} more", map.len() - 8));
    }
    format!("{{{}}}", fields.join(", "))
}

const FUNCTIONS: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::OpenAi, SchemaDialect::OpenAiStrict), write: write_function };

/// A function tool of ours. One that is to be strict, or deferred, goes out as a tool with options.
fn write_function(tool: FunctionTool<'_>) -> Vec<u8> {
    let FunctionTool { name, description, parameters, strict, deferred } = tool;
    let tool = if strict || deferred {
        let mut tool = serde_json::json!({
            "type": "function", "name": name, "description": description, "parameters": parameters, "strict": strict,
        });
        if let Some(tool) = tool.as_object_mut().filter(|_| deferred) {
            tool.insert("defer_loading".to_owned(), Value::Bool(true));
        }
        ResponseTool::Builtin(tool)
    } else {
        ResponseTool::Function { name: name.to_owned(), description: description.to_owned(), parameters }
    };
    let mut out = Vec::new();
    json::value(&mut out, &tool);
    out
}

#[cfg(test)]
pub(super) mod tests;
