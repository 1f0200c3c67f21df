use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::tests::reading;
use super::*;
use crate::types::{Citation, CitationSource, FunctionCall, HostedKind, HostedOutput, HostedStatus};

fn message(content: Value, stop: &str) -> Reply {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stop});
    parse(body.to_string().as_bytes(), &reading()).unwrap()
}

fn parts(reply: &Reply) -> Vec<Part> {
    reply.parts().cloned().collect()
}

fn call(id: &str, arguments: &str) -> FunctionCall {
    let text = str::to_owned;
    FunctionCall { provider_id: text(id), name: text("f"), arguments: text(arguments), complete: true }
}

fn page(url: &str, title: &str) -> Citation {
    let (source, title) = (CitationSource::Url(url.to_owned()), Some(title.to_owned()));
    Citation { source, title, quote: None, start: None, end: None }
}

#[test]
fn a_server_tool_and_its_result_are_one_part() {
    let reply = message(
        json!([
            {"type": "thinking", "thinking": "", "signature": "Es4D"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "Eq"},
                {"type": "web_search_result", "url": "https://b.example", "title": "B", "encrypted_content": "Er"}]},
            {"type": "redacted_thinking", "data": "Em"},
            {"type": "text", "text": "Größe: 5", "citations": [
                {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "encrypted_index": "i", "cited_text": "five"},
                {"type": "char_location", "document_index": 0, "document_title": null, "cited_text": "5", "start_char_index": 3, "end_char_index": 4},
                {"type": "search_result_location", "source": "https://c.example", "title": "C", "search_result_index": 0},
                {"type": "page_location", "document_index": 1, "document_title": "Report", "file_id": null}]},
        ]),
        "end_turn",
    );
    let cite = |source: CitationSource, title: Option<&str>, quote: Option<&str>| Citation {
        source,
        title: title.map(str::to_owned),
        quote: quote.map(str::to_owned),
        start: Some(0),
        end: Some(8),
    };
    let file = |path: &str| CitationSource::File { path: path.to_owned(), lines: None };
    let url = |url: &str| CitationSource::Url(url.to_owned());
    assert_eq!(
        parts(&reply),
        [
            Part::Reasoning { summary: None },
            Part::Hosted(HostedOutput {
                kind: HostedKind::Search,
                id: Some("srvtoolu_1".to_owned()),
                status: HostedStatus::Completed,
                input: vec!["x".to_owned()],
                output: None,
                sources: vec![page("https://a.example", "A"), page("https://b.example", "B")],
            }),
            Part::Reasoning { summary: None },
            Part::Text {
                text: "Größe: 5".to_owned(),
                citations: vec![
                    cite(url("https://a.example"), Some("A"), Some("five")),
                    cite(file("document 0"), None, Some("5")),
                    cite(url("https://c.example"), Some("C"), None),
                    cite(file("Report"), Some("Report"), None),
                ],
            },
        ]
    );
    assert_eq!((reply.items.len(), reply.stop), (5, Stop::End));
    assert_eq!(reply.notices, Vec::<String>::new());
}

/// What each kind of server tool returned, and what it failed with, is told.
#[test]
fn results_of_every_kind_are_read() {
    let cases = [
        (
            "web_fetch",
            "web_fetch_tool_result",
            json!({"type": "web_fetch_result", "url": "https://a.example", "content": {"type": "document", "title": "A",
                "source": {"type": "text", "media_type": "text/plain", "data": "page"}}}),
            (HostedKind::Fetch, HostedStatus::Completed, Some("page"), 1),
        ),
        (
            "web_fetch",
            "web_fetch_tool_result",
            json!({"type": "web_fetch_tool_result_error", "error_code": "url_not_allowed"}),
            (HostedKind::Fetch, HostedStatus::Failed, Some("url_not_allowed"), 0),
        ),
        ("web_search", "web_search_tool_result", json!([]), (HostedKind::Search, HostedStatus::Completed, None, 0)),
        (
            "bash_code_execution",
            "bash_code_execution_tool_result",
            json!({"type": "bash_code_execution_result", "stdout": "out", "stderr": "err", "return_code": 2,
                "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}]}),
            (HostedKind::Code, HostedStatus::Completed, Some("out\nerr\nexit code 2"), 1),
        ),
        (
            "text_editor_code_execution",
            "text_editor_code_execution_tool_result",
            json!({"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b"]}),
            (HostedKind::Code, HostedStatus::Completed, Some("-a\n+b"), 0),
        ),
        (
            "tool_search_tool_bm25",
            "tool_search_tool_result",
            json!({"type": "tool_search_tool_search_result", "tool_references": [
                {"type": "tool_reference", "tool_name": "a"}, {"type": "tool_reference", "tool_name": "b"}]}),
            (HostedKind::ToolSearch, HostedStatus::Completed, Some("a\nb"), 0),
        ),
        (
            "advisor",
            "advisor_tool_result",
            json!({"type": "advisor_result", "text": "do it", "stop_reason": "end_turn"}),
            (HostedKind::Other("advisor".to_owned()), HostedStatus::Completed, Some("do it"), 0),
        ),
    ];
    for (name, kind, content, expected) in cases {
        let reply = message(
            json!([
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {}},
                {"type": kind, "tool_use_id": "srvtoolu_1", "content": content},
            ]),
            "end_turn",
        );
        let hosted: Vec<_> = reply.hosted().collect();
        let [output] = hosted.as_slice() else { panic!("{kind}: {hosted:?}") };
        let seen = (output.kind.clone(), output.status, output.output.as_deref(), output.sources.len());
        assert_eq!(seen, expected, "{kind}");
    }
    let mcp = message(
        json!([
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"q": "x"}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": true, "content": [{"type": "text", "text": "no"}]},
        ]),
        "end_turn",
    );
    assert_eq!(
        mcp.hosted().cloned().collect::<Vec<_>>(),
        [HostedOutput {
            kind: HostedKind::Mcp,
            id: Some("mcptoolu_1".to_owned()),
            status: HostedStatus::Failed,
            input: vec!["wiki.ask".to_owned(), r#"{"q":"x"}"#.to_owned()],
            output: Some("no".to_owned()),
            sources: vec![],
        }]
    );
}

/// A use that waits is not finished, and a result that belongs to an earlier reply stands by itself.
#[test]
fn a_use_may_be_resolved_in_the_next_reply() {
    let first = message(
        json!([
            {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        ]),
        "tool_use",
    );
    assert_eq!(first.hosted().map(|output| output.status).collect::<Vec<_>>(), [HostedStatus::Incomplete]);
    assert_eq!((first.stop.clone(), first.calls().count()), (Stop::ToolCalls, 1));
    let second =
        message(json!([{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}]), "end_turn");
    assert_eq!(
        second.hosted().cloned().collect::<Vec<_>>(),
        [HostedOutput {
            kind: HostedKind::Search,
            id: Some("srvtoolu_1".to_owned()),
            status: HostedStatus::Completed,
            input: vec![],
            output: None,
            sources: vec![],
        }]
    );
}

/// DEV-A06: nothing but a natural end is an end.
#[test]
fn every_stop_reason_has_its_meaning() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}});
    let unknown = |reason: &str| Stop::Unknown(reason.to_owned());
    let cases = [
        (json!([]), "end_turn", Stop::End),
        (json!([]), "stop_sequence", Stop::End),
        (json!([call]), "tool_use", Stop::ToolCalls),
        (json!([]), "tool_use", unknown("tool_use without a call")),
        (json!([]), "max_tokens", Stop::Length),
        (json!([]), "model_context_window_exceeded", Stop::Length),
        (json!([]), "pause_turn", Stop::Paused),
        (json!([]), "compaction", Stop::Paused),
        (json!([]), "refusal", Stop::Refused),
        (json!([]), "", unknown("none")),
        (json!([]), "brand_new", unknown("brand_new")),
    ];
    for (content, reason, expected) in cases {
        assert_eq!(message(content, reason).stop, expected, "{reason}");
    }
    let refused = r#"{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"not this"}}"#;
    let reply = parse(refused.as_bytes(), &reading()).unwrap();
    assert_eq!(reply.notices, ["the provider says of its stop: not this"]);
}

/// DEV-B01, DEV-B06: none at all means `{}`; numbers stay the text they were.
#[test]
fn arguments_are_the_text_that_came() {
    let body = r#"{"type":"message","stop_reason":"tool_use","content":[
        {"type":"tool_use","id":"a","name":"f","input":{"id": 2512292042121000001, "big":1e400}},
        {"type":"tool_use","id":"b","name":"f","input":null},
        {"type":"tool_use","id":"c","name":"f"}]}"#;
    let reply = parse(body.as_bytes(), &reading()).unwrap();
    let given = r#"{"id": 2512292042121000001, "big":1e400}"#;
    assert_eq!(reply.calls().cloned().collect::<Vec<_>>(), [call("a", given), call("b", "{}"), call("c", "{}")]);
}

/// DEV-B03: text, usage and reason stay; only the call in which the output ended is not to run.
#[test]
fn the_call_in_which_the_output_ended_is_incomplete() {
    let text = json!({"type": "text", "text": "I will book it"});
    let use_of = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"flight": "XY1"}});
    let cut = message(json!([text, use_of("a"), use_of("b")]), "max_tokens");
    assert_eq!(cut.calls().map(|call| call.complete).collect::<Vec<_>>(), [true, false]);
    assert_eq!((cut.text_and_citations().0.as_str(), cut.stop), ("I will book it", Stop::Length));
    let between = message(json!([use_of("a"), text]), "max_tokens");
    assert_eq!(between.calls().map(|call| call.complete).collect::<Vec<_>>(), [true]);
}

#[test]
fn an_unknown_block_is_kept_and_told() {
    let reply =
        message(json!([{"type": "hologram", "data": [1]}, 7, {"type": "compaction", "content": "sum"}]), "end_turn");
    let unknown = |kind: &str| Part::Unknown { kind: kind.to_owned() };
    assert_eq!(parts(&reply), [unknown("hologram"), unknown("no object")]);
    assert_eq!(reply.items.len(), 3);
    assert_eq!(
        reply.notices,
        [
            "a block of the unknown type `hologram` was kept",
            "a block of the unknown type `no object` was kept",
            "the provider replaced the conversation so far with a summary",
        ]
    );
}

#[test]
fn what_is_no_message_is_an_error() {
    let overloaded = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let error = parse(overloaded, &reading()).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Unavailable, true));
    for body in ["", "{}", "[]", "null", "{\"type\":\"file\",\"id\":\"f\"}"] {
        assert_eq!(parse(body.as_bytes(), &reading()).unwrap_err().kind, ModelErrorKind::BadResponse, "{body}");
    }
}
