//! The rules every conversation keeps, whoever it is sent to.

use std::collections::HashSet;

use agcore::types::{Entry, Reply, ToolResult};

/// Checks a conversation that is about to be sent to a model.
///
/// It starts with the user. After a reply with calls come its results and nothing else: one for each call, in call
/// order, under its id and name. There are no other results. The last entry is not a finished reply: there would be
/// nothing to answer.
///
/// # Errors
/// What is wrong and at which entry (counted from 0).
pub fn check_history(entries: &[Entry]) -> Result<(), String> {
    let mut open: Option<&Reply> = None;
    let mut seen = HashSet::new();
    let mut user_spoke = false;
    for (at, entry) in entries.iter().enumerate() {
        match (entry, open.take()) {
            (Entry::Results(results), Some(reply)) => {
                check_results(reply, results).map_err(|why| format!("entry {at}: {why}"))?;
            }
            (Entry::Results(results), None) => {
                let ids: Vec<&str> = results.iter().map(|result| result.provider_id.as_str()).collect();
                return Err(format!("entry {at}: results {ids:?} answer no call"));
            }
            (Entry::User(_) | Entry::Notice(_) | Entry::Reply(_), Some(reply)) => {
                return Err(format!("entry {at}: the calls {:?} have no results before it", ids(reply)));
            }
            (Entry::Reply(_), None) if !user_spoke => return Err(format!("entry {at}: a reply before any user entry")),
            (Entry::Reply(reply), None) => {
                if let Some(twice) = reply.calls().find(|call| !seen.insert(call.provider_id.as_str())) {
                    return Err(format!("entry {at}: the call id `{}` is used twice", twice.provider_id));
                }
                open = reply.calls().next().is_some().then_some(reply);
            }
            (Entry::User(_), None) => user_spoke = true,
            (Entry::Notice(_), None) => {}
        }
    }
    match open {
        Some(reply) => Err(format!("the calls {:?} of the last reply have no results", ids(reply))),
        None if !user_spoke => Err("the conversation has no user entry".to_owned()),
        None => Ok(()),
    }
}

fn ids(reply: &Reply) -> Vec<&str> {
    reply.calls().map(|call| call.provider_id.as_str()).collect()
}

fn check_results(reply: &Reply, results: &[ToolResult]) -> Result<(), String> {
    let calls: Vec<(&str, &str)> = reply.calls().map(|call| (call.provider_id.as_str(), call.name.as_str())).collect();
    let answered: Vec<(&str, &str)> =
        results.iter().map(|result| (result.provider_id.as_str(), result.name.as_str())).collect();
    if calls == answered {
        return Ok(());
    }
    Err(format!("the calls are {calls:?}, the results answer {answered:?}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agcore::types::UserPart;
    use serde_json::json;

    use super::*;
    use crate::reply;

    fn user() -> Entry {
        Entry::User(vec![UserPart::Text("hi".into())])
    }

    fn calls() -> Entry {
        Entry::Reply(Arc::new(reply().call("a", json!({})).call("b", json!({})).build(0).unwrap()))
    }

    fn results(ids: &[(&str, &str)]) -> Entry {
        let result = |(id, name): &(&str, &str)| ToolResult {
            provider_id: (*id).into(),
            name: (*name).into(),
            content: "ok".into(),
            is_error: false,
            images: Vec::new(),
        };
        Entry::Results(ids.iter().map(result).collect())
    }

    #[test]
    fn a_whole_conversation_passes() {
        let both = results(&[("call_0_0", "a"), ("call_0_1", "b")]);
        assert_eq!(check_history(&[user(), calls(), both.clone(), Entry::Notice("limit".into())]), Ok(()));
        assert_eq!(check_history(&[user()]), Ok(()));
    }

    #[test]
    fn a_broken_conversation_is_refused_with_the_entry_and_the_reason() {
        let both = || results(&[("call_0_0", "a"), ("call_0_1", "b")]);
        for (history, why) in [
            (vec![], "no user entry"),
            (vec![calls()], "before any user"),
            (vec![user(), calls()], "have no results"),
            (vec![user(), calls(), user(), both()], "have no results before it"),
            (vec![user(), calls(), results(&[("call_0_0", "a")])], "the results answer"),
            (vec![user(), calls(), results(&[("call_0_1", "b"), ("call_0_0", "a")])], "the results answer"),
            (vec![user(), calls(), results(&[("call_0_0", "a"), ("call_9", "b")])], "the results answer"),
            (vec![user(), calls(), both(), both()], "answer no call"),
            (vec![user(), calls(), both(), calls(), both()], "used twice"),
        ] {
            let refused = check_history(&history).unwrap_err();
            assert!(refused.contains(why), "`{refused}` should say `{why}`");
        }
    }
}
