//! What holds for requests to every provider through every wire format it offers.

use std::sync::Arc;

use pretty_assertions::assert_eq;
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
    ToolResult { provider_id: id.to_owned(), name: name.to_owned(), content, is_error: false }
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

fn schemas() -> Vec<Arc<ToolDef>> {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}});
    vec![
        def("tree", json!({"$ref": "#/$defs/node", "$defs": {"node": node}})),
        def(
            "filter",
            json!({"type": "object", "additionalProperties": false, "properties": {"by": {"$ref": "#/$defs/by"}},
            "$defs": {"by": {"enum": ["name", "date"]}}}),
        ),
        def(
            "either",
            json!({"oneOf": [
            {"type": "object", "properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
            {"type": "object", "properties": {"by": {"const": "path"}, "path": {"type": "string"}}, "required": ["by", "path"]}]}),
        ),
        def(
            "both",
            json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]}),
        ),
        def("untyped", json!({"properties": {"a": {"type": "string"}}})),
        def(
            "levels",
            json!({"type": "object", "properties": {"level": {"enum": [0, 1, 2]}, "kind": {"enum": ["a", "b"]},
            "ids": {"type": ["array", "null"], "items": {"type": "string"}}}}),
        ),
        def("nothing", json!({"type": "object"})),
        def("null", json!({"type": "null"})),
        def("empty", json!({})),
        def("any", json!(true)),
        def("nested", json!({"type": "object", "properties": {"options": {"type": "object"}}})),
        lookup(),
    ]
}

/// DEV-D01, DEV-D02, DEV-D03, DEV-D04: schemas that some provider refuses are made such that it does not, or their tool
/// alone is withheld, with a word about it.
#[test]
fn odd_schemas_are_made_acceptable_or_withheld_alone() {
    let request = ModelRequest { tools_defs: schemas(), ..ModelRequest::default() };
    for way in ways() {
        let (target, place) = (&way.1, named(&way.1));
        let (body, wire) = send(&way, &request, vec![hello()]).unwrap();
        let sent = functions(&body);
        assert_eq!(sent.len() + wire.reading.notices.len(), request.tools_defs.len(), "{place}: {body}");
        assert!(target.api.strict_only || wire.reading.notices.is_empty(), "{place}: {:?}", wire.reading.notices);
        for (name, schema) in &sent {
            let root = schema.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
            assert_eq!(root, "object", "{place} {name}: {schema}");
            let combined = ["oneOf", "anyOf", "allOf", "$ref"].iter().find(|word| schema.get(**word).is_some());
            assert_eq!(combined, None, "{place} {name}: {schema}");
            references_lead_somewhere(schema, schema, &format!("{place} {name}"));
            objects_have_properties(schema, &format!("{place} {name}"));
        }
        assert!(sent.iter().any(|(name, _)| name == "lookup_order"), "{place}");
    }
}

fn references_lead_somewhere(root: &Value, schema: &Value, place: &str) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                assert!(found.is_some(), "{place}: {reference} in {root}");
            }
            fields.values().for_each(|value| references_lead_somewhere(root, value, place));
        }
        Value::Array(list) => list.iter().for_each(|value| references_lead_somewhere(root, value, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn objects_have_properties(schema: &Value, place: &str) {
    let Value::Object(fields) = schema else { return };
    let is_object = fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("object"));
    assert!(!is_object || fields.contains_key("properties"), "{place}: {schema}");
    for value in fields.values() {
        match value {
            Value::Array(list) => list.iter().for_each(|value| objects_have_properties(value, place)),
            Value::Object(_) => objects_have_properties(value, place),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// DEV-D05: names fit every provider and lead back, also those that differ in their last letter only.
#[test]
fn names_fit_every_provider_and_lead_back() {
    let long = |last: char| format!("{}{last}", "n".repeat(89));
    let odd = ["issues.search", "ns:act", "a/b/c", "9lives", "-dash", "查询", &"m".repeat(128), &long('x'), &long('y')];
    let defs: Vec<Arc<ToolDef>> = odd.iter().map(|name| def(name, json!({"type": "object"}))).collect();
    let request = ModelRequest { tools_defs: defs, ..ModelRequest::default() };
    for way in ways() {
        let place = named(&way.1);
        let (body, wire) = send(&way, &request, vec![hello()]).unwrap();
        let names: Vec<String> = functions(&body).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), odd.len(), "{place}: {:?}", wire.reading.notices);
        for (sent, name) in names.iter().zip(odd) {
            assert!(NameRule::PORTABLE.accepts(sent), "{place}: {sent}");
            assert_eq!(wire.reading.original(sent), name, "{place}");
        }
    }
}

/// DEV-D07: a strict tool keeps its optional fields optional, or is no strict one; what the model leaves out as null is
/// gone before the tool gets it.
#[test]
fn optional_fields_of_a_strict_tool_may_be_left_out() {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"},
        "note": {"type": ["string", "null"]}}, "required": ["q"]});
    let strict = ToolDef { strict: true, ..(*def("find", parameters.clone())).clone() };
    let request = ModelRequest { tools_defs: vec![Arc::new(strict)], ..ModelRequest::default() };
    let mut strict_ones = 0;
    for way in ways() {
        let place = named(&way.1);
        let body = body(&way, &request, vec![hello()]);
        let (_, schema) = functions(&body).remove(0);
        let required = |name: &str| schema["required"].as_array().is_some_and(|list| list.contains(&json!(name)));
        let limit = schema["properties"]["limit"].to_string().to_ascii_lowercase();
        assert!(!required("limit") || limit.contains("null"), "{place}: {schema}");
        strict_ones += usize::from(required("limit"));
        let validator = crate::llm::arguments::Validator::new(&parameters).unwrap();
        let read = crate::llm::arguments::read("{\"q\":\"x\",\"limit\":null,\"note\":null}", &validator).unwrap();
        assert_eq!(read.value, json!({"q": "x", "note": null}), "{place}");
    }
    assert!(strict_ones > 1, "{strict_ones}");
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
