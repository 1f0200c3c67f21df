//! `agcore ask`: the main job. A question goes in, a cited answer comes out, with every decision explained.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agcore::{
    execute::files::{IndexReport, PdfWorker, Settings, Workspace},
    llm::ReplyEvent,
    trace::{PolicyDecision, ToolSpan, Trace},
    turn::{
        Act, ApprovalAnswer, ApprovalRequest, Approver, Company, Event, Operated, Recorded, Turn, TurnEnd, TurnOutcome,
        Watcher,
    },
    types::{Citation, CitationSource, Intent, TaskType},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use futures_util::future::BoxFuture;

use super::{Global, screen, setup, turns};
use crate::telemetry;

/// How many skipped files are named.
const SKIPPED_SHOWN: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  agcore ask --files docs \"What is an intent?\"        quoted passages from a folder, without a key
  agcore ask --base-url http://127.0.0.1:8080/v1 --model qwen3 --files . \"Where are retries decided?\"
  agcore ask --json --files docs \"...\" | jq .answer")]
pub(crate) struct Ask {
    /// The question
    question: String,
    /// A folder to answer from: Markdown, text, HTML, CSV, JSON, source code, PDF
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// What is wanted, e.g. web.search; may be given several times (default: detected from the question)
    #[arg(long = "intent", value_name = "INTENT")]
    intents: Vec<Intent>,
    /// What kind of work it is: budgets, limits and rules go by it
    #[arg(long, value_name = "TYPE")]
    task: Option<TaskType>,
    /// Let calls run that would wait for a person (for scripts; what is denied stays denied)
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    model: setup::ModelArgs,
}

pub(crate) async fn run(global: &Global, ask: Ask) -> Result<u8> {
    let config = setup::config(global, &ask.model)?;
    let progress = Arc::new(screen::Progress::new(global.quiet));
    let mut builder = setup::builder(global, &config).await?;
    let mut intents = ask.intents;
    if let Some(folder) = folder(ask.files.as_deref(), &config.files.roots)? {
        let workspace = open(folder, &config.paths.state_dir, &progress).await?;
        for (name, executor) in workspace.executors() {
            builder = builder.executor(name, executor);
        }
        intents.extend(over_files()?);
    }
    let made = setup::finish(builder, config)?;
    let origin = made.runtime.parts().model.origin();
    progress.note(&format!("asking {} {} ({})", origin.provider, origin.model, made.because));
    let approver = approver(ask.yes);
    let company = Company {
        watcher: Arc::new(Shown { progress: progress.clone() }),
        approver: Some(approver),
        ..Company::default()
    };
    let cancel = company.cancel.clone();
    let mut turn = made.runtime.turn(ask.question).intents(intents).company(company);
    if let Some(task) = ask.task {
        turn = turn.task(task);
    }
    let mut turn = std::pin::pin!(turn.run());
    let outcome = loop {
        tokio::select! {
            outcome = &mut turn => break outcome?,
            _ = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    };
    progress.clear();
    print(global, &made, &outcome).await
}

/// The folder to answer from: the one that was named, else the one of the configuration.
fn folder<'a>(named: Option<&'a Path>, roots: &'a [PathBuf]) -> Result<Option<&'a Path>> {
    match (named, roots) {
        (Some(folder), _) => Ok(Some(folder)),
        (None, []) => Ok(None),
        (None, [root]) => Ok(Some(root)),
        (None, _) => bail!("`files.roots` names several folders; name the one to ask over with --files"),
    }
}

/// What asking over a folder wants: passages, with their sources.
fn over_files() -> Result<[Intent; 3]> {
    Ok([Intent::new("file.search")?, Intent::new("file.read")?, Intent::new("citation.required")?])
}

async fn open(folder: &std::path::Path, state: &std::path::Path, progress: &screen::Progress) -> Result<Workspace> {
    let program = std::env::current_exe().context("cannot find this program to start PDF workers with")?;
    let settings = Settings { state_dir: state.to_owned(), pdf: Some(PdfWorker::new(program)) };
    let step = |at: agcore::execute::files::Progress<'_>| progress.step("reading", at.done, at.total);
    let (workspace, report) = Workspace::open(folder, &settings, &step).await?;
    progress.clear();
    tell(&report, progress);
    Ok(workspace)
}

fn tell(report: &IndexReport, progress: &screen::Progress) {
    if report.read + report.removed > 0 {
        progress.keep(&format!(
            "{} files, {} passages ({} read, {} unchanged, {} gone)",
            report.files, report.passages, report.read, report.unchanged, report.removed
        ));
    }
    if !report.skipped.is_empty() && report.read > 0 {
        let were = if report.skipped.len() == 1 { "file was" } else { "files were" };
        progress.keep(&format!("{} {were} skipped:", report.skipped.len()));
        for skipped in report.skipped.iter().take(SKIPPED_SHOWN) {
            progress.keep(&format!("  {}: {}", skipped.path, skipped.reason));
        }
        if report.skipped.len() > SKIPPED_SHOWN {
            progress.keep(&format!("  and {} more", report.skipped.len() - SKIPPED_SHOWN));
        }
    }
}

/// Shows what happens while the turn runs.
struct Shown {
    progress: Arc<screen::Progress>,
}

impl Watcher for Shown {
    fn recorded(&self, recorded: &Recorded, turn: &Turn) {
        match &recorded.event {
            Event::ModelCallStarted(call) => self.progress.note(&format!("model call {}", call.number)),
            Event::CallStarted(started) => {
                let name = turn.call(&started.call).map(|call| call.name.clone()).unwrap_or_default();
                self.progress.note(&format!("running {name}"));
            }
            Event::Started(_)
            | Event::Prepared(_)
            | Event::ToolsAdded(_)
            | Event::ToolsRemoved(_)
            | Event::ModelReplied(_)
            | Event::ModelCallFailed(_)
            | Event::CallsDecided(_)
            | Event::ApprovalDecided(_)
            | Event::CallFinished(_)
            | Event::LimitReached(_)
            | Event::BudgetShort(_)
            | Event::Cancelled { .. }
            | Event::Resumed(_)
            | Event::Operated(_)
            | Event::Resolved(_)
            | Event::Ended(_) => {}
        }
    }

    fn piece(&self, piece: &ReplyEvent) {
        if let ReplyEvent::Text(text) = piece {
            self.progress.note(text.trim());
        }
    }
}

/// Who answers for a person at the command line.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes { Arc::new(AlwaysYes) } else { Arc::new(Terminal) }
}

/// Approves whatever may be approved.
struct AlwaysYes;

impl Approver for AlwaysYes {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        let answer = ApprovalAnswer::yes("cli --yes");
        Box::pin(std::future::ready(Some(answer)))
    }
}

/// Asks at the terminal; without one the turn is left waiting.
struct Terminal;

impl Approver for Terminal {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        Box::pin(async move {
            let question = question(request);
            let said = tokio::task::spawn_blocking(move || screen::confirm(&question)).await.ok().flatten()?;
            Some(ApprovalAnswer { approved: said, by: "cli".to_owned(), ..ApprovalAnswer::default() })
        })
    }
}

fn question(request: &ApprovalRequest) -> String {
    let because = request.decision.as_ref().map(|decision| decision.because.clone()).unwrap_or_default();
    format!("{} wants to run with\n  {}\n{because}\nRun it? [y/N] ", request.capability, request.arguments)
}

/// Prints how a turn was left.
pub(crate) async fn print(global: &Global, made: &setup::Made, outcome: &TurnOutcome) -> Result<u8> {
    let turn = &outcome.turn.started().turn;
    let trace = made.runtime.trace(turn).await?;
    telemetry::export(&made.config, &trace).await;
    if global.json {
        screen::json(&document(made, outcome, &trace))?;
    } else {
        human(outcome, &trace);
    }
    Ok(turns::code(outcome))
}

fn document(made: &setup::Made, outcome: &TurnOutcome, trace: &Trace) -> serde_json::Value {
    let waiting: Vec<_> = match &outcome.end {
        TurnEnd::Ended(_) | TurnEnd::Paused(_) => Vec::new(),
        TurnEnd::Waiting(requests) => requests
            .iter()
            .map(|r| serde_json::json!({"call": r.call, "capability": r.capability, "arguments": r.arguments, "digest": r.digest}))
            .collect(),
    };
    let quarantined: Vec<String> =
        made.runtime.parts().registry.quarantined().iter().map(ToString::to_string).collect();
    let ended = trace.ended.as_ref();
    serde_json::json!({
        "turn_id": trace.turn_id,
        "trace_id": trace.trace_id,
        "state": match &outcome.end {
            TurnEnd::Ended(ended) => ended.reason.as_str(),
            TurnEnd::Waiting(_) => "waiting",
            TurnEnd::Paused(_) => "paused",
        },
        "paused": outcome.turn.paused(),
        "answer": ended.map(|ended| &ended.answer),
        "citations": ended.map(|ended| &ended.citations),
        "notices": ended.map(|ended| &ended.notices),
        "waiting": waiting,
        "intents": trace.prepared.as_ref().map(|prepared| &prepared.report),
        "routes": trace.prepared.as_ref().map(|prepared| &prepared.routes),
        "unrouted": trace.prepared.as_ref().map(|prepared| &prepared.unrouted),
        "shortfall": outcome.turn.shortfall(),
        "withheld": trace.prepared.as_ref().map(|prepared| &prepared.withheld),
        "model_calls": trace.model_calls,
        "tool_calls": trace.tool_calls,
        "quarantined": quarantined,
        "remarks": trace.remarks,
        "cost": trace.cost,
        "active_ms": trace.active_ms,
    })
}

fn human(outcome: &TurnOutcome, trace: &Trace) {
    match (&outcome.end, &trace.ended) {
        (TurnEnd::Ended(_), Some(ended)) => {
            screen::line(ended.answer.trim_end());
            sources(&ended.citations);
            for notice in &ended.notices {
                screen::line(format!("\nNote: {notice}"));
            }
        }
        (TurnEnd::Waiting(requests), _) => waiting(requests, trace),
        (TurnEnd::Paused(operated), _) => paused(operated, trace),
        (TurnEnd::Ended(_), None) => {}
    }
    explanation(trace);
}

fn waiting(requests: &[ApprovalRequest], trace: &Trace) {
    screen::line("The turn waits for a person.");
    for request in requests {
        screen::line(format!("  {}  {}  {}", request.call, request.capability, request.arguments));
    }
    screen::line(format!(
        "Decide with `agcore approvals approve {0}` (or `deny`, `edit`), then `agcore turns resume {0}`.",
        trace.turn_id
    ));
}

fn paused(operated: &Operated, trace: &Trace) {
    let why = if operated.why.is_empty() { String::new() } else { format!(": {}", operated.why) };
    let what = if operated.act == Act::Halted { "Everything was halted" } else { "The turn was paused" };
    screen::line(format!("{what} by {}{why}", operated.by));
    screen::line(format!("Go on with `agcore turns resume {}`.", trace.turn_id));
}

fn sources(citations: &[Citation]) {
    if citations.is_empty() {
        return;
    }
    screen::line("\nSources");
    let mut shown: Vec<String> = Vec::new();
    for citation in citations {
        let place = match &citation.source {
            CitationSource::Url(url) => url.clone(),
            CitationSource::File { path, lines: Some((first, last)) } => format!("{path}:{first}-{last}"),
            CitationSource::File { path, lines: None } => path.clone(),
            CitationSource::Call(call) => call.clone(),
        };
        if !shown.contains(&place) {
            let title = citation.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
            screen::line(format!("  [{}] {place}{title}", shown.len() + 1));
            shown.push(place);
        }
    }
}

fn explanation(trace: &Trace) {
    screen::line("\nHow it was answered");
    if let Some(prepared) = &trace.prepared {
        let report = &prepared.report;
        let intents: Vec<String> =
            report.intents.iter().map(|found| format!("{} ({})", found.intent, found.because)).collect();
        screen::line(format!("  intents  {}", if intents.is_empty() { "none".to_owned() } else { intents.join(", ") }));
        screen::line(format!("  trigger  {} ({})", report.trigger, report.trigger_because));
        for route in &prepared.routes {
            let parts = route.candidates.iter().find(|candidate| candidate.capability == route.capability);
            let parts = parts.map(|candidate| {
                let parts = candidate.parts.iter().map(|part| format!("{} {:+}", part.name, part.points));
                parts.collect::<Vec<_>>().join(", ")
            });
            screen::line(format!("  route    {} → {} ({})", route.intent, route.capability, parts.unwrap_or_default()));
        }
        for none in &prepared.unrouted {
            screen::line(format!("  route    {none}"));
        }
    }
    for tool in &trace.tool_calls {
        screen::line(format!("  call     {}", call_line(tool)));
    }
    for model in &trace.model_calls {
        let cost = model.cost.map_or_else(|| "price not known".to_owned(), |cost| cost.to_string());
        screen::line(format!(
            "  model    {} {}  {}  {cost}  {}",
            model.provider, model.model, model.latency_ms, model.stop
        ));
    }
    let bound = if trace.cost.lower_bound { " at least" } else { "" };
    screen::line(format!("  cost     {}{bound}", trace.cost.total));
    screen::line(format!("  trace    {}  (agcore traces show {})", trace.trace_id, trace.trace_id));
}

fn call_line(tool: &ToolSpan) -> String {
    let error = tool.error.as_ref().map(|error| format!(" {error}")).unwrap_or_default();
    let decision = match tool.policy_decision {
        PolicyDecision::NotReached => String::new(),
        PolicyDecision::Allowed | PolicyDecision::Asked | PolicyDecision::Denied => {
            let rule = tool.policy_rule.as_ref().map_or("default", |rule| rule.as_str());
            format!("  {} by `{rule}`", tool.policy_decision.as_str())
        }
    };
    format!(
        "{} {}{error}  {}  {} sources{decision}  {}",
        tool.tool_name, tool.status, tool.latency_ms, tool.citations_count, tool.input_preview
    )
}
