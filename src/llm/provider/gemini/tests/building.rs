//! Requests.

use crate::{
    llm::{HostedTool, OnUnsupported, ToolChoice, ToolDef},
    types::{Item, Origin, ToolResult, UserPart},
};

use pretty_assertions::assert_eq;

use super::*;

fn tool(name: &str) -> Arc<ToolDef> {
    Arc::new(ToolDef {
        name: name.parse().unwrap(),
        description: format!("Does {name}."),
        parameters: Arc::new(json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})),
        strict: false,
        deferred: false,
    })
}

fn request() -> ModelRequest {
    ModelRequest { tools_defs: vec![tool("orders.find"), tool("b")], ..ModelRequest::default() }
}

fn hosted(kinds: &[HostedKind]) -> ModelRequest {
    ModelRequest { hosted: kinds.iter().cloned().map(HostedTool::new).collect(), ..request() }
}

fn try_build(request: &ModelRequest, model: &str, entries: Vec<Entry>) -> Result<Wire, WireError> {
    GeminiGenerateContent::default().build(request, &target(model), &mut Conversation::from(entries))
}

fn build(request: &ModelRequest, model: &str, entries: Vec<Entry>) -> Value {
    serde_json::from_slice(&try_build(request, model, entries).unwrap().body).unwrap()
}

fn says(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

fn result(id: &str, name: &str, content: &str, is_error: bool) -> ToolResult {
    let [provider_id, name, content] = [id, name, content].map(str::to_owned);
    ToolResult { provider_id, name, content, is_error, images: Vec::new() }
}

/// A reply of another provider.
fn foreign(parts: Vec<Part>) -> Entry {
    let origin = Origin {
        provider: "openai".parse().unwrap(),
        api: Api::Chat,
        model: "gpt".parse().unwrap(),
        family: "gpt".to_owned(),
    };
    let items = parts.into_iter().map(Item::local).collect();
    Entry::Reply(Arc::new(Reply {
        origin,
        id: None,
        items,
        stop: Stop::End,
        usage: None,
        notices: Vec::new(),
        carry: None,
    }))
}

#[test]
fn a_whole_request_looks_like_this() {
    let mut request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tool_choice: ToolChoice::Named("orders.find".parse().unwrap()),
        max_output_tokens: Some(500),
        temperature: Some(0.5),
        reasoning_effort: Some("low".to_owned()),
        response_schema: Some(("answer".to_owned(), json!({"type": "object"}))),
        stream: true,
        ..hosted(&[HostedKind::Search])
    };
    request.extra.insert("builtin_tools".to_owned(), json!([{"url_context": {}}, {"type": "code_execution"}]));
    request.extra.insert("generationConfig".to_owned(), json!({"seed": 7, "temperature": 0}));
    request.extra.insert("safetySettings".to_owned(), json!([]));
    let reply = read(&response(
        json!([
            {"functionCall": {"name": "orders_find", "id": "x1", "args": {"q": "ü"}}, "thoughtSignature": "S1"},
            {"functionCall": {"name": "b", "args": {}}},
        ]),
        Some("STOP"),
    ));
    let made = reply.calls().nth(1).unwrap().provider_id.clone();
    let entries = vec![
        Entry::User(vec![
            UserPart::Text("look".to_owned()),
            UserPart::Image { url: "https://example.org/a.png?x=1".to_owned() },
            UserPart::Image { url: "data:image/webp;base64,AAAA".to_owned() },
        ]),
        Entry::Reply(Arc::new(reply)),
        Entry::Results(vec![result("x1", "orders.find", "{\"n\":1}", false), result(&made, "b", "not found", true)]),
        Entry::Notice("Answer now.".to_owned()),
    ];
    let wire = try_build(&request, MODEL, entries).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}

/// DEV-E01, DEV-E03, DEV-A07: after a restart exactly the parts that came go back, each with its signature.
#[test]
fn own_parts_go_back_byte_for_byte_even_from_a_store() {
    let parts = json!([
        {"text": "hm", "thought": true},
        {"functionCall": {"name": "calc", "id": "c", "args": {"n": 1.50}}, "thoughtSignature": "S1"},
        {"functionCall": {"name": "calc", "args": {}}},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}, "thoughtSignature": "S2"},
        {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}, "thoughtSignature": "S3"},
        {"text": "", "thoughtSignature": "S4"},
    ]);
    let mut body = response(parts.clone(), Some("STOP"));
    body["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["x"]});
    let stored = serde_json::to_string(&read(&body)).unwrap();
    let reply: Reply = serde_json::from_str(&stored).unwrap();
    let made = reply.calls().nth(1).unwrap().provider_id.clone();
    let entries = vec![
        says("go"),
        Entry::Reply(Arc::new(reply)),
        Entry::Results(vec![result("c", "calc", "1", false), result(&made, "calc", "2", false)]),
    ];
    let wire = try_build(&request(), MODEL, entries.clone()).unwrap();
    let sent = String::from_utf8(wire.body.to_vec()).unwrap();
    assert!(sent.contains(&format!("{{\"role\":\"model\",\"parts\":{parts}}}")), "{sent}");
    let body: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(
        body["contents"][2],
        json!({"role": "user", "parts": [
            {"functionResponse": {"name": "calc", "id": "c", "response": {"output": "1"}}},
            {"functionResponse": {"name": "calc", "response": {"output": "2"}}},
        ]})
    );
    // To another model nothing opaque goes, but the calls and what was found do.
    let other = build(&request(), "gemini-4-argon", entries);
    assert_eq!(
        other["contents"][1],
        json!({"role": "model", "parts": [
            {"functionCall": {"name": "calc", "args": {"n": 1.50}}, "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": {"name": "calc", "args": {}}},
            {"text": "[web search]\n> x"},
        ]})
    );
}

/// DEV-C02, DEV-B02
#[test]
fn calls_of_others_go_by_name_and_order_with_valid_arguments() {
    let entries = || {
        vec![
            says("go"),
            foreign(vec![
                Part::Reasoning { summary: Some("secret".to_owned()) },
                text("I look."),
                Part::Call(call("functions.read:0", "a/b", "{\"a\":1}", true)),
                Part::Call(call("toolu_01", "b", "file_path=foo", true)),
            ]),
            Entry::Results(vec![result("functions.read:0", "a/b", "1", false), result("toolu_01", "b", "bad", true)]),
        ]
    };
    let modern = build(&request(), MODEL, entries());
    let parts = &modern["contents"][1]["parts"];
    assert_eq!(parts[0], json!({"text": "I look."}));
    assert_eq!(parts[1]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(parts[2], json!({"functionCall": {"name": "b", "args": {}}}));
    let results = &modern["contents"][2]["parts"];
    assert_eq!(results[0]["functionResponse"]["name"], parts[1]["functionCall"]["name"]);
    assert_eq!(results[1], json!({"functionResponse": {"name": "b", "response": {"error": "bad"}}}));
    // Models before Gemini 3 know no such signature.
    let legacy = build(&request(), "gemini-2.5-flash", entries());
    assert_eq!(legacy["contents"][1]["parts"][1].get("thoughtSignature"), None);
}

/// DEV-A01, DEV-A02
#[test]
fn hosted_tools_and_functions_go_together_only_where_they_can() {
    let search = hosted(&[HostedKind::Search, HostedKind::Fetch]);
    let mixed = build(&search, MODEL, vec![says("x")]);
    assert_eq!(mixed["toolConfig"], json!({"includeServerSideToolInvocations": true}));
    assert_eq!(mixed["tools"].as_array().unwrap().len(), 3);
    let mut alone = search.clone();
    alone.tools_defs.clear();
    let body = build(&alone, "gemini-2.5-flash", vec![says("x")]);
    assert_eq!((body.get("toolConfig"), &body["tools"]), (None, &json!([{"googleSearch": {}}, {"urlContext": {}}])));
    let error = try_build(&search, "gemini-2.5-flash", vec![says("x")]).unwrap_err();
    assert!(error.to_string().contains("beside function tools"), "{error}");

    for raw in [json!({"google_search": {}}), json!({"googleSearch": {}}), json!({"type": "google_search"})] {
        let mut raw_request = request();
        raw_request.extra.insert("builtin_tools".to_owned(), json!([raw]));
        assert!(matches!(try_build(&raw_request, "gemini-2.5-pro", vec![]), Err(WireError::UnsupportedHosted { .. })));
        let body = build(&raw_request, MODEL, vec![says("x")]);
        assert_eq!(body["toolConfig"], json!({"includeServerSideToolInvocations": true}), "{raw}");
        raw_request.on_unsupported = OnUnsupported::Drop;
        let wire = try_build(&raw_request, "gemini-2.5-pro", vec![says("x")]).unwrap();
        let body: Value = serde_json::from_slice(&wire.body).unwrap();
        assert_eq!((body["tools"].as_array().unwrap().len(), wire.reading.notices.len()), (1, 1));
        assert_eq!(body.get("toolConfig"), None, "{raw}");
    }
}

#[test]
fn invalid_provider_tools_are_skipped_aloud_and_unknown_ones_pass() {
    let mut request = request();
    request.extra.insert(
        "builtin_tools".to_owned(),
        json!([{"hologram": {"x": 1}}, {"a": {}, "b": {}}, {}, 7, {"googleSearch": true}, {"type": ""}]),
    );
    let wire = try_build(&request, MODEL, vec![says("x")]).unwrap();
    let body: Value = serde_json::from_slice(&wire.body).unwrap();
    assert_eq!((&body["tools"][1], body["tools"].as_array().unwrap().len()), (&json!({"hologram": {"x": 1}}), 2));
    assert_eq!(wire.reading.notices.len(), 5);
    request.extra.insert("builtin_tools".to_owned(), json!("google_search"));
    assert_eq!(try_build(&request, MODEL, vec![]).unwrap().reading.notices.len(), 1);
}

/// DEV-A05
#[test]
fn raw_functions_are_added_and_may_not_take_a_name_twice() {
    let mut request = request();
    let raw = |name: &str| json!([{"functionDeclarations": [{"name": name}]}]);
    request.extra.insert("builtin_tools".to_owned(), raw("orders_find"));
    assert!(matches!(try_build(&request, MODEL, vec![]), Err(WireError::DuplicateTool { .. })));
    request.extra.insert("builtin_tools".to_owned(), raw("c"));
    let body = build(&request, MODEL, vec![]);
    assert_eq!(body["tools"][1], raw("c")[0]);
    request.tools_defs.push(tool("b"));
    assert!(matches!(try_build(&request, MODEL, vec![]), Err(WireError::DuplicateTool { .. })));
}

/// DEV-A02, DEV-A04
#[test]
fn a_choice_is_said_in_full_or_refused() {
    let choose = |request: &ModelRequest, choice| ModelRequest { tool_choice: choice, ..request.clone() };
    let config = |request: &ModelRequest| {
        let body = build(request, MODEL, vec![says("x")]);
        (body.get("toolConfig").cloned(), body.get("tools").is_some())
    };
    let functions = request();
    let said = |mode: Value| Some(json!({"functionCallingConfig": mode}));
    let named = ToolChoice::Named("orders.find".parse().unwrap());
    assert_eq!(config(&functions), (None, true));
    assert_eq!(config(&choose(&functions, ToolChoice::None)), (said(json!({"mode": "NONE"})), true));
    assert_eq!(config(&choose(&functions, ToolChoice::Required)), (said(json!({"mode": "ANY"})), true));
    let only = json!({"mode": "ANY", "allowedFunctionNames": ["orders_find"]});
    assert_eq!(config(&choose(&functions, named)), (said(only), true));
    let mut strict = functions.clone();
    strict.tools_defs = vec![Arc::new(ToolDef { strict: true, ..(*tool("b")).clone() })];
    assert_eq!(config(&strict), (said(json!({"mode": "VALIDATED"})), true));
    // `NONE` would leave hosted tools running.
    let mixed = hosted(&[HostedKind::Search]);
    assert_eq!(config(&choose(&mixed, ToolChoice::None)), (None, false));
    let both = json!({"includeServerSideToolInvocations": true, "functionCallingConfig": {"mode": "ANY"}});
    assert_eq!(config(&choose(&mixed, ToolChoice::Required)), (Some(both), true));
    // Nothing but functions can be forced.
    let mut alone = mixed.clone();
    alone.tools_defs.clear();
    for choice in [ToolChoice::Required, ToolChoice::Named("googleSearch".parse().unwrap())] {
        let forced = choose(&alone, choice);
        assert!(matches!(try_build(&forced, MODEL, vec![]), Err(WireError::UnsupportedChoice { .. })));
        let dropped = ModelRequest { on_unsupported: OnUnsupported::Drop, ..forced };
        assert_eq!(config(&dropped), (None, true));
        assert_eq!(try_build(&dropped, MODEL, vec![]).unwrap().reading.notices.len(), 1);
    }
}

/// DEV-D01, DEV-D03, DEV-D04
#[test]
fn schemas_go_out_in_geminis_form_and_one_bad_tool_is_withheld_alone() {
    let with =
        |name: &str, parameters: Value| Arc::new(ToolDef { parameters: Arc::new(parameters), ..(*tool(name)).clone() });
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    let levels = json!({"type": "object", "properties": {"level": {"enum": [0, 1]}, "ids": {"type": ["array", "null"], "items": {"type": "string"}}}});
    let request = ModelRequest {
        tools_defs: vec![
            with("tree", tree),
            with("levels", levels),
            with("bad", json!({"type": "string"})),
            with("none", json!({})),
        ],
        ..ModelRequest::default()
    };
    let wire = try_build(&request, MODEL, vec![says("x")]).unwrap();
    let body: Value = serde_json::from_slice(&wire.body).unwrap();
    let tools = body["tools"][0]["functionDeclarations"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), ["tree", "levels", "none"]);
    assert!(!tools[0].to_string().contains("$ref"));
    assert_eq!(tools[1]["parameters"]["properties"]["level"], json!({"type": "string", "enum": ["0", "1"]}));
    assert_eq!(tools[1]["parameters"]["properties"]["ids"]["nullable"], true);
    assert_eq!(tools[2]["parameters"]["properties"], json!({}));
    assert_eq!(wire.reading.notices.len(), 1);
}

#[test]
fn thinking_is_a_level_or_a_budget_by_generation() {
    let config = |model, effort: &str| {
        let request = ModelRequest { reasoning_effort: Some(effort.to_owned()), ..ModelRequest::default() };
        build(&request, model, vec![says("x")])["generationConfig"]["thinkingConfig"].clone()
    };
    assert_eq!(config(MODEL, "low"), json!({"thinkingLevel": "LOW"}));
    assert_eq!(config("gemini-2.5-flash", "low"), json!({"thinkingBudget": 1024}));
    assert_eq!(config("gemini-2.5-flash", "512"), json!({"thinkingBudget": 512}));
}

#[test]
fn a_schema_of_the_answer_beside_functions_is_refused_where_the_model_would() {
    let schema = Some(("a".to_owned(), json!({"type": "object"})));
    let request = ModelRequest { response_schema: schema, ..request() };
    let config = build(&request, MODEL, vec![says("x")])["generationConfig"].clone();
    assert_eq!(config, json!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}));
    assert!(try_build(&request, "gemini-2.5-flash", vec![]).is_err());
    let dropped = ModelRequest { on_unsupported: OnUnsupported::Drop, ..request };
    assert_eq!(build(&dropped, "gemini-2.5-flash", vec![says("x")]).get("generationConfig"), None);
}

/// DEV-A06: the same request goes out again, with the token, and both replies stay in the history.
#[test]
fn a_paused_reply_is_continued_by_its_token() {
    let mut body = response(json!([{"text": "first"}]), Some("CONTINUATION"));
    body["candidates"][0]["continuationToken"] = "TOKEN".into();
    let paused = read(&body);
    assert_eq!((&paused.stop, paused.carry.as_ref().unwrap().get()), (&Stop::Paused, "\"TOKEN\""));
    let mut conversation = Conversation::from(vec![says("go"), Entry::Reply(Arc::new(paused))]);
    let send = |conversation: &mut Conversation| -> Value {
        let wire = GeminiGenerateContent::default().build(&ModelRequest::default(), &target(MODEL), conversation);
        serde_json::from_slice(&wire.unwrap().body).unwrap()
    };
    let first = json!({"role": "user", "parts": [{"text": "go"}]});
    assert_eq!(send(&mut conversation), json!({"continuationToken": "TOKEN", "contents": [first]}));
    conversation.push(Entry::Reply(Arc::new(read(&response(json!([{"text": "second"}]), Some("STOP"))))));
    let model = |text: &str| json!({"role": "model", "parts": [{"text": text}]});
    assert_eq!(send(&mut conversation), json!({"contents": [first, model("first"), model("second")]}));
}

/// DEV-C04: what is left after trimming begins with the user, and a reply without parts leaves no empty content.
#[test]
fn contents_begin_with_the_user_and_are_never_empty() {
    let empty = read(&json!({"candidates": [{"finishReason": "STOP"}], "responseId": "r"}));
    let blank = read(&response(json!([{"text": ""}]), Some("STOP")));
    let spoke = read(&response(json!([{"text": "a"}]), Some("STOP")));
    let entries = [spoke, empty, blank].map(|reply| Entry::Reply(Arc::new(reply)));
    let body = build(&ModelRequest::default(), MODEL, entries.into_iter().chain([says(""), says("b")]).collect());
    let roles: Vec<&str> = body["contents"].as_array().unwrap().iter().map(|c| c["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user"]);
}

/// DEV-C01: only what was added is written anew, and equal histories give equal bytes.
#[test]
fn a_growing_conversation_gives_the_bytes_of_a_fresh_one() {
    let dialect = GeminiGenerateContent::default();
    let mut grown = Conversation::from(vec![says("one")]);
    dialect.build(&request(), &target(MODEL), &mut grown).unwrap();
    grown.push(Entry::Reply(Arc::new(read(&response(
        json!([{"functionCall": {"name": "b", "args": {}}}]),
        Some("STOP"),
    )))));
    let id = "x";
    grown.push(Entry::Results(vec![result(id, "b", "1", false)]));
    let mut fresh = Conversation::from(grown.entries().to_vec());
    let bytes = |conversation: &mut Conversation| dialect.build(&request(), &target(MODEL), conversation).unwrap().body;
    assert_eq!(bytes(&mut grown), bytes(&mut fresh));
}

#[test]
fn fields_of_the_request_cannot_be_replaced_by_extras() {
    for name in ["contents", "model", "tools", "stream"] {
        let mut request = request();
        request.extra.insert(name.to_owned(), json!([]));
        assert!(matches!(try_build(&request, MODEL, vec![]), Err(WireError::ReservedField { .. })), "{name}");
    }
}
