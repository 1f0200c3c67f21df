use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;
use crate::{
    llm::{OnUnsupported, Profile, ToolChoice, ToolDef},
    types::{Api, Entry, ToolName, UserPart},
};

pub(in super::super) fn target() -> Target {
    Target::new(Profile::by_name("openai").unwrap(), Api::Responses, "gpt-5.6".parse().unwrap()).unwrap()
}

pub(in super::super) fn tool(name: &str) -> Arc<ToolDef> {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where"}},
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

fn request(tools: &[&str], builtin: Option<Value>) -> ModelRequest {
    let mut request =
        ModelRequest { tools_defs: tools.iter().map(|name| tool(name)).collect(), ..ModelRequest::default() };
    if let Some(builtin) = builtin {
        request.extra.insert("builtin_tools".to_owned(), builtin);
    }
    request
}

fn hello() -> Conversation {
    Conversation::from(vec![Entry::User(vec![UserPart::Text("hello".to_owned())])])
}

fn build(request: &ModelRequest) -> Result<Value, WireError> {
    let wire = OpenAiResponses::default().build(request, &target(), &mut hello())?;
    Ok(serde_json::from_slice(&wire.body).unwrap())
}

/// What is logged while `work` runs, as `LEVEL message field=value …`.
fn logged(work: impl FnOnce()) -> Vec<String> {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);
    struct Line(String);
    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            if field.name() == "message" {
                self.0.push_str(&format!(" {value:?}"));
            } else {
                self.0.push_str(&format!(" {}={value:?}", field.name()));
            }
        }
    }
    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), work);
    log.0.lock().unwrap().clone()
}

#[test]
fn test_builtin_only() {
    let builtin = json!([
        {"type": "web_search", "filters": {"allowed_domains": ["docs.example.org"]}, "search_context_size": "low"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ]);
    let body = build(&request(&[], Some(builtin.clone()))).unwrap();
    assert_eq!(body["tools"], builtin);
    assert_eq!(body.get("builtin_tools"), None);
}

#[test]
fn test_mixed_tools() {
    let builtin = json!([{"type": "web_search"}, {"type": "function", "name": "raw", "strict": true}]);
    let request = request(&["zeta", "alpha"], Some(builtin));
    let body = build(&request).unwrap();
    let kinds: Vec<(&str, Option<&str>)> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["type"].as_str().unwrap(), tool.get("name").and_then(Value::as_str)))
        .collect();
    let function = |name| ("function", Some(name));
    assert_eq!(kinds, [function("zeta"), function("alpha"), ("web_search", None), function("raw")]);
    assert_eq!(serde_json::to_value(collect_tools(&request)).unwrap(), body["tools"]);
}

#[test]
fn test_no_tools() {
    for request in [request(&[], None), request(&[], Some(json!([])))] {
        let body = build(&request).unwrap();
        assert_eq!(body.get("tools"), None);
    }
}

#[test]
fn test_invalid_builtin() {
    let secret = "sk-very-secret";
    let list = json!([
        "web_search",
        {"type": 7, "key": secret},
        {"name": "no_type"},
        {"type": "function"},
        {"type": "function", "name": ""},
        null,
        {"type": "web_search"},
    ]);
    let mut body = Value::Null;
    let lines = logged(|| body = build(&request(&["alpha"], Some(list))).unwrap());
    let names: Vec<&str> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["type"].as_str().unwrap()).collect();
    assert_eq!(names, ["function", "web_search"]);
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with("WARN ") && !line.contains(secret)), "{lines:#?}");
    assert!(lines[1].contains("{type: number, key: text of 14 characters}"), "{}", lines[1]);

    let lines = logged(|| body = build(&request(&[], Some(json!({"type": "web_search"})))).unwrap());
    assert_eq!(body.get("tools"), None);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].contains("must be an array"), "{}", lines[0]);
}

#[test]
fn test_function_wire_format() {
    let body =
        OpenAiResponses::default().build(&request(&["get_weather"], None), &target(), &mut hello()).unwrap().body;
    let text = String::from_utf8(body.to_vec()).unwrap();
    let function = r#""tools":[{"type":"function","name":"get_weather","description":"Does get_weather.","parameters":{"type":"object","properties":{"city":{"type":"string","description":"Where"}},"required":["city"],"additionalProperties":false}}]"#;
    assert!(text.contains(function), "{text}");
}

#[test]
fn test_builtin_roundtrip() {
    for text in [
        r#"{"type":"web_search","user_location":{"type":"approximate","country":"DE"},"x_new":[0.10,12345678901234567890123]}"#,
        r#"{"type":"mcp","server_label":"s","server_url":"https://mcp.example/","require_approval":"never"}"#,
        r#"{"type":"function","name":"f","description":"d","parameters":{},"strict":true}"#,
        r#"{"type":"function","name":"f","parameters":{},"defer_loading":true,"description":"d"}"#,
        r#"{"type":"function","name":"f"}"#,
        r#"{"type":"function","name":"f","description":null,"parameters":{}}"#,
    ] {
        let tool: ResponseTool = serde_json::from_str(text).unwrap();
        assert!(matches!(tool, ResponseTool::Builtin(_)), "{text}");
        assert_eq!(serde_json::to_string(&tool).unwrap(), text);
    }
    let plain = r#"{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}"#;
    let tool: ResponseTool = serde_json::from_str(plain).unwrap();
    let expected = ResponseTool::Function {
        name: "f".to_owned(),
        description: "d".to_owned(),
        parameters: json!({"type": "object"}),
    };
    assert_eq!(tool, expected);
    assert_eq!(serde_json::to_string(&tool).unwrap(), plain);
}

#[test]
fn a_value_that_is_no_tool_does_not_deserialize() {
    for text in ["null", "[]", "\"web_search\"", "{}", r#"{"type":null}"#, r#"{"type":"function","name":7}"#] {
        assert!(serde_json::from_str::<ResponseTool>(text).is_err(), "{text}");
    }
}

/// DEV-A05
#[test]
fn provider_tools_are_added_to_functions_and_equal_names_are_refused() {
    let search = json!([{"type": "web_search"}]);
    assert_eq!(build(&request(&["lookup_order"], Some(search))).unwrap()["tools"].as_array().unwrap().len(), 2);
    let twice = json!([{"type": "function", "name": "lookup_order"}]);
    let error = build(&request(&["lookup_order"], Some(twice))).unwrap_err();
    assert_eq!(
        error,
        WireError::DuplicateTool { name: "lookup_order".to_owned(), place: "in `extra.builtin_tools`".to_owned() }
    );
    assert!(error.to_string().starts_with("duplicate_tool"), "{error}");
    let error = build(&request(&["a", "a"], None)).unwrap_err();
    assert_eq!(error, WireError::DuplicateTool { name: "a".to_owned(), place: "`tools_defs[1]`".to_owned() });
    let mut replacing = request(&["a"], None);
    replacing.extra.insert("tools".to_owned(), json!([]));
    assert!(matches!(build(&replacing), Err(WireError::ReservedField { .. })));
}

/// DEV-A04
#[test]
fn without_a_tool_no_parameter_about_tools_is_sent() {
    let request = ModelRequest {
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(true),
        ..request(&[], Some(json!([3])))
    };
    let body = build(&request).unwrap();
    for name in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert_eq!(body.get(name), None, "{name}");
    }
}

/// DEV-A02
#[test]
fn a_provider_tool_on_a_target_without_any_is_refused_or_dropped_aloud() {
    let deepseek =
        Target::new(Profile::by_name("deepseek").unwrap(), Api::Responses, "deepseek-flash".parse().unwrap());
    let deepseek = deepseek.unwrap();
    let mut asked = request(&["f"], Some(json!([{"type": "web_search"}])));
    let error = OpenAiResponses::default().build(&asked, &deepseek, &mut hello()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported_tool: `builtin_tools[0]` of type `web_search` cannot be sent to `deepseek` through `responses`; \
         choose another candidate for the intent or allow it to be dropped"
    );
    asked.on_unsupported = OnUnsupported::Drop;
    let wire = OpenAiResponses::default().build(&asked, &deepseek, &mut hello()).unwrap();
    assert_eq!(wire.reading.notices, [format!("{error}; it was dropped")]);
}

#[test]
fn a_choice_names_functions_and_hosted_tools_and_nothing_else() {
    let choose = |name: &str| {
        let tools = request(&["orders.get_by_id"], Some(json!([{"type": "web_search"}])));
        build(&ModelRequest { tool_choice: ToolChoice::Named(name.parse().unwrap()), ..tools })
            .map(|body| body["tool_choice"].clone())
    };
    assert_eq!(choose("orders.get_by_id"), Ok(json!({"type": "function", "name": "orders_get_by_id"})));
    assert_eq!(choose("web_search"), Ok(json!({"type": "web_search"})));
    assert_eq!(choose("other"), Err(WireError::UnknownChoice { name: "other".to_owned() }));
}

#[test]
fn a_whole_request_looks_like_this() {
    let mut request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tool_choice: ToolChoice::Required,
        parallel_tool_calls: Some(false),
        max_output_tokens: Some(500),
        reasoning_effort: Some("low".to_owned()),
        response_schema: Some(("answer".to_owned(), json!({"type": "object"}))),
        stream: true,
        ..request(&["orders.get_by_id"], Some(json!([{"type": "web_search"}])))
    };
    request.extra.insert("service_tier".to_owned(), json!("flex"));
    request.extra.insert("metadata".to_owned(), json!({"a": "b"}));
    let wire = OpenAiResponses::default().build(&request, &target(), &mut hello()).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}
