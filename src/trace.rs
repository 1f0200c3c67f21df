//! The record of a turn as people and tools read it: spans, costs and decisions, folded from the journal and redacted.

mod fold;
mod otlp;
mod render;
mod span;

pub use fold::{CostReport, Trace, fold};
pub use otlp::otlp;
pub use render::tree;
pub use span::{ModelSpan, PolicyDecision, ToolSpan};
