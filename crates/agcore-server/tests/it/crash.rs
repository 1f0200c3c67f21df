//! Kills the real program, with SIGKILL, at every point of a turn that can be seen from outside, and resumes the turn.
//!
//! The turn reads, writes with an idempotency key and writes without one, then answers. Model and services are a
//! server in the test's own process: what took effect is counted where the crash cannot lose it. A request that is
//! held back is the signal to kill; nothing sleeps.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Output, Stdio},
};

use agcore::turn::{Event, Recorded};
use agcore_testkit::{Delivery, FakeProvider, Script, answer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

/// The services, in the order in which the turn calls them.
const SERVICES: [&str; 3] = ["read", "keyed", "plain"];

/// The exit codes of a turn that answered, ended without an answer, waits.
const ANSWERED: i32 = 0;
const NO_ANSWER: i32 = 3;
const WAITS: i32 = 4;

/// Where the program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// The model was asked for its reply of this number (from 0) and has sent this many bytes of it.
    Reply(usize, usize),
    /// The service got the request and took effect, but has not answered.
    Service(&'static str),
}

/// How the model asks for the three calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One a reply.
    Rounds,
    /// All in one reply.
    Batch,
}

impl Shape {
    fn script(self, kill: Option<Kill>) -> Script {
        let calls = [
            ("orders.get_by_id", json!({"order": "A-1"})),
            ("orders.set_label", json!({"order": "A-1", "label": "late"})),
            ("email.send_message", json!({"text": "Your order is late."})),
        ];
        let mut answers = match self {
            Self::Rounds => calls.into_iter().map(|(name, arguments)| answer().call(name, arguments)).collect(),
            Self::Batch => vec![calls.into_iter().fold(answer(), |all, (name, arguments)| all.call(name, arguments))],
        };
        answers.push(answer().text("Labelled, and the customer knows."));
        if let Some(Kill::Reply(place, bytes)) = kill {
            let held = Delivery { stall_after: Some(bytes), ..Delivery::default() };
            let answer = answers.remove(place).delivery(held);
            answers.insert(place, answer);
        }
        Script::new(answers).by_position().delivery(Delivery::default())
    }

    /// How many replies the turn takes.
    pub(super) fn replies(self) -> usize {
        match self {
            Self::Rounds => 4,
            Self::Batch => 2,
        }
    }

    /// Before and amid each reply, and in each service after it took effect.
    fn kills(self) -> impl Iterator<Item = Kill> {
        let replies = (0..self.replies()).flat_map(|place| [Kill::Reply(place, 0), Kill::Reply(place, 60)]);
        replies.chain(SERVICES.map(Kill::Service))
    }
}

/// What the turns pay from, and what the model costs: a cent for a thousand tokens of output.
const CONFIG: &str = "[quotas]\nfiles = ['quotas.yaml']\n[prices]\nfiles = ['prices.yaml']\n";
const QUOTAS: &str = "budgets: [{id: all, scope: all, window: total, usd: 1}]";
const PRICES: &str =
    "compatible: {as_of: '2026-12-01', source: a test, models: [{model: m, rates: {input: 1, output: 10}}]}";

fn catalog(root: &str, kill: Option<Kill>) -> String {
    let url = |name: &'static str| {
        let fault = if kill == Some(Kill::Service(name)) { "?fault=stall" } else { "" };
        format!("{root}/effects/{name}{fault}")
    };
    format!(
        "capabilities:
  - id: shop.order
    intent: orders.get_by_id
    description: Looks up an order by its number
    input_schema: {{ order: string }}
    mode: runtime_function
    risk_class: internal_read
    cost_usd: 0.001
    http: {{ method: POST, url: \"{}\" }}
  - id: shop.label
    intent: orders.set_label
    description: Sets the label of an order
    input_schema: {{ order: string, label: string }}
    mode: runtime_function
    risk_class: idempotent_write
    idempotency_key_required: true
    cost_usd: 0.002
    http: {{ method: POST, url: \"{}\", idempotency_header: Idempotency-Key }}
  - id: shop.mail
    intent: email.send_message
    description: Sends a message to the customer
    input_schema: {{ text: string }}
    mode: runtime_function
    risk_class: business_write
    side_effect: non_idempotent_write
    cost_usd: 0.004
    http: {{ method: POST, url: \"{}\" }}
",
        url("read"),
        url("keyed"),
        url("plain")
    )
}

/// A server, and a folder with catalog and state for the program.
pub(super) struct World {
    pub(super) provider: FakeProvider,
    folder: TempDir,
    api: &'static str,
}

impl World {
    pub(super) async fn new(shape: Shape, api: &'static str, kill: Option<Kill>) -> Self {
        let provider = FakeProvider::start(shape.script(kill)).await;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("catalog")).unwrap();
        fs::write(folder.path().join("catalog/shop.yaml"), catalog(&provider.root_url(), kill)).unwrap();
        for (name, text) in [("agcore.toml", CONFIG), ("quotas.yaml", QUOTAS), ("prices.yaml", PRICES)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self { provider, folder, api }
    }

    /// What of the budget is spent and set aside, in micro-dollars.
    async fn books(&self) -> (u64, u64) {
        let (_, shown) = self.output(&["budgets", "show", "all"], false).await;
        let sum = |key: &str| shown.pointer(&format!("/accounts/0/{key}")).and_then(Value::as_u64).unwrap();
        (sum("spent_micro_usd"), sum("reserved_micro_usd"))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn command(&self, arguments: &[&str], with_model: bool) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agcore"));
        command.env_clear().env("HOME", self.path()).current_dir(self.path()).kill_on_drop(true);
        command.args(["--json", "--quiet", "--state-dir", "state", "--catalog", "catalog"]).args(arguments);
        if with_model {
            command.args(["--provider", "compatible", "--model", "m", "--api", self.api, "--base-url"]);
            command.arg(self.provider.base_url());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn ask(&self) -> Command {
        self.command(&["ask", "--yes", "Label order A-1 as late and tell the customer."], true)
    }

    async fn output(&self, arguments: &[&str], with_model: bool) -> (i32, Value) {
        read(&self.command(arguments, with_model).output().await.unwrap())
    }

    /// Runs the program until the server holds a request back, and kills it.
    pub(super) async fn crash(&self) {
        let mut child = self.ask().spawn().unwrap();
        let held = tokio::select! {
            () = self.provider.release().arrived(1) => true,
            _ = child.wait() => false,
        };
        if !held {
            panic!("it ended before it could be killed: {:?}", child.wait_with_output().await.unwrap());
        }
        child.kill().await.unwrap();
        self.provider.release().open();
    }

    pub(super) async fn turn(&self) -> String {
        let (_, turns) = self.output(&["turns", "list"], false).await;
        let turns = turns.as_array().unwrap();
        assert_eq!(turns.len(), 1);
        turns.first().unwrap()["turn"].as_str().unwrap().to_owned()
    }

    pub(super) async fn journal(&self, turn: &str) -> Vec<Recorded> {
        let (_, events) = self.output(&["turns", "show", turn], false).await;
        serde_json::from_str(&events.to_string()).unwrap()
    }

    /// Resumes the turn; where it waits for a person, the person agrees.
    async fn resume(&self, turn: &str) -> (i32, Value) {
        loop {
            let (code, document) = self.output(&["turns", "resume", turn], true).await;
            if code != WAITS {
                return (code, document);
            }
            let (approved, _) = self.output(&["approvals", "approve", turn], false).await;
            assert_eq!(approved, 0);
        }
    }

    /// How many requests each service got, and how many of them took effect.
    pub(super) fn services(&self) -> Vec<(usize, usize)> {
        let effects = self.provider.effects();
        SERVICES.iter().map(|name| (effects.requests(name), effects.count(name))).collect()
    }
}

pub(super) fn read(output: &Output) -> (i32, Value) {
    let code = output.status.code().unwrap();
    assert!([ANSWERED, NO_ANSWER, WAITS].contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    (code, serde_json::from_slice(&output.stdout).unwrap())
}

/// The calls with an outcome; the nth service is called by `call_n`.
fn finished(journal: &[Recorded]) -> BTreeSet<String> {
    let call = |recorded: &Recorded| {
        if let Event::CallFinished(finished) = &recorded.event { Some(finished.call.to_string()) } else { None }
    };
    journal.iter().filter_map(call).collect()
}

/// The calls that are journalled as started and have no outcome.
pub(super) fn in_flight(journal: &[Recorded]) -> BTreeSet<String> {
    let call = |recorded: &Recorded| {
        if let Event::CallStarted(started) = &recorded.event { Some(started.call.to_string()) } else { None }
    };
    let done = finished(journal);
    journal.iter().filter_map(call).filter(|call| !done.contains(call)).collect()
}

/// What the turn comes to when nobody kills it.
async fn undisturbed(shape: Shape, api: &'static str) -> Value {
    let world = World::new(shape, api, None).await;
    let (code, document) = read(&world.ask().output().await.unwrap());
    assert_eq!((code, world.services()), (ANSWERED, vec![(1, 1); 3]), "{document:#}");
    assert_eq!((world.provider.requests().len(), world.provider.violations()), (shape.replies(), vec![]));
    document["answer"].clone()
}

async fn killed_and_resumed(shape: Shape, api: &'static str, kill: Kill, answer: &Value) {
    let world = World::new(shape, api, Some(kill)).await;
    world.crash().await;
    let turn = world.turn().await;
    let journal = world.journal(&turn).await;
    let (done, running, before) = (finished(&journal), in_flight(&journal), world.services());
    let (spent_before, reserved) = world.books().await;
    assert!(reserved > 0, "a turn that was killed leaves what it had set aside");
    let (code, document) = world.resume(&turn).await;
    let context = format!("{shape:?} {api} {kill:?}: {document:#}");

    // In a batch the read is in flight beside the writes: which of them had begun when the process died is chance, and
    // the journal tells it.
    let unknown = running.contains("call_3");
    assert!(unknown || kill != Kill::Service("plain"), "{context}");
    let after = world.services();
    let again = usize::from(!done.contains("call_1") && before[0].0 > 0);
    assert_eq!(after[0], (1 + again, 1 + again), "{context}");
    let (requests, effects) = after[1];
    assert_eq!(effects, 1, "{context}");
    assert!(requests <= 1 + usize::from(running.contains("call_2")), "{context}");
    if unknown {
        assert!(after[2] == (1, 1) || after[2] == (0, 0), "{context}");
    } else {
        assert_eq!(after[2], (1, 1), "{context}");
    }
    for (nth, (before, after)) in before.iter().zip(world.services()).enumerate() {
        let closed = done.contains(&format!("call_{}", nth + 1));
        assert!(!closed || *before == after, "a call that was finished ran again: {context}");
    }

    let requests = world.provider.requests();
    let (state, end) = if unknown { ("outcome_unknown", NO_ANSWER) } else { ("answered", ANSWERED) };
    assert_eq!((document["state"].as_str(), code), (Some(state), end), "{context}");
    let replies = shape.replies() - usize::from(unknown);
    match kill {
        Kill::Reply(place, _) => {
            assert_eq!(requests.len(), replies + 1, "{context}");
            assert_eq!(requests[place].json(), requests[place + 1].json(), "{context}");
        }
        Kill::Service(_) => assert_eq!(requests.len(), replies, "{context}"),
    }
    if !unknown {
        assert_eq!(&document["answer"], answer, "{context}");
    }
    assert_eq!(world.provider.violations(), Vec::<String>::new(), "{context}");
    let (_, trace) = world.output(&["traces", "show", &turn], false).await;
    let spent = trace.pointer("/cost/total").and_then(Value::as_u64).unwrap();
    assert!(spent >= spent_before && spent > 0, "{context}");
    assert_eq!(world.books().await, (spent, 0), "the account differs from the ledger: {context}");
}

async fn all_kills(shape: Shape, api: &'static str) {
    let answer = undisturbed(shape, api).await;
    for kill in shape.kills() {
        killed_and_resumed(shape, api, kill, &answer).await;
    }
}

#[tokio::test]
async fn a_turn_of_rounds_that_is_killed_anywhere_resumes_without_a_second_effect_over_chat() {
    all_kills(Shape::Rounds, "chat").await;
}

#[tokio::test]
async fn a_turn_of_rounds_that_is_killed_anywhere_resumes_without_a_second_effect_over_responses() {
    all_kills(Shape::Rounds, "responses").await;
}

#[tokio::test]
async fn a_batch_that_is_killed_anywhere_resumes_without_a_second_effect() {
    all_kills(Shape::Batch, "responses").await;
}
