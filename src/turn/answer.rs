//! Writes the end of a turn from what is known: the answer, its sources and what the reader has to know.

use crate::types::{Citation, CitationSource, Stop};

use super::{EndReason, Ended, LimitKind, Turn};

/// Composes the end. Pure: the same journal gives the same answer.
pub(super) fn compose(turn: &Turn, reason: EndReason) -> Ended {
    let (mut answer, mut citations) = turn.last_reply().map(|reply| reply.text_and_citations()).unwrap_or_default();
    if citations.is_empty() {
        citations = named_in(&answer, turn.sources());
    }
    let mut notices = notices(turn, reason);
    if answer.trim().is_empty() {
        answer = without_words(turn, reason);
    }
    let must_cite = turn.prepared().is_some_and(|prepared| prepared.report.require_citations);
    if reason == EndReason::Answered && must_cite && citations.is_empty() {
        notices.push("no source was cited although citations are required".to_owned());
    }
    Ended { reason, answer, citations, notices }
}

/// The sources whose path or address the answer names, each with the place of its first mention.
fn named_in(answer: &str, sources: &[Citation]) -> Vec<Citation> {
    let mut named: Vec<Citation> = Vec::new();
    for source in sources {
        let label = label(&source.source);
        let Some(at) = (!label.is_empty()).then(|| answer.find(&label)).flatten() else { continue };
        if named.iter().any(|other| other.source == source.source) {
            continue;
        }
        let start = answer.get(..at).map_or(0, |before| before.chars().count());
        let end = start + label.chars().count();
        named.push(Citation { start: Some(start), end: Some(end), ..source.clone() });
    }
    named
}

/// How a source is written in an answer.
fn label(source: &CitationSource) -> String {
    match source {
        CitationSource::Url(url) => url.clone(),
        CitationSource::File { path, lines: Some((first, last)) } => format!("{path}:{first}-{last}"),
        CitationSource::File { path, lines: None } => path.clone(),
        CitationSource::Call(_) => String::new(),
    }
}

fn notices(turn: &Turn, reason: EndReason) -> Vec<String> {
    let mut notices: Vec<String> = Vec::new();
    for kind in turn.limits_reached() {
        let notice = match kind {
            LimitKind::NoProgress => "the model repeated itself without progress and was stopped".to_owned(),
            LimitKind::Budget => turn.shortfall().map(ToString::to_string).unwrap_or_default(),
            LimitKind::ToolIterations
            | LimitKind::ToolCalls
            | LimitKind::WallTime
            | LimitKind::Cost
            | LimitKind::ContextTokens => format!("the limit `{}` was reached", kind.as_str()),
        };
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    if let Some(failure) = turn.failure() {
        notices.push(format!("the model could not be asked: {failure}"));
    }
    match turn.last_reply().map(|reply| &reply.stop) {
        Some(Stop::Length) => notices.push("the answer was cut: the output budget of the model ran out".to_owned()),
        Some(Stop::Failed(why)) => notices.push(format!("the reply broke off: {why}")),
        Some(Stop::Unknown(why)) => notices.push(format!("the model stopped for a reason agcore does not know: {why}")),
        Some(Stop::End | Stop::ToolCalls | Stop::Filtered | Stop::Refused | Stop::Paused) | None => {}
    }
    if reason == EndReason::OutcomeUnknown {
        notices.push("a write was started and its result is not known: a person has to check it".to_owned());
    }
    if turn.ledger().unpriced {
        notices.push("the price of this model is not known: the cost is a lower bound".to_owned());
    }
    notices
}

/// The answer of a turn whose model said nothing.
fn without_words(turn: &Turn, reason: EndReason) -> String {
    match reason {
        EndReason::Answered => "The model gave no answer.".to_owned(),
        EndReason::Refused => "The model declined to answer.".to_owned(),
        EndReason::Rejected => "A person rejected a call this answer needs, so the turn ended here.".to_owned(),
        EndReason::Cancelled => "The turn was cancelled.".to_owned(),
        EndReason::OutcomeUnknown => {
            "A write was started, but whether it took effect is not known. It was not repeated.".to_owned()
        }
        EndReason::Failed => "The model could not be asked.".to_owned(),
        EndReason::Limit | EndReason::Budget | EndReason::NoProgress if turn.sources().is_empty() => {
            "The turn ended before an answer was found.".to_owned()
        }
        EndReason::Limit | EndReason::Budget | EndReason::NoProgress => {
            let sources = turn.sources().iter().map(|source| label(&source.source)).filter(|label| !label.is_empty());
            let mut sources: Vec<String> = sources.collect();
            sources.dedup();
            sources.truncate(10);
            format!("The turn ended before an answer was written. These sources were found: {}.", sources.join(", "))
        }
    }
}
