//! Success and latency as they were seen.

use std::sync::{PoisonError, RwLock};

use super::{Reliability, score::PRIOR_SUCCESS};
use crate::types::{CapabilityId, DurationMs, FastMap};

/// How much one new call counts against all before it.
const NEWEST: f32 = 0.2;

/// A store of how capabilities behaved, shared by all turns of a process: exponential means of success and latency.
///
/// The mean of success starts at 0.95, so that one failed call moves a capability a little and five in a row move it
/// far. Latency starts with the first call that succeeded; failed calls do not count for it (a refusal is fast).
#[derive(Debug, Default)]
pub struct Observed {
    seen: RwLock<FastMap<CapabilityId, Seen>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    success: f32,
    latency_ms: Option<f32>,
}

impl Observed {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// One call ended well after `latency`.
    pub fn succeeded(&self, id: &CapabilityId, latency: DurationMs) {
        self.record(id, Some(latency));
    }

    /// One call failed through no fault of its arguments (timeout, crash, unavailable).
    pub fn failed(&self, id: &CapabilityId) {
        self.record(id, None);
    }

    /// How `id` behaved; `None` when it was never seen.
    pub fn reliability(&self, id: &CapabilityId) -> Option<Reliability> {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.get(id)?;
        Some(Reliability { success: seen.success, latency: to_duration(seen.latency_ms.unwrap_or(0.0)) })
    }

    fn record(&self, id: &CapabilityId, latency: Option<DurationMs>) {
        let mut all = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(id) {
            all.insert(id.clone(), Seen { success: PRIOR_SUCCESS, latency_ms: None });
        }
        let Some(seen) = all.get_mut(id) else { return };
        let outcome = if latency.is_some() { 1.0 } else { 0.0 };
        seen.success += NEWEST * (outcome - seen.success);
        if let Some(latency) = latency {
            let ms = from_duration(latency);
            seen.latency_ms = Some(seen.latency_ms.map_or(ms, |mean| mean + NEWEST * (ms - mean)));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean of milliseconds needs no more than 24 bits")]
fn from_duration(span: DurationMs) -> f32 {
    span.0 as f32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the mean of durations is a duration")]
fn to_duration(ms: f32) -> DurationMs {
    DurationMs(ms.round() as u64)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    fn id(text: &str) -> CapabilityId {
        CapabilityId::new(text).unwrap()
    }

    #[test]
    fn what_was_never_called_has_no_reliability() {
        assert_eq!(Observed::new().reliability(&id("a.b")), None);
    }

    #[test]
    fn failures_pull_success_down_and_successes_bring_it_back() {
        let observed = Observed::new();
        let success = |n: usize, ok: bool| {
            for _ in 0..n {
                if ok { observed.succeeded(&id("a.b"), DurationMs(100)) } else { observed.failed(&id("a.b")) }
            }
            observed.reliability(&id("a.b")).unwrap().success
        };
        let one_failed = success(1, false);
        let five_failed = success(4, false);
        let recovered = success(10, true);
        assert!((0.7..0.8).contains(&one_failed), "{one_failed}");
        assert!((0.2..0.4).contains(&five_failed), "{five_failed}");
        assert!(recovered > 0.9, "{recovered}");
    }

    #[test]
    fn latency_follows_the_newest_calls_and_ignores_failures() {
        let observed = Observed::new();
        observed.succeeded(&id("a.b"), DurationMs(1000));
        observed.failed(&id("a.b"));
        observed.succeeded(&id("a.b"), DurationMs(2000));
        assert_eq!(observed.reliability(&id("a.b")).unwrap().latency, DurationMs(1200));
    }

    #[test]
    fn many_threads_record_without_losing_a_call() {
        let observed = Arc::new(Observed::new());
        let record = |n: usize| {
            let observed = Arc::clone(&observed);
            thread::spawn(move || {
                for _ in 0..100 {
                    observed.succeeded(&id(&format!("a.{n}")), DurationMs(5));
                }
            })
        };
        let threads: Vec<_> = (0..4).map(record).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let seen: Vec<_> = (0..4).map(|n| observed.reliability(&id(&format!("a.{n}"))).unwrap().latency).collect();
        assert_eq!(seen, vec![DurationMs(5); 4]);
    }
}
