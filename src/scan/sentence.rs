//! One sentence: which signals it bears, and whether it tells its reader to do something.

use std::ops::Range;

use super::{
    lexicon::{Class, Hit},
    signal::{self, SIGNALS, Signal},
};

/// What opens a sentence without being its verb.
const OPENERS: [&str; 17] = [
    "also",
    "then",
    "now",
    "and",
    "just",
    "finally",
    "additionally",
    "next",
    "so",
    "but",
    "first",
    "always",
    "instead",
    "seamlessly",
    "simply",
    "do",
    "afterwards",
];

const VERBS: [Class; 6] = [Class::Edit, Class::Out, Class::Act, Class::Task, Class::Forget, Class::Pretend];

/// A sentence and what is in it. Places are bytes of the plain text.
pub(super) struct Sentence {
    pub(super) range: Range<usize>,
    pub(super) signals: Vec<(&'static Signal, Range<usize>)>,
    /// All classes of words in it.
    classes: u64,
    /// The classes of the word the sentence starts with, behind labels, openers and "please".
    start: u64,
    pub(super) please: bool,
    pub(super) question: bool,
    /// Four words or more.
    pub(super) wordy: bool,
    /// A label such as `TODO:` right before a verb.
    pub(super) labelled: bool,
    /// It starts with a call for attention.
    pub(super) alerts: bool,
    /// It starts with a role, as turns of a conversation do.
    pub(super) role: bool,
}

impl Sentence {
    /// Reads the sentence at `range` of `text`, which holds `hits`.
    pub(super) fn read(text: &str, range: Range<usize>, hits: &[Hit]) -> Self {
        let own = text.get(range.clone()).unwrap_or_default();
        let classes = hits.iter().fold(0, |all, hit| all | hit.classes);
        let signals = signals(hits, classes);
        let first = range.start + skip_marks(own);
        let at = |place: usize| hits.iter().filter(|hit| hit.start == place).fold(0, |all, hit| all | hit.classes);
        let rest = |place: usize| text.get(place..range.end).unwrap_or_default();
        let mut place = first + skip_label(rest(first));
        let mut please = false;
        if let Some(hit) = hits.iter().find(|hit| hit.start == place && hit.is(Class::Please)) {
            please = true;
            place = hit.end + skip_marks(rest(hit.end));
        }
        place += skip_opener(rest(place));
        let opened = hits.iter().find(|hit| hit.start == first && hit.is(Class::Role));
        Self {
            classes,
            signals,
            start: at(place),
            please,
            question: own.trim_end_matches(|c: char| c.is_whitespace() || "\"')".contains(c)).ends_with(['?', '？']),
            wordy: own.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1).take(4).count() == 4,
            labelled: hits.iter().any(|hit| hit.is(Class::Label) && commands(rest(hit.end), hit.end, &at)),
            alerts: at(first) & Class::Urgent.bit() != 0,
            role: opened.is_some_and(|hit| rest(hit.end).trim_start().starts_with(": ")),
            range,
        }
    }

    pub(super) const fn has(&self, class: Class) -> bool {
        self.classes & class.bit() != 0
    }

    pub(super) const fn starts_with(&self, class: Class) -> bool {
        self.start & class.bit() != 0
    }

    /// Whether it starts with a verb that tells its reader to do something.
    pub(super) fn imperative(&self) -> bool {
        VERBS.iter().any(|verb| self.starts_with(*verb))
    }

    /// Whether it speaks to somebody: a command, a question, a wish, or "you".
    pub(super) fn personal(&self) -> bool {
        self.imperative()
            || self.question
            || self.has(Class::You)
            || self.has(Class::Pretend)
            || self.starts_with(Class::Wh)
    }
}

/// The signals that `hits` bear; of those on one ladder only the first.
fn signals(hits: &[Hit], classes: u64) -> Vec<(&'static Signal, Range<usize>)> {
    let mut found: Vec<(&'static Signal, Range<usize>)> = Vec::new();
    for signal in SIGNALS {
        let taken = signal.rung && found.iter().any(|(other, _)| other.rung);
        if let Some(place) = signal::find(signal, hits, classes).filter(|_| !taken) {
            found.push((signal, place));
        }
    }
    found
}

/// Whether a colon and then a verb follow a label that ended at `end`.
fn commands(rest: &str, end: usize, at: &dyn Fn(usize) -> u64) -> bool {
    let bare = rest.trim_start();
    if !bare.starts_with([':', '!']) {
        return false;
    }
    let mut place = end + skip_marks(rest);
    for polite in ["please ", "you must ", "do "] {
        if rest.get(place - end..).is_some_and(|rest| rest.starts_with(polite)) {
            place += polite.len();
        }
    }
    VERBS.iter().any(|verb| at(place) & verb.bit() != 0)
}

/// How many bytes of marks and spaces come before the first letter.
fn skip_marks(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| !c.is_alphanumeric()).len()
}

/// A label such as `note:`, of one short word.
fn skip_label(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let rest = text.get(end..).unwrap_or_default();
    let spaces = rest.len() - rest.trim_start().len();
    match rest.trim_start().strip_prefix(':') {
        Some(after) if (1..=14).contains(&end) && !after.starts_with('/') => end + spaces + 1 + skip_marks(after),
        Some(_) | None => 0,
    }
}

fn skip_opener(text: &str) -> usize {
    let word = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    if !text.get(..word).is_some_and(|word| OPENERS.contains(&word)) {
        return 0;
    }
    let rest = text.get(word..).unwrap_or_default();
    let rest = rest.strip_prefix(',').unwrap_or(rest);
    match rest.strip_prefix(' ') {
        Some(rest) => text.len() - rest.len(),
        None => 0,
    }
}
