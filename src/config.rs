//! The configuration: what a user may set, with defaults, allowed ranges and the origin of every value.

mod limits;

pub use limits::{LimitError, LimitRange, Limits, Tier};
