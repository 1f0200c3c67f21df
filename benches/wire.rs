//! What a model call costs on this side of the wire: building bodies, reading replies, one HTTP exchange.
#![allow(missing_docs, reason = "a bench has no readers of its documentation")]
#![allow(clippy::allow_attributes, reason = "what a bench needs differs with its features")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a bench that cannot be set up has to stop"
)]

use std::{hint::black_box, sync::Arc};

use agcore::{
    llm::{
        Conversation, Dialect, HttpModel, HttpModelConfig, Model, ModelError, ModelRequest, Profile, Reading,
        SseParser, Target, ToolDef, provider,
    },
    net::{HttpClient, HttpConfig},
    types::{Api, Entry, Reply, ToolResult, UserPart},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn tools(count: usize) -> Vec<Arc<ToolDef>> {
    let tool = |at: usize| {
        let parameters = json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "Which one"},
                "fields": {"type": "array", "items": {"type": "string", "enum": ["name", "state", "owner"]}},
                "note": {"type": ["string", "null"], "maxLength": 200},
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        Arc::new(ToolDef {
            name: format!("records.get_{at}").parse().unwrap(),
            description: format!("Looks up record number {at} and returns the fields that were asked for."),
            parameters: Arc::new(parameters),
            strict: false,
            deferred: false,
        })
    };
    (0..count).map(tool).collect()
}

/// Every wire format, with the provider that is asked through it.
const WIRES: [(Api, &str); 7] = [
    (Api::Responses, "openai"),
    (Api::Chat, "openai"),
    (Api::Messages, "anthropic"),
    (Api::GenerateContent, "gemini"),
    (Api::Interactions, "gemini"),
    (Api::Conversations, "mistral"),
    (Api::Generation, "aliyun"),
];

fn target(api: Api) -> Target {
    let (_, provider) = WIRES.into_iter().find(|(wire, _)| *wire == api).unwrap();
    let profile = Profile::by_name(provider).unwrap();
    Target::new(profile, api, profile.default_model.clone().unwrap()).unwrap()
}

fn dialect(api: Api) -> Box<dyn Dialect> {
    provider::dialect(api).unwrap()
}

fn call_id(at: usize) -> String {
    format!("call{at:05}")
}

/// A reply with one call.
fn call_body(api: Api, at: usize) -> String {
    let (id, name, arguments) = (call_id(at), "records_get_1", format!("{{\"id\":{at}}}"));
    let object = json!({"id": at});
    let function = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [function]});
    let choice = json!([{"index": 0, "message": message, "finish_reason": "tool_calls"}]);
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120});
    match api {
        Api::Responses => json!({"id": format!("resp_{at}"), "status": "completed", "usage": usage, "output": [{
            "id": format!("fc_{at}"), "type": "function_call", "status": "completed", "arguments": arguments,
            "call_id": id, "name": name}]}),
        Api::Chat => json!({"id": "c", "choices": choice, "usage": {"prompt_tokens": 100, "completion_tokens": 20}}),
        Api::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": id, "name": name, "input": object}], "usage": usage}),
        Api::GenerateContent => {
            json!({"responseId": "r", "candidates": [{"finishReason": "STOP", "content": {"role": "model",
            "parts": [{"functionCall": {"id": id, "name": name, "args": object}, "thoughtSignature": "Cg=="}]}}]})
        }
        Api::Interactions => json!({"id": "v1_1", "status": "requires_action", "steps": [
            {"type": "function_call", "id": id, "name": name, "arguments": object}]}),
        Api::Conversations => {
            json!({"conversation_id": "conv_1", "outputs": [{"object": "entry", "type": "function.call",
            "id": format!("fc_{at}"), "tool_call_id": id, "name": name, "arguments": arguments}]})
        }
        Api::Generation => json!({"request_id": "g", "output": {"choices": choice}, "usage": usage}),
        Api::Local => unreachable!("no wire"),
    }
    .to_string()
}

fn step(target: &Target, at: usize) -> [Entry; 2] {
    let api = target.origin.api;
    let reply = dialect(api).parse(call_body(api, at).as_bytes(), &Reading::of((*target.origin).clone()));
    let (provider_id, name) = (call_id(at), "records.get_1".to_owned());
    let result = ToolResult { provider_id, name, content: format!("ok {at}"), is_error: false, images: Vec::new() };
    [Entry::Reply(Arc::new(reply.unwrap())), Entry::Results(vec![result])]
}

fn long(target: &Target, items: usize) -> Vec<Entry> {
    let first = Entry::User(vec![UserPart::Text("Do the thing please".to_owned())]);
    std::iter::once(first).chain((0..items / 2).flat_map(|at| step(target, at))).collect()
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    for (api, _) in WIRES {
        let (target, dialect) = (target(api), dialect(api));
        let request = ModelRequest { tools_defs: tools(100), ..ModelRequest::default() };
        let entries = long(&target, 200);
        let size = dialect.build(&request, &target, &mut Conversation::from(entries.clone())).unwrap().body.len();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("{api}: 100 tools and 200 items, from nothing"), |b| {
            b.iter_batched(
                || Conversation::from(entries.clone()),
                |mut conversation| dialect.build(&request, &target, &mut conversation).unwrap(),
                BatchSize::SmallInput,
            );
        });
        let mut grown = Conversation::from(entries.clone());
        let mut at = 1000;
        dialect.build(&request, &target, &mut grown).unwrap();
        group.bench_function(format!("{api}: 100 tools and 200 items, one step added"), |b| {
            b.iter_batched(
                || {
                    at += 1;
                    step(&target, at)
                },
                |added| {
                    if grown.len() > 260 {
                        grown = Conversation::from(entries.clone());
                        dialect.build(&request, &target, &mut grown).unwrap();
                    }
                    added.into_iter().for_each(|entry| grown.push(entry));
                    dialect.build(&request, &target, &mut grown).unwrap()
                },
                BatchSize::PerIteration,
            );
        });
        let few = ModelRequest { tools_defs: tools(4), ..ModelRequest::default() };
        group.bench_function(format!("{api}: a new turn with 4 known tools"), |b| {
            b.iter(|| {
                let hello = Entry::User(vec![UserPart::Text("Do the thing please".to_owned())]);
                dialect.build(black_box(&few), &target, &mut Conversation::from(vec![hello])).unwrap()
            });
        });
    }
}

const LINE: &str = "The quick brown fox jumps over the lazy dog, and \"quotes\" it.\n";

/// A reply of one long text.
fn text_body(api: Api) -> String {
    let text = LINE.repeat(400);
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120});
    let choice = json!([{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]);
    match api {
        Api::Responses => json!({"id": "r", "status": "completed", "usage": usage, "output": [{"type": "message", "id": "m",
            "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}]}),
        Api::Chat => json!({"id": "c", "choices": choice, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        Api::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": usage}),
        Api::GenerateContent => json!({"responseId": "r", "candidates": [{"finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": text}]}}]}),
        Api::Interactions => json!({"id": "v1_1", "status": "completed", "steps": [
            {"type": "model_output", "content": [{"type": "text", "text": text}]}]}),
        Api::Conversations => json!({"conversation_id": "conv_1", "outputs": [{"object": "entry", "type": "message.output",
            "id": "m", "role": "assistant", "content": text}]}),
        Api::Generation => json!({"request_id": "g", "output": {"choices": choice}, "usage": usage}),
        Api::Local => unreachable!("no wire"),
    }
    .to_string()
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for (api, _) in WIRES {
        let (reading, dialect) = (Reading::of((*target(api).origin).clone()), dialect(api));
        for (what, body) in [("a call", call_body(api, 7)), ("a long text", text_body(api))] {
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function(format!("{api}: {what}, {} bytes", body.len()), |b| {
                b.iter(|| dialect.parse(black_box(body.as_bytes()), &reading).unwrap());
            });
        }
        let bodies: Vec<String> = recorded(api).into_iter().filter(|(streamed, _)| !streamed).map(|it| it.1).collect();
        if bodies.is_empty() {
            continue;
        }
        let size: usize = bodies.iter().map(String::len).sum();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("{api}: {} recorded bodies, {size} bytes", bodies.len()), |b| {
            b.iter(|| {
                bodies.iter().for_each(|body| drop(black_box(dialect.parse(black_box(body.as_bytes()), &reading))));
            });
        });
    }
}

fn fold_all(dialect: &dyn Dialect, reading: &Reading, sse: &[u8]) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading.clone()));
    for piece in sse.chunks(1400) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

/// A stream of one text, or of the arguments of one call, in so many pieces.
fn stream(api: Api, pieces: usize, of_a_call: bool) -> String {
    let begun: Vec<Value> = match (api, of_a_call) {
        (Api::Responses, true) => vec![json!({"type": "response.output_item.added", "output_index": 0, "item": {
            "type": "function_call", "id": "fc_1", "call_id": "call00001", "name": "f", "arguments": ""}})],
        (Api::Responses, false) => vec![json!({"type": "response.output_item.added", "output_index": 0, "item": {
            "type": "message", "id": "m", "role": "assistant", "content": []}})],
        (Api::Messages, true) => vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {
                "type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}}),
        ],
        (Api::Messages, false) => vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ],
        (Api::Interactions, true) => vec![json!({"event_type": "step.start", "index": 0, "step": {
            "type": "function_call", "id": "c1", "name": "f"}})],
        (Api::Interactions, false) => {
            vec![json!({"event_type": "step.start", "index": 0, "step": {"type": "model_output"}})]
        }
        (Api::Chat | Api::GenerateContent | Api::Conversations | Api::Generation | Api::Local, _) => Vec::new(),
    };
    let delta = |at: usize| {
        let piece = match (of_a_call, at) {
            // Not twice the same: DashScope tells pieces from texts that grow by their difference.
            (false, at) if at % 2 == 1 => " ipsum",
            (false, _) => " lorem",
            (true, 0) => "{\"text\":\"",
            (true, at) if at + 1 == pieces => "\"}",
            (true, _) => " lorem",
        };
        let call = json!([{"index": 0, "id": if at == 0 { "call00001" } else { "" }, "type": "function",
            "function": {"name": if at == 0 { "f" } else { "" }, "arguments": piece}}]);
        let message = if of_a_call { json!({"tool_calls": call}) } else { json!({"content": piece}) };
        match (api, of_a_call) {
            (Api::Responses, _) => {
                json!({"type": if of_a_call { "response.function_call_arguments.delta" } else { "response.output_text.delta" },
                "sequence_number": at, "item_id": "m", "output_index": 0, "content_index": 0, "delta": piece})
            }
            (Api::Messages, true) => json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece}}),
            (Api::Messages, false) => json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": piece}}),
            // Calls come whole there.
            (Api::GenerateContent, _) => json!({"responseId": "r", "modelVersion": "m",
                "candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]}),
            (Api::Interactions, true) => json!({"event_type": "step.delta", "index": 0,
                "delta": {"type": "arguments_delta", "arguments": piece}}),
            (Api::Interactions, false) => json!({"event_type": "step.delta", "index": 0,
                "delta": {"type": "text", "text": piece}}),
            (Api::Conversations, true) => {
                json!({"type": "function.call.delta", "id": "fc_1", "tool_call_id": "abc123def",
                "name": "f", "output_index": 0, "arguments": piece})
            }
            (Api::Conversations, false) => json!({"type": "message.output.delta", "id": "m", "role": "assistant",
                "output_index": 0, "content_index": 0, "content": piece}),
            (Api::Generation, _) => {
                json!({"request_id": "g", "output": {"choices": [{"message": message, "finish_reason": "null"}]}})
            }
            (Api::Chat | Api::Local, _) => json!({"id": "c", "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": message, "finish_reason": null}]}),
        }
    };
    let ended = match api {
        Api::Responses => json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
        Api::Chat | Api::Local => json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        Api::Messages => json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        Api::GenerateContent => json!({"responseId": "r", "candidates": [{"finishReason": "STOP"}]}),
        Api::Interactions => json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}}),
        Api::Conversations => json!({"type": "conversation.response.done"}),
        Api::Generation => json!({"output": {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}}),
    };
    let events = begun.into_iter().chain((0..pieces).map(delta)).chain([ended]);
    events.map(|event| format!("data: {event}\n\n")).collect()
}

fn fold(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold");
    for (api, _) in WIRES {
        let (reading, dialect) = (Reading::of((*target(api).origin).clone()), dialect(api));
        for (what, pieces, of_a_call) in [
            ("a text in 1000 pieces", 1_000, false),
            ("a text in 10000 pieces", 10_000, false),
            ("arguments in 10000 pieces", 10_000, true),
        ] {
            let sse = stream(api, pieces, of_a_call);
            group.throughput(Throughput::Bytes(sse.len() as u64));
            group.bench_function(format!("{api}: {what}"), |b| {
                b.iter(|| fold_all(dialect.as_ref(), &reading, black_box(sse.as_bytes())).unwrap());
            });
        }
        let streams: Vec<String> = recorded(api).into_iter().filter(|(streamed, _)| *streamed).map(|it| it.1).collect();
        if streams.is_empty() {
            continue;
        }
        let size: usize = streams.iter().map(String::len).sum();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("{api}: {} recorded streams, {size} bytes", streams.len()), |b| {
            b.iter(|| {
                for sse in &streams {
                    drop(black_box(fold_all(dialect.as_ref(), &reading, black_box(sse.as_bytes()))));
                }
            });
        });
    }
}

/// The replies of the recordings in this format, each with whether it is a stream; none where there are no recordings.
fn recorded(api: Api) -> Vec<(bool, String)> {
    let words: &[&str] = match api {
        Api::Responses => &["responses"],
        Api::Chat => &["chat_completions", "agents"],
        Api::Messages => &["messages"],
        Api::GenerateContent => &["generate_content"],
        Api::Interactions => &["interactions"],
        Api::Conversations => &["conversations"],
        Api::Generation => &["dashscope_generation"],
        Api::Local => &[],
    };
    let here = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../shared", "../../shared"].map(|up| here.join(up).join("traffic/dev"));
    let Some(folder) = folders.into_iter().find(|path| path.is_dir()) else { return Vec::new() };
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for exchange in file["exchanges"].as_array().unwrap() {
            let kind = exchange["api"].as_str().or(file["api"].as_str()).unwrap_or_default();
            let response = &exchange["response"];
            if !words.contains(&kind) || response["status"].as_u64().is_some_and(|status| status >= 400) {
                continue;
            }
            match (response["sse"].as_str(), &response["body"]) {
                (Some(sse), _) => all.push((true, sse.to_owned())),
                (None, body @ Value::Object(_)) => all.push((false, body.to_string())),
                (None, _) => {}
            }
        }
    }
    all
}

/// A server on loopback, in a thread of its own, that answers every request with the same body.
fn server(body: String) -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if buffer[..count].ends_with(b"]}") && stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn call(c: &mut Criterion) {
    let address = server(call_body(Api::Responses, 1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = HttpModelConfig {
        base_url: format!("http://{address}/v1").parse().ok(),
        key: Some("sk-bench-0123456789".to_owned().into()),
        ..HttpModelConfig::default()
    };
    let client = HttpClient::new(&HttpConfig::default()).unwrap();
    let model = HttpModel::new(Profile::by_name("openai").unwrap(), config, client).unwrap();
    let request = ModelRequest { tools_defs: tools(4), ..ModelRequest::default() };
    c.bench_function("call: one exchange over loopback, wall time with the server's", |b| {
        b.to_async(&runtime).iter(|| async {
            let hello = Entry::User(vec![UserPart::Text("Do the thing please".to_owned())]);
            let mut conversation = Conversation::from(vec![hello]);
            model.call(&request, &mut conversation, &(), &CancellationToken::new()).await.unwrap()
        });
    });
}

criterion_group!(benches, build, parse, fold, call);
criterion_main!(benches);
