//! `agcore traces`: list and show.

use agcore::trace;
use anyhow::Result;
use clap::Subcommand;

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Traces {
    /// List traces, the latest first
    List {
        /// At most this many
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Show a trace as a tree: decisions, calls, times, costs
    Show {
        /// The trace, its turn, or the beginning of either
        trace: String,
    },
}

pub(crate) async fn run(global: &Global, command: Traces) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    match command {
        Traces::List { limit } => {
            let heads = runtime.turns(limit).await?;
            if global.json {
                screen::json(&heads)?;
                return Ok(exit::OK);
            }
            for head in heads {
                let state = head.reason.unwrap_or_else(|| head.state.as_str().to_owned());
                screen::line(format!(
                    "{}  {}  {state:<15}  {}  {}",
                    head.trace, head.started_at, head.spent, head.title
                ));
            }
        }
        Traces::Show { trace } => {
            let head = runtime.find(&trace).await?;
            let trace = runtime.trace(&head.turn).await?;
            if global.json { screen::json(&trace)? } else { screen::line(trace::tree(&trace).trim_end()) }
        }
    }
    Ok(exit::OK)
}
