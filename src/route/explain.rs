//! Routes in words.

use std::fmt::Write as _;

use super::{Candidate, Fate, NoRoute, Route, ScorePart};

/// Something whose choice among candidates can be told: a [`Route`] or a [`NoRoute`].
pub trait Explain {
    /// The first line: what came of it.
    fn headline(&self) -> String;
    /// The candidates, in order.
    fn candidates(&self) -> &[Candidate];
}

impl Explain for Route {
    fn headline(&self) -> String {
        let how = if self.fallback { " as the fallback: every other candidate fell out" } else { "" };
        format!("{} → {}{how}", self.intent, self.capability)
    }

    fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
}

impl Explain for NoRoute {
    fn headline(&self) -> String {
        let why =
            if self.candidates.is_empty() { "no capability is registered for it" } else { "nothing can serve it" };
        format!("{} → none: {why}", self.intent)
    }

    fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
}

/// A route, or the lack of one, in words: one line for what came of it, one for each candidate with its score and
/// parts or with the reason why it fell out.
///
/// ```text
/// web.search → openai.web_search
///   chosen     openai.web_search (provider_hosted) 145.5 = priority +90, citations +7.5, reliability +38, …
///   outscored  runtime.tavily_search (runtime_function) 105.5 = priority +60, …
///   out        gemini.google_search (provider_hosted): provider: only with `gemini`, the turn uses `openai`
/// ```
pub fn explain(what: &impl Explain) -> String {
    let mut text = what.headline();
    for candidate in what.candidates() {
        let (id, mode) = (&candidate.capability, candidate.mode);
        // Writing to a `String` cannot fail.
        let _ = match &candidate.fate {
            Fate::Chosen => write!(text, "\n  chosen     {id} ({mode}) {}", score(candidate)),
            Fate::Outscored => write!(text, "\n  outscored  {id} ({mode}) {}", score(candidate)),
            Fate::Filtered(why) => write!(text, "\n  out        {id} ({mode}): {why}"),
        };
    }
    text
}

fn score(candidate: &Candidate) -> String {
    let part = |part: &ScorePart| match part.points {
        0.0 => part.name.to_string(),
        points => format!("{} {points:+}", part.name),
    };
    let parts = candidate.parts.iter().map(part).collect::<Vec<_>>().join(", ");
    format!("{} = {parts}", candidate.score)
}
