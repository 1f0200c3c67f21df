//! Ends whoever acts at every append to the journal, before it and after it: who asks, who decides (yes, yes with other
//! arguments, no), who takes the turn up. Whatever died, one word counts, and what it let run has one effect.

use std::{path::Path, sync::atomic::Ordering};

use agcore::{
    runtime::Runtime,
    store::TurnState,
    turn::{ApprovalAnswer, Company, EndReason, Event, Recorded, TurnEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::crash_journal::{KEYED, Known, Life, PLAIN, READ, Rounds, Services, Side, replies};

const SHAPES: [Rounds; 2] = [&[&[READ], &[KEYED], &[PLAIN]], &[&[READ, KEYED, PLAIN]]];

/// The write without a key: the word is about it.
const IN_QUESTION: &str = "call_3";

/// What was said about it.
fn words(journal: &[Recorded]) -> Vec<bool> {
    let word = |recorded: &Recorded| {
        let Event::ApprovalDecided(approval) = &recorded.event else { return None };
        (approval.call.as_str() == IN_QUESTION).then_some(approval.approved)
    };
    journal.iter().filter_map(word).collect()
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// Begins the turn.
    Asks,
    /// Decides the call that waits.
    Decides,
    /// Takes the turn up.
    Resumes,
}

type Death = (Actor, usize, Side);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    Edited,
    No,
}

impl Word {
    fn answer(self) -> ApprovalAnswer {
        match self {
            Self::Yes => ApprovalAnswer::yes("ann"),
            Self::Edited => ApprovalAnswer { edited: Some(other().to_string()), ..ApprovalAnswer::yes("ann") },
            Self::No => ApprovalAnswer::no("ann", "not today"),
        }
    }
}

/// The arguments that a person puts in place of the model's.
fn other() -> Value {
    json!({"order": "B-2"})
}

/// A turn from its question to its end, over as many lives as it takes.
struct Play<'a> {
    db: &'a Path,
    services: Services,
    rounds: Rounds,
    word: Word,
    death: Option<Death>,
    /// How many appends each actor made, where nobody died.
    appends: [usize; 3],
}

impl<'a> Play<'a> {
    fn new(db: &'a Path, rounds: Rounds, word: Word, death: Option<Death>) -> Self {
        Self { db, services: Services::new(), rounds, word, death, appends: [0; 3] }
    }

    /// A life for `actor`, who dies if it is their turn to and this is about the call in question.
    async fn life(&mut self, actor: Actor, in_question: bool, known: usize) -> Life {
        let death = self.death.filter(|(dies, _, _)| *dies == actor && in_question);
        if death.is_some() {
            self.death = None;
        }
        Life::begin(self.db, &self.services, replies(self.rounds, known), death.map(|(_, at, side)| (at, side))).await
    }

    /// Plays to the end. Returns why it ended, and the journal.
    async fn play_out(&mut self) -> (EndReason, Vec<Recorded>) {
        for _ in 0..10 {
            let life = self.life(Actor::Asks, true, 0).await;
            let turn = life.runtime.turn("Label order A-1 or order B-2 as late and tell the customer.");
            if life.live(turn.run()).await.is_some() {
                self.appends[0] = life.journal.appends.load(Ordering::SeqCst);
            }
            if !life.runtime.turns(10).await.unwrap().is_empty() {
                break;
            }
        }
        for _ in 0..10 {
            if let Some(end) = self.go_on().await {
                return end;
            }
        }
        panic!("the turn does not end: {:?}", self.death);
    }

    async fn go_on(&mut self) -> Option<(EndReason, Vec<Recorded>)> {
        let (head, journal) = self.look().await;
        match head.state {
            TurnState::Ended => {
                let Event::Ended(ended) = &journal.last().unwrap().event else { panic!("{head:?}") };
                return Some((ended.reason, journal));
            }
            TurnState::Waiting => {
                let turn = agcore::turn::Turn::fold(&journal).unwrap();
                let request = self.desk().await.waiting(&turn).remove(0);
                let in_question = request.call.as_str() == IN_QUESTION;
                let life = self.life(Actor::Decides, in_question, 0).await;
                let answer = if in_question { self.word.answer() } else { ApprovalAnswer::yes("ann") };
                let decided = life.runtime.approve(&head.turn, request.call.as_str(), Some(&request.digest), &answer);
                if life.live(decided).await.is_some() {
                    self.appends[1] = life.journal.appends.load(Ordering::SeqCst);
                }
            }
            TurnState::Running => {
                let life = self.life(Actor::Resumes, !words(&journal).is_empty(), Known::of(&journal).replies).await;
                if life.live(life.runtime.resume(&head.turn, Company::default())).await.is_some() {
                    self.appends[2] = life.journal.appends.load(Ordering::SeqCst);
                }
            }
            TurnState::Paused => panic!("{head:?}"),
        }
        None
    }

    async fn desk(&self) -> Runtime {
        Life::begin(self.db, &self.services, Vec::new(), None).await.runtime
    }

    async fn look(&self) -> (agcore::store::TurnHead, Vec<Recorded>) {
        let runtime = self.desk().await;
        let mut heads = runtime.turns(10).await.unwrap();
        assert_eq!(heads.len(), 1);
        let head = heads.remove(0);
        let journal = runtime.journal(&head.turn).await.unwrap();
        (head, journal)
    }
}

async fn played(rounds: Rounds, word: Word, death: Option<Death>) -> [usize; 3] {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("agcore.db");
    let mut play = Play::new(&db, rounds, word, death);
    let (reason, journal) = play.play_out().await;
    let context = format!("{rounds:?} {word:?} {death:?}: {reason:?}");

    assert_eq!(words(&journal), [word != Word::No], "one word counts: {context}");
    let Services { keyed, plain, .. } = &play.services;
    assert_eq!(keyed.effects(), 1, "{context}");
    let expected = match (word, reason) {
        (Word::No, EndReason::Rejected) => 0,
        (Word::Yes | Word::Edited, EndReason::Answered) => 1,
        // The write had been journalled as started and its driver died: it ran, or it did not; never twice.
        (Word::Yes | Word::Edited, EndReason::OutcomeUnknown) => {
            assert!(matches!(death, Some((Actor::Resumes, _, _))) && plain.runs() <= 1, "{context}");
            plain.runs()
        }
        _ => panic!("{context}"),
    };
    let arguments = if word == Word::Edited { other() } else { json!({"order": "A-1"}) };
    assert_eq!(plain.arguments(), vec![arguments; expected], "{context}");

    let desk = play.desk().await;
    let turn = desk.turns(1).await.unwrap().remove(0).turn;
    let again = desk.approve(&turn, IN_QUESTION, None, &ApprovalAnswer::yes("eve")).await;
    assert!(again.is_err(), "an approval is not used twice: {context}");
    let over = desk.resume(&turn, Company::default()).await.unwrap();
    assert!(matches!(over.end, TurnEnd::Ended(_)) && plain.runs() == expected, "{context}");
    assert_eq!(desk.verify_audit(None).await.unwrap().problems, [], "{context}");
    play.appends
}

async fn everybody_dies_everywhere(word: Word) {
    for rounds in SHAPES {
        let appends = played(rounds, word, None).await;
        for (actor, appends) in [Actor::Asks, Actor::Decides, Actor::Resumes].into_iter().zip(appends) {
            assert!(appends > 0, "{actor:?}");
            for at in 1..=appends {
                for side in [Side::Before, Side::After] {
                    played(rounds, word, Some((actor, at, side))).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn an_approval_is_used_once_whoever_dies_wherever() {
    everybody_dies_everywhere(Word::Yes).await;
}

#[tokio::test]
async fn only_the_edited_call_runs_and_once_whoever_dies_wherever() {
    everybody_dies_everywhere(Word::Edited).await;
}

#[tokio::test]
async fn what_a_person_rejected_never_runs_whoever_dies_wherever() {
    everybody_dies_everywhere(Word::No).await;
}
