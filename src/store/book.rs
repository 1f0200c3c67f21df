//! The rules of accounts and rates, as pure functions over what a store holds. The memory store holds all of it, the
//! database the part that a transaction speaks of.

use std::{collections::HashMap, sync::Arc};

use crate::types::{DurationMs, MicroUsd, Timestamp, TurnId};

use super::account::{Account, AccountClaim, Balance, RateClaim, Reserve, Reserved, Settle, Taken};

/// What is in an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) spent: MicroUsd,
    pub(super) reserved: MicroUsd,
}

/// What one turn has set aside, the same amount in each of its accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) accounts: Vec<Arc<Account>>,
    pub(super) amount: MicroUsd,
    pub(super) expires_at: Timestamp,
}

/// Accounts, reservations and rates.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) accounts: HashMap<Arc<Account>, Sums>,
    pub(super) holds: HashMap<TurnId, Hold>,
    /// Up to which microsecond the calls of a rate have used up their turns.
    pub(super) rates: HashMap<String, i64>,
}

impl Book {
    /// Sets money aside in all accounts, or in none. Does not look at what expired: see [`Book::expire`].
    pub(super) fn reserve(&mut self, reserve: &Reserve) -> Reserved {
        let own = self.holds.get(&reserve.turn);
        for AccountClaim { account, limit } in reserve.claims.iter() {
            let sums = self.accounts.get(account).copied().unwrap_or_default();
            let had = own.filter(|hold| hold.accounts.contains(account)).map_or(MicroUsd::ZERO, |hold| hold.amount);
            let left = limit.saturating_sub(sums.spent + sums.reserved.saturating_sub(had));
            if reserve.amount > had && reserve.amount > left {
                return Reserved::Short { account: Arc::clone(account), left };
            }
        }
        self.release(&reserve.turn);
        self.hold(&reserve.turn, &reserve.claims, reserve.amount, reserve.expires_at);
        Reserved::Held
    }

    /// Books what a turn spent and shrinks its reservation.
    pub(super) fn settle(&mut self, turn: &TurnId, settle: &Settle) {
        let had = self.release(turn);
        for claim in settle.claims.iter() {
            self.accounts.entry(Arc::clone(&claim.account)).or_default().spent += settle.spent;
        }
        if let Some(had) = had {
            // What was spent was set aside for it: together they never grow.
            let most = had.amount.saturating_sub(settle.spent);
            self.hold(turn, &settle.claims, settle.keep.min(most), had.expires_at);
        }
    }

    fn hold(&mut self, turn: &TurnId, claims: &[AccountClaim], amount: MicroUsd, expires_at: Timestamp) {
        if amount == MicroUsd::ZERO {
            return;
        }
        let accounts: Vec<_> = claims.iter().map(|claim| Arc::clone(&claim.account)).collect();
        for account in &accounts {
            self.accounts.entry(Arc::clone(account)).or_default().reserved += amount;
        }
        self.holds.insert(turn.clone(), Hold { accounts, amount, expires_at });
    }

    fn release(&mut self, turn: &TurnId) -> Option<Hold> {
        let hold = self.holds.remove(turn)?;
        for account in &hold.accounts {
            let sums = self.accounts.entry(Arc::clone(account)).or_default();
            sums.reserved = sums.reserved.saturating_sub(hold.amount);
        }
        Some(hold)
    }

    /// Takes back the reservations that expired. Their turns are returned.
    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<TurnId> {
        let late = self.holds.iter().filter(|(_, hold)| hold.expires_at <= now);
        let turns: Vec<TurnId> = late.map(|(turn, _)| turn.clone()).collect();
        for turn in &turns {
            self.release(turn);
        }
        turns
    }

    /// Forgets the accounts of a tree of turns.
    pub(super) fn forget(&mut self, root: &TurnId) {
        self.accounts.retain(|account, _| account.subject != root.as_str());
    }

    /// Counts a call against all rates, or against none. A rate is one number: the time up to which its calls have used
    /// up their turns, one turn being `per / calls`. It may lie one span ahead of now, less one turn.
    pub(super) fn take(&mut self, rates: &[RateClaim], now: Timestamp) -> Taken {
        let now = now.ms().saturating_mul(1000);
        let used = |book: &Self, rate: &RateClaim| book.rates.get(&rate.id).copied().unwrap_or(now).max(now);
        for (index, rate) in rates.iter().enumerate() {
            let Some(turn) = turn_us(rate) else { return Taken::Wait { rate: index, after: None } };
            let most = now.saturating_add(span_us(rate)).saturating_sub(turn);
            let late = used(self, rate).saturating_sub(most);
            if late > 0 {
                let ms = u64::try_from(late).unwrap_or(0).div_ceil(1000);
                return Taken::Wait { rate: index, after: Some(DurationMs(ms)) };
            }
        }
        for rate in rates {
            let next = used(self, rate).saturating_add(turn_us(rate).unwrap_or(0));
            self.rates.insert(rate.id.clone(), next);
        }
        Taken::Counted
    }

    /// The accounts of a budget and window, the one that spent most first.
    pub(super) fn balances(&self, budget: &str, opened_at: Timestamp, now: Timestamp, limit: u32) -> Vec<Balance> {
        let of = |account: &Account| account.budget == budget && account.opened_at == opened_at;
        let mut all: Vec<Balance> = self
            .accounts
            .iter()
            .filter(|(account, _)| of(account))
            .map(|(account, sums)| {
                let late = self.holds.values().filter(|hold| hold.expires_at <= now && hold.accounts.contains(account));
                let late: MicroUsd = late.map(|hold| hold.amount).sum();
                Balance {
                    account: (**account).clone(),
                    spent: sums.spent,
                    reserved: sums.reserved.saturating_sub(late),
                }
            })
            .collect();
        all.sort_by(|a, b| (b.spent, &a.account).cmp(&(a.spent, &b.account)));
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        all
    }
}

fn span_us(rate: &RateClaim) -> i64 {
    i64::try_from(rate.per.0.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// What one call uses up; `None` when no call is allowed.
fn turn_us(rate: &RateClaim) -> Option<i64> {
    (rate.calls > 0).then(|| (span_us(rate) / i64::from(rate.calls)).max(1))
}

#[cfg(test)]
mod tests;
