//! What the rest of agcore may read of a turn.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    config::Limits,
    llm::ModelError,
    policy::{Heard, Said},
    quota::Shortfall,
    types::{CallId, CapabilityId, Citation, DataClass, DurationMs, Entry, Reply, Timestamp, Tokens, Usage},
};

use super::Turn;
use crate::turn::{Call, Doubt, Ended, Exposed, Ledger, LimitKind, Operated, Phase, Prepared, Started, prepare};

/// What the rest of agcore may read of a turn.
impl Turn {
    /// What the turn started with.
    pub fn started(&self) -> &Arc<Started> {
        &self.started
    }

    /// The limits in force: those it started with, unless an operator changed them.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Who put the turn down, and why, while it is.
    pub fn paused(&self) -> Option<&Arc<Operated>> {
        self.paused.as_ref()
    }

    /// What preparation decided.
    pub fn prepared(&self) -> Option<&Arc<Prepared>> {
        self.prepared.as_ref()
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The phases the last event led through.
    pub fn trail(&self) -> &[Phase] {
        &self.trail
    }

    /// The number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The conversation, this turn's part included.
    pub fn history(&self) -> &[Entry] {
        &self.history
    }

    /// The tools in front of the model, in order. The list only grows.
    pub fn exposed(&self) -> &[Exposed] {
        &self.exposed
    }

    /// The hosted tools that later requests go without, since the gate turned against them.
    pub fn removed(&self) -> &BTreeSet<CapabilityId> {
        &self.removed
    }

    /// The calls of the last reply that are not closed yet.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// One of them.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == *id)
    }

    /// How many calls of a capability were started.
    pub fn calls_of(&self, capability: &CapabilityId) -> u32 {
        self.calls_of.get(capability).copied().unwrap_or(0)
    }

    /// How many calls of a capability failed in a row.
    pub fn failures_of(&self, capability: &CapabilityId) -> u32 {
        self.failures.get(capability).copied().unwrap_or(0)
    }

    /// How many tool calls were started.
    pub fn tool_calls(&self) -> u32 {
        self.tool_calls
    }

    /// How many model calls were started.
    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// How many tokens of tool results are in the context.
    pub fn tokens_from_tools(&self) -> Tokens {
        self.tokens_from_tools
    }

    /// How often this very result of this very call came before, were it to come now.
    pub fn repeats(&self, call: &Call, result_digest: &str) -> u32 {
        self.progress.repeats(call.digest(), result_digest)
    }

    /// Whether the progress detector withholds a capability for the rest of the turn.
    pub fn is_withheld(&self, capability: &CapabilityId) -> bool {
        self.progress.is_withheld(capability)
    }

    /// The money.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What the models consumed.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Whether untrusted content has entered the context.
    pub fn is_tainted(&self) -> bool {
        self.tainted
    }

    /// How much the worst of the untrusted results looks like it holds instructions, in thousandths.
    pub fn injection_score(&self) -> u16 {
        self.injection_score
    }

    /// What the user said, in this turn and before it.
    pub fn said(&self) -> &Arc<Said> {
        self.said.get_or_init(|| Arc::new(Said::new(prepare::said(&self.started))))
    }

    /// What untrusted sources brought into the context, in order.
    pub fn heard(&self) -> &[Arc<Heard>] {
        &self.heard
    }

    /// The classes of data that were read.
    pub fn data_classes(&self) -> &BTreeSet<DataClass> {
        &self.data_classes
    }

    /// The sources that tools named.
    pub fn sources(&self) -> &[Citation] {
        &self.sources
    }

    /// The writes of which nobody knows whether they took effect, and nobody has found out since.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The limits that were reached.
    pub fn limits_reached(&self) -> &[LimitKind] {
        &self.limits_reached
    }

    /// Which shared budget could not pay, what is left of it, and when it starts anew.
    pub fn shortfall(&self) -> Option<&Shortfall> {
        self.short.as_deref()
    }

    /// The last reply.
    pub fn last_reply(&self) -> Option<&Arc<Reply>> {
        self.last_reply.as_ref()
    }

    /// Why the model could not be reached.
    pub fn failure(&self) -> Option<&ModelError> {
        self.failure.as_ref()
    }

    /// How long the turn was active: without waiting for people, pause and downtime.
    pub fn active(&self) -> DurationMs {
        self.active
    }

    /// When the last event was recorded.
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// How it ended.
    pub fn ended(&self) -> Option<&Arc<Ended>> {
        self.ended.as_ref()
    }
}
