//! `agcore audit`: who let what run, and whether the record is as it was written.

use agcore::{
    audit::{self, Entry, Mark},
    runtime::Runtime,
    store::audit::{Line, Record},
};
use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::json;

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// List decisions, approvals, calls and what operators did: digests in place of arguments
    List {
        /// Only of this turn: its id, its trace, or the beginning of either
        #[arg(long)]
        turn: Option<String>,
        /// Of at most this many turns, the latest
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Follow the chain from its first line, and compare every journal with it
    Verify {
        /// PLACE:HASH as an earlier check printed it: a chain that was cut off or written anew is found out by it
        #[arg(long, value_name = "PLACE:HASH")]
        kept: Option<Mark>,
    },
}

pub(crate) async fn run(global: &Global, command: Audit) -> Result<u8> {
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    match command {
        Audit::List { turn, limit } => list(global, &runtime, turn.as_deref(), limit).await,
        Audit::Verify { kept } => verify(global, &runtime, kept.as_ref()).await,
    }
}

async fn list(global: &Global, runtime: &Runtime, turn: Option<&str>, limit: u32) -> Result<u8> {
    let turns = match turn {
        Some(name) => vec![runtime.find(name).await?],
        None => runtime.turns(limit).await?,
    };
    let mut entries = Vec::new();
    for head in turns.iter().rev() {
        entries.extend(audit::entries(&runtime.journal(&head.turn).await?));
    }
    for entry in &mut entries {
        entry.why = runtime.parts().records.text(&entry.why).as_str().to_owned();
    }
    let acted = if turn.is_some() { Vec::new() } else { acted(runtime).await? };
    if global.json {
        screen::json(&json!({"entries": entries, "operators": acted}))?;
        return Ok(exit::OK);
    }
    entries.iter().for_each(show);
    for line in &acted {
        screen::line(format!("line {:>6}  {}", line.place, line.body));
    }
    Ok(exit::OK)
}

/// The lines about what operators did beside turns.
async fn acted(runtime: &Runtime) -> Result<Vec<Line>> {
    let Some(log) = runtime.parts().journal.audit() else { bail!("this journal keeps no audit log") };
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let lines = log.lines(after, 1_000).await?;
        let Some(last) = lines.last() else { return Ok(found) };
        after = last.place;
        found.extend(lines.into_iter().filter(|line| matches!(serde_json::from_str(&line.body), Ok(Record::Acted(_)))));
    }
}

fn show(entry: &Entry) {
    let call = entry.call.as_ref();
    let capability = call.and_then(|call| call.capability.as_ref()).map_or("", |id| id.as_str());
    let by = entry.by.as_deref().map(|by| format!("  by {by}")).unwrap_or_default();
    let rule = entry.rule.as_ref().map(|rule| format!("  by rule `{rule}`")).unwrap_or_default();
    let digest = call.map(|call| format!("  {}", short(&call.digest))).unwrap_or_default();
    let why = if entry.why.is_empty() { String::new() } else { format!("  ({})", entry.why) };
    screen::line(format!(
        "{}  {}#{:<3} {}/{}  {:<15} {capability}{by}{rule}{digest}{why}",
        entry.at, entry.turn, entry.event, entry.tenant, entry.user, entry.what
    ));
}

/// The beginning of a digest: enough to compare by eye.
fn short(digest: &str) -> &str {
    agcore::text::cut::to_bytes(digest, 19)
}

async fn verify(global: &Global, runtime: &Runtime, kept: Option<&Mark>) -> Result<u8> {
    let report = runtime.verify_audit(kept).await?;
    let sound = report.problems.is_empty();
    if global.json {
        screen::json(&json!({"sound": sound, "report": report}))?;
    } else {
        for problem in &report.problems {
            screen::line(problem.to_string());
        }
        for turn in &report.open {
            screen::line(format!("not proven yet: {turn} runs, or its process died"));
        }
        screen::line(format!("{} lines, {} turns, {} problems", report.lines, report.turns, report.problems.len()));
        if let Some(head) = &report.head {
            screen::line(format!("keep this elsewhere, for `agcore audit verify --kept`: {head}"));
        }
    }
    Ok(if sound { exit::OK } else { exit::FAILED })
}
