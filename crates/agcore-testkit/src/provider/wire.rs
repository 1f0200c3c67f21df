//! Answers in the wire formats of OpenAI Responses and Chat Completions, as of 2026-11.

use serde_json::{Value, json};

use crate::{Answer, Delivery};

use super::protocol::{Issued, spelled};

/// The bytes of an answer with its content type.
pub(super) struct Body {
    pub(super) content_type: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// A call with its id and the name and arguments that go on the wire.
struct WireCall {
    id: String,
    name: String,
    arguments: String,
}

/// What all renderings need.
pub(super) struct Rendering<'a> {
    answer: &'a Answer,
    nth: usize,
    model: &'a str,
    calls: Vec<WireCall>,
}

impl<'a> Rendering<'a> {
    /// Prepares `answer` as the `nth` answer of the provider to the request `body`: its calls get their ids.
    pub(super) fn new(answer: &'a Answer, nth: usize, body: &'a Value) -> Self {
        let calls = answer.calls.iter().enumerate().map(|(place, call)| WireCall {
            id: format!("call_{nth}_{place}"),
            name: spelled(&call.name, body),
            arguments: call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned),
        });
        let model = body.get("model").and_then(Value::as_str).unwrap_or("fake-1");
        Self { answer, nth, model, calls: calls.collect() }
    }

    /// The calls as they are to come back.
    pub(super) fn issued(&self) -> Issued {
        self.calls.iter().map(|call| (call.id.clone(), (call.name.clone(), call.arguments.clone()))).collect()
    }

    // Responses

    fn items(&self) -> Vec<Value> {
        let mut items = self.answer.items.clone();
        if !self.answer.text.is_empty() {
            items.push(json!({"type": "message", "id": format!("msg_{}", self.nth), "role": "assistant",
                "status": "completed", "content": [{"type": "output_text", "text": self.answer.text, "annotations": []}]}));
        }
        items.extend(self.calls.iter().map(|call| {
            json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "name": call.name,
                "arguments": call.arguments, "status": "completed"})
        }));
        items
    }

    fn response(&self, status: &str, output: Vec<Value>) -> Value {
        let usage = &self.answer.usage;
        let error = self.answer.failed.as_ref().filter(|_| status == "failed");
        json!({
            "id": format!("resp_{}", self.nth), "object": "response", "created_at": 1_790_000_000, "status": status,
            "model": self.model, "output": output,
            "error": error.map(|(code, message)| json!({"code": code, "message": message})),
            "incomplete_details": self.answer.incomplete.as_ref().map(|reason| json!({"reason": reason})),
            "usage": (status != "in_progress").then(|| json!({
                "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
                "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input + usage.output,
            })),
        })
    }

    fn status(&self) -> &'static str {
        match (&self.answer.failed, &self.answer.incomplete) {
            (Some(_), _) => "failed",
            (None, Some(_)) => "incomplete",
            (None, None) => "completed",
        }
    }

    /// A whole response.
    pub(super) fn responses_body(&self) -> Body {
        json_body(&self.response(self.status(), self.items()))
    }

    /// The events of a streamed response.
    pub(super) fn responses_stream(&self, delivery: &Delivery) -> Body {
        let mut events = vec![
            json!({"type": "response.created", "response": self.response("in_progress", vec![])}),
            json!({"type": "response.in_progress", "response": self.response("in_progress", vec![])}),
        ];
        let items = self.items();
        for (index, item) in items.iter().enumerate() {
            stream_item(index, item, &mut events);
        }
        if let Some((code, message)) = &self.answer.failed {
            events.push(json!({"type": "error", "error": {"type": "server_error", "code": code, "message": message}}));
        }
        let status = self.status();
        events.push(json!({"type": format!("response.{status}"), "response": self.response(status, items)}));
        let mut stream = Stream::new(delivery);
        for (number, mut event) in events.into_iter().enumerate() {
            let name = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            if let Some(fields) = event.as_object_mut() {
                fields.insert("sequence_number".to_owned(), number.into());
            }
            stream.event(Some(&name), &event.to_string());
        }
        stream.finish()
    }

    // Chat Completions

    fn finish_reason(&self) -> &'static str {
        match self.answer.incomplete.as_deref() {
            Some("content_filter") => "content_filter",
            Some(_) => "length",
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    fn chat_usage(&self) -> Value {
        let usage = &self.answer.usage;
        json!({"prompt_tokens": usage.input, "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output, "prompt_tokens_details": {"cached_tokens": usage.cached}})
    }

    fn chat_error(&self) -> Option<Value> {
        let (code, message) = self.answer.failed.as_ref()?;
        Some(json!({"error": {"type": "server_error", "code": code, "message": message}}))
    }

    /// A whole completion.
    pub(super) fn chat_body(&self) -> Body {
        if let Some(error) = self.chat_error() {
            return json_body(&error);
        }
        let calls: Vec<Value> = self
            .calls
            .iter()
            .map(|call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}))
            .collect();
        let text = Some(&self.answer.text).filter(|text| !text.is_empty());
        let mut message = json!({"role": "assistant", "content": text});
        if let Some(fields) = message.as_object_mut().filter(|_| !calls.is_empty()) {
            fields.insert("tool_calls".to_owned(), calls.into());
        }
        json_body(&json!({
            "id": format!("chatcmpl-{}", self.nth), "object": "chat.completion", "created": 1_790_000_000,
            "model": self.model, "usage": self.chat_usage(),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason()}],
        }))
    }

    /// The chunks of a streamed completion.
    pub(super) fn chat_stream(&self, delivery: &Delivery) -> Body {
        let mut stream = Stream::new(delivery);
        let mut chunk = |choices: Value, usage: Value| {
            let chunk = json!({"id": format!("chatcmpl-{}", self.nth), "object": "chat.completion.chunk",
                "created": 1_790_000_000, "model": self.model, "choices": choices, "usage": usage});
            stream.event(None, &chunk.to_string());
        };
        let delta = |delta: Value| json!([{"index": 0, "delta": delta, "finish_reason": null}]);
        chunk(delta(json!({"role": "assistant", "content": ""})), Value::Null);
        for piece in pieces(&self.answer.text) {
            chunk(delta(json!({"content": piece})), Value::Null);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let head = json!({"index": index, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": ""}});
            chunk(delta(json!({"tool_calls": [head]})), Value::Null);
            for piece in pieces(&call.arguments) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                chunk(delta(json!({"tool_calls": [more]})), Value::Null);
            }
        }
        if let Some(error) = self.chat_error() {
            stream.event(None, &error.to_string());
            return stream.finish();
        }
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": self.finish_reason()}]), Value::Null);
        chunk(json!([]), self.chat_usage());
        stream.event(None, "[DONE]");
        stream.finish()
    }
}

/// The events of one output item of a streamed response.
fn stream_item(index: usize, item: &Value, events: &mut Vec<Value>) {
    let id = item.get("id").cloned().unwrap_or_default();
    let mut partial = item.clone();
    let is = |kind: &str| item.get("type").and_then(Value::as_str) == Some(kind);
    let mut deltas = Vec::new();
    let at = |kind: &str| json!({"type": format!("response.{kind}"), "output_index": index, "item_id": id});
    let with = |mut event: Value, key: &str, value: Value| {
        if let Some(fields) = event.as_object_mut() {
            fields.insert(key.to_owned(), value);
        }
        event
    };
    if is("function_call") {
        let arguments = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
        partial = with(partial, "arguments", "".into());
        for piece in pieces(arguments) {
            deltas.push(with(at("function_call_arguments.delta"), "delta", piece.into()));
        }
        deltas.push(with(at("function_call_arguments.done"), "arguments", arguments.into()));
    } else if is("message") {
        let text = item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        partial = with(partial, "content", json!([]));
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let place = |event: Value| with(event, "content_index", 0.into());
        deltas.push(with(place(at("content_part.added")), "part", part("")));
        for piece in pieces(text) {
            deltas.push(with(place(at("output_text.delta")), "delta", piece.into()));
        }
        deltas.push(with(place(at("output_text.done")), "text", text.into()));
        deltas.push(with(place(at("content_part.done")), "part", part(text)));
    }
    partial = with(partial, "status", "in_progress".into());
    events.push(json!({"type": "response.output_item.added", "output_index": index, "item": partial}));
    events.append(&mut deltas);
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
}

/// A text in pieces of seven characters.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(7).map(|piece| piece.iter().collect()).collect()
}

fn json_body(value: &Value) -> Body {
    Body { content_type: "application/json", bytes: value.to_string().into_bytes() }
}

/// Writes server-sent events.
struct Stream {
    text: String,
    end: &'static str,
}

impl Stream {
    fn new(delivery: &Delivery) -> Self {
        let end = if delivery.crlf { "\r\n" } else { "\n" };
        Self { text: format!(": a comment{end}{end}"), end }
    }

    fn event(&mut self, name: Option<&str>, data: &str) {
        let end = self.end;
        if let Some(name) = name {
            self.text.push_str(&format!("event: {name}{end}"));
        }
        self.text.push_str(&format!("data: {data}{end}{end}"));
    }

    fn finish(self) -> Body {
        Body { content_type: "text/event-stream", bytes: self.text.into_bytes() }
    }
}
