use std::sync::Arc;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::types::{Api, Item, Origin, Part, Reply, Stop};

fn reply(calls: &[(&str, bool)]) -> Entry {
    let call = |(id, complete): &(&str, bool)| {
        let (provider_id, name) = ((*id).to_owned(), format!("tool_{id}"));
        Item::local(Part::Call(FunctionCall { provider_id, name, arguments: "{}".to_owned(), complete: *complete }))
    };
    let origin =
        Origin { provider: "p".parse().unwrap(), api: Api::Chat, model: "m".parse().unwrap(), family: "m".to_owned() };
    let items = calls.iter().map(call).collect();
    Entry::Reply(Arc::new(Reply {
        origin,
        id: None,
        items,
        stop: Stop::ToolCalls,
        usage: None,
        notices: Vec::new(),
        carry: None,
    }))
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        provider_id: id.to_owned(),
        name: format!("tool_{id}"),
        content: format!("done {id}"),
        is_error: false,
        images: Vec::new(),
    }
}

fn user(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

/// A history without what makes each reply long.
fn short(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| match entry {
        Entry::User(parts) => format!("user {parts:?}"),
        Entry::Reply(reply) => {
            format!("reply {}", reply.calls().map(|call| call.provider_id.as_str()).collect::<Vec<_>>().join(" "))
        }
        Entry::Results(list) => {
            let result =
                |result: &ToolResult| format!("{}{}", result.provider_id, if result.is_error { "!" } else { "" });
            format!("results {}", list.iter().map(result).collect::<Vec<_>>().join(" "))
        }
        Entry::Notice(text) => format!("notice {text}"),
    };
    entries.iter().map(line).collect()
}

/// DEV-C03
#[test]
fn an_open_call_gets_a_typed_result_and_the_repair_is_told() {
    let history = vec![
        user("go"),
        reply(&[("t1", true), ("t2", true), ("t3", false)]),
        Entry::Results(vec![result("t1")]),
        user("and?"),
    ];
    let (mended, repairs) = mend(history);
    let Entry::Results(results) = &mended[2] else { panic!("no results: {mended:?}") };
    assert_eq!(results[0], result("t1"));
    let code = |at: usize| {
        let content: serde_json::Value = serde_json::from_str(&results[at].content).unwrap();
        (content["tool_call_id"].clone(), content["status"].clone(), content["error"]["code"].clone())
    };
    assert_eq!(code(1), (json!("t2"), json!("error"), json!("INTERRUPTED")));
    assert_eq!(code(2), (json!("t3"), json!("error"), json!("INVALID_ARGUMENTS")));
    assert_eq!(short(&mended)[3..], short(&[user("and?")]));
    assert_eq!(
        repairs,
        [
            "the call `t2` of `tool_t2` had no result; it got one",
            "the call `t3` of `tool_t3` had no result; it got one"
        ]
    );
}

/// DEV-C04
#[test]
fn a_result_without_its_call_becomes_text() {
    let (mended, repairs) = mend(vec![Entry::Results(vec![result("gone")]), user("next")]);
    let text = "An earlier call of `tool_gone`, no longer shown, returned:\ndone gone";
    assert_eq!(short(&mended), short(&[user(text), user("next")]));
    assert_eq!(repairs, ["the result `gone` of `tool_gone` had no call; it became text"]);
}

/// DEV-C01
#[test]
fn results_come_together_in_call_order_right_after_their_reply() {
    let history = vec![
        reply(&[("a", true), ("b", true), ("c", true)]),
        Entry::Results(vec![result("c")]),
        Entry::Notice("a limit is near".to_owned()),
        Entry::Results(vec![result("a"), result("b"), result("a")]),
    ];
    let (mended, repairs) = mend(history);
    let repeated = "An earlier call of `tool_a`, no longer shown, returned:\ndone a";
    let expected = [
        reply(&[("a", true), ("b", true), ("c", true)]),
        Entry::Results(vec![result("a"), result("b"), result("c")]),
        user(repeated),
        Entry::Notice("a limit is near".to_owned()),
    ];
    assert_eq!(short(&mended), short(&expected));
    assert_eq!(repairs.len(), 1);
}

#[test]
fn a_sound_history_is_left_alone() {
    let history = || vec![user("go"), reply(&[("a", true)]), Entry::Results(vec![result("a")]), reply(&[])];
    let (mended, repairs) = mend(history());
    assert_eq!((short(&mended), repairs), (short(&history()), Vec::new()));
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let id = || prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        Just(user("u")),
        Just(Entry::Notice("n".to_owned())),
        prop::collection::btree_set(id(), 0..3)
            .prop_map(|ids| reply(&ids.into_iter().map(|id| (id, true)).collect::<Vec<_>>())),
        prop::collection::vec(id(), 0..4).prop_map(|ids| Entry::Results(ids.into_iter().map(result).collect())),
    ]
}

proptest! {
    /// DEV-C03, DEV-C04: whatever happened to a history, each call is answered exactly once, right after its reply, and
    /// mending twice changes nothing more.
    #[test]
    fn a_mended_history_is_sound(entries in prop::collection::vec(any_entry(), 0..12)) {
        let (mended, _) = mend(entries);
        for (at, entry) in mended.iter().enumerate() {
            match entry {
                Entry::Reply(reply) if reply.calls().next().is_some() => {
                    let ids: Vec<&str> = reply.calls().map(|call| call.provider_id.as_str()).collect();
                    let Some(Entry::Results(results)) = mended.get(at + 1) else { panic!("no results after {at}") };
                    prop_assert_eq!(results.iter().map(|it| it.provider_id.as_str()).collect::<Vec<_>>(), ids);
                }
                Entry::Results(_) => prop_assert!(matches!(mended.get(at.wrapping_sub(1)), Some(Entry::Reply(_)))),
                Entry::User(_) | Entry::Notice(_) | Entry::Reply(_) => {}
            }
        }
        let (again, repairs) = mend(mended.clone());
        prop_assert_eq!((short(&again), repairs), (short(&mended), Vec::new()));
    }
}
