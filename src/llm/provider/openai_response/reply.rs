//! A whole response object.

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
        ending::{ended, mark_incomplete, tell_calls_apart},
        errors, usage,
    },
    item::{self, OutputOf},
};
use crate::types::{HostedKind, HostedOutput, HostedStatus, Item, Part, Reply, Stop};

/// A response object as it lies on the wire. Items stay text until each is read on its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireResponse<'a> {
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) model: Str<'a>,
    #[serde(borrow)]
    pub(super) status: Str<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    #[serde(borrow)]
    pub(super) incomplete_details: Raw<'a>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_usage: Raw<'a>,
    /// The flat error form.
    #[serde(borrow)]
    code: Str<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Str<'a>,
}

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let response: WireResponse<'_> = json::read(body).map_err(|error| {
        ModelError::new(ModelErrorKind::BadResponse, format!("the reply is no Responses object: {error}"))
    })?;
    if let Some(error) = failure(&response, body) {
        return Err(error);
    }
    let items = response.output.clone().unwrap_or_default();
    Ok(assemble(&response, items, reading))
}

/// The failure that a body with status 200 reports.
pub(super) fn failure(response: &WireResponse<'_>, body: &[u8]) -> Option<ModelError> {
    let failed = response.error.get().is_some() || response.status.text() == "failed";
    let flat = response.output.is_none() && (response.code.some().is_some() || response.status.some().is_none());
    (failed || flat).then(|| errors::inside_success(body))
}

/// The reply made of a response's head and its items.
pub(super) fn assemble(response: &WireResponse<'_>, raws: Vec<&RawValue>, reading: &Reading) -> Reply {
    let mut notices = reading.notices.clone();
    let mut items = Vec::with_capacity(raws.len());
    let (mut outputs, mut waiting) = (Vec::new(), Vec::new());
    for (at, raw) in raws.into_iter().enumerate() {
        let read = item::read(raw, reading, &mut notices);
        outputs.extend(read.output_of.map(|output| (at, output)));
        waiting.extend(read.waits.map(|why| (at, why)));
        items.push(Item { raw: Some(Arc::from(raw.to_owned())), parts: read.parts });
    }
    for (at, output) in outputs {
        attach(&mut items, at, output);
    }
    tell_calls_apart(&mut items, &mut notices, CallIdRule::PORTABLE);
    waiting.retain(|(at, _)| items.get(*at).is_some_and(unfinished));
    let waits = !waiting.is_empty();
    notices.extend(waiting.into_iter().map(|(_, why)| why));
    let mut usage = usage::read(response.usage);
    if let Some(usage) = &mut usage
        && usage.searches == 0
    {
        usage.searches = usage::searches(response.tool_usage).unwrap_or_else(|| searches(&items));
    }
    let mut reply = Reply {
        origin: (*reading.origin).clone(),
        id: response.id.some().map(str::to_owned),
        items,
        stop: Stop::End,
        usage,
        notices,
        carry: None,
    };
    reply.stop = stop(response, &reply);
    if reply.stop == Stop::End && waits {
        reply.stop = Stop::Unknown("the reply waits for somebody who is not there".to_owned());
    }
    if reply.stop == Stop::Length {
        mark_incomplete(&mut reply);
    }
    reply
}

/// Puts the output of a hosted call, which came as an item of its own, to the call.
fn attach(items: &mut [Item], at: usize, output: OutputOf) {
    let parts = items.iter_mut().flat_map(|item| &mut item.parts);
    for part in parts {
        if let Part::Hosted(hosted) = part
            && hosted.id.as_deref() == Some(&output.call)
        {
            hosted.output = Some(output.output);
            hosted.status = HostedStatus::Completed;
            return;
        }
    }
    if let (Some(kind), Some(item)) = (output.alone, items.get_mut(at)) {
        item.parts.push(Part::Hosted(HostedOutput {
            kind,
            id: Some(output.call),
            status: HostedStatus::Completed,
            input: Vec::new(),
            output: Some(output.output),
            sources: Vec::new(),
        }));
    }
}

fn unfinished(item: &Item) -> bool {
    item.parts.iter().any(|part| matches!(part, Part::Hosted(output) if output.status == HostedStatus::Incomplete))
}

fn searches(items: &[Item]) -> u64 {
    let parts = items.iter().flat_map(|item| &item.parts);
    let done = parts.filter(|part| {
        matches!(part, Part::Hosted(output) if output.kind == HostedKind::Search && output.status == HostedStatus::Completed)
    });
    done.count() as u64
}

fn stop(response: &WireResponse<'_>, reply: &Reply) -> Stop {
    match response.status.text() {
        "completed" | "" => ended(reply),
        "incomplete" => {
            let details: Incomplete<'_> = response.incomplete_details.read().unwrap_or_default();
            match details.reason.text() {
                "max_output_tokens" => Stop::Length,
                "content_filter" => Stop::Filtered,
                other => Stop::Unknown(format!("incomplete: {other}")),
            }
        }
        "cancelled" => Stop::Failed("the provider cancelled the response".to_owned()),
        other => Stop::Unknown(other.to_owned()),
    }
}
