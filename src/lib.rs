//! agcore: the tool runtime for agents.

pub mod audit;
pub mod capability;
pub mod clock;
pub mod config;
pub mod discover;
pub mod error;
pub mod execute;
pub mod intent;
pub mod llm;
pub mod net;
pub mod policy;
pub mod projection;
pub mod quota;
pub mod route;
pub mod runtime;
pub mod scan;
pub mod secret;
pub mod store;
pub mod text;
pub mod trace;
pub mod turn;
pub mod types;

pub use error::{Error, ErrorKind};
