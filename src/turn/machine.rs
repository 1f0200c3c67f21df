//! The pure machine: events in, steps out. No clock, no randomness, no I/O.

mod legal;
mod operated;
mod round;
mod stop;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use crate::{
    config::Limits,
    llm::{ModelError, ToolChoice},
    policy::{Heard, Said},
    quota::Shortfall,
    types::{
        CallId, CapabilityId, Citation, DataClass, DurationMs, Entry, MicroUsd, Reply, Stop, Timestamp, Tokens, Usage,
    },
};

use super::{
    ApprovalDecided, Call, CallDecided, CallFinished, CallOutcome, CallStage, CallStarted, CallStatus, Doubt,
    EndReason, Ended, Event, Exposed, Ledger, LimitKind, ModelCallStarted, ModelReplied, ModelStep, OnReject, Operated,
    Phase, Prepared, Recorded, Started, Step, Verdict, progress::Progress,
};

pub use legal::IllegalEvent;

/// The state of a turn: the fold of its journal.
#[derive(Debug, Clone)]
pub struct Turn {
    started: Arc<Started>,
    /// The limits in force.
    limits: Arc<Limits>,
    /// Who put the turn down, while it is.
    paused: Option<Arc<Operated>>,
    prepared: Option<Arc<Prepared>>,
    phase: Phase,
    trail: Vec<Phase>,
    next_seq: u64,
    last_at: Timestamp,
    active: DurationMs,
    history: Vec<Entry>,
    exposed: Vec<Exposed>,
    removed: BTreeSet<CapabilityId>,
    calls: Vec<Call>,
    call_count: u32,
    model_call: Option<ModelCallStarted>,
    model_calls: u32,
    pub(super) rounds: u32,
    pub(super) tool_calls: u32,
    pub(super) tokens_from_tools: Tokens,
    pub(super) progress: Progress,
    calls_of: BTreeMap<CapabilityId, u32>,
    failures: BTreeMap<CapabilityId, u32>,
    ledger: Ledger,
    usage: Usage,
    tainted: bool,
    injection_score: u16,
    /// The user's own words, put together when they are first wanted.
    said: OnceLock<Arc<Said>>,
    heard: Vec<Arc<Heard>>,
    data_classes: BTreeSet<DataClass>,
    sources: Vec<Citation>,
    /// Writes of which nobody knows whether they took effect.
    doubts: Vec<Doubt>,
    limits_reached: Vec<LimitKind>,
    short: Option<Box<Shortfall>>,
    notified: bool,
    stopping: Option<EndReason>,
    last_reply: Option<Arc<Reply>>,
    failure: Option<ModelError>,
    ended: Option<Arc<Ended>>,
}

impl Turn {
    /// Opens a turn from its first event.
    ///
    /// # Errors
    /// [`IllegalEvent`] when the event is not `Started`, or not numbered 0.
    pub fn open(first: &Recorded) -> Result<Self, IllegalEvent> {
        let illegal =
            |why| IllegalEvent { seq: first.seq, kind: first.event.kind(), phase: Phase::PrepareRequest, why };
        let Event::Started(started) = &first.event else { return Err(illegal("a journal begins with `started`")) };
        if first.seq != 0 {
            return Err(illegal("the first event has number 0"));
        }
        let mut history = started.history.clone();
        history.push(Entry::User(started.input.clone()));
        Ok(Self {
            limits: Arc::clone(&started.limits),
            paused: None,
            prepared: None,
            phase: Phase::PrepareRequest,
            trail: vec![Phase::PrepareRequest],
            next_seq: 1,
            last_at: first.at,
            active: DurationMs(0),
            history,
            exposed: Vec::new(),
            removed: BTreeSet::new(),
            calls: Vec::new(),
            call_count: 0,
            model_call: None,
            model_calls: 0,
            rounds: 0,
            tool_calls: 0,
            tokens_from_tools: Tokens(0),
            progress: Progress::default(),
            calls_of: BTreeMap::new(),
            failures: BTreeMap::new(),
            ledger: Ledger::default(),
            usage: Usage::default(),
            tainted: started.tainted,
            injection_score: 0,
            said: OnceLock::new(),
            heard: Vec::new(),
            data_classes: started.data_classes.iter().copied().collect(),
            sources: Vec::new(),
            doubts: Vec::new(),
            limits_reached: Vec::new(),
            short: None,
            notified: false,
            stopping: None,
            last_reply: None,
            failure: None,
            ended: None,
            started: Arc::clone(started),
        })
    }

    /// Folds a whole journal.
    ///
    /// # Errors
    /// [`IllegalEvent`] when an event cannot follow the ones before it, or there is none.
    pub fn fold(journal: &[Recorded]) -> Result<Self, IllegalEvent> {
        let Some((first, rest)) = journal.split_first() else {
            let phase = Phase::PrepareRequest;
            return Err(IllegalEvent { seq: 0, kind: "none", phase, why: "the journal is empty" });
        };
        let mut turn = Self::open(first)?;
        for recorded in rest {
            turn.apply(recorded)?;
        }
        Ok(turn)
    }

    /// Folds one event into the state. Total: an event that cannot follow changes nothing.
    ///
    /// # Errors
    /// [`IllegalEvent`], saying why it cannot follow.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), IllegalEvent> {
        let legal = self.check(recorded);
        legal.map_err(|why| IllegalEvent { seq: recorded.seq, kind: recorded.event.kind(), phase: self.phase, why })?;
        self.next_seq += 1;
        self.trail.clear();
        self.pass_time(recorded);
        match &recorded.event {
            Event::Started(_) => {}
            Event::Prepared(prepared) => self.on_prepared(prepared),
            Event::ToolsAdded(tools) => self.exposed.extend(tools.iter().cloned()),
            Event::ToolsRemoved(tools) => self.removed.extend(tools.iter().map(|tool| tool.capability.clone())),
            Event::ModelCallStarted(call) => self.on_model_call(call),
            Event::ModelReplied(replied) => self.on_reply(replied),
            Event::ModelCallFailed(failed) => self.on_model_failure(&failed.error),
            Event::CallsDecided(decisions) => self.on_decisions(decisions, recorded.at),
            Event::ApprovalDecided(approval) => self.on_approval(approval),
            Event::CallStarted(started) => self.on_call_started(started),
            Event::CallFinished(finished) => self.on_call_finished(finished),
            Event::LimitReached(kind) => self.on_limit(*kind),
            Event::BudgetShort(short) => {
                self.short = Some(short.clone());
                self.on_limit(LimitKind::Budget);
            }
            Event::Cancelled { .. } => self.stop(EndReason::Cancelled),
            Event::Resumed(resumed) => self.on_resumed(resumed),
            Event::Operated(operated) => self.on_operated(operated),
            Event::Ended(ended) => self.ended = Some(Arc::clone(ended)),
            Event::Resolved(resolved) => self.on_resolved(resolved),
        }
        Ok(())
    }

    /// What must happen now.
    pub fn next(&self) -> Step {
        if self.ended.is_some() {
            return Step::Done;
        }
        if self.paused.is_some() {
            return Step::Paused;
        }
        match self.phase {
            Phase::PrepareRequest => Step::Prepare,
            Phase::ModelTurn | Phase::ProjectResults => Step::CallModel(self.model_step()),
            Phase::ToolCallRequested => Step::Decide(self.ids(|call| matches!(call.stage, CallStage::Requested))),
            Phase::PolicyCheck | Phase::ExecuteTools | Phase::ToolDenied => {
                Step::Execute(self.ids(|call| matches!(call.stage, CallStage::Ready)))
            }
            Phase::AwaitHumanApproval => Step::AwaitApproval(self.ids(|call| matches!(call.stage, CallStage::Waiting))),
            Phase::HostedToolObserved | Phase::RefusedOrBlocked | Phase::FinalReady => {
                Step::Finish(self.stopping.unwrap_or(EndReason::Answered))
            }
        }
    }

    fn model_step(&self) -> ModelStep {
        let last = self.limits_reached.last().copied();
        let forced = self.model_calls == 0 || (self.started.force_every_step && self.model_call.is_none());
        let choice = match (&self.model_call, last) {
            (Some(call), _) => call.choice.clone(),
            (None, Some(_)) => ToolChoice::None,
            (None, None) if forced => self.first_choice().clone(),
            (None, None) if *self.first_choice() == ToolChoice::None => ToolChoice::None,
            (None, None) => ToolChoice::Auto,
        };
        let started = self.model_call.is_some();
        let number = if started { self.model_calls } else { self.model_calls + 1 };
        ModelStep { number, choice, last, started }
    }

    fn first_choice(&self) -> &ToolChoice {
        self.prepared.as_ref().map_or(&self.started.tool_choice, |prepared| &prepared.tool_choice)
    }

    fn ids(&self, wanted: impl Fn(&Call) -> bool) -> Vec<CallId> {
        self.calls.iter().filter(|call| wanted(call)).map(|call| call.id.clone()).collect()
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.trail.push(phase);
    }

    fn pass_time(&mut self, recorded: &Recorded) {
        let idle = self.paused.is_some()
            || self.phase == Phase::AwaitHumanApproval
            || matches!(recorded.event, Event::Resumed(_));
        if !idle {
            self.active.0 = self.active.0.saturating_add(recorded.at.since(self.last_at).0);
        }
        self.last_at = self.last_at.max(recorded.at);
    }

    fn on_prepared(&mut self, prepared: &Arc<Prepared>) {
        self.exposed.clone_from(&prepared.exposed);
        self.prepared = Some(Arc::clone(prepared));
        self.enter(Phase::ModelTurn);
    }

    fn on_model_call(&mut self, call: &ModelCallStarted) {
        self.ledger.reserve(call.reserved);
        self.model_call = Some(call.clone());
        self.model_calls = call.number;
        if self.phase != Phase::ModelTurn {
            self.enter(Phase::ModelTurn);
        }
    }

    fn close_model_call(&mut self) -> MicroUsd {
        self.model_call.take().map_or(MicroUsd::ZERO, |call| call.reserved)
    }

    fn on_reply(&mut self, replied: &ModelReplied) {
        let reserved = self.close_model_call();
        self.ledger.commit_model(reserved, replied.cost);
        self.usage += replied.reply.usage.unwrap_or_default();
        let reply = Arc::clone(&replied.reply);
        self.history.push(Entry::Reply(Arc::clone(&reply)));
        let hosted = reply.hosted().next().is_some();
        self.tainted |= hosted;
        self.injection_score = self.injection_score.max(replied.injection_score);
        self.heard.extend(reply.hosted().map(|output| Arc::new(Heard::hosted(replied.number, output))));
        self.sources.extend(reply.hosted().flat_map(|output| output.sources.iter().cloned()));
        self.last_reply = Some(Arc::clone(&reply));
        self.read_calls(&reply);
        match self.limits_reached.last() {
            Some(kind) => self.close_after_limit(*kind),
            None => self.follow_reply(&reply, hosted),
        }
    }

    fn read_calls(&mut self, reply: &Reply) {
        self.calls.clear();
        for call in reply.calls() {
            self.call_count += 1;
            let Ok(id) = CallId::new(format!("call_{}", self.call_count)) else { continue };
            self.calls.push(Call {
                id,
                provider_id: call.provider_id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                complete: call.complete,
                decided: None,
                approved: false,
                edited_by: None,
                decided_at: None,
                stage: CallStage::Requested,
            });
        }
    }

    fn follow_reply(&mut self, reply: &Reply, hosted: bool) {
        if !self.calls.is_empty() {
            return self.enter(Phase::ToolCallRequested);
        }
        match &reply.stop {
            Stop::Paused if self.model_calls <= self.limits.max_tool_iterations => {
                self.enter(Phase::ModelTurn);
            }
            Stop::Refused | Stop::Filtered => {
                self.stopping = Some(EndReason::Refused);
                self.enter(Phase::RefusedOrBlocked);
                self.enter(Phase::FinalReady);
            }
            Stop::Failed(_) | Stop::Unknown(_) | Stop::Paused => self.finish(EndReason::Failed, hosted),
            Stop::End | Stop::Length | Stop::ToolCalls => self.finish(EndReason::Answered, hosted),
        }
    }

    fn finish(&mut self, reason: EndReason, hosted: bool) {
        self.stopping = Some(self.stopping.unwrap_or(reason));
        if hosted {
            self.enter(Phase::HostedToolObserved);
            self.enter(Phase::ProjectResults);
        }
        self.enter(Phase::FinalReady);
    }

    /// The reply to the last permitted model call: calls it asks for in spite of that are never started.
    fn close_after_limit(&mut self, kind: LimitKind) {
        self.refuse_open_calls(CallStatus::Refused, "a limit of the turn was reached");
        self.stopping = Some(self.stopping.unwrap_or(kind.end_reason()));
        if self.calls.is_empty() {
            return self.enter(Phase::FinalReady);
        }
        self.enter(Phase::ToolCallRequested);
        self.close_round();
    }

    fn on_model_failure(&mut self, error: &ModelError) {
        let reserved = self.close_model_call();
        self.ledger.commit_model(reserved, Some(MicroUsd::ZERO));
        self.failure = Some(error.clone());
        let by_limit = self.limits_reached.last().map(|kind| kind.end_reason());
        self.stopping = Some(self.stopping.or(by_limit).unwrap_or(EndReason::Failed));
        self.enter(Phase::FinalReady);
    }

    fn on_decisions(&mut self, decisions: &[Arc<CallDecided>], at: Timestamp) {
        for decided in decisions {
            let stage = match &decided.verdict {
                Verdict::Run => CallStage::Ready,
                Verdict::Ask => CallStage::Waiting,
                Verdict::Refuse(outcome) => CallStage::Done(outcome.clone()),
            };
            if let Some(call) = self.call_mut(&decided.call) {
                call.stage = stage;
                call.approved = decided.remembered.is_some();
                call.decided_at = Some(at);
                call.decided = Some(Arc::clone(decided));
            }
        }
        if self.calls.iter().all(|call| !matches!(call.stage, CallStage::Requested)) {
            self.enter(Phase::PolicyCheck);
            self.settle();
        }
    }

    /// Chooses the phase from what the calls wait for.
    fn settle(&mut self) {
        let any = |wanted: fn(&CallStage) -> bool| self.calls.iter().any(|call| wanted(&call.stage));
        if any(|stage| matches!(stage, CallStage::Ready | CallStage::Running { .. })) {
            if self.phase != Phase::ExecuteTools {
                self.enter(Phase::ExecuteTools);
            }
        } else if any(|stage| matches!(stage, CallStage::Waiting)) {
            if self.phase != Phase::AwaitHumanApproval {
                self.enter(Phase::AwaitHumanApproval);
            }
        } else {
            if self.phase == Phase::PolicyCheck {
                self.enter(Phase::ToolDenied);
            }
            self.close_round();
        }
    }

    fn on_approval(&mut self, approval: &ApprovalDecided) {
        let Some(call) = self.call_mut(&approval.call) else { return };
        if approval.approved {
            call.approved = true;
            call.stage = CallStage::Ready;
            if let (Some(edit), Some(decided)) = (&approval.edit, &mut call.decided) {
                let decided = Arc::make_mut(decided);
                decided.arguments = Some(edit.arguments.clone());
                decided.digest.clone_from(&edit.digest);
                decided.decision = Some(edit.decision.clone());
                call.edited_by = Some(approval.by.clone());
            }
        } else {
            let outcome = match &approval.rejection {
                Some(outcome) if !outcome.status.ran() => outcome.clone(),
                Some(_) | None => {
                    Arc::new(CallOutcome::not_run(&call.id, CallStatus::Rejected, "a person rejected this call"))
                }
            };
            call.stage = CallStage::Done(outcome);
            if self.started.on_reject == OnReject::Stop {
                self.stopping = Some(EndReason::Rejected);
                self.refuse_waiting_calls();
            }
        }
        self.settle();
    }

    fn on_call_started(&mut self, started: &CallStarted) {
        self.ledger.reserve(started.reserved);
        self.tool_calls += 1;
        let stage = CallStage::Running { key: started.key.clone(), reserved: started.reserved };
        let Some(call) = self.call_mut(&started.call) else { return };
        call.stage = stage;
        if let Some(capability) = call.capability().cloned() {
            *self.calls_of.entry(capability).or_default() += 1;
        }
    }

    fn on_call_finished(&mut self, finished: &CallFinished) {
        let outcome = &finished.outcome;
        let Some(call) = self.call_mut(&finished.call) else { return };
        let reserved = match &call.stage {
            CallStage::Running { reserved, .. } => *reserved,
            CallStage::Requested | CallStage::Ready | CallStage::Waiting | CallStage::Done(_) => MicroUsd::ZERO,
        };
        call.stage = CallStage::Done(Arc::clone(outcome));
        self.ledger.commit_tool(reserved, outcome.cost);
        if outcome.status == CallStatus::OutcomeUnknown {
            self.stopping = Some(EndReason::OutcomeUnknown);
            self.refuse_waiting_calls();
        }
        self.settle();
    }

    fn call_mut(&mut self, id: &CallId) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }
}
