//! The pen that writes a turn's journal: each event is folded, queued, and committed before anybody acts on it.

use std::{borrow::Cow, sync::Arc};

use crate::{
    clock::Clock,
    store::{
        Claim, Commit, Journal, Settle, TurnHead, TurnState,
        audit::{Anchor, JournalHash},
    },
    text::cut,
    types::{Timestamp, TurnId, UserPart},
};

use super::{Event, Recorded, Started, Step, Turn, TurnError, Watcher};

/// How many bytes of the input lists show.
const TITLE_BYTES: usize = 120;

/// About how many bytes a commit has.
const USUAL_COMMIT: usize = 2048;

/// A turn with the events that are not committed yet.
pub(super) struct Log {
    turn: Turn,
    clock: Arc<dyn Clock>,
    journal: Arc<dyn Journal>,
    watcher: Arc<dyn Watcher>,
    /// The place of the first event that is not committed.
    first: u64,
    /// The events since then, one JSON text a line.
    pending: Vec<u8>,
    started_at: Timestamp,
    /// Says to other processes that this one drives the turn.
    claim: Option<Claim>,
    /// The hash of what was committed, where an audit log is kept.
    hash: Option<JournalHash>,
    /// What lists show by now.
    shown: Option<TurnState>,
}

impl Log {
    /// Opens a new turn. Nothing is committed yet.
    pub(super) fn open(
        started: Started,
        claim: Claim,
        clock: Arc<dyn Clock>,
        journal: Arc<dyn Journal>,
        watcher: Arc<dyn Watcher>,
    ) -> Result<Self, TurnError> {
        let at = clock.now();
        let first = Recorded { seq: 0, at, event: Event::Started(Arc::new(started)) };
        let turn = Turn::open(&first)?;
        let claim = Some(claim);
        let hash = journal.audit().map(|_| JournalHash::default());
        let (pending, shown) = (Vec::new(), None);
        let mut log = Self { turn, clock, journal, watcher, first: 0, pending, started_at: at, claim, hash, shown };
        log.queue(&first)?;
        Ok(log)
    }

    /// Takes up the journal of a turn.
    pub(super) async fn read(
        id: &TurnId,
        clock: Arc<dyn Clock>,
        journal: Arc<dyn Journal>,
        watcher: Arc<dyn Watcher>,
    ) -> Result<Self, TurnError> {
        let commits = journal.read(id).await?;
        let mut hash = journal.audit().map(|_| JournalHash::default());
        if let Some(hash) = &mut hash {
            commits.iter().for_each(|body| hash.add(body));
        }
        let events = parse(&commits, id)?;
        let turn = Turn::fold(&events)?;
        let started_at = events.first().map_or_else(|| clock.now(), |first| first.at);
        let first = turn.next_seq();
        let (pending, claim, shown) = (Vec::new(), None, None);
        Ok(Self { turn, clock, journal, watcher, first, pending, started_at, claim, hash, shown })
    }

    /// This process drives the turn from now on.
    pub(super) fn drive_by(&mut self, claim: Claim) {
        self.claim = Some(claim);
    }

    /// The state.
    pub(super) fn turn(&self) -> &Turn {
        &self.turn
    }

    /// The state, when nothing more is to be written.
    pub(super) fn into_turn(self) -> Turn {
        self.turn
    }

    /// The time now.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Folds an event and queues it for the next commit.
    pub(super) fn record(&mut self, event: Event) -> Result<(), TurnError> {
        let recorded = Recorded { seq: self.turn.next_seq(), at: self.clock.now(), event };
        self.turn.apply(&recorded)?;
        self.queue(&recorded)
    }

    fn queue(&mut self, recorded: &Recorded) -> Result<(), TurnError> {
        if self.pending.is_empty() {
            self.pending.reserve(USUAL_COMMIT);
        } else {
            self.pending.push(b'\n');
        }
        serde_json::to_writer(&mut self.pending, recorded).map_err(|error| TurnError::Write(error.to_string()))?;
        self.watcher.recorded(recorded, &self.turn);
        Ok(())
    }

    /// Makes all that was recorded durable, with what it does to shared accounts. False when there was nothing.
    pub(super) async fn commit(&mut self, settle: Option<Settle>) -> Result<bool, TurnError> {
        if self.pending.is_empty() {
            return Ok(false);
        }
        let next = self.turn.next_seq();
        let body = String::from_utf8(std::mem::take(&mut self.pending));
        let body = body.map_err(|error| TurnError::Write(error.to_string()))?;
        let anchor = self.anchor(&body, next - 1);
        let commit = Commit {
            turn: self.turn.started().turn.clone(),
            seq: self.first,
            last_seq: next - 1,
            at: self.turn.last_at(),
            body,
            head: self.head(),
            anchor,
            settle,
        };
        self.first = next;
        self.journal.append(commit).await?;
        Ok(true)
    }

    fn state(&self) -> TurnState {
        match self.turn.next() {
            Step::Done => TurnState::Ended,
            Step::AwaitApproval(_) => TurnState::Waiting,
            Step::Paused => TurnState::Paused,
            Step::Prepare | Step::CallModel(_) | Step::Decide(_) | Step::Execute(_) | Step::Finish(_) => {
                TurnState::Running
            }
        }
    }

    /// What the audit log says of the turn once nobody drives it any more, which is after this commit.
    fn anchor(&mut self, body: &str, to: u64) -> Option<Box<Anchor>> {
        self.hash.as_mut()?.add(body);
        let state = self.state();
        if state == TurnState::Running && self.claim.is_some() {
            return None;
        }
        let journal = self.hash.as_ref()?.so_far();
        let turn = self.turn.started().turn.clone();
        Some(Box::new(Anchor { turn, to, at: self.turn.last_at(), state, journal }))
    }

    /// What lists show, where that changed.
    fn head(&mut self) -> Option<TurnHead> {
        let state = self.state();
        if self.shown == Some(state) {
            return None;
        }
        self.shown = Some(state);
        let started = self.turn.started();
        Some(TurnHead {
            turn: started.turn.clone(),
            trace: started.trace.clone(),
            tenant: started.principal.tenant.clone(),
            title: title(&started.input),
            state,
            reason: self.turn.ended().map(|ended| ended.reason.as_str().to_owned()),
            started_at: self.started_at,
            updated_at: self.turn.last_at(),
            spent: self.turn.ledger().spent(),
            driver: self.claim.as_ref().filter(|_| state == TurnState::Running).map(|claim| claim.driver().clone()),
        })
    }
}

/// Reads the events of a turn.
///
/// # Errors
/// [`TurnError::Store`] when there is no such turn or the database fails; [`TurnError::Damaged`] when an event cannot
/// be read.
pub async fn read_events(journal: &dyn Journal, id: &TurnId) -> Result<Vec<Recorded>, TurnError> {
    parse(&journal.read(id).await?, id)
}

fn parse(bodies: &[String], id: &TurnId) -> Result<Vec<Recorded>, TurnError> {
    let damaged = |error: serde_json::Error| TurnError::Damaged { turn: id.clone(), why: error.to_string() };
    let lines = bodies.iter().flat_map(|body| body.lines());
    lines.map(|line| serde_json::from_str(line).map_err(damaged)).collect()
}

/// The text of a user's input.
pub fn input_text(input: &[UserPart]) -> Cow<'_, str> {
    if let [UserPart::Text(text)] = input {
        return Cow::Borrowed(text);
    }
    let texts = input.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.as_str()),
        UserPart::Image { .. } => None,
    });
    Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
}

fn title(input: &[UserPart]) -> String {
    let text = input_text(input);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    cut::to_bytes(line.trim(), TITLE_BYTES).to_owned()
}
