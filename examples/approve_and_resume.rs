//! A write that needs a person: the turn is put down, approved, and taken up again, possibly days later and by another
//! process.
//!
//! `cargo run --example approve_and_resume`

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use agcore::{
    capability::{Approval, Capability},
    runtime::{Runtime, RuntimeError},
    turn::{ApprovalAnswer, Company, TurnEnd, TurnError},
    types::{RiskClass, ToolError},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Refund {
    /// Why, in the user's words
    query: String,
}

/// Anything that goes wrong here.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The parts do not fit.
    #[error(transparent)]
    Build(#[from] RuntimeError),
    /// The turn could not run.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

/// What happened: how often the refund ran before and after the approval, and the answer.
#[derive(Debug)]
pub struct Story {
    /// Before a person had agreed.
    pub before: u32,
    /// After.
    pub after: u32,
    /// The answer.
    pub answer: String,
}

/// Runs the turn until it waits, approves, resumes.
pub async fn story() -> Result<Story, Failed> {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = runs.clone();
    let refund = move |refund: Refund, _| {
        let counter = counter.clone();
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>(format!("refunded, because: {}", refund.query))
        }
    };
    // Without this a write that the user asked for in full would run: here it takes the manager each time.
    let contract = Capability::function("orders.refund_by_request")
        .description("Refunds an order")
        .risk(RiskClass::BusinessWrite)
        .approval(Approval::Always);
    let runtime = Runtime::builder().function_as(contract, refund).build()?;

    let waiting = runtime.turn("Refund my order, it arrived broken").run().await?;
    let before = runs.load(Ordering::SeqCst);
    let TurnEnd::Waiting(requests) = &waiting.end else {
        return Ok(Story { before, after: before, answer: "nobody was asked".to_owned() });
    };
    let turn = &waiting.turn.started().turn;
    for request in requests {
        let yes = ApprovalAnswer::yes("the shop manager");
        runtime.approve(turn, request.call.as_str(), Some(&request.digest), &yes).await?;
    }
    let done = runtime.resume(turn, Company::default()).await?;
    let answer = match &done.end {
        TurnEnd::Ended(ended) => ended.answer.clone(),
        TurnEnd::Waiting(_) | TurnEnd::Paused(_) => "it still waits".to_owned(),
    };
    Ok(Story { before, after: runs.load(Ordering::SeqCst), answer })
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
#[cfg_attr(test, allow(dead_code, clippy::allow_attributes, reason = "the tests call what it calls"))]
async fn main() -> Result<(), Failed> {
    let story = story().await?;
    println!("ran {} times before the approval, {} times after it\n\n{}", story.before, story.after, story.answer);
    Ok(())
}
