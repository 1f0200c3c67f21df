//! One example of each transition the specification (S5) names.

use std::sync::Arc;

use crate::{config::Limits, llm::ToolChoice, turn::*, types::*};

use super::world::{World, decided, outcome, reply};

fn world() -> World {
    let mut world = World::new(1, Limits::default());
    world.record(Event::Prepared(Arc::new(super::world::prepared())));
    world
}

fn call_model(world: &mut World, reply: std::sync::Arc<Reply>) {
    let number = world.turn.model_calls() + 1;
    let Step::CallModel(step) = world.turn.next() else { panic!("{:?}", world.turn.next()) };
    world.record(Event::ModelCallStarted(ModelCallStarted {
        number,
        choice: step.choice,
        reserved: MicroUsd::new(5),
        hosted_write: false,
    }));
    world.record(Event::ModelReplied(ModelReplied {
        number,
        reply,
        cost: Some(MicroUsd::new(2)),
        latency: DurationMs(1),
        injection_score: 0,
    }));
}

fn id(number: u32) -> CallId {
    CallId::new(format!("call_{number}")).unwrap()
}

fn start(world: &mut World, call: &CallId) {
    world.record(Event::CallStarted(CallStarted { call: call.clone(), key: "k".into(), reserved: MicroUsd::ZERO }));
}

fn finish(world: &mut World, call: &CallId, status: CallStatus, content: &str) {
    let outcome = outcome(call, status, content);
    world.record(Event::CallFinished(CallFinished {
        call: call.clone(),
        outcome: Arc::new(outcome),
        settled_by: None,
    }));
}

#[test]
fn an_answer_without_tools_is_final_at_once() {
    let mut world = world();
    call_model(&mut world, reply(&[], "42", Stop::End));
    assert_eq!((world.turn.phase(), world.turn.next()), (Phase::FinalReady, Step::Finish(EndReason::Answered)));
}

#[test]
fn what_does_not_wait_runs_before_a_person_is_asked() {
    let mut world = world();
    call_model(&mut world, reply(&["a", "b"], "", Stop::ToolCalls));
    assert_eq!(world.turn.next(), Step::Decide(vec![id(1), id(2)]));
    world.record(Event::CallsDecided(vec![
        decided(&id(1), SideEffect::NonIdempotentWrite, false, Verdict::Ask),
        decided(&id(2), SideEffect::ReadOnly, false, Verdict::Run),
    ]));
    assert_eq!(world.turn.next(), Step::Execute(vec![id(2)]));
    start(&mut world, &id(2));
    finish(&mut world, &id(2), CallStatus::Ok, "b");
    assert_eq!(world.turn.next(), Step::AwaitApproval(vec![id(1)]));
}

/// An approval holds for exactly the arguments that were shown.
#[test]
fn an_approval_for_other_arguments_is_refused() {
    let mut world = world();
    call_model(&mut world, reply(&["a"], "", Stop::ToolCalls));
    world.record(Event::CallsDecided(vec![decided(&id(1), SideEffect::Destructive, false, Verdict::Ask)]));
    let approval = |digest: &str| ApprovalDecided {
        call: id(1),
        digest: digest.into(),
        approved: true,
        by: "me".into(),
        reason: None,
        edit: None,
        rejection: None,
    };
    let seq = world.turn.next_seq();
    let wrong = Recorded {
        seq,
        at: Timestamp::from_ms(9),
        event: Event::ApprovalDecided(Box::new(approval("digest of call_2"))),
    };
    assert_eq!(world.turn.apply(&wrong).unwrap_err().why, "it was given for other arguments");
    world.record(Event::ApprovalDecided(Box::new(approval("digest of call_1"))));
    assert_eq!(world.turn.next(), Step::Execute(vec![id(1)]));
}

#[test]
fn a_batch_that_is_denied_whole_goes_back_to_the_model() {
    let mut world = world();
    call_model(&mut world, reply(&["a"], "", Stop::ToolCalls));
    let refusal = Verdict::Refuse(Arc::new(outcome(&id(1), CallStatus::Denied, "no")));
    world.record(Event::CallsDecided(vec![decided(&id(1), SideEffect::Destructive, false, refusal)]));
    assert_eq!(world.turn.trail(), [Phase::PolicyCheck, Phase::ToolDenied, Phase::ProjectResults]);
    assert!(matches!(world.turn.next(), Step::CallModel(_)));
}

/// DEV-M02
#[test]
fn the_worst_score_of_a_turn_is_kept() {
    let mut world = world();
    call_model(&mut world, reply(&["a", "b"], "", Stop::ToolCalls));
    let run = |number| decided(&id(number), SideEffect::ReadOnly, false, Verdict::Run);
    world.record(Event::CallsDecided(vec![run(1), run(2)]));
    for (call, score) in [(id(1), 870), (id(2), 40)] {
        start(&mut world, &call);
        let mut done = outcome(&call, CallStatus::Ok, "text");
        (done.untrusted, done.injection_score) = (true, score);
        world.record(Event::CallFinished(CallFinished { call, outcome: Arc::new(done), settled_by: None }));
    }
    assert_eq!(world.turn.injection_score(), 870);
}

#[test]
fn hosted_outputs_in_a_final_reply_need_no_other_model_call() {
    let mut world = world();
    let mut with_search = Reply::clone(&reply(&[], "42", Stop::End));
    with_search.items.insert(
        0,
        Item::local(Part::Hosted(HostedOutput {
            kind: HostedKind::Search,
            id: None,
            status: HostedStatus::Completed,
            input: vec!["q".into()],
            output: None,
            sources: vec![],
        })),
    );
    call_model(&mut world, std::sync::Arc::new(with_search));
    assert_eq!(world.turn.trail(), [Phase::HostedToolObserved, Phase::ProjectResults, Phase::FinalReady]);
    assert!(world.turn.is_tainted());
}

/// DEV-A06: a paused server loop is continued, not taken for an end.
#[test]
fn a_paused_reply_is_sent_back_to_go_on() {
    let mut world = world();
    call_model(&mut world, reply(&[], "looking", Stop::Paused));
    assert!(matches!(world.turn.next(), Step::CallModel(ModelStep { number: 2, .. })));
}

/// DEV-B03: a reply that ran out of output keeps its text and is never taken for finished tools.
#[test]
fn a_broken_off_reply_ends_as_failed() {
    let mut world = world();
    call_model(&mut world, reply(&[], "half", Stop::Unknown("weird".into())));
    assert_eq!(world.turn.next(), Step::Finish(EndReason::Failed));
}

/// DEV-K04: a forced choice holds for the first call only, and the last permitted call may not call tools.
#[test]
fn a_forced_choice_is_for_the_first_call_and_the_last_one_answers() {
    let mut world = World::new(1, Limits { max_tool_iterations: 2, ..Limits::default() });
    let prepared = Prepared { tool_choice: ToolChoice::Required, ..super::world::prepared() };
    world.record(Event::Prepared(Arc::new(prepared)));
    let mut choices = Vec::new();
    for number in 1..=3 {
        let Step::CallModel(step) = world.turn.next() else { panic!("{:?}", world.turn.next()) };
        choices.push((step.choice, step.last));
        if number == 3 {
            break;
        }
        call_model(&mut world, reply(&["a"], "", Stop::ToolCalls));
        let call = world.turn.calls()[0].id.clone();
        world.record(Event::CallsDecided(vec![decided(&call, SideEffect::ReadOnly, false, Verdict::Run)]));
        start(&mut world, &call);
        finish(&mut world, &call, CallStatus::Ok, &format!("result {number}"));
    }
    let expected = vec![
        (ToolChoice::Required, None),
        (ToolChoice::Auto, None),
        (ToolChoice::None, Some(LimitKind::ToolIterations)),
    ];
    assert_eq!(choices, expected);
}

/// DEV-K03: the same call with the same result is hinted at, withheld, and ends the turn as `no_progress`.
#[test]
fn the_same_result_again_and_again_ends_as_no_progress() {
    let mut world = World::new(1, Limits { max_tool_iterations: 20, max_tool_calls_per_turn: 50, ..Limits::default() });
    world.record(Event::Prepared(Arc::new(super::world::prepared())));
    for round in 1..=4u32 {
        call_model(&mut world, reply(&["list_users"], "", Stop::ToolCalls));
        let call = world.turn.calls()[0].id.clone();
        let mut decision = decided(&call, SideEffect::ReadOnly, false, Verdict::Run);
        Arc::make_mut(&mut decision).digest = "list_users {}".into();
        world.record(Event::CallsDecided(vec![decision]));
        let running = world.turn.call(&call).unwrap();
        assert_eq!(world.turn.repeats(running, "[]"), round - 1);
        start(&mut world, &call);
        finish(&mut world, &call, CallStatus::Ok, "[]");
    }
    assert!(world.turn.is_withheld(&CapabilityId::new("test.tool").unwrap()));
    let Step::CallModel(step) = world.turn.next() else { panic!() };
    assert_eq!(step.last, Some(LimitKind::NoProgress));
    call_model(&mut world, reply(&[], "I cannot find any", Stop::End));
    assert_eq!(world.turn.next(), Step::Finish(EndReason::NoProgress));
}

#[test]
fn time_spent_waiting_for_a_person_or_down_is_not_counted() {
    let mut world = world();
    call_model(&mut world, reply(&["a"], "", Stop::ToolCalls));
    world.record(Event::CallsDecided(vec![decided(&id(1), SideEffect::Destructive, false, Verdict::Ask)]));
    let before = world.turn.active();
    let late = Event::ApprovalDecided(Box::new(ApprovalDecided {
        call: id(1),
        digest: "digest of call_1".into(),
        approved: true,
        by: "me".into(),
        reason: None,
        edit: None,
        rejection: None,
    }));
    let days = Timestamp::from_ms(500_000_000);
    world.turn.apply(&Recorded { seq: world.turn.next_seq(), at: days, event: late }).unwrap();
    assert_eq!(world.turn.active(), before);
    let later = Recorded {
        seq: world.turn.next_seq(),
        at: Timestamp::from_ms(900_000_000),
        event: Event::Resumed(Resumed { by: "me".into(), policy: Arc::default(), looked_up: vec![] }),
    };
    world.turn.apply(&later).unwrap();
    assert_eq!(world.turn.active(), before);
}

#[test]
fn a_write_that_ran_when_the_process_died_is_of_unknown_outcome_and_is_not_repeated() {
    for (side_effect, keyed, repeated) in [
        (SideEffect::ReadOnly, false, true),
        (SideEffect::IdempotentWrite, true, true),
        (SideEffect::IdempotentWrite, false, false),
        (SideEffect::NonIdempotentWrite, false, false),
        (SideEffect::Destructive, false, false),
    ] {
        let mut world = world();
        call_model(&mut world, reply(&["a"], "", Stop::ToolCalls));
        world.record(Event::CallsDecided(vec![decided(&id(1), side_effect, keyed, Verdict::Run)]));
        start(&mut world, &id(1));
        world.record(Event::Resumed(Resumed { by: "me".into(), policy: Arc::default(), looked_up: vec![] }));
        let expected = if repeated { Step::Execute(vec![id(1)]) } else { Step::Finish(EndReason::OutcomeUnknown) };
        assert_eq!(world.turn.next(), expected, "{side_effect} keyed={keyed}");
    }
}

#[test]
fn the_journal_reads_back_as_it_was_written() {
    let mut world = World::new(7, Limits::default());
    world.run();
    let text: Vec<String> = world.journal.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let read: Vec<Recorded> = text.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let again: Vec<String> = read.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_eq!(text, again);
    assert_eq!(Turn::fold(&read).unwrap().ended(), world.turn.ended());
}
