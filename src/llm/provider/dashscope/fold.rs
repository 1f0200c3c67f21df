//! A streamed generation, put together.
//!
//! With `incremental_output` events bring pieces; without it each brings all there is so far, and only the request says
//! which. The events tell too: where each repeats the one before and goes on, they grow; else they are pieces.

use serde_json::value::RawValue;

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind, ReplyEvent, ReplySink, SseEvent,
            dialect::{Fold, Reading},
        },
        ending::mark_all_incomplete,
        errors,
        openai::{
            fold::MoreFields,
            message::{Message, WireMessage},
            reply::{self as chat, Head},
        },
        usage,
    },
    reply::{WireGeneration, WireOutput},
};
use crate::types::{Citation, Reply, Stop};

/// After so many events that repeat and go on, pieces are out of the question.
const SURE: u32 = 3;

/// How the events bring the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Not known yet; so many events have repeated the one before and gone on.
    Open(u32),
    /// In pieces.
    Pieces,
    /// As all there is so far.
    Growing,
}

/// The fold over the events of one generation.
#[derive(Debug)]
pub(super) struct GenerationFold {
    reading: Reading,
    head: Head,
    manner: Manner,
    /// All events as pieces of one message.
    sum: Message,
    more: MoreFields,
    /// The last event alone, and its message as it came.
    last: Option<(Message, Box<RawValue>)>,
    /// The text and the thoughts that were shown.
    shown: [usize; 2],
    sources: Vec<Citation>,
    others: bool,
    /// There were events that are not of the format.
    unread: bool,
    error: Option<ModelError>,
    started: bool,
}

impl GenerationFold {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            head: Head::default(),
            manner: Manner::Open(0),
            sum: Message::new(&reading),
            more: MoreFields::default(),
            last: None,
            shown: [0; 2],
            sources: Vec::new(),
            others: false,
            unread: false,
            error: None,
            started: false,
            reading,
        }
    }

    fn message(&mut self, raw: &RawValue, sink: &dyn ReplySink) {
        let Ok(wire) = serde_json::from_str::<WireMessage<'_>>(raw.get()) else { return };
        if self.manner == Manner::Pieces {
            self.more.take(raw);
            return self.sum.take(&wire, &self.reading, sink);
        }
        let mut alone = Message::new(&self.reading);
        alone.take(&wire, &self.reading, &());
        let now = alone.texts();
        if let Manner::Open(steps) = self.manner {
            self.sum.take(&wire, &self.reading, &());
            self.more.take(raw);
            self.manner = match self.last.as_ref().map(|(last, _)| step(&last.texts(), &now)) {
                Some(Step::Other) => Manner::Pieces,
                Some(Step::Further) if steps + 1 >= SURE => Manner::Growing,
                Some(Step::Further) => Manner::Open(steps + 1),
                Some(Step::Same) | None => self.manner,
            };
        }
        self.last = Some((alone, raw.to_owned()));
        match self.manner {
            Manner::Open(_) => {}
            Manner::Growing => {
                self.sum = Message::new(&self.reading);
                self.show(&now, sink);
            }
            Manner::Pieces => {
                self.last = None;
                self.show(&self.sum.texts(), sink);
                self.sum.show_calls(&self.reading, sink);
            }
        }
    }

    fn show(&mut self, now: &[String; 3], sink: &dyn ReplySink) {
        let [text, thoughts, _] = now;
        let [shown_text, shown_thoughts] = self.shown;
        if let Some(more) = thoughts.get(shown_thoughts..).filter(|more| !more.is_empty()) {
            sink.on(ReplyEvent::Reasoning(more.to_owned()));
        }
        if let Some(more) = text.get(shown_text..).filter(|more| !more.is_empty()) {
            sink.on(ReplyEvent::Text(more.to_owned()));
        }
        self.shown = [text.len(), thoughts.len()];
    }
}

/// How an event relates to the one before.
enum Step {
    /// It repeats it and goes on.
    Further,
    /// It repeats it, or comes after nothing.
    Same,
    /// It brings something else.
    Other,
}

fn step(before: &[String; 3], now: &[String; 3]) -> Step {
    let repeats = before.iter().zip(now).all(|(before, now)| now.starts_with(before.as_str()));
    let nothing = before.iter().all(String::is_empty);
    match (repeats, nothing || before == now) {
        (false, _) => Step::Other,
        (true, true) => Step::Same,
        (true, false) => Step::Further,
    }
}

impl Fold for GenerationFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        let data = event.data.trim();
        if data == "[DONE]" {
            return;
        }
        if data.is_empty() {
            return;
        }
        let Ok(generation) = serde_json::from_str::<WireGeneration<'_>>(data) else { return self.unread = true };
        if generation.failed() || event.name == "error" {
            self.error.get_or_insert_with(|| errors::inside_success(data.as_bytes()));
            return;
        }
        let Some(output) = generation.output.read::<WireOutput<'_>>() else { return self.unread = true };
        if self.head.id.is_none() {
            self.head.id = generation.request_id.some().map(str::to_owned);
        }
        // Counted anew with every event.
        self.head.usage = usage::read(generation.usage).or(self.head.usage);
        let sources = output.sources();
        if !sources.is_empty() {
            self.sources = sources;
        }
        let first = output.first();
        self.others |= first.others;
        self.head.finish = first.finish.or(self.head.finish.take());
        if let Some(raw) = first.message {
            self.started = true;
            self.message(&raw, sink);
        }
    }

    /// There is no last event by its form: the stream ends.
    fn done(&self) -> bool {
        self.error.is_some()
    }

    fn started(&self) -> bool {
        self.started
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        let Self { reading, head, manner, sum, more, last, sources, others, unread, error, started, .. } = *self;
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
        if others {
            notices.push(chat::MORE_CHOICES.to_owned());
        }
        if unread {
            notices.push(chat::UNREAD.to_owned());
        }
        let grew = match manner {
            Manner::Growing => true,
            Manner::Open(steps) => steps > 0,
            Manner::Pieces => false,
        };
        let cut = head.finish.is_none();
        let (mut message, raw) = match last.filter(|_| grew) {
            Some((last, raw)) => (last, Some(raw)),
            None => {
                let mut sum = sum;
                sum.name_calls(head.id.as_deref().unwrap_or_default());
                let raw = serde_json::value::to_raw_value(&sum.to_wire(more.into_fields())).ok();
                (sum, raw)
            }
        };
        message.found(sources);
        let mut reply = chat::assemble(head, message, raw.filter(|_| !cut), &reading, notices);
        if cut {
            reply.stop = Stop::Failed("the stream broke off before the reply was complete".to_owned());
            mark_all_incomplete(&mut reply);
        }
        Ok(reply)
    }
}
