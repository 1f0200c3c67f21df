use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::{
    llm::{ModelErrorKind, Profile, ReplyEvent, ReplySink, SseParser},
    types::{
        Api, Citation, CitationSource, Entry, FunctionCall, HostedKind, HostedOutput, HostedStatus, Part, Stop, Usage,
    },
};

mod building;
mod properties;
mod reading;

/// The target of a shipped model.
fn target(model: &str) -> Target {
    let profile = Profile::by_name("gemini").unwrap();
    Target::new(profile, Api::GenerateContent, model.parse().unwrap()).unwrap()
}

fn origin(model: &str) -> Reading {
    Reading::of((*target(model).origin).clone())
}

const MODEL: &str = "gemini-3-flash-preview";

/// A response with one candidate.
fn response(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "responseId": "r1"})
}

fn read(body: &Value) -> Reply {
    GeminiGenerateContent::default().parse(body.to_string().as_bytes(), &origin(MODEL)).unwrap()
}

fn fold(chunks: &[Value], sink: &dyn ReplySink) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), GeminiGenerateContent::default().fold(origin(MODEL)));
    let sse: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    parser.push(sse.as_bytes(), |event| fold.push(event, sink)).unwrap();
    parser.end(|event| fold.push(event, sink));
    fold.finish()
}

fn stream(chunks: &[Value]) -> Reply {
    fold(chunks, &()).unwrap()
}

fn parts(reply: &Reply) -> Vec<Part> {
    reply.parts().cloned().collect()
}

fn raws(reply: &Reply) -> Vec<Value> {
    reply.items.iter().map(|item| serde_json::from_str(item.raw.as_ref().unwrap().get()).unwrap()).collect()
}

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned(), citations: Vec::new() }
}

fn call(id: &str, name: &str, arguments: &str, complete: bool) -> FunctionCall {
    let [provider_id, name, arguments] = [id, name, arguments].map(str::to_owned);
    FunctionCall { provider_id, name, arguments, complete }
}

#[derive(Default)]
struct Seen(Mutex<Vec<ReplyEvent>>);

impl ReplySink for Seen {
    fn on(&self, event: ReplyEvent) {
        self.0.lock().unwrap().push(event);
    }
}
