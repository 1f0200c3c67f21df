//! `agcore turns`: list, show, approve, reject and resume.

use agcore::{
    store::TurnState,
    turn::{ApprovalAnswer, Company, TurnEnd, TurnOutcome},
};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};

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
        #[command(flatten)]
        model: Box<setup::ModelArgs>,
    },
    /// Let a call run that waits for a person; the turn goes on with `resume`
    Approve(Decide),
    /// Do not let a call run that waits for a person; the turn goes on with `resume`
    Reject(Decide),
}

#[derive(Debug, Args)]
pub(crate) struct Decide {
    /// The turn, its trace, or the beginning of either
    turn: String,
    /// The call, as `turns list` and `ask` show it; may be left out when only one waits
    call: Option<String>,
    /// The digest that was shown: refuse when the call has another by now
    #[arg(long)]
    digest: Option<String>,
    /// Why, for the model and the record
    #[arg(long)]
    reason: Option<String>,
    /// Who decides
    #[arg(long, default_value = "cli")]
    by: String,
}

pub(crate) async fn run(global: &Global, command: Turns) -> Result<u8> {
    match command {
        Turns::List { limit } => list(global, limit).await,
        Turns::Show { turn } => show(global, &turn).await,
        Turns::Resume { turn, model } => resume(global, &turn, &model).await,
        Turns::Approve(decide) => record(global, decide, true).await,
        Turns::Reject(decide) => record(global, decide, false).await,
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

async fn resume(global: &Global, name: &str, model: &setup::ModelArgs) -> Result<u8> {
    let made = setup::runtime(global, model).await?;
    let head = made.runtime.find(name).await?;
    let outcome = made.runtime.resume(&head.turn, Company::default()).await?;
    ask::print(global, &made.runtime, &outcome).await
}

async fn record(global: &Global, decide: Decide, approved: bool) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let head = runtime.find(&decide.turn).await?;
    let turn = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
    let waiting = runtime.waiting(&turn);
    let call = match (&decide.call, waiting.as_slice()) {
        (Some(call), _) => call.clone(),
        (None, [only]) => only.call.to_string(),
        (None, []) => bail!("turn `{}` does not wait for anybody", head.turn),
        (None, many) => {
            let calls: Vec<&str> = many.iter().map(|request| request.call.as_str()).collect();
            bail!("several calls wait, name one: {}", calls.join(", "))
        }
    };
    let answer = ApprovalAnswer { approved, by: decide.by, reason: decide.reason };
    runtime.approve(&head.turn, &call, decide.digest.as_deref(), &answer).await?;
    let said = if approved { "approved" } else { "rejected" };
    if global.json {
        screen::json(&serde_json::json!({"turn": head.turn, "call": call, "decision": said}))?;
    } else {
        screen::line(format!("{said} {call}; go on with `agcore turns resume {}`", head.turn));
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
