//! The database: the journal of every turn, what lists show of it, and the accounts that turns pay from. The only place that names `sqlx`.

mod account;
pub mod audit;
mod book;
mod memory;
mod order;
pub mod passages;
mod pins;
mod sqlite;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use serde_json::{Map, Value};

use crate::types::{CapabilityId, MicroUsd, TenantId, Timestamp, TraceId, TurnId, UserId};

pub use account::{Account, AccountClaim, Accounts, Balance, RateClaim, Reserve, Reserved, Settle, Taken};
pub use audit::AuditLog;
pub use memory::MemoryJournal;
pub use order::{Claim, Command, Order, Orders};
pub use pins::Pins;
pub use sqlite::SqliteJournal;

/// The version of the events in a journal row.
pub const EVENT_VERSION: u32 = 1;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else wrote this place of the journal first: this driver has to stop.
    #[error("turn `{turn}` was taken over by another process: place {seq} of its journal is written already")]
    Conflict {
        /// The turn.
        turn: TurnId,
        /// The place.
        seq: u64,
    },
    /// A living process drives the turn.
    #[error("turn `{turn}` is driven by {by}; `agcore turns pause` or `cancel` it, or wait until it is put down")]
    Driven {
        /// The turn.
        turn: TurnId,
        /// Who drives it.
        by: String,
    },
    /// There is no such turn.
    #[error("there is no turn `{0}`; `agcore turns list` shows those there are")]
    NotFound(String),
    /// A row cannot be read.
    #[error("the journal of turn `{turn}` is damaged at place {seq}: {why}")]
    Damaged {
        /// The turn.
        turn: TurnId,
        /// The place.
        seq: u64,
        /// What is wrong.
        why: String,
    },
    /// The database file cannot be used.
    #[error("cannot open the database `{path}`")]
    Open {
        /// The file.
        path: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The writer is gone.
    #[error("the journal was closed")]
    Closed,
}

/// One commit of one turn: the events `seq..=last_seq` as JSON lines.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The turn.
    pub turn: TurnId,
    /// The number of its first event.
    pub seq: u64,
    /// The number of its last event.
    pub last_seq: u64,
    /// When it was made.
    pub at: Timestamp,
    /// The events, one JSON text a line.
    pub body: String,
    /// What lists show from now on, where that changed.
    pub head: Option<TurnHead>,
    /// What the audit log says of the turn from now on, where its driver lets go of it.
    pub anchor: Option<Box<audit::Anchor>>,
    /// What it does to the accounts the turn pays from, in the same transaction.
    pub settle: Option<Settle>,
}

/// Whether a turn is running, waits or is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Somebody drives it, or did until a crash.
    Running,
    /// It waits for a person.
    Waiting,
    /// An operator, or a halt, put it down.
    Paused,
    /// It is over.
    Ended,
}

impl TurnState {
    /// The word in the database and on the screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "waiting" => Self::Waiting,
            "paused" => Self::Paused,
            "ended" => Self::Ended,
            _ => Self::Running,
        }
    }
}

/// What lists show of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnHead {
    /// The turn.
    pub turn: TurnId,
    /// Its trace.
    pub trace: TraceId,
    /// Whose it is.
    pub tenant: TenantId,
    /// The beginning of what the user said.
    pub title: String,
    /// Whether it runs, waits or is over.
    pub state: TurnState,
    /// Why it ended.
    pub reason: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When its last commit was.
    pub updated_at: Timestamp,
    /// What it has cost.
    pub spent: MicroUsd,
    /// The process that drives it, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Arc<str>>,
}

/// Where journals are kept. A commit is durable when `append` returns.
///
/// Implementers: `append` refuses a place that is written already with [`StoreError::Conflict`]; commits of several
/// turns may be grouped into one transaction.
pub trait Journal: Accounts {
    /// Appends a commit.
    fn append(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Reads the whole journal of a turn: the bodies of its commits, in order.
    fn read<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Lists turns, the latest first.
    fn list(&self, limit: u32) -> BoxFuture<'_, Result<Vec<TurnHead>, StoreError>>;

    /// Finds the turn that an id, a trace id or the beginning of either names.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<TurnHead, StoreError>>;

    /// Keeps an approval for calls to come.
    fn remember(&self, approval: Remembered) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The approvals that were kept for a capability.
    fn remembered<'a>(&'a self, capability: &'a CapabilityId) -> BoxFuture<'a, Result<Vec<Remembered>, StoreError>>;

    /// The mailbox for what operators say, and the book of who drives which turn.
    fn orders(&self) -> &dyn Orders;

    /// The pins of definitions from outside.
    fn pins(&self) -> &dyn Pins;

    /// The audit log, where one is kept. Anchors of commits are added to it in the same transaction.
    fn audit(&self) -> Option<&dyn AuditLog>;
}

/// An approval that holds for calls to come: of one principal, for one capability as it was defined then, and for equal
/// arguments or those that fit a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The digest of exactly what was approved.
    pub digest: String,
    /// The capability.
    pub capability: CapabilityId,
    /// The hash of its definition.
    pub definition: String,
    /// On whose behalf.
    pub tenant: TenantId,
    /// On whose behalf.
    pub user: UserId,
    /// Argument values that have to be equal; `None` binds to the digest.
    pub pattern: Option<Map<String, Value>>,
    /// Who approved.
    pub by: String,
    /// When.
    pub at: Timestamp,
}
