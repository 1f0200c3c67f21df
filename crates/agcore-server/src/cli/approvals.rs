//! `agcore approvals`: what waits for a person, and what the person says.

use std::collections::BTreeSet;

use agcore::{
    runtime::Runtime,
    store::{TurnHead, TurnState},
    turn::{ApprovalAnswer, ApprovalRequest, Remember},
};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the calls that wait for a person
    List,
    /// Show one: what would run, with which arguments, why it is asked, since when, until when
    Show {
        /// The turn, its trace, or the beginning of either
        turn: String,
        /// The call; may be left out when only one waits
        call: Option<String>,
    },
    /// Let a call run; the turn goes on with `agcore turns resume`
    Approve {
        #[command(flatten)]
        decide: Decide,
        /// Ask no more for calls with equal arguments, for this principal, while the tool's definition stays the same
        #[arg(long)]
        remember: bool,
        /// Ask no more for calls whose arguments have these values, whatever the others are: a JSON object
        #[arg(long, value_name = "JSON", conflicts_with = "remember")]
        remember_pattern: Option<String>,
    },
    /// Do not let a call run; the model is told the reason, or the turn ends with it
    Deny(Decide),
    /// Let a call run with other arguments: they are checked against the schema and the rules, and the model is told
    Edit {
        #[command(flatten)]
        decide: Decide,
        /// The arguments to run it with: a JSON object
        #[arg(long, value_name = "JSON")]
        args: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Decide {
    /// The turn, its trace, or the beginning of either
    turn: String,
    /// The call, as `agcore approvals list` shows it; may be left out when only one waits
    call: Option<String>,
    /// The digest that was shown: refuse when the call has another by now
    #[arg(long)]
    digest: Option<String>,
    /// Why, for the model and the record
    #[arg(long)]
    reason: Option<String>,
    /// Who decides (default: the user of the configuration)
    #[arg(long)]
    by: Option<String>,
    /// A role of who decides; may be given several times (default: the roles of the configuration)
    #[arg(long = "role")]
    roles: Vec<String>,
}

pub(crate) async fn run(global: &Global, command: Approvals) -> Result<u8> {
    match command {
        Approvals::List => list(global).await,
        Approvals::Show { turn, call } => show(global, &turn, call.as_deref()).await,
        Approvals::Approve { decide, remember, remember_pattern } => {
            let remember = match remember_pattern {
                Some(pattern) => Remember::Pattern(pattern_of(&pattern)?),
                None if remember => Remember::Exactly,
                None => Remember::No,
            };
            record(global, decide, ApprovalAnswer { approved: true, remember, ..ApprovalAnswer::default() }).await
        }
        Approvals::Deny(decide) => record(global, decide, ApprovalAnswer::default()).await,
        Approvals::Edit { decide, args } => {
            let answer = ApprovalAnswer { approved: true, edited: Some(args), ..ApprovalAnswer::default() };
            record(global, decide, answer).await
        }
    }
}

fn pattern_of(text: &str) -> Result<Map<String, Value>> {
    let map: Map<String, Value> = serde_json::from_str(text).context("--remember-pattern takes a JSON object")?;
    if map.is_empty() {
        bail!("an empty pattern would let every call run; name the values that must be equal");
    }
    Ok(map)
}

async fn waiting(runtime: &Runtime) -> Result<Vec<ApprovalRequest>> {
    let mut all = Vec::new();
    let may_wait = |head: &TurnHead| matches!(head.state, TurnState::Waiting | TurnState::Paused);
    for head in runtime.turns(10_000).await?.into_iter().filter(may_wait) {
        let turn = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
        all.extend(runtime.waiting(&turn));
    }
    Ok(all)
}

/// An approver sees the whole arguments.
fn document(request: &ApprovalRequest) -> Value {
    let arguments: Value = serde_json::from_str(&request.arguments).unwrap_or_else(|_| json!(request.arguments));
    json!({
        "turn": request.turn, "call": request.call, "capability": request.capability, "arguments": arguments,
        "digest": request.digest, "asked_at": request.asked_at, "expires_at": request.expires_at,
        "requested_by": {"tenant": request.principal.tenant, "user": request.principal.user},
        "because": request.decision.as_ref().map(|decision| &decision.because),
        "rule": request.decision.as_ref().and_then(|decision| decision.rule.as_ref()),
        "approvers": request.decision.as_ref().map(|decision| decision.approvers()),
    })
}

async fn list(global: &Global) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let all = waiting(&runtime).await?;
    if global.json {
        let documents: Vec<Value> = all.iter().map(document).collect();
        screen::json(&documents)?;
        return Ok(exit::OK);
    }
    if all.is_empty() {
        screen::line("nothing waits for a person");
    }
    for request in &all {
        screen::line(format!("{}  {}  {}  {}", request.turn, request.call, request.capability, request.arguments));
    }
    Ok(exit::OK)
}

async fn show(global: &Global, turn: &str, call: Option<&str>) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let request = find(&runtime, turn, call).await?;
    if global.json {
        screen::json(&document(&request))?;
        return Ok(exit::OK);
    }
    screen::line(format!("turn       {}", request.turn));
    screen::line(format!("call       {}", request.call));
    screen::line(format!("would run  {}", request.capability));
    screen::line(format!("with       {}", request.arguments));
    screen::line(format!("digest     {}", request.digest));
    screen::line(format!("asked by   {} ({})", request.principal.user, request.principal.tenant));
    if let Some(decision) = &request.decision {
        screen::line(format!("because    {}", decision.because));
    }
    if let (Some(asked), Some(expires)) = (request.asked_at, request.expires_at) {
        screen::line(format!("waits      since {asked}, until {expires}"));
    }
    Ok(exit::OK)
}

async fn find(runtime: &Runtime, turn: &str, call: Option<&str>) -> Result<ApprovalRequest> {
    let head = runtime.find(turn).await?;
    let folded = agcore::turn::Turn::fold(&runtime.journal(&head.turn).await?)?;
    let mut requests = runtime.waiting(&folded);
    if let Some(call) = call {
        requests.retain(|request| request.call.as_str() == call);
    }
    match requests.as_slice() {
        [_] => Ok(requests.remove(0)),
        [] => bail!("turn `{}` does not wait for {}", head.turn, call.unwrap_or("anybody")),
        many => {
            let calls: Vec<&str> = many.iter().map(|request| request.call.as_str()).collect();
            bail!("several calls wait, name one: {}", calls.join(", "))
        }
    }
}

async fn record(global: &Global, decide: Decide, mut answer: ApprovalAnswer) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    answer.by = made.actor(decide.by);
    let setup::Made { runtime, config, .. } = made;
    let request = find(&runtime, &decide.turn, decide.call.as_deref()).await?;
    answer.roles = if decide.roles.is_empty() { config.principal.roles } else { BTreeSet::from_iter(decide.roles) };
    answer.reason = decide.reason;
    let digest = decide.digest.as_deref().or(Some(&request.digest));
    runtime.approve(&request.turn, request.call.as_str(), digest, &answer).await?;
    let said = match (answer.approved, &answer.edited) {
        (true, Some(_)) => "edited",
        (true, None) => "approved",
        (false, _) => "denied",
    };
    if global.json {
        screen::json(&json!({"turn": request.turn, "call": request.call, "decision": said, "by": answer.by}))?;
    } else {
        screen::line(format!("{said} {}; go on with `agcore turns resume {}`", request.call, request.turn));
    }
    Ok(exit::OK)
}
