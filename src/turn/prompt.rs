//! The system prompt: the caller's words, and what agcore itself has to say. Equal turns give equal bytes.

use crate::{projection::SYSTEM_NOTE, types::Trigger};

use super::{Prepared, Started};

const CITE: &str = "Answer from what the tools return and name the source of each claim (the path with its lines, or \
    the address) right after it, in square brackets. If the sources do not hold the answer, say so.";

const LOOK_UP: &str = "This question is about something that may have changed: look it up before you answer.";

/// The instructions of a turn.
pub(super) fn instructions(started: &Started, prepared: &Prepared) -> String {
    let mut parts: Vec<&str> = Vec::new();
    if !started.instructions.is_empty() {
        parts.push(&started.instructions);
    }
    if !prepared.exposed.is_empty() {
        parts.push(SYSTEM_NOTE);
    }
    let cites = prepared.report.require_citations || prepared.report.trigger == Trigger::Required;
    if cites && !prepared.exposed.is_empty() {
        parts.push(CITE);
    }
    if prepared.report.trigger == Trigger::Required && !prepared.exposed.is_empty() {
        parts.push(LOOK_UP);
    }
    parts.join("\n\n")
}
