//! Models: the neutral request and reply, the dialects of the wire, and the one HTTP client that speaks them.

mod model;
mod request;

pub use model::{Model, ModelError, ModelErrorKind, ReplyEvent, ReplySink};
pub use request::{ModelRequest, ToolChoice, ToolDef};
