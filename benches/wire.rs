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
        Conversation, Dialect, HttpModel, HttpModelConfig, Model, ModelRequest, Profile, Reading, SseParser, Target,
        ToolDef,
        provider::{OpenAiChat, OpenAiResponses},
    },
    net::{HttpClient, HttpConfig},
    types::{Api, Entry, Reply, ToolResult, UserPart},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
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

fn target(api: Api) -> Target {
    Target::new(Profile::by_name("openai").unwrap(), api, "gpt-5.6".parse().unwrap()).unwrap()
}

fn dialect(api: Api) -> Box<dyn Dialect> {
    match api {
        Api::Chat => Box::<OpenAiChat>::default(),
        _ => Box::<OpenAiResponses>::default(),
    }
}

fn call_body(at: usize) -> String {
    json!({"id": format!("resp_{at}"), "status": "completed", "output": [
        {"id": format!("fc_{at}"), "type": "function_call", "status": "completed", "arguments": format!("{{\"id\":{at}}}"),
         "call_id": format!("call_{at}"), "name": "records_get_1"}],
        "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}})
    .to_string()
}

fn step(target: &Target, at: usize) -> [Entry; 2] {
    let reply = OpenAiResponses::default().parse(call_body(at).as_bytes(), &Reading::of((*target.origin).clone()));
    let provider_id = format!("call_{at}");
    let result =
        ToolResult { provider_id, name: "records.get_1".to_owned(), content: format!("ok {at}"), is_error: false };
    [Entry::Reply(Arc::new(reply.unwrap())), Entry::Results(vec![result])]
}

fn long(target: &Target, items: usize) -> Vec<Entry> {
    let first = Entry::User(vec![UserPart::Text("Do the thing please".to_owned())]);
    std::iter::once(first).chain((0..items / 2).flat_map(|at| step(target, at))).collect()
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    for api in [Api::Responses, Api::Chat] {
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

fn bodies() -> Vec<(Api, &'static str, String)> {
    let text = "The quick brown fox jumps over the lazy dog, and \"quotes\" it.\n".repeat(400);
    let calls: Vec<_> = (0..4)
        .map(|at| json!({"id": format!("fc_{at}"), "type": "function_call", "status": "completed", "arguments": "{\"i\":1}", "call_id": format!("call_{at}"), "name": "noop"}))
        .collect();
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "output_tokens_details": {"reasoning_tokens": 4}});
    let message = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]});
    let chat = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    vec![
        (
            Api::Responses,
            "four calls",
            json!({"id": "r", "status": "completed", "output": calls, "usage": usage}).to_string(),
        ),
        (
            Api::Responses,
            "a long text",
            json!({"id": "r", "status": "completed", "output": [message], "usage": usage}).to_string(),
        ),
        (Api::Chat, "a long text", chat.to_string()),
    ]
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for (api, what, body) in bodies() {
        let (reading, dialect) = (Reading::of((*target(api).origin).clone()), dialect(api));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("{api}: {what}, {} bytes", body.len()), |b| {
            b.iter(|| dialect.parse(black_box(body.as_bytes()), &reading).unwrap());
        });
    }
}

fn fold_all(dialect: &dyn Dialect, reading: &Reading, sse: &[u8]) -> Reply {
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading.clone()));
    for piece in sse.chunks(1400) {
        parser.push(piece, |event| fold.push(event, &())).unwrap();
    }
    fold.finish().unwrap()
}

fn fold(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold");
    let delta = |api| match api {
        Api::Chat => {
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " lorem"}, "finish_reason": null}]})
        }
        _ => {
            json!({"type": "response.output_text.delta", "sequence_number": 7, "item_id": "m", "output_index": 0, "content_index": 0, "delta": " lorem"})
        }
    };
    for api in [Api::Responses, Api::Chat] {
        let mut sse: String = (0..1000).map(|_| format!("event: e\ndata: {}\n\n", delta(api))).collect();
        let end = json!({"type": "response.completed", "response": {"status": "completed", "output": []}});
        sse.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
        let (reading, dialect) = (Reading::of((*target(api).origin).clone()), dialect(api));
        group.throughput(Throughput::Bytes(sse.len() as u64));
        group.bench_function(format!("{api}: 1000 deltas"), |b| {
            b.iter(|| fold_all(dialect.as_ref(), &reading, black_box(sse.as_bytes())));
        });
    }
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
    let address = server(call_body(1));
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
