//! A whole conversation response.

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
        ending::{ended, tell_calls_apart},
        errors, usage,
    },
    entry,
};
use crate::types::{HostedKind, Item, Part, Reply, Stop, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireResponse<'a> {
    #[serde(borrow)]
    conversation_id: Str<'a>,
    #[serde(borrow)]
    outputs: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    usage: Raw<'a>,
}

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let response: WireResponse<'_> = json::read(body).map_err(|error| {
        ModelError::new(ModelErrorKind::BadResponse, format!("the reply is no conversation response: {error}"))
    })?;
    let Some(outputs) = response.outputs else { return Err(errors::inside_success(body)) };
    let mut notices = reading.notices.clone();
    let items = outputs.into_iter().map(|raw| item(raw, reading, &mut notices)).collect();
    let id = response.conversation_id.some().map(str::to_owned);
    Ok(assemble(id, items, usage::read(response.usage), reading, notices))
}

/// An entry with its parts.
pub(super) fn item(raw: &RawValue, reading: &Reading, notices: &mut Vec<String>) -> Item {
    let parts = entry::read(raw, reading, notices);
    Item { raw: Some(Arc::from(raw.to_owned())), parts }
}

/// The reply made of its entries and what surrounds them.
pub(super) fn assemble(
    id: Option<String>,
    mut items: Vec<Item>,
    usage: Option<Usage>,
    reading: &Reading,
    mut notices: Vec<String>,
) -> Reply {
    entry::give_sources(&mut items);
    tell_calls_apart(&mut items, &mut notices, CallIdRule::MISTRAL);
    let origin = (*reading.origin).clone();
    let mut reply = Reply { origin, id, items, stop: Stop::End, usage, notices, carry: None };
    reply.stop = stop(&reply);
    reply
}

/// There is no finish reason on this surface: what is there, and what came last, tells how it ended.
fn stop(reply: &Reply) -> Stop {
    let ended = ended(reply);
    if matches!(ended, Stop::ToolCalls | Stop::Refused) {
        return ended;
    }
    let last = reply.items.last().and_then(|item| item.parts.first());
    let unknown = |why: &str| Stop::Unknown(why.to_owned());
    match last {
        _ if reply.hosted().any(|output| output.kind == HostedKind::McpApproval) => {
            unknown("the reply waits for a confirmation")
        }
        // With `handoff_execution: client` the next agent is left to the caller.
        Some(Part::Unknown { kind }) if kind == entry::HANDOFF => unknown("the conversation went to another agent"),
        Some(Part::Unknown { kind }) => Stop::Unknown(format!("the last entry is a `{kind}`")),
        Some(Part::Text { .. } | Part::Call(_) | Part::Hosted(_) | Part::Reasoning { .. } | Part::Refusal { .. })
        | None => ended,
    }
}
