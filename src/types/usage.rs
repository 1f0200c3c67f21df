//! What a model call consumed, in counters that never overlap.

use std::{fmt, ops::AddAssign};

use serde::{Deserialize, Serialize};

/// A number of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Disjoint counters: every token is in exactly one of them, so each is priced once.
///
/// Providers disagree on whether cached tokens are inside the prompt count and reasoning inside the output
/// count; the dialects subtract where they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Prompt tokens read from a cache.
    pub cached: u64,
    /// Prompt tokens written to a short-lived (5 minute) cache.
    pub cache_write: u64,
    /// Prompt tokens written to a long-lived (1 hour) cache.
    pub cache_write_long: u64,
    /// Visible output tokens.
    pub output: u64,
    /// Reasoning tokens, billed as output.
    pub reasoning: u64,
    /// Prompt tokens that hosted tools added, where the provider counts them apart.
    pub tool_use: u64,
    /// Hosted searches that are billed per call.
    pub searches: u64,
}

impl Usage {
    /// All prompt tokens.
    pub fn prompt(&self) -> u64 {
        self.input + self.cached + self.cache_write + self.cache_write_long + self.tool_use
    }

    /// All output tokens.
    pub fn completion(&self) -> u64 {
        self.output + self.reasoning
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, o: Self) {
        let add = u64::saturating_add;
        *self = Self {
            input: add(self.input, o.input),
            cached: add(self.cached, o.cached),
            cache_write: add(self.cache_write, o.cache_write),
            cache_write_long: add(self.cache_write_long, o.cache_write_long),
            output: add(self.output, o.output),
            reasoning: add(self.reasoning, o.reasoning),
            tool_use: add(self.tool_use, o.tool_use),
            searches: add(self.searches, o.searches),
        };
    }
}
