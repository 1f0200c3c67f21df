//! Notices when a model goes in circles: the same call with the same result, again and again.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::CapabilityId;

/// The same call may bring the same result this many times more before the tool is withheld.
const REPEATS_BEFORE_WITHHOLDING: u32 = 2;

/// This many rounds in which nothing ran or nothing was new end the turn.
const BARREN_ROUNDS: u32 = 3;

/// What the detector knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Call digest to the digest of its last result, and how often that came again.
    seen: BTreeMap<String, (String, u32)>,
    withheld: BTreeSet<CapabilityId>,
    barren_rounds: u32,
}

impl Progress {
    /// How many times this very result would have come again.
    pub(super) fn repeats(&self, call: &str, result: &str) -> u32 {
        match self.seen.get(call) {
            Some((last, repeats)) if last == result => repeats + 1,
            Some(_) | None => 0,
        }
    }

    /// A call finished. Returns whether it brought something new.
    pub(super) fn observe(&mut self, capability: Option<&CapabilityId>, call: &str, result: &str) -> bool {
        let repeats = self.repeats(call, result);
        if call.is_empty() {
            return true;
        }
        self.seen.insert(call.to_owned(), (result.to_owned(), repeats));
        if repeats >= REPEATS_BEFORE_WITHHOLDING {
            self.withheld.extend(capability.cloned());
        }
        repeats == 0
    }

    /// A round of calls is over.
    pub(super) fn round(&mut self, brought_something_new: bool) {
        self.barren_rounds = if brought_something_new { 0 } else { self.barren_rounds + 1 };
    }

    pub(super) fn is_withheld(&self, capability: &CapabilityId) -> bool {
        self.withheld.contains(capability)
    }

    pub(super) fn exhausted(&self) -> bool {
        self.barren_rounds >= BARREN_ROUNDS
    }
}
