//! Properties over any sequence of events.

use std::sync::Arc;

use proptest::prelude::*;

use crate::{
    config::Limits,
    quota::{Scope, Shortfall, Window},
    turn::*,
    types::*,
};

use super::world::{World, decided, outcome, reply};

fn limits(iterations: u32, calls: u32) -> Limits {
    Limits { max_tool_iterations: iterations, max_tool_calls_per_turn: calls, ..Limits::default() }
}

/// Every call of every reply has exactly one result, in call order.
fn assert_paired(history: &[Entry]) {
    for (index, entry) in history.iter().enumerate() {
        let Entry::Reply(reply) = entry else { continue };
        let asked: Vec<_> = reply.calls().map(|call| call.provider_id.clone()).collect();
        if asked.is_empty() {
            continue;
        }
        let Some(Entry::Results(results)) = history.get(index + 1) else { panic!("no results after {asked:?}") };
        let got: Vec<_> = results.iter().map(|result| result.provider_id.clone()).collect();
        assert_eq!(asked, got);
    }
}

fn assert_sound(turn: &Turn) {
    let limits = &turn.started().limits;
    assert!(turn.rounds <= limits.max_tool_iterations + 1, "rounds");
    assert!(turn.tool_calls() <= limits.max_tool_calls_per_turn, "tool calls");
    assert!(turn.model_calls() <= limits.max_tool_iterations + 2, "model calls");
}

fn operated(act: Act) -> Event {
    Event::Operated(Box::new(Operated { by: "ann".into(), why: String::new(), act }))
}

/// Every event kind, most of them out of place.
fn any_event(turn: &Turn, choice: u8) -> Event {
    let call = CallId::new(format!("call_{}", choice % 5)).unwrap();
    match choice % 14 {
        0 => Event::Prepared(Arc::new(super::world::prepared())),
        1 => Event::ModelReplied(ModelReplied {
            number: u32::from(choice % 4),
            reply: reply(&["test.tool"], "", Stop::ToolCalls),
            cost: None,
            latency: DurationMs(1),
            injection_score: 0,
        }),
        2 => Event::CallsDecided(vec![decided(&call, SideEffect::ReadOnly, false, Verdict::Run)]),
        3 => Event::CallStarted(CallStarted { call, key: "k".into(), reserved: MicroUsd::ZERO }),
        4 => {
            let outcome = outcome(&call, CallStatus::Ok, "done");
            Event::CallFinished(CallFinished { call, outcome: Arc::new(outcome), settled_by: None })
        }
        5 => Event::LimitReached(LimitKind::WallTime),
        6 => Event::Cancelled { by: "me".into() },
        7 => Event::Resumed(Resumed { by: "me".into(), policy: Arc::default(), looked_up: vec![] }),
        8 => Event::ApprovalDecided(Box::new(ApprovalDecided {
            call,
            digest: "digest of call_1".into(),
            approved: choice.is_multiple_of(2),
            by: "me".into(),
            reason: None,
            edit: None,
            rejection: None,
        })),
        9 => Event::LimitReached(LimitKind::Cost),
        10 => operated(Act::Paused),
        11 => operated(Act::Unpaused),
        12 => Event::BudgetShort(Box::new(Shortfall {
            budget: "day".into(),
            scope: Scope::All,
            subject: "all".into(),
            window: Window::Day,
            limit: MicroUsd::new(9),
            left: MicroUsd::ZERO,
            wanted: MicroUsd::new(1),
            turns_at: None,
            unpriced: None,
        })),
        _ => Event::ModelCallStarted(ModelCallStarted {
            number: turn.model_calls() + 1,
            choice: crate::llm::ToolChoice::Auto,
            reserved: MicroUsd::new(1),
            hosted_write: choice > 200,
        }),
    }
}

proptest! {
    #[test]
    fn any_turn_ends_within_its_limits_and_pairs_every_call(seed: u64, iterations in 1u32..5, calls in 0u32..8) {
        let mut world = World::new(seed, limits(iterations, calls));
        while world.step() {
            assert_sound(&world.turn);
        }
        assert_paired(world.turn.history());
        prop_assert!(world.turn.ended().is_some());
        prop_assert_eq!(world.turn.ledger().reserved, MicroUsd::ZERO);
        prop_assert!(world.effects.values().all(|count| *count == 1));
    }

    #[test]
    fn any_prefix_of_any_journal_resumes_to_the_same_end(seed: u64, iterations in 1u32..4, calls in 0u32..8) {
        let mut whole = World::new(seed, limits(iterations, calls));
        whole.run();
        for cut in 1..whole.journal.len() {
            let mut again = World::resume(seed, &whole.journal[..cut]);
            if again.turn.phase() != Phase::FinalReady {
                again.record(Event::Resumed(Resumed { by: "test".into(), policy: Arc::default(), looked_up: vec![] }));
            }
            again.run();
            assert_paired(again.turn.history());
            let (first, second) = (whole.turn.ended().unwrap(), again.turn.ended().unwrap());
            if second.reason != EndReason::OutcomeUnknown {
                prop_assert_eq!(first, second, "cut at {}", cut);
            }
        }
    }

    #[test]
    fn an_event_out_of_place_changes_nothing(seed: u64, steps in 0usize..40, choices in prop::collection::vec(any::<u8>(), 1..20)) {
        let mut world = World::new(seed, limits(3, 6));
        for _ in 0..steps {
            if !world.step() {
                break;
            }
        }
        for choice in choices {
            let event = any_event(&world.turn, choice);
            let recorded = Recorded { seq: world.turn.next_seq(), at: Timestamp::from_ms(1), event };
            let before = format!("{:?}", world.turn);
            let mut turn = world.turn.clone();
            match turn.apply(&recorded) {
                Err(_) => prop_assert_eq!(before, format!("{:?}", turn)),
                Ok(()) => {
                    assert_sound(&turn);
                    world.turn = turn;
                }
            }
        }
    }

    /// A pause changes nothing but the time, and that does not count.
    #[test]
    fn a_turn_that_is_paused_anywhere_comes_to_the_same_end(seed: u64, at in 0usize..60) {
        let mut whole = World::new(seed, limits(3, 6));
        let mut paused = World::new(seed, limits(3, 6));
        whole.run();
        for _ in 0..at {
            paused.step();
        }
        let pause = Recorded { seq: paused.turn.next_seq(), at: paused.turn.last_at(), event: operated(Act::Paused) };
        let mut active = paused.turn.active();
        if paused.turn.clone().apply(&pause).is_ok() {
            paused.record(operated(Act::Paused));
            active = paused.turn.active();
            prop_assert_eq!(paused.turn.next(), Step::Paused);
            paused.record(operated(Act::Unpaused));
        }
        prop_assert_eq!(paused.turn.active(), active);
        paused.run();
        prop_assert_eq!(whole.turn.ended(), paused.turn.ended());
        prop_assert_eq!(whole.effects, paused.effects);
    }

    #[test]
    fn nothing_runs_without_a_decision(seed: u64, choices in prop::collection::vec(any::<u8>(), 1..200)) {
        let mut world = World::new(seed, limits(3, 6));
        for choice in choices {
            let event = any_event(&world.turn, choice);
            let recorded = Recorded { seq: world.turn.next_seq(), at: Timestamp::from_ms(1), event };
            match world.turn.apply(&recorded) {
                Ok(()) => world.journal.push(recorded),
                Err(_) => { world.step(); }
            }
        }
        let mut allowed = std::collections::BTreeSet::new();
        for recorded in &world.journal {
            match &recorded.event {
                Event::CallsDecided(decisions) => allowed.extend(
                    decisions.iter().filter(|d| matches!(d.verdict, Verdict::Run)).map(|d| d.call.clone())
                ),
                Event::ApprovalDecided(approval) if approval.approved => { allowed.insert(approval.call.clone()); }
                Event::CallStarted(started) => prop_assert!(allowed.contains(&started.call), "{:?}", started.call),
                _ => {}
            }
        }
    }

    #[test]
    fn a_cancelled_or_late_turn_still_closes_every_call(seed: u64, at in 0usize..60, late: bool) {
        let mut world = World::new(seed, limits(4, 8));
        for _ in 0..at {
            if !world.step() {
                break;
            }
        }
        let open = world.turn.ended().is_none() && world.turn.phase() != Phase::FinalReady;
        if open {
            let event = if late { Event::LimitReached(LimitKind::WallTime) } else { Event::Cancelled { by: "me".into() } };
            world.record(event);
        }
        world.run();
        assert_paired(world.turn.history());
        if open {
            let reason = world.turn.ended().unwrap().reason;
            let expected = if late { EndReason::Limit } else { EndReason::Cancelled };
            prop_assert!(reason == expected || reason == EndReason::Rejected || reason == EndReason::OutcomeUnknown);
        }
    }
}
