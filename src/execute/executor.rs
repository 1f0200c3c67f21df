//! What runs a call.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    policy::Principal,
    types::{CallId, ToolError, ToolOutput, TurnId},
};

/// What an executor knows about the call it runs.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// On whose behalf.
    pub principal: Arc<Principal>,
    /// The same for every attempt of this call: send it where the other side takes one.
    pub idempotency_key: String,
    /// Cancelled when the turn is; long work should watch it.
    pub cancel: CancellationToken,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// Runs calls of one capability.
///
/// Implementers: the deadline and the retries are the caller's, so run once and return; a failure is a
/// [`ToolError`] value, never a panic; be cancellation-safe (the future may be dropped at an await).
/// `arguments` were validated against the capability's original schema.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Runs the call.
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
