//! A streamed response, put together.
//!
//! Items are told apart by `output_index`, never by `item_id`: proxies change ids between the events of one item. The
//! response of the terminal event is authoritative; where it comes without items (the ChatGPT backend), the finished
//! items of the stream take their place.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplyEvent, ReplySink, SseEvent,
            dialect::{Fold, Reading},
            json::{Int, Raw, Str},
        },
        ending::mark_all_incomplete,
        errors,
    },
    item::{self, WireItem},
    reply::{self, WireResponse},
};
use crate::types::{FunctionCall, Item, Part, Reply, Stop};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    output_index: Int,
    content_index: Int,
    #[serde(borrow)]
    item_id: Str<'a>,
    #[serde(borrow)]
    delta: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    arguments: Str<'a>,
    #[serde(borrow)]
    input: Str<'a>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// What is known of an item that has begun.
#[derive(Debug, Default)]
struct Open {
    kind: String,
    id: String,
    call_id: String,
    name: String,
    texts: BTreeMap<u64, String>,
    arguments: String,
    reasoning: String,
    /// The finished item, once it has come.
    done: Option<Box<RawValue>>,
}

/// The fold over the events of one response.
#[derive(Debug)]
pub(super) struct ResponseFold {
    reading: Reading,
    items: BTreeMap<u64, Open>,
    response_id: Option<String>,
    terminal: Option<Box<RawValue>>,
    error: Option<ModelError>,
    unknown: Vec<String>,
    started: bool,
}

impl ResponseFold {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            reading,
            items: BTreeMap::new(),
            response_id: None,
            terminal: None,
            error: None,
            unknown: Vec::new(),
            started: false,
        }
    }

    /// The place of an event's item: its index, else the item of that id, else the last one.
    fn place(&self, event: &Event<'_>) -> u64 {
        let by_id = || self.items.iter().find(|(_, open)| !open.id.is_empty() && open.id == event.item_id.text());
        event.output_index.0.or_else(|| by_id().map(|(at, _)| *at)).unwrap_or_else(|| self.last())
    }

    fn last(&self) -> u64 {
        self.items.last_key_value().map_or(0, |(at, _)| *at)
    }

    fn item_added(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let Some(raw) = event.item else { return };
        let Ok(item) = serde_json::from_str::<WireItem<'_>>(raw.get()) else { return };
        let open = self.items.entry(event.output_index.or_zero()).or_default();
        open.kind = item.kind.text().to_owned();
        open.id = item.id.text().to_owned();
        open.call_id = item.call_id.some().unwrap_or_else(|| item.id.text()).to_owned();
        open.name = self.reading.original(item.name.text());
        announce(open, sink);
    }

    fn item_done(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let Some(raw) = event.item else { return };
        let item: WireItem<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut at = event.output_index.or_zero();
        // Two finished items under one index: the second is another item, not the first again.
        let taken = |open: &Open| open.done.is_some() && open.id != item.id.text();
        if self.items.get(&at).is_some_and(taken) {
            at = self.last() + 1;
        }
        let open = self.items.entry(at).or_default();
        let fresh = open.kind.is_empty();
        open.kind = item.kind.text().to_owned();
        open.id = item.id.text().to_owned();
        if fresh {
            open.call_id = item.call_id.some().unwrap_or_else(|| item.id.text()).to_owned();
            open.name = self.reading.original(item.name.text());
            announce(open, sink);
            if open.kind == "function_call" {
                let delta = item::arguments_text(item.arguments);
                sink.on(ReplyEvent::Arguments { provider_id: open.call_id.clone(), delta });
            }
        } else if open.kind.ends_with("_call") && open.kind != "function_call" {
            sink.on(ReplyEvent::Hosted(open.kind.clone()));
        }
        open.done = Some(raw.to_owned());
    }

    fn delta(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let at = self.place(event);
        let open = self.items.entry(at).or_default();
        let delta = event.delta.text();
        match event.kind.text() {
            "response.output_text.delta" | "response.refusal.delta" => {
                open.texts.entry(event.content_index.or_zero()).or_default().push_str(delta);
                sink.on(ReplyEvent::Text(delta.to_owned()));
            }
            "response.output_text.done" => {
                open.texts.insert(event.content_index.or_zero(), event.text.text().to_owned());
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                open.reasoning.push_str(delta);
                sink.on(ReplyEvent::Reasoning(delta.to_owned()));
            }
            "response.function_call_arguments.delta" => {
                open.arguments.push_str(delta);
                sink.on(ReplyEvent::Arguments { provider_id: open.call_id.clone(), delta: delta.to_owned() });
            }
            "response.function_call_arguments.done" if event.arguments.0.is_some() => {
                open.arguments = event.arguments.text().to_owned();
            }
            "response.custom_tool_call_input.delta" => open.arguments.push_str(delta),
            "response.custom_tool_call_input.done" if event.input.0.is_some() => {
                open.arguments = event.input.text().to_owned();
            }
            _ => {}
        }
    }

    fn terminal(&mut self, event: &Event<'_>) {
        let Some(raw) = event.response else { return };
        let response: WireResponse<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        self.response_id = response.id.some().map(str::to_owned).or(self.response_id.take());
        match event.kind.text() {
            "response.created" | "response.queued" | "response.in_progress" => {}
            "response.failed" => {
                self.error.get_or_insert_with(|| errors::inside_success(raw.get().as_bytes()));
            }
            _ => self.terminal = Some(raw.to_owned()),
        }
    }

    /// The reply of the terminal event, with the finished items of the stream where it has none.
    fn complete(&self, raw: &RawValue) -> Result<Reply, ModelError> {
        let response: WireResponse<'_> = serde_json::from_str(raw.get()).map_err(|error| {
            ModelError::new(ModelErrorKind::BadResponse, format!("the last event holds no response: {error}"))
        })?;
        if response.error.get().is_some() {
            return Err(errors::inside_success(raw.get().as_bytes()));
        }
        let own = response.output.clone().unwrap_or_default();
        let done = || self.items.values().filter_map(|open| open.done.as_deref()).collect();
        let items = if own.is_empty() { done() } else { own };
        let mut reply = reply::assemble(&response, items, &self.reading);
        reply.notices.extend(self.unknown_events());
        Ok(reply)
    }

    /// Each type is said once.
    fn unknown_event(&mut self, kind: &str) {
        let kind: String = kind.chars().take(64).collect();
        if !self.unknown.contains(&kind) {
            self.unknown.push(kind);
        }
    }

    fn unknown_events(&self) -> Vec<String> {
        self.unknown.iter().map(|kind| format!("an event of the unknown type `{kind}` was left out")).collect()
    }

    /// What is known of a response whose end never came.
    fn partial(mut self) -> Reply {
        let mut notices = std::mem::take(&mut self.reading.notices);
        notices.extend(self.unknown_events());
        let mut items = Vec::new();
        for open in self.items.into_values() {
            items.push(match &open.done {
                Some(raw) => {
                    let parts = item::read(raw, &self.reading, &mut notices).parts;
                    Item { raw: Some(raw.clone().into()), parts }
                }
                None => Item { raw: None, parts: open.into_parts() },
            });
        }
        let mut reply = Reply {
            origin: (*self.reading.origin).clone(),
            id: self.response_id,
            items,
            stop: Stop::Failed("the stream broke off before the response was complete".to_owned()),
            usage: None,
            notices,
            carry: None,
        };
        mark_all_incomplete(&mut reply);
        reply
    }
}

impl Open {
    fn into_parts(self) -> Vec<Part> {
        match self.kind.as_str() {
            "function_call" | "custom_tool_call" => vec![Part::Call(FunctionCall {
                provider_id: self.call_id,
                name: self.name,
                arguments: item::normal_arguments(self.arguments),
                complete: false,
            })],
            "reasoning" => vec![Part::Reasoning { summary: Some(self.reasoning).filter(|text| !text.is_empty()) }],
            _ if !self.texts.is_empty() => {
                let text = |text| Part::Text { text, citations: Vec::new() };
                self.texts.into_values().map(text).collect()
            }
            "message" | "" => Vec::new(),
            _ => vec![Part::Unknown { kind: self.kind }],
        }
    }
}

/// The events there are, by the word after `response.` (openai-python 3.57.0, and what others add): the end of a
/// response, whole items and parts, and the progress of hosted tools.
const KNOWN: &[&str] = &[
    "audio",
    "cancelled",
    "compaction",
    "completed",
    "content_part",
    "created",
    "custom_tool_call_input",
    "done",
    "failed",
    "function_call_arguments",
    "in_progress",
    "incomplete",
    "mcp_list_tools",
    "output_item",
    "output_text",
    "queued",
    "reasoning",
    "reasoning_summary",
    "reasoning_summary_part",
    "reasoning_summary_text",
    "reasoning_text",
    "refusal",
];

fn is_known(kind: &str) -> bool {
    let Some(rest) = kind.strip_prefix("response.") else {
        return matches!(kind, "error" | "keepalive" | "ping");
    };
    let word = rest.split('.').next().unwrap_or_default();
    KNOWN.contains(&word) || word.ends_with("_call") || word.contains("_call_")
}

fn announce(open: &Open, sink: &dyn ReplySink) {
    match open.kind.as_str() {
        "function_call" => {
            sink.on(ReplyEvent::CallStarted { provider_id: open.call_id.clone(), name: open.name.clone() });
        }
        kind if kind.ends_with("_call") => sink.on(ReplyEvent::Hosted(kind.to_owned())),
        _ => {}
    }
}

impl Fold for ResponseFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        if event.data.trim() == "[DONE]" {
            return;
        }
        let Ok(mut parsed) = serde_json::from_str::<Event<'_>>(event.data) else {
            return self.unknown_event(event.name);
        };
        if parsed.kind.some().is_none() {
            parsed.kind = Str(Some(event.name.into()));
        }
        let kind = parsed.kind.text();
        match kind {
            "response.created"
            | "response.queued"
            | "response.in_progress"
            | "response.completed"
            | "response.failed"
            | "response.incomplete"
            | "response.done" => self.terminal(&parsed),
            "response.output_item.added" => {
                self.started = true;
                self.item_added(&parsed, sink);
            }
            "response.output_item.done" => {
                self.started = true;
                self.item_done(&parsed, sink);
            }
            "error" => {
                self.error.get_or_insert_with(|| errors::inside_success(event.data.as_bytes()));
            }
            "keepalive" | "ping" => {}
            _ if parsed.error.get().is_some() && !kind.starts_with("response.") => {
                self.error.get_or_insert_with(|| errors::inside_success(event.data.as_bytes()));
            }
            _ if kind.ends_with(".delta") || kind.ends_with(".done") => self.delta(&parsed, sink),
            // Progress of hosted tools, and parts that begin.
            _ => {}
        }
        if !is_known(kind) {
            let kind = kind.to_owned();
            self.unknown_event(&kind);
        }
    }

    fn done(&self) -> bool {
        self.terminal.is_some() || self.error.is_some()
    }

    fn started(&self) -> bool {
        self.started
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        // A failure counts even when something that looks like an end follows it.
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some(raw) = self.terminal.take() {
            return self.complete(&raw);
        }
        if self.items.is_empty() {
            return Err(ModelError {
                retryable: true,
                ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
            });
        }
        Ok(self.partial())
    }
}

#[cfg(test)]
mod tests;
