use std::{collections::HashSet, sync::Arc};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{super::openai_response::tests::tool, *};
use crate::{
    llm::{OnUnsupported, Profile, SseParser, ToolChoice},
    types::{Api, Entry, ModelName, Stop, ToolResult, UserPart},
};

fn target(provider: &str) -> Target {
    let profile = Profile::by_name(provider).unwrap();
    let model = profile.default_model.clone().unwrap_or_else(|| ModelName::new("local").unwrap());
    Target::new(profile, Api::Chat, model).unwrap()
}

fn read(target: &Target, body: &Value) -> Reply {
    OpenAiChat::default().parse(body.to_string().as_bytes(), &Reading::of((*target.origin).clone())).unwrap()
}

fn completion(message: &Value, finish: &str) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 256}})
}

fn stream(target: &Target, chunks: &[Value]) -> Reply {
    let (mut parser, mut fold) = (SseParser::new(), OpenAiChat::default().fold(Reading::of((*target.origin).clone())));
    let mut sse: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    sse.push_str("data: [DONE]\n\n");
    parser.push(sse.as_bytes(), |event| fold.push(event, &())).unwrap();
    assert!(fold.done());
    fold.finish().unwrap()
}

fn delta(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null})
}

fn calls(reply: &Reply) -> Vec<(String, String, String)> {
    reply.calls().map(|call| (call.provider_id.clone(), call.name.clone(), call.arguments.clone())).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

fn request() -> ModelRequest {
    ModelRequest { tools_defs: vec![tool("orders.find"), tool("b")], ..ModelRequest::default() }
}

fn messages(target: &Target, entries: Vec<Entry>) -> Vec<Value> {
    let wire = OpenAiChat::default().build(&request(), target, &mut Conversation::from(entries)).unwrap();
    let mut body: Value = serde_json::from_slice(&wire.body).unwrap();
    serde_json::from_value(body["messages"].take()).unwrap()
}

#[test]
fn a_whole_request_looks_like_this() {
    let request = ModelRequest {
        instructions: "Be brief.".to_owned(),
        tool_choice: ToolChoice::Named("orders.find".parse().unwrap()),
        parallel_tool_calls: Some(true),
        max_output_tokens: Some(500),
        response_schema: Some(("answer".to_owned(), json!({"type": "object"}))),
        stream: true,
        ..request()
    };
    let hello = Entry::User(vec![
        UserPart::Text("look".to_owned()),
        UserPart::Image { url: "https://example.org/a.png".to_owned() },
    ]);
    let wire = OpenAiChat::default().build(&request, &target("openai"), &mut Conversation::from(vec![hello])).unwrap();
    insta::assert_snapshot!(String::from_utf8(wire.body.to_vec()).unwrap());
}

/// DEV-A02
#[test]
fn provider_tools_are_refused_or_dropped_aloud_and_a_choice_never_changes_silently() {
    let mut request = request();
    request.extra.insert("builtin_tools".to_owned(), json!([{"type": "web_search"}, {"type": "code_interpreter"}]));
    let build = |request: &ModelRequest, provider| {
        OpenAiChat::default().build(request, &target(provider), &mut Conversation::new())
    };
    let error = build(&request, "deepseek").unwrap_err();
    assert!(
        error.to_string().contains("`builtin_tools[0]` of type `web_search` cannot be sent to `deepseek`"),
        "{error}"
    );
    request.on_unsupported = OnUnsupported::Drop;
    assert_eq!(build(&request, "deepseek").unwrap().reading.notices.len(), 2);
    request.extra.clear();

    for (provider, choice) in [("zai", ToolChoice::Required), ("deepseek", ToolChoice::Named("b".parse().unwrap()))] {
        let forced = ModelRequest { tool_choice: choice, on_unsupported: OnUnsupported::Error, ..request.clone() };
        assert!(matches!(build(&forced, provider), Err(WireError::UnsupportedChoice { .. })), "{provider}");
        let wire = build(&ModelRequest { on_unsupported: OnUnsupported::Drop, ..forced }, provider).unwrap();
        assert_eq!(wire.reading.notices.len(), 1, "{provider}");
        assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap().get("tool_choice"), None);
    }
    // Z.AI has no word for "none"; without tools it is the same.
    let none = ModelRequest { tool_choice: ToolChoice::None, ..request };
    let body: Value = serde_json::from_slice(&build(&none, "zai").unwrap().body).unwrap();
    assert_eq!(body.get("tools"), None);
}

/// DEV-B04
#[test]
fn calls_are_told_apart_by_id_first_and_index_second() {
    let openai = target("openai");
    let fragment = |index: Option<u32>, id: &str, name: &str, arguments: &str| {
        let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        if let Some(index) = index {
            call["index"] = index.into();
        }
        delta(json!({"tool_calls": [call]}), None)
    };
    let two = [call("a", "read", "{\"p\":1}"), call("b", "read", "{\"p\":2}")];
    for index in [Some(0), None] {
        let chunks = [fragment(index, "a", "read", "{\"p\":1}"), fragment(index, "b", "read", "{\"p\":2}")];
        assert_eq!(calls(&stream(&openai, &chunks)), two, "{index:?}");
    }
    // Interleaved by index; later fragments with the id empty, repeated or absent.
    let chunks = [
        fragment(Some(0), "a", "read", ""),
        fragment(Some(1), "b", "read", "{\"p\""),
        fragment(Some(0), "", "", "{\"p\":"),
        fragment(Some(1), "b", "read", ":2}"),
        fragment(Some(0), "a", "", "1}"),
        delta(json!({}), Some("tool_calls")),
    ];
    assert_eq!(calls(&stream(&openai, &chunks)), two);
    // Mistral's hosted GLM: the second piece has neither id nor name nor index.
    let chunks = [fragment(None, "a", "read", "{\"p\""), fragment(None, "", "", ":1}")];
    assert_eq!(calls(&stream(&openai, &chunks)), two[..1]);
}

#[test]
fn a_streamed_reply_equals_the_unary_one() {
    let target = target("zai");
    let message = json!({"role": "assistant", "content": "Hi é", "reasoning_content": "Hm.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]});
    let unary = read(&target, &completion(&message, "tool_calls"));
    let streamed = stream(
        &target,
        &[
            json!({"id": "c1", "choices": [], "prompt_filter_results": []}),
            delta(json!({"role": "assistant", "content": "", "reasoning_content": "Hm"}), Some("null")),
            delta(json!({"reasoning_content": ".", "obfuscation": "abc", "p": "abcd"}), None),
            delta(json!({"content": "Hi "}), None),
            delta(json!({"content": "é"}), None),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "now"}}]}),
                None,
            ),
            delta(json!({"tool_calls": [{"index": 0, "id": "", "function": {"arguments": ""}}]}), None),
            delta(json!({}), Some("tool_calls")),
            json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 256}}),
        ],
    );
    let neutral = |reply: &Reply| {
        let mut value = serde_json::to_value(reply).unwrap();
        value["items"][0]["raw"] = Value::Null;
        value
    };
    assert_eq!(neutral(&streamed), neutral(&unary));
    assert_eq!(unary.stop, Stop::ToolCalls);
    // What is replayed is the same message too.
    let wire = |reply: Reply| messages(&target, vec![Entry::Reply(Arc::new(reply))]).remove(0);
    assert_eq!(wire(streamed), wire(unary));
}

/// DEV-B01, DEV-B03
#[test]
fn blank_arguments_are_an_object_and_cut_ones_are_marked() {
    let openai = target("openai");
    for blank in [json!(""), json!(" "), json!("null"), Value::Null, json!({})] {
        let message = json!({"content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": blank}}]});
        assert_eq!(calls(&read(&openai, &completion(&message, "tool_calls"))), [call("a", "now", "{}")], "{blank}");
    }
    let cut = "{\"flight\":\"XY1\",\"seat\":\"1";
    let message = json!({"content": "I will book it", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "book", "arguments": cut}}]});
    let reply = read(&openai, &completion(&message, "length"));
    assert_eq!(reply.stop, Stop::Length);
    assert_eq!(reply.text_and_citations().0, "I will book it");
    assert_eq!(reply.usage.map(|usage| (usage.prompt(), usage.completion())), Some((900, 256)));
    assert_eq!(reply.calls().map(|call| call.complete).collect::<Vec<_>>(), [true, false]);
    assert_eq!(calls(&reply)[1], call("b", "book", cut));
    // DEV-B02: replayed as a valid object all the same.
    let sent = messages(&openai, vec![Entry::Reply(Arc::new(reply))]);
    let arguments = sent[0]["tool_calls"][1]["function"]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_ok(), "{arguments}");
}

#[test]
fn a_cut_stream_is_no_finished_reply() {
    let (mut parser, mut fold) =
        (SseParser::new(), OpenAiChat::default().fold(Reading::of((*target("openai").origin).clone())));
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}]});
    let sse = format!("data: {}\n\ndata: {}\n\n", delta(json!({"content": "Hi"}), None), delta(call, None));
    parser.push(sse.as_bytes(), |event| fold.push(event, &())).unwrap();
    let reply = fold.finish().unwrap();
    assert!(matches!(reply.stop, Stop::Failed(_)));
    assert_eq!(reply.text_and_citations().0, "Hi");
    assert_eq!(reply.calls().map(|call| call.complete).collect::<Vec<_>>(), [false]);
}

#[test]
fn an_error_inside_a_stream_is_an_error() {
    for sse in [
        "data: {\"error\":{\"code\":502,\"message\":\"x\"},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
        "event: error\ndata: {\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}\n\n",
    ] {
        let (mut parser, mut fold) =
            (SseParser::new(), OpenAiChat::default().fold(Reading::of((*target("openai").origin).clone())));
        parser.push(sse.as_bytes(), |event| fold.push(event, &())).unwrap();
        let error = fold.finish().unwrap_err();
        assert_eq!((error.kind, error.retryable), (crate::llm::ModelErrorKind::Unavailable, true), "{sse}");
    }
}

/// DEV-E02: with DeepSeek a message with calls keeps its reasoning text, even an empty one, and others lose it.
#[test]
fn reasoning_text_goes_back_exactly_where_the_provider_wants_it() {
    let calls = json!([{"id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}]);
    let with = json!({"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": calls});
    let without = json!({"role": "assistant", "content": "", "tool_calls": calls});
    let plain = json!({"role": "assistant", "content": "Hi", "reasoning_content": "Hm."});
    let sent = |provider: &str, message: &Value| {
        let target = target(provider);
        let reply = read(&target, &completion(message, "stop"));
        messages(&target, vec![Entry::Reply(Arc::new(reply))]).remove(0)
    };
    assert_eq!(sent("deepseek", &with), with);
    let empty = json!({"role": "assistant", "content": "", "tool_calls": calls, "reasoning_content": ""});
    assert_eq!(sent("deepseek", &without), empty);
    assert_eq!(sent("deepseek", &plain), json!({"role": "assistant", "content": "Hi"}));
    assert_eq!(sent("zai", &plain), plain);
    assert_eq!(sent("xai", &plain), json!({"role": "assistant", "content": "Hi"}));
}

/// DEV-C02, DEV-C01
#[test]
fn a_foreign_history_meets_the_providers_rules() {
    let openai = target("openai");
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_0fyPS1hVX", "type": "function", "function": {"name": "orders_find", "arguments": "{}"}},
        {"id": "functions.read:0", "type": "function", "function": {"name": "b", "arguments": "{}"}}]});
    let reply = read(&openai, &completion(&message, "tool_calls"));
    let result = |id: &str, name: &str| ToolResult {
        provider_id: id.to_owned(),
        name: name.to_owned(),
        content: "ok".to_owned(),
        is_error: false,
        images: Vec::new(),
    };
    let results = Entry::Results(vec![result("call_0fyPS1hVX", "orders.find"), result("functions.read:0", "b")]);
    let sent = messages(&target("mistral"), vec![Entry::Reply(Arc::new(reply)), results]);
    let ids: Vec<&str> =
        sent[0]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())), "{ids:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 2);
    let expected = [
        json!({"role": "tool", "tool_call_id": ids[0], "name": "orders_find", "content": "ok"}),
        json!({"role": "tool", "tool_call_id": ids[1], "name": "b", "content": "ok"}),
    ];
    assert_eq!(sent[1..], expected);
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own_that_goes_back_with_its_result() {
    let target = target("compatible");
    let message = json!({"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "b", "arguments": "{}"}},
        {"type": "function", "function": {"name": "b", "arguments": "{}"}}]});
    let reply = read(&target, &completion(&message, "tool_calls"));
    let ids: Vec<String> = reply.calls().map(|call| call.provider_id.clone()).collect();
    assert_ne!(ids[0], ids[1]);
    let sent = messages(&target, vec![Entry::Reply(Arc::new(reply))]);
    let wire: Vec<&str> =
        sent[0]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(wire, ids);
}

#[test]
fn content_in_pieces_is_text_and_thoughts() {
    let target = target("mistral");
    let message = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": true},
        {"type": "text", "text": "Hi "}, {"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "you"}]});
    let reply = read(&target, &completion(&message, "stop"));
    assert_eq!(reply.text_and_citations().0, "Hi you");
    assert!(matches!(&reply.items[0].parts[0], crate::types::Part::Reasoning { summary: Some(text) } if text == "Hm."));
    // Byte for byte, thoughts included.
    assert_eq!(messages(&target, vec![Entry::Reply(Arc::new(reply))]), [message]);
}

#[test]
fn an_empty_message_is_not_sent_back() {
    let target = target("openai");
    let reply = read(&target, &completion(&json!({"role": "assistant", "content": ""}), "stop"));
    assert_eq!(messages(&target, vec![Entry::Reply(Arc::new(reply))]), Vec::<Value>::new());
}
