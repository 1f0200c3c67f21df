//! A tool call, what running it returned, and the bounded form of that which a model may see.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{ArtifactId, CallId, Citation, DurationMs, ToolName};

/// One tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Our id, unique in the turn. The provider's own id stays in the reply it came with.
    pub id: CallId,
    /// The name the model used.
    pub name: ToolName,
    /// The arguments as received, not parsed: numbers are never rounded and broken JSON is kept for the trace.
    pub arguments: String,
}

/// One piece of what a tool returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A JSON text; valid JSON by the word of the executor that made it.
    Json(String),
    /// An image, a PDF, sound: never turned into text.
    Media {
        /// The media type, e.g. `image/png`.
        mime: String,
        /// The bytes.
        bytes: Bytes,
    },
}

/// What an executor returns when a call succeeded. It is whole and private; only the projector makes it fit
/// for a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The pieces, in order.
    pub content: Vec<Content>,
    /// The sources the content was taken from.
    pub citations: Vec<Citation>,
    /// A receipt of a write (order number, message id), stored with the journal.
    pub receipt: Option<String>,
}

impl ToolOutput {
    /// Output of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], ..Self::default() }
    }

    /// Output of one JSON value.
    pub fn json(value: &serde_json::Value) -> Self {
        Self { content: vec![Content::Json(value.to_string())], ..Self::default() }
    }
}

/// What went wrong with a call, as a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The deadline of the call passed.
    Timeout,
    /// What was asked for does not exist.
    NotFound,
    /// The principal or the credential may not do this.
    PermissionDenied,
    /// The arguments do not match the schema.
    SchemaValidation,
    /// The arguments are no JSON object at all.
    InvalidArguments,
    /// Too many requests.
    RateLimited,
    /// The gate said no.
    PolicyDenied,
    /// A person said no.
    ApprovalRejected,
    /// Nothing that could run the call is there.
    ExecutorUnavailable,
    /// No tool of that name is visible in this turn.
    UnknownTool,
    /// A limit of the turn was reached before the call started.
    LimitReached,
    /// The turn was cancelled before the call started.
    Cancelled,
    /// The call was stopped after it had started; what it did is not known.
    Interrupted,
    /// A write was started and its result is not known: it may have happened.
    OutcomeUnknown,
    /// The sandbox failed.
    SandboxFailed,
    /// The tool itself failed.
    ToolFailed,
    /// The same call brought nothing new several times and is withheld now.
    NoProgress,
}

impl ErrorCode {
    /// The code as it is written on the wire, e.g. `SCHEMA_VALIDATION`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::NotFound => "NOT_FOUND",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::SchemaValidation => "SCHEMA_VALIDATION",
            Self::InvalidArguments => "INVALID_ARGUMENTS",
            Self::RateLimited => "RATE_LIMITED",
            Self::PolicyDenied => "POLICY_DENIED",
            Self::ApprovalRejected => "APPROVAL_REJECTED",
            Self::ExecutorUnavailable => "EXECUTOR_UNAVAILABLE",
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::LimitReached => "LIMIT_REACHED",
            Self::Cancelled => "CANCELLED",
            Self::Interrupted => "INTERRUPTED",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::SandboxFailed => "SANDBOX_FAILED",
            Self::ToolFailed => "TOOL_FAILED",
            Self::NoProgress => "NO_PROGRESS",
        }
    }
}

/// A failed call, in the specification's shape. It is a value for the model, not an exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {safe_message}", code.as_str())]
pub struct ToolError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What the model and the user may read.
    pub safe_message: String,
    /// What only the trace keeps.
    pub developer_message: String,
    /// What the model should do next.
    pub next_action_hint: String,
    /// How long to wait before the next try, when the other side said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<DurationMs>,
}

impl ToolError {
    /// An error with a safe message and a hint; not retryable, nothing for the developer.
    pub fn new(code: ErrorCode, safe_message: impl Into<String>, next_action_hint: impl Into<String>) -> Self {
        Self {
            code,
            retryable: false,
            safe_message: safe_message.into(),
            developer_message: String::new(),
            next_action_hint: next_action_hint.into(),
            retry_after: None,
        }
    }

    /// The same error, marked as worth trying again.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The error as the model reads it: the specification's shape without `developer_message`.
    pub fn for_model(&self, call: &CallId) -> String {
        let mut error = serde_json::json!({
            "code": self.code.as_str(),
            "retryable": self.retryable,
            "safe_message": self.safe_message,
            "next_action_hint": self.next_action_hint,
        });
        if let (Some(wait), Some(fields)) = (self.retry_after, error.as_object_mut()) {
            fields.insert("retry_after_ms".to_owned(), wait.0.into());
        }
        serde_json::json!({"tool_call_id": call.as_str(), "status": "error", "error": error}).to_string()
    }

    /// The same error with details for the trace.
    #[must_use]
    pub fn developer(mut self, message: impl Into<String>) -> Self {
        self.developer_message = message.into();
        self
    }
}

/// A reference to a whole raw result in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// Under which hash.
    pub id: ArtifactId,
    /// Its media type.
    pub mime: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The constant `tool_result_projection` of the specification's form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectionKind {
    /// The only kind there is.
    #[default]
    #[serde(rename = "tool_result_projection")]
    ToolResult,
}

/// The bounded, redacted, cited form of a result: all a model ever sees of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// `tool_result_projection`.
    #[serde(rename = "type")]
    pub kind: ProjectionKind,
    /// Of which call.
    pub tool_call_id: CallId,
    /// The text for the model.
    pub content: String,
    /// The sources of the content.
    pub citations: Vec<Citation>,
    /// Where the whole result lies.
    pub artifact_refs: Vec<ArtifactRef>,
    /// Which of these are images that the model is shown, where its provider takes images in a result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ArtifactId>,
    /// What was cut, masked or marked.
    pub warnings: Vec<String>,
}
