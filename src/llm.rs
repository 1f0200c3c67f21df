//! Models: the neutral request and reply, the dialects of the wire, and the one HTTP client that speaks them.

mod conversation;
mod model;
mod request;
mod transcript;

pub use conversation::Conversation;
pub use model::{Model, ModelError, ModelErrorKind, ReplyEvent, ReplySink};
pub use request::{ModelRequest, ToolChoice, ToolDef};
