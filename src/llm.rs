//! Models: the neutral request and reply, the dialects of the wire, and the one HTTP client that speaks them.

pub mod arguments;
mod conversation;
mod model;
pub mod names;
mod request;
pub mod schema;
mod transcript;

pub use conversation::Conversation;
pub use model::{Model, ModelError, ModelErrorKind, ReplyEvent, ReplySink};
pub use request::{ModelRequest, ToolChoice, ToolDef};
