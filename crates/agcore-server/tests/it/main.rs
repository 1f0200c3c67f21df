//! Tests of the real program.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod ask;
mod budgets;
mod control;
mod crash;
mod crash_approvals;
mod crash_journal;
mod crash_workers;
mod pdf_worker;
