//! Ends a turn's driver at every append to its journal, just before it and just after it, and takes the turn up again
//! with new parts over the same database.
//!
//! The tools live on from one driver to the next, as services do: they count what took effect.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use agcore::{
    capability::Capability,
    runtime::Runtime,
    store::{
        Accounts, AuditLog, Balance, Commit, Journal, Orders, Pins, RateClaim, Remembered, Reserve, Reserved,
        SqliteJournal, StoreError, Taken, TurnHead,
    },
    turn::{
        ApprovalAnswer, ApprovalRequest, Approver, CallStatus, Company, EndReason, Ended, Event, Recorded, TurnEnd,
        TurnError, TurnOutcome,
    },
    types::{CapabilityId, FunctionCall, MicroUsd, Part, RiskClass, SideEffect, Timestamp, TurnId},
};
use agcore_testkit::{ScriptedModel, ScriptedReply, ScriptedTool, reply};
use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Notify;

/// What the turns pay from.
const BUDGET: &str = "budgets: [{id: all, scope: all, window: total, usd: 1}]";

/// The tools. Calls are named after them.
pub(super) const READ: &str = "orders.get_by_id";
pub(super) const KEYED: &str = "orders.set_label";
pub(super) const PLAIN: &str = "email.send_message";

/// On which side of an append a driver ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// A journal whose user is gone at the nth append (from 1).
#[derive(Debug)]
pub(super) struct Dying {
    journal: SqliteJournal,
    pub(super) appends: AtomicUsize,
    at: Option<(usize, Side)>,
    dead: Notify,
}

impl Dying {
    async fn die(&self) {
        self.dead.notify_one();
        pending().await
    }
}

impl Accounts for Dying {
    fn reserve(&self, reserve: Reserve) -> BoxFuture<'_, Result<Reserved, StoreError>> {
        self.journal.reserve(reserve)
    }

    fn take<'a>(&'a self, rates: &'a [RateClaim], now: Timestamp) -> BoxFuture<'a, Result<Taken, StoreError>> {
        self.journal.take(rates, now)
    }

    fn balances<'a>(
        &'a self,
        budget: &'a str,
        opened_at: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Balance>, StoreError>> {
        self.journal.balances(budget, opened_at, now, limit)
    }
}

impl Journal for Dying {
    fn append(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let nth = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
            if self.at == Some((nth, Side::Before)) {
                self.die().await;
            }
            self.journal.append(commit).await?;
            if self.at == Some((nth, Side::After)) {
                self.die().await;
            }
            Ok(())
        }
        .boxed()
    }

    fn read<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.journal.read(turn)
    }

    fn list(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TurnHead>, StoreError>> {
        self.journal.list(limit)
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TurnHead, StoreError>> {
        self.journal.find(name)
    }

    fn remember(&self, approval: Remembered) -> BoxFuture<'_, Result<(), StoreError>> {
        self.journal.remember(approval)
    }

    fn remembered<'a>(&'a self, capability: &'a CapabilityId) -> BoxFuture<'a, Result<Vec<Remembered>, StoreError>> {
        self.journal.remembered(capability)
    }

    fn orders(&self) -> &dyn Orders {
        self.journal.orders()
    }

    fn pins(&self) -> &dyn Pins {
        self.journal.pins()
    }

    fn audit(&self) -> Option<&dyn AuditLog> {
        self.journal.audit()
    }
}

struct AlwaysYes;

impl Approver for AlwaysYes {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        ready(Some(ApprovalAnswer::yes("test"))).boxed()
    }
}

fn company() -> Company {
    Company { approver: Some(Arc::new(AlwaysYes)), ..Company::default() }
}

/// The calls of each reply before the answer.
pub(super) type Rounds = &'static [&'static [&'static str]];

const SHAPES: [Rounds; 3] = [&[&[READ], &[KEYED], &[PLAIN]], &[&[READ, KEYED, PLAIN]], &[&[PLAIN, READ, KEYED]]];

/// The replies, the first `skip` left out: a model that is asked again says the same again.
pub(super) fn replies(rounds: Rounds, skip: usize) -> Vec<ScriptedReply> {
    let call = |name: &str| {
        Part::Call(FunctionCall {
            provider_id: format!("id of {name}"),
            name: name.to_owned(),
            arguments: json!({"order": "A-1"}).to_string(),
            complete: true,
        })
    };
    let calls = rounds.iter().map(|names| names.iter().fold(reply(), |reply, name| reply.part(call(name))));
    calls.chain([reply().text("Labelled, and the customer knows.")]).skip(skip).collect()
}

#[derive(Debug, Default)]
pub(super) struct Services {
    read: Arc<ScriptedTool>,
    pub(super) keyed: Arc<ScriptedTool>,
    pub(super) plain: Arc<ScriptedTool>,
}

impl Services {
    pub(super) fn new() -> Self {
        Self { keyed: Arc::new(ScriptedTool::new().honours_keys()), ..Self::default() }
    }

    fn tool(&self, name: &str) -> &ScriptedTool {
        match name {
            READ => &self.read,
            KEYED => &self.keyed,
            _ => &self.plain,
        }
    }

    fn runs(&self) -> Vec<(&'static str, usize)> {
        [READ, KEYED, PLAIN].map(|name| (name, self.tool(name).runs())).to_vec()
    }
}

/// One life of the program: new parts over the database that is there.
pub(super) struct Life {
    pub(super) runtime: Runtime,
    pub(super) journal: Arc<Dying>,
    model: Arc<ScriptedModel>,
}

impl Life {
    pub(super) async fn begin(
        db: &Path,
        services: &Services,
        script: Vec<ScriptedReply>,
        at: Option<(usize, Side)>,
    ) -> Self {
        let journal = SqliteJournal::open(db).await.unwrap();
        let journal = Arc::new(Dying { journal, appends: AtomicUsize::new(0), at, dead: Notify::new() });
        let model = Arc::new(ScriptedModel::new(script).priced(Some(MicroUsd::new(700))));
        let schema = json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]});
        let tool = |name: &str, risk: RiskClass| {
            let contract = Capability::function(name).description("Does it to an order");
            contract.input_schema(schema.clone()).risk(risk).cost(MicroUsd::new(30))
        };
        let keyed = tool(KEYED, RiskClass::IdempotentWrite).idempotency_key_required();
        let plain = tool(PLAIN, RiskClass::BusinessWrite).side_effect(SideEffect::NonIdempotentWrite);
        let runtime = Runtime::builder()
            .capability(tool(READ, RiskClass::InternalRead).build().unwrap())
            .capability(keyed.build().unwrap())
            .capability(plain.build().unwrap())
            .executor(READ, services.read.clone())
            .executor(KEYED, services.keyed.clone())
            .executor(PLAIN, services.plain.clone())
            .journal(journal.clone())
            .model(model.clone())
            .quotas(BUDGET, "quotas.yaml")
            .build()
            .unwrap();
        Self { runtime, journal, model }
    }

    /// Waits for the work, or for the death of who does it: then it is dropped where it stands.
    pub(super) async fn live<T>(&self, turn: impl Future<Output = Result<T, TurnError>>) -> Option<T> {
        tokio::select! {
            outcome = turn => Some(outcome.unwrap()),
            () = self.journal.dead.notified() => None,
        }
    }

    async fn ask(&self) -> Option<TurnOutcome> {
        self.live(self.runtime.turn("Label order A-1 as late and tell the customer.").company(company()).run()).await
    }

    async fn resume(&self, turn: &TurnId) -> Option<TurnOutcome> {
        self.live(self.runtime.resume(turn, company())).await
    }
}

/// What a journal says.
pub(super) struct Known {
    pub(super) replies: usize,
    /// The calls that were started, and those that have an outcome.
    started: Vec<String>,
    finished: Vec<String>,
}

impl Known {
    pub(super) fn of(journal: &[Recorded]) -> Self {
        let mut known = Self { replies: 0, started: Vec::new(), finished: Vec::new() };
        let mut names = Vec::new();
        for recorded in journal {
            if let Event::ModelReplied(replied) = &recorded.event {
                known.replies += 1;
                names.extend(replied.reply.calls().map(|call| call.name.clone()));
            } else if let Event::CallStarted(started) = &recorded.event {
                known.started.push(name_of(&names, started.call.as_str()));
            } else if let Event::CallFinished(finished) = &recorded.event {
                known.finished.push(name_of(&names, finished.call.as_str()));
            }
        }
        known
    }

    /// Whether the write without a key was about to run, or ran, and nobody knows.
    fn is_lost(&self) -> bool {
        let has = |calls: &[String]| calls.iter().any(|name| name == PLAIN);
        has(&self.started) && !has(&self.finished)
    }
}

/// The tool of `call_n`: the nth call of the turn.
fn name_of(names: &[String], call: &str) -> String {
    let nth: usize = call.strip_prefix("call_").unwrap().parse().unwrap();
    names[nth - 1].clone()
}

fn ended(outcome: &TurnOutcome) -> Arc<Ended> {
    match &outcome.end {
        TurnEnd::Ended(ended) => ended.clone(),
        TurnEnd::Waiting(requests) => panic!("it waits for {requests:?}"),
        TurnEnd::Paused(paused) => panic!("it is paused: {paused:?}"),
    }
}

/// The end of a turn that nobody disturbs, and how many appends it takes.
async fn undisturbed(rounds: Rounds) -> (Arc<Ended>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let services = Services::new();
    let life = Life::begin(&folder.path().join("agcore.db"), &services, replies(rounds, 0), None).await;
    let ended = ended(&life.ask().await.unwrap());
    assert_eq!((ended.reason, services.runs()), (EndReason::Answered, vec![(READ, 1), (KEYED, 1), (PLAIN, 1)]));
    (ended, life.journal.appends.load(Ordering::SeqCst))
}

/// Ends a first driver at `first`, a second one at `second` when there is one, and lets the last one finish.
/// Returns whether the second one came so far.
async fn disturbed(rounds: Rounds, first: (usize, Side), second: Option<(usize, Side)>, whole: &Ended) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (db, services) = (folder.path().join("agcore.db"), Services::new());
    let context = format!("{rounds:?}, dies at {first:?}, then at {second:?}");
    let life = Life::begin(&db, &services, replies(rounds, 0), Some(first)).await;
    assert!(life.ask().await.is_none(), "{context}");
    let mut asked = life.model.calls();
    let Some(head) = life.runtime.turns(10).await.unwrap().into_iter().next() else {
        assert_eq!(first, (1, Side::Before), "{context}");
        assert_eq!((asked, services.runs()), (0, vec![(READ, 0), (KEYED, 0), (PLAIN, 0)]), "{context}");
        return false;
    };
    drop(life);

    let (mut crashes, mut lost, mut outcome) = (1, false, None);
    for at in [second, None] {
        let life = Life::begin(&db, &services, Vec::new(), None).await;
        let known = Known::of(&life.runtime.journal(&head.turn).await.unwrap());
        lost |= known.is_lost();
        drop(life);
        let before = services.runs();
        let life = Life::begin(&db, &services, replies(rounds, known.replies), at).await;
        outcome = life.resume(&head.turn).await;
        asked += life.model.calls();
        for ((name, before), (_, after)) in before.into_iter().zip(services.runs()) {
            let closed = known.finished.iter().any(|finished| finished == name);
            assert!(!closed || before == after, "{name} was finished and ran again: {context}");
        }
        if outcome.is_some() {
            break;
        }
        crashes += 1;
    }

    let outcome = outcome.unwrap();
    let end = ended(&outcome);
    let (read, keyed, plain) = (&services.read, &services.keyed, &services.plain);
    assert!((1..=1 + crashes).contains(&read.runs()), "{context}");
    assert!(keyed.keys().iter().all(|key| Some(key) == keyed.keys().first()), "{context}");
    assert_eq!(keyed.effects(), 1, "{context}");
    let wanted = rounds.len() + 1 - usize::from(lost);
    assert!((wanted..=wanted + crashes).contains(&asked), "{asked} model calls: {context}");
    if lost {
        assert_eq!(end.reason, EndReason::OutcomeUnknown, "{context}");
        assert!(plain.runs() <= 1, "{context}");
    } else {
        assert_eq!((end.as_ref(), plain.runs(), plain.effects()), (whole, 1, 1), "{context}");
    }
    let life = Life::begin(&db, &services, Vec::new(), None).await;
    let books = life.journal.balances("all", Timestamp::from_ms(0), Timestamp::from_ms(0), 1).await.unwrap().remove(0);
    let spent = outcome.turn.ledger().spent();
    assert_eq!(
        (books.spent, books.reserved),
        (spent, MicroUsd::ZERO),
        "the account differs from the ledger: {context}"
    );
    let journal = life.runtime.journal(&head.turn).await.unwrap();
    assert_eq!(unknown_calls(&journal), 0, "a resumed turn closes lost calls by itself: {context}");
    let again = life.resume(&head.turn).await.unwrap();
    assert_eq!((ended(&again), life.model.calls()), (end, 0), "a turn that is over stays as it is: {context}");
    crashes == 2
}

/// How many calls were journalled with an unknown outcome, rather than found to be so by the one who resumed.
fn unknown_calls(journal: &[Recorded]) -> usize {
    let unknown = |recorded: &&Recorded| matches!(&recorded.event, Event::CallFinished(ended) if ended.outcome.status == CallStatus::OutcomeUnknown);
    journal.iter().filter(unknown).count()
}

fn sides(nth: usize) -> [(usize, Side); 2] {
    [(nth, Side::Before), (nth, Side::After)]
}

async fn dies_at_every_append(rounds: Rounds) {
    let (whole, appends) = undisturbed(rounds).await;
    assert!(appends >= rounds.len() + 2, "{appends} appends");
    for first in (1..=appends).flat_map(sides) {
        disturbed(rounds, first, None, &whole).await;
    }
}

#[tokio::test]
async fn calls_in_rounds_have_one_effect_wherever_the_driver_ends() {
    dies_at_every_append(SHAPES[0]).await;
}

#[tokio::test]
async fn calls_in_one_reply_have_one_effect_wherever_the_driver_ends() {
    dies_at_every_append(SHAPES[1]).await;
}

#[tokio::test]
async fn a_lost_write_before_others_is_reported_and_they_have_one_effect() {
    dies_at_every_append(SHAPES[2]).await;
}

#[tokio::test]
async fn a_driver_that_ends_while_it_resumes_changes_nothing_of_that() {
    let rounds = SHAPES[1];
    let (whole, appends) = undisturbed(rounds).await;
    for first in (1..=appends).map(|nth| (nth, Side::After)) {
        for second in (1..).flat_map(sides) {
            if !disturbed(rounds, first, Some(second), &whole).await {
                break;
            }
        }
    }
}
