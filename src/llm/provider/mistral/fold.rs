//! A streamed conversation response, put together entry by entry, each in the form it has in a unary response.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplyEvent, ReplySink, SseEvent,
            dialect::{Fold, Reading},
            json::{Int, Raw, Str},
        },
        ending::mark_all_incomplete,
        errors,
        openai::message::join,
        usage,
    },
    reply,
};
use crate::types::{HostedStatus, Item, Part, Reply, Stop, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    output_index: Int,
    content_index: Int,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    tool_call_id: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    conversation_id: Str<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    /// Of a failure that a gateway reports in the words of Chat.
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    object: Str<'a>,
}

impl Event<'_> {
    /// What tells calls apart first, and entries of other types.
    fn own_id(&self) -> &str {
        self.tool_call_id.some().unwrap_or_else(|| self.id.text())
    }
}

/// Fields that say where a piece belongs, or that are put together from the pieces.
const PLACES: &[&str] = &["type", "output_index", "content_index", "content", "arguments"];

/// What is known of an entry that has begun.
#[derive(Debug)]
struct Open {
    kind: &'static str,
    id: String,
    index: Option<u64>,
    /// The fields that are no pieces.
    fields: Map<String, Value>,
    arguments: Option<String>,
    /// The pieces of a message, each with its place.
    content: Vec<(u64, Vec<Value>)>,
    ended: bool,
}

/// The fold over the events of one response.
#[derive(Debug)]
pub(super) struct ConversationFold {
    reading: Reading,
    id: Option<String>,
    entries: Vec<Open>,
    usage: Option<Usage>,
    error: Option<ModelError>,
    unknown: Vec<String>,
    done: bool,
}

impl ConversationFold {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, id: None, entries: Vec::new(), usage: None, error: None, unknown: Vec::new(), done: false }
    }

    /// The entry an event belongs to, which may begin with it. Ids come first: a new id under a used index is another
    /// entry.
    fn entry(&mut self, kind: &'static str, event: &Event<'_>) -> (usize, bool) {
        let id = event.own_id();
        let same = |open: &Open| {
            let by_index = || open.index == event.output_index.0 || event.output_index.0.is_none();
            // One id under two indices is two calls; entries of other types keep their id and their index.
            let by_id = || open.id == id && (kind != "function.call" || open.index.is_none() || by_index());
            open.kind == kind && if open.id.is_empty() || id.is_empty() { by_index() } else { by_id() }
        };
        if let Some(at) = self.entries.iter().rposition(same) {
            return (at, false);
        }
        self.entries.push(Open {
            kind,
            id: id.to_owned(),
            index: event.output_index.0,
            fields: Map::new(),
            arguments: None,
            content: Vec::new(),
            ended: false,
        });
        (self.entries.len() - 1, true)
    }

    fn entry_event(&mut self, kind: &'static str, event: &Event<'_>, data: &str, sink: &dyn ReplySink) {
        let (at, fresh) = self.entry(kind, event);
        let Some(open) = self.entries.get_mut(at) else { return };
        let ended = event.kind.text().ends_with(".done");
        open.ended |= ended;
        if fresh || ended {
            open.keep_fields(data);
        }
        if fresh {
            announce(kind, event, &self.reading, sink);
        }
        if kind == "function.call" || kind == "tool.execution" {
            open.arguments(event, sink);
        }
        if kind == "message.output" {
            open.content(event, sink);
        }
        if ended && kind == "tool.execution" {
            sink.on(ReplyEvent::Hosted(event.name.text().to_owned()));
        }
    }

    fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().take(64).collect();
        if !self.unknown.contains(&kind) {
            self.unknown.push(kind);
        }
    }

    fn items(&self, notices: &mut Vec<String>) -> Vec<Item> {
        let mut items = Vec::with_capacity(self.entries.len());
        for open in &self.entries {
            let Ok(raw) = serde_json::value::to_raw_value(&open.to_wire()) else { continue };
            let mut item = reply::item(&raw, &self.reading, notices);
            if !self.done {
                item.raw = None;
            }
            if open.kind == "tool.execution" && !open.ended {
                for part in &mut item.parts {
                    if let Part::Hosted(output) = part {
                        output.status = HostedStatus::Incomplete;
                    }
                }
            }
            items.push(item);
        }
        items
    }
}

impl Open {
    fn keep_fields(&mut self, data: &str) {
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(data) else { return };
        for (name, value) in fields {
            if !PLACES.contains(&name.as_str()) && !self.fields.contains_key(&name) {
                self.fields.insert(name, value);
            }
        }
    }

    fn arguments(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let Some(piece) = event.arguments.text_or_json() else { return };
        self.arguments.get_or_insert_default().push_str(&piece);
        if self.kind == "function.call" && !piece.is_empty() {
            sink.on(ReplyEvent::Arguments { provider_id: self.id.clone(), delta: piece });
        }
    }

    fn content(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let place = event.content_index.or_zero();
        if let Some(text) = event.content.read::<Cow<'_, str>>() {
            return self.piece(place, serde_json::json!({"type": "text", "text": text}), sink);
        }
        match event.content.read::<Value>() {
            Some(Value::Array(pieces)) => pieces.into_iter().for_each(|piece| self.piece(place, piece, sink)),
            Some(piece) => self.piece(place, piece, sink),
            None => {}
        }
    }

    /// Text goes on in the same place; every other piece stands for itself, thoughts aside.
    fn piece(&mut self, place: u64, piece: Value, sink: &dyn ReplySink) {
        show(&piece, sink);
        match self.content.last_mut().filter(|(at, _)| *at == place) {
            Some((_, pieces)) => join(pieces, piece),
            None => self.content.push((place, vec![piece])),
        }
    }

    /// The entry as it lies in a unary response.
    fn to_wire(&self) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("object".to_owned(), "entry".into());
        entry.insert("type".to_owned(), self.kind.into());
        entry.extend(self.fields.clone());
        if let Some(arguments) = &self.arguments {
            entry.insert("arguments".to_owned(), arguments.as_str().into());
        }
        if self.kind == "message.output" {
            let pieces: Vec<&Value> = self.content.iter().flat_map(|(_, pieces)| pieces).collect();
            let only_text = match pieces.as_slice() {
                [] => Some(Value::from("")),
                [only] if only.get("type").is_some_and(|kind| kind == "text") => only.get("text").cloned(),
                [..] => None,
            };
            let list = || pieces.into_iter().cloned().collect();
            entry.insert("content".to_owned(), only_text.unwrap_or_else(list));
        }
        entry
    }
}

fn announce(kind: &str, event: &Event<'_>, reading: &Reading, sink: &dyn ReplySink) {
    match kind {
        "function.call" => sink.on(ReplyEvent::CallStarted {
            provider_id: event.own_id().to_owned(),
            name: reading.original(event.name.text()),
        }),
        "tool.execution" => sink.on(ReplyEvent::Hosted(event.name.text().to_owned())),
        _ => {}
    }
}

fn show(piece: &Value, sink: &dyn ReplySink) {
    let text = |piece: &Value| piece.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let thoughts = piece.get("thinking").and_then(Value::as_array);
    for thought in thoughts.into_iter().flatten() {
        sink.on(ReplyEvent::Reasoning(text(thought)));
    }
    let text = text(piece);
    if !text.is_empty() {
        sink.on(ReplyEvent::Text(text));
    }
}

impl Fold for ConversationFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return;
        }
        let Ok(mut parsed) = serde_json::from_str::<Event<'_>>(data) else { return self.unknown(event.name) };
        if parsed.kind.some().is_none() {
            parsed.kind = Str(Some(event.name.into()));
        }
        match parsed.kind.text() {
            "conversation.response.started" => self.id = parsed.conversation_id.some().map(str::to_owned),
            "conversation.response.done" => {
                self.usage = usage::read(parsed.usage);
                self.done = true;
            }
            "conversation.response.error" | "error" => {
                self.error.get_or_insert_with(|| errors::inside_success(data.as_bytes()));
            }
            "message.output.delta" => self.entry_event("message.output", &parsed, data, sink),
            "tool.execution.started" | "tool.execution.delta" | "tool.execution.done" => {
                self.entry_event("tool.execution", &parsed, data, sink);
            }
            "function.call.delta" => self.entry_event("function.call", &parsed, data, sink),
            "agent.handoff.started" | "agent.handoff.done" => self.entry_event("agent.handoff", &parsed, data, sink),
            _ if parsed.error.get().is_some() || parsed.object.text() == "error" => {
                self.error.get_or_insert_with(|| errors::inside_success(data.as_bytes()));
            }
            kind => {
                let kind = kind.to_owned();
                self.unknown(&kind);
            }
        }
    }

    fn done(&self) -> bool {
        self.done || self.error.is_some()
    }

    fn started(&self) -> bool {
        !self.entries.is_empty()
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.entries.is_empty() && !self.done {
            return Err(ModelError {
                retryable: true,
                ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
            });
        }
        let mut notices = self.reading.notices.clone();
        notices.extend(self.unknown.iter().map(|kind| format!("an event of the unknown type `{kind}` was left out")));
        let items = self.items(&mut notices);
        let mut reply = reply::assemble(self.id.take(), items, self.usage, &self.reading, notices);
        if !self.done {
            reply.stop = Stop::Failed("the stream broke off before the reply was complete".to_owned());
            mark_all_incomplete(&mut reply);
        }
        Ok(reply)
    }
}
