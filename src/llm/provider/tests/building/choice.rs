//! The choice of tools.

use pretty_assertions::assert_eq;

use super::*;

/// DEV-K04: each form of the choice is spelt as the provider spells it, and `auto` again after the first call says
/// nothing, so that a model that has its results can answer.
#[test]
fn a_choice_is_spelt_and_auto_says_nothing() {
    let request = |choice: ToolChoice| ModelRequest {
        tools_defs: vec![lookup(), def("other", json!({"type": "object"}))],
        tool_choice: choice,
        ..ModelRequest::default()
    };
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let choice = |choice: ToolChoice| {
            let body = send(&way, &request(choice), vec![hello()]).ok()?.0;
            let places = [
                "/tool_choice",
                "/parameters/tool_choice",
                "/completion_args/tool_choice",
                "/generation_config/tool_choice",
                "/toolConfig/functionCallingConfig",
            ];
            places.iter().find_map(|place| body.pointer(place).cloned()).or(Some(Value::Null))
        };
        let api = target.origin.api;
        let word = |word: &str| match api {
            Api::Messages => json!({"type": word.replace("required", "any")}),
            Api::GenerateContent => json!({"mode": word.replace("required", "any").to_ascii_uppercase()}),
            Api::Interactions => json!(word.replace("required", "any")),
            Api::Responses | Api::Chat | Api::Conversations | Api::Generation | Api::Local => json!(word),
        };
        assert_eq!(choice(ToolChoice::Auto), Some(Value::Null), "{place}");
        let required = target.api.supports(&ToolChoice::Required).then(|| word("required"));
        assert_eq!(choice(ToolChoice::Required), required, "{place}");
        let by_name = match api {
            Api::Responses => json!({"type": "function", "name": "lookup_order"}),
            Api::Chat | Api::Generation => json!({"type": "function", "function": {"name": "lookup_order"}}),
            Api::Messages => json!({"type": "tool", "name": "lookup_order"}),
            Api::GenerateContent => json!({"mode": "ANY", "allowedFunctionNames": ["lookup_order"]}),
            Api::Interactions => json!({"allowed_tools": {"mode": "any", "tools": ["lookup_order"]}}),
            Api::Conversations | Api::Local => Value::Null,
        };
        let name = ToolChoice::Named("lookup_order".parse().unwrap());
        let named = target.api.supports(&name).then_some(by_name);
        assert_eq!(choice(name), named, "{place}");
        // Where there is no word for "none", no tool is offered at all.
        let none = body(&way, &request(ToolChoice::None), vec![hello()]);
        let said = choice(ToolChoice::None).filter(|said| !said.is_null());
        assert!(said == Some(word("none")) || functions(&none).is_empty(), "{place}: {none}");
    }
}

/// The choice among some of the tools: said where the provider has a word for it, with all tools in place; elsewhere the
/// others are left out. Either way the model can use these and no others.
#[test]
fn a_choice_among_some_tools_is_said_or_made_by_leaving_out_the_others() {
    let three = || vec![lookup(), def("refund", json!({"type": "object"})), def("other", json!({"type": "object"}))];
    let allowed = |required| {
        let tools = vec!["lookup_order".parse().unwrap(), "refund".parse().unwrap()];
        ToolChoice::Allowed(AllowedTools { tools, required })
    };
    let (mut said, mut left_out) = (0, 0);
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        for required in [false, true] {
            let request =
                ModelRequest { tools_defs: three(), tool_choice: allowed(required), ..ModelRequest::default() };
            let Ok((body, _)) = send(&way, &request, vec![hello()]) else {
                assert!(required && !target.api.supports(&ToolChoice::Required), "{place}");
                continue;
            };
            let text = body.to_string();
            let sent: Vec<String> = functions(&body).into_iter().map(|(name, _)| name).collect();
            if target.api.tool_choice.contains(&ChoiceWord::Allowed) {
                said += 1;
                let listed = match (target.origin.api, required) {
                    (Api::Responses, false) => {
                        r#""tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"lookup_order"},{"type":"function","name":"refund"}]}"#
                    }
                    (Api::Responses, true) => r#""type":"allowed_tools","mode":"required""#,
                    (Api::Chat, _) => r#""type":"allowed_tools","allowed_tools":{"mode":""#,
                    (Api::GenerateContent, false) => {
                        r#"{"mode":"VALIDATED","allowedFunctionNames":["lookup_order","refund"]}"#
                    }
                    (Api::GenerateContent, true) => r#""mode":"ANY","allowedFunctionNames""#,
                    (_, false) => r#"{"allowed_tools":{"mode":"validated","tools":["lookup_order","refund"]}}"#,
                    (_, true) => r#"{"allowed_tools":{"mode":"any","tools""#,
                };
                assert!(text.contains(listed), "{place}: {text}");
                assert_eq!(sent.len(), 3, "{place}: {text}");
            } else {
                left_out += 1;
                assert_eq!(sent, ["lookup_order", "refund"], "{place}: {text}");
                assert_eq!(about_tools(&body).contains(&"tool_choice".to_owned()), required, "{place}: {text}");
            }
        }
        let unknown = AllowedTools { tools: vec!["no_such".parse().unwrap()], required: false };
        let request =
            ModelRequest { tools_defs: three(), tool_choice: ToolChoice::Allowed(unknown), ..ModelRequest::default() };
        let error = send(&way, &request, vec![hello()]).unwrap_err();
        assert_eq!(error, WireError::UnknownChoice { name: "no_such".to_owned() }, "{place}");
        let none = ToolChoice::Allowed(AllowedTools::default());
        let request = ModelRequest { tools_defs: three(), tool_choice: none, ..ModelRequest::default() };
        let forbidden = ModelRequest { tool_choice: ToolChoice::None, ..request.clone() };
        assert_eq!(body(&way, &request, vec![hello()]), body(&way, &forbidden, vec![hello()]), "{place}");
    }
    assert!(said > 5 && left_out > 10, "{said} {left_out}");
}

/// Hosted tools among those that may be used, or not, by kind or by type.
#[test]
fn hosted_tools_may_be_among_the_tools_that_are_allowed() {
    for (provider, api, listed) in [
        ("openai", Api::Responses, Some(r#"[{"type":"function","name":"lookup_order"},{"type":"web_search"}]"#)),
        ("anthropic", Api::Messages, None),
        ("gemini", Api::GenerateContent, None),
        ("mistral", Api::Conversations, None),
    ] {
        let way = way(Profile::by_name(provider).unwrap(), api, None);
        for name in ["web_search", "search"] {
            let tools = vec!["lookup_order".parse().unwrap(), name.parse().unwrap()];
            let request = ModelRequest {
                tools_defs: vec![lookup(), def("other", json!({"type": "object"}))],
                hosted: vec![HostedTool::new(HostedKind::Search), HostedTool::new(HostedKind::Code)],
                tool_choice: ToolChoice::Allowed(AllowedTools { tools, required: false }),
                ..ModelRequest::default()
            };
            let sent = send(&way, &request, vec![hello()]);
            if api == Api::GenerateContent && name == "web_search" {
                // No tool of that name there.
                assert!(matches!(sent, Err(WireError::UnknownChoice { .. })), "{provider}");
                continue;
            }
            let body = sent.unwrap_or_else(|error| panic!("{provider} {name}: {error}")).0;
            match listed {
                Some(listed) => {
                    assert!(body.to_string().contains(listed), "{provider} {name}: {body}");
                    assert_eq!(tools_of(&body), 4, "{provider} {name}: {body}");
                }
                None => assert_eq!(tools_of(&body), 2, "{provider} {name}: {body}"),
            }
        }
    }
}

fn tools_of(body: &Value) -> usize {
    tools(body).len()
}
