//! `agcore turns`: list, show and resume.

use agcore::{
    store::TurnState,
    turn::{Company, TurnEnd, TurnOutcome},
};
use anyhow::Result;
use clap::Subcommand;

use super::{Global, ask, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Turns {
    /// List turns, the latest first
    List {
        /// At most this many
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Show the events of a turn's journal (private: not redacted)
    Show {
        /// The turn, its trace, or the beginning of either
        turn: String,
    },
    /// Take up a turn that waits, or whose process is gone
    Resume {
        /// The turn, its trace, or the beginning of either
        turn: String,
        /// Approve whatever waits
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        model: Box<setup::ModelArgs>,
    },
    /// End a turn that waits, or that another process drives
    Cancel {
        /// The turn, its trace, or the beginning of either
        turn: String,
        /// Who cancels it (default: the user of the configuration)
        #[arg(long)]
        by: Option<String>,
    },
}

pub(crate) async fn run(global: &Global, command: Turns) -> Result<u8> {
    match command {
        Turns::List { limit } => list(global, limit).await,
        Turns::Show { turn } => show(global, &turn).await,
        Turns::Resume { turn, yes, model } => resume(global, &turn, yes, &model).await,
        Turns::Cancel { turn, by } => cancel(global, &turn, by).await,
    }
}

async fn list(global: &Global, limit: u32) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let heads = runtime.turns(limit).await?;
    if global.json {
        screen::json(&heads)?;
        return Ok(exit::OK);
    }
    if heads.is_empty() {
        screen::line("no turns yet; `agcore ask` makes one");
    }
    for head in &heads {
        let state = head.reason.clone().unwrap_or_else(|| head.state.as_str().to_owned());
        screen::line(format!("{}  {}  {:<15}  {}  {}", head.turn, head.started_at, state, head.spent, head.title));
        if head.state == TurnState::Waiting {
            let turn = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
            for request in runtime.waiting(&turn) {
                screen::line(format!("    waits: {} {} {}", request.call, request.capability, request.arguments));
            }
        }
    }
    Ok(exit::OK)
}

async fn show(global: &Global, name: &str) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let head = runtime.find(name).await?;
    let events = runtime.journal(&head.turn).await?;
    if global.json {
        screen::json(&events)?;
        return Ok(exit::OK);
    }
    for recorded in &events {
        let event = serde_json::to_string(&recorded.event)?;
        screen::line(format!(
            "{:>4}  {}  {:<20} {}",
            recorded.seq,
            recorded.at,
            recorded.event.kind(),
            shorten(&event)
        ));
    }
    Ok(exit::OK)
}

fn shorten(text: &str) -> &str {
    agcore::text::cut::to_bytes(text, 160)
}

async fn resume(global: &Global, name: &str, yes: bool, model: &setup::ModelArgs) -> Result<u8> {
    let made = setup::runtime(global, model).await?;
    let head = made.runtime.find(name).await?;
    let outcome =
        made.runtime.resume(&head.turn, Company { approver: Some(ask::approver(yes)), ..Company::default() }).await?;
    ask::print(global, &made.runtime, &outcome).await
}

async fn cancel(global: &Global, name: &str, by: Option<String>) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let head = runtime.find(name).await?;
    let by = by.unwrap_or_else(|| config.principal.user.to_string());
    runtime.cancel(&head.turn, &by).await?;
    if global.json {
        screen::json(&serde_json::json!({"turn": head.turn, "cancelled_by": by}))?;
    } else {
        screen::line(format!("cancelled {}", head.turn));
    }
    Ok(exit::OK)
}

/// The exit code of a turn. An answer that had to cite and found nothing to cite is none.
pub(crate) fn code(outcome: &TurnOutcome) -> u8 {
    use agcore::turn::EndReason;
    let must_cite = outcome.turn.prepared().is_some_and(|prepared| prepared.report.require_citations);
    match &outcome.end {
        TurnEnd::Waiting(_) => exit::WAITING,
        TurnEnd::Ended(ended) => match ended.reason {
            EndReason::Answered if must_cite && ended.citations.is_empty() => exit::NO_ANSWER,
            EndReason::Answered => exit::OK,
            EndReason::Refused
            | EndReason::Rejected
            | EndReason::Limit
            | EndReason::Budget
            | EndReason::NoProgress
            | EndReason::Cancelled
            | EndReason::OutcomeUnknown
            | EndReason::Failed => exit::NO_ANSWER,
        },
    }
}
