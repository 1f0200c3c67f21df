//! A budget: so much money for each subject in each window.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    store::{Account, AccountClaim},
    types::{MicroUsd, Timestamp},
};

use super::{
    Window,
    scope::{Asker, Scope, Subjects},
};

/// What becomes of a turn whose model has no known price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownPrice {
    /// It does not call that model.
    #[default]
    Refuse,
    /// It does, nothing is booked, and its answer says that the cost is not known.
    Flag,
}

/// A budget.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its id. It names the accounts, so another id starts from nothing.
    pub id: String,
    /// Who is counted together.
    pub scope: Scope,
    /// How long it lasts.
    pub window: Window,
    /// How much may be spent in a window, for each subject.
    pub amount: MicroUsd,
    /// What becomes of a model without a known price.
    pub unknown_price: UnknownPrice,
    /// The pattern over subjects, as it was written.
    pub pattern: String,
    pub(super) subjects: Subjects,
}

impl Budget {
    /// The account of this budget that `asker` pays from now, if any.
    pub(super) fn claim(&self, asker: &Asker<'_>, now: Timestamp) -> Option<AccountClaim> {
        let subject = self.subjects.of(asker)?.into_owned();
        let account = Account { budget: self.id.clone(), subject, opened_at: self.window.start(now) };
        Some(AccountClaim { account: Arc::new(account), limit: self.amount })
    }
}

/// Which budget could not pay, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    /// The budget.
    pub budget: String,
    /// Who is counted together.
    pub scope: Scope,
    /// Whose account it is.
    pub subject: String,
    /// How long the budget lasts.
    pub window: Window,
    /// How much it is in all.
    pub limit: MicroUsd,
    /// How much is neither spent nor set aside.
    pub left: MicroUsd,
    /// How much had to be set aside: the worst case of the call, and of one last answer.
    pub wanted: MicroUsd,
    /// When it starts anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_at: Option<Timestamp>,
    /// The model, when the reason is that its price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<String>,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, scope, subject, window, limit, left, wanted, turns_at, unpriced } = self;
        if let Some(model) = unpriced {
            return write!(
                f,
                "the price of `{model}` is not known, and the budget `{budget}` refuses what it cannot price: name its \
                 price in `prices.files`, or set `unknown_price: flag` there"
            );
        }
        write!(
            f,
            "the budget `{budget}` ({} {subject}, {limit} per {}) has {left} left",
            scope.as_str(),
            window.as_str()
        )?;
        write!(f, ", and {wanted} had to be set aside")?;
        match turns_at {
            Some(at) => write!(f, "; it starts anew at {at}"),
            None => Ok(()),
        }
    }
}
