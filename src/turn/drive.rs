//! Takes a turn to its end: asks the machine what must happen, does it, records what came of it, and loops.
//! The path of a turn can be read here from top to bottom.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::types::{CallId, DurationMs, TurnId};

use super::{
    ApprovalDecided, ApprovalRequest, Approver, CallStatus, Ended, Event, Exposed, Parts, Resumed, Started, Step, Turn,
    TurnError, Watcher, answer, ask::Asking, decide, log::Log, outcome, prepare,
};
use crate::execute::errors;

/// How a turn was left by its driver.
#[derive(Debug, Clone)]
pub enum TurnEnd {
    /// It is over.
    Ended(Arc<Ended>),
    /// It waits for people; it is taken up again once they have decided.
    Waiting(Vec<ApprovalRequest>),
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
    approver: Option<Arc<dyn Approver>>,
}

/// Runs a new turn until it is over or waits.
///
/// # Errors
/// [`TurnError`] when the journal cannot be written; the turn can be resumed from what is in it.
pub async fn run(parts: &Parts, started: Started, company: Company) -> Result<TurnOutcome, TurnError> {
    let log = Log::open(started, parts.clock.clone(), parts.journal.clone(), company.watcher.clone())?;
    Box::pin(Driver::new(parts, log, company, false).drive()).await
}

/// Takes up a turn that waits, or whose driver is gone, and runs it until it is over or waits again.
///
/// # Errors
/// [`TurnError`] when the journal cannot be read or written, or another process has taken the turn up.
pub async fn resume(parts: &Parts, id: &TurnId, company: Company) -> Result<TurnOutcome, TurnError> {
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), company.watcher.clone()).await?;
    match log.turn().next() {
        Step::Done | Step::Finish(_) => {}
        Step::Prepare | Step::CallModel(_) | Step::Decide(_) | Step::Execute(_) | Step::AwaitApproval(_) => {
            log.record(Event::Resumed(Resumed { by: parts.clock.fresh_id() }))?;
        }
    }
    Box::pin(Driver::new(parts, log, company, true).drive()).await
}

/// Records a person's decision on a call of a turn that waits. The turn goes on with [`resume`].
///
/// # Errors
/// [`TurnError::NotWaiting`] when the turn does not wait for this call; [`TurnError::Illegal`] when the decision was
/// given for other arguments.
pub async fn decide_approval(
    parts: &Parts,
    id: &TurnId,
    call: &str,
    digest: Option<&str>,
    answer: &super::ApprovalAnswer,
) -> Result<(), TurnError> {
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), Arc::new(())).await?;
    let waiting = requests(log.turn());
    let request = waiting.iter().find(|request| request.call.as_str() == call);
    let request = request.ok_or_else(|| TurnError::NotWaiting { turn: id.clone(), call: call.to_owned() })?;
    let event = approval_event(parts, log.turn(), request, digest.unwrap_or(&request.digest), answer);
    log.record(event)?;
    log.commit().await
}

impl<'a> Driver<'a> {
    fn new(parts: &'a Parts, log: Log, company: Company, resumed: bool) -> Self {
        let Company { watcher, approver, cancel } = company;
        Self {
            parts,
            log,
            watcher,
            cancel,
            asking: None,
            added: Vec::new(),
            last_answer: crate::types::MicroUsd::ZERO,
            resumed,
            approver,
        }
    }

    async fn drive(mut self) -> Result<TurnOutcome, TurnError> {
        loop {
            match self.log.turn().next() {
                Step::Prepare => self.prepare()?,
                Step::CallModel(step) => self.ask_model(step).await?,
                Step::Decide(calls) => self.decide(&calls)?,
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
                Step::Done => {
                    self.log.commit().await?;
                    return Ok(self.leave());
                }
            }
        }
    }

    fn prepare(&mut self) -> Result<(), TurnError> {
        let prepared = prepare::prepare(self.parts, self.log.turn().started());
        self.log.record(Event::Prepared(Arc::new(prepared)))
    }

    fn decide(&mut self, calls: &[CallId]) -> Result<(), TurnError> {
        let decisions = decide::decide(self.parts, self.log.turn(), calls);
        self.resumed = false;
        self.log.record(Event::CallsDecided(decisions))
    }

    /// Asks people about the calls that wait. False when nobody is there to answer: the turn is left waiting, durably.
    async fn ask_people(&mut self) -> Result<bool, TurnError> {
        self.log.commit().await?;
        let Some(approver) = self.approver.clone() else { return Ok(false) };
        for request in requests(self.log.turn()) {
            if self.log.turn().next() == Step::Done {
                break;
            }
            let Some(answer) = self.cancel.run_until_cancelled(approver.ask(&request)).await else {
                self.note_cancel()?;
                return Ok(true);
            };
            let Some(answer) = answer else { return Ok(false) };
            let still_waits = requests(self.log.turn()).iter().any(|other| other.call == request.call);
            if still_waits {
                let event = approval_event(self.parts, self.log.turn(), &request, &request.digest, &answer);
                self.log.record(event)?;
                self.log.commit().await?;
            }
        }
        Ok(true)
    }

    fn leave(self) -> TurnOutcome {
        let turn = self.log.into_turn();
        let end = match turn.ended() {
            Some(ended) => TurnEnd::Ended(ended.clone()),
            None => TurnEnd::Waiting(requests(&turn)),
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
        DurationMs(turn.started().limits.max_wall_time.0.saturating_sub(active.0)).as_duration()
    }
}

/// What a turn waits for.
pub fn requests(turn: &Turn) -> Vec<ApprovalRequest> {
    let Step::AwaitApproval(calls) = turn.next() else { return Vec::new() };
    let waiting = calls.iter().filter_map(|id| turn.call(id));
    let request = |call: &super::Call| {
        Some(ApprovalRequest {
            turn: turn.started().turn.clone(),
            call: call.id.clone(),
            capability: call.capability()?.clone(),
            arguments: call.effective_arguments().to_owned(),
            digest: call.digest().to_owned(),
            decision: call.decided.as_ref().and_then(|decided| decided.decision.clone()),
        })
    };
    waiting.filter_map(request).collect()
}

fn approval_event(
    parts: &Parts,
    turn: &Turn,
    request: &ApprovalRequest,
    digest: &str,
    answer: &super::ApprovalAnswer,
) -> Event {
    let rejection = match turn.call(&request.call) {
        Some(call) if !answer.approved => {
            let error = errors::rejected(answer.reason.as_deref());
            Some(Arc::new(outcome::refused(parts, call, CallStatus::Rejected, error)))
        }
        Some(_) | None => None,
    };
    Event::ApprovalDecided(ApprovalDecided {
        call: request.call.clone(),
        digest: digest.to_owned(),
        approved: answer.approved,
        by: answer.by.clone(),
        reason: answer.reason.clone(),
        rejection,
    })
}
