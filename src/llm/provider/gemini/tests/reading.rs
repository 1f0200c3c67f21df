//! Replies, whole and streamed.

use pretty_assertions::assert_eq;

use super::*;

fn source(url: &str, title: Option<&str>, range: Option<(usize, usize)>) -> Citation {
    let (start, end) = range.unzip();
    let title = title.map(str::to_owned);
    Citation { source: CitationSource::Url(url.to_owned()), title, quote: None, start, end }
}

/// DEV-B01, DEV-B06
#[test]
fn calls_without_ids_get_one_and_arguments_stay_as_written() {
    let parts = json!([
        {"functionCall": {"name": "now"}},
        {"functionCall": {"name": "find", "args": null}},
        {"functionCall": {"name": "find", "id": "abc", "args": {}}},
    ]);
    let body = response(parts, Some("STOP"))
        .to_string()
        .replace("\"args\":{}", "\"args\":{\"order_id\":2512292042121000001,\"ratio\":0.10,\"big\":1e400}");
    let reply = GeminiGenerateContent::default().parse(body.as_bytes(), &origin(MODEL)).unwrap();
    let calls: Vec<FunctionCall> = reply.calls().cloned().collect();
    let made: Vec<&str> = calls.iter().map(|call| call.provider_id.as_str()).collect();
    assert_eq!(made[0].rsplit_once('_').unwrap().0, made[1].rsplit_once('_').unwrap().0);
    let exact = "{\"order_id\":2512292042121000001,\"ratio\":0.10,\"big\":1e400}";
    let expected =
        [call(made[0], "now", "{}", true), call(made[1], "find", "{}", true), call("abc", "find", exact, true)];
    assert_eq!(calls, expected);
    assert_ne!(made[0], made[1]);
    assert_eq!(reply.stop, Stop::ToolCalls);
    let other =
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "now"}}]}}], "responseId": "r2"});
    assert_ne!(read(&other).calls().next().unwrap().provider_id, made[0]);
}

/// DEV-E03: in a stream as in one piece, the signature stays on the part that had it.
#[test]
fn a_stream_gives_the_reply_that_one_piece_gives() {
    let whole = response(
        json!([
            {"text": "Let me think.", "thought": true},
            {"text": "Weather 天气: "},
            {"functionCall": {"name": "a", "id": "1", "args": {"x": 1}}, "thoughtSignature": "S1"},
            {"functionCall": {"name": "b", "id": "2", "args": {}}},
            {"text": "done"},
        ]),
        Some("STOP"),
    );
    let chunk = |parts| response(parts, None);
    let streamed = [
        chunk(json!([{"text": "Let me ", "thought": true}])),
        chunk(json!([{"text": "think.", "thought": true}])),
        chunk(json!([{"text": "Weather 天"}])),
        chunk(
            json!([{"text": "气: "}, {"functionCall": {"name": "a", "id": "1", "args": {"x": 1}}, "thoughtSignature": "S1"}]),
        ),
        chunk(json!([{"functionCall": {"name": "b", "id": "2", "args": {}}}])),
        response(json!([{"text": "done"}]), Some("STOP")),
    ];
    let (one, other) = (read(&whole), stream(&streamed));
    assert_eq!(serde_json::to_value(&other).unwrap(), serde_json::to_value(&one).unwrap());
    assert_eq!(raws(&one), whole["candidates"][0]["content"]["parts"].as_array().unwrap().clone());
}

#[test]
fn a_signed_part_is_never_merged_although_its_text_reads_on() {
    let chunks = [
        response(json!([{"text": "Hel"}]), None),
        response(json!([{"text": "lo"}]), None),
        response(json!([{"text": " you", "thoughtSignature": "S"}]), None),
        response(json!([{"text": "", "thoughtSignature": "T"}]), Some("STOP")),
    ];
    let reply = stream(&chunks);
    assert_eq!(
        raws(&reply),
        [
            json!({"text": "Hello"}),
            json!({"text": " you", "thoughtSignature": "S"}),
            json!({"text": "", "thoughtSignature": "T"})
        ]
    );
    assert_eq!(parts(&reply), [text("Hello you")]);
    assert_eq!(reply.stop, Stop::End);
}

#[test]
fn those_who_watch_see_each_piece_once() {
    let seen = Seen::default();
    let chunks = [
        response(
            json!([{"text": "hm", "thought": true}, {"executableCode": {"code": "1", "language": "PYTHON"}}]),
            None,
        ),
        response(json!([{"text": "Hi"}]), None),
        response(json!([{"functionCall": {"name": "a", "id": "1", "args": {"x": 1}}}]), Some("STOP")),
    ];
    fold(&chunks, &seen).unwrap();
    let expected = [
        ReplyEvent::Reasoning("hm".to_owned()),
        ReplyEvent::Hosted("code_execution".to_owned()),
        ReplyEvent::Text("Hi".to_owned()),
        ReplyEvent::CallStarted { provider_id: "1".to_owned(), name: "a".to_owned() },
        ReplyEvent::Arguments { provider_id: "1".to_owned(), delta: "{\"x\":1}".to_owned() },
    ];
    assert_eq!(*seen.0.lock().unwrap(), expected);
}

/// Text goes on after the first reason to stop (recorded 2026), so a stream is read to its end.
#[test]
fn a_reason_to_stop_in_the_middle_does_not_end_the_stream() {
    let chunks = [
        response(json!([{"executableCode": {"code": "print(1)", "language": "PYTHON"}}]), Some("STOP")),
        response(json!([{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}]), None),
        response(json!([{"text": "It is 1."}]), Some("STOP")),
    ];
    let ran = HostedOutput {
        kind: HostedKind::Code,
        id: None,
        status: HostedStatus::Completed,
        input: vec!["print(1)".to_owned()],
        output: Some("1\n".to_owned()),
        sources: Vec::new(),
    };
    let reply = stream(&chunks);
    assert_eq!(parts(&reply), [Part::Hosted(ran), text("It is 1.")]);
    assert_eq!(reply.stop, Stop::End);
}

/// DEV-A07: what the provider ran and what the client is to run stay apart, in the order they came.
#[test]
fn server_side_invocations_are_hosted_outputs_beside_calls() {
    let reply = read(&response(
        json!([
            {"functionCall": {"name": "calc", "id": "c", "args": {}}, "thoughtSignature": "S1"},
            {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["tokyo"]}}, "thoughtSignature": "S2"},
            {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<b>"}}, "thoughtSignature": "S3"},
            {"toolCall": {"id": "u", "toolType": "URL_CONTEXT", "args": {"urls": ["https://a.example"]}}},
        ]),
        Some("STOP"),
    ));
    let hosted = |kind, id: &str, status, input: &str| {
        let (id, input) = (Some(id.to_owned()), vec![input.to_owned()]);
        Part::Hosted(HostedOutput { kind, id, status, input, output: None, sources: Vec::new() })
    };
    assert_eq!(
        parts(&reply),
        [
            Part::Call(call("c", "calc", "{}", true)),
            hosted(HostedKind::Search, "t", HostedStatus::Completed, "tokyo"),
            hosted(HostedKind::Fetch, "u", HostedStatus::Incomplete, "https://a.example"),
        ]
    );
    assert_eq!((reply.items.len(), reply.stop), (4, Stop::ToolCalls));
}

fn grounded(parts: Value, supports: Value) -> Value {
    let mut body = response(parts, Some("STOP"));
    body["candidates"][0]["groundingMetadata"] = json!({
        "webSearchQueries": ["", "天气"],
        "searchEntryPoint": {"renderedContent": "<style>"},
        "groundingChunks": [
            {"web": {"uri": "https://r.example/1", "title": "one.example"}},
            {"web": {"uri": "https://r.example/2"}},
        ],
        "groundingSupports": supports,
    });
    body["usageMetadata"] = json!({"promptTokenCount": 1, "candidatesTokenCount": 1});
    body
}

/// Offsets are bytes of UTF-8 on the wire and code points in a citation; one for each support and chunk.
#[test]
fn grounding_becomes_a_search_and_citations_in_code_points() {
    let supports = json!([
        {"segment": {"endIndex": 13, "text": "天气 🌦️"[..11].to_owned() + "x"}, "groundingChunkIndices": [0]},
        {"segment": {"startIndex": 7, "endIndex": 15, "text": "🌦 hot"}, "groundingChunkIndices": [0, 1]},
        {"segment": {"endIndex": 6, "text": "天气"}, "groundingChunkIndices": [1, 9]},
    ]);
    let reply = read(&grounded(json!([{"text": "think", "thought": true}, {"text": "天气 🌦 hot."}]), supports));
    let (one, two) = (Some("one.example"), None);
    let found = HostedOutput {
        kind: HostedKind::Search,
        id: None,
        status: HostedStatus::Completed,
        input: vec!["天气".to_owned()],
        output: None,
        sources: vec![source("https://r.example/1", one, None), source("https://r.example/2", two, None)],
    };
    let citations = vec![
        source("https://r.example/1", one, Some((3, 8))),
        source("https://r.example/2", two, Some((3, 8))),
        source("https://r.example/2", two, Some((0, 2))),
        // The quoted words are not there, so the offsets are not believed.
        source("https://r.example/1", one, None),
    ];
    assert_eq!(
        parts(&reply),
        [
            Part::Reasoning { summary: Some("think".to_owned()) },
            Part::Hosted(found),
            Part::Text { text: "天气 🌦 hot.".to_owned(), citations },
        ]
    );
    assert_eq!(reply.usage.unwrap().searches, 1);
}

/// In a stream the offsets count from the start of all text (recorded 2026-08).
#[test]
fn grounding_of_a_stream_counts_over_all_its_text() {
    let supports =
        json!([{"segment": {"startIndex": 7, "endIndex": 15, "text": "🌦 hot"}, "groundingChunkIndices": [0]}]);
    let chunks = [
        response(json!([{"text": "天气 🌦"}]), None),
        grounded(json!([{"text": " hot."}]), supports),
        response(json!([{"text": "", "thoughtSignature": "S"}]), Some("STOP")),
    ];
    let reply = stream(&chunks);
    let (text, citations) = reply.text_and_citations();
    assert_eq!(text, "天气 🌦 hot.");
    assert_eq!(citations, [source("https://r.example/1", Some("one.example"), Some((3, 8)))]);
    assert_eq!(raws(&reply).iter().filter(|raw| raw.get("groundingMetadata").is_some()).count(), 1);
}

#[test]
fn a_part_index_counts_shown_text_only() {
    let supports = json!([{"segment": {"partIndex": 1, "startIndex": 1, "endIndex": 3, "text": "ba"}, "groundingChunkIndices": [0]}]);
    let code = json!({"executableCode": {"code": "1", "language": "PYTHON"}});
    let reply =
        read(&grounded(json!([{"text": "hm", "thought": true}, {"text": "aba"}, code, {"text": "aba"}]), supports));
    let (text, citations) = reply.text_and_citations();
    assert_eq!((text.as_str(), citations[0].start, citations[0].end), ("abaaba", Some(4), Some(6)));
}

#[test]
fn fetched_addresses_files_and_places_are_told_apart() {
    let mut body = response(json!([{"text": "ok"}]), Some("STOP"));
    let candidate = &mut body["candidates"][0];
    candidate["urlContextMetadata"] = json!({"urlMetadata": [
        {"retrievedUrl": "https://a.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
        {"retrievedUrl": "https://b.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_PAYWALL"},
    ]});
    candidate["groundingMetadata"] = json!({"groundingChunks": [{"web": {"uri": "https://a.example"}}]});
    let seen = |reply: &Reply| -> Vec<(HostedKind, HostedStatus, usize)> {
        reply.hosted().map(|output| (output.kind.clone(), output.status, output.sources.len())).collect()
    };
    let expected = [(HostedKind::Fetch, HostedStatus::Completed, 1), (HostedKind::Fetch, HostedStatus::Failed, 0)];
    assert_eq!(seen(&read(&body)), expected);

    let mut body = response(json!([{"text": "ok"}]), Some("STOP"));
    body["candidates"][0]["groundingMetadata"] = json!({"groundingChunks": [
        {"retrievedContext": {"title": "a.pdf", "text": "found words", "fileSearchStore": "fileSearchStores/s"}},
        {"maps": {"uri": "https://maps.example/1", "title": "Café", "placeId": "places/1"}},
    ], "groundingSupports": [{"segment": {"endIndex": 2}, "groundingChunkIndices": [0]}]});
    let reply = read(&body);
    let expected =
        [(HostedKind::FileSearch, HostedStatus::Completed, 1), (HostedKind::Maps, HostedStatus::Completed, 1)];
    assert_eq!(seen(&reply), expected);
    let file = CitationSource::File { path: "fileSearchStores/s".to_owned(), lines: None };
    let (title, quote) = (Some("a.pdf".to_owned()), Some("found words".to_owned()));
    assert_eq!(reply.text_and_citations().1, [Citation { source: file, title, quote, start: Some(0), end: Some(2) }]);
}

/// Vertex only. The last stream of a recording never closed its call.
#[test]
fn arguments_in_pieces_become_one_call() {
    let piece = |call: Value| response(json!([{"functionCall": call}]), None);
    let mut chunks = vec![
        response(json!([{"functionCall": {"name": "w", "willContinue": true}, "thoughtSignature": "S"}]), None),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "Bos", "willContinue": true}], "willContinue": true}),
        ),
        piece(json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "ton"}], "willContinue": true})),
    ];
    let broken = stream(&chunks);
    let id = broken.calls().next().unwrap().provider_id.clone();
    assert_eq!(parts(&broken), [Part::Call(call(&id, "w", "{\"city\":\"Boston\"}", false))]);
    assert!(matches!(broken.stop, Stop::Failed(_)));
    chunks.push(json!({"candidates": [{"finishReason": "STOP"}]}));
    let reply = stream(&chunks);
    assert_eq!(parts(&reply), [Part::Call(call(&id, "w", "{\"city\":\"Boston\"}", true))]);
    assert_eq!(
        raws(&reply),
        [json!({"functionCall": {"name": "w", "args": {"city": "Boston"}}, "thoughtSignature": "S"})]
    );
}

/// DEV-B03
#[test]
fn the_end_of_the_budget_keeps_what_there_is() {
    let mut body = response(
        json!([{"text": "I will"}, {"functionCall": {"name": "f", "id": "1", "args": {"a": 1}}}]),
        Some("MAX_TOKENS"),
    );
    body["usageMetadata"] = json!({"promptTokenCount": 900, "candidatesTokenCount": 256});
    let reply = read(&body);
    assert_eq!(reply.stop, Stop::Length);
    assert_eq!(parts(&reply), [text("I will"), Part::Call(call("1", "f", "{\"a\":1}", true))]);
    assert_eq!(reply.usage, Some(Usage { input: 900, output: 256, ..Usage::default() }));
}

#[test]
fn every_reason_keeps_its_meaning_and_an_unknown_one_is_never_the_end() {
    let failed = |text: &str| Stop::Failed(text.to_owned());
    for (reason, expected) in [
        ("STOP", Stop::End),
        ("SAFETY", Stop::Filtered),
        ("RECITATION", Stop::Filtered),
        ("IMAGE_SAFETY", Stop::Filtered),
        ("MALFORMED_FUNCTION_CALL", failed("MALFORMED_FUNCTION_CALL")),
        ("UNEXPECTED_TOOL_CALL", failed("UNEXPECTED_TOOL_CALL")),
        ("ESCALATION", Stop::Unknown("ESCALATION".to_owned())),
        ("BRAND_NEW", Stop::Unknown("BRAND_NEW".to_owned())),
        ("CONTINUATION", Stop::Unknown("CONTINUATION".to_owned())),
    ] {
        assert_eq!(read(&response(json!([{"text": "x"}]), Some(reason))).stop, expected, "{reason}");
        assert_eq!(stream(&[response(json!([{"text": "x"}]), Some(reason))]).stop, expected, "{reason}");
    }
    let mut body = response(json!([]), Some("MALFORMED_FUNCTION_CALL"));
    body["candidates"][0]["finishMessage"] = "Malformed function call: f(".into();
    assert_eq!(read(&body).stop, failed("MALFORMED_FUNCTION_CALL: Malformed function call: f("));
    assert!(matches!(read(&json!({"candidates": [{}], "responseId": "r"})).stop, Stop::Unknown(_)));
}

/// DEV-D08: a call of a function that was not offered reaches the turn, which answers it.
#[test]
fn an_unexpected_call_is_still_a_call() {
    let reply = read(&response(
        json!([{"functionCall": {"name": "default_api:f", "id": "1", "args": {}}}]),
        Some("UNEXPECTED_TOOL_CALL"),
    ));
    assert_eq!((reply.calls().count(), reply.stop), (1, Stop::ToolCalls));
}

#[test]
fn a_blocked_prompt_is_a_filtered_reply_with_its_usage() {
    let body = json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."},
        "usageMetadata": {"promptTokenCount": 7},
    });
    for reply in [read(&body), stream(&[body])] {
        assert_eq!((reply.stop, reply.items.len(), reply.usage.unwrap().input), (Stop::Filtered, 0, 7));
        assert_eq!(reply.notices, ["the prompt was blocked (PROHIBITED_CONTENT): No."]);
    }
}

/// DEV-K01
#[test]
fn every_token_is_counted_once() {
    let mut body = response(json!([{"text": "x"}]), Some("STOP"));
    body["usageMetadata"] = json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 10, "thoughtsTokenCount": 20,
        "toolUsePromptTokenCount": 30, "totalTokenCount": 160, "serviceTier": "standard",
    });
    let expected = Usage { input: 40, cached: 60, output: 10, reasoning: 20, tool_use: 30, ..Usage::default() };
    assert_eq!(read(&body).usage, Some(expected));
    let first = json!({"candidates": [], "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 1}});
    let last = json!({"candidates": [], "usageMetadata": {"trafficType": "ON_DEMAND"}});
    assert_eq!(stream(&[first, body, last]).usage, Some(expected));
}

#[test]
fn the_first_of_several_candidates_is_read() {
    let one = json!({"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"});
    let zero = json!({"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"});
    let reply = read(&json!({"candidates": [one, zero]}));
    assert_eq!(parts(&reply), [text("a")]);
    assert_eq!(reply.notices, ["the reply had several candidates; the first is read"]);
}

#[test]
fn parts_without_a_neutral_form_are_kept() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thoughtSignature": "S"});
    let future = json!({"hologram": {"x": 1}});
    let reply = read(&response(json!([image, future]), Some("STOP")));
    let unknown = |kind: &str| Part::Unknown { kind: kind.to_owned() };
    assert_eq!(parts(&reply), [unknown("inlineData"), unknown("part")]);
    assert_eq!(raws(&reply), [image, future]);
}

#[test]
fn failures_inside_a_success_are_errors_in_every_form() {
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let list = json!([error]);
    for body in [&error, &list] {
        let error = GeminiGenerateContent::default().parse(body.to_string().as_bytes(), &origin(MODEL)).unwrap_err();
        assert_eq!((error.kind, error.retryable), (ModelErrorKind::Unavailable, true));
    }
    let error = fold(&[response(json!([{"text": "x"}]), None), error], &()).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Unavailable, true));
    for nothing in ["", "{}", "[]", "null", "x", "{\"models\": []}"] {
        let error = GeminiGenerateContent::default().parse(nothing.as_bytes(), &origin(MODEL)).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::BadResponse, "{nothing}");
    }
    let error = fold(&[], &()).unwrap_err();
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Network, true));
}

#[test]
fn a_stream_as_one_list_reads_the_same() {
    let chunks = [response(json!([{"text": "Hel"}]), None), response(json!([{"text": "lo"}]), Some("STOP"))];
    let listed = read(&json!(chunks));
    assert_eq!(serde_json::to_value(&listed).unwrap(), serde_json::to_value(stream(&chunks)).unwrap());
}
