//! Sends a body the way a script wants: in pieces, held back, cut off.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;

use crate::{Delivery, Gate};

/// A body that is sent as `delivery` says. A body that is held back goes on when `release` lets it through.
pub(super) fn body(bytes: Vec<u8>, delivery: &Delivery, release: &Gate) -> Body {
    let whole = delivery.chunks.is_empty() && delivery.stall_after.is_none() && delivery.cut_after.is_none();
    if whole {
        return Body::from(bytes);
    }
    let plan = Plan {
        bytes: Bytes::from(bytes),
        sent: 0,
        nth: 0,
        chunks: delivery.chunks.iter().copied().filter(|size| *size > 0).collect(),
        stall_at: delivery.stall_after,
        cut_at: delivery.cut_after,
        release: release.clone(),
    };
    Body::from_stream(stream::unfold(plan, |mut plan| async move {
        let piece = plan.next().await?;
        Some((piece, plan))
    }))
}

struct Plan {
    bytes: Bytes,
    sent: usize,
    nth: usize,
    chunks: Vec<usize>,
    stall_at: Option<usize>,
    cut_at: Option<usize>,
    release: Gate,
}

impl Plan {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.sent > 0 {
            // What was sent so far leaves the process before more comes or the connection breaks.
            tokio::task::yield_now().await;
        }
        if self.stall_at.is_some_and(|at| self.sent >= at) {
            self.stall_at = None;
            self.release.pass().await;
        }
        if self.cut_at.is_some_and(|at| self.sent >= at) {
            // Whoever serves the body closes the connection without an end of the body.
            return Some(Err(io::Error::other("cut by the script")));
        }
        if self.bytes.is_empty() {
            return None;
        }
        let wanted = self.chunks.get(self.nth % self.chunks.len().max(1)).copied().unwrap_or(usize::MAX);
        self.nth += 1;
        let until = |at: Option<usize>| at.map_or(usize::MAX, |at| at - self.sent);
        let size = wanted.min(until(self.stall_at)).min(until(self.cut_at)).min(self.bytes.len());
        self.sent += size;
        Some(Ok(self.bytes.split_to(size)))
    }
}
