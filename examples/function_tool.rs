//! A function tool: a typed Rust function becomes a tool with a derived schema.
//!
//! `cargo run --example function_tool`

use agcore::{
    runtime::{Runtime, RuntimeError},
    turn::{TurnEnd, TurnError},
    types::ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Question {
    /// What the user wants to know
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

/// Runs one turn over the function and returns its answer.
pub async fn answer() -> Result<String, Failed> {
    let opening_hours = |question: Question, _| async move {
        let text =
            format!("You asked: {}. The shop is open from nine to six, on Sundays it is closed.", question.query);
        Ok::<_, ToolError>(text)
    };
    let runtime =
        Runtime::builder().function("shop.get_opening_hours", "Tells when the shop is open", opening_hours).build()?;
    let outcome = runtime.turn("When is the shop open on Sundays?").run().await?;
    Ok(match outcome.end {
        TurnEnd::Ended(ended) => ended.answer.clone(),
        TurnEnd::Waiting(_) | TurnEnd::Paused(_) => "the turn waits for a person".to_owned(),
    })
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
#[cfg_attr(test, allow(dead_code, clippy::allow_attributes, reason = "the tests call what it calls"))]
async fn main() -> Result<(), Failed> {
    println!("{}", answer().await?);
    Ok(())
}
