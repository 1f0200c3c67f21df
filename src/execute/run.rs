//! Runs one call: deadline, retries by side effect, cancellation, and what is said about a call that did not finish.

use std::{
    any::Any,
    hash::{DefaultHasher, Hash, Hasher},
    panic::AssertUnwindSafe,
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    capability::Execution,
    types::{DurationMs, ErrorCode, SideEffect, ToolError, ToolOutput},
};

use super::{CallContext, Executor, errors};

/// How long a call that was cancelled has to come to its own end before it is dropped.
const GRACE: Duration = Duration::from_millis(200);

/// The first wait before another attempt; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The longest wait before another attempt. Where the other side asks for more, the call ends with its error.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How a call is run and tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPolicy {
    /// How long one attempt may take.
    pub timeout: DurationMs,
    /// How many more attempts a failed call gets, where its side effect allows it.
    pub retries: u32,
    /// What running it changes.
    pub side_effect: SideEffect,
    /// Whether the tool honours an idempotency key: only then is a write tried again.
    pub honours_key: bool,
}

impl RunPolicy {
    /// The policy a capability declares.
    pub fn of(execution: &Execution) -> Self {
        Self {
            timeout: execution.timeout,
            retries: execution.retries,
            side_effect: execution.side_effect,
            honours_key: execution.idempotency_key_required,
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// Its output or error.
    pub result: Result<ToolOutput, ToolError>,
    /// How many attempts were made; 0 when it was cancelled before it started.
    pub attempts: u32,
    /// From the first attempt to the end, waits between attempts included.
    pub latency: DurationMs,
    /// Whether it was started at all.
    pub started: bool,
}

/// How one attempt ended.
enum Ending {
    Done(Result<ToolOutput, ToolError>),
    Panicked(String),
    Late,
    /// Cancelled: with its own last word, or dropped without one.
    Stopped(Option<Result<ToolOutput, ToolError>>),
}

/// Runs a call to its one result.
///
/// - Each attempt ends after `policy.timeout`.
/// - A read is tried again when the error says it may be; a write only when the tool honours an idempotency key
///   (`context.idempotency_key`, the same on every attempt).
/// - A write that was started and has no definite answer (late, cut off, panicked, stopped) ends `OUTCOME_UNKNOWN`,
///   whatever a later attempt that did not reach the tool said.
/// - When `context.cancel` is cancelled, a call that has not started ends `CANCELLED`; one that runs is given a moment
///   to finish or to say how far it came, and ends `INTERRUPTED` (reads) or `OUTCOME_UNKNOWN` (writes).
/// - A panic of the executor is an error of the call.
///
/// The future must be polled to its end; whoever drops it does not learn what became of the call.
pub async fn run_one(
    executor: &dyn Executor,
    arguments: &Value,
    mut context: CallContext,
    policy: RunPolicy,
) -> Attempted {
    if context.cancel.is_cancelled() {
        return Attempted { result: Err(errors::cancelled()), attempts: 0, latency: DurationMs(0), started: false };
    }
    let begun = Instant::now();
    let (mut attempt, mut uncertain) = (0_u32, false);
    let result = loop {
        attempt += 1;
        context.attempt = attempt;
        let error = match judge(run_once(executor, arguments, &context, policy.timeout).await, policy) {
            Ok(output) => break Ok(output),
            Err(error) => error,
        };
        uncertain |= error.code == ErrorCode::OutcomeUnknown;
        let wait = wait_before_next(&error, attempt, policy, &context.idempotency_key);
        let again = match wait {
            Some(wait) => context.cancel.run_until_cancelled(sleep(wait)).await.is_some(),
            None => false,
        };
        if !again {
            break Err(if uncertain { as_unknown(error) } else { error });
        }
    };
    Attempted { result, attempts: attempt, latency: begun.elapsed().into(), started: true }
}

async fn run_once(executor: &dyn Executor, arguments: &Value, context: &CallContext, limit: DurationMs) -> Ending {
    // `run` itself may panic before it returns its future.
    let call = AssertUnwindSafe(async { executor.run(arguments, context).await }).catch_unwind();
    let mut call = std::pin::pin!(timeout(limit.as_duration(), call));
    tokio::select! {
        biased;
        ended = &mut call => match ended {
            Ok(Ok(result)) => Ending::Done(result),
            Ok(Err(panic)) => Ending::Panicked(panic_message(panic.as_ref())),
            Err(_) => Ending::Late,
        },
        () = context.cancel.cancelled() => match timeout(GRACE, call).await {
            Ok(Ok(Ok(result))) => Ending::Stopped(Some(result)),
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => Ending::Stopped(None),
        },
    }
}

/// What an ending means for a call with this side effect.
fn judge(ending: Ending, policy: RunPolicy) -> Result<ToolOutput, ToolError> {
    let writes = policy.side_effect.writes();
    Err(match ending {
        Ending::Done(Ok(output)) | Ending::Stopped(Some(Ok(output))) => return Ok(output),
        Ending::Done(Err(error)) if writes && is_vague(error.code) => as_unknown(error),
        Ending::Done(Err(error)) => error,
        Ending::Late if writes => errors::outcome_unknown(&format!("no answer within {}", policy.timeout)),
        Ending::Late => errors::timeout(policy.timeout),
        Ending::Panicked(why) if writes => errors::outcome_unknown("the tool crashed").developer(why),
        Ending::Panicked(why) => errors::tool_failed(format!("the executor panicked: {why}")),
        Ending::Stopped(Some(Err(error))) if !is_vague(error.code) => error,
        Ending::Stopped(Some(Err(error))) if writes => as_unknown(error),
        Ending::Stopped(Some(Err(error))) => with_partial(errors::interrupted(), error),
        Ending::Stopped(None) if writes => errors::outcome_unknown("it was stopped"),
        Ending::Stopped(None) => errors::interrupted(),
    })
}

/// Whether an error of a call that was started leaves open what the call did.
fn is_vague(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Timeout | ErrorCode::Interrupted | ErrorCode::OutcomeUnknown | ErrorCode::Cancelled)
}

/// The error of a write of which nobody knows what it did.
fn as_unknown(error: ToolError) -> ToolError {
    if error.code == ErrorCode::OutcomeUnknown {
        return error;
    }
    let unknown = errors::outcome_unknown(&error.safe_message);
    ToolError { retry_after: error.retry_after, developer_message: error.developer_message, ..unknown }
}

/// Adds what a stopped call had to say, its partial output, to the error.
fn with_partial(stopped: ToolError, said: ToolError) -> ToolError {
    let safe_message = format!("{}; its last word: {}", stopped.safe_message, said.safe_message);
    ToolError { safe_message, developer_message: said.developer_message, ..stopped }
}

/// How long to wait before another attempt; `None` when there is none.
fn wait_before_next(error: &ToolError, attempt: u32, policy: RunPolicy, key: &str) -> Option<Duration> {
    let worth_it = if policy.side_effect.writes() {
        policy.honours_key && (error.retryable || error.code == ErrorCode::OutcomeUnknown)
    } else {
        error.retryable
    };
    if !worth_it || attempt > policy.retries {
        return None;
    }
    match error.retry_after {
        Some(asked) => Some(asked.as_duration()).filter(|wait| *wait <= LONGEST_WAIT),
        None => Some(backoff(attempt, key)),
    }
}

/// Doubles with each attempt, spread by up to a quarter so that calls that failed together do not return together.
/// The spread follows from the key: equal runs wait equally long.
fn backoff(attempt: u32, key: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    (key, attempt).hash(&mut hasher);
    let wait = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(8)).min(LONGEST_WAIT);
    wait - wait / 4 * u32::try_from(hasher.finish() % 1000).unwrap_or(0) / 1000
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests;
