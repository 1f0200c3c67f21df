//! What holds for any bytes, any cuts and any text.

use proptest::prelude::*;

use super::*;

/// JSON in which the names that mean something turn up often, with values that often have the wrong type.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec!["STOP", "MAX_TOKENS", "OUTCOME_OK", "$.a[0]", "$", "true", "", "é\u{2028}天"]);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        (-2i64..40).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null)
    ];
    let key = prop::sample::select(vec![
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "name",
        "id",
        "args",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "numberValue",
        "willContinue",
        "executableCode",
        "code",
        "codeExecutionResult",
        "outcome",
        "toolCall",
        "toolResponse",
        "toolType",
        "response",
        "error",
        "inlineData",
        "queries",
    ]);
    leaf.prop_recursive(4, 30, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A response around any parts, with any grounding.
fn any_response() -> impl Strategy<Value = Value> {
    let finish = prop::option::of(prop::sample::select(vec!["STOP", "MAX_TOKENS", "OTHER"]));
    let segment = (any_json(), any_json(), any_json())
        .prop_map(|(start, end, text)| json!({"startIndex": start, "endIndex": end, "text": text}));
    let parts = prop::collection::vec(any_json(), 0..4);
    (parts, finish, segment, any_json()).prop_map(|(parts, finish, segment, odd)| {
        let mut body = response(json!(parts), finish);
        let supports = json!([{"segment": segment, "groundingChunkIndices": [0, odd]}]);
        body["candidates"][0]["groundingMetadata"] =
            json!({"groundingSupports": supports, "groundingChunks": [{"web": {"uri": "u"}}, odd]});
        body["usageMetadata"] = json!({"promptTokenCount": odd});
        body
    })
}

fn as_value(reply: Result<Reply, ModelError>) -> Value {
    match reply {
        Ok(reply) => serde_json::to_value(reply).unwrap(),
        Err(error) => json!({"error": error}),
    }
}

fn fold_pieces(pieces: &[&[u8]]) -> Value {
    let (mut parser, mut fold) = (SseParser::new(), GeminiGenerateContent::default().fold(origin(MODEL)));
    for piece in pieces {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    as_value(fold.finish())
}

/// Pieces of a text, cut at these places.
fn cut(text: &str, cuts: &[usize]) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for (at, letter) in text.chars().enumerate() {
        if cuts.contains(&at) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(letter);
    }
    pieces
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = GeminiGenerateContent::default().parse(&bytes, &origin(MODEL));
        fold_pieces(&[&bytes]);
    }

    #[test]
    fn mutated_replies_never_panic_can_be_sent_back_and_cuts_do_not_matter(
        bodies in prop::collection::vec(any_response(), 1..4),
        cuts in prop::collection::vec(0usize..6000, 0..12),
    ) {
        for body in &bodies {
            if let Ok(reply) = GeminiGenerateContent::default().parse(body.to_string().as_bytes(), &origin(MODEL)) {
                let mut conversation = Conversation::from(vec![Entry::Reply(Arc::new(reply))]);
                for model in [MODEL, "gemini-4-argon"] {
                    let wire = GeminiGenerateContent::default()
                        .build(&ModelRequest::default(), &target(model), &mut conversation).unwrap();
                    prop_assert!(serde_json::from_slice::<Value>(&wire.body).is_ok());
                }
            }
        }
        let sse: String = bodies.iter().map(|body| format!("data: {body}\r\n\r\n")).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(sse.len())).collect();
        cuts.extend([0, sse.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &sse.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(fold_pieces(&pieces), fold_pieces(&[sse.as_bytes()]));
    }

    /// However the text is cut into chunks, the reply and its citations are those of one piece.
    #[test]
    fn a_stream_reads_as_one_piece_does(
        words in "[a-z天气🌦é ]{1,40}",
        thought in "[a-z天]{1,9}",
        cuts in prop::collection::vec(1usize..40, 0..6),
        from in 0usize..40,
        length in 1usize..20,
    ) {
        let letters: Vec<char> = words.chars().collect();
        let (from, to) = (from.min(letters.len() - 1), (from + length).min(letters.len()));
        let quoted: String = letters[from.min(to)..to].iter().collect();
        prop_assume!(!quoted.is_empty());
        let start = letters[..from].iter().map(|letter| letter.len_utf8()).sum::<usize>();
        let grounding = json!({
            "webSearchQueries": ["q"],
            "groundingChunks": [{"web": {"uri": "https://r.example"}}],
            "groundingSupports": [{"segment": {"startIndex": start, "endIndex": start + quoted.len(), "text": quoted}, "groundingChunkIndices": [0]}],
        });
        let call = json!({"functionCall": {"name": "f", "args": {"x": words}}, "thoughtSignature": "S"});
        let mut whole = response(json!([{"text": thought, "thought": true}, {"text": words}, call]), Some("STOP"));
        whole["candidates"][0]["groundingMetadata"] = grounding.clone();
        let mut chunks: Vec<Value> = Vec::new();
        chunks.extend(cut(&thought, &cuts).iter().map(|piece| response(json!([{"text": piece, "thought": true}]), None)));
        chunks.extend(cut(&words, &cuts).iter().map(|piece| response(json!([{"text": piece}]), None)));
        let mut last = response(json!([call]), Some("STOP"));
        last["candidates"][0]["groundingMetadata"] = grounding;
        chunks.push(last);
        let (whole, streamed) = (read(&whole), stream(&chunks));
        prop_assert_eq!(serde_json::to_value(&whole).unwrap(), serde_json::to_value(&streamed).unwrap());
        let (_, citations) = whole.text_and_citations();
        prop_assert_eq!((citations[0].start, citations[0].end), (Some(from), Some(to)));
    }
}
