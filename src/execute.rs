//! Runs calls: function tools, declarative HTTP, file tools; scheduled by side effect, group and dependency.

mod executor;

pub use executor::{CallContext, Executor};
