//! Which events may follow: an event out of place changes nothing.

use std::{collections::BTreeSet, sync::Arc};

use super::Turn;
use crate::turn::{
    ApprovalDecided, Call, CallDecided, CallFinished, CallStage, Event, ModelReplied, Phase, Recorded, Verdict,
};

/// An event that cannot follow the ones before it. The state is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} (`{kind}`) cannot follow in phase {phase:?}: {why}")]
pub struct IllegalEvent {
    /// Its place.
    pub seq: u64,
    /// Its kind.
    pub kind: &'static str,
    /// Where the turn stands.
    pub phase: Phase,
    /// What is wrong.
    pub why: &'static str,
}

impl Turn {
    /// Why an event may not follow, if so.
    pub(super) fn check(&self, recorded: &Recorded) -> Result<(), &'static str> {
        if recorded.seq != self.next_seq {
            return Err("its number does not follow");
        }
        if let Event::Resolved(resolved) = &recorded.event {
            let known = self.doubts.iter().any(|doubt| doubt.call == resolved.call);
            return (known && self.ended.is_some()).then_some(()).ok_or("no call of that name is in doubt");
        }
        if self.ended.is_some() {
            return Err("the turn is over");
        }
        if self.paused.is_some() && !recorded.event.fits_a_pause() {
            return Err("the turn is paused");
        }
        let in_phase = |phases: &[Phase]| {
            if phases.contains(&self.phase) { Ok(()) } else { Err("it does not belong to this phase") }
        };
        match &recorded.event {
            Event::Started(_) => Err("the turn was opened already"),
            Event::Prepared(_) => in_phase(&[Phase::PrepareRequest]),
            Event::ModelCallStarted(call) => {
                in_phase(&[Phase::ModelTurn, Phase::ProjectResults])?;
                let expected = self.model_calls + 1;
                let free = self.model_call.is_none() && call.number == expected;
                free.then_some(()).ok_or("another model call is open, or its number does not follow")
            }
            Event::ModelReplied(ModelReplied { number, .. }) => self.check_open_model_call(*number),
            Event::ModelCallFailed(failed) => self.check_open_model_call(failed.number),
            Event::CallsDecided(decisions) => self.check_decisions(decisions),
            Event::ApprovalDecided(approval) => self.check_approval(approval),
            Event::ToolsAdded(_) => in_phase(&[Phase::ExecuteTools, Phase::ProjectResults, Phase::ModelTurn]),
            Event::ToolsRemoved(_) => {
                in_phase(&[Phase::ProjectResults, Phase::ModelTurn])?;
                self.model_call.is_none().then_some(()).ok_or("a model call is open")
            }
            Event::CallStarted(started) => {
                // Not before every call of the reply is decided.
                in_phase(&[Phase::ExecuteTools])?;
                let ready = self.call(&started.call).is_some_and(|call| matches!(call.stage, CallStage::Ready));
                if !ready {
                    return Err("the call may not start: it is not decided, waits, or runs already");
                }
                let room = self.tool_calls < self.limits.max_tool_calls_per_turn;
                room.then_some(()).ok_or("the turn has no tool call left")
            }
            Event::CallFinished(finished) => self.check_finished(finished),
            Event::Resumed(resumed) if !self.were_running(&resumed.looked_up) => Err("it settles what did not run"),
            Event::LimitReached(_) | Event::BudgetShort(_) | Event::Cancelled { .. } | Event::Resumed(_) => {
                (self.phase != Phase::FinalReady).then_some(()).ok_or("the turn is about to end")
            }
            Event::Operated(operated) => self.check_operated(operated),
            Event::Resolved(_) => Err("the turn is not over"),
            Event::Ended(_) => in_phase(&[Phase::FinalReady]),
        }
    }

    /// Whether each of these is about another call that runs.
    fn were_running(&self, finished: &[CallFinished]) -> bool {
        let mut seen = BTreeSet::new();
        finished.iter().all(|finished| {
            self.call(&finished.call).is_some_and(Call::in_doubt_after_crash) && seen.insert(&finished.call)
        })
    }

    fn check_open_model_call(&self, number: u32) -> Result<(), &'static str> {
        let open = self.model_call.as_ref().is_some_and(|call| call.number == number);
        open.then_some(()).ok_or("no model call of that number is open")
    }

    fn check_decisions(&self, decisions: &[Arc<CallDecided>]) -> Result<(), &'static str> {
        let mut seen = BTreeSet::new();
        for decided in decisions {
            let call = self.call(&decided.call).ok_or("no such call in the last reply")?;
            if !matches!(call.stage, CallStage::Requested) || !seen.insert(&decided.call) {
                return Err("a call is decided once");
            }
            if let Verdict::Refuse(outcome) = &decided.verdict
                && outcome.status.ran()
            {
                return Err("a refused call cannot have run");
            }
        }
        (!decisions.is_empty()).then_some(()).ok_or("it decides nothing")
    }

    fn check_approval(&self, approval: &ApprovalDecided) -> Result<(), &'static str> {
        let call = self.call(&approval.call).ok_or("no such call in the last reply")?;
        if !matches!(call.stage, CallStage::Waiting) {
            return Err("the call does not wait for a person");
        }
        if approval.edit.is_some() && !approval.approved {
            return Err("a rejected call has no effective arguments");
        }
        (call.digest() == approval.digest).then_some(()).ok_or("it was given for other arguments")
    }

    fn check_finished(&self, finished: &CallFinished) -> Result<(), &'static str> {
        let call = self.call(&finished.call).ok_or("no such call in the last reply")?;
        match (&call.stage, finished.outcome.status.ran()) {
            (CallStage::Running { .. }, _) | (CallStage::Ready, false) => Ok(()),
            (CallStage::Ready, true) => Err("the call ran without having been started"),
            (CallStage::Requested | CallStage::Waiting, _) => Err("the call was not decided"),
            (CallStage::Done(_), _) => Err("the call has its outcome already"),
        }
    }
}
