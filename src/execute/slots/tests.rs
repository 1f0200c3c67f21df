use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use pretty_assertions::assert_eq;
use tokio::time::{advance, sleep};

use super::*;
use crate::execute::testing::capability;

fn bounded(concurrency: Option<u32>, rate_limit: Option<RateLimit>) -> Capability {
    let mut capability = capability("wide");
    capability.execution.concurrency = concurrency;
    capability.execution.rate_limit = rate_limit;
    capability
}

/// DEV-J04: the bound of a tool holds over all turns.
#[tokio::test(start_paused = true)]
async fn a_tool_never_runs_more_often_at_once_than_it_allows_over_all_turns() {
    let (slots, tool, cancel) = (Slots::default(), bounded(Some(4), None), CancellationToken::new());
    let (now, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let call = |n: u64| {
        let (slots, tool, cancel, now, peak) = (slots.clone(), &tool, &cancel, &now, &peak);
        async move {
            let _slot = slots.acquire(tool, cancel).await.unwrap();
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(n % 5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
        }
    };
    let done = (0..800).map(call).collect::<FuturesUnordered<_>>().count().await;
    assert_eq!((done, peak.into_inner()), (800, 4));
}

#[tokio::test]
async fn those_who_wait_are_served_in_the_order_they_came() {
    let (slots, tool, cancel) = (Slots::default(), bounded(Some(1), None), CancellationToken::new());
    let held = slots.acquire(&tool, &cancel).await.unwrap();
    let mut first = Box::pin(slots.acquire(&tool, &cancel));
    let mut second = Box::pin(slots.acquire(&tool, &cancel));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    drop(held);
    assert!(second.as_mut().now_or_never().is_none(), "the first in the queue is next");
    let next = first.now_or_never().expect("free").unwrap();
    drop(next);
    assert!(second.now_or_never().is_some());
}

/// DEV-J02: a call that is cancelled in the queue has not started.
#[tokio::test]
async fn a_call_cancelled_in_the_queue_did_not_start_and_takes_no_slot() {
    let (slots, tool, cancel) = (Slots::default(), bounded(Some(1), None), CancellationToken::new());
    let held = slots.acquire(&tool, &CancellationToken::new()).await.unwrap();
    let (queued, ()) = tokio::join!(slots.acquire(&tool, &cancel), async { cancel.cancel() });
    assert_eq!(queued.unwrap_err(), errors::cancelled());
    drop(held);
    assert!(slots.acquire(&tool, &CancellationToken::new()).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_says_when_the_next_call_may_start() {
    let (slots, cancel) = (Slots::default(), CancellationToken::new());
    let tool = bounded(None, Some(RateLimit { calls: 2, per_ms: 1000 }));
    let ask = || async { slots.acquire(&tool, &cancel).await.map(drop) };
    assert_eq!(ask().await, Ok(()));
    advance(Duration::from_millis(400)).await;
    assert_eq!(ask().await, Ok(()));
    assert_eq!(ask().await, Err(errors::rate_limited(Some(DurationMs(600)))));
    advance(Duration::from_millis(600)).await;
    assert_eq!(ask().await, Ok(()));
    assert_eq!(ask().await, Err(errors::rate_limited(Some(DurationMs(400)))));
}
