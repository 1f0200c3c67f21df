//! What the turn sees of a model: a request goes in, a reply comes out, pieces of it may be watched.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::types::{Api, DurationMs, MicroUsd, Origin, Reply, Usage};

use super::{Conversation, ModelRequest, ToolChoice};

/// A piece of a reply while it streams in. Ephemeral: only the whole reply is journalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEvent {
    /// More visible text.
    Text(String),
    /// More of the shown reasoning.
    Reasoning(String),
    /// A function call began.
    CallStarted {
        /// The provider's call id.
        provider_id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// Of which call.
        provider_id: String,
        /// The text to append.
        delta: String,
    },
    /// A hosted tool began or ended, by its wire type.
    Hosted(String),
}

/// Who watches a reply while it streams in.
pub trait ReplySink: Send + Sync {
    /// A piece arrived. Must not block.
    fn on(&self, event: ReplyEvent);
}

/// A sink that drops everything.
impl ReplySink for () {
    fn on(&self, _: ReplyEvent) {}
}

/// What kind of failure a model call met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The key is missing or refused.
    Auth,
    /// The account is out of money or quota; waiting does not help.
    Quota,
    /// Too many requests.
    RateLimited,
    /// The provider is overloaded or failed.
    Unavailable,
    /// The connection failed or broke off.
    Network,
    /// The deadline passed.
    Timeout,
    /// The request was refused as malformed or unsupported.
    BadRequest,
    /// The conversation is longer than the model's window.
    ContextTooLong,
    /// The model does not exist or may not be used.
    ModelNotFound,
    /// A filter refused the request.
    Filtered,
    /// What came back could not be read.
    BadResponse,
    /// The request cannot be expressed for this provider (before anything was sent).
    Unsupported,
    /// The call was cancelled.
    Cancelled,
}

impl ModelErrorKind {
    /// A stable word for traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::BadRequest => "bad_request",
            Self::ContextTooLong => "context_too_long",
            Self::ModelNotFound => "model_not_found",
            Self::Filtered => "filtered",
            Self::BadResponse => "bad_response",
            Self::Unsupported => "unsupported",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A model call that brought no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", kind.as_str())]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelErrorKind,
    /// What happened, with secrets masked.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the provider asked to wait.
    pub retry_after: Option<DurationMs>,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// How many times the request was sent.
    pub attempts: u32,
}

impl ModelError {
    /// A failure that trying again does not mend.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retryable: false, retry_after: None, status: None, attempts: 0 }
    }
}

/// Something that answers requests: a provider behind HTTP, the extractive model, a script in a test.
///
/// Implementers: be cancellation-safe; watch `cancel`; keep the whole conversation in the reply's own terms
/// (raw items for providers).
pub trait Model: Send + Sync + fmt::Debug {
    /// Who answers: provider, surface, model, family.
    fn origin(&self) -> Origin;

    /// Sends a request and waits for the whole reply; pieces go to `sink` as they come. The reply is not added to
    /// the conversation: the caller does that once it is journalled.
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        conversation: &'a mut Conversation,
        sink: &'a dyn ReplySink,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;

    /// What a call with this usage cost. Zero for local models; `None` when the price is not known.
    fn price(&self, usage: &Usage) -> Option<MicroUsd>;

    /// The most a request can cost: its prompt and the whole output budget. `None` when the price is not known.
    fn worst_case(&self, request: &ModelRequest, conversation: &Conversation) -> Option<MicroUsd>;

    /// Whether a raw provider tool can be sent to this model, and sent beside function tools.
    ///
    /// # Errors
    /// Why not, in words.
    fn takes_hosted(&self, tool: &Value, beside_functions: bool) -> Result<(), String> {
        let _ = (tool, beside_functions);
        match self.origin().api {
            Api::Chat => Err("the Chat Completions surface has no hosted tools".to_owned()),
            Api::Generation => Err("DashScope's own format takes search as a parameter, not as a tool".to_owned()),
            Api::Local => Err("a local model has no hosted tools".to_owned()),
            Api::Responses | Api::Messages | Api::GenerateContent | Api::Interactions | Api::Conversations => Ok(()),
        }
    }

    /// Whether the model can be held to this choice of tools. Where it cannot, a request with it is refused.
    fn supports(&self, choice: &ToolChoice) -> bool {
        let _ = choice;
        true
    }
}
