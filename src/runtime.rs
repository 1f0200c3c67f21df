//! The builder a Rust user meets first: it wires the parts, and knows them all.
//!
//! ```
//! # use agcore::{runtime::Runtime, llm::Extractive, types::ToolError};
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Place { city: String }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder()
//!     .function("weather.get_now", "Tells the weather of a city", |place: Place, _| async move {
//!         Ok::<_, ToolError>(format!("sunny in {}", place.city))
//!     })
//!     .build()?;
//! let outcome = runtime.turn("How is the weather in Paris?").run().await?;
//! # let _ = outcome; Ok(()) }
//! ```

mod builder;
mod error;
mod request;

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    audit, capability,
    policy::Principal,
    store::{Order, StoreError, TurnHead, audit::Acted},
    trace::{self, Trace},
    turn::{self, ApprovalAnswer, Company, Given, Operator, Parts, Recorded, TurnError, TurnOutcome},
    types::{CallId, CapabilityId, Pin, TurnId},
};

pub use builder::RuntimeBuilder;
pub use error::{PinError, RuntimeError};
pub use request::TurnRequest;

/// agcore, wired: opens turns, takes them up again, tells what they did. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    parts: Arc<Parts>,
    defaults: Arc<Defaults>,
}

/// What a turn gets when it does not say otherwise.
#[derive(Debug)]
struct Defaults {
    principal: Arc<Principal>,
    limits: Arc<crate::config::Limits>,
    instructions: String,
    temperature: Option<f64>,
    max_output_tokens: Option<u32>,
    reasoning_effort: Option<String>,
    stream: bool,
}

impl Runtime {
    /// A builder with the shipped catalog, rules and detector, a journal in memory and the extractive model.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::new()
    }

    /// Begins a turn with what the user said.
    pub fn turn(&self, input: impl Into<String>) -> TurnRequest<'_> {
        TurnRequest::new(self, input.into())
    }

    /// Takes up a turn that waits, or whose process is gone, and runs it until it is over or waits again. A turn that
    /// is over is returned as it is.
    ///
    /// # Errors
    /// [`TurnError`] when there is no such turn, its journal is damaged, or another process has taken it up.
    pub async fn resume(&self, id: &TurnId, company: Company) -> Result<TurnOutcome, TurnError> {
        turn::resume(&self.parts, id, company).await
    }

    /// Ends a turn that waits, or that another process drives; that process stops at its next commit.
    ///
    /// # Errors
    /// [`TurnError`] when there is no such turn, it is over, or its journal is damaged.
    pub async fn cancel(&self, id: &TurnId, by: &str) -> Result<TurnOutcome, TurnError> {
        turn::cancel(&self.parts, id, by, Company::default()).await
    }

    /// Puts a turn down before its next call, whatever process drives it. It goes on with [`Runtime::unpause`] and
    /// [`Runtime::resume`].
    ///
    /// # Errors
    /// [`TurnError`] when there is no such turn, it is over, or its journal is damaged.
    pub async fn pause(&self, id: &TurnId, operator: Operator<'_>) -> Result<Given, TurnError> {
        turn::pause(&self.parts, id, operator).await
    }

    /// Lets a paused turn go on; [`Runtime::resume`] takes it up.
    ///
    /// # Errors
    /// As [`Runtime::pause`].
    pub async fn unpause(&self, id: &TurnId, operator: Operator<'_>) -> Result<(), TurnError> {
        turn::unpause(&self.parts, id, operator).await
    }

    /// Raises or lowers limits of a turn, by their names in the configuration, from its next call on.
    ///
    /// # Errors
    /// [`TurnError::Limits`] when there is no such limit or it may not have that value; otherwise as [`Runtime::pause`].
    pub async fn set_limits(
        &self,
        id: &TurnId,
        operator: Operator<'_>,
        set: Map<String, Value>,
    ) -> Result<Given, TurnError> {
        turn::set_limits(&self.parts, id, operator, set).await
    }

    /// Stops everything: no model call and no tool call of any process on this store starts until
    /// [`Runtime::lift_halt`]. What runs already comes to its end; turns are put down.
    ///
    /// # Errors
    /// [`StoreError`] when the database fails.
    pub async fn halt(&self, operator: Operator<'_>) -> Result<Order, StoreError> {
        turn::halt(&self.parts, operator).await
    }

    /// Lifts every halt, and returns those that stood.
    ///
    /// # Errors
    /// [`StoreError`] when the database fails.
    pub async fn lift_halt(&self, operator: Operator<'_>) -> Result<Vec<Order>, StoreError> {
        turn::lift(&self.parts, operator).await
    }

    /// The halts that stand: who, when and why.
    ///
    /// # Errors
    /// [`StoreError`] when the database fails.
    pub async fn halts(&self) -> Result<Vec<Order>, StoreError> {
        turn::halts(&self.parts).await
    }

    /// Records what a person found out about a write of unknown outcome, after its turn had ended. Who goes on from the
    /// history of that turn is told.
    ///
    /// # Errors
    /// [`TurnError::NoDoubt`] when the call is not in doubt.
    pub async fn resolve(
        &self,
        id: &TurnId,
        call: &CallId,
        took_effect: bool,
        receipt: Option<String>,
        operator: Operator<'_>,
    ) -> Result<(), TurnError> {
        turn::resolve(&self.parts, id, call, took_effect, receipt, operator).await
    }

    /// Agrees to the definition of a capability from outside as this runtime read it. With `shown`, it has to be the hash
    /// that was shown. It can be used by runtimes that are built from then on.
    ///
    /// # Errors
    /// [`PinError`] when there is no such capability from outside, it is another one by now, or the database fails.
    pub async fn approve_definition(
        &self,
        capability: &CapabilityId,
        shown: Option<&str>,
        operator: Operator<'_>,
    ) -> Result<Pin, PinError> {
        let external = self.parts.registry.external();
        let found = external.iter().find(|external| external.capability.id == *capability);
        let found = found.ok_or_else(|| PinError::NotExternal(capability.clone()))?;
        let pin = capability::pin(&found.capability, operator.by, operator.why, self.parts.clock.now());
        if shown.is_some_and(|shown| shown != pin.hash) {
            return Err(PinError::Changed { capability: capability.clone(), hash: pin.hash });
        }
        self.parts.journal.pins().put(pin.clone()).await?;
        Ok(pin)
    }

    /// Takes back what was agreed to: the capability is held back until somebody agrees to it again. False when nobody had.
    ///
    /// # Errors
    /// [`StoreError`] when the database fails.
    pub async fn withdraw_definition(
        &self,
        capability: &CapabilityId,
        operator: Operator<'_>,
    ) -> Result<bool, StoreError> {
        let about = [("capability".to_owned(), capability.as_str().into())].into_iter().collect();
        let acted = Acted {
            act: "withdraw_definition".to_owned(),
            by: operator.by.to_owned(),
            why: operator.why.to_owned(),
            at: self.parts.clock.now(),
            about,
        };
        self.parts.journal.pins().remove(capability, acted).await
    }

    /// Checks the audit log, and every journal against it: see [`audit::verify`].
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn verify_audit(&self, kept: Option<&audit::Mark>) -> Result<audit::Report, StoreError> {
        audit::verify(self.parts.journal.as_ref(), kept).await
    }

    /// Records a person's decision on a call of a turn that waits. With `digest`, it has to be the digest that was
    /// shown. The turn goes on with [`Runtime::resume`].
    ///
    /// # Errors
    /// [`TurnError::NotWaiting`] when the turn does not wait for this call; [`TurnError::Illegal`] when the decision
    /// was given for other arguments.
    pub async fn approve(
        &self,
        id: &TurnId,
        call: &str,
        digest: Option<&str>,
        answer: &ApprovalAnswer,
    ) -> Result<(), TurnError> {
        turn::decide_approval(&self.parts, id, call, digest, answer).await
    }

    /// Lists turns, the latest first; their titles are redacted.
    ///
    /// # Errors
    /// [`StoreError`] when the database fails.
    pub async fn turns(&self, limit: u32) -> Result<Vec<TurnHead>, StoreError> {
        let mut heads = self.parts.journal.list(limit).await?;
        for head in &mut heads {
            if let Cow::Owned(title) = self.parts.records.text(&head.title).into_inner() {
                head.title = title;
            }
        }
        Ok(heads)
    }

    /// Finds the turn that an id, a trace id or the beginning of either names.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when none does.
    pub async fn find(&self, name: &str) -> Result<TurnHead, StoreError> {
        self.parts.journal.find(name).await
    }

    /// The journal of a turn, whole and private: it is not redacted.
    ///
    /// # Errors
    /// [`TurnError`] when there is no such turn or its journal is damaged.
    pub async fn journal(&self, id: &TurnId) -> Result<Vec<Recorded>, TurnError> {
        turn::read_events(self.parts.journal.as_ref(), id).await
    }

    /// The record of a turn, redacted.
    ///
    /// # Errors
    /// [`TurnError`] when there is no such turn or its journal is damaged.
    pub async fn trace(&self, id: &TurnId) -> Result<Trace, TurnError> {
        Ok(trace::fold(&self.journal(id).await?, &self.parts.records)?)
    }

    /// What a turn waits for.
    pub fn waiting(&self, turn: &turn::Turn) -> Vec<turn::ApprovalRequest> {
        turn::shown(&self.parts, turn)
    }

    /// The wired parts, for programs that show them (`agcore tools`, `agcore route`).
    pub fn parts(&self) -> &Parts {
        &self.parts
    }
}
