//! A streamed completion, put together.

use serde_json::{Map, Value, value::RawValue};

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplySink, SseEvent,
            dialect::{Fold, Reading},
        },
        ending::{ended, mark_all_incomplete},
        errors, usage,
    },
    message::{Message, WireMessage},
    reply::{self, Head, WireChoice, WireCompletion},
};
use crate::types::{Reply, Stop};

/// The fold over the chunks of one completion.
#[derive(Debug)]
pub(in super::super) struct ChatFold {
    reading: Reading,
    message: Message,
    head: Head,
    more: MoreFields,
    notices: Vec<String>,
    /// Calls were read out of the text.
    printed_calls: bool,
    error: Option<ModelError>,
    more_choices: bool,
    started: bool,
    done: bool,
}

impl ChatFold {
    pub(in super::super) fn new(reading: Reading) -> Self {
        Self {
            message: Message::new(&reading),
            reading,
            head: Head::default(),
            more: MoreFields::default(),
            notices: Vec::new(),
            printed_calls: false,
            error: None,
            more_choices: false,
            started: false,
            done: false,
        }
    }

    /// An event was none of the format.
    fn unread(&mut self) {
        if !self.notices.iter().any(|notice| notice == reply::UNREAD) {
            self.notices.push(reply::UNREAD.to_owned());
        }
    }

    fn choice(&mut self, choice: &WireChoice<'_>, sink: &dyn ReplySink) {
        if choice.index.or_zero() > 0 {
            self.more_choices = true;
            return;
        }
        self.started = true;
        if let Some(reason) = reply::finish_reason(&choice.finish_reason) {
            self.head.finish = Some(reason);
        }
        if let Some(usage) = usage::read(choice.usage) {
            self.head.usage = Some(usage);
        }
        let Some(raw) = choice.delta.or(choice.message) else { return };
        if let Ok(wire) = serde_json::from_str::<WireMessage<'_>>(raw.get()) {
            self.message.take(&wire, &self.reading, sink);
        }
        self.more.take(raw);
        if self.head.finish.is_some() {
            self.printed_calls |= self.message.end_text(&self.reading, sink, &mut self.notices);
        }
    }
}

/// Fields of a message that are not known here, merged from its deltas. They have to go back with it
/// (`reasoning_details`): texts are appended to, lists extended, everything else replaced.
#[derive(Debug, Default)]
pub(in super::super) struct MoreFields(Map<String, Value>);

impl MoreFields {
    /// Takes the fields of the next delta.
    pub(in super::super) fn take(&mut self, raw: &RawValue) {
        // Most deltas have one of these fields only; look before reading a tree.
        if !EXTRAS.iter().any(|name| raw.get().contains(name)) && known_only(raw) {
            return;
        }
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(raw.get()) else { return };
        for (name, value) in fields {
            if KNOWN.contains(&name.as_str()) || value.is_null() {
                continue;
            }
            match (self.0.get_mut(&name), value) {
                (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
                (Some(Value::Array(list)), Value::Array(more)) if name == "reasoning_details" => {
                    more.into_iter().for_each(|detail| add_detail(list, detail));
                }
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => {
                    self.0.insert(name, value);
                }
            }
        }
    }

    /// A word about each field that may hold more than padding and is not read.
    pub(in super::super) fn notices(&self) -> Vec<String> {
        let weighty = |value: &Value| match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        let unread = self.0.iter().filter(|(name, value)| !READ.contains(&name.as_str()) && weighty(value));
        unread.map(|(name, _)| format!("the field `{name}` of the message was kept unread")).collect()
    }

    /// All that was taken.
    pub(in super::super) fn into_fields(self) -> Map<String, Value> {
        self.0
    }
}

/// OpenRouter cuts a detail into pieces of one type and one index; the pieces go back as the detail they were.
fn add_detail(list: &mut Vec<Value>, detail: Value) {
    let same = |last: &Value| ["type", "index"].iter().all(|name| detail.get(*name) == last.get(*name));
    let numbered = detail.get("index").is_some_and(Value::is_number);
    let encrypted = detail.get("data").is_some_and(Value::is_string);
    match (list.last_mut().filter(|last| numbered && !encrypted && same(last)), detail) {
        (Some(Value::Object(last)), Value::Object(detail)) => {
            for (name, value) in detail {
                match (last.get_mut(&name), value) {
                    (Some(Value::String(text)), Value::String(more)) if name == "text" || name == "summary" => {
                        text.push_str(&more);
                    }
                    (Some(_), Value::Null) => {}
                    (_, value) => {
                        last.insert(name, value);
                    }
                }
            }
        }
        (_, detail) => list.push(detail),
    }
}

/// Fields of a delta that have a meaning here, or none beyond the stream (padding against traffic analysis).
const KNOWN: &[&str] = &[
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "obfuscation",
    "p",
    "logprobs",
    "audio",
    "name",
];

/// Fields that are kept although parts are made of them, because they go back under their own name.
const EXTRAS: &[&str] = &["\"reasoning_content\"", "\"reasoning\"", "\"reasoning_details\""];

/// Of the fields that are kept, those that parts are made of.
const READ: &[&str] = &["reasoning_content", "reasoning", "reasoning_details", "executed_tools"];

fn known_only(raw: &RawValue) -> bool {
    serde_json::from_str::<std::collections::BTreeMap<std::borrow::Cow<'_, str>, &RawValue>>(raw.get())
        .is_ok_and(|fields| fields.keys().all(|name| KNOWN.contains(&name.as_ref())))
}

impl Fold for ChatFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        let data = event.data.trim();
        match data {
            "" => return,
            "[DONE]" => return self.done = true,
            _ => {}
        }
        let Ok(chunk) = serde_json::from_str::<WireCompletion<'_>>(data) else { return self.unread() };
        if chunk.failed() || event.name == "error" {
            self.error.get_or_insert_with(|| errors::inside_success(data.as_bytes()));
            return;
        }
        if !chunk.is_known() {
            return self.unread();
        }
        if self.head.id.is_none() {
            self.head.id = chunk.id.some().map(str::to_owned);
        }
        if let Some(usage) = usage::read(chunk.usage) {
            self.head.usage = Some(usage);
        }
        chunk.give_sources(&mut self.message);
        for choice in chunk.choices.list() {
            if let Some(choice) = choice.read::<WireChoice<'_>>() {
                self.choice(&choice, sink);
            }
        }
    }

    fn done(&self) -> bool {
        self.done
    }

    fn started(&self) -> bool {
        self.started
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        let Self { reading, mut message, head, more, notices: seen, printed_calls, error, more_choices, started, done } =
            *self;
        if let Some(error) = error {
            return Err(error);
        }
        if !started {
            return Err(ModelError {
                retryable: true,
                ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
            });
        }
        let mut notices = reading.notices.clone();
        notices.extend(seen);
        notices.extend(more.notices());
        if more_choices {
            notices.push(reply::MORE_CHOICES.to_owned());
        }
        let cut = !done && head.finish.is_none();
        message.name_calls(head.id.as_deref().unwrap_or_default());
        let raw = if cut || printed_calls {
            None
        } else {
            serde_json::value::to_raw_value(&message.to_wire(more.into_fields())).ok()
        };
        let no_reason = head.finish.is_none();
        let mut reply = reply::assemble(head, message, raw, &reading, notices);
        if cut {
            reply.stop = Stop::Failed("the stream broke off before the reply was complete".to_owned());
            mark_all_incomplete(&mut reply);
        } else if no_reason {
            reply.stop = ended(&reply);
        }
        Ok(reply)
    }
}
