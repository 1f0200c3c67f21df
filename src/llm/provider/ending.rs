//! How a reply ended, told by what is in it: the same for every wire format.

use std::collections::HashSet;

use super::{
    super::names::{self, CallIdRule},
    openai_response::is_object,
};
use crate::types::{FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Part, Reply, Stop};

/// What models make beside text, by the words of the providers. It is kept unread, and it is an answer.
const MEDIA: &[&str] = &["inlineData", "fileData", "image", "image_url", "audio", "video", "document"];

/// Whether a part of this type is a picture, a sound or a file.
pub(super) fn is_media(kind: &str) -> bool {
    MEDIA.contains(&kind)
}

/// How a reply that is complete ended. One of which nothing is understood is no answer.
pub(super) fn ended(reply: &Reply) -> Stop {
    let mut unknown = None;
    let (mut called, mut refused, mut spoke) = (false, false, false);
    for part in reply.parts() {
        match part {
            Part::Call(_) => called = true,
            Part::Refusal { .. } => refused = true,
            Part::Text { text, .. } => spoke |= !text.is_empty(),
            // A tool that nobody knows, and of which nothing is known, may wait for a client of the future.
            Part::Hosted(HostedOutput { kind: HostedKind::Other(kind), status: HostedStatus::Incomplete, .. }) => {
                unknown = unknown.or(Some(kind));
            }
            Part::Hosted(_) => spoke = true,
            Part::Unknown { kind } if is_media(kind) => spoke = true,
            Part::Unknown { kind } => unknown = unknown.or(Some(kind)),
            Part::Reasoning { .. } => {}
        }
    }
    match unknown {
        _ if called => Stop::ToolCalls,
        _ if refused => Stop::Refused,
        Some(kind) if !spoke => Stop::Unknown(format!("nothing but what is not known: `{kind}`")),
        Some(_) | None => Stop::End,
    }
}

/// DEV-B03: the output ended inside a call, unless its arguments are whole.
pub(super) fn mark_incomplete(reply: &mut Reply) {
    for_each_call(reply, |call| call.complete = is_object(&call.arguments));
}

/// The stream broke off: no call can be trusted, since more of its arguments may have been on the way.
pub(super) fn mark_all_incomplete(reply: &mut Reply) {
    for_each_call(reply, |call| call.complete = false);
}

fn for_each_call(reply: &mut Reply, mut change: impl FnMut(&mut FunctionCall)) {
    for part in reply.items.iter_mut().flat_map(|item| &mut item.parts) {
        if let Part::Call(call) = part {
            change(call);
        }
    }
}

/// Gives a call whose id an earlier one of the reply has an id of its own: results are told apart by it. Its item is
/// written from its parts then, so that call and result carry the same id when they go back.
pub(super) fn tell_calls_apart(items: &mut [Item], notices: &mut Vec<String>, rule: CallIdRule) {
    let parts = items.iter().flat_map(|item| &item.parts);
    let ids = parts.filter_map(|part| if let Part::Call(call) = part { Some(call.provider_id.as_str()) } else { None });
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    if ids.is_sorted_by(|one, next| one < next) {
        return;
    }
    let mut taken = HashSet::new();
    for item in items {
        let mut changed = false;
        for part in &mut item.parts {
            let Part::Call(call) = part else { continue };
            let mut copy = 1;
            while !taken.insert(call.provider_id.clone()) {
                copy += 1;
                let other = names::call_id(&format!("{}/{copy}", call.provider_id), rule);
                notices
                    .push(format!("two calls came with the id `{}`; the later is called `{other}`", call.provider_id));
                call.provider_id = other;
                changed = true;
            }
        }
        if changed {
            item.raw = None;
        }
    }
}
