//! Money as integer micro-dollars: sums are exact and never negative.

use std::{fmt, iter::Sum, ops::Add};

use serde::{Deserialize, Serialize};

/// An amount in millionths of a US dollar (1 USD = 1,000,000). Sums saturate instead of wrapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(u64);

impl MicroUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount of `micro` millionths of a dollar.
    pub const fn new(micro: u64) -> Self {
        Self(micro)
    }

    /// The nearest amount to `usd` dollars; `None` when it is negative, not a number or above 10¹² dollars.
    pub fn from_usd(usd: f64) -> Option<Self> {
        let micro = (usd * 1e6).round();
        if (0.0..=1e18).contains(&micro) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was just checked")]
            Some(Self(micro as u64))
        } else {
            None
        }
    }

    /// Millionths of a dollar.
    pub const fn micro(self) -> u64 {
        self.0
    }

    /// In dollars, for people; sums are made of micro-dollars.
    #[expect(clippy::cast_precision_loss, reason = "shown, never calculated with")]
    pub const fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// What is left of `self` after `other`, zero at the least.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for MicroUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
