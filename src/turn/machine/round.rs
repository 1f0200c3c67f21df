//! The end of a round: all calls of a reply have their outcome.

use std::sync::Arc;

use super::Turn;
use crate::{
    policy::Heard,
    turn::{Call, CallOutcome, CallStage, CallStatus, Doubt, Phase, Resolved, illustrate, limit},
    types::{CapabilityId, Entry, ToolResult},
};

impl Turn {
    /// All calls of the reply have their outcome: their results go into the history, in call order.
    pub(super) fn close_round(&mut self) {
        let mut news = false;
        let mut results = Vec::with_capacity(self.calls.len());
        for call in std::mem::take(&mut self.calls) {
            let CallStage::Done(outcome) = &call.stage else { continue };
            news |= self.book(&call, outcome);
            let is_error = outcome.status != CallStatus::Ok;
            let CallStage::Done(outcome) = call.stage else { continue };
            // The last outcome is still held by its event; the others are nobody else's by now.
            let images = illustrate::addresses(&outcome.projection);
            let content = match Arc::try_unwrap(outcome) {
                Ok(outcome) => outcome.projection.content,
                Err(outcome) => outcome.projection.content.clone(),
            };
            results.push(ToolResult { provider_id: call.provider_id, name: call.name, content, is_error, images });
        }
        self.history.push(Entry::Results(results));
        self.rounds += 1;
        self.progress.round(news);
        self.enter(Phase::ProjectResults);
        if self.stopping.is_some() {
            return self.enter(Phase::FinalReady);
        }
        if self.limits_reached.is_empty() {
            self.limits_reached.extend(limit::reached(self));
        }
        self.notify_of_limit();
    }

    /// Tells the model, once and never between a call and its result, that its next reply has to be the answer.
    pub(super) fn notify_of_limit(&mut self) {
        let Some(kind) = self.limits_reached.first() else { return };
        if self.notified || !self.calls.is_empty() {
            return;
        }
        self.notified = true;
        let limit = kind.as_str();
        self.history.push(Entry::Notice(format!(
            "The limit {limit} of this turn is reached: no more tools can be called. Answer now from what is known, \
             and say what is missing."
        )));
    }

    /// Books an outcome. Returns whether it brought something new.
    pub(super) fn book(&mut self, call: &Call, outcome: &CallOutcome) -> bool {
        self.tokens_from_tools.0 = self.tokens_from_tools.0.saturating_add(outcome.tokens.0);
        self.tainted |= outcome.untrusted;
        self.injection_score = self.injection_score.max(outcome.injection_score);
        if outcome.untrusted {
            let capability = call.capability().map_or(call.name.as_str(), CapabilityId::as_str);
            self.heard.push(Arc::new(Heard::new(call.id.as_str(), capability, outcome.projection.content.as_str())));
        }
        if outcome.status == CallStatus::OutcomeUnknown {
            self.doubts.push(Doubt { call: call.id.clone(), capability: call.capability().cloned() });
        }
        self.data_classes.extend(&outcome.data_classes);
        self.sources.extend(outcome.projection.citations.iter().cloned());
        if let Some(capability) = call.capability().cloned() {
            let failures = self.failures.entry(capability).or_default();
            let failed = matches!(outcome.status, CallStatus::Error | CallStatus::Refused | CallStatus::Interrupted);
            *failures = if failed { *failures + 1 } else { 0 };
        }
        let polling = call.decided.as_ref().is_some_and(|decided| decided.polling);
        if polling {
            return outcome.status == CallStatus::Ok;
        }
        let new = self.progress.observe(call.capability(), call.digest(), &outcome.result_digest);
        new && outcome.status == CallStatus::Ok
    }

    /// A person found out. Who goes on from this history is told.
    pub(super) fn on_resolved(&mut self, resolved: &Resolved) {
        self.doubts.retain(|doubt| doubt.call != resolved.call);
        let Resolved { call, took_effect, receipt, by, .. } = resolved;
        let said = if *took_effect { "took effect: do not repeat it" } else { "took no effect" };
        let receipt = receipt.as_ref().map(|receipt| format!(" Its receipt is {receipt}.")).unwrap_or_default();
        self.history
            .push(Entry::Notice(format!("{by} has found out that {call}, of unknown outcome, {said}.{receipt}")));
    }
}
