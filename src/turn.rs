//! A turn: one user input taken to one final answer.
//!
//! [`Turn`] is a pure machine: [`Turn::apply`] folds an [`Event`] of the journal into the state, [`Turn::next`]
//! says what must happen now. A driver performs the [`Step`], appends what came of it and loops. Resuming after a
//! crash is reading the journal, folding it, and going on.

mod call;
mod event;
mod ledger;
mod limit;
mod machine;
mod progress;
#[cfg(test)]
mod tests;

pub use call::{Call, CallStage};
pub use event::{
    ApprovalDecided, CallDecided, CallFinished, CallOutcome, CallStarted, CallStatus, EndReason, Ended, Event, Exposed,
    LimitKind, ModelCallFailed, ModelCallStarted, ModelOptions, ModelReplied, OnReject, Prepared, Recorded, Resumed,
    Started, Verdict, Withheld,
};
pub use ledger::Ledger;
pub use machine::{IllegalEvent, ModelStep, Phase, Step, Turn};
