//! What became of a write of which nobody knows whether it took effect: its look-up is asked, where it has one, and a
//! person where it has not. It is never run again to find out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Call, CallFinished, CallStage, CallStatus, Doubt, Event, Operator, Parts, Turn, TurnError, decide, log::Log,
    outcome, run,
};
use crate::{
    capability::{Capability, lookup_problem},
    execute::{Attempted, CallContext, RunPolicy, errors, run_one},
    policy::Outcome,
    types::{CallId, Content, DurationMs, ToolError, ToolOutput, TurnId},
};

/// The argument by which a look-up is told which write is meant: the key that the write went out with.
pub(super) const KEY: &str = "idempotency_key";

/// A person has found out what became of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// The call.
    pub call: CallId,
    /// Whether it took effect.
    pub took_effect: bool,
    /// The receipt, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Who says so.
    pub by: String,
    /// How they know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// The look-up of a capability, where it has one that this principal may use now.
pub(super) fn lookup_of(parts: &Parts, turn: &Turn, capability: &Capability, key: &str) -> Option<Lookup> {
    let id = capability.execution.lookup.as_ref()?;
    let lookup = parts.registry.get(id)?;
    if let Some(problem) = lookup_problem(capability, &parts.registry) {
        tracing::warn!(capability = %capability.id, "{problem}");
        return None;
    }
    let arguments = json!({ KEY: key });
    let decision = decide::ask_gate(parts, turn, &decide::facts(turn), lookup, Some(&arguments), None);
    // Facts about a look-up are not asked for: one that needs them is not made.
    let plain = lookup.governance.facts.is_none();
    (plain && decision.outcome == Outcome::Allow).then(|| Lookup { capability: Arc::clone(lookup), arguments })
}

/// A look-up that may be made.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    capability: Arc<Capability>,
    arguments: Value,
}

impl Lookup {
    /// Who says what became of the call.
    pub(super) fn name(&self) -> String {
        format!("look-up `{}`", self.capability.id)
    }

    /// What became of the write, put in place of what is not known; `None` when the look-up does not know either.
    pub(super) async fn settle(
        &self,
        parts: &Parts,
        mut context: CallContext,
    ) -> Option<Result<ToolOutput, ToolError>> {
        context.cancel = CancellationToken::new();
        let executor = parts.executors.executor_for(&self.capability).ok()?;
        let policy = RunPolicy::of(&self.capability.execution);
        let found = run_one(executor.as_ref(), &self.arguments, context, policy).await.result.ok()?;
        match answer(&found) {
            Answer::TookEffect => Some(Ok(found)),
            Answer::NoEffect => Some(Err(errors::no_effect())),
            Answer::NotKnown => None,
        }
    }
}

/// What a look-up has found.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    TookEffect,
    NoEffect,
    NotKnown,
}

/// A field `took_effect` says it; without one, whatever was found is the effect. Nothing found is no proof that there
/// will be none: the write may be under way still.
fn answer(found: &ToolOutput) -> Answer {
    let parts = found.content.iter().map(|part| match part {
        Content::Text(text) if text.trim().is_empty() => Answer::NotKnown,
        Content::Text(_) | Content::Media { .. } => Answer::TookEffect,
        Content::Json(text) => said(&serde_json::from_str(text).unwrap_or_default()),
    });
    parts.fold(Answer::NotKnown, |answer, part| if answer == Answer::NotKnown { part } else { answer })
}

fn said(value: &Value) -> Answer {
    let empty = match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => match fields.get("took_effect") {
            Some(Value::Bool(false)) => return Answer::NoEffect,
            Some(Value::Bool(true)) => false,
            Some(_) => true,
            None => fields.is_empty(),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if empty { Answer::NotKnown } else { Answer::TookEffect }
}

/// What look-ups say of the writes that ran when the process died.
pub(super) async fn look_up_doubts(parts: &Parts, turn: &Turn) -> Vec<CallFinished> {
    let mut settled = Vec::new();
    for call in turn.calls() {
        let CallStage::Running { key, .. } = &call.stage else { continue };
        if !call.in_doubt_after_crash() {
            continue;
        }
        settled.extend(look_up(parts, turn, call, key).await);
    }
    settled
}

async fn look_up(parts: &Parts, turn: &Turn, call: &Call, key: &str) -> Option<CallFinished> {
    let capability = parts.registry.get(call.capability()?)?;
    let lookup = lookup_of(parts, turn, capability, key)?;
    let context = run::context(turn, &call.id, key.to_owned(), CancellationToken::new());
    let result = lookup.settle(parts, context).await?;
    let attempted = Attempted { result, attempts: 1, latency: DurationMs(0), started: true };
    let outcome = outcome::of(parts, turn, call, capability, &attempted).await;
    Some(CallFinished { call: call.id.clone(), outcome: Arc::new(outcome), settled_by: Some(lookup.name()) })
}

/// Records what a person found out about a write in doubt, of a turn that ended so. The turn stays over; who goes on from
/// its history is told.
///
/// # Errors
/// [`TurnError::NoDoubt`] when the call of this turn is not in doubt, or not any more.
pub async fn resolve(
    parts: &Parts,
    id: &TurnId,
    call: &CallId,
    took_effect: bool,
    receipt: Option<String>,
    operator: Operator<'_>,
) -> Result<(), TurnError> {
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), Arc::new(())).await?;
    if !log.turn().doubts().iter().any(|doubt: &Doubt| doubt.call == *call) || log.turn().ended().is_none() {
        return Err(TurnError::NoDoubt { turn: id.clone(), call: call.to_string() });
    }
    let (by, why) = (operator.by.to_owned(), operator.why.to_owned());
    log.record(Event::Resolved(Box::new(Resolved { call: call.clone(), took_effect, receipt, by, why })))?;
    log.commit(None).await?;
    Ok(())
}

/// Whether nobody knows what a call did that ended so.
pub(super) fn is_unknown(attempted: &Attempted, capability: &Capability) -> bool {
    let error = attempted.result.as_ref().err();
    error.is_some_and(|error| {
        decide::status_of(error, capability.execution.side_effect) == CallStatus::OutcomeUnknown && attempted.started
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_found_is_no_proof_and_a_plain_word_is() {
        let of = |value: Value| answer(&ToolOutput::json(&value));
        assert_eq!(of(json!({"took_effect": false, "order": 7})), Answer::NoEffect);
        assert_eq!(of(json!({"took_effect": true})), Answer::TookEffect);
        assert_eq!(of(json!({"order": 7})), Answer::TookEffect);
        for nothing in [json!(null), json!([]), json!({}), json!({"took_effect": "perhaps"})] {
            assert_eq!(of(nothing.clone()), Answer::NotKnown, "{nothing}");
        }
        assert_eq!(answer(&ToolOutput::text(" \n")), Answer::NotKnown);
    }
}
