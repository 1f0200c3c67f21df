//! A turn: one user input taken to one final answer.
//!
//! [`Turn`] is a pure machine: [`Turn::apply`] folds an [`Event`] of the journal into the state, [`Turn::next`]
//! says what must happen now. The driver ([`run`], [`resume`]) performs the [`Step`], appends what came of it and
//! loops. Resuming after a crash is reading the journal, folding it, and going on.

mod call;
mod event;
mod ledger;
mod limit;
mod machine;
mod phase;
mod progress;
mod step;

mod answer;
mod approve;
mod ask;
mod decide;
mod digest;
mod drive;
mod error;
mod illustrate;
mod internal;
mod log;
mod operate;
mod outcome;
mod parts;
mod prepare;
mod prompt;
mod purse;
mod resource;
mod run;
mod settle;
mod simulate;
mod watch;
mod withdraw;

#[cfg(test)]
mod tests;

pub(crate) use approve::shown;
pub use approve::{decide_approval, requests};
pub use call::{Call, CallStage, Doubt};
pub use drive::{Company, TurnEnd, TurnOutcome, resume, run};
pub use error::TurnError;
pub use event::{
    ApprovalDecided, ApprovalEdit, CallDecided, CallFinished, CallOutcome, CallStarted, CallStatus, EndReason, Ended,
    Event, Exposed, LimitKind, ModelCallFailed, ModelCallStarted, ModelOptions, ModelReplied, OnReject, Parent,
    Prepared, Recorded, Resumed, Started, Verdict, Withheld,
};
pub use ledger::Ledger;
pub use log::{input_text, read_events};
pub use machine::{IllegalEvent, Turn};
pub use operate::{Act, Given, Operated, Operator, cancel, halt, halts, lift, pause, set_limits, unpause};
pub use parts::{Parts, Shown, Tool, Toolbox, is_searchable};
pub use phase::Phase;
pub use settle::{Resolved, resolve};
pub use simulate::{Changed, simulate};
pub use step::{ModelStep, Step};
pub use watch::{ApprovalAnswer, ApprovalRequest, Approver, Remember, Watcher};

use drive::Driver;
