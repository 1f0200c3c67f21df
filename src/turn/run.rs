//! Runs the calls that may run: in parallel where they only read, one by one in call order where they write.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    capability::Capability,
    config::Limits,
    execute::{Attempted, BATCH_CAP, CallContext, Executor, Planned, RunPolicy, Schedule, Slot, errors, run_one},
    policy::Outcome,
    quota::Bounds,
    store::Taken,
    types::{CallId, DurationMs, MicroUsd, ToolError},
};

use super::{
    CallFinished, CallOutcome, CallStage, CallStarted, CallStatus, Driver, Event, Exposed, LimitKind, Parts, Phase,
    Turn, TurnError, decide, internal, outcome, prepare, purse, resource, settle, settle::Lookup,
};

/// What came back from running one call.
struct Ran {
    id: CallId,
    attempted: Attempted,
    /// Tools that tool search found.
    found: Vec<Exposed>,
    /// Who found out what became of it.
    settled_by: Option<String>,
}

impl Driver<'_> {
    /// Runs `calls` to their outcomes, or until time is up or somebody cancels.
    pub(super) async fn execute(&mut self, calls: &[CallId]) -> Result<(), TurnError> {
        let parts = self.parts;
        let mut batch: Vec<(CallId, Arc<Capability>)> = Vec::with_capacity(calls.len());
        for id in calls {
            match self.admit(id).await? {
                Some(capability) => batch.push((id.clone(), capability)),
                None => continue,
            }
        }
        let plans: Vec<Planned<'_>> = batch.iter().map(|(_, capability)| Planned::of(capability)).collect();
        let mut schedule = Schedule::new(&plans, BATCH_CAP);
        let stop = self.cancel.child_token();
        let mut deadline = std::pin::pin!(tokio::time::sleep(self.time_left()));
        let mut running = FuturesUnordered::new();
        loop {
            for index in schedule.ready() {
                let Some((id, capability)) = batch.get(index) else { continue };
                let bounds = self.bounds(capability);
                if bounds.is_some() || is_bounded(capability) {
                    let stop = stop.clone();
                    let wait = async move { (index, wait_for_slot(parts, capability, bounds, &stop).await) };
                    running.push(wait.boxed());
                    continue;
                }
                match self.start(id, capability).await? {
                    Some(call) => running.push(run_call(parts, capability, call, None, stop.clone(), index).boxed()),
                    None => schedule.finished(index),
                }
            }
            if running.is_empty() {
                if schedule.is_done() { break } else { continue }
            }
            let mut ready = running.next().now_or_never().flatten();
            if ready.is_none() {
                // What was recorded becomes durable while the calls run, and before they are waited for.
                self.commit().await?;
                ready = tokio::select! {
                    biased;
                    ended = running.next() => ended,
                    () = &mut deadline, if !stop.is_cancelled() => {
                        stop.cancel();
                        self.log.record(Event::LimitReached(LimitKind::WallTime))?;
                        schedule.drain();
                        continue;
                    }
                    () = self.cancel.cancelled(), if !stop.is_cancelled() => {
                        stop.cancel();
                        self.note_cancel()?;
                        schedule.drain();
                        continue;
                    }
                };
            }
            // What is ready at the same moment goes into the same commit.
            while let Some((index, progress)) = ready {
                let slot = match progress {
                    Progress::Ran(ran) => {
                        self.finish_call(&mut schedule, (index, ran)).await?;
                        None
                    }
                    Progress::Slot(slot) => Some(slot),
                };
                if let (Some(slot), Some((id, capability))) = (slot, batch.get(index)) {
                    match self.start_in(id, capability, slot).await? {
                        Some((call, slot)) => {
                            let work = run_call(parts, capability, call, Some(slot), stop.clone(), index);
                            running.push(work.boxed());
                        }
                        None => schedule.finished(index),
                    }
                }
                ready = running.next().now_or_never().flatten();
            }
        }
        self.show_added()
    }

    /// Puts the tools that were found, or became useful, in front of the model.
    fn show_added(&mut self) -> Result<(), TurnError> {
        let added = std::mem::take(&mut self.added);
        let over = self.log.turn().phase() == Phase::FinalReady;
        if added.is_empty() || over { Ok(()) } else { self.log.record(Event::ToolsAdded(added)) }
    }

    /// Asks the gate again, now that the call is about to run: a new `deny` overrides an approval.
    async fn admit(&mut self, id: &CallId) -> Result<Option<Arc<Capability>>, TurnError> {
        let turn = self.log.turn();
        let Some(call) = turn.call(id) else { return Ok(None) };
        let capability = call.capability().and_then(|capability| self.parts.registry.get(capability)).cloned();
        let refused = match &capability {
            None => Some((CallStatus::Refused, errors::unavailable(&call.name, "it is not registered any more"))),
            Some(capability) if call.approved || self.resumed => {
                let arguments = serde_json::from_str(call.effective_arguments()).unwrap_or(Value::Null);
                match resource::of(self.parts, turn, id, capability, &arguments, &self.cancel).await {
                    Ok(resource) => self.refused_after_all(call, capability, &arguments, resource.as_deref()),
                    Err(error) => Some((CallStatus::Refused, error)),
                }
            }
            Some(_) => None,
        };
        let Some((status, error)) = refused else { return Ok(capability) };
        let outcome = outcome::refused(self.parts, call, status, error);
        self.log.record(never_started(id, outcome))?;
        Ok(None)
    }

    /// Why a call that was approved, or decided before a crash, does not run now.
    fn refused_after_all(
        &self,
        call: &super::Call,
        capability: &Capability,
        arguments: &Value,
        resource: Option<&Value>,
    ) -> Option<(CallStatus, ToolError)> {
        let (turn, facts) = (self.log.turn(), decide::facts(self.log.turn()));
        let decision = decide::ask_gate(self.parts, turn, &facts, capability, Some(arguments), resource);
        let allowed = match decision.outcome {
            Outcome::Allow => true,
            Outcome::Ask => call.approved,
            Outcome::Deny => false,
        };
        if allowed && call.approved && !self.is_what_was_shown(call, capability, arguments) {
            return Some((CallStatus::Denied, errors::changed_after_approval(&call.name)));
        }
        (!allowed).then(|| (CallStatus::Denied, errors::denied(&decision)))
    }

    /// Whether the capability is still defined as it was when a person approved the call.
    fn is_what_was_shown(&self, call: &super::Call, capability: &Capability, arguments: &Value) -> bool {
        let tool = self.parts.toolbox.get(capability);
        tool.is_ok_and(|tool| decide::binding(self.log.turn(), &tool, capability, arguments) == call.digest())
    }

    /// Starts a call that had to wait for its slot. It is journalled as started only now: in the queue nothing ran.
    async fn start_in(
        &mut self,
        id: &CallId,
        capability: &Capability,
        slot: Result<Slot, ToolError>,
    ) -> Result<Option<(Call, Slot)>, TurnError> {
        match slot {
            Ok(slot) => Ok(self.start(id, capability).await?.map(|call| (call, slot))),
            Err(error) => {
                self.refuse(id, error)?;
                Ok(None)
            }
        }
    }

    /// Closes a call that never started.
    fn refuse(&mut self, id: &CallId, error: ToolError) -> Result<(), TurnError> {
        let ready = self.log.turn().call(id).filter(|call| matches!(call.stage, CallStage::Ready));
        let Some(call) = ready else { return Ok(()) };
        let outcome = outcome::refused(self.parts, call, CallStatus::Refused, error);
        self.log.record(never_started(id, outcome))
    }

    /// Journals a call as started. It and the reply that asked for it are durable before a write runs, and before a
    /// request leaves the process. A function that only reads may begin: if it takes time, that is used to commit.
    async fn start(&mut self, id: &CallId, capability: &Capability) -> Result<Option<Call>, TurnError> {
        if self.is_held().await? {
            return Ok(None);
        }
        let turn = self.log.turn();
        if turn.tool_calls() >= turn.limits().max_tool_calls_per_turn {
            self.refuse(id, errors::limit_reached(LimitKind::ToolCalls.as_str()))?;
            return Ok(None);
        }
        let reserved = capability.governance.cost;
        if !self.afford(id, reserved).await? {
            return Ok(None);
        }
        let turn = self.log.turn();
        let Some(call) = turn.call(id).filter(|call| matches!(call.stage, CallStage::Ready)) else { return Ok(None) };
        let key = format!("{}/{}", turn.started().turn, id);
        let lookup = settle::lookup_of(self.parts, turn, capability, &key);
        let job = Call {
            id: id.clone(),
            arguments: serde_json::from_str(call.effective_arguments()).unwrap_or(Value::Null),
            context: context(turn, id, key.clone(), self.cancel.clone()),
            timeout: prepare::within(self.timeout_of(capability), DurationMs::from(self.time_left())),
            found: self.find_tools(capability, call.effective_arguments()),
            lookup,
        };
        self.log.record(Event::CallStarted(CallStarted { call: id.clone(), key, reserved }))?;
        if capability.execution.side_effect.writes() || capability.execution.http.is_some() {
            self.commit().await?;
        }
        Ok(Some(job))
    }

    /// Whether the turn, and the budgets it shares, can pay for a call; one they cannot pay for is refused.
    async fn afford(&mut self, id: &CallId, price: MicroUsd) -> Result<bool, TurnError> {
        let error = if price == MicroUsd::ZERO {
            None
        } else if self.cannot_pay(price) {
            Some(errors::limit_reached(LimitKind::Cost.as_str()))
        } else {
            self.set_aside(price + self.last_answer).await?.map(|short| errors::budget_short(&short.to_string()))
        };
        let Some(error) = error else { return Ok(true) };
        self.refuse(id, error)?;
        Ok(false)
    }

    /// What operators bound the call to, beside what its contract says.
    fn bounds(&self, capability: &Capability) -> Option<Bounds> {
        self.parts.quotas.as_ref()?.bounds(&purse::asker(self.log.turn().started()), capability)
    }

    /// The contract's timeout; where it says nothing else than the default, the limit of the turn.
    fn timeout_of(&self, capability: &Capability) -> DurationMs {
        let own = capability.execution.timeout;
        let unsaid = own == Limits::default().tool_timeout;
        if unsaid { self.log.turn().limits().tool_timeout } else { own }
    }

    /// Tool search looks at the turn, so it is answered here and not by a function.
    fn find_tools(&self, capability: &Capability, arguments: &str) -> Option<internal::Found> {
        if internal::which(capability) != Some(internal::Internal::ToolSearch) {
            return None;
        }
        let turn = self.log.turn();
        let facts = decide::facts(turn);
        let allowed = |capability: &Capability| {
            decide::ask_gate(self.parts, turn, &facts, capability, None, None).outcome != Outcome::Deny
        };
        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
        Some(internal::search_tools(self.parts, turn, &arguments, allowed))
    }

    async fn finish_call(&mut self, schedule: &mut Schedule, (index, ran): (usize, Ran)) -> Result<(), TurnError> {
        schedule.finished(index);
        let turn = self.log.turn();
        let Some(call) = turn.call(&ran.id) else { return Ok(()) };
        let Some(capability) = call.capability().and_then(|id| self.parts.registry.get(id)) else { return Ok(()) };
        match &ran.attempted.result {
            Ok(_) => self.parts.observed.succeeded(&capability.id, ran.attempted.latency),
            Err(_) => self.parts.observed.failed(&capability.id),
        }
        let outcome = outcome::of(self.parts, turn, call, capability, &ran.attempted).await;
        let stored = !outcome.projection.artifact_refs.is_empty();
        self.log.record(Event::CallFinished(CallFinished {
            call: ran.id,
            outcome: Arc::new(outcome),
            settled_by: ran.settled_by,
        }))?;
        let mut added = ran.found;
        if stored {
            added.extend(self.artifact_reader());
        }
        if !added.is_empty() {
            self.added.append(&mut added);
        }
        Ok(())
    }

    /// The tool that reads artifacts, once there is one to read.
    fn artifact_reader(&self) -> Option<Exposed> {
        let intent = internal::artifact_read_intent();
        let known =
            self.log.turn().exposed().iter().chain(&self.added).any(|tool| tool.name.as_str() == intent.as_str());
        let capability = self.parts.registry.candidates(&intent).first().filter(|_| !known)?;
        let turn = self.log.turn();
        let decision = decide::ask_gate(self.parts, turn, &decide::facts(turn), capability, None, None);
        let name = self.parts.toolbox.get(capability).ok()?.definition.name.clone();
        (decision.outcome != Outcome::Deny).then(|| Exposed { name, capability: capability.id.clone(), hosted: false })
    }
}

/// What a function is told of the call it serves, on its first attempt.
pub(super) fn context(turn: &Turn, call: &CallId, idempotency_key: String, cancel: CancellationToken) -> CallContext {
    let started = turn.started();
    CallContext {
        turn: started.turn.clone(),
        call: call.clone(),
        principal: Arc::clone(&started.principal),
        idempotency_key,
        cancel,
        attempt: 1,
    }
}

/// The end of a call that never started.
fn never_started(call: &CallId, outcome: CallOutcome) -> Event {
    Event::CallFinished(CallFinished { call: call.clone(), outcome: Arc::new(outcome), settled_by: None })
}

/// One call, ready to run.
struct Call {
    id: CallId,
    arguments: Value,
    context: CallContext,
    timeout: DurationMs,
    found: Option<internal::Found>,
    /// Finds out what became of it, should it not say itself.
    lookup: Option<Lookup>,
}

async fn run_call(
    parts: &Parts,
    capability: &Capability,
    call: Call,
    slot: Option<Slot>,
    stop: CancellationToken,
    index: usize,
) -> (usize, Progress) {
    let Call { id, arguments, mut context, timeout, found, lookup } = call;
    if let Some((output, found)) = found {
        let attempted = Attempted { result: Ok(output), attempts: 1, latency: DurationMs(0), started: true };
        return (index, Progress::Ran(Ran { id, attempted, found, settled_by: None }));
    }
    context.cancel = stop.clone();
    let again = lookup.as_ref().map(|_| context.clone());
    let policy = RunPolicy { timeout, ..RunPolicy::of(&capability.execution) };
    let mut attempted = match executor(parts, capability) {
        Ok(executor) => run_one(executor.as_ref(), &arguments, context, policy).await,
        Err(error) => Attempted { result: Err(error), attempts: 0, latency: DurationMs(0), started: false },
    };
    drop(slot);
    let mut settled_by = None;
    // A turn that is stopped does not wait for a look-up: a person finds out.
    if let (Some(lookup), Some(context)) = (lookup, again)
        && settle::is_unknown(&attempted, capability)
        && !stop.is_cancelled()
        && let Some(result) = lookup.settle(parts, context).await
    {
        attempted.result = result;
        settled_by = Some(lookup.name());
    }
    (index, Progress::Ran(Ran { id, attempted, found: Vec::new(), settled_by }))
}

/// How far work on a call has come.
enum Progress {
    /// It has its slot, or never gets one.
    Slot(Result<Slot, ToolError>),
    /// It ran.
    Ran(Ran),
}

/// Whether calls of a capability may have to wait for others, of this turn or of another.
fn is_bounded(capability: &Capability) -> bool {
    capability.execution.concurrency.is_some() || capability.execution.rate_limit.is_some()
}

async fn wait_for_slot(
    parts: &Parts,
    capability: &Capability,
    bounds: Option<Bounds>,
    stop: &CancellationToken,
) -> Progress {
    let Bounds { rates, at_once } = bounds.unwrap_or_default();
    let slot = match parts.slots.acquire_shared(&at_once, stop).await {
        Ok(shared) => parts.slots.acquire(capability, stop).await.map(|slot| slot.and(shared)),
        Err(error) => Err(error),
    };
    if rates.is_empty() || slot.is_err() {
        return Progress::Slot(slot);
    }
    Progress::Slot(match parts.journal.take(&rates, parts.clock.now()).await {
        Ok(Taken::Counted) => slot,
        Ok(Taken::Wait { after, .. }) => Err(errors::rate_limited(after)),
        Err(error) => Err(errors::unavailable(capability.intent.as_str(), error.to_string())),
    })
}

fn executor(parts: &Parts, capability: &Capability) -> Result<Arc<dyn Executor>, ToolError> {
    match internal::which(capability) {
        Some(internal::Internal::ArtifactRead) => Ok(Arc::new(internal::ArtifactReader::new(parts))),
        Some(internal::Internal::ToolSearch) => Err(internal::not_served(capability.intent.as_str())),
        None => parts.executors.executor_for(capability).cloned(),
    }
}
