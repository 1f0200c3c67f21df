use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::{
    OpenAiResponses,
    tests::{target, tool},
};
use crate::{
    llm::{Conversation, Dialect, ModelRequest, Profile, Reading, Target},
    types::{
        Api, Citation, CitationSource, Entry, HostedKind, HostedOutput, HostedStatus, Item, Part, Reply, Stop,
        ToolResult, UserPart,
    },
};

fn user(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

fn result(id: &str, name: &str, content: &str) -> ToolResult {
    let text = str::to_owned;
    ToolResult { provider_id: text(id), name: text(name), content: text(content), is_error: false, images: Vec::new() }
}

fn read(body: &str) -> Reply {
    OpenAiResponses::default().parse(body.as_bytes(), &Reading::of((*target().origin).clone())).unwrap()
}

fn entry(reply: Reply) -> Entry {
    Entry::Reply(Arc::new(reply))
}

/// The bytes of `input` that a target gets for the entries.
fn input(target: &Target, entries: Vec<Entry>) -> String {
    let request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    let wire = OpenAiResponses::default().build(&request, target, &mut Conversation::from(entries)).unwrap();
    let body = String::from_utf8(wire.body.to_vec()).unwrap();
    body.split_once(",\"input\":").unwrap().1.strip_suffix('}').unwrap().to_owned()
}

const TURN: &str = concat!(
    r#"{"id":"resp_1","status":"completed","model":"gpt-5.6-2026","output":["#,
    r#"{ "type": "reasoning", "id":"rs_1","summary":[],"encrypted_content":"gAAA" },"#,
    r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"orders_find","arguments":"{\"order_id\":2512292042121000001,\"ratio\":0.1,\"big\":1e400}","status":"completed","x_new":[1]},"#,
    r#"{"type":"function_call","id":"fc_2","call_id":"call_2","name":"orders_find","arguments":"{}","status":"completed"},"#,
    r#"{"type":"brand_new_item","id":"n_1","payload":{"a":1e2}},"#,
    r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Looking.","annotations":[]}]}"#,
    r#"],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}"#,
);

/// DEV-B06, DEV-E04: the family's own items go back byte for byte, in order, with nothing between them.
#[test]
fn own_items_are_replayed_byte_for_byte() {
    let reply = read(TURN);
    assert_eq!(reply.notices, ["an item of the unknown type `brand_new_item` was kept"]);
    let results = Entry::Results(vec![result("call_1", "orders.find", "one"), result("call_2", "orders.find", "two")]);
    let sent = input(&target(), vec![user("go"), entry(reply), results]);
    let items = TURN.split_once("\"output\":[").unwrap().1.split_once("],\"usage\"").unwrap().0;
    let expected = format!(
        "[{},{items},{},{}]",
        r#"{"role":"user","content":"go"}"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":"one"}"#,
        r#"{"type":"function_call_output","call_id":"call_2","output":"two"}"#,
    );
    assert_eq!(sent, expected);
}

#[test]
fn names_on_the_wire_are_mapped_back_and_arguments_stay_text() {
    let request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    let dialect = OpenAiResponses::default();
    let wire = dialect.build(&request, &target(), &mut Conversation::new()).unwrap();
    let reply = dialect.parse(TURN.as_bytes(), &wire.reading).unwrap();
    let calls: Vec<(&str, &str)> = reply.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    let exact = r#"{"order_id":2512292042121000001,"ratio":0.1,"big":1e400}"#;
    assert_eq!(calls, [("orders.find", exact), ("orders.find", "{}")]);
    assert_eq!(reply.stop, Stop::ToolCalls);
}

/// DEV-C02: another provider gets the meaning: no reasoning, mapped ids, hosted work as text with its sources.
#[test]
fn a_reply_of_another_family_is_rendered_from_its_parts() {
    let mut reply = read(TURN);
    reply.origin.family = "claude".to_owned();
    reply.items.insert(
        0,
        Item::local(Part::Hosted(HostedOutput {
            kind: HostedKind::Search,
            id: None,
            status: HostedStatus::Completed,
            input: vec!["cups".to_owned()],
            output: None,
            sources: vec![Citation {
                source: CitationSource::Url("https://example.org/a".to_owned()),
                title: Some("A".to_owned()),
                quote: None,
                start: None,
                end: None,
            }],
        })),
    );
    if let Part::Call(call) = &mut reply.items[2].parts[0] {
        call.provider_id = "functions.read:0".to_owned();
        call.name = "orders.find".to_owned();
    }
    let results = Entry::Results(vec![result("functions.read:0", "orders.find", "one")]);
    let sent: Vec<Value> = serde_json::from_str(&input(&target(), vec![entry(reply), results])).unwrap();
    let id = sent[1]["call_id"].clone();
    assert_ne!(id, json!("functions.read:0"));
    let expected = [
        json!({"role": "assistant", "content": "[web search]\n> cups\n- A: https://example.org/a"}),
        json!({"type": "function_call", "call_id": id, "name": "orders_find",
            "arguments": "{\"order_id\":2512292042121000001,\"ratio\":0.1,\"big\":1e400}"}),
        json!({"type": "function_call", "call_id": "call_2", "name": "orders_find", "arguments": "{}"}),
        json!({"role": "assistant", "content": "Looking."}),
        json!({"type": "function_call_output", "call_id": id, "output": "one"}),
    ];
    assert_eq!(sent, expected);
}

/// DEV-B02: broken arguments would have every later request refused.
#[test]
fn broken_arguments_are_replayed_as_a_valid_object() {
    for broken in [r#""file_path=foo""#, r#""{\"a\":1}}""#, "\"\"", "null", r#"{"a":1}"#] {
        let body = format!(
            r#"{{"status":"completed","output":[{{"type":"function_call","call_id":"c","name":"orders_find","arguments":{broken},"keep":[0.10]}}]}}"#
        );
        let sent: Vec<Value> = serde_json::from_str(&input(&target(), vec![entry(read(&body))])).unwrap();
        let arguments: Value = serde_json::from_str(sent[0]["arguments"].as_str().unwrap()).unwrap();
        assert!(arguments.is_object(), "{broken}: {sent:?}");
        assert_eq!(sent[0]["keep"].to_string(), "[0.10]");
    }
}

#[test]
fn reasoning_without_content_is_not_replayed_where_nothing_is_stored() {
    let body = r#"{"status":"completed","output":[{"type":"reasoning","id":"rs","summary":[]},{"type":"message","content":[]}]}"#;
    let message = r#"[{"type":"message","content":[]}]"#;
    assert_eq!(input(&target(), vec![entry(read(body))]), message);
    let aliyun = Profile::by_name("aliyun").unwrap();
    let aliyun = Target::new(aliyun, Api::Responses, "qwen3.8-max".parse().unwrap()).unwrap();
    let mut reply = read(body);
    reply.origin = (*aliyun.origin).clone();
    let both = r#"[{"type":"reasoning","id":"rs","summary":[]},{"type":"message","content":[]}]"#;
    assert_eq!(input(&aliyun, vec![entry(reply)]), both);
}

#[test]
fn the_result_of_a_custom_call_has_its_own_type() {
    let body = r#"{"status":"completed","output":[{"type":"custom_tool_call","call_id":"c","name":"sql","input":"select 1"}]}"#;
    let reply = read(body);
    assert_eq!(reply.calls().next().unwrap().arguments, "select 1");
    let sent = input(&target(), vec![entry(reply), Entry::Results(vec![result("c", "sql", "1")])]);
    assert!(sent.ends_with(r#"{"type":"custom_tool_call_output","call_id":"c","output":"1"}]"#), "{sent}");
}

/// DEV-C01, DEV-D06: equal inputs give equal bytes, and growing a conversation gives the bytes of the grown one.
#[test]
fn what_was_written_once_is_only_added_to() {
    let request = ModelRequest { tools_defs: vec![tool("orders.find"), tool("b")], ..ModelRequest::default() };
    let entries = || {
        let results = Entry::Results(vec![result("call_1", "orders.find", "1"), result("call_2", "orders.find", "2")]);
        vec![user("go"), entry(read(TURN)), results, Entry::Notice("near a limit".to_owned())]
    };
    let build = |conversation: &mut Conversation| {
        OpenAiResponses::default().build(&request, &target(), conversation).unwrap().body
    };
    let whole = build(&mut Conversation::from(entries()));
    for _ in 0..100 {
        assert_eq!(build(&mut Conversation::from(entries())), whole);
    }
    let dialect = OpenAiResponses::default();
    let mut grown = Conversation::new();
    let mut last = bytes::Bytes::new();
    for next in entries() {
        grown.push(next);
        last = dialect.build(&request, &target(), &mut grown).unwrap().body;
    }
    assert_eq!(last, whole);
    let other = Target::new(Profile::by_name("xai").unwrap(), Api::Responses, "grok-4.7".parse().unwrap()).unwrap();
    let _ = dialect.build(&request, &other, &mut grown).unwrap();
    assert_eq!(dialect.build(&request, &target(), &mut grown).unwrap().body, whole);
}

/// A call that a program of the provider made is answered to that program, and what only replies have does not go back.
#[test]
fn the_result_of_a_programs_call_names_the_program() {
    let reply = read(
        r#"{"id":"r","status":"completed","output":[{"type":"program","id":"cm_1","call_id":"call_P","code":"x","fingerprint":"f","created_by":"agent"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"orders_find","arguments":"{}","status":"in_progress","caller":{"type":"program","caller_id":"call_P"}},{"type":"function_call","id":"fc_2","call_id":"call_2","name":"orders_find","arguments":"{}","status":"completed","caller":{"type":"direct"}}]}"#,
    );
    let results = Entry::Results(vec![result("call_1", "orders.find", "one"), result("call_2", "orders.find", "two")]);
    let sent = input(&target(), vec![entry(reply), results]);
    let expected = concat!(
        r#"{"type":"function_call_output","call_id":"call_1","output":"one","caller":{"type":"program","caller_id":"call_P"}},"#,
        r#"{"type":"function_call_output","call_id":"call_2","output":"two"}]"#,
    );
    assert!(sent.ends_with(expected), "{sent}");
    assert!(sent.contains(r#""fingerprint":"f"}"#) && !sent.contains("created_by"), "{sent}");
}
