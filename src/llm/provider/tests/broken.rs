//! Streams and bodies that are damaged, cut, or of a future that is not known: never fatal, never taken for complete,
//! never silent.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{
    super::dialect,
    kit::{self, End, ODD, Say, WIRES, both, fold, fold_with, parse, parts, reading, sse, stream, whole},
};
use crate::{
    llm::{ModelErrorKind, ReplyEvent, ReplySink, SseParser},
    types::{Api, Part, Reply, Stop},
};

const TALK: [Say; 3] =
    [Say::Thought("Let me see."), Say::Text("It is 12 °C in Tromsø 🏔."), Say::Call("call00001", "f", "{\"a\":[1,2]}")];

/// Where each event's JSON ends in the stream.
fn ends(events: &[String]) -> Vec<usize> {
    let mut at = 0;
    let end = |event: &String| {
        at += "data: ".len() + event.len() + 2;
        at - 2
    };
    events.iter().map(end).collect()
}

#[test]
fn a_stream_cut_at_any_byte_is_never_taken_for_a_whole_reply() {
    for api in WIRES {
        let (events, last) = stream(api, &TALK, End::Natural);
        let (bytes, end) = (sse(&events), ends(&events)[last]);
        let complete = fold(api, bytes.as_bytes()).unwrap();
        for cut in 0..bytes.len() {
            let reply = fold(api, &bytes.as_bytes()[..cut]);
            match reply {
                Err(error) => {
                    assert!(cut < end, "{api} at {cut}: {error}");
                    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Network, true), "{api} at {cut}");
                }
                Ok(reply) if cut < end => {
                    assert!(matches!(reply.stop, Stop::Failed(_)), "{api} at {cut}: {:?}", reply.stop);
                    assert!(reply.calls().all(|call| !call.complete), "{api} at {cut}");
                }
                Ok(reply) => {
                    assert_eq!((parts(&reply), &reply.stop), (parts(&complete), &complete.stop), "{api} at {cut}");
                }
            }
        }
    }
}

/// What a person sees of a stream is what the reply says in the end, however it was cut into pieces.
#[test]
fn the_pieces_that_are_shown_add_up_to_the_text_of_the_reply() {
    #[derive(Default)]
    struct Shown(std::sync::Mutex<[String; 3]>);
    impl ReplySink for Shown {
        fn on(&self, event: ReplyEvent) {
            let mut shown = self.0.lock().unwrap();
            match event {
                ReplyEvent::Text(text) => shown[0].push_str(&text),
                ReplyEvent::Reasoning(text) => shown[1].push_str(&text),
                ReplyEvent::Arguments { delta, .. } => shown[2].push_str(&delta),
                ReplyEvent::CallStarted { .. } | ReplyEvent::Hosted(_) => {}
            }
        }
    }
    for api in WIRES {
        let (bytes, shown) = (sse(&stream(api, &TALK, End::Natural).0), Shown::default());
        let (mut parser, mut fold) = (SseParser::new(), dialect(api).unwrap().fold(reading(api)));
        // Every byte on its own: no character comes whole.
        for byte in bytes.as_bytes().chunks(1) {
            parser.push(byte, |event| fold.push(event, &shown)).unwrap();
        }
        parser.end(|event| fold.push(event, &shown));
        let reply = fold.finish().unwrap();
        let expected = ["It is 12 °C in Tromsø 🏔.", "Let me see.", "{\"a\":[1,2]}"];
        assert_eq!(*shown.0.lock().unwrap(), expected, "{api}");
        assert_eq!(reply.text_and_citations().0, expected[0], "{api}");
    }
}

/// One event, framed.
type Framing = fn(&str) -> String;

/// Each event in the forms that the standard of event streams allows: all line endings, comments, ids, retry hints, a
/// byte order mark, data over several lines, an event name, no blank after the colon.
#[test]
fn the_framing_of_events_does_not_matter() {
    for api in WIRES {
        let (events, _) = stream(api, &TALK, End::Natural);
        let plain = fold(api, sse(&events).as_bytes()).unwrap();
        let framings: [(&str, Framing); 6] = [
            ("crlf", |data| format!("data: {data}\r\n\r\n")),
            ("cr", |data| format!("data: {data}\r\r")),
            ("comments", |data| format!(": keep-alive\n\n:HTTP_STATUS/200\nid: 7\nretry: 10\ndata: {data}\n\n")),
            ("no blank", |data| format!("data:{data}\n\n")),
            ("unknown field", |data| format!("frobnicate: yes\ndata: {data}\nother\n\n")),
            ("several lines", |data| match data.split_once(",\"") {
                Some((first, second)) => format!("data: {first},\ndata: \"{second}\n\n"),
                None => format!("data: {data}\n\n"),
            }),
        ];
        for (name, framing) in framings {
            let bytes: String = events.iter().map(|data| framing(data)).collect();
            let framed = fold(api, format!("\u{feff}{bytes}").as_bytes());
            let framed = framed.unwrap_or_else(|error| panic!("{api} {name}: {error}"));
            assert_eq!((parts(&framed), &framed.stop), (parts(&plain), &plain.stop), "{api} {name}");
            assert_eq!(framed.notices, plain.notices, "{api} {name}");
        }
    }
}

/// A body may follow a byte order mark or blank lines (DeepSeek sends these while a request waits).
#[test]
fn a_body_after_a_mark_or_blank_lines_is_read() {
    for api in WIRES {
        let body = whole(api, &TALK, End::Natural).to_string();
        let plain = parts(&parse(api, body.as_bytes()).unwrap());
        for before in ["\u{feff}", "\n\n \n", "\r\n"] {
            let read = parse(api, format!("{before}{body}\n").as_bytes());
            let read = read.unwrap_or_else(|error| panic!("{api} after {before:?}: {error}"));
            assert_eq!(parts(&read), plain, "{api} after {before:?}");
        }
    }
}

#[test]
fn a_body_cut_at_any_byte_is_an_error() {
    for api in WIRES {
        let body = whole(api, &TALK, End::Natural).to_string();
        for cut in 0..body.len() {
            let error = parse(api, &body.as_bytes()[..cut]).expect_err(&format!("{api} at {cut}"));
            assert_eq!(error.kind, ModelErrorKind::BadResponse, "{api} at {cut}");
        }
    }
}

/// The name under which a format puts the type of its events.
fn event_type(api: Api) -> &'static str {
    if api == Api::Interactions { "event_type" } else { "type" }
}

#[test]
fn an_unknown_event_is_reported_and_changes_nothing() {
    for api in WIRES {
        let (events, _) = stream(api, &TALK, End::Natural);
        let plain = fold(api, sse(&events).as_bytes()).unwrap();
        let odd = [
            json!({event_type(api): "hologram.projected", "hologram": {"light": 1}, "index": 0, "output_index": 0})
                .to_string(),
            "{\"hologram\": true}".to_owned(),
            "not json at all".to_owned(),
            "[]".to_owned(),
            "17".to_owned(),
            "{\"a\":".to_owned(),
        ];
        for event in odd {
            for at in 0..events.len() {
                let mut with = events.clone();
                with.insert(at, event.clone());
                let reply = fold(api, sse(&with).as_bytes());
                let reply = reply.unwrap_or_else(|error| panic!("{api}: `{event}` before {at}: {error}"));
                assert_eq!((parts(&reply), &reply.stop), (parts(&plain), &plain.stop), "{api} `{event}` before {at}");
                // Behind the end nothing is read any more.
                let behind = events[..at].iter().any(|event| {
                    ["message_stop", "response.completed", "[DONE]"].iter().any(|end| event.contains(end))
                });
                assert!(behind || reply.notices.len() > plain.notices.len(), "{api}: `{event}` before {at} in silence");
            }
        }
    }
}

#[test]
fn an_unknown_item_is_kept_as_it_came_reported_and_sent_back() {
    for api in WIRES {
        for (how, reply) in both(api, &[Say::Odd, Say::Text("Seen.")], End::Natural) {
            assert_eq!(reply.text_and_citations().0, "Seen.", "{api} {how}");
            assert!(reply.parts().any(|part| matches!(part, Part::Unknown { .. })), "{api} {how}: {reply:?}");
            assert!(reply.notices.iter().any(|notice| notice.contains("unknown")), "{api} {how}: {:?}", reply.notices);
            let kept = reply.items.iter().filter_map(|item| item.raw.as_deref()).any(|raw| raw.get().contains(ODD));
            assert!(kept, "{api} {how}: {:?}", reply.items);
            let sent = super::reading::replayed(api, reply).to_string();
            assert!(sent.contains(ODD), "{api} {how}: {sent}");
        }
    }
}

/// A reply of which nothing is understood is no answer.
#[test]
fn a_reply_of_unknown_items_only_is_never_complete() {
    for api in WIRES {
        for (how, reply) in both(api, &[Say::Odd], End::Natural) {
            assert!(matches!(reply.stop, Stop::Unknown(_)), "{api} {how}: {:?}", reply.stop);
        }
    }
}

#[test]
fn an_unknown_reason_to_stop_is_kept_and_never_complete() {
    // Conversations give none.
    for api in WIRES.into_iter().filter(|api| *api != Api::Conversations) {
        for says in [&TALK[..2], &TALK[..]] {
            for (how, reply) in both(api, says, End::Word("bored_to_death")) {
                let told = matches!(&reply.stop, Stop::Unknown(word) if word.contains("bored_to_death"));
                assert!(told, "{api} {how}: {:?}", reply.stop);
                assert_eq!(reply.text_and_citations().0, "It is 12 °C in Tromsø 🏔.", "{api} {how}");
            }
        }
    }
}

/// A value with an odd field in every object of it.
fn with_odd_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(with_odd_fields);
            fields.insert("hologram".to_owned(), json!({"light": [1, {"deep": null}], "text": "odd"}));
            fields.insert("zz".to_owned(), json!(1e300));
        }
        Value::Array(list) => list.iter_mut().for_each(with_odd_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fields that nobody knows change nothing of what is known. (Arguments are the model's own.)
#[test]
fn unknown_fields_anywhere_change_nothing() {
    const PLAIN: [Say; 3] = [Say::Thought("Hm."), Say::Text("A text."), Say::Search("q", "https://a.example")];
    for api in WIRES {
        let mut body = whole(api, &PLAIN, End::Natural);
        let plain = parse(api, body.to_string().as_bytes()).unwrap();
        with_odd_fields(&mut body);
        let odd = parse(api, body.to_string().as_bytes()).unwrap_or_else(|error| panic!("{api}: {error}"));
        let known =
            |reply: &Reply| (reply.text_and_citations().0, reply.hosted().count(), reply.stop.clone(), reply.usage);
        assert_eq!(known(&odd), known(&plain), "{api}");
        let (events, _) = stream(api, &PLAIN, End::Natural);
        let odd: Vec<String> = events
            .iter()
            .map(|event| match serde_json::from_str::<Value>(event) {
                Ok(mut value) => {
                    with_odd_fields(&mut value);
                    value.to_string()
                }
                Err(_) => event.clone(),
            })
            .collect();
        let odd = fold(api, sse(&odd).as_bytes()).unwrap_or_else(|error| panic!("{api} stream: {error}"));
        assert_eq!(known(&odd), known(&plain), "{api} stream");
    }
}

/// Absent, null and of another type are all "not there", never a failure of the reply.
#[test]
fn null_or_odd_types_anywhere_never_lose_the_text() {
    for api in WIRES {
        let body = whole(api, &[Say::Text("Kept."), Say::Call("call00001", "f", "{}")], End::Natural);
        let mut paths = Vec::new();
        pointers(&body, String::new(), &mut paths);
        for path in paths {
            for odd in [Value::Null, json!(7), json!("x"), json!([]), json!({})] {
                let mut damaged = body.clone();
                let place = damaged.pointer_mut(&path).unwrap();
                let held = place.to_string();
                *place = odd;
                let Ok(reply) = parse(api, damaged.to_string().as_bytes()) else {
                    // Only what holds the reply itself, or says that it failed, may fail it.
                    let holder = held.contains("Kept.") || ["/error", "/status", "/type"].contains(&path.as_str());
                    assert!(holder, "{api} {path}");
                    continue;
                };
                if !held.contains("Kept.") && !path.ends_with("/type") && !path.ends_with("/thought") {
                    assert!(reply.text_and_citations().0.contains("Kept."), "{api} {path}: {reply:?}");
                }
            }
        }
    }
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| pointers(value, format!("{at}/{name}"), found)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(place, value)| pointers(value, format!("{at}/{place}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if !at.is_empty() {
        found.push(at);
    }
}

#[test]
fn numbers_beyond_any_integer_spoil_only_themselves() {
    for api in WIRES {
        let body = whole(api, &TALK, End::Natural).to_string();
        for huge in ["99999999999999999999999999", "-1", "1e999", "0.5"] {
            let body = body.replace("256", huge).replace("200", huge);
            let reply = parse(api, body.as_bytes()).unwrap_or_else(|error| panic!("{api} {huge}: {error}"));
            assert_eq!(reply.text_and_citations().0, "It is 12 °C in Tromsø 🏔.", "{api} {huge}");
            assert_eq!(reply.usage.map_or(900, |usage| usage.prompt()), 900, "{api} {huge}");
        }
        let largest = body.replace("256", "18446744073709551615").replace("900", "18446744073709551615");
        let reply = parse(api, largest.as_bytes()).unwrap_or_else(|error| panic!("{api}: {error}"));
        let usage = reply.usage.unwrap_or_default();
        let _ = (usage.prompt(), usage.completion());
    }
}

#[test]
fn bytes_that_are_no_text_spoil_only_themselves() {
    for api in WIRES {
        let (events, _) = stream(api, &[Say::Text("Before §§ after.")], End::Natural);
        // Half of a character, in place of a whole one.
        let bytes = sse(&events).into_bytes();
        let mut broken = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((byte, more)) = rest.split_first() {
            match rest {
                [0xc2, 0xa7, tail @ ..] => {
                    broken.push(0xe4);
                    rest = tail;
                }
                _ => {
                    broken.push(*byte);
                    rest = more;
                }
            }
        }
        for size in [1, 2, 3, 7, broken.len()] {
            let pieces: Vec<&[u8]> = broken.chunks(size).collect();
            let reply = fold_with(dialect(api).unwrap().fold(reading(api)), &pieces);
            let reply = reply.unwrap_or_else(|error| panic!("{api} by {size}: {error}"));
            assert_eq!(reply.text_and_citations().0, "Before \u{fffd}\u{fffd} after.", "{api} by {size}");
        }
    }
}

/// A failure inside a stream with status 200, in the words of each provider and of gateways.
#[test]
fn a_failure_inside_a_stream_is_the_outcome_whatever_came_before() {
    for api in WIRES {
        let (events, last) = stream(api, &TALK, End::Natural);
        let failures = [
            json!({"error": {"message": "Overloaded, try later", "type": "overloaded_error", "code": 503}}),
            json!({"type": "error", "event_type": "error", "error": {"message": "Overloaded, try later", "type": "overloaded_error"}}),
        ];
        for failure in failures {
            for at in 0..=last {
                let mut cut: Vec<String> = events[..at].to_vec();
                cut.push(failure.to_string());
                for more in [&[][..], &events[at..]] {
                    let all: Vec<String> = cut.iter().chain(more).cloned().collect();
                    let error = fold(api, sse(&all).as_bytes());
                    let error = error.expect_err(&format!("{api}: {failure} before {at}"));
                    assert!(error.message.contains("Overloaded, try later"), "{api} before {at}: {error}");
                    assert_eq!(error.kind, ModelErrorKind::Unavailable, "{api} before {at}");
                }
            }
        }
    }
}

/// The same event twice, as proxies that ask again send it, never glues two calls into one.
#[test]
fn an_event_that_comes_twice_loses_no_call() {
    const TWO: [Say; 2] = [Say::Call("call00001", "f", "{\"a\":1}"), Say::Call("call00002", "g", "{\"b\":2}")];
    for api in WIRES {
        let (events, last) = stream(api, &TWO, End::Natural);
        for at in 0..=last {
            let mut twice = events.clone();
            twice.insert(at, events[at].clone());
            let Ok(reply) = fold(api, sse(&twice).as_bytes()) else { continue };
            let names: Vec<&str> = reply.calls().map(|call| call.name.as_str()).collect();
            assert!(names.contains(&"f") && names.contains(&"g"), "{api} twice {at}: {names:?}");
        }
    }
}

/// Every reply that can be read can be sent on: to its own provider and to any other, as JSON.
#[test]
fn whatever_was_read_of_a_broken_stream_can_be_sent_on() {
    for api in WIRES {
        let (events, _) = stream(api, &TALK, End::Natural);
        for end in 1..events.len() {
            let Ok(reply) = fold(api, sse(&events[..end]).as_bytes()) else { continue };
            super::reading::replayed(api, reply);
        }
    }
}

#[test]
fn the_kit_has_the_size_of_real_replies() {
    // So that the tests above cut something.
    for api in WIRES {
        assert!(sse(&stream(api, &TALK, End::Natural).0).len() > 500, "{api}");
        assert_eq!(kit::origin(api).api, api);
    }
}

/// A stream that is mostly of the future fills no memory with words about it.
#[test]
fn what_is_unknown_is_told_once_however_often_it_comes() {
    for api in WIRES {
        let (mut events, _) = stream(api, &TALK, End::Natural);
        let odd =
            json!({event_type(api): "hologram.projected", "index": 7, "delta": {"type": "hologram_delta"}}).to_string();
        for event in ["not json at all", odd.as_str()] {
            events.splice(2..2, std::iter::repeat_n(event.to_owned(), 500));
        }
        let reply = fold(api, sse(&events).as_bytes()).unwrap_or_else(|error| panic!("{api}: {error}"));
        assert!((1..4).contains(&reply.notices.len()), "{api}: {} notices", reply.notices.len());
        assert_eq!(reply.text_and_citations().0, "It is 12 °C in Tromsø 🏔.", "{api}");
    }
}
