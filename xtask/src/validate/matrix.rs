//! The matrix: tools × histories, in the neutral form.

use agcore::{
    llm::{
        Profile,
        wire::{self, Answer},
    },
    types::Api,
};
use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};

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
                }
                if profile.default_model.is_none() {
                    form["model"] = json!("local-model");
                }
                let name = format!("tools={tools_name} history={history_name} stream={stream}");
                all.push((name, form));
            }
        }
    }
    Ok(all)
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
        ("forbidden".to_owned(), json!({"tools_defs": functions(false), "tool_choice": "none"})),
        ("one_at_a_time".to_owned(), json!({"tools_defs": functions(false), "parallel_tool_calls": false})),
        (
            "deferred".to_owned(),
            json!({"tools_defs": functions(true), "hosted": [{"kind": "tool_search"}],
            "on_unsupported": "drop"}),
        ),
    ];
    for tool in hosted(profile, api) {
        let kind = tool["kind"].as_str().unwrap_or_default().to_owned();
        all.push((format!("hosted.{kind}"), json!({"hosted": [tool.clone()]})));
        all.push((format!("both.{kind}"), json!({"hosted": [tool.clone()], "tools_defs": functions(false)})));
        let spelling = profile.apis.get(&api).and_then(|settings| settings.hosted.get(&kind.as_str().into()));
        for name in spelling.into_iter().flat_map(|spelling| spelling.params.keys()) {
            let mut more = tool.clone();
            let (field, value) = (name.clone(), parameter(profile, api, &kind, name));
            if let Some(params) = more["params"].as_object_mut() {
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
    for (of, kind, body) in replies() {
        // Who never shows reasoning has none to send back.
        let thinks = ["deepseek", "deepseek-beta", "zai", "aliyun", "xai"].contains(&profile.name.as_str());
        if kind == "reasoning" && of == api && !thinks {
            continue;
        }
        let provider = if of == api { profile.name.as_str() } else { "openai" };
        let model = profile.default_model.as_ref().map_or("m", |model| model.as_str());
        let origin =
            wire::origin(provider, of, if of == api { model } else { "other" }).map_err(|error| anyhow!(error))?;
        let text = body.to_string();
        let answer = Answer { body: text.as_bytes(), stream: Some(false), ..Answer::default() };
        let Ok(parsed) = wire::parse(origin, &answer) else { continue };
        let reply = parsed.reply.ok_or_else(|| anyhow!("the fixture {of} {kind} is no reply: {:?}", parsed.error))?;
        let calls: Vec<Value> = parsed
            .calls
            .iter()
            .map(|call| {
                json!({"provider_id": call.call_id, "name": call.name, "content": "{\"temperature\": 12}",
                    "is_error": call.name == "time_now"})
            })
            .collect();
        let mut history = vec![user.clone(), json!({"reply": reply})];
        if calls.is_empty() {
            history.push(json!({"user": "And tomorrow?"}));
        } else {
            history.push(json!({"results": calls}));
        }
        let whose = if of == api { "own".to_owned() } else { format!("of_{of}") };
        all.push((format!("{whose}.{kind}"), json!(history)));
        history.push(json!({"notice": "Two calls are left."}));
        all.push((format!("{whose}.{kind}+notice"), json!(history)));
    }
    Ok(all)
}

/// Small replies of our own making, as each API words them: calls after reasoning, and hosted output with sources.
fn replies() -> Vec<(Api, &'static str, Value)> {
    let arguments = "{\"city\":\"Oslo\"}";
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    vec![
        (
            Api::Responses,
            "calls",
            json!({"id": "resp_1", "object": "response", "status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather_at", "arguments": arguments, "status": "completed"},
            {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "time_now", "arguments": "{}", "status": "completed"}]}),
        ),
        (
            Api::Responses,
            "hosted",
            json!({"id": "resp_2", "object": "response", "status": "completed", "output": [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "oslo weather", "sources": [{"type": "url", "url": "https://yr.no"}]}},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "It is 12 degrees.", "annotations": [
                {"type": "url_citation", "url": "https://yr.no", "title": "Yr", "start_index": 0, "end_index": 5}]}]}]}),
        ),
        (
            Api::Chat,
            "calls",
            json!({"id": "c1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather_at", "arguments": arguments}},
                {"id": "call_2", "type": "function", "function": {"name": "time_now", "arguments": ""}}]}}], "usage": usage}),
        ),
        (
            Api::Chat,
            "reasoning",
            json!({"id": "c2", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "reasoning_content": "I should look.", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather_at", "arguments": arguments}}]}}]}),
        ),
        (
            Api::Chat,
            "text",
            json!({"id": "c3", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "12 degrees."}}]}),
        ),
        (
            Api::Messages,
            "calls",
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": null, "content": [
            {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "weather_at", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "time_now", "input": {}}], "usage": {"input_tokens": 1, "output_tokens": 2}}),
        ),
        (
            Api::Messages,
            "hosted",
            json!({"id": "msg_2", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": null, "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "oslo weather"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://yr.no", "title": "Yr", "encrypted_content": "x", "page_age": null}]},
            {"type": "text", "text": "12 degrees.", "citations": [{"type": "web_search_result_location", "url": "https://yr.no", "title": "Yr", "encrypted_index": "i", "cited_text": "12"}]}],
            "usage": {"input_tokens": 1, "output_tokens": 2}}),
        ),
        (
            Api::Messages,
            "paused",
            json!({"id": "msg_3", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": null, "content": [
            {"type": "text", "text": "Still at it."}], "usage": {"input_tokens": 1, "output_tokens": 2}}),
        ),
        (
            Api::GenerateContent,
            "calls",
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Hm.", "thought": true},
            {"functionCall": {"name": "weather_at", "args": {"city": "Oslo"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "time_now", "args": {}}}]}}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}}),
        ),
        (
            Api::GenerateContent,
            "hosted",
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "12 degrees."}]},
            "groundingMetadata": {"webSearchQueries": ["oslo weather"], "groundingChunks": [{"web": {"uri": "https://yr.no", "title": "yr.no"}}],
                "groundingSupports": [{"segment": {"endIndex": 11, "text": "12 degrees."}, "groundingChunkIndices": [0]}]}}]}),
        ),
        (
            Api::GenerateContent,
            "mixed",
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"functionCall": {"id": "a1", "name": "weather_at", "args": {"city": "Oslo"}}, "thoughtSignature": "c2ln"},
            {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["oslo"]}}, "thoughtSignature": "c2ln"},
            {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<b>"}}, "thoughtSignature": "c2ln"},
            {"executableCode": {"code": "print(1)", "language": "PYTHON"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"text": "", "thoughtSignature": "c2ln"}]}}]}),
        ),
        (
            Api::Interactions,
            "hosted",
            json!({"id": "v1_2", "status": "completed", "steps": [
            {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]},
            {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["oslo"]}, "signature": "c2ln"},
            {"type": "google_search_result", "call_id": "g1", "result": [{"search_suggestions": "<b>"}], "signature": "c2ln"},
            {"type": "model_output", "content": [{"type": "text", "text": "12 degrees.", "annotations": [
                {"type": "url_citation", "url": "https://yr.no", "title": "yr.no", "start_index": 0, "end_index": 2}]}]}]}),
        ),
        (
            Api::Interactions,
            "calls",
            json!({"id": "v1_1", "status": "requires_action", "steps": [
            {"type": "function_call", "id": "c1", "name": "weather_at", "arguments": {"city": "Oslo"}}]}),
        ),
        (
            Api::Conversations,
            "calls",
            json!({"conversation_id": "conv_1", "object": "conversation.response", "outputs": [
            {"object": "entry", "type": "function.call", "id": "fc_1", "tool_call_id": "aB3dE6gH9", "name": "weather_at", "arguments": arguments}],
            "usage": usage}),
        ),
        (
            Api::Conversations,
            "hosted",
            json!({"conversation_id": "conv_2", "object": "conversation.response", "outputs": [
            {"object": "entry", "type": "tool.execution", "id": "tool_exec_1", "name": "web_search", "arguments": "{\"query\":\"oslo\"}"},
            {"object": "entry", "type": "message.output", "id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "12 degrees."},
                {"type": "tool_reference", "tool": "web_search", "title": "Yr", "url": "https://yr.no"}]}], "usage": usage}),
        ),
    ]
}
