//! The one integration binary: what holds between modules, and what a user meets from outside.

#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails by panicking")]
#![expect(unreachable_pub, reason = "the examples are included as modules")]

mod approvals;
mod audit;
mod budgets;
mod control;
mod doubt;
mod examples;
mod images;
mod layers;
mod pins;
mod redaction;
mod resource;
mod sizes;
mod taint;
mod turn;
