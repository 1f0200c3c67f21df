//! What a person's word is worth: it holds for exactly what was shown, from who may give it, in time, once.

use std::sync::Arc;

use agcore::{
    capability::Capability,
    clock::TestClock,
    llm::{ModelError, ModelErrorKind},
    policy::{DEFAULT_RULES, Gate, Outcome, Principal},
    runtime::{Runtime, RuntimeBuilder},
    store::{Journal, MemoryJournal, SqliteJournal},
    turn::{ApprovalAnswer, ApprovalRequest, Company, Event, Remember, TurnEnd, TurnError, TurnOutcome},
    types::{DurationMs, RiskClass, Timestamp},
};
use agcore_testkit::{Gate as Barrier, ScriptedModel, ScriptedReply, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A shop whose refunds wait for a person. The journal is shared, so that turns follow each other.
struct Shop {
    journal: Arc<dyn agcore::store::Journal>,
    refund: Arc<ScriptedTool>,
    clock: Arc<TestClock>,
    rules: String,
    description: &'static str,
}

impl Shop {
    fn new() -> Self {
        Self {
            journal: Arc::new(MemoryJournal::default()),
            refund: Arc::new(ScriptedTool::new()),
            clock: Arc::new(TestClock::at(Timestamp::from_ms(1_000_000))),
            rules: String::new(),
            description: "Refunds an order",
        }
    }

    fn builder(&self, model: ScriptedModel) -> RuntimeBuilder {
        let schema = json!({"type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "number"},
            "note": {"type": ["string", "null"]}}, "required": ["to", "amount"]});
        let refund = Capability::function("orders.refund")
            .description(self.description)
            .risk(RiskClass::BusinessWrite)
            .input_schema(schema)
            .build()
            .unwrap();
        let name = refund.execution.function_name.clone().unwrap();
        let principal = Principal {
            tenant: "shop".parse().unwrap(),
            user: "ann".parse().unwrap(),
            roles: ["clerk".to_owned()].into(),
            scopes: [].into(),
        };
        let builder = Runtime::builder()
            .model(Arc::new(model))
            .journal(self.journal.clone())
            .clock(self.clock.clone())
            .principal(principal)
            .capability(refund)
            .executor(name, self.refund.clone());
        if self.rules.is_empty() { builder } else { builder.policy(&self.rules, "shop.yaml") }
    }

    /// A turn in which the model asks for one refund with these arguments.
    async fn turn(&self, arguments: Value) -> (Runtime, TurnOutcome) {
        let model = ScriptedModel::new([reply().call("orders.refund", arguments), reply().text("done")]);
        let runtime = self.builder(model).build().unwrap();
        let outcome = runtime.turn("refund it").run().await.unwrap();
        (runtime, outcome)
    }
}

pub(super) fn waits(outcome: &TurnOutcome) -> ApprovalRequest {
    match &outcome.end {
        TurnEnd::Waiting(requests) => requests.first().unwrap().clone(),
        TurnEnd::Ended(ended) => panic!("it ended: {ended:?}"),
        TurnEnd::Paused(paused) => panic!("it is paused: {paused:?}"),
    }
}

fn ended(outcome: &TurnOutcome) -> bool {
    matches!(outcome.end, TurnEnd::Ended(_))
}

async fn decide(runtime: &Runtime, request: &ApprovalRequest, answer: &ApprovalAnswer) -> Result<(), TurnError> {
    runtime.approve(&request.turn, request.call.as_str(), Some(&request.digest), answer).await
}

fn refused(result: Result<(), TurnError>) -> String {
    match result {
        Err(TurnError::Approval(why)) => why,
        other => panic!("it was not refused: {other:?}"),
    }
}

/// DEV-I03: a remembered approval holds for equal arguments, whatever their order and spelling, and for nothing else.
#[tokio::test]
async fn a_remembered_approval_covers_exactly_what_was_shown() {
    let mut shop = Shop::new();
    let (runtime, first) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let yes = ApprovalAnswer { remember: Remember::Exactly, ..ApprovalAnswer::yes("bob") };
    decide(&runtime, &waits(&first), &yes).await.unwrap();
    assert!(ended(&runtime.resume(&waits(&first).turn, Company::default()).await.unwrap()));
    assert_eq!(shop.refund.runs(), 1);
    let one: Value = serde_json::from_str(r#"{"amount": 1.0, "to": "A"}"#).unwrap();
    for same in [json!({"amount": 1, "to": "A"}), one] {
        let (_, outcome) = shop.turn(same).await;
        assert!(ended(&outcome), "nobody is asked again");
    }
    assert_eq!(shop.refund.runs(), 3);
    for other in [json!({"to": "B", "amount": 1}), json!({"to": "A", "amount": 1, "note": null})] {
        waits(&shop.turn(other).await.1);
    }
    shop.description = "Refunds an order, and closes the account";
    waits(&shop.turn(json!({"to": "A", "amount": 1})).await.1);
    assert_eq!(shop.refund.runs(), 3);
}

#[tokio::test]
async fn a_remembered_pattern_binds_the_values_it_names() {
    let shop = Shop::new();
    let (runtime, first) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let pattern = json!({"to": "A"}).as_object().cloned().unwrap();
    let yes = ApprovalAnswer { remember: Remember::Pattern(pattern), ..ApprovalAnswer::yes("bob") };
    decide(&runtime, &waits(&first), &yes).await.unwrap();
    assert!(ended(&shop.turn(json!({"to": "A", "amount": 7})).await.1));
    waits(&shop.turn(json!({"to": "B", "amount": 1})).await.1);
}

/// DEV-I04: proposed, decided, effective; the edit is checked like the model's own arguments, and only it runs.
#[tokio::test]
async fn an_edit_is_checked_and_only_the_edited_call_runs() {
    let mut shop = Shop::new();
    shop.rules = "rules:\n  - id: shop.cap\n    match: {capability: orders.refund}\n    when: has(args.amount) && args.amount > 500\n    then: deny\n    because: no refund above 500\nexamples:\n  - given: {capability: {id: orders.refund, risk: business_write}, args: {amount: 900}}\n    expect: deny\n    rule: shop.cap\n".to_owned();
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 100})).await;
    let request = waits(&outcome);
    let edited = |arguments: &str| ApprovalAnswer { edited: Some(arguments.to_owned()), ..ApprovalAnswer::yes("bob") };
    let wrong = refused(decide(&runtime, &request, &edited(r#"{"to": "A", "amount": "ten"}"#)).await);
    assert!(wrong.contains("do not fit the schema") && wrong.contains("/amount"), "{wrong}");
    let denied = refused(decide(&runtime, &request, &edited(r#"{"to": "A", "amount": 900}"#)).await);
    assert!(denied.contains("no refund above 500"), "{denied}");
    assert_eq!(shop.refund.runs(), 0);
    decide(&runtime, &request, &edited(r#"{"to": "A", "amount": 10}"#)).await.unwrap();
    let done = runtime.resume(&request.turn, Company::default()).await.unwrap();
    assert!(ended(&done));
    assert_eq!(shop.refund.arguments(), [json!({"to": "A", "amount": 10})]);
    let journal = runtime.journal(&request.turn).await.unwrap();
    let records: Vec<String> = journal
        .iter()
        .filter_map(|recorded| {
            let Event::ApprovalDecided(decided) = &recorded.event else { return None };
            Some(format!("{} {}", decided.by, decided.edit.as_ref()?.arguments))
        })
        .collect();
    assert_eq!(records, [r#"bob {"to":"A","amount":10}"#]);
    let told = serde_json::to_string(done.turn.history()).unwrap();
    assert!(told.contains("bob changed the arguments of this call"), "{told}");
}

#[tokio::test]
async fn who_may_approve_is_the_rule_s_to_say() {
    let mut shop = Shop::new();
    shop.rules = "rules:\n  - id: shop.four_eyes\n    match: {capability: orders.refund}\n    then: {outcome: ask, approver_roles: [manager], not_requester: true}\n    because: a manager looks at refunds\nexamples:\n  - given: {capability: {id: orders.refund, risk: business_write}}\n    expect: ask\n".to_owned();
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    let by = |who: &str, role: &str| ApprovalAnswer { roles: [role.to_owned()].into(), ..ApprovalAnswer::yes(who) };
    assert!(refused(decide(&runtime, &request, &by("bob", "clerk")).await).contains("takes the role manager"));
    assert!(refused(decide(&runtime, &request, &by("ann", "manager")).await).contains("somebody else"));
    decide(&runtime, &request, &by("bob", "manager")).await.unwrap();
    runtime.resume(&request.turn, Company::default()).await.unwrap();
    assert_eq!(shop.refund.runs(), 1);
}

#[tokio::test]
async fn a_question_expires_and_the_call_does_not_run() {
    let shop = Shop::new();
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    shop.clock.advance(DurationMs(8 * 24 * 3_600_000));
    let late = refused(decide(&runtime, &request, &ApprovalAnswer::yes("bob")).await);
    assert!(late.contains("expired"), "{late}");
    assert!(ended(&runtime.resume(&request.turn, Company::default()).await.unwrap()));
    // A turn that is only taken up again finds out by itself.
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 2})).await;
    shop.clock.advance(DurationMs(8 * 24 * 3_600_000));
    assert!(ended(&runtime.resume(&waits(&outcome).turn, Company::default()).await.unwrap()));
    assert_eq!(shop.refund.runs(), 0);
}

#[tokio::test]
async fn an_approval_ends_when_the_tool_s_definition_changes() {
    let mut shop = Shop::new();
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    decide(&runtime, &request, &ApprovalAnswer::yes("bob")).await.unwrap();
    shop.description = "Refunds an order, and closes the account";
    let changed = shop.builder(ScriptedModel::new([reply().text("then not")])).build().unwrap();
    changed.resume(&request.turn, Company::default()).await.unwrap();
    assert_eq!(shop.refund.runs(), 0);
}

/// Two people decide at once: one word counts.
#[tokio::test]
async fn of_two_decisions_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = Shop::new();
    shop.journal = Arc::new(SqliteJournal::open(&folder.path().join("a.db")).await.unwrap());
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    let (yes, no) = (ApprovalAnswer::yes("bob"), ApprovalAnswer::no("eve", "no"));
    let (first, second) = tokio::join!(decide(&runtime, &request, &yes), decide(&runtime, &request, &no));
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    let journal = runtime.journal(&request.turn).await.unwrap();
    let decided = journal.iter().filter(|recorded| matches!(recorded.event, Event::ApprovalDecided(_))).count();
    assert_eq!(decided, 1);
    // It is not there to be used twice.
    assert!(decide(&runtime, &request, &yes).await.is_err());
}

#[tokio::test]
async fn a_waiting_turn_can_be_cancelled_once() {
    let shop = Shop::new();
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    let cancelled = runtime.cancel(&request.turn, "bob").await.unwrap();
    let TurnEnd::Ended(end) = &cancelled.end else { panic!("{:?}", cancelled.end) };
    assert_eq!(end.reason, agcore::turn::EndReason::Cancelled);
    assert!(decide(&runtime, &request, &ApprovalAnswer::yes("bob")).await.is_err());
    assert!(matches!(runtime.cancel(&request.turn, "bob").await, Err(TurnError::Over { .. })));
    assert_eq!(shop.refund.runs(), 0);
}

/// New rules are tried on what happened before: in shadow while turns run, and over their journals afterwards.
#[tokio::test]
async fn new_rules_are_tried_without_changing_anything() {
    let mut shop = Shop::new();
    let rule = |shadow: bool| {
        format!(
            "rules:\n  - id: shop.no_refunds\n    match: {{capability: orders.refund}}\n    then: deny\n    shadow: {shadow}\n    because: no refunds today\n"
        )
    };
    shop.rules = rule(true);
    let (runtime, outcome) = shop.turn(json!({"to": "A", "amount": 1})).await;
    let request = waits(&outcome);
    let decision = request.decision.unwrap();
    assert_eq!(decision.shadow, [("shop.no_refunds".parse().unwrap(), Outcome::Deny)]);
    let (name, shipped) = DEFAULT_RULES;
    let text = rule(false);
    let gate = Gate::load(&[(name, shipped), ("new.yaml", &text)]).unwrap();
    let journal = runtime.journal(&request.turn).await.unwrap();
    let (decided, changed) = agcore::turn::simulate(&journal, &runtime.parts().registry, &gate).unwrap();
    let changes: Vec<_> = changed.iter().map(|change| (change.before, change.after)).collect();
    assert_eq!((decided, changes), (1, vec![(Outcome::Ask, Outcome::Deny)]));
    let heavy = rule(true).replace("shadow: true", "shadow: true\n    floor: true");
    assert!(Gate::load(&[("new.yaml", &heavy)]).unwrap_err().to_string().contains("in shadow"));
    let lost = rule(false).replace("orders.refund", "orders.refnd");
    let findings = Gate::load(&[("new.yaml", &lost)]).unwrap().lint(&runtime.parts().registry);
    assert_eq!(findings.len(), 1, "{findings:?}");
}

/// DEV-I02: after the approval the model cannot be reached, or the process dies while it is asked: what was done is not
/// done again, and the approval is not asked for again.
#[tokio::test]
async fn a_model_that_fails_after_an_approval_repeats_nothing() {
    let (mail, delete) = (Arc::new(ScriptedTool::new()), Arc::new(ScriptedTool::new()));
    let asks = || [reply().call("mail.send_note", json!({})), reply().call("repos.delete", json!({}))];
    let last = Barrier::closed();
    for dies in [false, true] {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let runtime = |replies: Vec<ScriptedReply>| {
            let tool = |name: &str, risk| Capability::function(name).description("Does it").risk(risk).build().unwrap();
            Runtime::builder()
                .capability(tool("mail.send_note", RiskClass::DraftWrite))
                .capability(tool("repos.delete", RiskClass::Destructive))
                .executor("mail.send_note", mail.clone())
                .executor("repos.delete", delete.clone())
                .journal(journal.clone())
                .model(Arc::new(ScriptedModel::new(replies)))
                .build()
                .unwrap()
        };
        let (mails, deletes) = (mail.runs(), delete.runs());
        let first = runtime(asks().to_vec());
        let request = waits(&first.turn("clean up").run().await.unwrap());
        decide(&first, &request, &ApprovalAnswer::yes("bob")).await.unwrap();
        let after = if dies {
            reply().gated(&last)
        } else {
            reply().fails(ModelError::new(ModelErrorKind::Unavailable, "500"))
        };
        let second = runtime(vec![after]);
        let turn = request.turn.clone();
        if dies {
            let running = tokio::spawn(async move { second.resume(&turn, Company::default()).await });
            last.arrived(1).await;
            running.abort();
            let _ = running.await;
        } else {
            second.resume(&turn, Company::default()).await.unwrap();
        }
        let third = runtime(vec![reply().text("cleaned up")]);
        let outcome = third.resume(&request.turn, Company::default()).await.unwrap();
        assert!(ended(&outcome), "{:?}", outcome.end);
        assert_eq!((mail.runs() - mails, delete.runs() - deletes), (1, 1), "dies: {dies}");
    }
}
