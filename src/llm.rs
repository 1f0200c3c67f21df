//! Models: the neutral request and reply, the dialects of the wire, and the one HTTP client that speaks them.

pub mod arguments;
mod client;
mod constrained;
mod conversation;
mod dialect;
mod extractive;
mod head;
mod history;
mod hosted;
mod json;
mod model;
pub mod names;
mod pick;
mod price;
mod profile;
pub mod provider;
mod request;
mod retry;
pub mod schema;
mod sse;
mod tools;
mod transcript;
pub mod wire;

pub use client::{HttpModel, HttpModelConfig, SetUpError};
pub use conversation::Conversation;
pub use dialect::{Dialect, Fold, Reading, Target, Wire, WireError};
pub use extractive::Extractive;
pub use history::mend;
pub use hosted::{HostedTool, PARAMETERS as HOSTED_PARAMETERS, Place, Spelling};
pub use model::{Model, ModelError, ModelErrorKind, ReplyEvent, ReplySink};
pub use pick::{Choice, EXTRACTIVE, PickError, Picked, Wanted, pick};
pub use price::{LongRates, PerMillion, Price, PriceTable, Rates};
pub use profile::{
    AnswerSchema, ApiProfile, Auth, CallIds, ChoiceWord, Echo, ModelBody, Profile, ProfileError, Roles,
    intent_of_hosted,
};
pub use request::{AllowedTools, ModelRequest, OnUnsupported, ToolChoice, ToolDef};
pub use retry::CallLimits;
pub use sse::{SseError, SseEvent, SseParser};
