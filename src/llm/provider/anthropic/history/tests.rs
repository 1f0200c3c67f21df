use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::{
    AnthropicMessages,
    tests::{reading, result, target, tool, user},
};
use crate::{
    llm::{Conversation, Dialect, ModelRequest, Target},
    types::{
        Api, Citation, CitationSource, Entry, FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Origin, Part,
        Reply, Stop, ToolResult, UserPart,
    },
};

fn reply(content: &str, stop: &str) -> Reply {
    let body = format!(r#"{{"id":"m","type":"message","content":[{content}],"stop_reason":"{stop}"}}"#);
    AnthropicMessages::default().parse(body.as_bytes(), &reading()).unwrap()
}

fn said(content: &str, stop: &str) -> Entry {
    Entry::Reply(Arc::new(reply(content, stop)))
}

fn results(ids: &[&str]) -> Entry {
    Entry::Results(ids.iter().map(|id| result(id, "orders.find", "done")).collect())
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn given(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
}

/// The text of `messages`, the same however often the conversation was sent while it grew.
fn sent_to(target: &Target, entries: &[Entry]) -> String {
    let request = ModelRequest { tools_defs: vec![tool("orders.find")], ..ModelRequest::default() };
    let dialect = AnthropicMessages::default();
    let messages = |conversation: &mut Conversation| {
        let wire = dialect.build(&request, target, conversation).unwrap();
        let body = String::from_utf8(wire.body.to_vec()).unwrap();
        body.split_once(",\"messages\":").unwrap().1.strip_suffix('}').unwrap().to_owned()
    };
    let (mut grown, mut last) = (Conversation::new(), String::new());
    for entry in entries {
        grown.push(entry.clone());
        last = messages(&mut grown);
    }
    assert_eq!(messages(&mut Conversation::from(entries.to_vec())), last);
    last
}

fn sent(entries: &[Entry]) -> Vec<(String, Value)> {
    let messages: Vec<Value> = serde_json::from_str(&sent_to(&target(), entries)).unwrap();
    messages
        .into_iter()
        .map(|mut message| (message["role"].as_str().unwrap().to_owned(), message["content"].take()))
        .collect()
}

fn by_user(content: Value) -> (String, Value) {
    ("user".to_owned(), content)
}

fn by_model(content: Value) -> (String, Value) {
    ("assistant".to_owned(), content)
}

const THOUGHT: &str = concat!(
    r#"{"type":"thinking","thinking":"a","signature":"S1"},{ "type": "redacted_thinking", "data":"R1" },"#,
    r#"{"type":"thinking","thinking":"b","signature":"S2"},"#,
    r#"{"type":"tool_use","id":"t1","name":"orders_find","input":{"order_id": 2512292042121000001,"big":1e400},"caller":{"type":"direct"},"x_new":[1]}"#,
);

/// DEV-E01, DEV-E04, DEV-B06: the family's own blocks go back byte for byte and in order; another one gets no thought.
#[test]
fn own_blocks_are_replayed_byte_for_byte() {
    let entries = [user("go"), said(THOUGHT, "tool_use"), results(&["t1"])];
    let messages = sent_to(&target(), &entries);
    assert!(messages.contains(&format!(r#"{{"content":[{THOUGHT}],"role":"assistant"}}"#)), "{messages}");

    let mut other = target();
    other.origin = Arc::new(Origin { family: "other".to_owned(), ..(*other.origin).clone() });
    let call =
        r#"{"type":"tool_use","id":"t1","name":"orders_find","input":{"order_id": 2512292042121000001,"big":1e400}}"#;
    let messages = sent_to(&other, &entries);
    assert!(messages.contains(&format!(r#"{{"content":[{call}],"role":"assistant"}}"#)), "{messages}");
}

/// DEV-C01: all results of a reply stand in one message, in call order, before anything else.
#[test]
fn results_stand_together_right_behind_their_calls() {
    let calls = r#"{"type":"tool_use","id":"a","name":"orders_find","input":{}},{"type":"tool_use","id":"b","name":"orders_find","input":{}}"#;
    let failed = ToolResult { is_error: true, ..result("b", "orders.find", "timeout") };
    let entries = [
        user("go"),
        said(calls, "tool_use"),
        Entry::Results(vec![result("a", "orders.find", "done"), failed]),
        Entry::Notice("The limit is near.".to_owned()),
        user("and?"),
    ];
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "orders_find", "input": {}});
    let failed = json!({"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "timeout"});
    assert_eq!(
        sent(&entries),
        [
            by_user(json!([text("go")])),
            by_model(json!([call("a"), call("b")])),
            by_user(json!([given("a"), failed, text("The limit is near."), text("and?")])),
        ]
    );
}

const SEARCH: &str = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}"#;
const FOUND: &str = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a.example","title":"A","encrypted_content":"E="}]}"#;
const CALL: &str = r#"{"type":"tool_use","id":"t1","name":"orders_find","input":{}}"#;

fn value(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap()
}

/// DEV-A07: a server tool and its result stay in the assistant's turn, in order; client results go into the next message.
#[test]
fn server_tools_and_client_calls_mix() {
    let mixed = format!(r#"{SEARCH},{FOUND},{CALL},{{"type":"text","text":"so"}}"#);
    let expected = json!([value(SEARCH), value(FOUND), value(CALL), text("so")]);
    assert_eq!(
        sent(&[user("go"), said(&mixed, "tool_use"), results(&["t1"]), user("next")]),
        [by_user(json!([text("go")])), by_model(expected), by_user(json!([given("t1"), text("next")]))]
    );
}

/// DEV-A07: a server tool that waits is resolved in the next reply. Until then the message holds results only, so what
/// agcore has to say goes into the last one.
#[test]
fn a_server_tool_may_wait_over_client_results() {
    let mixed = format!("{CALL},{SEARCH}");
    let mut entries = vec![user("go"), said(&mixed, "tool_use"), results(&["t1"]), Entry::Notice("Hurry.".to_owned())];
    let answered = json!({"type": "tool_result", "tool_use_id": "t1", "content": [text("done"), text("Hurry.")]});
    let begin =
        [by_user(json!([text("go")])), by_model(json!([value(CALL), value(SEARCH)])), by_user(json!([answered]))];
    assert_eq!(sent(&entries), begin);
    entries.push(said(&format!(r#"{FOUND},{{"type":"text","text":"5"}}"#), "end_turn"));
    entries.push(user("thanks"));
    let mut all = begin.to_vec();
    all.extend([by_model(json!([value(FOUND), text("5")])), by_user(json!([text("thanks")]))]);
    assert_eq!(sent(&entries), all);
}

/// DEV-A06: a paused reply and what continues it are one message; nothing of the user's stands between.
#[test]
fn a_paused_reply_and_its_continuation_are_one_message() {
    let entries = [
        user("go"),
        said(SEARCH, "pause_turn"),
        said(&format!(r#"{FOUND},{{"type":"text","text":"5"}}"#), "end_turn"),
        user("thanks"),
    ];
    assert_eq!(
        sent(&entries),
        [
            by_user(json!([text("go")])),
            by_model(json!([value(SEARCH), value(FOUND), text("5")])),
            by_user(json!([text("thanks")])),
        ]
    );
}

/// DEV-C03: a server tool that will never be resolved gets an error as its result, or every later request is refused.
#[test]
fn a_server_tool_that_was_left_open_is_closed() {
    let code = r#"{"type":"server_tool_use","id":"srvtoolu_2","name":"tool_search_tool_bm25","input":{}}"#;
    let mcp = r#"{"type":"mcp_tool_use","id":"mcptoolu_1","name":"ask","server_name":"wiki","input":{}}"#;
    let open = format!("{SEARCH},{code},{mcp}");
    let closed = json!([
        value(SEARCH), value(code), value(mcp),
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_2",
            "content": {"type": "tool_search_tool_result_error", "error_code": "unavailable"}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": true,
            "content": [{"type": "text", "text": "The call was interrupted; whether it ran is not known."}]},
    ]);
    for stop in ["pause_turn", "max_tokens"] {
        let entries = [
            user("go"),
            said(&open, stop),
            user("stop"),
            said(r#"{"type":"text","text":"ok"}"#, "end_turn"),
            user("x"),
        ];
        assert_eq!(
            sent(&entries),
            [
                by_user(json!([text("go")])),
                by_model(closed.clone()),
                by_user(json!([text("stop")])),
                by_model(json!([text("ok")])),
                by_user(json!([text("x")])),
            ]
        );
    }
    // The same when another reply follows at once, after a failure.
    let entries =
        [user("go"), said(SEARCH, "max_tokens"), said(r#"{"type":"text","text":"ok"}"#, "end_turn"), user("x")];
    let one = json!([value(SEARCH), closed[3], text("ok")]);
    assert_eq!(sent(&entries), [by_user(json!([text("go")])), by_model(one), by_user(json!([text("x")]))]);
}

#[test]
fn a_history_never_begins_or_ends_with_the_model() {
    let entries = [said(r#"{"type":"text","text":"Hello."},{"type":"text","text":" "}"#, "end_turn")];
    assert_eq!(
        sent(&entries),
        [
            by_user(json!([text("(The beginning of the conversation is not shown.)")])),
            by_model(json!([text("Hello.")])),
            by_user(json!([text("Go on.")])),
        ]
    );
    // An empty reply adds nothing, and the messages around it are one.
    let entries = [user("a"), said("", "end_turn"), user("b"), user(" ")];
    assert_eq!(sent(&entries), [by_user(json!([text("a"), text("b")]))]);
}

fn foreign() -> Reply {
    let origin = Origin {
        provider: "openai".parse().unwrap(),
        api: Api::Responses,
        model: "gpt-5.6".parse().unwrap(),
        family: "gpt".to_owned(),
    };
    let source = Citation {
        source: CitationSource::Url("https://a.example".to_owned()),
        title: Some("A".to_owned()),
        quote: None,
        start: None,
        end: None,
    };
    let hosted = HostedOutput {
        kind: HostedKind::Search,
        id: Some("ws_1".to_owned()),
        status: HostedStatus::Completed,
        input: vec!["x".to_owned()],
        output: None,
        sources: vec![source],
    };
    let call = |id: &str, arguments: &str| {
        let text = str::to_owned;
        Part::Call(FunctionCall {
            provider_id: text(id),
            name: text("orders.find"),
            arguments: text(arguments),
            complete: true,
        })
    };
    let parts = vec![
        Part::Reasoning { summary: Some("secret".to_owned()) },
        Part::Unknown { kind: "program".to_owned() },
        Part::Hosted(hosted),
        Part::Text { text: "Looking.".to_owned(), citations: vec![] },
        call("functions.read:0", "{\"n\":2512292042121000001}"),
        call("call_0fyPS1hVX", "file_path=foo"),
    ];
    Reply {
        origin,
        id: None,
        items: parts.into_iter().map(Item::local).collect(),
        stop: Stop::ToolCalls,
        usage: None,
        notices: vec![],
        carry: None,
    }
}

/// DEV-C02, DEV-B02: another provider's reply is told in words, its ids are mapped, its arguments are valid.
#[test]
fn a_foreign_reply_is_rendered_from_its_parts() {
    let entries = [user("go"), Entry::Reply(Arc::new(foreign())), results(&["functions.read:0", "call_0fyPS1hVX"])];
    let messages = sent(&entries);
    let id = messages[1].1[2]["id"].as_str().unwrap().to_owned();
    assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{id}");
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "orders_find", "input": input});
    assert_eq!(
        messages[1],
        by_model(json!([
            text("[web search]\n> x\n- A: https://a.example"),
            text("Looking."),
            call(&id, value("{\"n\":2512292042121000001}")),
            call("call_0fyPS1hVX", json!({})),
        ]))
    );
    assert_eq!(messages[2], by_user(json!([given(&id), given("call_0fyPS1hVX")])));
}

#[test]
fn images_go_by_address_or_inline() {
    let image = |url: &str| UserPart::Image { url: url.to_owned() };
    let parts =
        vec![UserPart::Text("see".to_owned()), image("https://a.example/x.png"), image("data:image/png;base64,iVBOR")];
    assert_eq!(
        sent(&[Entry::User(parts)]),
        [by_user(json!([
            text("see"),
            {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}},
        ]))]
    );
}

#[test]
fn the_result_of_a_toolset_call_names_its_toolset() {
    let call = r#"{"type":"tool_use","id":"t1","name":"screenshot","toolset_name":"browser","input":{}}"#;
    let messages = sent(&[user("go"), said(call, "tool_use"), results(&["t1"])]);
    assert_eq!(messages[2].1[0]["toolset_name"], "browser");
}

/// DEV-B02: input that is no object would have every later request refused.
#[test]
fn own_calls_with_broken_input_are_mended() {
    let call = r#"{"type":"tool_use","id":"t1","name":"orders_find","input":"{\"a\":1}"}"#;
    let messages = sent(&[user("go"), said(call, "tool_use"), results(&["t1"])]);
    assert_eq!(messages[1].1[0]["input"], json!({"a": 1}));
}
