//! Who may look on, and who may answer for a person.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    llm::{ReplyEvent, ReplySink},
    policy::{Decision, Principal},
    types::{CallId, CapabilityId, Timestamp, TurnId},
};

use super::{Recorded, Turn};

/// Looks on while a turn runs: progress on the screen, a stream to a client. Must not block.
pub trait Watcher: Send + Sync {
    /// An event was recorded; it is durable with the next commit.
    fn recorded(&self, event: &Recorded, turn: &Turn) {
        let _ = (event, turn);
    }

    /// A piece of a reply came in. Ephemeral: after a crash only whole replies are known.
    fn piece(&self, piece: &ReplyEvent) {
        let _ = piece;
    }
}

/// Nobody looks on.
impl Watcher for () {}

/// Passes the pieces of a reply to a watcher.
pub(super) struct Pieces<'a>(pub(super) &'a dyn Watcher);

impl ReplySink for Pieces<'_> {
    fn on(&self, event: ReplyEvent) {
        self.0.piece(&event);
    }
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// What would run.
    pub capability: CapabilityId,
    /// On whose behalf.
    pub principal: Arc<Principal>,
    /// With exactly these arguments.
    pub arguments: String,
    /// The digest the approval is bound to.
    pub digest: String,
    /// Since when it waits.
    pub asked_at: Option<Timestamp>,
    /// When the question expires: then the call does not run.
    pub expires_at: Option<Timestamp>,
    /// Why it is asked.
    pub decision: Option<Decision>,
}

/// What a person said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// Whether it may run.
    pub approved: bool,
    /// Who said so.
    pub by: String,
    /// The roles of who said so.
    pub roles: BTreeSet<String>,
    /// Why, for the model and the record.
    pub reason: Option<String>,
    /// Other arguments to run it with, as JSON.
    pub edited: Option<String>,
    /// Whether calls to come need no question.
    pub remember: Remember,
}

impl ApprovalAnswer {
    /// Yes.
    pub fn yes(by: impl Into<String>) -> Self {
        Self { approved: true, by: by.into(), ..Self::default() }
    }

    /// No, with what the model is told.
    pub fn no(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: Some(reason.into()), ..Self::default() }
    }
}

/// What is kept of an approval for calls to come of the same principal, while the tool's definition stays the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Remember {
    /// Nothing.
    #[default]
    No,
    /// Calls with equal arguments run without a question.
    Exactly,
    /// Calls whose arguments have these values run without a question, whatever the others are.
    Pattern(Map<String, Value>),
}

/// Asks a person while the turn runs. Without one, a turn that waits is put down and taken up again after
/// `Runtime::approve`.
pub trait Approver: Send + Sync {
    /// Asks. `None` leaves the turn waiting.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<ApprovalAnswer>>;
}
