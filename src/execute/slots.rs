//! Bounds over all turns: how many calls of a capability run at once, and how many start in a span of time.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    capability::{Capability, RateLimit},
    types::{CapabilityId, DurationMs, ToolError},
};

use super::errors;

/// The slots of all capabilities of a process. Cheap to clone; clones share the slots.
///
/// A capability without `concurrency` and `rate_limit` costs nothing here. Calls wait for a slot in the order in which
/// they asked, whichever turn they belong to.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    tools: Arc<RwLock<HashMap<CapabilityId, Arc<Tool>>>>,
    shared: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

/// The right to run one call, until it is dropped.
#[derive(Debug)]
#[must_use = "a slot that is dropped is free again"]
pub struct Slot {
    permits: Vec<OwnedSemaphorePermit>,
}

impl Slot {
    /// Both, until they are dropped together.
    pub fn and(mut self, mut other: Self) -> Self {
        self.permits.append(&mut other.permits);
        self
    }
}

#[derive(Debug)]
struct Tool {
    at_once: Option<Arc<Semaphore>>,
    /// When the calls of the last span started, oldest first.
    starts: Mutex<VecDeque<Instant>>,
}

impl Slots {
    /// Waits until a call of `capability` may run. Ask before the call is journalled as started: nothing has run yet.
    ///
    /// # Errors
    /// `CANCELLED` when `cancel` fires first; `RATE_LIMITED` with the time to wait when the capability's `rate_limit`
    /// is used up.
    pub async fn acquire(&self, capability: &Capability, cancel: &CancellationToken) -> Result<Slot, ToolError> {
        let execution = &capability.execution;
        if execution.concurrency.is_none() && execution.rate_limit.is_none() {
            return Ok(Slot { permits: Vec::new() });
        }
        let tool = self.tool(capability);
        let mut permits = Vec::new();
        if let Some(semaphore) = &tool.at_once {
            permits.push(wait(semaphore, cancel).await?);
        }
        if let Some(limit) = &execution.rate_limit {
            tool.count_start(limit)?;
        }
        Ok(Slot { permits })
    }

    /// Waits for a slot of each of `wanted`, given as a name and how many there are: calls of several capabilities share
    /// them. All callers ask in the same order, and before the slots of a capability, so that nobody waits in a circle.
    ///
    /// # Errors
    /// `CANCELLED` when `cancel` fires first.
    pub async fn acquire_shared(
        &self,
        wanted: &[(String, u32)],
        cancel: &CancellationToken,
    ) -> Result<Slot, ToolError> {
        let mut permits = Vec::with_capacity(wanted.len());
        for (name, at_once) in wanted {
            let semaphore = {
                let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                let new = || Arc::new(Semaphore::new(permits_of(*at_once)));
                shared.entry(name.clone()).or_insert_with(new).clone()
            };
            permits.push(wait(&semaphore, cancel).await?);
        }
        Ok(Slot { permits })
    }

    fn tool(&self, capability: &Capability) -> Arc<Tool> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(&capability.id).cloned();
        known.unwrap_or_else(|| {
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Tool::new(capability.execution.concurrency));
            tools.entry(capability.id.clone()).or_insert_with(new).clone()
        })
    }
}

fn permits_of(at_once: u32) -> usize {
    usize::try_from(at_once).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS)
}

/// Waits for its turn. The semaphore is never closed, so only cancelling leaves us without a permit.
async fn wait(semaphore: &Arc<Semaphore>, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit, ToolError> {
    let permit = cancel.run_until_cancelled(semaphore.clone().acquire_owned()).await;
    permit.and_then(Result::ok).ok_or_else(errors::cancelled)
}

impl Tool {
    fn new(concurrency: Option<u32>) -> Self {
        Self {
            at_once: concurrency.map(|cap| Arc::new(Semaphore::new(permits_of(cap)))),
            starts: Mutex::new(VecDeque::new()),
        }
    }

    fn count_start(&self, limit: &RateLimit) -> Result<(), ToolError> {
        let (now, span) = (Instant::now(), Duration::from_millis(limit.per_ms));
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        while starts.front().is_some_and(|first| now.duration_since(*first) >= span) {
            starts.pop_front();
        }
        match starts.front() {
            Some(first) if starts.len() >= usize::try_from(limit.calls).unwrap_or(usize::MAX) => {
                Err(errors::rate_limited(Some(DurationMs::from(span - now.duration_since(*first)))))
            }
            Some(_) | None if limit.calls == 0 => Err(errors::rate_limited(None)),
            Some(_) | None => {
                starts.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
