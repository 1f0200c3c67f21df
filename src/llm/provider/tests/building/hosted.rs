//! Hosted and raw tools beside functions.

use pretty_assertions::assert_eq;

use super::*;

/// DEV-A01: a hosted search beside a function goes out where both go together, with the switch where there is one; it is
/// refused before anything is sent where they do not.
#[test]
fn a_hosted_tool_beside_a_function_is_sent_with_its_switch_or_refused() {
    let search = || vec![HostedTool::new(HostedKind::Search)];
    let mut seen = [0, 0, 0];
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let spelling = target.api.hosted.get(&HostedKind::Search);
        let mixed = ModelRequest {
            tools_defs: vec![lookup()],
            hosted: vec![HostedTool { allow_unconfirmed: true, ..HostedTool::new(HostedKind::Search) }],
            ..ModelRequest::default()
        };
        match (spelling, send(&way, &mixed, vec![hello()])) {
            (None, Err(WireError::UnsupportedHosted { kind, .. })) => {
                seen[0] += 1;
                assert_eq!(kind, "search", "{place}");
            }
            (Some(spelling), Ok((body, _))) => {
                seen[1] += 1;
                assert_eq!(functions(&body).len(), 1, "{place}: {body}");
                let tools = tools(&body).len();
                let by_tool = spelling.tool.is_some();
                assert_eq!(tools, if by_tool { 2 } else { 1 }, "{place}: {body}");
                let switch = body.to_string().contains("includeServerSideToolInvocations");
                assert_eq!(switch, target.origin.api == Api::GenerateContent, "{place}: {body}");
            }
            (spelling, outcome) => panic!("{place}: {spelling:?} {outcome:?}"),
        }
    }
    let gemini = Profile::by_name("gemini").unwrap();
    for api in [Api::GenerateContent, Api::Interactions] {
        let way = way(gemini, api, Some("gemini-2.5-flash"));
        let mixed = ModelRequest { tools_defs: vec![lookup()], hosted: search(), ..ModelRequest::default() };
        let error = send(&way, &mixed, vec![hello()]).unwrap_err().to_string();
        assert!(error.contains("capability_conflict"), "{api}: {error}");
        let alone = ModelRequest { hosted: search(), ..ModelRequest::default() };
        assert!(!body(&way, &alone, vec![hello()]).to_string().contains("Invocations"), "{api}");
        seen[2] += 1;
    }
    assert!(seen.iter().all(|count| *count > 1), "{seen:?}");
}

/// DEV-A02: no tool is dropped in silence, and a choice keeps its meaning or is refused.
#[test]
fn what_cannot_be_sent_is_refused_or_said() {
    let raw = json!([{"type": "frobnicate"}]);
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let kinds = [HostedKind::Search, HostedKind::Code, HostedKind::Maps];
        let wanted = ModelRequest {
            tools_defs: vec![lookup()],
            hosted: kinds.iter().cloned().map(HostedTool::new).collect(),
            extra: Map::from_iter([("builtin_tools".to_owned(), raw.clone())]),
            ..ModelRequest::default()
        };
        let takes = |kind: &HostedKind| target.api.hosted.get(kind).is_some_and(|spelling| !spelling.unconfirmed);
        let lost = kinds.iter().filter(|kind| !takes(kind)).count() + usize::from(!target.api.builtin_tools);
        for on_unsupported in [OnUnsupported::Error, OnUnsupported::Reroute] {
            let outcome = send(&way, &ModelRequest { on_unsupported, ..wanted.clone() }, vec![hello()]);
            assert_eq!(outcome.is_err(), lost > 0, "{place}: {:?}", outcome.map(|it| it.0));
        }
        let drop = ModelRequest { on_unsupported: OnUnsupported::Drop, ..wanted.clone() };
        let (body, wire) = send(&way, &drop, vec![hello()]).unwrap();
        assert_eq!(wire.reading.notices.len(), lost, "{place}: {:?}", wire.reading.notices);
        assert_eq!(functions(&body).len(), 1, "{place}");

        for choice in [ToolChoice::Required, ToolChoice::Named("lookup_order".parse().unwrap())] {
            let forced =
                ModelRequest { tools_defs: vec![lookup()], tool_choice: choice.clone(), ..ModelRequest::default() };
            match send(&way, &forced, vec![hello()]) {
                Ok((body, wire)) => {
                    assert!(target.api.supports(&choice) && wire.reading.notices.is_empty(), "{place} {choice:?}");
                    let said: Vec<String> = about_tools(&body);
                    assert!(said.iter().any(|name| name == "tool_choice" || name == "toolConfig"), "{place}: {body}");
                }
                Err(error) => {
                    assert!(!target.api.supports(&choice), "{place} {choice:?}: {error}");
                    assert!(matches!(error, WireError::UnsupportedChoice { .. }), "{place}: {error}");
                    let drop = ModelRequest { on_unsupported: OnUnsupported::Drop, ..forced };
                    let (body, wire) = send(&way, &drop, vec![hello()]).unwrap();
                    assert_eq!(wire.reading.notices.len(), 1, "{place}");
                    assert!(!about_tools(&body).iter().any(|name| name == "tool_choice"), "{place}: {body}");
                }
            }
        }
    }
}

/// DEV-A03: every spelling of a hosted tool that a profile knows, new, dated and old, goes out as it was given, and is
/// known for what it is.
#[test]
fn every_known_spelling_of_a_hosted_tool_is_sent_as_it_was_given() {
    let mut spellings = 0;
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        if !target.api.builtin_tools {
            continue;
        }
        for (kind, spelling) in &target.api.hosted {
            let Some(tool) = &spelling.tool else { continue };
            let dated = |pattern: &String| pattern.replace('*', "0990101");
            let own = tool.get("type").and_then(Value::as_str).or_else(|| tool.keys().next().map(String::as_str));
            for word in own.map(str::to_owned).into_iter().chain(spelling.also.iter().map(dated)) {
                spellings += 1;
                let raw = if target.origin.api == Api::GenerateContent {
                    json!({&word: if word.starts_with("mcp") { json!([]) } else { json!({}) }})
                } else {
                    json!({"type": word})
                };
                let extra = Map::from_iter([("builtin_tools".to_owned(), json!([raw]))]);
                let request = ModelRequest { extra, ..ModelRequest::default() };
                assert_eq!(tools(&body(&way, &request, vec![hello()])), [raw], "{place} {word}");
                assert!(target.api.spelling_of(&json!({"type": word})).is_some(), "{place} {kind} {word}");
            }
        }
    }
    assert!(spellings > 60, "{spellings}");
    for word in ["web_search_preview", "web_search", "web_search_2025_08_26", "google_search", "web_search_20260318"] {
        assert_eq!(intent_of_hosted(word).unwrap().as_str(), "web.search", "{word}");
    }
    assert_eq!(intent_of_hosted("web_serch"), None);
}

/// DEV-A04: when no tool is left, nothing about tools is left either.
#[test]
fn without_tools_nothing_is_said_about_tools() {
    for way in ways() {
        let place = named(&way.1);
        for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::None] {
            let request = ModelRequest {
                tool_choice: choice.clone(),
                parallel_tool_calls: Some(true),
                on_unsupported: OnUnsupported::Drop,
                hosted: vec![HostedTool::new("no_such_tool".into())],
                ..ModelRequest::default()
            };
            let (body, wire) = send(&way, &request, vec![hello()]).unwrap();
            assert_eq!(about_tools(&body), [""; 0], "{place} {choice:?}: {body}");
            assert_eq!(wire.reading.notices.len(), 1, "{place} {choice:?}: {:?}", wire.reading.notices);
        }
    }
}

/// DEV-A04: a filter of a search reaches the provider or is refused; it is never lost on the way.
#[test]
fn a_filter_of_a_search_is_sent_or_refused() {
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let Some(spelling) = target.api.hosted.get(&HostedKind::Search) else { continue };
        for (name, value, mark) in [
            ("allowed_domains", json!(["docs.example.org"]), "docs.example.org"),
            ("blocked_domains", json!(["spam.example.org"]), "spam.example.org"),
            ("location", json!({"country": "NO"}), "NO"),
            ("freshness", json!("week"), "eek"),
            ("max_uses", json!(3), "3"),
            ("context_size", json!("high"), "high"),
        ] {
            let params = Map::from_iter([(name.to_owned(), value)]);
            let tool = HostedTool { kind: HostedKind::Search, params, allow_unconfirmed: true };
            let request = ModelRequest { hosted: vec![tool], ..ModelRequest::default() };
            match send(&way, &request, vec![hello()]) {
                Ok((body, _)) => {
                    assert!(spelling.params.contains_key(name), "{place} {name}");
                    assert!(body.to_string().contains(mark), "{place} {name}: {body}");
                }
                Err(error) => {
                    assert!(!spelling.params.contains_key(name), "{place} {name}: {error}");
                    assert!(error.to_string().contains(&format!("`{name}` cannot be expressed")), "{place}: {error}");
                }
            }
        }
    }
}

/// DEV-A05: raw tools stand beside the functions, behind them; a name taken twice is an error.
#[test]
fn raw_tools_are_added_to_the_functions_and_never_take_their_names() {
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let request = |raw: Value| ModelRequest {
            tools_defs: vec![lookup()],
            extra: Map::from_iter([("builtin_tools".to_owned(), json!([raw]))]),
            ..ModelRequest::default()
        };
        let odd = request(json!({"type": "frobnicate", "depth": 3}));
        if !target.api.builtin_tools {
            let error = send(&way, &odd, vec![hello()]).unwrap_err().to_string();
            assert!(error.contains("`builtin_tools[0]` of type `frobnicate`"), "{place}: {error}");
            continue;
        }
        let body = body(&way, &odd, vec![hello()]);
        assert_eq!(functions(&body).len(), 1, "{place}: {body}");
        let tools = tools(&body);
        assert!(tools[1].to_string().contains("\"depth\":3"), "{place}: {tools:?}");
        let same = if target.origin.api == Api::GenerateContent {
            json!({"functionDeclarations": [{"name": "lookup_order"}]})
        } else {
            json!({"type": "function", "name": "lookup_order", "parameters": {}})
        };
        let error = send(&way, &request(same), vec![hello()]).unwrap_err();
        assert!(matches!(error, WireError::DuplicateTool { .. }), "{place}: {error}");
    }
}
