//! The money that a turn sets aside of budgets it shares with other turns. The turn's own ledger stays the truth: the
//! accounts follow it. What it needs is reserved before a call, and what was spent is booked in the very commit that
//! says so in the journal, so that neither a crash nor a second driver books anything twice or not at all.

use std::sync::Arc;

use crate::{
    quota::{Allotment, Asker, Quotas, Shortfall},
    store::{Reserve, Reserved, Settle},
    types::{DurationMs, MicroUsd},
};

use super::{Driver, Parts, Started, Step, Turn, TurnError};

/// How much longer a reservation is kept than its turn may run: a call that ends with its turn still has to be booked.
const GRACE: DurationMs = DurationMs(30_000);

/// What a turn holds of shared budgets. Empty, and free of cost, where no budget is about the turn.
#[derive(Debug, Default)]
pub(super) struct Purse(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    quotas: Arc<Quotas>,
    allotment: Allotment,
    /// What the turn had spent at its last commit.
    booked: MicroUsd,
    /// What is set aside. `None` is whatever the driver before this one left: it is kept until this one reserves.
    held: Option<MicroUsd>,
}

/// Who a turn is, to those who allot.
pub(super) fn asker(started: &Started) -> Asker<'_> {
    Asker { principal: &started.principal, task: started.task.as_ref(), root: started.root() }
}

impl Purse {
    /// Opens the purse of a turn as its journal has it. A driver before this one may have left something set aside.
    pub(super) fn open(parts: &Parts, turn: &Turn, resumed: bool) -> Self {
        let Some(quotas) = &parts.quotas else { return Self(None) };
        let Some(allotment) = quotas.allot(&asker(turn.started()), parts.clock.now()) else { return Self(None) };
        let held = (!resumed).then_some(MicroUsd::ZERO);
        Self(Some(Box::new(Open { quotas: Arc::clone(quotas), allotment, booked: turn.ledger().spent(), held })))
    }

    /// What the next commit does to the accounts.
    pub(super) fn settle(&self, turn: &Turn, last_answer: MicroUsd) -> Option<Settle> {
        let open = self.0.as_deref()?;
        let ledger = turn.ledger();
        let keep = match turn.next() {
            Step::Done | Step::Finish(_) | Step::AwaitApproval(_) | Step::Paused => MicroUsd::ZERO,
            Step::Prepare | Step::CallModel(_) | Step::Decide(_) | Step::Execute(_) => match open.held {
                Some(_) => ledger.reserved + last_answer,
                None => MicroUsd::new(u64::MAX),
            },
        };
        let spent = ledger.spent().saturating_sub(open.booked);
        let gives_back = open.held.map_or(keep == MicroUsd::ZERO, |held| keep < held);
        let changes = spent > MicroUsd::ZERO || gives_back;
        changes.then(|| Settle { claims: Arc::clone(&open.allotment.claims), spent, keep })
    }

    /// That commit is durable.
    pub(super) fn settled(&mut self, settle: &Settle) {
        if let Some(open) = self.0.as_deref_mut() {
            open.booked += settle.spent;
            open.held = open.held.map(|held| held.min(settle.keep));
        }
    }
}

impl Driver<'_> {
    /// Makes all that was recorded durable, and books what it cost in the same commit.
    pub(super) async fn commit(&mut self) -> Result<(), TurnError> {
        let settle = self.purse.settle(self.log.turn(), self.last_answer);
        let booked = self.log.commit(settle.clone()).await?;
        if let (true, Some(settle)) = (booked, &settle) {
            self.purse.settled(settle);
        }
        Ok(())
    }

    /// Sets `amount` aside in every shared budget, beside what the turn has set aside for what runs. Returns the budget
    /// that does not have it: then nothing was changed.
    pub(super) async fn set_aside(&mut self, amount: MicroUsd) -> Result<Option<Shortfall>, TurnError> {
        if self.purse.0.is_none() {
            return Ok(None);
        }
        let lease = DurationMs(DurationMs::from(self.time_left()).0 + GRACE.0);
        let Some(open) = self.purse.0.as_deref_mut() else { return Ok(None) };
        let (turn, now) = (self.log.turn(), self.parts.clock.now());
        if open.allotment.turns_at.is_some_and(|at| now >= at)
            && let Some(allotment) = open.quotas.allot(&asker(turn.started()), now)
        {
            open.allotment = allotment;
        }
        let ledger = turn.ledger();
        let wanted = ledger.reserved + amount + ledger.spent().saturating_sub(open.booked);
        if wanted == MicroUsd::ZERO && open.held == Some(MicroUsd::ZERO) {
            return Ok(None);
        }
        let reserve = Reserve {
            turn: turn.started().turn.clone(),
            claims: Arc::clone(&open.allotment.claims),
            amount: wanted,
            expires_at: now.plus(lease),
            now,
        };
        match self.parts.journal.reserve(reserve).await? {
            Reserved::Held => {
                open.held = Some(wanted);
                Ok(None)
            }
            Reserved::Short { account, left } => {
                Ok(Some(open.quotas.shortfall(&account.budget, &account.subject, left, wanted, now)))
            }
        }
    }

    /// The budget that refuses the model, whose price is not known.
    pub(super) fn refuses_unpriced(&self) -> Option<Shortfall> {
        let open = self.purse.0.as_deref()?;
        let started = self.log.turn().started();
        let now = self.parts.clock.now();
        open.quotas.unpriced(open.allotment.refuses_unpriced?, &asker(started), started.model.model.as_str(), now)
    }
}
