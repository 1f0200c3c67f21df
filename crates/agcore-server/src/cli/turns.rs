//! `agcore turns`: list, show, resume, pause, limit, cancel.

use agcore::{
    store::TurnState,
    turn::{Company, Doubt, EndReason, Given, Operator, TurnEnd, TurnOutcome},
    types::{CallId, TurnId},
};
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use serde_json::{Map, Value};

use super::{Global, ask, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Turns {
    /// List turns, the latest first
    List {
        /// At most this many
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only the writes of which nobody knows whether they took effect
        #[arg(long)]
        doubts: bool,
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
        /// Who lets it go on, where it is paused (default: the user of the configuration)
        #[arg(long)]
        by: Option<String>,
        #[command(flatten)]
        model: Box<setup::ModelArgs>,
    },
    /// Put a turn down before its next call, whatever process drives it; `resume` lets it go on
    Pause {
        #[command(flatten)]
        who: Who,
    },
    /// Raise or lower limits of a turn that runs, waits or is paused
    Limit {
        #[command(flatten)]
        who: Who,
        /// A limit as in the section `limits` of the configuration, e.g. max_tool_calls_per_turn=20; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE", required = true)]
        set: Vec<String>,
    },
    /// Say what became of a write of unknown outcome, once you have found out; `turns list --doubts` shows those there are
    Resolve {
        #[command(flatten)]
        who: Who,
        /// The call; may be left out when only one is in doubt
        call: Option<String>,
        /// It took effect
        #[arg(long, required_unless_present = "no_effect", conflicts_with = "no_effect")]
        took_effect: bool,
        /// It took no effect
        #[arg(long)]
        no_effect: bool,
        /// The receipt: an order number, a message id
        #[arg(long)]
        receipt: Option<String>,
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

/// Which turn, who acts on it, and why.
#[derive(Debug, clap::Args)]
pub(crate) struct Who {
    /// The turn, its trace, or the beginning of either
    turn: String,
    /// Who does it (default: the user of the configuration)
    #[arg(long)]
    by: Option<String>,
    /// Why, for the record
    #[arg(long, default_value = "")]
    why: String,
}

pub(crate) async fn run(global: &Global, command: Turns) -> Result<u8> {
    match command {
        Turns::List { limit, doubts: false } => list(global, limit).await,
        Turns::List { limit, doubts: true } => doubts(global, limit).await,
        Turns::Show { turn } => show(global, &turn).await,
        Turns::Resume { turn, yes, by, model } => resume(global, &turn, yes, by, &model).await,
        Turns::Pause { who } => pause(global, &who).await,
        Turns::Limit { who, set } => limit(global, &who, &set).await,
        Turns::Resolve { who, call, took_effect, no_effect: _, receipt } => {
            resolve(global, &who, call.as_deref(), took_effect, receipt).await
        }
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

async fn doubts(global: &Global, limit: u32) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let mut found = Vec::new();
    let unknown = EndReason::OutcomeUnknown.as_str();
    for head in runtime.turns(limit).await?.into_iter().filter(|head| head.reason.as_deref() == Some(unknown)) {
        let turn = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
        found.extend(turn.doubts().iter().map(|doubt| (head.turn.clone(), doubt.clone())));
    }
    if global.json {
        let document = |(turn, doubt): &(TurnId, Doubt)| serde_json::json!({"turn": turn, "call": doubt.call, "capability": doubt.capability});
        screen::json(&found.iter().map(document).collect::<Vec<_>>())?;
        return Ok(exit::OK);
    }
    if found.is_empty() {
        screen::line("nothing is in doubt");
    }
    for (turn, doubt) in &found {
        let capability = doubt.capability.as_ref().map_or("", |capability| capability.as_str());
        screen::line(format!("{turn}  {}  {capability}; say with `agcore turns resolve`", doubt.call));
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

async fn resume(global: &Global, name: &str, yes: bool, by: Option<String>, model: &setup::ModelArgs) -> Result<u8> {
    let made = setup::runtime(global, model).await?;
    let by = made.actor(by);
    let head = made.runtime.find(name).await?;
    // An order to pause may stand that no living process has carried out.
    if head.state != TurnState::Ended {
        made.runtime.unpause(&head.turn, Operator { by: &by, why: "" }).await?;
    }
    let outcome =
        made.runtime.resume(&head.turn, Company { approver: Some(ask::approver(yes)), ..Company::default() }).await?;
    ask::print(global, &made, &outcome).await
}

async fn pause(global: &Global, who: &Who) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(who.by.clone()), made.runtime);
    let head = runtime.find(&who.turn).await?;
    let given = runtime.pause(&head.turn, Operator { by: &by, why: &who.why }).await?;
    told(global, &head.turn, "paused", given)
}

async fn limit(global: &Global, who: &Who, set: &[String]) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(who.by.clone()), made.runtime);
    let head = runtime.find(&who.turn).await?;
    let given = runtime.set_limits(&head.turn, Operator { by: &by, why: &who.why }, limits_of(set)?).await?;
    told(global, &head.turn, "limited", given)
}

/// `key=value` pairs, the key with or without `limits.` before it.
fn limits_of(set: &[String]) -> Result<Map<String, Value>> {
    let pair = |pair: &String| {
        let (key, value) = pair.split_once('=').with_context(|| format!("`{pair}` is no KEY=VALUE"))?;
        let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::from(value.trim()));
        Ok((key.trim().trim_start_matches("limits.").to_owned(), value))
    };
    set.iter().map(pair).collect()
}

async fn resolve(
    global: &Global,
    who: &Who,
    call: Option<&str>,
    took_effect: bool,
    receipt: Option<String>,
) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(who.by.clone()), made.runtime);
    let head = runtime.find(&who.turn).await?;
    let turn = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
    let call = match (call, turn.doubts()) {
        (Some(call), _) => CallId::new(call)?,
        (None, [doubt]) => doubt.call.clone(),
        (None, []) => bail!("nothing of turn `{}` is in doubt", head.turn),
        (None, many) => {
            let calls: Vec<&str> = many.iter().map(|doubt| doubt.call.as_str()).collect();
            bail!("several calls are in doubt, name one: {}", calls.join(", "))
        }
    };
    runtime.resolve(&head.turn, &call, took_effect, receipt, Operator { by: &by, why: &who.why }).await?;
    if global.json {
        screen::json(&serde_json::json!({"turn": head.turn, "call": call, "took_effect": took_effect, "by": by}))?;
    } else {
        let what = if took_effect { "took effect" } else { "took no effect" };
        screen::line(format!("{call} of {} {what}, {by} says", head.turn));
    }
    Ok(exit::OK)
}

fn told(global: &Global, turn: &TurnId, what: &str, given: Given) -> Result<u8> {
    if global.json {
        screen::json(&serde_json::json!({"turn": turn, "order": what, "done": given == Given::Done}))?;
    } else {
        screen::line(match given {
            Given::Done => format!("{what} {turn}"),
            Given::Ordered => {
                format!("the process that drives {turn} takes this up before its next call ({what})")
            }
        });
    }
    Ok(exit::OK)
}

async fn cancel(global: &Global, name: &str, by: Option<String>) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(by), made.runtime);
    let head = runtime.find(name).await?;
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
    let must_cite = outcome.turn.prepared().is_some_and(|prepared| prepared.report.require_citations);
    match &outcome.end {
        TurnEnd::Waiting(_) | TurnEnd::Paused(_) => exit::WAITING,
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
