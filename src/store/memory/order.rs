//! Orders in memory: for the turns of this process.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::{self, BoxFuture, FutureExt};

use crate::{
    store::{Claim, Order, Orders, StoreError, audit::Acted, order::Driven},
    types::TurnId,
};

#[derive(Debug, Default)]
pub(super) struct MemoryOrders {
    version: AtomicU64,
    standing: Mutex<Vec<Order>>,
    driven: Driven,
}

impl MemoryOrders {
    fn change(&self, work: impl FnOnce(&mut Vec<Order>)) {
        work(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner));
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl Orders for MemoryOrders {
    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn standing(&self) -> BoxFuture<'_, Result<Arc<[Order]>, StoreError>> {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        future::ready(Ok(Arc::from(standing.as_slice()))).boxed()
    }

    fn give(&self, order: Order) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change(|standing| standing.push(order));
        future::ready(Ok(())).boxed()
    }

    fn take_back<'a>(&'a self, ids: &'a [String], _: Option<Acted>) -> BoxFuture<'a, Result<(), StoreError>> {
        self.change(|standing| standing.retain(|order| !ids.contains(&order.id)));
        future::ready(Ok(())).boxed()
    }

    fn claim_new(&self, turn: &TurnId) -> Result<Claim, StoreError> {
        self.driven.claim(turn, Arc::from("this process"))
    }

    fn claim<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        future::ready(self.claim_new(turn)).boxed()
    }
}
