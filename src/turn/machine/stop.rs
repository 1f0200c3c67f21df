//! How a turn is stopped or taken up again, and what becomes of its calls.

use std::sync::Arc;

use super::Turn;
use crate::{
    turn::{CallOutcome, CallStage, CallStatus, EndReason, LimitKind, Phase, Resumed},
    types::MicroUsd,
};

impl Turn {
    pub(super) fn on_limit(&mut self, kind: LimitKind) {
        let again = self.limits_reached.contains(&kind);
        self.limits_reached.push(kind);
        // Time that is up, or money that does not even buy the last answer, leaves no room for another call.
        if kind == LimitKind::WallTime || again {
            self.stop(kind.end_reason());
        } else {
            self.notify_of_limit();
        }
    }

    /// Ends the turn as soon as nothing runs any more.
    pub(super) fn stop(&mut self, reason: EndReason) {
        self.stopping = Some(self.stopping.unwrap_or(reason));
        if self.model_call.is_some() {
            let reserved = self.close_model_call();
            self.ledger.commit_model(reserved, Some(MicroUsd::ZERO));
        }
        let status = if reason == EndReason::Cancelled { CallStatus::Cancelled } else { CallStatus::Refused };
        self.refuse_open_calls(status, "the turn was stopped before this call started");
        let running = self.calls.iter().any(|call| matches!(call.stage, CallStage::Running { .. }));
        if running {
            return;
        }
        if self.calls.is_empty() { self.enter(Phase::FinalReady) } else { self.close_round() }
    }

    pub(super) fn refuse_open_calls(&mut self, status: CallStatus, why: &str) {
        for call in &mut self.calls {
            if matches!(call.stage, CallStage::Requested | CallStage::Ready | CallStage::Waiting) {
                call.stage = CallStage::Done(Arc::new(CallOutcome::not_run(&call.id, status, why)));
            }
        }
    }

    pub(super) fn refuse_waiting_calls(&mut self) {
        for call in &mut self.calls {
            if matches!(call.stage, CallStage::Waiting) {
                let why = "the turn ended before a person had decided";
                call.stage = CallStage::Done(Arc::new(CallOutcome::not_run(&call.id, CallStatus::Cancelled, why)));
            }
        }
    }

    /// What ran when the process died: reads and keyed writes run again, any other write is of unknown outcome.
    pub(super) fn on_resumed(&mut self, resumed: &Resumed) {
        if self.model_call.as_ref().is_some_and(|call| call.hosted_write) {
            self.stopping = Some(EndReason::OutcomeUnknown);
            let reserved = self.close_model_call();
            self.ledger.commit_model(reserved, None);
            return self.enter(Phase::FinalReady);
        }
        for finished in &resumed.looked_up {
            self.on_call_finished(finished);
        }
        let mut unknown = false;
        for call in &mut self.calls {
            let CallStage::Running { reserved, .. } = call.stage else { continue };
            if call.in_doubt_after_crash() {
                self.ledger.commit_tool(reserved, reserved);
                let why = "the process ended while this call ran; whether it took effect is not known";
                let outcome = CallOutcome::not_run(&call.id, CallStatus::OutcomeUnknown, why);
                call.stage = CallStage::Done(Arc::new(outcome));
                unknown = true;
            } else {
                self.ledger.commit_tool(reserved, MicroUsd::ZERO);
                self.tool_calls = self.tool_calls.saturating_sub(1);
                if let Some(count) = call.capability().and_then(|id| self.calls_of.get_mut(id)) {
                    *count = count.saturating_sub(1);
                }
                call.stage = CallStage::Ready;
            }
        }
        if unknown {
            self.stopping = Some(EndReason::OutcomeUnknown);
            self.refuse_waiting_calls();
            self.settle();
        }
    }
}
