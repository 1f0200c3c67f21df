//! Who may look on, and who may answer for a person.

use futures_util::future::BoxFuture;

use crate::{
    llm::{ReplyEvent, ReplySink},
    policy::Decision,
    types::{CallId, CapabilityId, TurnId},
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
    /// With exactly these arguments.
    pub arguments: String,
    /// The digest the approval is bound to.
    pub digest: String,
    /// Why it is asked.
    pub decision: Option<Decision>,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// Whether it may run.
    pub approved: bool,
    /// Who said so.
    pub by: String,
    /// Why, for the model and the record.
    pub reason: Option<String>,
}

/// Asks a person while the turn runs. Without one, a turn that waits is put down and taken up again after
/// `Runtime::approve`.
pub trait Approver: Send + Sync {
    /// Asks. `None` leaves the turn waiting.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<ApprovalAnswer>>;
}
