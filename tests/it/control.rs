//! What operators do to turns, across two runtimes that share a database as two processes do.

use std::{path::Path, sync::Arc};

use agcore::{
    capability::Capability,
    runtime::Runtime,
    store::{SqliteJournal, StoreError},
    turn::{Act, Company, EndReason, Ended, Event, Given, Operated, Operator, TurnEnd, TurnError, TurnOutcome},
    types::{RiskClass, SideEffect, TurnId},
};
use agcore_testkit::{Gate, ScriptedModel, ScriptedReply, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const READ: &str = "orders.get_by_id";
const WRITE: &str = "orders.set_label";

const ANN: Operator<'_> = Operator { by: "ann", why: "it looks wrong" };

/// A database, and services that outlive the processes.
struct World {
    folder: TempDir,
    gate: Gate,
    read: Arc<ScriptedTool>,
    write: Arc<ScriptedTool>,
}

struct Process {
    runtime: Runtime,
    model: Arc<ScriptedModel>,
}

impl World {
    /// The tool `held` does not answer before the gate is opened.
    fn new(held: &str) -> Self {
        let gate = Gate::closed();
        let tool = |name: &str| {
            let tool = ScriptedTool::new();
            Arc::new(if name == held { tool.gated(&gate) } else { tool })
        };
        Self { folder: tempfile::tempdir().unwrap(), read: tool(READ), write: tool(WRITE), gate }
    }

    fn db(&self) -> std::path::PathBuf {
        Path::join(self.folder.path(), "agcore.db")
    }

    async fn process(&self, replies: impl IntoIterator<Item = ScriptedReply>) -> Process {
        let model = Arc::new(ScriptedModel::new(replies));
        let tool = |name: &str, risk: RiskClass| Capability::function(name).description("Does it").risk(risk);
        let write = tool(WRITE, RiskClass::DraftWrite).side_effect(SideEffect::NonIdempotentWrite);
        let runtime = Runtime::builder()
            .capability(tool(READ, RiskClass::InternalRead).build().unwrap())
            .capability(write.build().unwrap())
            .executor(READ, self.read.clone())
            .executor(WRITE, self.write.clone())
            .journal(Arc::new(SqliteJournal::open(&self.db()).await.unwrap()))
            .model(model.clone())
            .build()
            .unwrap();
        Process { runtime, model }
    }
}

impl Process {
    fn ask(&self) -> tokio::task::JoinHandle<Result<TurnOutcome, TurnError>> {
        let runtime = self.runtime.clone();
        tokio::spawn(async move { runtime.turn("label it").run().await })
    }

    async fn turn(&self) -> TurnId {
        self.runtime.turns(1).await.unwrap().remove(0).turn
    }

    async fn has_finished_a_call(&self, turn: &TurnId) -> bool {
        let journal = self.runtime.journal(turn).await.unwrap();
        journal.iter().any(|recorded| matches!(recorded.event, Event::CallFinished(_)))
    }

    async fn resume(&self, turn: &TurnId) -> TurnOutcome {
        self.runtime.resume(turn, Company::default()).await.unwrap()
    }

    async fn operated(&self, turn: &TurnId) -> Vec<Operated> {
        let journal = self.runtime.journal(turn).await.unwrap();
        let operated = journal
            .into_iter()
            .filter_map(|recorded| if let Event::Operated(operated) = recorded.event { Some(*operated) } else { None });
        operated.collect()
    }
}

fn paused(outcome: &TurnOutcome) -> &Operated {
    let TurnEnd::Paused(operated) = &outcome.end else { panic!("it is not paused: {:?}", outcome.end) };
    operated
}

fn ended(outcome: &TurnOutcome) -> &Ended {
    let TurnEnd::Ended(ended) = &outcome.end else { panic!("it did not end: {:?}", outcome.end) };
    ended
}

fn set(limits: Value) -> Map<String, Value> {
    serde_json::from_value(limits).unwrap()
}

#[tokio::test]
async fn a_turn_that_another_process_drives_is_put_down_before_its_next_call_and_goes_on() {
    let world = World::new(READ);
    let driver = world.process([reply().call(READ, json!({})), reply().text("never said")]).await;
    let desk = world.process([reply().text("labelled")]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = desk.turn().await;
    assert_eq!(desk.runtime.pause(&turn, ANN).await.unwrap(), Given::Ordered);
    world.gate.open();
    let outcome = running.await.unwrap().unwrap();
    let expected = Operated { by: "ann".to_owned(), why: "it looks wrong".to_owned(), act: Act::Paused };
    assert_eq!((paused(&outcome), driver.model.calls(), world.read.finished()), (&expected, 1, 1));
    assert_eq!(desk.runtime.turns(1).await.unwrap().remove(0).state.as_str(), "paused");
    // Taking it up is not letting it go on.
    assert_eq!((paused(&desk.resume(&turn).await), desk.model.calls()), (&expected, 0));
    let bob = Operator { by: "bob", why: "" };
    desk.runtime.unpause(&turn, bob).await.unwrap();
    assert_eq!(ended(&desk.resume(&turn).await).answer, "labelled");
    let acts: Vec<_> = desk.operated(&turn).await.into_iter().map(|operated| (operated.by, operated.act)).collect();
    assert_eq!(acts, [("ann".to_owned(), Act::Paused), ("bob".to_owned(), Act::Unpaused)]);
}

#[tokio::test]
async fn a_pause_amid_a_batch_lets_the_running_write_finish_and_holds_the_next() {
    let world = World::new(WRITE);
    let two = reply().call(WRITE, json!({"label": "a"})).call(WRITE, json!({"label": "b"}));
    let driver = world.process([two]).await;
    let desk = world.process([reply().text("both")]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = desk.turn().await;
    desk.runtime.pause(&turn, ANN).await.unwrap();
    world.gate.open();
    paused(&running.await.unwrap().unwrap());
    assert_eq!((world.write.finished(), world.write.effects()), (1, 1));
    desk.runtime.unpause(&turn, ANN).await.unwrap();
    assert_eq!((ended(&desk.resume(&turn).await).answer.as_str(), world.write.effects()), ("both", 2));
}

#[tokio::test]
async fn while_everything_is_halted_no_call_of_any_process_starts() {
    let world = World::new(READ);
    let driver = world.process([reply().call(READ, json!({})), reply().text("done")]).await;
    let desk = world.process([reply().text("hello")]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let halt = desk.runtime.halt(ANN).await.unwrap();
    world.gate.open();
    let first = running.await.unwrap().unwrap();
    let second = desk.runtime.turn("hi").run().await.unwrap();
    for outcome in [&first, &second] {
        assert_eq!((paused(outcome).act.clone(), paused(outcome).by.as_str()), (Act::Halted, "ann"));
    }
    assert_eq!((driver.model.calls(), desk.model.calls()), (1, 0));
    let (first, second) = (&first.turn.started().turn, &second.turn.started().turn);
    // A process that begins now knows it, too, and taking turns up does not help.
    let third = world.process([reply().text("hello")]).await;
    assert_eq!(third.runtime.halts().await.unwrap(), std::slice::from_ref(&halt));
    paused(&third.resume(second).await);
    assert_eq!(third.model.calls(), 0);
    assert_eq!(third.runtime.lift_halt(ANN).await.unwrap(), [halt]);
    assert_eq!(ended(&desk.resume(second).await).answer, "hello");
    let last = driver.resume(first).await;
    assert_eq!((ended(&last).answer.as_str(), driver.model.calls()), ("done", 2));
}

#[tokio::test]
async fn a_limit_is_raised_while_another_process_drives_the_turn() {
    let world = World::new(READ);
    let many: Vec<_> = (0..8).map(|n| reply().call(READ, json!({"n": n}))).chain([reply().text("all")]).collect();
    let driver = world.process(many).await;
    let desk = world.process([]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = desk.turn().await;
    let wrong = desk.runtime.set_limits(&turn, ANN, set(json!({"max_tool_iteration": 9}))).await.unwrap_err();
    assert!(wrong.to_string().starts_with("there is no limit `max_tool_iteration`"), "{wrong}");
    let far = desk.runtime.set_limits(&turn, ANN, set(json!({"max_tool_iterations": 100_000}))).await.unwrap_err();
    assert!(far.to_string().contains("only 1 to 1000 is allowed"), "{far}");
    let raised = set(json!({"max_tool_iterations": 9}));
    assert_eq!(desk.runtime.set_limits(&turn, ANN, raised.clone()).await.unwrap(), Given::Ordered);
    world.gate.open();
    let outcome = running.await.unwrap().unwrap();
    // Eight rounds are more than the six that a turn has.
    assert_eq!((ended(&outcome).reason, world.read.runs()), (EndReason::Answered, 8));
    let operated = desk.operated(&turn).await.remove(0);
    let Act::Limits { set, limits } = &operated.act else { panic!("{operated:?}") };
    assert_eq!((operated.by.as_str(), set, limits.max_tool_iterations), ("ann", &raised, 9));
    assert!(desk.runtime.pause(&turn, ANN).await.is_err(), "it is over");
}

#[tokio::test]
async fn a_limit_that_is_lowered_while_the_turn_is_paused_holds_when_it_goes_on() {
    let world = World::new(READ);
    let driver = world.process([reply().call(READ, json!({"n": 1}))]).await;
    let desk = world.process([reply().call(READ, json!({"n": 2})), reply().text("one is enough")]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = desk.turn().await;
    desk.runtime.pause(&turn, ANN).await.unwrap();
    world.gate.open();
    paused(&running.await.unwrap().unwrap());
    let lowered = set(json!({"max_tool_calls_per_turn": 1}));
    assert_eq!(desk.runtime.set_limits(&turn, ANN, lowered).await.unwrap(), Given::Done);
    desk.runtime.unpause(&turn, ANN).await.unwrap();
    let outcome = desk.resume(&turn).await;
    assert_eq!((ended(&outcome).reason, world.read.runs()), (EndReason::Limit, 1));
}

#[tokio::test]
async fn a_turn_that_a_living_process_drives_is_not_taken_up_by_another() {
    let world = World::new(READ);
    let driver = world.process([reply().call(READ, json!({})), reply().text("done")]).await;
    let other = world.process([reply().text("never said")]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = other.turn().await;
    for process in [&other, &driver] {
        let refused = process.runtime.resume(&turn, Company::default()).await.unwrap_err();
        assert!(matches!(refused, TurnError::Store(StoreError::Driven { .. })), "{refused}");
    }
    world.gate.open();
    assert_eq!(ended(&running.await.unwrap().unwrap()).answer, "done");
    assert_eq!((world.read.runs(), other.model.calls()), (1, 0));
}

/// Two processes take up what a third left behind: one of them runs it.
#[tokio::test]
async fn of_two_that_take_up_a_turn_at_once_one_runs_it() {
    let world = World::new(WRITE);
    let driver = world.process([reply().call(WRITE, json!({})).call(READ, json!({}))]).await;
    let running = driver.ask();
    world.gate.arrived(1).await;
    let turn = driver.turn().await;
    // A commit still under way when the driver is dropped would refuse both.
    while !driver.has_finished_a_call(&turn).await {
        tokio::task::yield_now().await;
    }
    running.abort();
    let _ = running.await;
    drop(driver);
    world.gate.open();
    let reads = world.read.runs();
    let (one, two) = (world.process([]).await, world.process([]).await);
    let (first, second) =
        tokio::join!(one.runtime.resume(&turn, Company::default()), two.runtime.resume(&turn, Company::default()));
    assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
    let outcome = if first.is_ok() { first } else { second };
    assert_eq!(ended(&outcome.unwrap()).reason, EndReason::OutcomeUnknown);
    assert!(world.read.runs() <= reads + 1);
    let journal = one.runtime.journal(&turn).await.unwrap();
    let resumed = journal.iter().filter(|recorded| matches!(recorded.event, Event::Resumed(_))).count();
    assert_eq!(resumed, 1);
}
