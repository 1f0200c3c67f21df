//! A journal that lives as long as the process: for tests, benches and embedders who keep nothing.

mod order;
mod pins;

use std::{
    collections::{HashMap, VecDeque},
    sync::Mutex,
};

use futures_util::future::{self, BoxFuture, FutureExt};

use crate::types::{CapabilityId, Timestamp, TurnId};

use super::{
    Accounts, AuditLog, Balance, Commit, Journal, Orders, Pins, RateClaim, Remembered, Reserve, Reserved, StoreError,
    Taken, TurnHead, TurnState, book::Book,
};
use order::MemoryOrders;
use pins::MemoryPins;

/// Ended turns beyond this many are forgotten, the oldest first.
const KEPT_ENDED_TURNS: usize = 1000;

#[derive(Debug, Default)]
struct Held {
    head: Option<TurnHead>,
    next: u64,
    bodies: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    turns: HashMap<TurnId, Held>,
    ended: VecDeque<TurnId>,
    remembered: Vec<Remembered>,
    book: Book,
}

/// A journal in memory. Keeps all open turns and the last 1,000 ended ones.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
    orders: MemoryOrders,
    pins: MemoryPins,
}

impl MemoryJournal {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&mut *self.state.lock().map_err(|_| StoreError::Closed)?)
    }
}

fn append(state: &mut State, commit: Commit) -> Result<(), StoreError> {
    let held = state.turns.entry(commit.turn.clone()).or_default();
    if commit.seq != held.next {
        return Err(StoreError::Conflict { turn: commit.turn, seq: commit.seq });
    }
    held.next = commit.last_seq + 1;
    if let Some(settle) = &commit.settle {
        state.book.settle(&commit.turn, settle);
    }
    let mut body = commit.body;
    body.shrink_to_fit();
    held.bodies.push(body);
    let ended = commit.head.as_ref().is_some_and(|head| head.state == TurnState::Ended);
    held.head = commit.head.or_else(|| held.head.take());
    if ended {
        state.ended.push_back(commit.turn);
        if state.ended.len() > KEPT_ENDED_TURNS
            && let Some(oldest) = state.ended.pop_front()
        {
            state.turns.remove(&oldest);
            state.book.forget(&oldest);
        }
    }
    Ok(())
}

impl Accounts for MemoryJournal {
    fn reserve(&self, reserve: Reserve) -> BoxFuture<'_, Result<Reserved, StoreError>> {
        let work = |state: &mut State| {
            let reserved = state.book.reserve(&reserve);
            let Reserved::Short { .. } = reserved else { return Ok(reserved) };
            state.book.expire(reserve.now);
            Ok(state.book.reserve(&reserve))
        };
        future::ready(self.with(work)).boxed()
    }

    fn take<'a>(&'a self, rates: &'a [RateClaim], now: Timestamp) -> BoxFuture<'a, Result<Taken, StoreError>> {
        future::ready(self.with(|state| Ok(state.book.take(rates, now)))).boxed()
    }

    fn balances<'a>(
        &'a self,
        budget: &'a str,
        opened_at: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Balance>, StoreError>> {
        future::ready(self.with(|state| Ok(state.book.balances(budget, opened_at, now, limit)))).boxed()
    }
}

impl Journal for MemoryJournal {
    fn append(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        future::ready(self.with(|state| append(state, commit))).boxed()
    }

    fn read<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let read = |state: &mut State| match state.turns.get(turn) {
            Some(held) => Ok(held.bodies.clone()),
            None => Err(StoreError::NotFound(turn.to_string())),
        };
        future::ready(self.with(read)).boxed()
    }

    fn list(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TurnHead>, StoreError>> {
        let list = |state: &mut State| {
            let mut heads: Vec<_> = state.turns.values().filter_map(|held| held.head.clone()).collect();
            heads.sort_by(|a, b| (b.started_at, &b.turn).cmp(&(a.started_at, &a.turn)));
            heads.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(heads)
        };
        future::ready(self.with(list)).boxed()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TurnHead, StoreError>> {
        let find = |state: &mut State| {
            let named =
                |head: &&TurnHead| head.turn.as_str().starts_with(name) || head.trace.as_str().starts_with(name);
            let found = state.turns.values().filter_map(|held| held.head.as_ref()).find(named).cloned();
            found.ok_or_else(|| StoreError::NotFound(name.to_owned()))
        };
        future::ready(self.with(find)).boxed()
    }

    fn remember(&self, approval: Remembered) -> BoxFuture<'_, Result<(), StoreError>> {
        let keep = |state: &mut State| {
            state.remembered.push(approval);
            Ok(())
        };
        future::ready(self.with(keep)).boxed()
    }

    fn remembered<'a>(&'a self, capability: &'a CapabilityId) -> BoxFuture<'a, Result<Vec<Remembered>, StoreError>> {
        let read = |state: &mut State| {
            Ok(state.remembered.iter().filter(|known| known.capability == *capability).cloned().collect())
        };
        future::ready(self.with(read)).boxed()
    }

    fn orders(&self) -> &dyn Orders {
        &self.orders
    }

    fn pins(&self) -> &dyn Pins {
        &self.pins
    }

    fn audit(&self) -> Option<&dyn AuditLog> {
        None
    }
}
