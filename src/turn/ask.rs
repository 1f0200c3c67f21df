//! Asks the model: builds the request, sets the worst case aside, waits for the reply within the time that is left.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    llm::{Conversation, ModelError, ModelRequest, ToolDef},
    projection,
    types::{DurationMs, MicroUsd, Reply},
};

use super::{
    Driver, Event, Exposed, LimitKind, ModelCallFailed, ModelCallStarted, ModelReplied, ModelStep, Parts, Prepared,
    Turn, TurnError, illustrate, prompt, watch::Pieces, withdraw,
};

/// The output budget of a model whose price is known and that was given none: without a bound there is no worst case.
const OUTPUT_BUDGET: u32 = 16_384;

/// What is asked, kept from call to call.
#[derive(Debug)]
pub(super) struct Asking {
    request: ModelRequest,
    conversation: Conversation,
    /// How many of the exposed tools are in the request.
    listed: usize,
    /// How many hosted tools were taken off it.
    removed: usize,
    /// The worst case of one last answer.
    last_answer: MicroUsd,
}

impl Asking {
    pub(super) fn new(parts: &Parts, turn: &Turn, prepared: &Prepared) -> Self {
        let started = turn.started();
        let options = &started.model;
        let mut extra = options.extra.clone();
        if extra.get("builtin_tools").is_some_and(Value::is_array) {
            extra.remove("builtin_tools");
        }
        let on_wire = withdraw::on_wire(parts, turn, prepared);
        if !on_wire.is_empty() && !extra.contains_key("builtin_tools") {
            extra.insert("builtin_tools".to_owned(), Value::Array(on_wire));
        }
        let mut request = ModelRequest {
            model: Some(options.model.clone()),
            instructions: prompt::instructions(started, prepared),
            max_output_tokens: options.max_output_tokens,
            temperature: options.temperature,
            reasoning_effort: options.reasoning_effort.clone(),
            stream: options.stream,
            on_unsupported: options.on_unsupported,
            extra,
            ..ModelRequest::default()
        };
        let conversation = Conversation::new();
        let priced = parts.model.worst_case(&request, &conversation).is_some_and(|cost| cost > MicroUsd::ZERO);
        if priced && request.max_output_tokens.is_none() {
            request.max_output_tokens = Some(OUTPUT_BUDGET);
        }
        Self { request, conversation, listed: 0, removed: turn.removed().len(), last_answer: MicroUsd::ZERO }
    }

    /// Brings request and conversation up to date: both only grow, but for hosted tools the gate turned against.
    async fn sync(&mut self, parts: &Parts, turn: &Turn, prepared: &Prepared) {
        if self.removed != turn.removed().len() {
            self.removed = turn.removed().len();
            let on_wire = withdraw::on_wire(parts, turn, prepared);
            self.request.extra.remove("builtin_tools");
            if !on_wire.is_empty() {
                self.request.extra.insert("builtin_tools".to_owned(), Value::Array(on_wire));
            }
        }
        for entry in turn.history().iter().skip(self.conversation.len()) {
            let tenant = &turn.started().principal.tenant;
            self.conversation.push(illustrate::with_images(parts.artifacts.as_ref(), tenant, entry).await);
        }
        for exposed in turn.exposed().iter().skip(self.listed) {
            self.request.tools_defs.extend(definition(parts, exposed));
        }
        self.listed = turn.exposed().len();
    }
}

fn definition(parts: &Parts, exposed: &Exposed) -> Option<Arc<ToolDef>> {
    let capability = parts.registry.get(&exposed.capability).filter(|_| !exposed.hosted)?;
    parts.toolbox.get(capability).ok().map(|tool| tool.definition.clone())
}

impl Driver<'_> {
    /// Makes one model call and records what came of it.
    pub(super) async fn ask_model(&mut self, step: ModelStep) -> Result<(), TurnError> {
        let Some(prepared) = self.log.turn().prepared().cloned() else { return Ok(()) };
        if !step.started {
            let removed = withdraw::turned_against(self.parts, self.log.turn(), &prepared);
            if !removed.is_empty() {
                self.log.record(Event::ToolsRemoved(removed))?;
            }
        }
        let mut asking = match self.asking.take() {
            Some(asking) => asking,
            None => Asking::new(self.parts, self.log.turn(), &prepared),
        };
        asking.sync(self.parts, self.log.turn(), &prepared).await;
        asking.request.tool_choice = step.choice.clone();
        let made = match self.reserve(&mut asking, &step).await? {
            true => self.call(&mut asking, step.number).await,
            false => Ok(()),
        };
        self.asking = Some(asking);
        made
    }

    /// Journals the call as started, with its worst case set aside. False when the money does not suffice.
    async fn reserve(&mut self, asking: &mut Asking, step: &ModelStep) -> Result<bool, TurnError> {
        let worst = self.parts.model.worst_case(&asking.request, &asking.conversation);
        if worst.is_none()
            && let Some(short) = self.refuses_unpriced()
        {
            self.log.record(Event::BudgetShort(Box::new(short)))?;
            return Ok(false);
        }
        let worst = worst.unwrap_or(MicroUsd::ZERO);
        if asking.last_answer == MicroUsd::ZERO {
            asking.last_answer = worst;
            self.last_answer = worst;
        }
        let spare = if step.last.is_some() { MicroUsd::ZERO } else { asking.last_answer };
        if !step.started && self.would_overdraw(worst + spare) {
            self.log.record(Event::LimitReached(LimitKind::Cost))?;
            return Ok(false);
        }
        // What a call that was started before a crash needs is in the turn's ledger already.
        let wanted = if step.started { spare } else { worst + spare };
        if let Some(short) = self.set_aside(wanted).await? {
            self.log.record(Event::BudgetShort(Box::new(short)))?;
            return Ok(false);
        }
        if step.started {
            return Ok(true);
        }
        self.log.record(Event::ModelCallStarted(ModelCallStarted {
            number: step.number,
            choice: step.choice.clone(),
            reserved: worst,
            hosted_write: false,
        }))?;
        Ok(true)
    }

    async fn call(&mut self, asking: &mut Asking, number: u32) -> Result<(), TurnError> {
        self.commit().await?;
        let begun = self.log.now();
        let watcher = self.watcher.clone();
        let pieces = Pieces(watcher.as_ref());
        let model = self.parts.model.clone();
        let work = model.call(&asking.request, &mut asking.conversation, &pieces, &self.cancel);
        let ended = tokio::select! {
            biased;
            ended = work => Some(ended),
            () = self.cancel.cancelled() => None,
            () = tokio::time::sleep(self.time_left()) => {
                return self.log.record(Event::LimitReached(LimitKind::WallTime));
            }
        };
        let latency = self.log.now().since(begun);
        match ended {
            Some(Ok(reply)) => self.replied(number, reply, latency),
            Some(Err(error)) => self.failed(number, error, latency),
            None => self.note_cancel(),
        }
    }

    fn replied(&mut self, number: u32, reply: Reply, latency: DurationMs) -> Result<(), TurnError> {
        let usage = reply.usage.unwrap_or_default();
        let cost = self.parts.model.price(&usage);
        let injection_score = projection::hosted_score(reply.hosted());
        let reply = Arc::new(reply);
        self.log.record(Event::ModelReplied(ModelReplied { number, reply, cost, latency, injection_score }))
    }

    fn failed(&mut self, number: u32, error: ModelError, latency: DurationMs) -> Result<(), TurnError> {
        self.log.record(Event::ModelCallFailed(ModelCallFailed { number, error, latency }))
    }

    /// Whether a tool call of that price would eat into what the last answer needs.
    pub(super) fn cannot_pay(&self, price: MicroUsd) -> bool {
        price > MicroUsd::ZERO && self.would_overdraw(price + self.last_answer)
    }

    fn would_overdraw(&self, amount: MicroUsd) -> bool {
        let ledger = self.log.turn().ledger();
        let limit = self.log.turn().limits().max_tool_cost;
        amount > MicroUsd::ZERO && ledger.spent() + ledger.reserved + amount > limit
    }
}
