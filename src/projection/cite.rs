//! Which citations go along with a projected text, and how the model is shown them.

use std::collections::HashSet;

use crate::{
    secret::Redactor,
    text::cut,
    types::{Citation, CitationSource, Tokens},
};

/// The longest quote that is looked for in a shortened text.
const QUOTE_BYTES: usize = 60;

/// What became of the text the citations belong to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'a> {
    /// It is shown as it was; offsets into it hold.
    Same,
    /// It is shown whole, but moved or masked.
    Whole,
    /// This is left of it.
    Cut(&'a str),
}

/// The citations of what stayed, each once, masked.
pub(super) fn staying(
    citations: &[Citation],
    text: Text<'_>,
    whole: &dyn Fn(&str) -> bool,
    redactor: &Redactor,
) -> Vec<Citation> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for citation in citations {
        let stays = match text {
            Text::Same | Text::Whole => true,
            Text::Cut(left) => stays(citation, left, whole),
        };
        let offsets = matches!(text, Text::Same).then_some((citation.start, citation.end));
        if stays && seen.insert((key(&citation.source), citation.quote.clone(), offsets)) {
            kept.push(masked(citation, offsets, redactor));
        }
    }
    kept
}

/// A citation goes with the words it rests on: with its quote, or else with the place that names its source. One that
/// the whole text never named belongs to all of it, and stays.
fn stays(citation: &Citation, left: &str, whole: &dyn Fn(&str) -> bool) -> bool {
    let quote = citation.quote.as_deref().map(|quote| cut::to_bytes(quote.trim(), QUOTE_BYTES));
    let named = match &citation.source {
        CitationSource::Url(url) => Some(url.as_str()),
        CitationSource::File { path, .. } => Some(path.as_str()),
        CitationSource::Call(_) => None,
    };
    match [quote, named].into_iter().flatten().find(|words| !words.is_empty() && whole(words)) {
        Some(words) => left.contains(words),
        None => true,
    }
}

fn key(source: &CitationSource) -> String {
    match source {
        CitationSource::Url(url) => url.clone(),
        CitationSource::File { path, lines } => format!("{path}#{lines:?}"),
        CitationSource::Call(call) => format!("call {call}"),
    }
}

fn masked(citation: &Citation, offsets: Option<(Option<usize>, Option<usize>)>, redactor: &Redactor) -> Citation {
    let mask = |text: &str| redactor.text(text).into_inner().into_owned();
    let (start, end) = offsets.unwrap_or_default();
    Citation {
        source: match &citation.source {
            CitationSource::Url(url) => CitationSource::Url(mask(url)),
            CitationSource::File { path, lines } => CitationSource::File { path: mask(path), lines: *lines },
            CitationSource::Call(call) => CitationSource::Call(call.clone()),
        },
        title: citation.title.as_deref().map(mask),
        quote: citation.quote.as_deref().map(mask),
        start,
        end,
    }
}

/// The lines that name sources which the text does not name itself, within `budget`. Empty when there are none.
pub(super) fn lines(citations: &[Citation], body: &str, budget: Tokens) -> String {
    let (mut out, mut seen, mut room) = (String::new(), HashSet::new(), budget.0);
    for citation in citations {
        let place = match &citation.source {
            CitationSource::Url(url) => url.clone(),
            CitationSource::File { path, lines: Some((from, to)) } => format!("{path}, lines {from}–{to}"),
            CitationSource::File { path, lines: None } => path.clone(),
            CitationSource::Call(_) => continue,
        };
        let named = match &citation.source {
            CitationSource::Url(url) => body.contains(url.as_str()),
            CitationSource::File { path, .. } => body.contains(path.as_str()),
            CitationSource::Call(_) => true,
        };
        if named || !seen.insert(place.clone()) {
            continue;
        }
        let title =
            citation.title.as_deref().map(|title| cut::to_chars(title.trim(), 120)).filter(|title| !title.is_empty());
        let line = match title {
            Some(title) => format!("\n- {} {place}", title.replace(['\n', '\r'], " ")),
            None => format!("\n- {place}"),
        };
        let cost = cut::tokens(&line).0;
        if cost > room {
            break;
        }
        room -= cost;
        out.push_str(&line);
    }
    if out.is_empty() { out } else { format!("\nSources:{out}") }
}
