use std::{
    cell::RefCell,
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::execute::{
    Planned, Schedule,
    testing::{capability, context, context_with},
};

type Answer = BoxFuture<'static, Result<ToolOutput, ToolError>>;

/// An executor made of a closure.
struct Tool<F>(F);

impl<F> std::fmt::Debug for Tool<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tool")
    }
}

impl<F: Fn(CallContext) -> Answer + Send + Sync> Executor for Tool<F> {
    fn run<'a>(&'a self, _: &'a Value, context: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.0)(context.clone())
    }
}

const READ: RunPolicy =
    RunPolicy { timeout: DurationMs(1000), retries: 2, side_effect: SideEffect::ReadOnly, honours_key: false };
const WRITE: RunPolicy = RunPolicy { side_effect: SideEffect::NonIdempotentWrite, ..READ };
const KEYED_WRITE: RunPolicy = RunPolicy { side_effect: SideEffect::IdempotentWrite, honours_key: true, ..READ };

async fn run(tool: &dyn Executor, policy: RunPolicy) -> Attempted {
    run_one(tool, &json!({}), context(), policy).await
}

/// A tool that answers from a list, the last answer for ever.
fn scripted(answers: Vec<Result<ToolOutput, ToolError>>) -> impl Executor {
    let calls = AtomicUsize::new(0);
    Tool(move |_| {
        let nth = calls.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        let answer = answers[nth].clone();
        Box::pin(async move { answer }) as Answer
    })
}

fn hangs() -> impl Executor {
    Tool(|_| -> Answer { Box::pin(std::future::pending()) })
}

/// The connection broke after the request was sent.
fn reset() -> ToolError {
    ToolError::new(ErrorCode::Interrupted, "the connection broke", "Try again.").retryable()
}

/// A service that commits, then loses the connection the first time; it honours keys.
fn commits_then_cuts(effects: Arc<Mutex<HashSet<String>>>) -> impl Executor {
    Tool(move |context: CallContext| {
        let new = effects.lock().unwrap().insert(context.idempotency_key.clone());
        let answer = if new { Err(reset()) } else { Ok(ToolOutput::text("receipt")) };
        Box::pin(async move { answer }) as Answer
    })
}

/// DEV-J01
#[tokio::test(start_paused = true)]
async fn a_write_whose_connection_breaks_is_repeated_only_with_a_key() {
    let effects = Arc::new(Mutex::new(HashSet::new()));
    let tool = commits_then_cuts(effects.clone());
    let keyed = run(&tool, KEYED_WRITE).await;
    assert_eq!((keyed.result, keyed.attempts), (Ok(ToolOutput::text("receipt")), 2));
    assert_eq!(effects.lock().unwrap().len(), 1);

    effects.lock().unwrap().clear();
    let plain = run(&tool, WRITE).await;
    assert_eq!((plain.result, plain.attempts), (Err(errors::outcome_unknown("the connection broke")), 1));
    assert_eq!(effects.lock().unwrap().len(), 1);

    effects.lock().unwrap().clear();
    let read = run(&tool, READ).await;
    assert_eq!((read.result, read.attempts), (Ok(ToolOutput::text("receipt")), 2));
}

/// DEV-J01
#[tokio::test(start_paused = true)]
async fn a_late_read_is_a_timeout_and_a_late_write_is_unknown() {
    let once = |policy| RunPolicy { retries: 0, ..policy };
    let read = run(&hangs(), once(READ)).await;
    let expected = Attempted {
        result: Err(errors::timeout(DurationMs(1000))),
        attempts: 1,
        latency: DurationMs(1000),
        started: true,
    };
    assert_eq!(read, expected);
    assert_eq!(run(&hangs(), once(WRITE)).await.result, Err(errors::outcome_unknown("no answer within 1000 ms")));
    let keyed = run(&hangs(), KEYED_WRITE).await;
    assert_eq!((keyed.result, keyed.attempts), (Err(errors::outcome_unknown("no answer within 1000 ms")), 3));
}

#[tokio::test(start_paused = true)]
async fn a_write_once_in_doubt_stays_in_doubt_when_later_attempts_do_not_reach_the_tool() {
    let down = errors::unavailable("the mail service", "connection refused").retryable();
    let tool = scripted(vec![Err(reset()), Err(down.clone())]);
    let ended = run(&tool, KEYED_WRITE).await;
    let expected = errors::outcome_unknown(&down.safe_message).developer("connection refused");
    assert_eq!((ended.result, ended.attempts), (Err(expected), 3));
}

#[tokio::test(start_paused = true)]
async fn a_definite_refusal_is_not_tried_again() {
    for policy in [READ, WRITE, KEYED_WRITE] {
        let refused = run(&scripted(vec![Err(errors::not_found("order 7"))]), policy).await;
        assert_eq!((refused.result, refused.attempts), (Err(errors::not_found("order 7")), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_the_other_side_asked_for_is_kept_unless_it_is_too_long() {
    let limited = |ms| Err(errors::rate_limited(Some(DurationMs(ms))));
    let soon = run(&scripted(vec![limited(3000), Ok(ToolOutput::text("ok"))]), READ).await;
    let expected =
        Attempted { result: Ok(ToolOutput::text("ok")), attempts: 2, latency: DurationMs(3000), started: true };
    assert_eq!(soon, expected);
    let late = run(&scripted(vec![limited(60_000), Ok(ToolOutput::text("ok"))]), READ).await;
    assert_eq!((late.result, late.attempts), (limited(60_000), 1));
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_call() {
    let at_once = Tool(|_| -> Answer { panic!("no such row") });
    let later = Tool(|_| -> Answer { Box::pin(async { panic!("no such row") }) });
    for tool in [&at_once as &dyn Executor, &later] {
        let read = run(tool, READ).await;
        assert_eq!(read.result, Err(errors::tool_failed("the executor panicked: no such row")));
        let write = run(tool, WRITE).await;
        assert_eq!(write.result, Err(errors::outcome_unknown("the tool crashed").developer("no such row")));
    }
}

#[tokio::test(start_paused = true)]
async fn waits_grow_stay_bounded_and_repeat_for_the_same_key() {
    let waits: Vec<Duration> = (1..12).map(|attempt| backoff(attempt, "key")).collect();
    assert!(waits.iter().all(|wait| *wait >= FIRST_WAIT * 3 / 4 && *wait <= LONGEST_WAIT), "{waits:?}");
    assert!(waits[3] > waits[0] * 4);
    assert_eq!(waits, (1..12).map(|attempt| backoff(attempt, "key")).collect::<Vec<_>>());
    assert_eq!(backoff(u32::MAX, "key").max(LONGEST_WAIT), LONGEST_WAIT);
}

/// DEV-J02: cancelled while queued, and interrupted while running.
#[tokio::test(start_paused = true)]
async fn cancelling_tells_a_queued_call_from_a_read_and_a_write_that_ran() {
    let cancel = CancellationToken::new();
    let started = |policy| {
        let cancel = cancel.clone();
        async move { run_one(&hangs(), &json!({}), context_with(cancel), policy).await }
    };
    let long = |policy| RunPolicy { timeout: DurationMs(60_000), ..policy };
    let canceller = async {
        sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    let (read, write, keyed, ()) =
        tokio::join!(started(long(READ)), started(long(WRITE)), started(long(KEYED_WRITE)), canceller);
    let within = DurationMs(300);
    let stopped = |error| Attempted { result: Err(error), attempts: 1, latency: within, started: true };
    assert_eq!(read, stopped(errors::interrupted()));
    assert_eq!(write, stopped(errors::outcome_unknown("it was stopped")));
    assert_eq!(keyed, stopped(errors::outcome_unknown("it was stopped")));

    let queued = started(WRITE).await;
    let expected = Attempted { result: Err(errors::cancelled()), attempts: 0, latency: DurationMs(0), started: false };
    assert_eq!(queued, expected);
}

/// DEV-J02: a tool that watches the token may say how far it came, or finish.
#[tokio::test(start_paused = true)]
async fn a_stopped_call_keeps_its_partial_output_or_its_result() {
    let watching = |last_word: Result<ToolOutput, ToolError>| {
        Tool(move |context: CallContext| {
            let last_word = last_word.clone();
            Box::pin(async move {
                context.cancel.cancelled().await;
                last_word
            }) as Answer
        })
    };
    let cut = || {
        let cancel = CancellationToken::new();
        let later = cancel.clone();
        (context_with(cancel), async move {
            sleep(Duration::from_millis(1)).await;
            later.cancel();
        })
    };
    let partial = ToolError::new(ErrorCode::Interrupted, "2 of 5 pages read: a, b", "");

    let (context, stop) = cut();
    let tool = watching(Err(partial.clone()));
    let (read, ()) = tokio::join!(run_one(&tool, &Value::Null, context, READ), stop);
    assert_eq!(read.result.clone().unwrap_err().code, ErrorCode::Interrupted);
    assert!(read.result.unwrap_err().safe_message.ends_with("2 of 5 pages read: a, b"));

    let (context, stop) = cut();
    let (write, ()) = tokio::join!(run_one(&tool, &Value::Null, context, KEYED_WRITE), stop);
    assert_eq!((write.result, write.attempts), (Err(errors::outcome_unknown("2 of 5 pages read: a, b")), 1));

    let (context, stop) = cut();
    let tool = watching(Ok(ToolOutput::text("done after all")));
    let (finished, ()) = tokio::join!(run_one(&tool, &Value::Null, context, WRITE), stop);
    assert_eq!(finished.result, Ok(ToolOutput::text("done after all")));
}

/// Drives a batch as a turn does: starts what the schedule allows and hands over each result as it comes.
async fn run_batch<T, F: Future<Output = T>>(
    mut schedule: Schedule,
    mut start: impl FnMut(usize) -> F,
    mut done: impl FnMut(usize, T),
) {
    let mut running = FuturesUnordered::new();
    loop {
        running.extend(schedule.ready().into_iter().map(|index| start(index).map(move |result| (index, result))));
        let Some((index, result)) = running.next().await else { break };
        schedule.finished(index);
        done(index, result);
    }
    assert!(schedule.is_done());
}

/// DEV-J03: results are handed over as they come and stay when the batch is cancelled.
#[tokio::test(start_paused = true)]
async fn finished_siblings_keep_their_results_when_the_batch_is_cancelled() {
    let (write, cancel, release) = (capability("edit"), CancellationToken::new(), Notify::new());
    let mut write = write;
    write.execution.side_effect = SideEffect::NonIdempotentWrite;
    let planned: Vec<Planned<'_>> = (0..4).map(|_| Planned::of(&write)).collect();
    let tools = [scripted(vec![Ok(ToolOutput::text("ok"))])];
    let results = RefCell::new(Vec::new());
    let batch = run_batch(
        Schedule::new(&planned, 16),
        |index| {
            let (cancel, tool, slow) = (cancel.clone(), &tools[0], hangs());
            async move {
                let tool: &dyn Executor = if index == 2 { &slow } else { tool };
                run_one(tool, &json!({}), context_with(cancel), RunPolicy { retries: 0, ..WRITE }).await
            }
        },
        |index, attempted| {
            results.borrow_mut().push((index, attempted.result));
            if index == 1 {
                release.notify_one();
            }
        },
    );
    let canceller = async {
        release.notified().await;
        assert_eq!(results.borrow().len(), 2, "the first two were handed over while the third runs");
        cancel.cancel();
    };
    tokio::join!(batch, canceller);
    let ok = || Ok(ToolOutput::text("ok"));
    let stopped = Err(errors::outcome_unknown("it was stopped"));
    assert_eq!(results.into_inner(), [(0, ok()), (1, ok()), (2, stopped), (3, Err(errors::cancelled()))]);
}

/// DEV-J04
#[tokio::test(start_paused = true)]
async fn eight_hundred_reads_peak_at_their_caps() {
    let mut wide = capability("wide");
    wide.execution.concurrency = Some(4);
    let other = capability("other");
    let planned: Vec<Planned<'_>> =
        (0..800).map(|index| Planned::of(if index % 2 == 0 { &wide } else { &other })).collect();
    let (now, peak) = ([AtomicUsize::new(0), AtomicUsize::new(0)], [AtomicUsize::new(0), AtomicUsize::new(0)]);
    let mut seen = vec![0; 800];
    run_batch(
        Schedule::new(&planned, 16),
        |index| {
            let (now, peak) = (&now, &peak);
            async move {
                let running = now[index % 2].fetch_add(1, Ordering::SeqCst) + 1;
                peak[index % 2].fetch_max(running, Ordering::SeqCst);
                sleep(Duration::from_millis(index as u64 % 7)).await;
                now[index % 2].fetch_sub(1, Ordering::SeqCst);
            }
        },
        |index, ()| seen[index] += 1,
    )
    .await;
    assert_eq!(seen, [1; 800]);
    assert_eq!(peak.map(AtomicUsize::into_inner), [4, 12]);
}
