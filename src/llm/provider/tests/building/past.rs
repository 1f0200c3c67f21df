//! What was said before: hosted work, results, ids, thoughts.

use pretty_assertions::assert_eq;

use super::*;

/// DEV-A07: what the provider ran stays inside its turn, in the order in which it came; results of client calls come
/// together right behind it.
#[test]
fn hosted_work_stays_in_its_place_and_results_come_behind_it() {
    let says = [
        Say::Search("weather", "https://a.example"),
        Say::Call("call00001", "lookup_order", "{}"),
        Say::Call("call00002", "lookup_order", "{}"),
        Say::Text("Working on it."),
    ];
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let reply = own(target, &says);
        let calls: Vec<ToolResult> = reply.calls().map(|call| result(&call.provider_id, &call.name)).collect();
        let next = Entry::User(vec![UserPart::Text("And now?".to_owned())]);
        let entries = vec![hello(), Entry::Reply(reply.into()), Entry::Results(calls), next];
        let text =
            body(&way, &ModelRequest { tools_defs: vec![lookup()], ..ModelRequest::default() }, entries).to_string();
        let at = |mark: &str| text.find(mark).unwrap_or_else(|| panic!("{place}: no {mark} in {text}"));
        let (first, second, next) = (at("result of call00001"), at("result of call00002"), at("And now?"));
        assert!(first < second && second < next, "{place}: {text}");
        // The calls of Chat stand behind its text, and it has no search of its own.
        if !matches!(target.origin.api, Api::Chat | Api::Generation) {
            let search = match target.origin.api {
                Api::Responses => "web_search_call",
                Api::Messages => "srvtoolu_0",
                Api::GenerateContent => "toolCall",
                Api::Interactions => "google_search_call",
                Api::Conversations => "tool.execution",
                Api::Chat | Api::Generation | Api::Local => unreachable!(),
            };
            let (search, call, words) = (at(search), at("call00001"), at("Working on it."));
            assert!(search < call && call < words && words < first, "{place}: {text}");
        }
    }
}

/// DEV-C01: whatever finished first, results go out in the order of their calls, and equal histories give equal bytes.
#[test]
fn results_go_out_in_the_order_of_their_calls() {
    let names = ["a", "b", "c"];
    let reply = || foreign(names.iter().map(|name| Part::Call(call(&format!("call_{name}"), name, "{}"))).collect());
    let history = |order: [&str; 3]| {
        let results = order.iter().map(|name| result(&format!("call_{name}"), name)).collect();
        mend(vec![hello(), Entry::Reply(reply().into()), Entry::Results(results)]).0
    };
    for way in ways() {
        let request = ModelRequest::default();
        let slow = send(&way, &request, history(["c", "a", "b"])).unwrap().1.body;
        assert_eq!(slow, send(&way, &request, history(names)).unwrap().1.body, "{}", named(&way.1));
    }
}

/// DEV-C02: ids of others are rewritten to the target's pattern, the same way for call and result.
#[test]
fn foreign_ids_meet_the_pattern_of_each_provider() {
    let ids = ["call_0fyPS1hVXq7TnE2mKz9wLbRa", "toolu_01A09q90qw90lq917835lq9", "functions.read:0", "turn1_0", "é 汉"];
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let parts = ids.iter().map(|id| Part::Call(call(id, "lookup_order", "{}"))).collect();
        let results = ids.iter().map(|id| result(id, "lookup_order")).collect();
        let entries = vec![hello(), Entry::Reply(foreign(parts).into()), Entry::Results(results)];
        let body = body(&way, &ModelRequest::default(), entries);
        let (calls, answers) = (ids_in(&body, false), ids_in(&body, true));
        if target.origin.api == Api::GenerateContent {
            // Told apart by name and order there.
            assert_eq!((calls.len(), answers.len()), (0, 0), "{place}");
            continue;
        }
        assert_eq!((calls.len(), &calls), (ids.len(), &answers), "{place}: {body}");
        let rule = target.api.call_ids.rule();
        assert!(calls.iter().all(|id| rule.accepts(id)), "{place}: {calls:?}");
        let distinct: std::collections::BTreeSet<&String> = calls.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{place}: {calls:?}");
    }
}

/// The ids of the calls, or of the results, in a body.
fn ids_in(body: &Value, results: bool) -> Vec<String> {
    let mut found = Vec::new();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    match body {
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
            let id = match kind {
                "function_call_output" | "function_result" if results => text(fields.get("call_id")),
                "tool_result" if results => text(fields.get("tool_use_id")),
                "function.result" if results => text(fields.get("tool_call_id")),
                _ if results && fields.get("role").is_some_and(|role| role == "tool") => {
                    text(fields.get("tool_call_id"))
                }
                "function_call" if !results => text(fields.get("call_id").or(fields.get("id"))),
                "tool_use" | "function" if !results => text(fields.get("id")),
                "function.call" if !results => text(fields.get("tool_call_id")),
                _ => None,
            };
            found.extend(id);
            found.extend(fields.values().flat_map(|value| ids_in(value, results)));
        }
        Value::Array(list) => found.extend(list.iter().flat_map(|value| ids_in(value, results))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

/// DEV-C03: an open call gets a result of its own before anything else is sent, with every provider.
#[test]
fn an_open_call_is_closed_before_the_next_request() {
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let two = [Say::Call("call00001", "lookup_order", "{}"), Say::Call("call00002", "lookup_order", "{}")];
        for reply in [own(target, &two), foreign(own(target, &two).parts().cloned().collect())] {
            let only = Entry::Results(vec![result("call00001", "lookup_order")]);
            let stored = vec![hello(), Entry::Reply(reply.into()), only, hello()];
            let (entries, repairs) = mend(stored);
            assert_eq!(repairs.len(), 1, "{place}");
            let body = body(&way, &ModelRequest::default(), entries);
            if target.origin.api == Api::GenerateContent {
                assert_eq!(body.to_string().matches("functionResponse").count(), 2, "{place}: {body}");
                continue;
            }
            assert_eq!((ids_in(&body, false), ids_in(&body, false).len()), (ids_in(&body, true), 2), "{place}: {body}");
        }
    }
}

/// DEV-C04: what trimming left of a call is a text of the user's, never a result without its call.
#[test]
fn an_orphaned_result_is_text() {
    for way in ways() {
        let (entries, repairs) = mend(vec![Entry::Results(vec![result("call00009", "lookup_order")]), hello()]);
        let body = body(&way, &ModelRequest::default(), entries);
        assert_eq!((repairs.len(), ids_in(&body, true).len()), (1, 0), "{}: {body}", named(&way.1));
        assert!(!body.to_string().contains("functionResponse"), "{}: {body}", named(&way.1));
        assert!(body.to_string().contains("result of call00009"), "{}: {body}", named(&way.1));
    }
}

/// DEV-E02: each provider gets the reasoning text back that it wants back, from a history that was stored and read
/// again, and no other.
#[test]
fn reasoning_text_goes_back_as_each_provider_wants_it() {
    let calling = [Say::Thought("deep thought"), Say::Call("call00001", "lookup_order", "{}")];
    let plain = [Say::Thought("shallow thought"), Say::Text("Done.")];
    let mut rules = [0, 0, 0];
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        if !matches!(target.origin.api, Api::Chat | Api::Generation) {
            continue;
        }
        let results = Entry::Results(vec![result("call00001", "lookup_order")]);
        let entries = vec![
            hello(),
            Entry::Reply(own(target, &calling).into()),
            results,
            Entry::Reply(own(target, &plain).into()),
            hello(),
        ];
        // As after a restart.
        let stored = serde_json::to_string(&entries).unwrap();
        let entries: Vec<Entry> = serde_json::from_str(&stored).unwrap();
        let text = body(&way, &ModelRequest::default(), entries).to_string();
        let sent = (text.contains("deep thought"), text.contains("shallow thought"));
        let (rule, expected) = match target.api.echo_reasoning {
            Echo::AsSent => (0, (true, true)),
            Echo::ToolCalls => (1, (true, false)),
            Echo::Never => (2, (false, false)),
        };
        rules[rule] += 1;
        assert_eq!(sent, expected, "{place}: {text}");
        // Where it is wanted, it is wanted of calls that came without any, too: of another provider, or cut off.
        let foreign = foreign(vec![Part::Call(call("call00001", "lookup_order", "{}"))]);
        let entries =
            vec![hello(), Entry::Reply(foreign.into()), Entry::Results(vec![result("call00001", "lookup_order")])];
        let text = body(&way, &ModelRequest::default(), entries).to_string();
        assert_eq!(
            text.contains("\"reasoning_content\":\"\""),
            target.api.echo_reasoning == Echo::ToolCalls,
            "{place}: {text}"
        );
    }
    assert!(rules.iter().all(|count| *count > 0), "{rules:?}");
}

/// DEV-E04, DEV-E01: a reply goes back as one unit: the thought right before its calls, nothing in between, byte for
/// byte, also from a store, and with nothing of it in the conversation of somebody else.
#[test]
fn a_reply_with_thoughts_goes_back_as_one_unit() {
    let says = [
        Say::Thought("a thought"),
        Say::Call("call00001", "lookup_order", "{\"a\":1}"),
        Say::Call("call00002", "lookup_order", "{\"b\":2}"),
    ];
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        if matches!(target.origin.api, Api::Chat | Api::Generation) {
            continue;
        }
        let reply = own(target, &says);
        let raws: Vec<String> =
            reply.items.iter().filter_map(|item| Some(item.raw.as_deref()?.get().to_owned())).collect();
        assert_eq!(raws.len(), 3, "{place}");
        let results = Entry::Results(reply.calls().map(|call| result(&call.provider_id, &call.name)).collect());
        let stored = serde_json::to_string(&vec![hello(), Entry::Reply(reply.into()), results]).unwrap();
        let entries: Vec<Entry> = serde_json::from_str(&stored).unwrap();
        let wire = send(&way, &ModelRequest::default(), entries).unwrap().1;
        let text = String::from_utf8(wire.body.to_vec()).unwrap();
        assert!(text.contains(&raws.join(",")), "{place}: {text}");
        let other = body(&way, &ModelRequest::default(), vec![hello()]).to_string();
        assert!(!other.contains("a thought"), "{place}: {other}");
    }
}

/// DEV-F03: an image of a result goes out as an image where the provider takes it there; elsewhere the model is told that
/// there is one. Its data never becomes text.
#[test]
fn an_image_of_a_result_is_an_image_or_is_told_of() {
    let mut shown = Vec::new();
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let parts = vec![Part::Call(call("call00001", "lookup_order", "{}"))];
        let images = vec!["data:image/png;base64,iVBORw0KGgo=".to_owned()];
        let results = vec![ToolResult { images, ..result("call00001", "lookup_order") }];
        let entries = vec![hello(), Entry::Reply(foreign(parts).into()), Entry::Results(results)];
        let text = body(&way, &ModelRequest::default(), entries).to_string();
        let form = match target.origin.api {
            Api::Responses => {
                r#""output":[{"type":"input_text","text":"result of call00001"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]"#
            }
            Api::Messages => {
                r#""content":[{"type":"text","text":"result of call00001"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]"#
            }
            Api::GenerateContent => {
                r#""response":{"output":"result of call00001"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]"#
            }
            Api::Chat | Api::Interactions | Api::Conversations | Api::Generation | Api::Local => "no form",
        };
        if target.api.result_images {
            assert!(text.contains(form), "{place}: {text}");
            shown.push(place);
        } else {
            assert!(!text.contains("iVBOR"), "{place}: {text}");
            assert!(text.contains("[an image that belongs to this result is not shown]"), "{place}: {text}");
        }
    }
    assert_eq!(shown, ["openai responses", "anthropic messages", "xai responses", "gemini generate_content"]);
}
