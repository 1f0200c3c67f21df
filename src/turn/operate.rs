//! What an operator does to a turn: pause it, let it go on, change its limits, cancel it, or halt everything.
//!
//! Where nobody drives the turn, the event is written at once. Where a process drives it, that process finds the order
//! in the store before its next call, writes the event itself and obeys: what runs at that moment is not torn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Company, Driver, Event, Parts, Resumed, Step, Turn, TurnError, TurnOutcome, log::Log};
use crate::{
    config::Limits,
    store::{Command, Order, StoreError, audit::Acted},
    types::TurnId,
};

/// Something that an operator did to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operated {
    /// Who.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What.
    pub act: Act,
}

/// What an operator did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// The turn was put down: it makes no call until it is let go on.
    Paused,
    /// It was put down because everything was halted; it may go on once the halt is lifted.
    Halted,
    /// It may go on.
    Unpaused,
    /// Limits were changed.
    Limits {
        /// What was set.
        set: Map<String, Value>,
        /// The limits from then on.
        limits: Arc<Limits>,
    },
}

impl Act {
    /// A stable word for the kind of event.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Halted => "halted",
            Self::Unpaused => "unpaused",
            Self::Limits { .. } => "limits_changed",
        }
    }

    /// The limits that were set, as `key=value, …`; `None` for any other act.
    pub(crate) fn limits_set(&self) -> Option<String> {
        let Self::Limits { set, .. } = self else { return None };
        let set: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Some(set.join(", "))
    }
}

/// Whether an order has been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It is in the turn's journal.
    Done,
    /// A process drives the turn. It carries the order out before its next call.
    Ordered,
}

/// Who operates, and why.
#[derive(Debug, Clone, Copy)]
pub struct Operator<'a> {
    /// Who.
    pub by: &'a str,
    /// Why; may be empty.
    pub why: &'a str,
}

impl Operator<'_> {
    pub(super) fn did(self, act: Act) -> Event {
        Event::Operated(Box::new(Operated { by: self.by.to_owned(), why: self.why.to_owned(), act }))
    }

    /// A line on the audit log.
    fn acted(self, parts: &Parts, act: &str, turn: Option<&TurnId>) -> Acted {
        let about = turn.map(|turn| ("turn".to_owned(), turn.as_str().into())).into_iter().collect();
        Acted { act: act.to_owned(), by: self.by.to_owned(), why: self.why.to_owned(), at: parts.clock.now(), about }
    }

    fn order(self, parts: &Parts, turn: Option<TurnId>, command: Command) -> Order {
        let id = parts.clock.fresh_id();
        Order { id, turn, command, by: self.by.to_owned(), why: self.why.to_owned(), at: parts.clock.now() }
    }
}

/// Puts a turn down before its next call. It goes on with [`unpause`] and [`super::resume`].
///
/// # Errors
/// [`TurnError`] when the turn is over, or the journal cannot be read or written.
pub async fn pause(parts: &Parts, id: &TurnId, operator: Operator<'_>) -> Result<Given, TurnError> {
    tell(parts, id, operator, Command::Pause).await
}

/// Lets a turn go on that was put down. An order to pause that was not carried out yet is taken back. A turn that is not
/// paused, or is over, is left as it is.
///
/// # Errors
/// [`TurnError`] when there is no such turn, or the journal cannot be read or written.
pub async fn unpause(parts: &Parts, id: &TurnId, operator: Operator<'_>) -> Result<(), TurnError> {
    let orders = parts.journal.orders();
    let standing = orders.standing().await?;
    let pauses = standing.iter().filter(|order| order.turn.as_ref() == Some(id) && order.command == Command::Pause);
    let pauses: Vec<String> = pauses.map(|order| order.id.clone()).collect();
    if !pauses.is_empty() {
        orders.take_back(&pauses, Some(operator.acted(parts, "take_back_pause", Some(id)))).await?;
    }
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), Arc::new(())).await?;
    if log.turn().paused().is_some() {
        log.record(operator.did(Act::Unpaused))?;
        log.commit(None).await?;
    }
    Ok(())
}

/// Raises or lowers limits of a turn, by their names in the configuration.
///
/// # Errors
/// [`TurnError::Limits`] when there is no such limit or it may not have that value; otherwise as [`pause`].
pub async fn set_limits(
    parts: &Parts,
    id: &TurnId,
    operator: Operator<'_>,
    set: Map<String, Value>,
) -> Result<Given, TurnError> {
    let log = read(parts, id).await?;
    log.turn().limits().with(&set).map_err(TurnError::Limits)?;
    tell(parts, id, operator, Command::Limits(set)).await
}

/// Ends a turn that waits, or that another process drives: that process finds its next commit refused and stops. What
/// was running there counts as interrupted, and a started write as of unknown outcome.
///
/// # Errors
/// [`TurnError`] when the turn is over, or the journal cannot be read or written.
pub async fn cancel(parts: &Parts, id: &TurnId, by: &str, company: Company) -> Result<TurnOutcome, TurnError> {
    let log = Log::read(id, parts.clock.clone(), parts.journal.clone(), company.watcher.clone()).await?;
    if log.turn().next() == Step::Done {
        return Err(TurnError::Over { turn: id.clone() });
    }
    let mut driver = Driver::new(parts, log, company, true);
    if driver.log.turn().paused().is_some() {
        driver.log.record(Operator { by, why: "to cancel it" }.did(Act::Unpaused))?;
    }
    driver.log.record(Event::Resumed(Resumed {
        by: parts.clock.fresh_id(),
        policy: parts.gate.version(),
        looked_up: Vec::new(),
    }))?;
    driver.log.record(Event::Cancelled { by: by.to_owned() })?;
    driver.commit().await?;
    Box::pin(driver.drive()).await
}

/// Stops everything: no model call and no tool call of any process on this store starts until [`lift`]. What runs already
/// comes to its end. A second halt stands beside the first.
///
/// # Errors
/// [`StoreError`] when the database fails.
pub async fn halt(parts: &Parts, operator: Operator<'_>) -> Result<Order, StoreError> {
    let order = operator.order(parts, None, Command::Halt);
    parts.journal.orders().give(order.clone()).await?;
    Ok(order)
}

/// Lifts every halt. Returns those that stood. The turns that were put down go on with [`super::resume`].
///
/// # Errors
/// [`StoreError`] when the database fails.
pub async fn lift(parts: &Parts, operator: Operator<'_>) -> Result<Vec<Order>, StoreError> {
    let halts = halts(parts).await?;
    let ids: Vec<String> = halts.iter().map(|order| order.id.clone()).collect();
    if !ids.is_empty() {
        parts.journal.orders().take_back(&ids, Some(operator.acted(parts, "lift_halt", None))).await?;
    }
    Ok(halts)
}

/// The halts that stand: who, when and why.
///
/// # Errors
/// [`StoreError`] when the database fails.
pub async fn halts(parts: &Parts) -> Result<Vec<Order>, StoreError> {
    let standing = parts.journal.orders().standing().await?;
    Ok(standing.iter().filter(|order| order.command == Command::Halt).cloned().collect())
}

/// What keeps a turn from being taken up: a halt, or an order to pause that nobody has carried out.
pub(super) async fn stopping(parts: &Parts, id: &TurnId) -> Result<Option<Operated>, StoreError> {
    let orders = parts.journal.orders();
    if orders.version() == 0 {
        return Ok(None);
    }
    let standing = orders.standing().await?;
    let order = standing.iter().find(|order| order.stops(id));
    Ok(order.map(|order| Operated {
        by: order.by.clone(),
        why: order.why.clone(),
        act: if order.command == Command::Halt { Act::Halted } else { Act::Paused },
    }))
}

/// Writes the event where nobody drives the turn; leaves an order for who drives it.
async fn tell(parts: &Parts, id: &TurnId, operator: Operator<'_>, command: Command) -> Result<Given, TurnError> {
    let orders = parts.journal.orders();
    let _claim = match orders.claim(id).await {
        Ok(claim) => claim,
        Err(StoreError::Driven { .. }) => {
            orders.give(operator.order(parts, Some(id.clone()), command)).await?;
            return Ok(Given::Ordered);
        }
        Err(error) => return Err(error.into()),
    };
    let mut log = read(parts, id).await?;
    if let Some(event) = event(log.turn(), operator, &command)? {
        log.record(event)?;
        log.commit(None).await?;
    }
    Ok(Given::Done)
}

/// The journal of a turn that is not over.
async fn read(parts: &Parts, id: &TurnId) -> Result<Log, TurnError> {
    let log = Log::read(id, parts.clock.clone(), parts.journal.clone(), Arc::new(())).await?;
    match log.turn().next() {
        Step::Done | Step::Finish(_) => Err(TurnError::Over { turn: id.clone() }),
        Step::Prepare
        | Step::CallModel(_)
        | Step::Decide(_)
        | Step::Execute(_)
        | Step::AwaitApproval(_)
        | Step::Paused => Ok(log),
    }
}

/// The event of an order, unless the turn is that way already.
fn event(turn: &Turn, operator: Operator<'_>, command: &Command) -> Result<Option<Event>, TurnError> {
    let act = match command {
        Command::Pause | Command::Halt if turn.paused().is_some() => return Ok(None),
        Command::Pause => Act::Paused,
        Command::Halt => Act::Halted,
        Command::Limits(set) => {
            let limits = turn.limits().with(set).map_err(TurnError::Limits)?;
            Act::Limits { set: set.clone(), limits: Arc::new(limits) }
        }
    };
    Ok(Some(operator.did(act)))
}

impl Driver<'_> {
    /// Carries out what operators said since this driver looked last. Nothing of the turn runs now.
    pub(super) async fn heed(&mut self) -> Result<(), TurnError> {
        let orders = self.parts.journal.orders();
        let version = orders.version();
        if version == self.heeded {
            return Ok(());
        }
        let id = self.log.turn().started().turn.clone();
        let mut done = Vec::new();
        for order in orders.standing().await?.iter().filter(|order| order.concerns(&id)) {
            let operator = Operator { by: &order.by, why: &order.why };
            match event(self.log.turn(), operator, &order.command) {
                Ok(Some(event)) => self.log.record(event)?,
                Ok(None) => {}
                // It was checked when it was given; the limits it was checked against are others by now.
                Err(error) => tracing::warn!(%error, "an order is not carried out"),
            }
            done.extend(order.turn.is_some().then(|| order.id.clone()));
        }
        self.heeded = version;
        if !done.is_empty() {
            self.commit().await?;
            orders.take_back(&done, None).await?;
        }
        Ok(())
    }

    /// Whether an order keeps the turn from making its next call. It is carried out when nothing of the turn runs.
    pub(super) async fn is_held(&self) -> Result<bool, TurnError> {
        let orders = self.parts.journal.orders();
        if orders.version() == self.heeded {
            return Ok(false);
        }
        let id = &self.log.turn().started().turn;
        Ok(orders.standing().await?.iter().any(|order| order.stops(id)))
    }
}
