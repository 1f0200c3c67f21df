//! A gate that holds things up until a test lets them through.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

/// Holds up whoever passes until it is opened. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    permits: Arc<Semaphore>,
    arrived: watch::Sender<usize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// A gate through which nobody comes yet.
    pub fn closed() -> Self {
        Self { permits: Arc::new(Semaphore::new(0)), arrived: watch::Sender::new(0) }
    }

    /// Arrives at the gate and waits to be let through.
    pub async fn pass(&self) {
        self.arrived.send_modify(|count| *count += 1);
        // A closed semaphore is an open gate.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }

    /// Lets `count` through, now or when they come.
    pub fn let_through(&self, count: usize) {
        self.permits.add_permits(count);
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.permits.close();
    }

    /// Waits until `count` have arrived since the gate was made, whether they went through or not.
    pub async fn arrived(&self, count: usize) {
        let mut seen = self.arrived.subscribe();
        // The sender lives as long as `self`: waiting cannot fail.
        let _ = seen.wait_for(|arrived| *arrived >= count).await;
    }
}
