//! What holds for requests to every provider through every wire format it offers.

mod choice;
mod hosted;
mod past;
mod schemas;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    super::dialect,
    kit::{self, End, Say},
};
use crate::{
    llm::{
        AllowedTools, ChoiceWord, Conversation, Dialect, Echo, HostedTool, ModelRequest, OnUnsupported, Profile,
        Target, ToolChoice, ToolDef, Wire, WireError, intent_of_hosted, mend, names::NameRule,
    },
    types::{Api, Entry, FunctionCall, HostedKind, Item, Origin, Part, Reply, Stop, ToolResult, UserPart},
};

/// Every way to every provider that is shipped.
fn ways() -> Vec<(Box<dyn Dialect>, Target)> {
    let of = |profile: &'static Profile| profile.apis.keys().map(move |api| way(profile, *api, None));
    let all: Vec<_> = Profile::shipped().iter().flat_map(of).collect();
    assert!(all.len() > 15, "{}", all.len());
    all
}

fn way(profile: &Profile, api: Api, model: Option<&str>) -> (Box<dyn Dialect>, Target) {
    let own = profile.default_model.clone();
    let model = model.map(|model| model.parse().unwrap()).or(own).unwrap_or_else(|| "local-model".parse().unwrap());
    (dialect(api).unwrap(), Target::new(profile, api, model).unwrap())
}

fn named(target: &Target) -> String {
    format!("{} {}", target.origin.provider, target.origin.api)
}

fn def(name: &str, parameters: Value) -> Arc<ToolDef> {
    let (name, description) = (name.parse().unwrap(), format!("What {name} does."));
    Arc::new(ToolDef { name, description, parameters: Arc::new(parameters), strict: false, deferred: false })
}

fn lookup() -> Arc<ToolDef> {
    def("lookup_order", json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}))
}

fn send(
    (dialect, target): &(Box<dyn Dialect>, Target),
    request: &ModelRequest,
    entries: Vec<Entry>,
) -> Result<(Value, Wire), WireError> {
    let wire = dialect.build(request, target, &mut Conversation::from(entries))?;
    let body = serde_json::from_slice(&wire.body).unwrap_or_else(|error| panic!("{}: {error}", named(target)));
    Ok((body, wire))
}

fn body(way: &(Box<dyn Dialect>, Target), request: &ModelRequest, entries: Vec<Entry>) -> Value {
    send(way, request, entries).unwrap_or_else(|error| panic!("{}: {error}", named(&way.1))).0
}

fn hello() -> Entry {
    Entry::User(vec![UserPart::Text("Go ahead.".to_owned())])
}

/// The tools of a body, wherever the format has them.
fn tools(body: &Value) -> Vec<Value> {
    let list = [body.get("tools"), body.pointer("/parameters/tools")].into_iter().flatten().next();
    list.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The functions of a body: name and schema.
fn functions(body: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for tool in tools(body) {
        let list = tool.get("functionDeclarations").and_then(Value::as_array).cloned();
        for tool in list.unwrap_or_else(|| vec![tool]) {
            let function = tool.get("function").unwrap_or(&tool);
            let schema = function.get("parameters").or(function.get("input_schema"));
            if let (Some(name), Some(schema)) = (function.get("name").and_then(Value::as_str), schema) {
                found.push((name.to_owned(), schema.clone()));
            }
        }
    }
    found
}

/// Everything in a body that says something about tools and is no tool.
fn about_tools(body: &Value) -> Vec<String> {
    const NAMES: [&str; 6] =
        ["tool_choice", "parallel_tool_calls", "toolConfig", "tool_config", "disable_parallel_tool_use", "tools"];
    let mut found = Vec::new();
    if let Value::Object(fields) = body {
        for (name, value) in fields {
            if NAMES.contains(&name.as_str()) {
                found.push(name.clone());
            }
            // Not what the conversation says.
            if !matches!(name.as_str(), "input" | "inputs" | "messages" | "contents") {
                found.extend(about_tools(value));
            }
        }
    }
    found
}

fn call(id: &str, name: &str, arguments: &str) -> FunctionCall {
    FunctionCall { provider_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned(), complete: true }
}

fn result(id: &str, name: &str) -> ToolResult {
    let content = format!("result of {id}");
    ToolResult { provider_id: id.to_owned(), name: name.to_owned(), content, is_error: false, images: Vec::new() }
}

/// A reply of a provider that is none of the shipped ones.
fn foreign(parts: Vec<Part>) -> Reply {
    let origin = Origin {
        provider: "elsewhere".parse().unwrap(),
        api: Api::Chat,
        model: "m".parse().unwrap(),
        family: "elsewhere".to_owned(),
    };
    Reply {
        origin,
        id: None,
        items: parts.into_iter().map(Item::local).collect(),
        stop: Stop::ToolCalls,
        usage: None,
        notices: Vec::new(),
        carry: None,
    }
}

/// A reply of the target's own.
fn own(target: &Target, says: &[Say]) -> Reply {
    let body = kit::whole(target.origin.api, says, End::Natural).to_string();
    let reply = kit::parse(target.origin.api, body.as_bytes()).unwrap();
    Reply { origin: (*target.origin).clone(), ..reply }
}
