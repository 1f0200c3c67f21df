//! The matrix: tools × histories, in the neutral form.

use agcore::{
    llm::{
        Profile,
        wire::{self, Answer},
    },
    types::Api,
};
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::measure::traffic::{self, Replied};

/// Every request for one provider and wire format, with a name.
pub(super) fn requests(profile: &Profile, api: Api) -> Result<Vec<(String, Value)>> {
    let mut all = Vec::new();
    for (tools_name, tools) in tools(profile, api) {
        for (history_name, history) in histories(profile, api)? {
            // The SDK of Mistral has another type for streamed conversations, which the validators do not know.
            let streams: &[bool] = if api == Api::Conversations { &[false] } else { &[false, true] };
            for stream in streams {
                let mut form = json!({"instructions": "Be brief.", "max_output_tokens": 2000, "stream": stream,
                    "conversation": history});
                if let (Some(form), Some(tools)) = (form.as_object_mut(), tools.as_object()) {
                    form.extend(tools.clone());
                    if profile.default_model.is_none() {
                        form.insert("model".to_owned(), json!("local-model"));
                    }
                }
                let name = format!("tools={tools_name} history={history_name} stream={stream}");
                all.push((name, form));
            }
        }
    }
    Ok(all)
}

/// A second step for every recorded reply: the reply goes back with results for its calls, or another question.
pub(super) fn recorded(traffic: &Path) -> Result<Vec<(&'static Profile, Api, String, Value)>> {
    let mut all = Vec::new();
    for Replied { name, provider, api, parsed } in traffic::replies(traffic)? {
        let Some(profile) = Profile::by_name(&provider).filter(|profile| profile.apis.contains_key(&api)) else {
            continue;
        };
        let Some(reply) = &parsed.reply else { continue };
        let mut history = vec![json!({"user": "Go ahead."}), json!({"reply": reply})];
        let results = results(&parsed.calls);
        history.push(if results.is_empty() { json!({"user": "And then?"}) } else { json!({"results": results}) });
        let mut names: Vec<&str> = parsed.calls.iter().map(|call| call.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let function =
            |name: &&str| json!({"name": name, "description": "", "parameters": {"type": "object", "properties": {}}});
        let tools: Vec<Value> = names.iter().map(function).collect();
        // Where signatures are bound to the model, the reply is the target's own only with the same model.
        let model = profile.default_model.as_ref().filter(|_| profile.family.is_some());
        let model = model.map_or("recorded", |model| model.as_str());
        let form = json!({"model": model, "max_output_tokens": 2000, "conversation": history, "tools_defs": tools});
        all.push((profile, api, format!("recorded {name}"), form));
    }
    Ok(all)
}

fn results(calls: &[wire::ParsedCall]) -> Vec<Value> {
    let result = |call: &wire::ParsedCall| {
        json!({"provider_id": call.call_id, "name": call.name, "content": "{\"temperature\": 12}",
            "is_error": call.name == "time_now"})
    };
    calls.iter().map(result).collect()
}

fn functions(deferred: bool) -> Value {
    json!([
        {"name": "orders.get_by_id", "description": "One order.", "strict": true, "parameters": {
            "type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"],
            "additionalProperties": false}},
        {"name": "weather.at", "description": "The weather.", "deferred": deferred, "parameters": {
            "type": "object", "properties": {
                "city": {"type": "string", "minLength": 1},
                "unit": {"enum": ["C", "F", null]},
                "days": {"type": ["array", "null"], "items": {"type": "integer"}, "maxItems": 3},
                "where": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/point"}]}},
            "required": ["city"], "$defs": {"point": {"type": "object", "properties": {"lat": {"type": "number"}}}}}},
        {"name": "time.now", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
    ])
}

/// Parameters for a hosted tool: all that it must have.
fn hosted(profile: &Profile, api: Api) -> Vec<Value> {
    let spelt = profile.apis.get(&api).into_iter().flat_map(|settings| &settings.hosted);
    spelt
        .map(|(kind, spelling)| {
            let mut params = Map::new();
            for name in &spelling.required {
                params.insert(name.clone(), example(name));
            }
            json!({"kind": kind, "params": params, "allow_unconfirmed": true})
        })
        .collect()
}

fn example(parameter: &str) -> Value {
    match parameter {
        "stores" => json!(["store_1"]),
        "options" => json!({"model": "claude-opus-5-5"}),
        "server" => json!({"label": "docs", "url": "https://mcp.example.com/mcp"}),
        "allowed_domains" | "blocked_domains" => json!(["example.com"]),
        "location" => json!({"country": "NO", "city": "Oslo"}),
        "freshness" => json!("week"),
        "context_size" => json!("high"),
        "display" => json!({"width": 1024, "height": 768, "environment": "browser"}),
        _ => json!(3),
    }
}

fn tools(profile: &Profile, api: Api) -> Vec<(String, Value)> {
    let mut all = vec![
        ("none".to_owned(), json!({})),
        ("function".to_owned(), json!({"tools_defs": functions(false)})),
        ("required".to_owned(), json!({"tools_defs": functions(false), "tool_choice": "required"})),
        ("named".to_owned(), json!({"tools_defs": functions(false), "tool_choice": {"named": "weather.at"}})),
        (
            "allowed".to_owned(),
            json!({"tools_defs": functions(false), "tool_choice": {"allowed": {"tools": ["weather.at", "time.now"]}}}),
        ),
        (
            "allowed_required".to_owned(),
            json!({"tools_defs": functions(false), "tool_choice": {"allowed": {"tools": ["weather.at"], "required": true}}}),
        ),
        ("forbidden".to_owned(), json!({"tools_defs": functions(false), "tool_choice": "none"})),
        ("one_at_a_time".to_owned(), json!({"tools_defs": functions(false), "parallel_tool_calls": false})),
        (
            "deferred".to_owned(),
            json!({"tools_defs": functions(true), "hosted": [{"kind": "tool_search"}],
            "on_unsupported": "drop"}),
        ),
    ];
    for tool in hosted(profile, api) {
        let kind = tool.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        all.push((format!("hosted.{kind}"), json!({"hosted": [tool.clone()]})));
        all.push((format!("both.{kind}"), json!({"hosted": [tool.clone()], "tools_defs": functions(false)})));
        let spelling = profile.apis.get(&api).and_then(|settings| settings.hosted.get(&kind.as_str().into()));
        for name in spelling.into_iter().flat_map(|spelling| spelling.params.keys()) {
            let mut more = tool.clone();
            let (field, value) = (name.clone(), parameter(profile, api, &kind, name));
            if let Some(params) = more.get_mut("params").and_then(Value::as_object_mut) {
                params.insert(field, value);
            }
            all.push((format!("hosted.{kind}.{name}"), json!({"hosted": [more]})));
        }
    }
    all
}

/// A value the provider's own words allow.
fn parameter(profile: &Profile, api: Api, kind: &str, name: &str) -> Value {
    let settings = profile.apis.get(&api);
    let place = settings.and_then(|settings| settings.hosted.get(&kind.into())?.params.get(name));
    match place {
        Some(place) if !place.words.is_empty() && place.fields.is_empty() => {
            place.words.keys().next_back().map_or(Value::Null, |word| json!(word))
        }
        Some(place) if !place.fields.is_empty() => {
            let known = example(name);
            let mut map = known.as_object().cloned().unwrap_or_default();
            map.retain(|field, _| place.fields.contains_key(field));
            Value::Object(map)
        }
        _ => example(name),
    }
}

/// What was said before: nothing, and replies of this API and of all others, with results.
fn histories(profile: &Profile, api: Api) -> Result<Vec<(String, Value)>> {
    let user = json!({"user": "What is the weather in Oslo?"});
    let mut all = vec![("fresh".to_owned(), json!([user]))];
    for Fixture { api: of, kind, body } in replies()? {
        // Who never shows reasoning has none to send back.
        let thinks = ["deepseek", "deepseek-beta", "zai", "aliyun", "xai"].contains(&profile.name.as_str());
        if kind == "reasoning" && of == api && !thinks {
            continue;
        }
        let provider = if of == api { profile.name.as_str() } else { "openai" };
        let model = profile.default_model.as_ref().map_or("m", |model| model.as_str());
        let origin =
            wire::origin(provider, of, if of == api { model } else { "other" }).map_err(|error| anyhow!(error))?;
        let answer = Answer { body: body.get().as_bytes(), stream: Some(false), ..Answer::default() };
        let Ok(parsed) = wire::parse(origin, &answer) else { continue };
        let reply = parsed.reply.ok_or_else(|| anyhow!("the fixture {of} {kind} is no reply: {:?}", parsed.error))?;
        let calls = results(&parsed.calls);
        let mut history = vec![user.clone(), json!({"reply": reply})];
        if calls.is_empty() {
            history.push(json!({"user": "And tomorrow?"}));
        } else {
            history.push(json!({"results": calls}));
        }
        let whose = if of == api { "own".to_owned() } else { format!("of_{of}") };
        if kind == "calls" {
            let mut pictured = history.clone();
            for result in pictured.iter_mut().filter_map(|entry| entry.get_mut("results")?.as_array_mut()).flatten() {
                if let Some(fields) = result.as_object_mut() {
                    fields.insert("images".to_owned(), json!(["data:image/png;base64,iVBORw0KGgo="]));
                }
            }
            all.push((format!("{whose}.{kind}+image"), json!(pictured)));
        }
        all.push((format!("{whose}.{kind}"), json!(history)));
        history.push(json!({"notice": "Two calls are left."}));
        all.push((format!("{whose}.{kind}+notice"), json!(history)));
    }
    Ok(all)
}

/// A small reply of our own making, as its API words it.
#[derive(Debug, Deserialize)]
struct Fixture {
    api: Api,
    kind: String,
    body: Box<RawValue>,
}

/// Calls after reasoning, hosted output with sources, plain text: one file, read once per provider.
fn replies() -> Result<Vec<Fixture>> {
    Ok(serde_json::from_str(include_str!("replies.json"))?)
}
