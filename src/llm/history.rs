//! Keeps a history such that every provider accepts it: each call has one result, each result has its call.

use std::collections::HashMap;

use crate::types::{CallId, Entry, ErrorCode, FunctionCall, ToolError, ToolResult, UserPart};

/// Mends a history and says what was changed; a sound one comes back as it was, without a word.
///
/// - A call without a result (crash, cancel, lost tool) gets a typed one: what became of it is not known.
/// - Results of one reply are brought together right after it, in call order, each once.
/// - A result whose call is gone becomes text of the user, so that nothing is lost and nothing is refused.
///
/// Use it where a turn takes over a history it did not write itself, and after trimming.
pub fn mend(entries: Vec<Entry>) -> (Vec<Entry>, Vec<String>) {
    let (mut mended, mut repairs) = (Vec::with_capacity(entries.len()), Vec::new());
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        match entry {
            Entry::Reply(reply) => {
                let calls: Vec<FunctionCall> = reply.calls().cloned().collect();
                mended.push(Entry::Reply(reply));
                // What belongs to this reply: everything up to the next reply or word of the user.
                let (mut results, mut rest) = (Vec::new(), Vec::new());
                while let Some(next) = entries.next_if(|next| matches!(next, Entry::Results(_) | Entry::Notice(_))) {
                    match next {
                        Entry::Results(list) => results.extend(list),
                        other @ (Entry::User(_) | Entry::Reply(_) | Entry::Notice(_)) => rest.push(other),
                    }
                }
                pair(&calls, results, &mut mended, &mut repairs);
                mended.extend(rest);
            }
            Entry::Results(list) => list.into_iter().for_each(|result| orphan(result, &mut mended, &mut repairs)),
            Entry::User(_) | Entry::Notice(_) => mended.push(entry),
        }
    }
    (mended, repairs)
}

fn pair(calls: &[FunctionCall], results: Vec<ToolResult>, mended: &mut Vec<Entry>, repairs: &mut Vec<String>) {
    let mut by_id: HashMap<String, ToolResult> = HashMap::with_capacity(results.len());
    let mut orphans = Vec::new();
    let wanted = |result: &ToolResult| calls.iter().any(|call| call.provider_id == result.provider_id);
    for result in results {
        if wanted(&result) && !by_id.contains_key(&result.provider_id) {
            by_id.insert(result.provider_id.clone(), result);
        } else {
            orphans.push(result);
        }
    }
    if !calls.is_empty() {
        let result_of = |call: &FunctionCall| {
            by_id.remove(&call.provider_id).unwrap_or_else(|| {
                repairs.push(format!("the call `{}` of `{}` had no result; it got one", call.provider_id, call.name));
                synthetic(call)
            })
        };
        mended.push(Entry::Results(calls.iter().map(result_of).collect()));
    }
    for result in orphans {
        orphan(result, mended, repairs);
    }
}

fn orphan(result: ToolResult, mended: &mut Vec<Entry>, repairs: &mut Vec<String>) {
    repairs.push(format!("the result `{}` of `{}` had no call; it became text", result.provider_id, result.name));
    let text = format!("An earlier call of `{}`, no longer shown, returned:\n{}", result.name, result.content);
    let images = result.images.into_iter().map(|url| UserPart::Image { url });
    mended.push(Entry::User(std::iter::once(UserPart::Text(text)).chain(images).collect()));
}

/// The result of a call of which nothing else is known.
fn synthetic(call: &FunctionCall) -> ToolResult {
    let error = if call.complete {
        let message = "the call was interrupted; whether it ran, and what it did, is not known";
        ToolError::new(ErrorCode::Interrupted, message, "look up what happened before you repeat a change")
    } else {
        let message = "the output ended inside this call; it was not run";
        ToolError::new(ErrorCode::InvalidArguments, message, "send the call again, with shorter arguments").retryable()
    };
    let content = match CallId::new(&call.provider_id) {
        Ok(id) => error.for_model(&id),
        Err(_) => error.to_string(),
    };
    ToolResult {
        provider_id: call.provider_id.clone(),
        name: call.name.clone(),
        content,
        is_error: true,
        images: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
