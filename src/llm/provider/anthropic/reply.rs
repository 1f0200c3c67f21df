//! A whole message object.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind,
            dialect::Reading,
            json::{self, Raw, Str},
            names::CallIdRule,
        },
        ending::{ended, mark_all_incomplete, tell_calls_apart},
        errors,
    },
    block, usage,
};
use crate::types::{Item, Part, Reply, Stop, Usage};

/// A message as it lies on the wire, or the part of it that an event of a stream brings. Blocks stay text until each is
/// read on its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow)]
    stop_reason: Str<'a>,
    #[serde(borrow)]
    stop_details: Raw<'a>,
    #[serde(borrow)]
    container: Raw<'a>,
}

/// How a message ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The reason, empty as long as there is none.
    pub(super) reason: String,
    /// What a refusal says of itself.
    explanation: Option<String>,
    container: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    category: Str<'a>,
    #[serde(borrow)]
    explanation: Str<'a>,
}

impl Ending {
    /// Takes what a message, or an event, says of its end; what it leaves out stays.
    pub(super) fn take(&mut self, message: &WireMessage<'_>) {
        if let Some(reason) = message.stop_reason.some() {
            reason.clone_into(&mut self.reason);
        }
        if let Some(details) = message.stop_details.read::<Details<'_>>() {
            let told = details.explanation.some().or(details.category.some()).map(str::to_owned);
            self.explanation = told.or(self.explanation.take());
        }
        if let Some(container) = message.container.read::<Box<RawValue>>() {
            self.container = Some(container);
        }
    }
}

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let message: WireMessage<'_> = json::read(body).map_err(|error| {
        ModelError::new(ModelErrorKind::BadResponse, format!("the reply is no message object: {error}"))
    })?;
    let blocks: Option<Vec<&RawValue>> = message.content.read();
    let blocks = match (message.kind.text(), blocks) {
        ("message", blocks) => blocks.unwrap_or_default(),
        ("", Some(blocks)) => blocks,
        (_, Some(_) | None) => return Err(errors::inside_success(body)),
    };
    let mut reply = assemble(
        Head { id: message.id.some().map(str::to_owned), usage: usage::read(message.usage) },
        blocks.into_iter().map(|raw| Arc::from(raw.to_owned())).collect(),
        reading,
        reading.notices.clone(),
    );
    let mut ending = Ending::default();
    ending.take(&message);
    end(&mut reply, ending);
    Ok(reply)
}

/// What stands around the blocks.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: Option<String>,
    pub(super) usage: Option<Usage>,
}

/// The reply made of blocks, as one that has not ended yet.
pub(super) fn assemble(head: Head, raws: Vec<Arc<RawValue>>, reading: &Reading, notices: Vec<String>) -> Reply {
    let mut reply = Reply {
        origin: (*reading.origin).clone(),
        id: head.id,
        items: Vec::with_capacity(raws.len()),
        stop: Stop::End,
        usage: head.usage,
        notices,
        carry: None,
    };
    for raw in raws {
        add(&mut reply, raw, reading);
    }
    tell_calls_apart(&mut reply.items, &mut reply.notices, CallIdRule::PORTABLE);
    reply
}

/// Adds a block. The result of a server tool goes to its use, so that both are one part; its own item has none then.
fn add(reply: &mut Reply, raw: Arc<RawValue>, reading: &Reading) {
    let read = block::read(&raw, reading);
    let mut parts = read.parts;
    reply.notices.extend(read.notice);
    if let Some(outcome) = read.outcome {
        let uses = reply.items.iter_mut().flat_map(|item| &mut item.parts);
        let own = uses.filter_map(|part| if let Part::Hosted(hosted) = part { Some(hosted) } else { None });
        match own.into_iter().find(|hosted| hosted.id.as_deref() == Some(outcome.tool_use_id.as_str())) {
            Some(hosted) => outcome.complete(hosted),
            None => parts.push(Part::Hosted(outcome.alone())),
        }
    }
    reply.items.push(Item { raw: Some(raw), parts });
}

/// Sets why the reply ended, and marks the call in which the output budget ran out.
pub(super) fn end(reply: &mut Reply, ending: Ending) {
    reply.carry = ending.container.map(Arc::from);
    if let Some(explanation) = ending.explanation {
        reply.notices.push(format!("the provider says of its stop: {explanation}"));
    }
    let calls = reply.calls().next().is_some();
    reply.stop = match ending.reason.as_str() {
        "end_turn" | "stop_sequence" => ended(reply),
        "tool_use" if calls => Stop::ToolCalls,
        "max_tokens" => Stop::Length,
        "model_context_window_exceeded" => {
            reply.notices.push("the context window of the model is full".to_owned());
            Stop::Length
        }
        // DEV-A06: both mean that the reply goes back as it is, and the model goes on.
        "pause_turn" | "compaction" => Stop::Paused,
        "refusal" => Stop::Refused,
        "" => Stop::Unknown("none".to_owned()),
        "tool_use" => Stop::Unknown("tool_use without a call".to_owned()),
        other => Stop::Unknown(other.to_owned()),
    };
    match reply.stop {
        Stop::Length => mark_last_incomplete(reply),
        // What a model that was stopped asked for last cannot be trusted, and there is no knowing where it was cut.
        Stop::Refused | Stop::Unknown(_) => mark_all_incomplete(reply),
        Stop::End | Stop::ToolCalls | Stop::Filtered | Stop::Paused | Stop::Failed(_) => {}
    }
}

/// DEV-B03: blocks come one after the other, so the output ended inside the last one. Its input is valid JSON even
/// then (closed by the provider), so only its place tells.
fn mark_last_incomplete(reply: &mut Reply) {
    let last = reply.items.last_mut().and_then(|item| item.parts.last_mut());
    if let Some(Part::Call(call)) = last {
        call.complete = false;
    }
}

#[cfg(test)]
mod tests;
