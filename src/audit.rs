//! Who let what run, and whether the record of it is as it was written.
//!
//! [`entries`] reads the decisions, approvals and acts of a turn from its journal, without arguments and results: digests
//! stand for them. [`verify`] follows the chain of the audit log (`store::audit`) and compares every journal with what the
//! chain says of it.

mod entry;
mod verify;

pub use entry::{Entry, entries};
pub use verify::{Mark, MarkError, Problem, Report, verify};
