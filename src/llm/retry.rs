//! Whether and when a failed model call is sent again.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use super::ModelError;

/// How often and how long a model call may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// How many times a request is sent at the most, 1 and more.
    pub attempts: u32,
    /// How long the provider may say nothing: until the head of the answer, and between two pieces of it.
    pub idle: Duration,
    /// How long all attempts together may take.
    pub total: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { attempts: 3, idle: Duration::from_secs(120), total: Duration::from_secs(600) }
    }
}

/// A provider that asks for a longer pause is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LAST_WAIT: Duration = Duration::from_secs(8);

/// How long to wait before sending the request again after `attempt` attempts; `None` when it should not be sent again.
/// `luck` in 0–1 shortens waits of our own choosing by up to a quarter, so that many callers do not come back at once.
pub(super) fn wait(
    error: &ModelError,
    attempt: u32,
    limits: &CallLimits,
    left: Duration,
    luck: f64,
) -> Option<Duration> {
    if !error.retryable || attempt >= limits.attempts {
        return None;
    }
    let wait = match error.retry_after {
        Some(asked) => Some(asked.as_duration()).filter(|asked| *asked <= LONGEST_WAIT)?,
        None => {
            let doubled = FIRST_WAIT.saturating_mul(1 << (attempt.saturating_sub(1)).min(10));
            doubled.min(LAST_WAIT).mul_f64(1.0 - luck.clamp(0.0, 1.0) / 4.0)
        }
    };
    (wait < left).then_some(wait)
}

/// A number in 0–1 that differs from call to call.
pub(super) fn luck() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    #[expect(clippy::cast_precision_loss, reason = "32 bits fit into the mantissa")]
    let part = bits as f64 / f64::from(u32::MAX);
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{llm::ModelErrorKind, types::DurationMs};

    fn failure(retryable: bool, after: Option<u64>) -> ModelError {
        ModelError {
            retryable,
            retry_after: after.map(DurationMs),
            ..ModelError::new(ModelErrorKind::Unavailable, "x")
        }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_end_with_the_attempts() {
        let limits = CallLimits { attempts: 9, ..CallLimits::default() };
        let waits = |luck| (1..10).map(move |n| wait(&failure(true, None), n, &limits, Duration::MAX, luck));
        let ms =
            |list: Vec<Option<Duration>>| list.into_iter().map(|it| it.map(|it| it.as_millis())).collect::<Vec<_>>();
        let expected = [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000].map(Some);
        assert_eq!(ms(waits(0.0).collect()), [&expected[..], &[None]].concat());
        assert_eq!(ms(waits(1.0).take(1).collect()), [Some(375)]);
    }

    #[test]
    fn the_provider_is_obeyed_within_reason() {
        let limits = CallLimits::default();
        let day = Duration::from_secs(86_400);
        assert_eq!(wait(&failure(true, Some(7_000)), 1, &limits, day, 1.0), Some(Duration::from_secs(7)));
        assert_eq!(wait(&failure(true, Some(121_000)), 1, &limits, day, 0.0), None);
        assert_eq!(wait(&failure(true, Some(7_000)), 1, &limits, Duration::from_secs(5), 0.0), None);
        assert_eq!(wait(&failure(false, Some(1)), 1, &limits, day, 0.0), None);
        assert_eq!(wait(&failure(true, None), 3, &limits, day, 0.0), None);
    }
}
