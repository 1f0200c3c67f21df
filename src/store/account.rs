//! Money and rates that turns share: what is asked of the store, and what it answers.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::types::{DurationMs, MicroUsd, Timestamp, TurnId};

use super::StoreError;

/// One account: the money of one budget, for one subject, in one window.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The budget.
    pub budget: String,
    /// Whose it is: a tenant, a user, a task type, the root of a tree of turns.
    pub subject: String,
    /// When its window began.
    pub opened_at: Timestamp,
}

/// An account that a turn pays from, and the most that may be spent and set aside there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountClaim {
    /// The account.
    pub account: Arc<Account>,
    /// Its limit now. It is no part of the account: an operator may raise or lower it at any time.
    pub limit: MicroUsd,
}

/// A turn wants to have `amount` set aside in each of its accounts, in place of what it has set aside there so far.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// The turn.
    pub turn: TurnId,
    /// Its accounts.
    pub claims: Arc<[AccountClaim]>,
    /// All it needs to have set aside, not what is to be added.
    pub amount: MicroUsd,
    /// After this nobody uses the reservation any more: it may be taken back when others need the money.
    pub expires_at: Timestamp,
    /// The time now.
    pub now: Timestamp,
}

/// What came of a [`Reserve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// It is set aside, in every account.
    Held,
    /// One account does not have it, and nothing was changed in any.
    Short {
        /// Which account.
        account: Arc<Account>,
        /// What the turn could have set aside there.
        left: MicroUsd,
    },
}

/// What a turn spent since its last commit, and what it still needs to have set aside. Part of a
/// [`super::Commit`], so that accounts and journal never differ. It cannot fail: what was spent is booked, and the
/// reservation shrinks by that at least.
#[derive(Debug, Clone)]
pub struct Settle {
    /// Its accounts.
    pub claims: Arc<[AccountClaim]>,
    /// What was spent.
    pub spent: MicroUsd,
    /// What stays set aside, at most.
    pub keep: MicroUsd,
}

/// A rate that a call counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateClaim {
    /// The rate and its subject.
    pub id: String,
    /// So many calls …
    pub calls: u32,
    /// … in such a span. All of them may come at once; after that they come back evenly.
    pub per: DurationMs,
}

/// What came of counting a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It counts against every rate, and may run.
    Counted,
    /// One rate is used up, and nothing was counted.
    Wait {
        /// Which, as an index into what was asked.
        rate: usize,
        /// For how long; `None` when no call is ever allowed.
        after: Option<DurationMs>,
    },
}

/// An account with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// The account.
    #[serde(flatten)]
    pub account: Account,
    /// What was spent.
    pub spent: MicroUsd,
    /// What running turns have set aside.
    pub reserved: MicroUsd,
}

/// Money and rates that turns share, in one process or in many.
///
/// Implementers: each method is atomic over all accounts and rates it names, also against other processes.
pub trait Accounts: Send + Sync + fmt::Debug {
    /// Sets money aside in all accounts, or in none. Reservations that expired are taken back when the money is needed.
    fn reserve(&self, reserve: Reserve) -> BoxFuture<'_, Result<Reserved, StoreError>>;

    /// Counts a call against all rates, or against none.
    fn take<'a>(&'a self, rates: &'a [RateClaim], now: Timestamp) -> BoxFuture<'a, Result<Taken, StoreError>>;

    /// The accounts of a budget whose window began at `opened_at`, at most `limit`, the one that spent most first.
    /// Reservations that expired are not counted.
    fn balances<'a>(
        &'a self,
        budget: &'a str,
        opened_at: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Balance>, StoreError>>;
}
