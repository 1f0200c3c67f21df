//! Writes of which nobody knows whether they took effect: looked up where they can be, left to a person where they cannot,
//! and never run again to find out.

use std::{path::Path, sync::Arc};

use agcore::{
    audit::entries,
    capability::{Capability, CapabilityBuilder},
    execute::errors,
    runtime::{Runtime, RuntimeBuilder},
    store::SqliteJournal,
    turn::{CallStatus, Company, EndReason, Event, Operator, TurnEnd, TurnError, TurnOutcome},
    types::{CallId, DurationMs, Entry, RiskClass, SideEffect, ToolError},
};
use agcore_testkit::{Gate, ScriptedModel, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

const PAY: &str = "orders.pay";
const FIND: &str = "payments.find_by_key";

struct Shop {
    folder: TempDir,
    pay: Arc<ScriptedTool>,
    find: Arc<ScriptedTool>,
    lookup: CapabilityBuilder,
    rules: &'static str,
}

/// A look-up by the key of the write.
fn by_key() -> CapabilityBuilder {
    let schema = json!({"type": "object", "properties": {"idempotency_key": {"type": "string"}}});
    Capability::function(FIND).description("Finds a payment").risk(RiskClass::InternalRead).input_schema(schema)
}

impl Shop {
    fn new(pay: ScriptedTool, find: ScriptedTool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, pay: Arc::new(pay), find: Arc::new(find), lookup: by_key(), rules: "" }
    }

    /// A process in which the model has said `said` replies of the turn already.
    async fn runtime(&self, said: usize) -> Runtime {
        let pay = Capability::function(PAY)
            .description("Pays an order")
            .risk(RiskClass::DraftWrite)
            .side_effect(SideEffect::NonIdempotentWrite)
            .lookup(FIND.parse().unwrap());
        let replies = [reply().call(PAY, json!({"order": "A-1"})), reply().text("done")];
        let mut builder: RuntimeBuilder = Runtime::builder()
            .capability(pay.build().unwrap())
            .capability(self.lookup.clone().build().unwrap())
            .executor(PAY, self.pay.clone())
            .executor(FIND, self.find.clone())
            .journal(Arc::new(SqliteJournal::open(&self.db()).await.unwrap()))
            .model(Arc::new(ScriptedModel::new(replies.into_iter().skip(said))));
        if !self.rules.is_empty() {
            builder = builder.policy(self.rules, "test.yaml");
        }
        builder.build().unwrap()
    }

    fn db(&self) -> std::path::PathBuf {
        Path::join(self.folder.path(), "a.db")
    }

    async fn turn(&self) -> (Runtime, TurnOutcome) {
        let runtime = self.runtime(0).await;
        let outcome = runtime.turn("pay it").run().await.unwrap();
        assert_eq!(self.pay.runs(), 1, "a write in doubt is not run again");
        (runtime, outcome)
    }
}

/// The other side was reached, and did not answer in time.
fn late() -> ScriptedTool {
    ScriptedTool::new().fails(errors::timeout(DurationMs(1)))
}

fn found(value: &Value) -> ScriptedTool {
    ScriptedTool::new().json(value)
}

fn reason(outcome: &TurnOutcome) -> EndReason {
    let TurnEnd::Ended(ended) = &outcome.end else { panic!("{:?}", outcome.end) };
    ended.reason
}

/// How the call ended, and who found that out.
async fn settled(runtime: &Runtime, outcome: &TurnOutcome) -> (CallStatus, Option<String>) {
    let journal = runtime.journal(&outcome.turn.started().turn).await.unwrap();
    let finished = journal.iter().rev().find_map(|recorded| {
        if let Event::CallFinished(finished) = &recorded.event {
            Some((finished.outcome.status, finished.settled_by.clone()))
        } else if let Event::Resumed(resumed) = &recorded.event {
            resumed.looked_up.first().map(|finished| (finished.outcome.status, finished.settled_by.clone()))
        } else {
            None
        }
    });
    finished.unwrap()
}

fn by_lookup() -> Option<String> {
    Some(format!("look-up `{FIND}`"))
}

/// DEV-I01, DEV-J01: the look-up finds the effect under the key of the write: its answer is the result, and the turn goes on.
#[tokio::test]
async fn a_write_in_doubt_that_its_look_up_finds_is_done() {
    let shop = Shop::new(late(), found(&json!({"payment": 7})));
    let (runtime, outcome) = shop.turn().await;
    assert_eq!(
        (reason(&outcome), settled(&runtime, &outcome).await),
        (EndReason::Answered, (CallStatus::Ok, by_lookup()))
    );
    assert_eq!(shop.find.arguments(), [json!({"idempotency_key": shop.pay.keys().first().unwrap()})]);
    let told = outcome.turn.history().iter().any(|entry| match entry {
        Entry::Results(results) => results.iter().any(|result| result.content.contains("\"payment\":7")),
        Entry::User(_) | Entry::Reply(_) | Entry::Notice(_) => false,
    });
    assert!(told, "{:?}", outcome.turn.history());
}

/// DEV-J02: what took no effect is told as such, and may be asked for again.
#[tokio::test]
async fn a_write_in_doubt_that_took_no_effect_has_failed() {
    let shop = Shop::new(late(), found(&json!({"took_effect": false})));
    let (runtime, outcome) = shop.turn().await;
    let expected = (EndReason::Answered, (CallStatus::Error, by_lookup()));
    assert_eq!((reason(&outcome), settled(&runtime, &outcome).await), expected);
}

/// Nothing found is no proof: the write may be under way still.
#[tokio::test]
async fn a_look_up_that_finds_nothing_or_fails_leaves_the_write_in_doubt() {
    let not_there: ToolError = errors::not_found("the payment");
    for find in [found(&json!([])), ScriptedTool::new().fails(not_there)] {
        let shop = Shop::new(late(), find);
        let (runtime, outcome) = shop.turn().await;
        let expected = (EndReason::OutcomeUnknown, (CallStatus::OutcomeUnknown, None));
        assert_eq!((reason(&outcome), settled(&runtime, &outcome).await), expected);
    }
}

/// A look-up passes the gate as every call does, and one that could change something is none.
#[tokio::test]
async fn a_look_up_that_may_not_be_made_is_not_made() {
    let mut denied = Shop::new(late(), found(&json!({"payment": 7})));
    denied.rules = "rules:
  - id: test.no_look_ups
    match: {capability: payments.find_by_key}
    then: deny
    because: not today
";
    let mut writes = Shop::new(late(), found(&json!({"payment": 7})));
    writes.lookup = by_key().risk(RiskClass::DraftWrite);
    let mut keyless = Shop::new(late(), found(&json!({"payment": 7})));
    keyless.lookup = Capability::function(FIND).description("Finds a payment").risk(RiskClass::InternalRead);
    for shop in [denied, writes, keyless] {
        let (_, outcome) = shop.turn().await;
        assert_eq!((reason(&outcome), shop.find.runs()), (EndReason::OutcomeUnknown, 0));
    }
}

/// DEV-I01: the process dies while the write runs; taking the turn up looks it up and does not repeat it.
#[tokio::test]
async fn a_write_that_ran_when_the_process_died_is_looked_up_and_not_repeated() {
    let gate = Gate::closed();
    let shop = Shop::new(ScriptedTool::new().gated(&gate), found(&json!({"payment": 7})));
    let runtime = shop.runtime(0).await;
    let running = runtime.clone();
    let driver = tokio::spawn(async move { running.turn("pay it").run().await });
    gate.arrived(1).await;
    driver.abort();
    let _ = driver.await;
    let turn = runtime.turns(1).await.unwrap().remove(0).turn;
    drop(runtime);
    let again = shop.runtime(1).await;
    let outcome = again.resume(&turn, Company::default()).await.unwrap();
    assert_eq!((reason(&outcome), shop.pay.runs(), shop.find.runs()), (EndReason::Answered, 1, 1));
    assert_eq!(settled(&again, &outcome).await, (CallStatus::Ok, by_lookup()));
}

/// DEV-I01: where there is no look-up, a person finds out; that is on the record, and who goes on is told.
#[tokio::test]
async fn a_person_says_what_became_of_a_write_in_doubt_once() {
    let shop = Shop::new(late(), found(&json!([])));
    let (runtime, outcome) = shop.turn().await;
    let turn = outcome.turn.started().turn.clone();
    let doubt = outcome.turn.doubts().first().unwrap().clone();
    assert_eq!(doubt.capability, Some(PAY.parse().unwrap()));
    let ann = Operator { by: "ann", why: "asked the bank" };
    let other = CallId::new("call_9").unwrap();
    let wrong = runtime.resolve(&turn, &other, true, None, ann).await.unwrap_err();
    assert!(matches!(wrong, TurnError::NoDoubt { .. }), "{wrong}");
    runtime.resolve(&turn, &doubt.call, true, Some("p-7".to_owned()), ann).await.unwrap();
    assert!(matches!(runtime.resolve(&turn, &doubt.call, false, None, ann).await, Err(TurnError::NoDoubt { .. })));

    let resumed = runtime.resume(&turn, Company::default()).await.unwrap();
    assert_eq!((reason(&resumed), resumed.turn.doubts().len()), (EndReason::OutcomeUnknown, 0));
    let Some(Entry::Notice(notice)) = resumed.turn.history().last() else { panic!("{:?}", resumed.turn.history()) };
    assert_eq!(
        notice,
        "ann has found out that call_1, of unknown outcome, took effect: do not repeat it. Its receipt is p-7."
    );
    let entries = entries(&runtime.journal(&turn).await.unwrap());
    let last = entries.last().unwrap();
    assert_eq!(
        (last.what.as_str(), last.by.as_deref(), last.receipt.as_deref()),
        ("took_effect", Some("ann"), Some("p-7"))
    );
    assert_eq!(runtime.verify_audit(None).await.unwrap().problems, []);
    assert_eq!(shop.pay.runs(), 1);
}
