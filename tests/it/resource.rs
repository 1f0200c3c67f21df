//! What the rules see as `resource`: whose order is it, looked up before the gate is asked.

use std::sync::Arc;

use agcore::{
    capability::Capability,
    execute::errors,
    runtime::{Runtime, RuntimeBuilder},
    store::MemoryJournal,
    turn::{ApprovalAnswer, Company, Event, TurnError, TurnOutcome},
    types::RiskClass,
};
use agcore_testkit::{ScriptedModel, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::approvals::waits;

const RULES: &str = r#"
rules:
  - id: orders.not_theirs
    match: {intent: orders.cancel, stage: dispatch}
    when: "!has(resource.owner) || resource.owner != principal.user"
    then: deny
    because: the order belongs to somebody else
  - id: orders.dear
    match: {intent: orders.cancel, stage: dispatch}
    when: "!has(resource.total) || resource.total > 100"
    then: ask
    because: a large order
examples:
  - given: {capability: {id: orders.cancel, intent: orders.cancel, risk: business_write}, resource: {owner: bob, total: 5}}
    expect: deny
"#;

struct Shop {
    cancel: Arc<ScriptedTool>,
    owner: Arc<ScriptedTool>,
    journal: Arc<MemoryJournal>,
}

impl Shop {
    fn new(owner: ScriptedTool) -> Self {
        let cancel = Arc::new(ScriptedTool::new().text("cancelled"));
        Self { cancel, owner: Arc::new(owner), journal: Arc::new(MemoryJournal::default()) }
    }

    fn builder(&self) -> RuntimeBuilder {
        let order = json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]});
        let with_note = json!({"type": "object", "properties": {"order": {"type": "string"},
            "note": {"type": "string"}}, "required": ["order"]});
        let cancel = Capability::function("orders.cancel")
            .description("Cancels an order")
            .risk(RiskClass::BusinessWrite)
            .facts("orders.owner".parse().unwrap())
            .input_schema(with_note)
            .build()
            .unwrap();
        let owner = Capability::function("orders.owner")
            .description("Whose order it is")
            .risk(RiskClass::InternalRead)
            .input_schema(order)
            .build()
            .unwrap();
        let name = |capability: &Capability| capability.execution.function_name.clone().unwrap();
        let (cancel_name, owner_name) = (name(&cancel), name(&owner));
        Runtime::builder()
            .journal(self.journal.clone())
            .capability(cancel)
            .capability(owner)
            .executor(cancel_name, self.cancel.clone())
            .executor(owner_name, self.owner.clone())
            .policy(RULES, "orders.yaml")
    }

    async fn cancels(&self) -> (Runtime, TurnOutcome) {
        let call = json!({"order": "A-17", "note": "too late"});
        let model = ScriptedModel::new([reply().call("orders.cancel", call), reply().text("done")]);
        let runtime = self.builder().model(Arc::new(model)).build().unwrap();
        let outcome = runtime.turn("cancel my order A-17").run().await.unwrap();
        (runtime, outcome)
    }
}

async fn status(runtime: &Runtime, outcome: &TurnOutcome) -> String {
    let trace = runtime.trace(&outcome.turn.started().turn).await.unwrap();
    trace.tool_calls.first().unwrap().status.to_string()
}

#[tokio::test]
async fn the_rules_see_what_a_read_says_of_the_arguments_and_the_journal_keeps_it() {
    let shop = Shop::new(ScriptedTool::new().json(&json!({"owner": "me", "total": 20})));
    let (runtime, outcome) = shop.cancels().await;
    assert_eq!(status(&runtime, &outcome).await, "ok");
    assert_eq!(shop.cancel.runs(), 1);
    assert_eq!(shop.owner.arguments(), [json!({"order": "A-17"})], "it gets those arguments that it takes");
    let journal = runtime.journal(&outcome.turn.started().turn).await.unwrap();
    let kept: Vec<Value> = journal
        .iter()
        .filter_map(|recorded| {
            let Event::CallsDecided(decided) = &recorded.event else { return None };
            decided.first()?.resource.as_deref().cloned()
        })
        .collect();
    assert_eq!(kept, [json!({"owner": "me", "total": 20})]);
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_denied() {
    let shop = Shop::new(ScriptedTool::new().json(&json!({"owner": "bob", "total": 20})));
    let (runtime, outcome) = shop.cancels().await;
    assert_eq!((status(&runtime, &outcome).await.as_str(), shop.cancel.runs()), ("denied", 0));
}

#[tokio::test]
async fn a_call_whose_facts_cannot_be_looked_up_does_not_run() {
    for owner in [
        ScriptedTool::new().fails(errors::not_found("order A-17")),
        ScriptedTool::new().text("not JSON"),
        ScriptedTool::new().text("x".repeat(70_000)),
    ] {
        let shop = Shop::new(owner);
        let (runtime, outcome) = shop.cancels().await;
        assert_eq!((status(&runtime, &outcome).await.as_str(), shop.cancel.runs()), ("refused", 0));
    }
}

/// An approval is no answer to what became true since.
#[tokio::test]
async fn facts_are_looked_up_again_before_an_approved_call_runs() {
    let dear = json!({"owner": "me", "total": 500});
    let shop = Shop::new(ScriptedTool::new().json(&dear).json(&json!({"owner": "bob", "total": 500})));
    let (runtime, outcome) = shop.cancels().await;
    let request = waits(&outcome);
    let approved = runtime.approve(&request.turn, request.call.as_str(), None, &ApprovalAnswer::yes("eve")).await;
    approved.unwrap();
    let after = runtime.resume(&request.turn, Company::default()).await.unwrap();
    assert_eq!((status(&runtime, &after).await.as_str(), shop.cancel.runs()), ("denied", 0));
}

#[tokio::test]
async fn an_edit_is_decided_with_the_facts_of_what_was_edited_in() {
    let dear = json!({"owner": "me", "total": 500});
    let shop = Shop::new(ScriptedTool::new().json(&dear).json(&json!({"owner": "bob", "total": 1})));
    let (runtime, outcome) = shop.cancels().await;
    let request = waits(&outcome);
    let edit = ApprovalAnswer { edited: Some(json!({"order": "B-1"}).to_string()), ..ApprovalAnswer::yes("eve") };
    match runtime.approve(&request.turn, request.call.as_str(), None, &edit).await {
        Err(TurnError::Approval(why)) => assert!(why.contains("belongs to somebody else"), "{why}"),
        other => panic!("it was not refused: {other:?}"),
    }
    assert_eq!(shop.owner.arguments().last(), Some(&json!({"order": "B-1"})));
}
