//! Points in time and spans of time, both in whole milliseconds.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The point `ms` milliseconds after the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is before.
    pub fn since(self, earlier: Self) -> DurationMs {
        DurationMs(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This point moved `by` later.
    #[must_use]
    pub fn plus(self, by: DurationMs) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.0).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// A span of time in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationMs(pub u64);

impl DurationMs {
    /// The same span for timers.
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl From<Duration> for DurationMs {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for DurationMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 10_000 {
            write!(f, "{} ms", self.0)
        } else {
            write!(f, "{}.{} s", self.0 / 1000, self.0 % 1000 / 100)
        }
    }
}
