//! What an operator did, in the state.

use std::sync::Arc;

use super::Turn;
use crate::{
    config::Limits,
    turn::{Act, CallStage, LimitKind, Operated, Phase, limit},
    types::Entry,
};

impl Turn {
    pub(super) fn check_operated(&self, operated: &Operated) -> Result<(), &'static str> {
        if self.phase == Phase::FinalReady {
            return Err("the turn is about to end");
        }
        let running = self.calls.iter().any(|call| matches!(call.stage, CallStage::Running { .. }));
        match (&operated.act, &self.paused) {
            (Act::Paused | Act::Halted, Some(_)) => Err("the turn is paused already"),
            (Act::Unpaused, None) => Err("the turn is not paused"),
            (Act::Paused | Act::Halted, None) if running => Err("a call runs: it comes to its end first"),
            (Act::Paused | Act::Halted, None) | (Act::Unpaused, Some(_)) | (Act::Limits { .. }, _) => Ok(()),
        }
    }

    pub(super) fn on_operated(&mut self, operated: &Operated) {
        match &operated.act {
            Act::Paused | Act::Halted => self.paused = Some(Arc::new(operated.clone())),
            Act::Unpaused => self.paused = None,
            Act::Limits { limits, .. } => self.on_limits(limits),
        }
    }

    /// New limits hold from the next call on. Where the model was told to answer because a limit was reached that is not
    /// reached any more, it is told that, too.
    fn on_limits(&mut self, limits: &Arc<Limits>) {
        self.limits = Arc::clone(limits);
        let between_rounds = self.calls.is_empty() && self.model_call.is_none();
        if !between_rounds || !matches!(self.phase, Phase::ModelTurn | Phase::ProjectResults) {
            return;
        }
        let counted = |kind: &LimitKind| match kind {
            LimitKind::ToolIterations | LimitKind::ToolCalls | LimitKind::ContextTokens => true,
            LimitKind::WallTime | LimitKind::Cost | LimitKind::NoProgress | LimitKind::Budget => false,
        };
        self.limits_reached.retain(|kind| !counted(kind));
        if self.limits_reached.is_empty() {
            self.limits_reached.extend(limit::reached(self));
        }
        if self.limits_reached.is_empty() && self.notified {
            self.notified = false;
            self.history.push(Entry::Notice("The limits were raised: tools can be called again.".to_owned()));
        }
        self.notify_of_limit();
    }
}
