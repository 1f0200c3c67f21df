//! A trace as a tree that a person can read.

use std::fmt::Write;

use crate::types::{DurationMs, MicroUsd};

use super::{ModelSpan, ToolSpan, Trace};

/// The tree of a trace: what was decided, what ran, how long it took, what it cost.
pub fn tree(trace: &Trace) -> String {
    let mut out = String::new();
    let end = trace.ended.as_ref().map_or(trace.phase.as_str(), |ended| ended.reason.as_str());
    let _ = writeln!(out, "turn {}  {end}  {}  {}", trace.turn_id, trace.active_ms, trace.cost.total);
    let _ = writeln!(out, "trace {}  started {}", trace.trace_id, trace.started_at);
    preparation(&mut out, trace);
    for model in &trace.model_calls {
        model_line(&mut out, model);
        for tool in trace.tool_calls.iter().filter(|tool| tool.model_call == model.number) {
            tool_lines(&mut out, tool);
        }
    }
    for remark in &trace.remarks {
        let _ = writeln!(out, "├─ note  {remark}");
    }
    let notices = trace.ended.iter().flat_map(|ended| &ended.notices);
    for notice in notices {
        let _ = writeln!(out, "├─ note  {notice}");
    }
    let bound = if trace.cost.lower_bound { " at least (a price is not known)" } else { "" };
    let _ = writeln!(
        out,
        "└─ cost  models {}  tools {}  total {}{bound}",
        trace.cost.model, trace.cost.tools, trace.cost.total
    );
    out
}

fn preparation(out: &mut String, trace: &Trace) {
    let Some(prepared) = &trace.prepared else { return };
    let report = &prepared.report;
    let _ = writeln!(out, "├─ intents  trigger {} ({})", report.trigger, report.trigger_because);
    for found in &report.intents {
        let _ = writeln!(out, "│    {}  {:.2}  {}", found.intent, found.confidence, found.because);
    }
    let _ = writeln!(out, "├─ routes");
    for route in &prepared.routes {
        let best = route.candidates.iter().find(|candidate| candidate.capability == route.capability);
        let parts = best.map(|candidate| {
            let parts = candidate.parts.iter().map(|part| format!("{} {:+}", part.name, part.points));
            format!("score {} = {}", candidate.score, parts.collect::<Vec<_>>().join(", "))
        });
        let others = route.candidates.len().saturating_sub(1);
        let rest = if others > 0 { format!(", against {others} other") } else { String::new() };
        let _ = writeln!(out, "│    {} → {}  {}{rest}", route.intent, route.capability, parts.unwrap_or_default());
    }
    for none in &prepared.unrouted {
        let _ = writeln!(out, "│    {none}");
    }
    for withheld in &prepared.withheld {
        let _ = writeln!(out, "│    {} withheld: {}", withheld.capability, withheld.reason);
    }
}

fn model_line(out: &mut String, model: &ModelSpan) {
    let cost = model.cost.map_or_else(|| "price not known".to_owned(), |cost| cost.to_string());
    let (input, output) = (model.usage.prompt(), model.usage.completion());
    let _ = writeln!(
        out,
        "├─ model call {}  {} {}  {}  {input} in, {output} out  {cost}  {}",
        model.number, model.provider, model.model, model.latency_ms, model.stop
    );
    if model.repeats > 0 {
        let _ = writeln!(out, "│    asked again {} time(s) after the process had died", model.repeats);
    }
    for line in model.hosted.iter().map(|hosted| format!("hosted {hosted}")).chain(model.notices.iter().cloned()) {
        let _ = writeln!(out, "│    {line}");
    }
}

fn tool_lines(out: &mut String, tool: &ToolSpan) {
    let route = tool.route.as_ref().map_or("nothing", |route| route.as_str());
    let error = tool.error.as_ref().map(|error| format!(" {error}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "│  ├─ {} → {route}  {}{error}  {}{}  {} tokens, {} sources",
        tool.tool_name,
        tool.status,
        time(tool.latency_ms, tool.attempts),
        money(tool.cost),
        tool.tokens_out,
        tool.citations_count
    );
    let _ = writeln!(out, "│  │    {}", tool.input_preview);
    let rule = tool.policy_rule.as_ref().map_or("default", |rule| rule.as_str());
    let by = tool.decided_by.as_ref().map(|by| format!(", decided by {by}")).unwrap_or_default();
    let _ = writeln!(out, "│  │    {} by `{rule}`{by}: {}", tool.policy_decision.as_str(), tool.policy_because);
    for warning in &tool.warnings {
        let _ = writeln!(out, "│  │    {warning}");
    }
}

fn time(latency: DurationMs, attempts: u32) -> String {
    if attempts > 1 { format!("{latency} in {attempts} tries") } else { latency.to_string() }
}

fn money(cost: MicroUsd) -> String {
    if cost == MicroUsd::ZERO { String::new() } else { format!("  {cost}") }
}
