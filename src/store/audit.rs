//! The audit log: one chain of lines over everything that was let go of. Each line is hashed together with the hash of the
//! line before it, so that no line can be changed, removed or moved without the next one showing it.
//!
//! A line about a turn does not repeat what is in the turn's journal: it holds the hash of that journal as it stood when
//! its driver let go of it (ended, waiting, paused). Decisions are read from the journal, and the line proves it.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::types::{Timestamp, TurnId, hex};

use super::{Command, Order, StoreError, TurnState};

/// What a line of the audit log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// How the journal of a turn stood.
    Turn(Anchor),
    /// What an operator did beside turns.
    Acted(Acted),
}

/// The journal of a turn, up to one of its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The turn.
    pub turn: TurnId,
    /// The number of the last event.
    pub to: u64,
    /// When.
    pub at: Timestamp,
    /// Whether it was over, waited or was paused.
    pub state: TurnState,
    /// The hash of its commits so far, as [`JournalHash`] makes it.
    pub journal: String,
}

/// What an operator did beside turns: a halt, an order, an approval of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// A stable word for what was done.
    pub act: String,
    /// Who did it.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// When.
    pub at: Timestamp,
    /// To what.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
}

impl Acted {
    /// An order that was given.
    pub(super) fn ordered(order: &Order) -> Self {
        let mut about = Map::new();
        about.extend(order.turn.as_ref().map(|turn| ("turn".to_owned(), turn.as_str().into())));
        let act = match &order.command {
            Command::Halt => "halt",
            Command::Pause => "order_pause",
            Command::Limits(set) => {
                about.insert("set".to_owned(), set.clone().into());
                "order_limits"
            }
        };
        Self { act: act.to_owned(), by: order.by.clone(), why: order.why.clone(), at: order.at, about }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its place, from 1, without gaps.
    pub place: u64,
    /// What it says: a [`Record`] as JSON, exactly as it was hashed.
    pub body: String,
    /// Its hash, in hexadecimal.
    pub hash: String,
}

/// The hash of a line: SHA-256 over the hash before it, a line feed, and what it says. Before the first line it is empty.
pub fn link(previous: &str, body: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(b"\n");
    hasher.update(body);
    hex(&hasher.finalize())
}

/// The hash of a journal, commit by commit: SHA-256 over their bodies, each ended by a line feed.
#[derive(Debug, Clone, Default)]
pub struct JournalHash(Sha256);

impl JournalHash {
    /// Takes in the next commit.
    pub fn add(&mut self, body: &str) {
        self.0.update(body);
        self.0.update(b"\n");
    }

    /// The hash of the commits so far, in hexadecimal.
    pub fn so_far(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}

/// A log that is only ever added to.
pub trait AuditLog: Send + Sync + fmt::Debug {
    /// Adds what an operator did. Turns are added with their commits.
    fn record<'a>(&'a self, acted: &'a Acted) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The lines after a place, in order, at most `limit`.
    fn lines(&self, after: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Line>, StoreError>>;
}
