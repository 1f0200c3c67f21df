//! Takes a turn to its end: asks the machine what must happen, does it, records what came of it, and loops.
//! The path of a turn can be read here from top to bottom.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::types::{CallId, DurationMs, TurnId};

use super::{
    Act, ApprovalRequest, Approver, Ended, Event, Exposed, Operated, Operator, Parts, Resumed, Started, Step, Turn,
    TurnError, Watcher, answer, approve,
    ask::Asking,
    decide,
    log::Log,
    operate, prepare,
    purse::Purse,
    resource::{self, Resources},
    settle,
};

/// How a turn was left by its driver.
#[derive(Debug, Clone)]
pub enum TurnEnd {
    /// It is over.
    Ended(Arc<Ended>),
    /// It waits for people; it is taken up again once they have decided.
    Waiting(Vec<ApprovalRequest>),
    /// An operator, or a halt, put it down; this says who and why. It is taken up again once it may go on.
    Paused(Arc<Operated>),
}

/// A turn and how its driver left it.
#[derive(Debug, Clone)]
pub struct TurnOutcome {
    /// The state.
    pub turn: Turn,
    /// Over, or waiting.
    pub end: TurnEnd,
}

/// Who looks on, who answers for a person, who may cancel.
#[derive(Clone)]
pub struct Company {
    /// Looks on.
    pub watcher: Arc<dyn Watcher>,
    /// Answers for a person.
    pub approver: Option<Arc<dyn Approver>>,
    /// Cancels the turn.
    pub cancel: CancellationToken,
}

impl Default for Company {
    fn default() -> Self {
        Self { watcher: Arc::new(()), approver: None, cancel: CancellationToken::new() }
    }
}

impl std::fmt::Debug for Company {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Company").field("approver", &self.approver.is_some()).finish_non_exhaustive()
    }
}

/// Drives one turn.
pub(super) struct Driver<'a> {
    pub(super) parts: &'a Parts,
    pub(super) log: Log,
    pub(super) watcher: Arc<dyn Watcher>,
    pub(super) cancel: CancellationToken,
    pub(super) asking: Option<Asking>,
    pub(super) added: Vec<Exposed>,
    pub(super) last_answer: crate::types::MicroUsd,
    /// Whether the calls at hand were decided before this driver began.
    pub(super) resumed: bool,
    pub(super) approver: Option<Arc<dyn Approver>>,
    /// The orders that were carried out, as the store numbers them.
    pub(super) heeded: u64,
    pub(super) purse: Purse,
}

/// Runs a new turn until it is over, waits, or is put down.
///
/// # Errors
/// [`TurnError`] when the journal cannot be written; the turn can be resumed from what is in it.
pub async fn run(parts: &Parts, started: Started, company: Company) -> Result<TurnOutcome, TurnError> {
    let claim = parts.journal.orders().claim_new(&started.turn)?;
    let log = Log::open(started, claim, parts.clock.clone(), parts.journal.clone(), company.watcher.clone())?;
    Box::pin(Driver::new(parts, log, company, false).drive()).await
}

/// Takes up a turn that waits, or whose driver is gone, and runs it until it is over, waits again, or is put down. A turn
/// that an operator paused stays so.
///
/// # Errors
/// [`TurnError`] when the journal cannot be read or written, or another process drives the turn.
pub async fn resume(parts: &Parts, id: &TurnId, company: Company) -> Result<TurnOutcome, TurnError> {
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), company.watcher.clone()).await?;
    if log.turn().next() == Step::Done {
        return Ok(Driver::new(parts, log, company, true).leave());
    }
    let claim = parts.journal.orders().claim(id).await?;
    // Between reading and claiming, somebody may have driven the turn on.
    log = Log::read(id, parts.clock.clone(), parts.journal.clone(), company.watcher.clone()).await?;
    log.drive_by(claim);
    if let Some(order) = operate::stopping(parts, id).await? {
        return Ok(TurnOutcome { turn: log.into_turn(), end: TurnEnd::Paused(Arc::new(order)) });
    }
    let mut driver = Driver::new(parts, log, company, true);
    if let Some(halted) = driver.log.turn().paused().filter(|paused| paused.act == Act::Halted).cloned()
        && operate::halts(parts).await?.is_empty()
    {
        let by = Operator { by: &halted.by, why: "the halt was lifted" };
        driver.log.record(by.did(Act::Unpaused))?;
    }
    match driver.log.turn().next() {
        Step::Done | Step::Finish(_) | Step::Paused => {}
        Step::Prepare | Step::CallModel(_) | Step::Decide(_) | Step::Execute(_) | Step::AwaitApproval(_) => {
            let looked_up = settle::look_up_doubts(parts, driver.log.turn()).await;
            driver.log.record(Event::Resumed(Resumed {
                by: parts.clock.fresh_id(),
                policy: parts.gate.version(),
                looked_up,
            }))?;
            // Of two that take the turn up at once, one is refused here, before it has run anything.
            driver.commit().await?;
        }
    }
    Box::pin(driver.drive()).await
}

impl<'a> Driver<'a> {
    pub(super) fn new(parts: &'a Parts, log: Log, company: Company, resumed: bool) -> Self {
        let Company { watcher, approver, cancel } = company;
        let purse = Purse::open(parts, log.turn(), resumed);
        Self {
            purse,
            parts,
            log,
            watcher,
            cancel,
            asking: None,
            added: Vec::new(),
            last_answer: crate::types::MicroUsd::ZERO,
            resumed,
            approver,
            heeded: 0,
        }
    }

    pub(super) async fn drive(mut self) -> Result<TurnOutcome, TurnError> {
        loop {
            let mut step = self.log.turn().next();
            if matches!(step, Step::CallModel(_) | Step::Execute(_) | Step::AwaitApproval(_)) {
                self.heed().await?;
                step = self.log.turn().next();
            }
            match step {
                Step::Prepare => self.prepare()?,
                Step::CallModel(step) => self.ask_model(step).await?,
                Step::Decide(calls) => self.decide(&calls).await?,
                Step::Execute(calls) => self.execute(&calls).await?,
                Step::AwaitApproval(_) => {
                    if !self.ask_people().await? {
                        return Ok(self.leave());
                    }
                }
                Step::Finish(reason) => {
                    let ended = answer::compose(self.log.turn(), reason);
                    self.log.record(Event::Ended(Arc::new(ended)))?;
                }
                Step::Done | Step::Paused => {
                    self.commit().await?;
                    return Ok(self.leave());
                }
            }
        }
    }

    fn prepare(&mut self) -> Result<(), TurnError> {
        let prepared = prepare::prepare(self.parts, self.log.turn().started());
        self.log.record(Event::Prepared(Arc::new(prepared)))
    }

    async fn decide(&mut self, calls: &[CallId]) -> Result<(), TurnError> {
        let mut decisions = decide::decide(self.parts, self.log.turn(), calls, &Resources::new());
        let resources = resource::of_calls(self.parts, self.log.turn(), &decisions, &self.cancel).await;
        if !resources.is_empty() {
            decisions = decide::decide(self.parts, self.log.turn(), calls, &resources);
        }
        self.recall(&mut decisions).await?;
        self.resumed = false;
        self.log.record(Event::CallsDecided(decisions.into_iter().map(Arc::new).collect()))
    }

    fn leave(self) -> TurnOutcome {
        let parts = self.parts;
        let turn = self.log.into_turn();
        let end = match (turn.ended(), turn.paused()) {
            (Some(ended), _) => TurnEnd::Ended(ended.clone()),
            (None, Some(paused)) => TurnEnd::Paused(paused.clone()),
            (None, None) => TurnEnd::Waiting(approve::shown(parts, &turn)),
        };
        TurnOutcome { turn, end }
    }

    pub(super) fn note_cancel(&mut self) -> Result<(), TurnError> {
        self.log.record(Event::Cancelled { by: "caller".to_owned() })
    }

    /// The wall time the turn has left.
    pub(super) fn time_left(&self) -> Duration {
        let turn = self.log.turn();
        let active = DurationMs(turn.active().0 + self.log.now().since(turn.last_at()).0);
        DurationMs(turn.limits().max_wall_time.0.saturating_sub(active.0)).as_duration()
    }
}
