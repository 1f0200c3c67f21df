//! The only place that reads the wall clock and makes random ids.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::SystemTime,
};

use crate::types::{DurationMs, Timestamp};

/// Where time and fresh ids come from. The turn machine never calls it: time and ids arrive in events.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A fresh id of 32 hex digits, sortable by time where the clock can.
    fn fresh_id(&self) -> String;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn fresh_id(&self) -> String {
        uuid::Uuid::now_v7().simple().to_string()
    }
}

/// A clock for tests: it moves only when told, and its ids count up.
#[derive(Debug, Default)]
pub struct TestClock {
    now: AtomicI64,
    ids: AtomicU64,
    step: Mutex<DurationMs>,
}

impl TestClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicI64::new(now.ms()), ..Self::default() }
    }

    /// Moves the clock.
    pub fn advance(&self, by: DurationMs) {
        self.now.fetch_add(i64::try_from(by.0).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Makes every reading move the clock by `step`.
    pub fn tick(&self, step: DurationMs) {
        if let Ok(mut held) = self.step.lock() {
            *held = step;
        }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let step = self.step.lock().map(|held| held.0).unwrap_or(0);
        Timestamp::from_ms(self.now.fetch_add(i64::try_from(step).unwrap_or(0), Ordering::SeqCst))
    }

    fn fresh_id(&self) -> String {
        format!("{:032x}", self.ids.fetch_add(1, Ordering::SeqCst) + 1)
    }
}
