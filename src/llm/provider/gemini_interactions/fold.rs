//! A streamed interaction, put together: each step as it would have come whole.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplyEvent, ReplySink, SseEvent, arguments,
            dialect::{Fold, Reading},
            json::{Int, Raw, Str},
        },
        ending::mark_all_incomplete,
        errors,
        openai_response::normal_arguments,
    },
    reply::{self, Step, WireInteraction},
};
use crate::types::{Reply, Stop};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    event_type: Str<'a>,
    index: Int,
    #[serde(borrow)]
    step: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    interaction: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// A step that has begun.
#[derive(Debug, Default)]
struct Open {
    fields: Map<String, Value>,
    /// How it began, as long as nothing was added.
    raw: Option<Box<RawValue>>,
    /// The arguments that came as text.
    arguments: String,
}

/// The fold over the events of one interaction.
#[derive(Debug)]
pub(super) struct InteractionFold {
    reading: Reading,
    /// In the order in which they began.
    steps: Vec<Open>,
    /// The step that an index means; the latest one when an index is used again.
    places: HashMap<u64, usize>,
    head: Option<Box<RawValue>>,
    completed: bool,
    error: Option<ModelError>,
    unread: usize,
    unknown: Vec<String>,
}

impl InteractionFold {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            reading,
            steps: Vec::new(),
            places: HashMap::new(),
            head: None,
            completed: false,
            error: None,
            unread: 0,
            unknown: Vec::new(),
        }
    }

    fn step_started(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let fields: Map<String, Value> = event.step.read().unwrap_or_default();
        let open = Open { fields, raw: event.step.read(), arguments: String::new() };
        match open.kind() {
            "function_call" => {
                let name = self.reading.original(open.word("name"));
                sink.on(ReplyEvent::CallStarted { provider_id: open.word("id").to_owned(), name });
            }
            kind if kind.ends_with("_call") => sink.on(ReplyEvent::Hosted(kind.to_owned())),
            _ => {}
        }
        self.place(event.index, open);
    }

    /// DEV-B04: a step that begins under a used index is a step of its own.
    fn place(&mut self, index: Int, open: Open) {
        self.places.insert(index.0.unwrap_or(self.steps.len() as u64), self.steps.len());
        self.steps.push(open);
    }

    /// The step of an event; one that never began begins with it, as in a stream that was resumed.
    fn step(&mut self, index: Int) -> Option<&mut Open> {
        let known = match index.0 {
            Some(index) => self.places.get(&index).copied(),
            None => self.steps.len().checked_sub(1),
        };
        if known.is_none() {
            self.place(index, Open::default());
        }
        let at = known.or(self.steps.len().checked_sub(1))?;
        self.steps.get_mut(at)
    }

    fn step_continued(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        let Some(delta) = event.delta.read::<Map<String, Value>>() else {
            self.unread += 1;
            return;
        };
        if let Some(step) = self.step(event.index) {
            step.add(delta, sink);
        }
    }

    fn interaction(&mut self, event: &Event<'_>) {
        let Some(raw) = event.interaction.read::<&RawValue>() else { return };
        let interaction: WireInteraction<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        if interaction.error.get().is_some() || interaction.status.text() == "failed" {
            self.error.get_or_insert_with(|| errors::inside_success(raw.get().as_bytes()));
        }
        self.completed |= !matches!(interaction.status.text(), "" | "in_progress" | "queued" | "idle");
        self.head = Some(raw.to_owned());
    }
}

impl Open {
    fn kind(&self) -> &str {
        self.word("type")
    }

    fn word(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The step is of this kind, unless it said its own. A resumed stream may begin inside a step.
    fn assume(&mut self, kind: &str) {
        self.fields.entry("type").or_insert_with(|| kind.into());
    }

    fn list(&mut self, name: &str) -> Option<&mut Vec<Value>> {
        let list = self.fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        list.as_array_mut()
    }

    fn add(&mut self, mut delta: Map<String, Value>, sink: &dyn ReplySink) {
        self.raw = None;
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "text" => {
                self.assume("model_output");
                let text = delta.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
                sink.on(ReplyEvent::Text(text));
                self.list("content").map(|list| join(list, delta)).unwrap_or_default();
            }
            "arguments_delta" => {
                self.assume("function_call");
                match delta.shift_remove("arguments") {
                    Some(Value::String(more)) => {
                        self.arguments.push_str(&more);
                        sink.on(ReplyEvent::Arguments { provider_id: self.word("id").to_owned(), delta: more });
                    }
                    Some(whole @ Value::Object(_)) => drop(self.fields.insert("arguments".to_owned(), whole)),
                    Some(_) | None => {}
                }
            }
            "thought_signature" => {
                self.assume("thought");
                self.fields.extend(delta.shift_remove("signature").map(|value| ("signature".to_owned(), value)));
            }
            "thought_summary" => {
                self.assume("thought");
                let Some(Value::Object(content)) = delta.shift_remove("content") else { return };
                let text = content.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
                sink.on(ReplyEvent::Reasoning(text));
                self.list("summary").map(|list| join(list, content)).unwrap_or_default();
            }
            _ if delta.contains_key("annotations") => {
                self.assume("model_output");
                let text = Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), "".into())]);
                if let Some(list) = self.list("content") {
                    join(list, text);
                    annotate(list, delta.shift_remove("annotations"));
                }
            }
            "image" | "audio" | "video" | "document" => {
                self.assume("model_output");
                self.list("content").map(|list| list.push(Value::Object(delta))).unwrap_or_default();
            }
            // A whole call or result of a hosted tool, and whatever is added in the future: its fields are the step's.
            _ => {
                self.assume(&kind);
                delta.shift_remove("type");
                self.fields.extend(delta);
            }
        }
    }

    fn finish(mut self) -> Option<Step> {
        let mut broken = None;
        if !self.arguments.is_empty() {
            let text = normal_arguments(std::mem::take(&mut self.arguments));
            let replayable = arguments::replayable(&text);
            let value = serde_json::from_str(&replayable).unwrap_or_default();
            self.fields.insert("arguments".to_owned(), value);
            broken = (replayable != text).then_some(text);
        }
        let raw = match self.raw {
            Some(raw) if broken.is_none() => raw,
            Some(_) | None => serde_json::value::to_raw_value(&self.fields).ok()?,
        };
        Some(Step { raw, arguments: broken })
    }
}

/// Adds a content; a text continues the text before it.
fn join(list: &mut Vec<Value>, content: Map<String, Value>) {
    let is_text = |content: &Map<String, Value>| content.get("type").and_then(Value::as_str) == Some("text");
    if let Some(Value::Object(last)) = list.last_mut()
        && is_text(last)
        && is_text(&content)
        && let (Some(Value::String(text)), Some(Value::String(more))) = (last.get_mut("text"), content.get("text"))
    {
        text.push_str(more);
        let mut content = content;
        let notes = content.shift_remove("annotations");
        return annotate(list, notes);
    }
    list.push(Value::Object(content));
}

/// Adds annotations to the last content.
fn annotate(list: &mut [Value], notes: Option<Value>) {
    let (Some(Value::Object(last)), Some(Value::Array(notes))) = (list.last_mut(), notes) else { return };
    let known = last.entry("annotations").or_insert_with(|| Value::Array(Vec::new()));
    match known.as_array_mut() {
        Some(known) => known.extend(notes),
        None => *known = Value::Array(notes),
    }
}

impl Fold for InteractionFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        if matches!(event.data.trim(), "" | "[DONE]") {
            return;
        }
        let Ok(parsed) = serde_json::from_str::<Event<'_>>(event.data) else {
            self.unread += 1;
            return;
        };
        match parsed.event_type.some().unwrap_or(event.name) {
            "step.start" => self.step_started(&parsed, sink),
            "step.delta" => self.step_continued(&parsed, sink),
            "interaction.completed" => {
                self.completed = true;
                self.interaction(&parsed);
            }
            "error" => {
                self.error.get_or_insert_with(|| errors::inside_success(event.data.as_bytes()));
            }
            _ if parsed.error.get().is_some() => {
                self.error.get_or_insert_with(|| errors::inside_success(event.data.as_bytes()));
            }
            "step.stop" => {}
            "interaction.created" | "interaction.status_update" => self.interaction(&parsed),
            kind => {
                // Later versions may have other words for the same: what holds an interaction is read all the same.
                if parsed.interaction.get().is_some() {
                    self.interaction(&parsed);
                }
                let kind: String = kind.chars().take(64).collect();
                if !self.unknown.contains(&kind) {
                    self.unknown.push(kind);
                }
            }
        }
    }

    fn done(&self) -> bool {
        self.completed
    }

    fn started(&self) -> bool {
        !self.steps.is_empty()
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.steps.is_empty() && !self.completed {
            return Err(ModelError {
                retryable: true,
                ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
            });
        }
        let head = self.head.as_deref().map_or("{}", RawValue::get);
        let interaction: WireInteraction<'_> = serde_json::from_str(head).unwrap_or_default();
        let steps = if self.steps.is_empty() {
            let whole = |raw: &RawValue| Step { raw: raw.to_owned(), arguments: None };
            interaction.steps().into_iter().map(whole).collect()
        } else {
            self.steps.into_iter().filter_map(Open::finish).collect()
        };
        let mut reply = reply::assemble(&interaction, steps, &self.reading);
        let left_out = |kind: String| format!("an event of the unknown type `{kind}` was left out");
        reply.notices.extend(self.unknown.into_iter().map(left_out));
        if self.unread > 0 {
            reply.notices.push(format!("{} events of the stream could not be read", self.unread));
        }
        if !self.completed {
            reply.stop = Stop::Failed("the stream broke off before the interaction was complete".to_owned());
            mark_all_incomplete(&mut reply);
        }
        Ok(reply)
    }
}
