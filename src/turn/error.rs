//! What can go wrong with a turn itself. Failed calls and failed models are not among it: they are part of a turn.

use crate::{quota::QuotaError, store::StoreError, types::TurnId};

use super::IllegalEvent;

/// Why a turn could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The journal could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An event does not fit the state: the journal was changed by hand, or this is a bug.
    #[error(transparent)]
    Illegal(#[from] IllegalEvent),
    /// An event in the journal cannot be read.
    #[error("the journal of turn `{turn}` cannot be read: {why}")]
    Damaged {
        /// The turn.
        turn: TurnId,
        /// Why.
        why: String,
    },
    /// What was allotted to the tenant gives no limits for this turn.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// An event cannot be written as JSON.
    #[error("an event cannot be written: {0}")]
    Write(String),
    /// The turn has ended already.
    #[error("turn `{turn}` is over: nothing can be done to it any more")]
    Over {
        /// The turn.
        turn: TurnId,
    },
    /// Nothing of a call has to be found out.
    #[error("`{call}` of turn `{turn}` is not in doubt: its outcome is known, or somebody has found out already")]
    NoDoubt {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: String,
    },
    /// A limit of a turn cannot be set so.
    #[error("{0}")]
    Limits(String),
    /// This person may not decide this, or not so: another person has to, it is too late, or the edit cannot run.
    #[error("the decision is not accepted: {0}")]
    Approval(String),
    /// An approval was given for a turn that does not wait for it.
    #[error("turn `{turn}` does not wait for a decision on `{call}`")]
    NotWaiting {
        /// The turn.
        turn: TurnId,
        /// The call, or its beginning.
        call: String,
    },
}
