//! What operators say to turns that other processes drive: a mailbox in the store, and who drives what.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{Timestamp, TurnId};

use super::{StoreError, audit::Acted};

/// What an operator wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// No model call and no tool call of any process on this store starts, until the order is taken back.
    Halt,
    /// The turn is put down before its next call.
    Pause,
    /// These limits of the turn get these values from its next call on.
    Limits(Map<String, Value>),
}

/// An order that stands: who wants what, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Names it, e.g. to take it back.
    pub id: String,
    /// The turn it is for; `None` for every turn on the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What is wanted.
    pub command: Command,
    /// Who wants it.
    pub by: String,
    /// Why, for the record and for whoever finds the turn put down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// When it was given.
    pub at: Timestamp,
}

impl Order {
    /// Whether a turn has to heed it.
    pub fn concerns(&self, turn: &TurnId) -> bool {
        self.turn.as_ref().is_none_or(|named| named == turn)
    }

    /// Whether it keeps this turn from making its next call.
    pub fn stops(&self, turn: &TurnId) -> bool {
        self.concerns(turn) && matches!(self.command, Command::Halt | Command::Pause)
    }
}

/// The mailbox for orders, and the book of who drives which turn.
///
/// Implementers: [`Orders::version`] is asked before every call of every turn. It must cost next to nothing: memory, or
/// one small file, never a query.
pub trait Orders: Send + Sync + fmt::Debug {
    /// A number that is another one after an order was given or taken back, by whatever process. 0 while there never was
    /// one.
    fn version(&self) -> u64;

    /// The orders that stand, in the order they were given.
    fn standing(&self) -> BoxFuture<'_, Result<Arc<[Order]>, StoreError>>;

    /// Gives an order. It stands, and is on the audit log, when this returns.
    fn give(&self, order: Order) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Takes orders back, by id; those that do not stand are ignored. What an operator takes back is `acted` on the audit
    /// log; a driver that has carried orders out says nothing: they are in its turn's journal.
    fn take_back<'a>(&'a self, ids: &'a [String], acted: Option<Acted>) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Says that this process drives a turn that it has just opened.
    fn claim_new(&self, turn: &TurnId) -> Result<Claim, StoreError>;

    /// Says that this process drives a turn, unless a living one does. A turn that waits, is paused or is over is driven
    /// by nobody. Two that claim at once may both succeed; the first commit decides between them.
    ///
    /// # Errors
    /// [`StoreError::Driven`] when somebody drives it.
    fn claim<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Result<Claim, StoreError>>;
}

/// The turns that this process drives.
#[derive(Debug, Default, Clone)]
pub(super) struct Driven(Arc<Mutex<HashSet<TurnId>>>);

impl Driven {
    /// # Errors
    /// [`StoreError::Driven`] when this process drives it already.
    pub(super) fn claim(&self, turn: &TurnId, driver: Arc<str>) -> Result<Claim, StoreError> {
        let new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(turn.clone());
        if !new {
            return Err(StoreError::Driven { turn: turn.clone(), by: "this process".to_owned() });
        }
        Ok(Claim { turn: turn.clone(), driver, driven: self.clone() })
    }
}

/// This process drives a turn until this is dropped.
#[derive(Debug)]
pub struct Claim {
    turn: TurnId,
    driver: Arc<str>,
    driven: Driven,
}

impl Claim {
    /// How the store calls this process.
    pub fn driver(&self) -> &Arc<str> {
        &self.driver
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.driven.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.turn);
    }
}
