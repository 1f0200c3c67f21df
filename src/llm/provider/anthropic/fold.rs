//! A streamed message, put together.
//!
//! Each block is rebuilt as the block of the whole message would be: the object of its start with the pieces joined in.
//! So a streamed reply goes back to the provider with signatures, citations and encrypted parts as they came.

use std::{collections::HashMap, sync::Arc};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplySink, SseEvent,
            dialect::{Fold, Reading},
            json::{Int, Raw, Str},
        },
        ending::mark_all_incomplete,
        errors,
    },
    open::Open,
    reply::{self, Ending, Head, WireMessage},
    usage,
};
use crate::types::{Part, Reply, Stop};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    index: Int,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) text: Str<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Str<'a>,
    #[serde(borrow)]
    pub(super) thinking: Str<'a>,
    #[serde(borrow)]
    pub(super) signature: Str<'a>,
    #[serde(borrow)]
    pub(super) content: Str<'a>,
    #[serde(borrow)]
    pub(super) encrypted_content: Str<'a>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}

/// The fold over the events of one message.
#[derive(Debug)]
pub(super) struct MessageFold {
    reading: Reading,
    id: Option<String>,
    /// In the order in which they began.
    blocks: Vec<Open>,
    /// The block that an index means; the latest one when an index is used again.
    places: HashMap<u64, usize>,
    usage: Map<String, Value>,
    ending: Ending,
    stopped: bool,
    error: Option<ModelError>,
    notices: Vec<String>,
    started: bool,
}

impl MessageFold {
    pub(super) fn new(reading: Reading) -> Self {
        let notices = reading.notices.clone();
        Self {
            reading,
            id: None,
            blocks: Vec::new(),
            places: HashMap::new(),
            usage: Map::new(),
            ending: Ending::default(),
            stopped: false,
            error: None,
            notices,
            started: false,
        }
    }

    /// Says it once, however often it happens.
    fn note(&mut self, notice: String) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    fn message_start(&mut self, event: &Event<'_>) {
        if !self.blocks.is_empty() {
            // A proxy asked again in the middle of a message: the second one is whole, the first one is not.
            self.notices
                .push("the message began anew in the middle of the stream; its first pieces were dropped".into());
            self.blocks.clear();
            self.places.clear();
            self.usage.clear();
            self.ending = Ending::default();
        }
        let Some(message) = event.message.read::<WireMessage<'_>>() else { return };
        self.id = message.id.some().map(str::to_owned);
        self.merge_usage(message.usage);
        self.ending.take(&message);
    }

    fn block_start(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        self.started = true;
        let Some(raw) = event.content_block else { return };
        let open = Open::new(raw.to_owned(), &self.reading);
        open.announce(sink);
        self.place(event.index, open);
    }

    /// DEV-B04: a block that begins under a used index is a block of its own.
    fn place(&mut self, index: Int, open: Open) {
        self.places.insert(index.0.unwrap_or(self.blocks.len() as u64), self.blocks.len());
        self.blocks.push(open);
    }

    fn block(&mut self, index: Int) -> Option<&mut Open> {
        let at = match index.0 {
            Some(index) => *self.places.get(&index)?,
            None => self.blocks.len().checked_sub(1)?,
        };
        self.blocks.get_mut(at)
    }

    fn block_delta(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        self.started = true;
        let Some(delta) = event.delta.read::<Delta<'_>>() else { return };
        if self.block(event.index).is_none() {
            let Some(open) = Open::for_delta(delta.kind.text(), &self.reading) else {
                return self.note(format!("a `{}` without its block was left out", short(delta.kind.text())));
            };
            self.place(event.index, open);
        }
        let known = self.block(event.index).is_none_or(|open| open.take(&delta, sink));
        if !known {
            self.note(format!("a delta of the unknown type `{}` was left out", short(delta.kind.text())));
        }
    }

    fn block_stop(&mut self, event: &Event<'_>, sink: &dyn ReplySink) {
        if let Some(open) = self.block(event.index) {
            open.stop(sink);
        }
    }

    fn message_delta(&mut self, event: &Event<'_>) {
        if let Some(end) = event.delta.read::<WireMessage<'_>>() {
            self.ending.take(&end);
        }
        self.merge_usage(event.usage);
    }

    /// Counters are cumulative: what is there replaces, what is absent or null stays.
    fn merge_usage(&mut self, usage: Raw<'_>) {
        let Some(fields) = usage.read::<Map<String, Value>>() else { return };
        self.usage.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }

    fn failed(&mut self, event: SseEvent<'_>) {
        self.error.get_or_insert_with(|| errors::inside_success(event.data.as_bytes()));
    }

    fn reply(self) -> Reply {
        let text = Value::Object(self.usage).to_string();
        let usage = serde_json::from_str::<Raw<'_>>(&text).ok().and_then(usage::read);
        let whole = self.stopped || !self.ending.reason.is_empty();
        let blocks: Vec<Built> = self.blocks.iter().map(|open| Built::of(open, whole)).collect();
        let raws = blocks.iter().map(|built| Arc::clone(&built.raw)).collect();
        let head = Head { id: self.id, usage };
        let mut reply = reply::assemble(head, raws, &self.reading, self.notices);
        for (item, built) in reply.items.iter_mut().zip(blocks) {
            if let (Some(Part::Call(call)), Some(arguments)) = (item.parts.first_mut(), built.broken_arguments) {
                call.arguments = arguments;
            }
            if !built.finished {
                // It cannot go back as it is: what it lacks would have it refused.
                item.raw = None;
            }
        }
        if whole {
            reply::end(&mut reply, self.ending);
        } else {
            reply.stop = Stop::Failed("the stream broke off before the message was complete".to_owned());
            mark_all_incomplete(&mut reply);
        }
        reply
    }
}

/// A block as the whole message would have it.
struct Built {
    raw: Arc<RawValue>,
    /// The arguments as they were received, where they are no JSON.
    broken_arguments: Option<String>,
    finished: bool,
}

impl Built {
    fn of(open: &Open, whole: bool) -> Self {
        Self { raw: open.raw(), broken_arguments: open.broken_arguments(), finished: whole || open.is_finished() }
    }
}

/// A word of the provider, cut to a length that fits a notice.
fn short(word: &str) -> String {
    word.chars().take(64).collect()
}

impl Fold for MessageFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        // What comes after the end cannot change it.
        if self.stopped || matches!(event.data.trim(), "" | "[DONE]") {
            return;
        }
        let Ok(mut parsed) = serde_json::from_str::<Event<'_>>(event.data) else {
            return self.note(format!("an event `{}` that is no object was left out", short(event.name)));
        };
        if parsed.kind.some().is_none() {
            parsed.kind = Str(Some(event.name.into()));
        }
        match parsed.kind.text() {
            "message_start" => self.message_start(&parsed),
            "content_block_start" => self.block_start(&parsed, sink),
            "content_block_delta" => self.block_delta(&parsed, sink),
            "content_block_stop" => self.block_stop(&parsed, sink),
            "message_delta" => self.message_delta(&parsed),
            "message_stop" => self.stopped = true,
            "ping" => {}
            "error" => self.failed(event),
            _ if parsed.error.get().is_some() => self.failed(event),
            kind => {
                let notice = format!("an event of the unknown type `{}` was left out", short(kind));
                self.note(notice);
            }
        }
    }

    fn done(&self) -> bool {
        self.stopped
    }

    fn started(&self) -> bool {
        self.started
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.blocks.is_empty() && self.ending.reason.is_empty() && !self.stopped {
            return Err(ModelError {
                retryable: true,
                ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
            });
        }
        Ok(self.reply())
    }
}

#[cfg(test)]
mod tests;
