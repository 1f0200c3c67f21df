//! Runs calls: function tools, declarative HTTP, file tools; scheduled by side effect, group and dependency.
//!
//! The path of a batch: [`Schedule`] says which calls may start, [`Slots`] bounds them over all turns, [`run_one`] runs
//! one to its one result. Whoever drives a turn journals between these steps; nothing in here does.

pub mod errors;
mod executor;
pub mod files;
mod function;
mod http;
mod registry;
mod run;
mod schedule;
mod slots;

pub use executor::{CallContext, Executor};
pub use function::{FunctionTool, IntoOutput, function};
pub use http::{HttpTool, HttpToolError};
pub use registry::{DuplicateExecutor, Executors};
pub use run::{Attempted, RunPolicy, run_one};
pub use schedule::{BATCH_CAP, Planned, Schedule};
pub use slots::{Slot, Slots};

#[cfg(test)]
mod testing;
