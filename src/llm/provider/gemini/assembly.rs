//! A reply, put together from one chunk (a whole reply) or many (a stream): the same code for both, so the same reply.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::super::{
        ModelError, ModelErrorKind, ReplyEvent, ReplySink,
        dialect::Reading,
        json::{Int, Raw, Str},
        names::CallIdRule,
    },
    super::{
        ending::{is_media, mark_all_incomplete, mark_incomplete, tell_calls_apart},
        errors,
    },
    generation::Generation,
    grounding::Metadata,
    part::{self, Hosted, PlainText, WireCall, WirePart},
    partial::PartialCall,
    stop, usage,
    view::{self, View},
};
use crate::types::{Part, Reply, Stop, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireChunk<'a> {
    #[serde(borrow)]
    candidates: Raw<'a>,
    #[serde(borrow)]
    prompt_feedback: Raw<'a>,
    #[serde(borrow)]
    usage_metadata: Raw<'a>,
    #[serde(borrow)]
    response_id: Str<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireCandidate<'a> {
    index: Int,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    finish_reason: Str<'a>,
    #[serde(borrow)]
    finish_message: Str<'a>,
    #[serde(borrow)]
    grounding_metadata: Raw<'a>,
    #[serde(borrow)]
    url_context_metadata: Raw<'a>,
    #[serde(borrow)]
    continuation_token: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireContent<'a> {
    #[serde(borrow)]
    parts: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireFeedback<'a> {
    #[serde(borrow)]
    block_reason: Str<'a>,
    #[serde(borrow)]
    block_reason_message: Str<'a>,
}

/// A part of the content, as it will be replayed.
#[derive(Debug)]
pub(super) enum Piece {
    /// As it came.
    Whole(Box<RawValue>),
    /// Text without a signature; grows in a stream. `raw` is how it came, as long as nothing was added.
    Text { text: String, thought: bool, raw: Option<Box<RawValue>> },
    /// A whole call, with its id, made where none came.
    Call { raw: Box<RawValue>, id: String },
    /// A call in pieces, with its id, made where none came.
    Partial { call: PartialCall, id: String },
}

/// What is known of a reply.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    id: Option<String>,
    /// What ids that are made begin with.
    seed: Option<String>,
    pieces: Vec<Piece>,
    metadata: Metadata,
    usage: Option<Usage>,
    finish: Option<String>,
    finish_message: Option<String>,
    continuation: Option<Box<RawValue>>,
    blocked: Option<(String, Option<String>)>,
    error: Option<ModelError>,
    calls: usize,
    /// Chunks of the format came.
    chunks: usize,
    /// Chunks that were none.
    unread: usize,
    /// The last thing that came was no JSON: the stream was cut in it.
    torn: bool,
    /// There were further candidates.
    others: bool,
}

/// Whether the sender said all there is: a whole body, or a stream that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Streamed,
}

impl Assembly {
    /// Takes a chunk: an object of the format, or a list of such (a stream without `alt=sse`).
    pub(super) fn add(&mut self, json: &str, reading: &Reading, sink: &dyn ReplySink) {
        if json.trim_start().starts_with('[') {
            let list = serde_json::from_str::<Vec<&RawValue>>(json).unwrap_or_default();
            self.unread += usize::from(list.is_empty());
            list.into_iter().for_each(|chunk| self.add_one(chunk.get(), reading, sink));
        } else {
            self.add_one(json, reading, sink);
        }
    }

    fn add_one(&mut self, json: &str, reading: &Reading, sink: &dyn ReplySink) {
        let chunk = serde_json::from_str::<WireChunk<'_>>(json);
        self.torn = chunk.is_err();
        let Ok(chunk) = chunk else {
            self.unread += 1;
            return;
        };
        if chunk.error.get().is_some() {
            self.error.get_or_insert_with(|| errors::inside_success(json.as_bytes()));
            return;
        }
        let feedback: WireFeedback<'_> = chunk.prompt_feedback.read().unwrap_or_default();
        if let Some(reason) = feedback.block_reason.some() {
            self.blocked = Some((reason.to_owned(), feedback.block_reason_message.some().map(str::to_owned)));
        }
        if self.id.is_none() {
            self.id = chunk.response_id.some().map(str::to_owned);
        }
        if self.seed.is_none() {
            self.seed = Some(view::digest(chunk.response_id.some().unwrap_or(json)));
        }
        self.usage = usage::read(chunk.usage_metadata).or(self.usage.take());
        let known =
            [chunk.candidates, chunk.prompt_feedback, chunk.usage_metadata].iter().any(|raw| raw.get().is_some());
        if known || chunk.response_id.some().is_some() {
            self.chunks += 1;
        } else {
            self.unread += 1;
        }
        for candidate in chunk.candidates.list() {
            let candidate: WireCandidate<'_> = candidate.read().unwrap_or_default();
            if candidate.index.or_zero() == 0 {
                self.candidate(&candidate, reading, sink);
            } else {
                self.others = true;
            }
        }
    }

    fn candidate(&mut self, candidate: &WireCandidate<'_>, reading: &Reading, sink: &dyn ReplySink) {
        let content: WireContent<'_> = candidate.content.read().unwrap_or_default();
        for (at, raw) in content.parts.list().into_iter().enumerate() {
            let Some(raw) = raw.read::<&RawValue>() else { continue };
            self.part(raw, at == 0, reading, sink);
        }
        if let Some(reason) = candidate.finish_reason.some() {
            self.finish = Some(reason.to_owned());
            self.finish_message = candidate.finish_message.some().map(str::to_owned);
        }
        self.continuation = candidate.continuation_token.read().or(self.continuation.take());
        let keep = |raw: Raw<'_>| raw.get().filter(|text| *text != "{}").and_then(|_| raw.read::<Box<RawValue>>());
        self.metadata.grounding = keep(candidate.grounding_metadata).or(self.metadata.grounding.take());
        self.metadata.urls = keep(candidate.url_context_metadata).or(self.metadata.urls.take());
    }

    /// Takes a part. The first text of a chunk continues the last text of the chunk before; parts of one chunk stay
    /// apart, and so does a part with a signature.
    fn part(&mut self, raw: &RawValue, first: bool, reading: &Reading, sink: &dyn ReplySink) {
        let part: WirePart<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        if let Some(call) = part.function_call.read::<WireCall<'_>>() {
            return self.call(raw, &part, &call, reading, sink);
        }
        if let Some(text) = part.text.some() {
            let text = text.to_owned();
            sink.on(if part.is_thought() { ReplyEvent::Reasoning(text) } else { ReplyEvent::Text(text) });
        } else if let Some(Hosted::Begun(output) | Hosted::Ended(output)) = part::hosted(&part) {
            sink.on(ReplyEvent::Hosted(view::kind_name(&output.kind)));
        }
        let Ok(plain) = serde_json::from_str::<PlainText>(raw.get()) else {
            return self.pieces.push(Piece::Whole(raw.to_owned()));
        };
        if first
            && let Some(Piece::Text { text, thought, raw }) = self.pieces.last_mut()
            && *thought == plain.thought
        {
            text.push_str(&plain.text);
            *raw = None;
            return;
        }
        self.pieces.push(Piece::Text { text: plain.text, thought: plain.thought, raw: Some(raw.to_owned()) });
    }

    fn call(
        &mut self,
        raw: &RawValue,
        part: &WirePart<'_>,
        call: &WireCall<'_>,
        reading: &Reading,
        sink: &dyn ReplySink,
    ) {
        let signature = part.thought_signature.some();
        if call.name.some().is_none() {
            if let Some(Piece::Partial { call: open, id }) = self.open_call() {
                open.feed(call, signature);
                if open.closed {
                    let delta = open.arguments();
                    sink.on(ReplyEvent::Arguments { provider_id: id.clone(), delta });
                }
                return;
            }
            return self.pieces.push(Piece::Whole(raw.to_owned()));
        }
        if let Some(Piece::Partial { call, .. }) = self.open_call() {
            call.closed = true;
        }
        let id = call.id.some().map_or_else(|| self.made_id(), str::to_owned);
        self.calls += 1;
        let name = reading.original(call.name.text());
        sink.on(ReplyEvent::CallStarted { provider_id: id.clone(), name });
        if call.in_pieces() {
            return self.pieces.push(Piece::Partial { call: PartialCall::new(call, signature), id });
        }
        let delta = view::arguments(call);
        sink.on(ReplyEvent::Arguments { provider_id: id.clone(), delta });
        self.pieces.push(Piece::Call { raw: raw.to_owned(), id });
    }

    fn open_call(&mut self) -> Option<&mut Piece> {
        self.pieces.iter_mut().rev().find(|piece| matches!(piece, Piece::Partial { call, .. } if !call.closed))
    }

    /// An id for a call that came without one: told apart by the reply's id (its text where it has none) and the call's
    /// place in it.
    fn made_id(&self) -> String {
        format!("call_{}_{}", self.seed.as_deref().unwrap_or_default(), self.calls)
    }

    pub(super) fn started(&self) -> bool {
        !self.pieces.is_empty() || self.finish.is_some() || self.blocked.is_some()
    }

    /// The reply.
    pub(super) fn finish(mut self, reading: &Reading, form: Form) -> Result<Reply, ModelError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.chunks == 0 {
            return Err(match form {
                Form::Whole => ModelError::new(ModelErrorKind::BadResponse, "the reply is no generateContent response"),
                Form::Streamed => ModelError {
                    retryable: true,
                    ..ModelError::new(ModelErrorKind::Network, "the stream ended before anything of the reply came")
                },
            });
        }
        let ended = (self.finish.is_some() && !self.torn) || form == Form::Whole;
        let pieces = std::mem::take(&mut self.pieces);
        let View { mut items, searches } = view::read(pieces, &self.metadata, reading, ended);
        let mut notices = reading.notices.clone();
        tell_calls_apart(&mut items, &mut notices, CallIdRule::PORTABLE);
        let mut reply = Reply {
            origin: (*reading.origin).clone(),
            id: self.id.take(),
            items,
            stop: Stop::End,
            usage: self.usage.take(),
            notices,
            carry: None,
        };
        if let Some(usage) = &mut reply.usage {
            usage.searches = Generation::of(reading.origin.model.as_str()).billed_searches(searches);
        }
        self.notices(&mut reply.notices);
        let Reply { items, notices, .. } = &mut reply;
        for part in items.iter().flat_map(|item| &item.parts) {
            if let Part::Unknown { kind } = part
                && !is_media(kind)
            {
                notices.push(format!("a part of the unknown type `{kind}` was kept"));
            }
        }
        self.stop(&mut reply, ended);
        Ok(reply)
    }

    fn notices(&self, notices: &mut Vec<String>) {
        if self.others {
            notices.push("the reply had several candidates; the first is read".to_owned());
        }
        if self.unread > 0 {
            notices.push(format!("{} events of the stream could not be read", self.unread));
        }
        if let Some((reason, message)) = &self.blocked {
            let message = message.as_deref().unwrap_or("no reason was given in words");
            notices.push(format!("the prompt was blocked ({reason}): {message}"));
        }
    }

    fn stop(&mut self, reply: &mut Reply, ended: bool) {
        if self.blocked.is_some() && reply.items.is_empty() {
            reply.stop = Stop::Filtered;
            return;
        }
        if !ended {
            reply.stop = Stop::Failed("the stream broke off before the reply was complete".to_owned());
            return mark_all_incomplete(reply);
        }
        if self.finish.as_deref() == Some("CONTINUATION")
            && let Some(token) = self.continuation.take()
        {
            reply.carry = Some(Arc::from(token));
            reply.stop = Stop::Paused;
            return;
        }
        reply.stop = stop::read(self.finish.as_deref(), self.finish_message.as_deref(), reply);
        if reply.stop == Stop::Length {
            mark_incomplete(reply);
        }
    }
}
