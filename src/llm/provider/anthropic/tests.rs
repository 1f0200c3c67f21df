use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::{
    llm::{HostedTool, Profile, ToolChoice, ToolDef},
    types::{Api, HostedKind, Stop, ToolName, ToolResult, UserPart},
};

pub(super) fn target() -> Target {
    target_for("claude-opus-5-5")
}

fn target_for(model: &str) -> Target {
    Target::new(Profile::by_name("anthropic").unwrap(), Api::Messages, model.parse().unwrap()).unwrap()
}

pub(super) fn reading() -> Reading {
    Reading::of((*target().origin).clone())
}

pub(super) fn tool(name: &str) -> Arc<ToolDef> {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where", "minLength": 2}, "day": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    Arc::new(ToolDef {
        name: ToolName::new(name).unwrap(),
        description: format!("Does {name}."),
        parameters: Arc::new(parameters),
        strict: false,
        deferred: false,
    })
}

pub(super) fn user(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

pub(super) fn result(id: &str, name: &str, content: &str) -> ToolResult {
    let text = str::to_owned;
    ToolResult { provider_id: text(id), name: text(name), content: text(content), is_error: false, images: Vec::new() }
}

fn wire(request: &ModelRequest, target: &Target, entries: Vec<Entry>) -> Result<(Value, Wire), WireError> {
    let wire = AnthropicMessages::default().build(request, target, &mut Conversation::from(entries))?;
    Ok((serde_json::from_slice(&wire.body).unwrap(), wire))
}

fn body(request: &ModelRequest) -> Value {
    wire(request, &target(), vec![user("hello")]).unwrap().0
}

fn with_tools(tools: &[&str], builtin: Option<Value>) -> ModelRequest {
    let mut request =
        ModelRequest { tools_defs: tools.iter().map(|name| tool(name)).collect(), ..ModelRequest::default() };
    request.extra.extend(builtin.map(|builtin| ("builtin_tools".to_owned(), builtin)));
    request
}

#[test]
fn a_whole_request_looks_like_this() {
    let strict = Arc::new(ToolDef { strict: true, deferred: true, ..(*tool("orders.find")).clone() });
    let mut request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tools_defs: vec![tool("weather.get"), strict],
        hosted: vec![HostedTool {
            params: json!({"allowed_domains": ["docs.example.org"], "max_uses": 2, "location": {"country": "NO"}})
                .as_object()
                .unwrap()
                .clone(),
            ..HostedTool::new(HostedKind::Search)
        }],
        tool_choice: ToolChoice::Named(ToolName::new("orders.find").unwrap()),
        parallel_tool_calls: Some(false),
        max_output_tokens: Some(500),
        reasoning_effort: Some("low".to_owned()),
        stream: true,
        ..ModelRequest::default()
    };
    request.extra.insert("builtin_tools".to_owned(), json!([{"type": "bash_20250124", "name": "bash"}]));
    request.extra.insert("metadata".to_owned(), json!({"user_id": "u-1"}));
    let (_, wire) = wire(&request, &target(), vec![user("What is the weather?")]).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
    assert_eq!(wire.headers, BTreeMap::new());
    assert_eq!(wire.reading.notices, Vec::<String>::new());
}

#[test]
fn what_is_required_is_always_sent() {
    assert_eq!(
        body(&ModelRequest::default()),
        json!({
            "model": "claude-opus-5-5",
            "cache_control": {"type": "ephemeral"},
            "max_tokens": 16384,
            "messages": [{"content": [{"type": "text", "text": "hello"}], "role": "user"}],
        })
    );
    let mut bare = target();
    bare.fields.clear();
    assert_eq!(wire(&ModelRequest::default(), &bare, vec![user("x")]).unwrap().0["max_tokens"], 8192);
}

/// DEV-A05, S0: functions first, then the raw tools as they are; equal names are an error.
#[test]
fn raw_tools_are_added_and_never_replace_functions() {
    let raw = json!([
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": null, "x": 0.10},
        "nonsense",
        {"name": "no_type"},
        {"type": "custom", "name": "own", "input_schema": {"type": "object"}},
    ]);
    let request = with_tools(&["zeta", "alpha"], Some(raw.clone()));
    let (sent, wire) = wire(&request, &target(), vec![user("x")]).unwrap();
    let tools = sent["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["zeta", "alpha", "web_search", "own"]);
    assert_eq!((&tools[2], &tools[3]), (&raw[0], &raw[3]));
    assert_eq!(wire.reading.notices.len(), 2);

    let twice = with_tools(&["web_search"], Some(json!([{"type": "web_search_20250305", "name": "web_search"}])));
    let error = self::wire(&twice, &target(), vec![user("x")]).unwrap_err();
    assert!(matches!(&error, WireError::DuplicateTool { name, .. } if name == "web_search"), "{error}");
}

/// DEV-A04: no tool, no parameter about tools.
#[test]
fn without_tools_nothing_about_tools_is_sent() {
    let request = ModelRequest {
        parallel_tool_calls: Some(false),
        tool_choice: ToolChoice::None,
        ..with_tools(&[], Some(json!([])))
    };
    let sent = body(&request);
    assert_eq!((sent.get("tools"), sent.get("tool_choice")), (None, None));
}

#[test]
fn each_choice_has_its_form() {
    let named = |name: &str| ToolChoice::Named(ToolName::new(name).unwrap());
    let search = json!([{"type": "web_search_20260318", "name": "web_search"}]);
    let cases = [
        (ToolChoice::Auto, None, Value::Null),
        (ToolChoice::Auto, Some(true), Value::Null),
        (ToolChoice::Auto, Some(false), json!({"type": "auto", "disable_parallel_tool_use": true})),
        (ToolChoice::None, Some(false), json!({"type": "none"})),
        (ToolChoice::Required, None, json!({"type": "any"})),
        (ToolChoice::Required, Some(false), json!({"type": "any", "disable_parallel_tool_use": true})),
        (named("a.b"), None, json!({"type": "tool", "name": "a_b"})),
        (named("web_search"), None, json!({"type": "tool", "name": "web_search"})),
        (named("web_search_20260318"), None, json!({"type": "tool", "name": "web_search"})),
    ];
    for (choice, parallel, expected) in cases {
        let request = ModelRequest {
            tool_choice: choice.clone(),
            parallel_tool_calls: parallel,
            ..with_tools(&["a.b"], Some(search.clone()))
        };
        assert_eq!(body(&request).get("tool_choice").unwrap_or(&Value::Null), &expected, "{choice:?} {parallel:?}");
    }
    let lost = ModelRequest { tool_choice: named("gone"), ..with_tools(&["a.b"], None) };
    assert!(matches!(wire(&lost, &target(), vec![user("x")]), Err(WireError::UnknownChoice { .. })));
}

/// DEV-A02: a choice never changes its meaning in silence.
#[test]
fn a_fixed_thinking_budget_rules_out_a_forced_choice() {
    let request = |thinking: Value, choice, on_unsupported| {
        let mut request = ModelRequest { tool_choice: choice, on_unsupported, ..with_tools(&["a"], None) };
        request.extra.insert("thinking".to_owned(), thinking);
        request
    };
    let fixed = json!({"type": "enabled", "budget_tokens": 2048});
    let forced = request(fixed.clone(), ToolChoice::Required, OnUnsupported::Error);
    assert!(matches!(wire(&forced, &target(), vec![user("x")]), Err(WireError::UnsupportedChoice { .. })));
    let dropped = request(fixed.clone(), ToolChoice::Required, OnUnsupported::Drop);
    let (sent, wire) = wire(&dropped, &target(), vec![user("x")]).unwrap();
    assert_eq!((sent.get("tool_choice"), wire.reading.notices.len()), (None, 1));
    let none = body(&request(fixed, ToolChoice::None, OnUnsupported::Error));
    assert_eq!(none["tool_choice"], json!({"type": "none"}));
    let adaptive = body(&request(json!({"type": "adaptive"}), ToolChoice::Required, OnUnsupported::Error));
    assert_eq!(adaptive["tool_choice"], json!({"type": "any"}));
    // A toolset has no name by which it could be chosen.
    let toolset = ModelRequest {
        tool_choice: ToolChoice::Named(ToolName::new("browser_toolset_20260801").unwrap()),
        ..with_tools(&[], Some(json!([{"type": "browser_toolset_20260801"}])))
    };
    assert!(matches!(self::wire(&toolset, &target(), vec![user("x")]), Err(WireError::UnsupportedChoice { .. })));
}

#[test]
fn a_beta_is_named_where_something_needs_it() {
    let server = json!({"label": "docs", "url": "https://mcp.example.org", "authorization": "t"});
    let mut request = ModelRequest {
        hosted: vec![HostedTool {
            params: json!({"server": server}).as_object().unwrap().clone(),
            ..HostedTool::new(HostedKind::Mcp)
        }],
        ..ModelRequest::default()
    };
    request.extra.insert("betas".to_owned(), json!(["mcp-client-2026-09-15", "files-api-2025-04-14"]));
    request.extra.insert("context_management".to_owned(), json!({"edits": []}));
    request.extra.insert("container".to_owned(), json!({"skills": [{"type": "anthropic", "skill_id": "pptx"}]}));
    let (sent, wire) = wire(&request, &target(), vec![user("x")]).unwrap();
    assert_eq!(
        wire.headers.get("anthropic-beta").unwrap(),
        "mcp-client-2025-11-20,files-api-2025-04-14,context-management-2025-06-27,skills-2025-10-02"
    );
    assert_eq!(sent.get("betas"), None);
    assert_eq!(sent["tools"], json!([{"type": "mcp_toolset", "mcp_server_name": "docs"}]));
    let url = "https://mcp.example.org";
    assert_eq!(sent["mcp_servers"], json!([{"type": "url", "name": "docs", "url": url, "authorization_token": "t"}]));
    let computer = with_tools(&[], Some(json!([{"type": "computer_20250124", "name": "computer"}])));
    let (_, wire) = self::wire(&computer, &target(), vec![user("x")]).unwrap();
    assert_eq!(wire.headers.get("anthropic-beta").unwrap(), "computer-use-2025-01-24");
}

#[test]
fn effort_and_answer_schema_share_their_object() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    let request = ModelRequest {
        reasoning_effort: Some("max".to_owned()),
        response_schema: Some(("answer".to_owned(), schema)),
        ..ModelRequest::default()
    };
    let expected = json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "(minimum: 1)"}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let sent = body(&request);
    assert_eq!(sent["output_config"]["effort"], "max");
    assert_eq!(sent["output_config"]["format"], json!({"type": "json_schema", "schema": expected}));
}

#[test]
fn a_temperature_is_left_out_with_a_word_about_it() {
    let request = ModelRequest { temperature: Some(0.5), ..ModelRequest::default() };
    let (sent, wire) = wire(&request, &target(), vec![user("x")]).unwrap();
    assert_eq!(sent.get("temperature"), None);
    assert_eq!(wire.reading.notices, ["the temperature was left out: the provider refuses it"]);
}

/// DEV-A06: the container comes back with the next request, whatever else the request says of it.
#[test]
fn the_container_of_the_last_reply_is_used_again() {
    let reply = |id: &str| {
        let body = json!({
            "type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn",
            "container": {"id": id, "expires_at": "2026-12-30T00:00:00Z"},
        });
        Entry::Reply(Arc::new(reply::parse(body.to_string().as_bytes(), &reading()).unwrap()))
    };
    let entries = || vec![user("a"), reply("c1"), user("b"), reply("c2"), user("c")];
    let sent = |container: Option<Value>| {
        let mut request = ModelRequest::default();
        request.extra.extend(container.map(|container| ("container".to_owned(), container)));
        wire(&request, &target(), entries()).unwrap().0.get("container").cloned()
    };
    assert_eq!(sent(None), Some(json!("c2")));
    assert_eq!(sent(Some(json!({"skills": []}))), Some(json!({"skills": [], "id": "c2"})));
    assert_eq!(sent(Some(json!("mine"))), Some(json!("mine")));
    assert_eq!(sent(Some(Value::Null)), Some(Value::Null));
    let mut other = target();
    other.origin = Arc::new(crate::types::Origin { provider: "gateway".parse().unwrap(), ..(*other.origin).clone() });
    assert_eq!(wire(&ModelRequest::default(), &other, entries()).unwrap().0.get("container"), None);
}

/// DEV-D01, DEV-D05: a tool that cannot be described is withheld, no other one is; names fit.
#[test]
fn a_bad_tool_is_withheld_alone() {
    let bad = Arc::new(ToolDef { parameters: Arc::new(json!({"type": "string"})), ..(*tool("bad")).clone() });
    let request = ModelRequest { tools_defs: vec![bad, tool("ns:act/now")], ..ModelRequest::default() };
    let (sent, wire) = wire(&request, &target(), vec![user("x")]).unwrap();
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    assert_eq!(sent["tools"][0]["name"], "ns_act_now");
    assert_eq!(wire.reading.original("ns_act_now"), "ns:act/now");
    assert_eq!(wire.reading.notices.len(), 1);
}

/// DEV-A06: two requests; the second ends with the untouched block.
#[test]
fn a_paused_reply_goes_back_as_it_is() {
    let block = r#"{"type":"server_tool_use","id":"srvtoolu_1", "name":"web_search","input":{"query":"x"}}"#;
    let body = format!(
        r#"{{"type":"message","content":[{{"type":"text","text":"looking"}},{block}],"stop_reason":"pause_turn","container":{{"id":"c9"}}}}"#
    );
    let paused = reply::parse(body.as_bytes(), &reading()).unwrap();
    assert_eq!(paused.stop, Stop::Paused);
    let mut conversation = Conversation::from(vec![user("go"), Entry::Reply(Arc::new(paused))]);
    let wire = AnthropicMessages::default().build(&ModelRequest::default(), &target(), &mut conversation).unwrap();
    let sent = String::from_utf8(wire.body.to_vec()).unwrap();
    assert!(sent.ends_with(&format!(r#",{block}],"role":"assistant"}}]}}"#)), "{sent}");
    assert!(sent.contains(r#""container":"c9""#), "{sent}");
}
