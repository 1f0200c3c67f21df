//! Is the record as it was written? Follows the chain and compares every journal with what the chain says of it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::Serialize;
use serde_json::Value;

use crate::{
    store::{
        Journal, StoreError, TurnHead, TurnState,
        audit::{Acted, Anchor, JournalHash, Line, Record, link},
    },
    types::TurnId,
};

/// How many lines are read at once.
const PAGE: u32 = 1_000;

/// A place of the chain with its hash, kept where who may change the database cannot: with it, a chain that was cut off or
/// written anew is found out. Written as `PLACE:HASH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub place: u64,
    /// The hash of the line there.
    pub hash: String,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.place, self.hash)
    }
}

impl Serialize for Mark {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// A text that is no mark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no PLACE:HASH as `agcore audit verify` prints it")]
pub struct MarkError(String);

impl FromStr for Mark {
    type Err = MarkError;

    fn from_str(text: &str) -> Result<Self, MarkError> {
        let wrong = || MarkError(text.to_owned());
        let (place, hash) = text.trim().split_once(':').ok_or_else(wrong)?;
        let hex = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let place = place.parse().ok().filter(|_| hex).ok_or_else(wrong)?;
        Ok(Self { place, hash: hash.to_ascii_lowercase() })
    }
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// In the journal of which turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Among which of its events, both included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<(u64, u64)>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "line {place}: ")?;
        }
        if let Some(turn) = &self.turn {
            write!(f, "turn {turn}: ")?;
        }
        if let Some((from, to)) = self.events {
            write!(f, "events {from} to {to}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// What [`verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many lines the chain has.
    pub lines: u64,
    /// How many turns are in it.
    pub turns: u64,
    /// The end of the chain: to be kept elsewhere, and given to a later check.
    pub head: Option<Mark>,
    /// Turns that were begun and not let go of yet: they run, or their process died. Nothing proves them so far.
    pub open: Vec<TurnId>,
    /// What is not as it was written.
    pub problems: Vec<Problem>,
}

/// Follows the chain from its first line, compares every journal with it, and the chain with a mark that was kept.
///
/// # Errors
/// [`StoreError`] when the database cannot be read. What was tampered with is in the report.
pub async fn verify(journal: &dyn Journal, kept: Option<&Mark>) -> Result<Report, StoreError> {
    let Some(log) = journal.audit() else { return Ok(Report::default()) };
    let mut chain = Chain {
        kept,
        report: Report::default(),
        previous: String::new(),
        anchors: BTreeMap::new(),
        agreed: BTreeMap::new(),
    };
    loop {
        let lines = log.lines(chain.report.lines_end(), PAGE).await?;
        if lines.is_empty() {
            break;
        }
        lines.iter().for_each(|line| chain.read(line));
    }
    let Chain { mut report, anchors, agreed, .. } = chain;
    if let Some(kept) = kept.filter(|kept| kept.place > report.lines_end()) {
        report.problems.push(at_line(kept.place, "the chain was cut off: it ends before this line"));
    }
    report.turns = u64::try_from(anchors.len()).unwrap_or(u64::MAX);
    for (turn, anchors) in &anchors {
        check_turn(journal, turn, anchors, &mut report.problems).await?;
    }
    for pin in journal.pins().all().await? {
        if agreed.get(pin.capability.as_str()) != Some(&pin.hash) {
            let what = format!("the pin of `{}` is not the definition that somebody agreed to", pin.capability);
            report.problems.push(Problem { place: None, turn: None, events: None, what });
        }
    }
    for head in journal.list(u32::MAX).await? {
        check_head(&head, anchors.get(&head.turn), &mut report);
    }
    Ok(report)
}

impl Report {
    /// The last place.
    fn lines_end(&self) -> u64 {
        self.head.as_ref().map_or(0, |head| head.place)
    }
}

fn at_line(place: u64, what: impl Into<String>) -> Problem {
    Problem { place: Some(place), turn: None, events: None, what: what.into() }
}

/// What was read of the chain so far.
struct Chain<'a> {
    kept: Option<&'a Mark>,
    report: Report,
    previous: String,
    anchors: BTreeMap<TurnId, Vec<(u64, Anchor)>>,
    /// The definitions that were agreed to, by capability.
    agreed: BTreeMap<String, String>,
}

impl Chain<'_> {
    fn read(&mut self, line: &Line) {
        let expected = self.report.lines_end() + 1;
        let problems = &mut self.report.problems;
        if line.place == expected {
            if link(&self.previous, &line.body) != line.hash {
                let what = match expected {
                    1 => "it was changed".to_owned(),
                    _ => format!("it does not follow from line {}: one of the two was changed", expected - 1),
                };
                problems.push(at_line(line.place, what));
            }
        } else {
            let missing = line.place - 1;
            problems.push(at_line(expected, format!("the lines up to {missing} were removed")));
        }
        if self.kept.is_some_and(|kept| kept.place == line.place && kept.hash != line.hash) {
            problems.push(at_line(line.place, "the chain was written anew: its hash is not the one that was kept"));
        }
        match serde_json::from_str(&line.body) {
            Ok(Record::Turn(anchor)) => {
                self.anchors.entry(anchor.turn.clone()).or_default().push((line.place, anchor));
            }
            Ok(Record::Acted(acted)) => self.read_acted(&acted),
            Err(error) => problems.push(at_line(line.place, format!("it cannot be read: {error}"))),
        }
        self.report.lines += 1;
        self.report.head = Some(Mark { place: line.place, hash: line.hash.clone() });
        self.previous.clone_from(&line.hash);
    }
}

impl Chain<'_> {
    fn read_acted(&mut self, acted: &Acted) {
        let text = |key: &str| acted.about.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(capability) = text("capability") else { return };
        match (acted.act.as_str(), text("to")) {
            ("approve_definition", Some(hash)) => drop(self.agreed.insert(capability, hash)),
            ("withdraw_definition", _) => drop(self.agreed.remove(&capability)),
            _ => {}
        }
    }
}

/// Compares a journal with every line about it.
async fn check_turn(
    journal: &dyn Journal,
    turn: &TurnId,
    anchors: &[(u64, Anchor)],
    problems: &mut Vec<Problem>,
) -> Result<(), StoreError> {
    let commits = match journal.read(turn).await {
        Ok(commits) => commits,
        Err(StoreError::NotFound(_)) => Vec::new(),
        Err(StoreError::Damaged { seq, why, .. }) => {
            let what = format!("the journal does not hold together at event {seq}: {why}");
            problems.push(Problem { place: None, turn: Some(turn.clone()), events: None, what });
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (mut hash, mut commits, mut events, mut proven) = (JournalHash::default(), commits.iter(), 0, 0);
    for (place, anchor) in anchors {
        while events <= anchor.to
            && let Some(body) = commits.next()
        {
            hash.add(body);
            events += u64::try_from(body.lines().count()).unwrap_or(u64::MAX);
        }
        let range = (proven, anchor.to);
        let what = if events <= anchor.to {
            "events were removed from the journal"
        } else if hash.so_far() != anchor.journal {
            "the journal was changed"
        } else {
            proven = anchor.to + 1;
            continue;
        };
        let turn = Some(turn.clone());
        problems.push(Problem { place: Some(*place), turn, events: Some(range), what: what.to_owned() });
        return Ok(());
    }
    if anchors.last().is_some_and(|(_, last)| last.state == TurnState::Ended) && commits.next().is_some() {
        let what = format!("events after {} were added to a turn that is over", proven.saturating_sub(1));
        problems.push(Problem { place: None, turn: Some(turn.clone()), events: None, what });
    }
    Ok(())
}

/// A turn that is over was let go of: the chain knows its end.
fn check_head(head: &TurnHead, anchors: Option<&Vec<(u64, Anchor)>>, report: &mut Report) {
    let last = anchors.and_then(|anchors| anchors.last()).map(|(_, anchor)| anchor.state);
    match (head.state, last) {
        (TurnState::Ended, Some(TurnState::Ended)) => {}
        (TurnState::Ended, _) => report.problems.push(Problem {
            place: None,
            turn: Some(head.turn.clone()),
            events: None,
            what: "it is over, and the chain does not know it: lines were removed".to_owned(),
        }),
        (TurnState::Running, _) | (TurnState::Waiting | TurnState::Paused, None) => report.open.push(head.turn.clone()),
        (TurnState::Waiting | TurnState::Paused, Some(_)) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_as_it_was_written_and_nothing_else_is_one() {
        let mark = Mark { place: 7, hash: "ab".repeat(32) };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for wrong in ["", "7", "7:", "x:ab", "7:abcd", ":".repeat(70).as_str()] {
            assert!(wrong.parse::<Mark>().is_err(), "{wrong}");
        }
    }
}
