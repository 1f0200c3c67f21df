//! The pure machine: events in, steps out. No clock, no randomness, no I/O.

mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use crate::{
    llm::{ModelError, ToolChoice},
    policy::{Heard, Said},
    types::{
        CallId, CapabilityId, Citation, DataClass, DurationMs, Entry, MicroUsd, Reply, SideEffect, Stop, Timestamp,
        Tokens, ToolResult, Usage,
    },
};

use super::{
    ApprovalDecided, Call, CallDecided, CallFinished, CallOutcome, CallStage, CallStarted, CallStatus, EndReason,
    Ended, Event, Exposed, Ledger, LimitKind, ModelCallStarted, ModelReplied, OnReject, Prepared, Recorded, Started,
    Verdict, limit, progress::Progress,
};

/// Where a turn stands, in the words of the specification (S5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Intents, routes and tools are to be chosen.
    PrepareRequest,
    /// The model is to be called, or is being called.
    ModelTurn,
    /// The reply holds outputs of hosted tools.
    HostedToolObserved,
    /// The reply asks for calls.
    ToolCallRequested,
    /// The gate has looked at the calls.
    PolicyCheck,
    /// A person has to decide.
    AwaitHumanApproval,
    /// Calls are ready or running.
    ExecuteTools,
    /// No call of the reply may run.
    ToolDenied,
    /// All calls have their outcome.
    ProjectResults,
    /// The model, or a filter, declined.
    RefusedOrBlocked,
    /// The answer can be written.
    FinalReady,
}

impl Phase {
    /// The phases that may follow.
    pub const fn may_become(self) -> &'static [Self] {
        use Phase::*;
        match self {
            PrepareRequest => &[ModelTurn, FinalReady],
            ModelTurn => &[ModelTurn, HostedToolObserved, ToolCallRequested, RefusedOrBlocked, FinalReady],
            ToolCallRequested => &[PolicyCheck, ProjectResults],
            PolicyCheck => &[AwaitHumanApproval, ExecuteTools, ToolDenied],
            AwaitHumanApproval => &[ExecuteTools, ToolDenied, ProjectResults],
            ExecuteTools => &[ExecuteTools, AwaitHumanApproval, ProjectResults],
            HostedToolObserved | ToolDenied => &[ProjectResults],
            ProjectResults => &[ModelTurn, FinalReady],
            RefusedOrBlocked => &[FinalReady],
            FinalReady => &[],
        }
    }
}

/// What must happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Detect intents, choose routes and tools, append `Prepared`.
    Prepare,
    /// Append `ModelCallStarted` (unless `started`), call the model, append `ModelReplied` or `ModelCallFailed`.
    CallModel(ModelStep),
    /// Check these calls and ask the gate, append `CallsDecided`.
    Decide(Vec<CallId>),
    /// Run these calls, append `CallStarted` and `CallFinished` for each.
    Execute(Vec<CallId>),
    /// Wait for people to decide these calls, append `ApprovalDecided`.
    AwaitApproval(Vec<CallId>),
    /// Compose the answer, append `Ended`.
    Finish(EndReason),
    /// Nothing: the turn is over.
    Done,
}

/// A model call that must be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStep {
    /// Which call of the turn, from 1.
    pub number: u32,
    /// What it may do with tools.
    pub choice: ToolChoice,
    /// Whether it has to be the last: its reply is the answer whatever it holds.
    pub last: Option<LimitKind>,
    /// Whether it was started before: a crash lost its reply.
    pub started: bool,
}

/// An event that cannot follow the ones before it. The state is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} (`{kind}`) cannot follow in phase {phase:?}: {why}")]
pub struct IllegalEvent {
    /// Its place.
    pub seq: u64,
    /// Its kind.
    pub kind: &'static str,
    /// Where the turn stands.
    pub phase: Phase,
    /// What is wrong.
    pub why: &'static str,
}

/// The state of a turn: the fold of its journal.
#[derive(Debug, Clone)]
pub struct Turn {
    started: Arc<Started>,
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
    /// The user's own words, put together when they are first wanted.
    said: OnceLock<Arc<Said>>,
    heard: Vec<Arc<Heard>>,
    data_classes: BTreeSet<DataClass>,
    sources: Vec<Citation>,
    limits_reached: Vec<LimitKind>,
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
            said: OnceLock::new(),
            heard: Vec::new(),
            data_classes: started.data_classes.iter().copied().collect(),
            sources: Vec::new(),
            limits_reached: Vec::new(),
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
            Event::Cancelled { .. } => self.stop(EndReason::Cancelled),
            Event::Resumed(_) => self.on_resumed(),
            Event::Ended(ended) => self.ended = Some(Arc::clone(ended)),
        }
        Ok(())
    }

    /// What must happen now.
    pub fn next(&self) -> Step {
        if self.ended.is_some() {
            return Step::Done;
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

    // --- what may follow ------------------------------------------------------------------------------------

    fn check(&self, recorded: &Recorded) -> Result<(), &'static str> {
        if recorded.seq != self.next_seq {
            return Err("its number does not follow");
        }
        if self.ended.is_some() {
            return Err("the turn is over");
        }
        let in_phase = |phases: &[Phase]| {
            if phases.contains(&self.phase) { Ok(()) } else { Err("it does not belong to this phase") }
        };
        match &recorded.event {
            Event::Started(_) => Err("the turn was opened already"),
            Event::Prepared(_) => in_phase(&[Phase::PrepareRequest]),
            Event::ModelCallStarted(call) => {
                in_phase(&[Phase::ModelTurn, Phase::ProjectResults])?;
                let expected = self.model_calls + 1;
                let free = self.model_call.is_none() && call.number == expected;
                free.then_some(()).ok_or("another model call is open, or its number does not follow")
            }
            Event::ModelReplied(ModelReplied { number, .. }) => self.check_open_model_call(*number),
            Event::ModelCallFailed(failed) => self.check_open_model_call(failed.number),
            Event::CallsDecided(decisions) => self.check_decisions(decisions),
            Event::ApprovalDecided(approval) => self.check_approval(approval),
            Event::ToolsAdded(_) => in_phase(&[Phase::ExecuteTools, Phase::ProjectResults, Phase::ModelTurn]),
            Event::ToolsRemoved(_) => {
                in_phase(&[Phase::ProjectResults, Phase::ModelTurn])?;
                self.model_call.is_none().then_some(()).ok_or("a model call is open")
            }
            Event::CallStarted(started) => {
                let ready = self.call(&started.call).is_some_and(|call| matches!(call.stage, CallStage::Ready));
                if !ready {
                    return Err("the call may not start: it is not decided, waits, or runs already");
                }
                let room = self.tool_calls < self.started.limits.max_tool_calls_per_turn;
                room.then_some(()).ok_or("the turn has no tool call left")
            }
            Event::CallFinished(finished) => self.check_finished(finished),
            Event::LimitReached(_) | Event::Cancelled { .. } | Event::Resumed(_) => {
                (self.phase != Phase::FinalReady).then_some(()).ok_or("the turn is about to end")
            }
            Event::Ended(_) => in_phase(&[Phase::FinalReady]),
        }
    }

    fn check_open_model_call(&self, number: u32) -> Result<(), &'static str> {
        let open = self.model_call.as_ref().is_some_and(|call| call.number == number);
        open.then_some(()).ok_or("no model call of that number is open")
    }

    fn check_decisions(&self, decisions: &[Arc<CallDecided>]) -> Result<(), &'static str> {
        let mut seen = BTreeSet::new();
        for decided in decisions {
            let call = self.call(&decided.call).ok_or("no such call in the last reply")?;
            if !matches!(call.stage, CallStage::Requested) || !seen.insert(&decided.call) {
                return Err("a call is decided once");
            }
            if let Verdict::Refuse(outcome) = &decided.verdict
                && outcome.status.ran()
            {
                return Err("a refused call cannot have run");
            }
        }
        (!decisions.is_empty()).then_some(()).ok_or("it decides nothing")
    }

    fn check_approval(&self, approval: &ApprovalDecided) -> Result<(), &'static str> {
        let call = self.call(&approval.call).ok_or("no such call in the last reply")?;
        if !matches!(call.stage, CallStage::Waiting) {
            return Err("the call does not wait for a person");
        }
        if approval.edit.is_some() && !approval.approved {
            return Err("a rejected call has no effective arguments");
        }
        (call.digest() == approval.digest).then_some(()).ok_or("it was given for other arguments")
    }

    fn check_finished(&self, finished: &CallFinished) -> Result<(), &'static str> {
        let call = self.call(&finished.call).ok_or("no such call in the last reply")?;
        match (&call.stage, finished.outcome.status.ran()) {
            (CallStage::Running { .. }, _) | (CallStage::Ready, false) => Ok(()),
            (CallStage::Ready, true) => Err("the call ran without having been started"),
            (CallStage::Requested | CallStage::Waiting, _) => Err("the call was not decided"),
            (CallStage::Done(_), _) => Err("the call has its outcome already"),
        }
    }

    // --- transitions ----------------------------------------------------------------------------------------

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.trail.push(phase);
    }

    fn pass_time(&mut self, recorded: &Recorded) {
        let idle = self.phase == Phase::AwaitHumanApproval || matches!(recorded.event, Event::Resumed(_));
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
            Stop::Paused if self.model_calls <= self.started.limits.max_tool_iterations => {
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

    /// All calls of the reply have their outcome: their results go into the history, in call order.
    fn close_round(&mut self) {
        let mut news = false;
        let mut results = Vec::with_capacity(self.calls.len());
        for call in std::mem::take(&mut self.calls) {
            let CallStage::Done(outcome) = &call.stage else { continue };
            news |= self.book(&call, outcome);
            let is_error = outcome.status != CallStatus::Ok;
            let CallStage::Done(outcome) = call.stage else { continue };
            // The last outcome is still held by its event; the others are nobody else's by now.
            let content = match Arc::try_unwrap(outcome) {
                Ok(outcome) => outcome.projection.content,
                Err(outcome) => outcome.projection.content.clone(),
            };
            results.push(ToolResult { provider_id: call.provider_id, name: call.name, content, is_error });
        }
        self.history.push(Entry::Results(results));
        self.rounds += 1;
        self.progress.round(news);
        self.enter(Phase::ProjectResults);
        if self.stopping.is_some() {
            return self.enter(Phase::FinalReady);
        }
        if self.limits_reached.is_empty() {
            self.limits_reached.extend(limit::reached(self));
        }
        self.notify_of_limit();
    }

    /// Tells the model, once and never between a call and its result, that its next reply has to be the answer.
    fn notify_of_limit(&mut self) {
        let Some(kind) = self.limits_reached.first() else { return };
        if self.notified || !self.calls.is_empty() {
            return;
        }
        self.notified = true;
        let limit = kind.as_str();
        self.history.push(Entry::Notice(format!(
            "The limit {limit} of this turn is reached: no more tools can be called. Answer now from what is known, \
             and say what is missing."
        )));
    }

    /// Books an outcome. Returns whether it brought something new.
    fn book(&mut self, call: &Call, outcome: &CallOutcome) -> bool {
        self.tokens_from_tools.0 = self.tokens_from_tools.0.saturating_add(outcome.tokens.0);
        self.tainted |= outcome.untrusted;
        if outcome.untrusted {
            let capability = call.capability().map_or(call.name.as_str(), CapabilityId::as_str);
            self.heard.push(Arc::new(Heard::new(call.id.as_str(), capability, outcome.projection.content.as_str())));
        }
        self.data_classes.extend(&outcome.data_classes);
        self.sources.extend(outcome.projection.citations.iter().cloned());
        if let Some(capability) = call.capability().cloned() {
            let failures = self.failures.entry(capability).or_default();
            let failed = matches!(outcome.status, CallStatus::Error | CallStatus::Refused | CallStatus::Interrupted);
            *failures = if failed { *failures + 1 } else { 0 };
        }
        let polling = call.decided.as_ref().is_some_and(|decided| decided.polling);
        if polling {
            return outcome.status == CallStatus::Ok;
        }
        let new = self.progress.observe(call.capability(), call.digest(), &outcome.result_digest);
        new && outcome.status == CallStatus::Ok
    }

    fn on_limit(&mut self, kind: LimitKind) {
        let again = self.limits_reached.contains(&kind);
        self.limits_reached.push(kind);
        // Time that is up, or money that does not even buy the last answer, leaves no room for another call.
        if kind == LimitKind::WallTime || again {
            self.stop(kind.end_reason());
        } else {
            self.notify_of_limit();
        }
    }

    /// Ends the turn as soon as nothing runs any more.
    fn stop(&mut self, reason: EndReason) {
        self.stopping = Some(self.stopping.unwrap_or(reason));
        if self.model_call.is_some() {
            let reserved = self.close_model_call();
            self.ledger.commit_model(reserved, Some(MicroUsd::ZERO));
        }
        let status = if reason == EndReason::Cancelled { CallStatus::Cancelled } else { CallStatus::Refused };
        self.refuse_open_calls(status, "the turn was stopped before this call started");
        let running = self.calls.iter().any(|call| matches!(call.stage, CallStage::Running { .. }));
        if running {
            return;
        }
        if self.calls.is_empty() { self.enter(Phase::FinalReady) } else { self.close_round() }
    }

    fn refuse_open_calls(&mut self, status: CallStatus, why: &str) {
        for call in &mut self.calls {
            if matches!(call.stage, CallStage::Requested | CallStage::Ready | CallStage::Waiting) {
                call.stage = CallStage::Done(Arc::new(CallOutcome::not_run(&call.id, status, why)));
            }
        }
    }

    fn refuse_waiting_calls(&mut self) {
        for call in &mut self.calls {
            if matches!(call.stage, CallStage::Waiting) {
                let why = "the turn ended before a person had decided";
                call.stage = CallStage::Done(Arc::new(CallOutcome::not_run(&call.id, CallStatus::Cancelled, why)));
            }
        }
    }

    /// What ran when the process died: reads and keyed writes run again, any other write is of unknown outcome.
    fn on_resumed(&mut self) {
        if self.model_call.as_ref().is_some_and(|call| call.hosted_write) {
            self.stopping = Some(EndReason::OutcomeUnknown);
            let reserved = self.close_model_call();
            self.ledger.commit_model(reserved, None);
            return self.enter(Phase::FinalReady);
        }
        let mut unknown = false;
        for call in &mut self.calls {
            let CallStage::Running { reserved, .. } = call.stage else { continue };
            let safe = call.decided.as_ref().is_some_and(|d| d.side_effect == SideEffect::ReadOnly || d.keyed);
            if safe {
                self.ledger.commit_tool(reserved, MicroUsd::ZERO);
                self.tool_calls = self.tool_calls.saturating_sub(1);
                if let Some(count) = call.capability().and_then(|id| self.calls_of.get_mut(id)) {
                    *count = count.saturating_sub(1);
                }
                call.stage = CallStage::Ready;
            } else {
                self.ledger.commit_tool(reserved, reserved);
                let why = "the process ended while this call ran; whether it took effect is not known";
                let outcome = CallOutcome::not_run(&call.id, CallStatus::OutcomeUnknown, why);
                call.stage = CallStage::Done(Arc::new(outcome));
                unknown = true;
            }
        }
        if unknown {
            self.stopping = Some(EndReason::OutcomeUnknown);
            self.refuse_waiting_calls();
            self.settle();
        }
    }

    fn call_mut(&mut self, id: &CallId) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }
}
