//! The turn's money: the worst case is reserved before a call, the difference comes back after it.

use serde::{Deserialize, Serialize};

use crate::types::MicroUsd;

/// What a turn has spent and may still spend on its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Spent on models.
    pub model: MicroUsd,
    /// Spent on tools.
    pub tools: MicroUsd,
    /// Reserved for calls that are running.
    pub reserved: MicroUsd,
    /// Whether a model's price was not known: the sums are a lower bound then.
    pub unpriced: bool,
}

impl Ledger {
    /// All that was spent.
    pub fn spent(&self) -> MicroUsd {
        self.model + self.tools
    }

    /// Sets an amount aside.
    pub(super) fn reserve(&mut self, amount: MicroUsd) {
        self.reserved += amount;
    }

    /// Gives a reservation back and books what a model call really cost.
    pub(super) fn commit_model(&mut self, reserved: MicroUsd, cost: Option<MicroUsd>) {
        self.reserved = self.reserved.saturating_sub(reserved);
        match cost {
            Some(cost) => self.model += cost,
            None => self.unpriced = true,
        }
    }

    /// Gives a reservation back and books what a tool call really cost.
    pub(super) fn commit_tool(&mut self, reserved: MicroUsd, cost: MicroUsd) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.tools += cost;
    }
}
