//! Budgets, rates and tenants over whole turns.

use std::{path::Path, sync::Arc};

use agcore::{
    capability::Capability,
    clock::{Clock, TestClock},
    policy::Principal,
    quota::{Scope, Shortfall, Window},
    runtime::{Runtime, RuntimeBuilder},
    store::{Accounts, Journal, MemoryJournal, SqliteJournal},
    turn::{Company, EndReason, Ended, TurnEnd, TurnOutcome},
    types::{DurationMs, Entry, MicroUsd, RiskClass, TaskType, TenantId, Timestamp, TurnId, UserId},
};
use agcore_testkit::{Gate, ScriptedModel, ScriptedReply, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Ten o'clock on the first of December 2026.
const TEN: i64 = 1_796_119_200_000;

const CENTS: u64 = 10_000;

fn usd(cents: u64) -> MicroUsd {
    MicroUsd::new(cents * CENTS)
}

fn clock() -> Arc<TestClock> {
    Arc::new(TestClock::at(Timestamp::from_ms(TEN)))
}

/// A model whose calls cost five cents each.
fn model(replies: impl IntoIterator<Item = ScriptedReply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies).priced(Some(usd(5))))
}

fn builder(model: &Arc<ScriptedModel>, journal: Arc<dyn Journal>, quotas: &str) -> RuntimeBuilder {
    Runtime::builder().model(model.clone()).journal(journal).clock(clock()).quotas(quotas, "quotas.yaml")
}

async fn database(path: &Path) -> Arc<SqliteJournal> {
    Arc::new(SqliteJournal::open(&path.join("agcore.db")).await.unwrap())
}

fn ended(outcome: &TurnOutcome) -> &Ended {
    match &outcome.end {
        TurnEnd::Ended(ended) => ended,
        other @ (TurnEnd::Waiting(_) | TurnEnd::Paused(_)) => panic!("it is not over: {other:?}"),
    }
}

/// What is spent and set aside, in micro-dollars.
async fn sums(store: &dyn Accounts, budget: &str, window: Window, now: Timestamp) -> (u64, u64) {
    let all = store.balances(budget, window.start(now), now, 10).await.unwrap();
    all.first().map_or((0, 0), |balance| (balance.spent.micro(), balance.reserved.micro()))
}

fn ten() -> Timestamp {
    Timestamp::from_ms(TEN)
}

const DAY: &str = "budgets: [{id: day, scope: tenant, window: day, usd: 0.11}]";

/// DEV-K02: two replicas, turns that start together.
#[tokio::test]
async fn turns_of_two_processes_never_jointly_overspend() {
    let folder = tempfile::tempdir().unwrap();
    let (gate, time) = (Gate::closed(), clock());
    let slow = model([reply().text("first").gated(&gate)]);
    let one = builder(&slow, database(folder.path()).await, DAY).clock(time.clone()).build().unwrap();
    let none = model([]);
    let journal = database(folder.path()).await;
    let two = builder(&none, journal.clone(), DAY).clock(time.clone()).build().unwrap();
    // The first turn has set aside its call and one last answer: ten of eleven cents.
    let (first, rest) = tokio::join!(one.turn("a").run(), async {
        gate.arrived(1).await;
        let mut rest = Vec::new();
        for n in 0..4 {
            rest.push(two.turn(format!("b{n}")).run().await.unwrap());
        }
        assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (0, 10 * CENTS));
        gate.open();
        rest
    });
    assert_eq!(ended(&first.unwrap()).answer, "first");
    assert_eq!((slow.calls(), none.calls()), (1, 0));
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (5 * CENTS, 0));
    for refused in &rest {
        assert_eq!(ended(refused).reason, EndReason::Budget);
        assert_eq!(
            refused.turn.shortfall(),
            Some(&Shortfall {
                budget: "day".into(),
                scope: Scope::Tenant,
                subject: "local".into(),
                window: Window::Day,
                limit: usd(11),
                left: usd(1),
                wanted: usd(5),
                turns_at: Some(Window::Day.end(ten()).unwrap()),
                unpriced: None,
            })
        );
        let notices = ended(refused).notices.join("; ");
        assert!(notices.contains("`day`") && notices.contains("it starts anew at 2026-12-02T00:00:00"), "{notices}");
    }
    // Six cents are left: not enough for a call and a last answer, but for the answer.
    let last = model([reply().text("short and cheap")]);
    let three = builder(&last, database(folder.path()).await, DAY).clock(time.clone()).build().unwrap();
    let outcome = three.turn("c").run().await.unwrap();
    assert_eq!((ended(&outcome).answer.as_str(), ended(&outcome).reason), ("short and cheap", EndReason::Budget));
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (10 * CENTS, 0));
}

/// DEV-K02: a crash with an open reservation.
#[tokio::test]
async fn after_a_crash_a_turn_takes_up_its_own_reservation() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Gate::closed();
    let dying = model([reply().text("never said").gated(&gate)]);
    let journal = database(folder.path()).await;
    let one = builder(&dying, journal.clone(), DAY).build().unwrap();
    tokio::select! {
        _ = one.turn("a").run() => panic!("nobody lets it through"),
        () = gate.arrived(1) => {}
    }
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (0, 10 * CENTS));
    drop((one, journal));
    let again = model([reply().text("said")]);
    let journal = database(folder.path()).await;
    let two = builder(&again, journal.clone(), DAY).build().unwrap();
    let turn = two.turns(1).await.unwrap().remove(0).turn;
    let outcome = two.resume(&turn, Company::default()).await.unwrap();
    assert_eq!((ended(&outcome).answer.as_str(), ended(&outcome).reason), ("said", EndReason::Answered));
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (5 * CENTS, 0));
}

#[tokio::test]
async fn a_slow_call_keeps_its_reservation_as_long_as_it_may_run_and_a_dead_one_loses_it_then() {
    let (gate, time, journal) = (Gate::closed(), clock(), Arc::new(MemoryJournal::default()));
    let slow = model([reply().text("late").gated(&gate)]);
    let one = builder(&slow, journal.clone(), DAY).clock(time.clone()).build().unwrap();
    let other = model([reply().text("now")]);
    let two = builder(&other, journal.clone(), DAY).clock(time.clone()).build().unwrap();
    tokio::select! {
        _ = one.turn("a").run() => panic!("nobody lets it through"),
        () = async {
            gate.arrived(1).await;
            // A turn of this tier runs for a minute at most, and has half a minute to book.
            time.advance(DurationMs(89_999));
            let refused = two.turn("b").run().await.unwrap();
            assert_eq!((ended(&refused).reason, other.calls()), (EndReason::Budget, 0));
            time.advance(DurationMs(1));
            let answered = two.turn("c").run().await.unwrap();
            assert_eq!((ended(&answered).answer.as_str(), ended(&answered).reason), ("now", EndReason::Answered));
        } => {}
    }
    assert_eq!(sums(&*journal, "day", Window::Day, time.now()).await, (5 * CENTS, 0));
}

#[tokio::test]
async fn a_budget_starts_anew_when_its_window_turns() {
    let (time, journal) = (clock(), Arc::new(MemoryJournal::default()));
    let quotas = "budgets: [{id: day, scope: user, window: day, usd: 0.10}]";
    let model = model([reply().text("one"), reply().text("two")]);
    let runtime = builder(&model, journal.clone(), quotas).clock(time.clone()).build().unwrap();
    assert_eq!(ended(&runtime.turn("a").run().await.unwrap()).reason, EndReason::Answered);
    time.advance(DurationMs(24 * 3_600_000));
    assert_eq!(ended(&runtime.turn("b").run().await.unwrap()).reason, EndReason::Answered);
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (5 * CENTS, 0));
    assert_eq!(sums(&*journal, "day", Window::Day, time.now()).await, (5 * CENTS, 0));
}

#[tokio::test]
async fn a_model_without_a_known_price_is_refused_or_flagged_as_the_budget_says() {
    for (rule, reason, calls) in [("refuse", EndReason::Budget, 0), ("flag", EndReason::Answered, 1)] {
        let model = Arc::new(ScriptedModel::new([reply().text("who knows")]).priced(None));
        let quotas = format!("budgets: [{{id: d, scope: all, window: day, usd: 1, unknown_price: {rule}}}]");
        let journal = Arc::new(MemoryJournal::default());
        let outcome = builder(&model, journal, &quotas).build().unwrap().turn("a").run().await.unwrap();
        assert_eq!((ended(&outcome).reason, model.calls()), (reason, calls), "{rule}");
        let notices = ended(&outcome).notices.join("; ");
        assert!(notices.contains("price"), "{rule}: {notices}");
        let unpriced = outcome.turn.shortfall().and_then(|short| short.unpriced.clone());
        assert_eq!(unpriced, (rule == "refuse").then(|| "scripted-1".to_owned()));
    }
}

fn tool(builder: RuntimeBuilder, name: &str, cents: u64, tool: &Arc<ScriptedTool>) -> RuntimeBuilder {
    let contract = Capability::function(name).description("Does a thing").risk(RiskClass::ReadOnly);
    let mut capability = contract.input_schema(json!({"type": "object"})).build().unwrap();
    capability.governance.cost = usd(cents);
    let function = capability.execution.function_name.clone().unwrap();
    builder.capability(capability).executor(function, tool.clone())
}

/// What the model got for its calls, as JSON.
fn results(outcome: &TurnOutcome) -> Vec<Value> {
    let results = outcome.turn.history().iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results.iter().map(|result| result.content.clone())),
        Entry::User(_) | Entry::Reply(_) | Entry::Notice(_) => None,
    });
    results.flatten().map(|content| serde_json::from_str(&content).unwrap_or(Value::String(content))).collect()
}

#[tokio::test]
async fn a_tool_that_a_budget_cannot_pay_for_is_refused_alone_and_the_turn_goes_on() {
    let quotas = "budgets: [{id: d, scope: all, window: day, usd: 0.30}]";
    let model = model([
        reply().call("shop.find", json!({})).call("shop.appraise", json!({})),
        reply().text("without the appraisal"),
    ]);
    let (cheap, dear) = (Arc::new(ScriptedTool::new().text("found")), Arc::new(ScriptedTool::new().text("no")));
    let journal = Arc::new(MemoryJournal::default());
    let builder = tool(builder(&model, journal.clone(), quotas), "shop.find", 2, &cheap);
    let outcome = tool(builder, "shop.appraise", 25, &dear).build().unwrap().turn("a").run().await.unwrap();
    assert_eq!((cheap.runs(), dear.runs()), (1, 0));
    assert_eq!(ended(&outcome).answer, "without the appraisal");
    let error = &results(&outcome)[1]["error"];
    assert_eq!(error["code"], "LIMIT_REACHED");
    let message = error["safe_message"].as_str().unwrap();
    assert!(message.contains("the budget `d`") && message.contains("set aside"), "{message}");
    assert_eq!(sums(&*journal, "d", Window::Day, ten()).await, (12 * CENTS, 0));
}

/// DEV-K02: children do not open a fresh allowance of their own.
#[tokio::test]
async fn a_tree_of_turns_pays_from_one_budget() {
    let quotas = "budgets: [{id: tree, scope: turn_tree, usd: 0.20}]";
    let model = model([reply().text("root"), reply().text("child"), reply().text("grandchild"), reply().text("last")]);
    let journal = Arc::new(MemoryJournal::default());
    let runtime = builder(&model, journal.clone(), quotas).build().unwrap();
    let root = runtime.turn("a").run().await.unwrap();
    let child = runtime.turn("b").child_of(&root.turn).run().await.unwrap();
    let grandchild = runtime.turn("c").child_of(&child.turn).run().await.unwrap();
    // Fifteen of twenty cents are spent: one last answer.
    let last = runtime.turn("d").child_of(&root.turn).run().await.unwrap();
    let refused = runtime.turn("e").child_of(&root.turn).run().await.unwrap();
    let reasons = [&root, &child, &grandchild, &last, &refused].map(|outcome| ended(outcome).reason);
    use EndReason::{Answered, Budget};
    assert_eq!((reasons, model.calls()), ([Answered, Answered, Answered, Budget, Budget], 4));
    let root = root.turn.started().turn.to_string();
    assert_eq!(refused.turn.shortfall().map(|short| short.subject.clone()), Some(root));
    assert_eq!(sums(&*journal, "tree", Window::Total, ten()).await, (20 * CENTS, 0));
}

#[tokio::test]
async fn a_child_may_spend_what_its_parent_has_left_and_inherits_its_taint() {
    let model = model([reply().text("root"), reply().text("child")]);
    let runtime = Runtime::builder().model(model.clone()).build().unwrap();
    let root = runtime.turn("a").history(vec![Entry::Notice("from elsewhere".into())]).run().await.unwrap();
    let child = runtime.turn("b").child_of(&root.turn).run().await.unwrap();
    let started = child.turn.started();
    assert_eq!((started.limits.max_tool_cost, started.tainted), (usd(95), true));
}

#[tokio::test]
async fn a_call_beyond_its_tenants_rate_is_told_when_to_come_back() {
    let quotas = "rates: [{id: find, scope: tenant, capability: ['shop.*'], calls: 2, per_ms: 60000}]";
    let folder = tempfile::tempdir().unwrap();
    let time = clock();
    let find = Arc::new(ScriptedTool::new().text("found"));
    let run = |tenant: &'static str, journal: Arc<dyn Journal>| {
        let calls = reply().call("shop.find", json!({"n": 1})).call("shop.find", json!({"n": 2}));
        let model = model([calls, reply().text("done")]);
        let builder = builder(&model, journal, quotas).clock(time.clone());
        let runtime = tool(builder, "shop.find", 0, &find).build().unwrap();
        async move {
            let principal = Principal {
                tenant: TenantId::new(tenant).unwrap(),
                user: UserId::new("ann").unwrap(),
                roles: Default::default(),
                scopes: Default::default(),
            };
            results(&runtime.turn("a").principal(principal).run().await.unwrap())
        }
    };
    let first = run("acme", database(folder.path()).await).await;
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|result| result.get("error").is_none()), "{first:?}");
    // Another process of the same tenant meets the same rate; another tenant does not.
    let second = run("acme", database(folder.path()).await).await;
    for result in &second {
        let error = &result["error"];
        assert_eq!((&error["code"], &error["retryable"]), (&json!("RATE_LIMITED"), &json!(true)));
        assert_eq!(error["retry_after_ms"], json!(30_000));
    }
    let third = run("other", database(folder.path()).await).await;
    assert!(third.iter().all(|result| result.get("error").is_none()), "{third:?}");
    assert_eq!(find.runs(), 4);
}

/// DEV-J04: the calls of several capabilities of one target share its slots, over all turns.
#[tokio::test]
async fn calls_of_one_target_share_its_slots_over_all_turns() {
    let quotas = "rates: [{id: crm, scope: all, capability: ['crm.*'], at_once: 3}]";
    let (gate, journal) = (Gate::closed(), Arc::new(MemoryJournal::default()));
    let crm = Arc::new(ScriptedTool::new().text("ok").gated(&gate));
    let calls = || (0..5).fold(reply(), |reply, n| reply.call(["crm.find", "crm.list"][n % 2], json!({"n": n})));
    let model = model([calls(), calls(), reply().text("one"), reply().text("two")]);
    let builder = tool(builder(&model, journal, quotas), "crm.find", 0, &crm);
    let runtime = tool(builder, "crm.list", 0, &crm).build().unwrap();
    let (one, two, ()) = tokio::join!(runtime.turn("a").run(), runtime.turn("b").run(), async {
        gate.arrived(3).await;
        gate.open();
    });
    assert!(ended(&one.unwrap()).reason == EndReason::Answered && ended(&two.unwrap()).reason == EndReason::Answered);
    assert_eq!((crm.runs(), crm.peak()), (10, 3));
}

#[tokio::test]
async fn a_tenant_sees_its_catalog_and_has_its_limits() {
    let quotas = "
tenants:
  - tenant: acme
    only: ['shop.*']
    limits: {max_tool_calls_per_turn: \"turn.task == 'bulk' ? 40 : 7\"}
";
    let shop = Arc::new(ScriptedTool::new().text("found"));
    let run = |tenant: &'static str, task: Option<&'static str>| {
        let model = model([reply().call("crm.find", json!({})), reply().text("done")]);
        let builder = builder(&model, Arc::new(MemoryJournal::default()), quotas);
        let builder = tool(tool(builder, "shop.find", 0, &shop), "crm.find", 0, &shop);
        let runtime = builder.build().unwrap();
        async move {
            let principal = Principal {
                tenant: TenantId::new(tenant).unwrap(),
                user: UserId::new("ann").unwrap(),
                roles: Default::default(),
                scopes: Default::default(),
            };
            let mut turn = runtime.turn("find it").principal(principal);
            if let Some(task) = task {
                turn = turn.task(TaskType::new(task).unwrap());
            }
            let outcome = turn.run().await.unwrap();
            let shown: Vec<String> = outcome.turn.exposed().iter().map(|tool| tool.name.to_string()).collect();
            (
                shown,
                results(&outcome)[0]["error"]["code"].clone(),
                outcome.turn.started().limits.max_tool_calls_per_turn,
            )
        }
    };
    assert_eq!(run("acme", None).await, (vec!["shop.find".into()], json!("UNKNOWN_TOOL"), 7));
    assert_eq!(run("acme", Some("bulk")).await.2, 40);
    assert_eq!(run("other", None).await, (vec!["crm.find".into(), "shop.find".into()], Value::Null, 12));
}

/// A turn that nobody drives any more is cancelled: what it had set aside comes back at once.
#[tokio::test]
async fn a_cancelled_turn_gives_back_what_it_had_set_aside() {
    let (gate, journal) = (Gate::closed(), Arc::new(MemoryJournal::default()));
    let slow = model([reply().text("late").gated(&gate)]);
    let runtime = builder(&slow, journal.clone(), DAY).build().unwrap();
    tokio::select! {
        _ = runtime.turn("a").run() => panic!("nobody lets it through"),
        () = gate.arrived(1) => {}
    }
    let turn: TurnId = runtime.turns(1).await.unwrap().remove(0).turn;
    runtime.cancel(&turn, "me").await.unwrap();
    assert_eq!(sums(&*journal, "day", Window::Day, ten()).await, (0, 0));
}

#[tokio::test]
async fn who_waits_for_a_person_holds_no_money() {
    let journal = Arc::new(MemoryJournal::default());
    let model = model([reply().call("mail.send", json!({})), reply().text("sent")]);
    let send = Arc::new(ScriptedTool::new().text("sent"));
    let contract = Capability::function("mail.send").description("Sends").risk(RiskClass::BusinessWrite);
    let capability = contract.input_schema(json!({"type": "object"})).build().unwrap();
    let function = capability.execution.function_name.clone().unwrap();
    let builder = builder(&model, journal.clone(), "budgets: [{id: d, scope: all, window: day, usd: 1}]");
    let runtime = builder.capability(capability).executor(function, send).build().unwrap();
    let outcome = runtime.turn("send it").run().await.unwrap();
    let TurnEnd::Waiting(requests) = &outcome.end else { panic!("{outcome:?}") };
    assert_eq!(sums(&*journal, "d", Window::Day, ten()).await, (5 * CENTS, 0));
    let (turn, call) = (requests[0].turn.clone(), requests[0].call.clone());
    runtime.approve(&turn, call.as_str(), None, &agcore::turn::ApprovalAnswer::yes("me")).await.unwrap();
    let outcome = runtime.resume(&turn, Company::default()).await.unwrap();
    assert_eq!(ended(&outcome).answer, "sent");
    assert_eq!(sums(&*journal, "d", Window::Day, ten()).await, (10 * CENTS, 0));
}
