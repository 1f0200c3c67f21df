//! What holds for replies of every wire format, read whole and as a stream alike.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::kit::{self, End, Say, WIRES, both, fold, parse, parts, sse, stream, whole};
use crate::{
    llm::{Conversation, ModelRequest},
    types::{Api, Entry, FunctionCall, HostedKind, HostedStatus, Part, Reply, Stop, ToolResult, UserPart},
};

const EVERYTHING: [Say; 5] = [
    Say::Thought("Hm, 考え る."),
    Say::Search("weather Oslo", "https://weather.example/oslo"),
    Say::Text("I look it up – 一下 🌦."),
    Say::Call("call00001", "weather_at", "{\"city\":\"Tromsø 🏔\",\"days\":3}"),
    Say::Call("call00002", "time_now", "{}"),
];

fn calls(reply: &Reply) -> Vec<(&str, &str, &str, bool)> {
    reply.calls().map(|it| (&*it.provider_id, &*it.name, &*it.arguments, it.complete)).collect()
}

fn text(reply: &Reply) -> String {
    reply.text_and_citations().0
}

/// What goes back to the provider that sent the reply, after results for its calls.
pub(super) fn replayed(api: Api, reply: Reply) -> Value {
    let (dialect, target) = super::dialects().into_iter().find(|(_, target)| target.origin.api == api).unwrap();
    let reply = Reply { origin: (*target.origin).clone(), ..reply };
    let result = |call: &FunctionCall| ToolResult {
        provider_id: call.provider_id.clone(),
        name: call.name.clone(),
        content: "done".to_owned(),
        is_error: false,
        images: Vec::new(),
    };
    let results: Vec<ToolResult> = reply.calls().map(result).collect();
    let hello = Entry::User(vec![UserPart::Text("Go ahead.".to_owned())]);
    let mut conversation = Conversation::from(vec![hello, Entry::Reply(reply.into()), Entry::Results(results)]);
    let wire = dialect.build(&ModelRequest::default(), &target, &mut conversation).unwrap();
    serde_json::from_slice(&wire.body).unwrap_or_else(|error| panic!("{api}: {error}: {:?}", wire.body))
}

/// All strings and objects in a body that stand for arguments of calls of `name`.
fn arguments_sent(body: &Value, name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    match body {
        Value::Object(fields) => {
            if fields.get("name").and_then(Value::as_str) == Some(name) {
                let given = ["arguments", "input", "args"].iter().find_map(|key| fields.get(*key));
                found.extend(given.cloned());
            }
            found.extend(fields.values().flat_map(|value| arguments_sent(value, name)));
        }
        Value::Array(list) => found.extend(list.iter().flat_map(|value| arguments_sent(value, name))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

/// Arguments as an object, whether they lie on the wire as one or as its text.
fn as_object(arguments: &Value) -> Option<Value> {
    match arguments {
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        Value::Object(_) => Some(arguments.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

#[test]
fn a_stream_folds_to_the_reply_in_one_piece() {
    for api in WIRES {
        for (says, end) in [
            (&EVERYTHING[..], End::Natural),
            (&EVERYTHING[..3], End::Natural),
            (&EVERYTHING[..3], End::Length),
            (&[Say::Text("a"), Say::Odd], End::Natural),
            (&[Say::Text("")], End::Natural),
        ] {
            let [(_, whole), (_, stream)] = both(api, says, end);
            assert_eq!(parts(&stream), parts(&whole), "{api} {says:?}");
            assert_eq!(
                (&stream.stop, stream.usage, &stream.id),
                (&whole.stop, whole.usage, &whole.id),
                "{api} {says:?}"
            );
        }
    }
}

#[test]
fn a_reply_says_what_it_said() {
    for api in WIRES {
        for (how, reply) in both(api, &EVERYTHING, End::Natural) {
            assert_eq!(text(&reply), "I look it up – 一下 🌦.", "{api} {how}");
            let expected = [
                ("call00001", "weather_at", "{\"city\":\"Tromsø 🏔\",\"days\":3}", true),
                ("call00002", "time_now", "{}", true),
            ];
            assert_eq!(calls(&reply), expected, "{api} {how}");
            assert_eq!(reply.stop, Stop::ToolCalls, "{api} {how}");
            let thought =
                |part: &Part| matches!(part, Part::Reasoning { summary: Some(text) } if text == "Hm, 考え る.");
            assert!(reply.parts().any(thought), "{api} {how}");
            let searched: Vec<_> = reply.hosted().map(|it| (&it.kind, it.status)).collect();
            assert_eq!(searched, [(&HostedKind::Search, HostedStatus::Completed)], "{api} {how}");
        }
    }
}

/// DEV-B01: no arguments, blank ones and `null` are the empty object, whole and streamed; broken ones stay broken.
#[test]
fn blank_arguments_are_the_empty_object_and_broken_ones_are_not() {
    for api in WIRES {
        for (given, expected) in [("", "{}"), ("  ", "{}"), ("null", "{}"), ("{}", "{}"), ("{\"q\"", "{\"q\"")] {
            for (how, reply) in both(api, &[Say::Call("call00001", "now", given)], End::Natural) {
                assert_eq!(calls(&reply), [("call00001", "now", expected, true)], "{api} {how} {given:?}");
            }
        }
    }
}

/// DEV-B02: broken arguments are kept as they came, for the error; what is replayed is an object all the same.
#[test]
fn broken_arguments_are_kept_for_the_error_and_replayed_as_an_object() {
    let nested =
        "{\"text\":\"she said \\\"汉字 \\\\\\\"deep\\\\\\\" 🏔\\\" and went on and on and on and on and on and on\"}";
    for api in WIRES {
        for given in ["file_path=foo", "{\"a\":1}}", "[1,2]", "{\"q\"", nested] {
            for (how, reply) in both(api, &[Say::Call("call00001", "write", given)], End::Natural) {
                let told = reply.calls().next().unwrap().arguments.clone();
                assert_eq!(told, given, "{api} {how}");
                let sent = arguments_sent(&replayed(api, reply), "write");
                assert!(!sent.is_empty() && sent.iter().all(|it| as_object(it).is_some()), "{api} {how}: {sent:?}");
            }
        }
    }
}

/// DEV-B03: the output ran out inside a call: text, usage and reason stay, and only that call is marked.
#[test]
fn output_that_ends_inside_a_call_keeps_all_but_the_call() {
    let says = [Say::Text("I will book it"), Say::Call("call00001", "book", "{\"flight\":\"XY1\",\"seat\":\"1")];
    // Conversations give no reason for an end.
    for api in WIRES.into_iter().filter(|api| *api != Api::Conversations) {
        for (how, reply) in both(api, &says, End::Length) {
            assert_eq!(text(&reply), "I will book it", "{api} {how}");
            assert_eq!(reply.stop, Stop::Length, "{api} {how}");
            let complete: Vec<bool> = reply.calls().map(|call| call.complete).collect();
            assert_eq!(complete, [false], "{api} {how}");
            let usage = reply.usage.unwrap();
            assert_eq!((usage.prompt(), usage.completion()), (900, 256), "{api} {how}");
        }
    }
}

/// Puts one place in all events of a stream in another's place.
fn replaced(events: &[String], names: &[&str], with: &Value) -> Vec<String> {
    fn change(value: &mut Value, names: &[&str], with: &Value) {
        match value {
            Value::Object(fields) => {
                for name in names {
                    if fields.get(*name).is_some_and(Value::is_number) {
                        if with.is_null() {
                            fields.shift_remove(*name);
                        } else {
                            fields.insert((*name).to_owned(), with.clone());
                        }
                    }
                }
                fields.values_mut().for_each(|value| change(value, names, with));
            }
            Value::Array(list) => list.iter_mut().for_each(|value| change(value, names, with)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let change = |event: &String| match serde_json::from_str::<Value>(event) {
        Ok(mut value) => {
            change(&mut value, names, with);
            value.to_string()
        }
        Err(_) => event.clone(),
    };
    events.iter().map(change).collect()
}

/// DEV-B04: parallel calls under one index, or none, are two calls with arguments of their own.
#[test]
fn parallel_calls_under_one_index_or_none_stay_apart() {
    let says = [Say::Call("call0000a", "read", "{\"p\":1}"), Say::Call("call0000b", "read", "{\"p\":2}")];
    for api in WIRES {
        let (events, _) = stream(api, &says, End::Natural);
        for place in [json!(0), Value::Null] {
            let events = replaced(&events, &["index", "output_index"], &place);
            let reply = fold(api, sse(&events).as_bytes()).unwrap_or_else(|error| panic!("{api} {place}: {error}"));
            let expected = [("call0000a", "read", "{\"p\":1}", true), ("call0000b", "read", "{\"p\":2}", true)];
            assert_eq!(calls(&reply), expected, "{api} {place}");
        }
    }
}

/// Calls are told apart by their ids all the way: two of one id would get each other's results.
#[test]
fn two_calls_of_one_id_get_two_ids() {
    let says = [Say::Call("call00001", "read", "{\"p\":1}"), Say::Call("call00001", "list", "{\"p\":2}")];
    for api in WIRES {
        for (how, reply) in both(api, &says, End::Natural) {
            let told: Vec<_> = reply.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
            assert_eq!(told, [("read", "{\"p\":1}"), ("list", "{\"p\":2}")], "{api} {how}");
            let ids: Vec<String> = reply.calls().map(|call| call.provider_id.clone()).collect();
            assert!(ids[0] != ids[1] && ids[0] == "call00001", "{api} {how}: {ids:?}");
            // Calls and results still meet on the wire. (Gemini pairs those without an id by their order.)
            let body = replayed(api, reply).to_string();
            let expected = if api == Api::GenerateContent { 0 } else { 2 };
            assert_eq!(body.matches(&format!("\"{}\"", ids[1])).count(), expected, "{api} {how}: {body}");
        }
    }
}

/// DEV-B06: numbers keep every digit, from the stream to what is sent back.
#[test]
fn numbers_in_arguments_keep_every_digit() {
    let given = "{\"order_id\":2512292042121000001,\"ratio\":0.1,\"big\":1e400,\"price\":12345678901234567890.10}";
    for api in WIRES {
        for (how, reply) in both(api, &[Say::Call("call00001", "find", given)], End::Natural) {
            let told: Value = serde_json::from_str(&reply.calls().next().unwrap().arguments).unwrap();
            assert_eq!(told.to_string().replace("1e+400", "1e400"), given, "{api} {how}");
            let sent = arguments_sent(&replayed(api, reply), "find");
            let sent: Vec<String> = sent.iter().filter_map(as_object).map(|it| it.to_string()).collect();
            assert_eq!(sent.iter().map(|it| it.replace("1e+400", "1e400")).collect::<Vec<_>>(), [given], "{api} {how}");
        }
    }
}

/// DEV-D08: a call of a tool that does not exist reaches the turn, which answers it.
#[test]
fn a_call_of_an_unknown_tool_is_a_call_like_any_other() {
    for api in WIRES {
        for name in ["serch_files", "creating:view", "view ", "default_api.x"] {
            for (how, reply) in both(api, &[Say::Call("call00001", name, "{}")], End::Natural) {
                assert_eq!(calls(&reply), [("call00001", name, "{}", true)], "{api} {how}");
                assert_eq!(reply.stop, Stop::ToolCalls, "{api} {how}");
            }
        }
    }
}

/// DEV-K01: one and the same use is the same disjoint counters, whether the provider counts cached tokens in the
/// prompt or beside it, and reasoning in the output or beside it.
#[test]
fn the_same_use_is_the_same_counters_with_every_provider() {
    for api in WIRES {
        for (how, reply) in both(api, &[Say::Text("x")], End::Natural) {
            let usage = reply.usage.unwrap();
            assert_eq!((usage.input, usage.cached), (300, 600), "{api} {how}");
            assert_eq!((usage.prompt(), usage.completion()), (900, 256), "{api} {how}");
            // Messages and Conversations do not tell reasoning apart.
            let told = !matches!(api, Api::Messages | Api::Conversations);
            assert_eq!((usage.output, usage.reasoning), if told { (200, 56) } else { (256, 0) }, "{api} {how}");
        }
    }
}

/// DEV-E01, DEV-E03, DEV-E04: thoughts go back as they came, in their place, to the family that had them, and nowhere
/// else.
#[test]
fn thoughts_go_back_to_their_own_family_only() {
    let says = [Say::Thought("first thought"), Say::Call("call00001", "a", "{}"), Say::Call("call00002", "b", "{}")];
    // What stands for a thought on the wire: its signature, or its words where there is none.
    let marks = |api| match api {
        Api::Responses => "gAAAA",
        Api::Messages => "Es4D",
        Api::GenerateContent | Api::Interactions => "Cg==",
        Api::Chat | Api::Conversations | Api::Generation | Api::Local => "first thought",
    };
    for api in WIRES {
        for (how, reply) in both(api, &says, End::Natural) {
            let sent = replayed(api, reply.clone()).to_string();
            // Aliyun wants none back.
            assert_eq!(
                sent.contains(marks(api)),
                !matches!(api, Api::Generation | Api::Chat if !echoes(api)),
                "{api} {how}: {sent}"
            );
            let (thought, call) = (sent.find(marks(api)), sent.find("call00001"));
            if let (Some(thought), Some(call)) = (thought, call)
                && !matches!(api, Api::GenerateContent | Api::Chat)
            {
                assert!(thought < call, "{api} {how}: {sent}");
            }
            for (dialect, target) in super::dialects().into_iter().filter(|(_, target)| target.origin.api != api) {
                let mut conversation = Conversation::from(vec![
                    Entry::User(vec![UserPart::Text("Go ahead.".to_owned())]),
                    Entry::Reply(reply.clone().into()),
                ]);
                let wire = dialect.build(&ModelRequest::default(), &target, &mut conversation).unwrap();
                let sent = String::from_utf8(wire.body.to_vec()).unwrap();
                let leaked = sent.contains(marks(api)) || sent.contains("first thought");
                assert!(!leaked, "{api} {how} to {}: {sent}", target.origin.api);
            }
        }
    }
}

fn echoes(api: Api) -> bool {
    let (_, target) = super::dialects().into_iter().find(|(_, target)| target.origin.api == api).unwrap();
    target.api.echo_reasoning == crate::llm::Echo::AsSent
}

/// DEV-A06: a loop that the provider paused is told from an end, and what continues it is known.
#[test]
fn a_paused_loop_is_its_own_end() {
    let says = [Say::Text("looking")];
    for (api, reason, token) in [
        (Api::Messages, "pause_turn", None),
        (Api::GenerateContent, "CONTINUATION", Some("continuationToken")),
        (Api::Interactions, "requires_continuation", Some("continuation_token")),
    ] {
        let mut body = whole(api, &says, End::Word(reason));
        match token {
            Some(name) if api == Api::GenerateContent => body["candidates"][0][name] = "tok".into(),
            Some(name) => body[name] = "tok".into(),
            None => {}
        }
        let reply = parse(api, body.to_string().as_bytes()).unwrap();
        assert_eq!(reply.stop, Stop::Paused, "{api}");
        let (dialect, target) = super::dialects().into_iter().find(|(_, target)| target.origin.api == api).unwrap();
        let reply = Reply { origin: (*target.origin).clone(), ..reply };
        let hello = Entry::User(vec![UserPart::Text("Go ahead.".to_owned())]);
        let mut conversation = Conversation::from(vec![hello, Entry::Reply(reply.into())]);
        let wire = dialect.build(&ModelRequest::default(), &target, &mut conversation).unwrap();
        let sent = String::from_utf8(wire.body.to_vec()).unwrap();
        // The paused message goes back as the last one; with a token the same request goes out again.
        assert_eq!(sent.contains("looking"), token.is_none(), "{api}: {sent}");
        assert_eq!(sent.contains("\"tok\""), token.is_some(), "{api}: {sent}");
    }
}

/// An action is required of a client, and there is no call: nobody may take that for an answer.
#[test]
fn a_reply_that_waits_for_a_call_it_does_not_have_is_not_complete() {
    for (api, reason) in [(Api::Messages, "tool_use"), (Api::Interactions, "requires_action")] {
        for (how, reply) in both(api, &[Say::Text("x")], End::Word(reason)) {
            assert!(matches!(reply.stop, Stop::Unknown(_)), "{api} {how}: {:?}", reply.stop);
        }
    }
}

#[test]
fn ids_of_replies_are_kept() {
    for api in WIRES {
        for (how, reply) in both(api, &EVERYTHING, End::Natural) {
            assert!(reply.id.is_some(), "{api} {how}");
            assert_eq!(reply.origin, kit::origin(api), "{api} {how}");
        }
    }
}
