//! What the rules see as `resource`: a capability may name a read (`facts`) that says what its arguments speak of (whose
//! order is this?). It is asked before the rules are, with those arguments of the call that it takes. Where it cannot
//! answer, the call does not run.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    capability::{self, Capability},
    execute::{RunPolicy, errors, run_one},
    llm::arguments::{self, RepairLevel},
    types::{CallId, CapabilityId, Content, ToolError, ToolOutput},
};

use super::{CallDecided, Parts, Turn, run};

/// At most this many bytes of an answer: it goes into the journal.
const MAX_BYTES: usize = 64 * 1024;

/// What was looked up, by call.
pub(super) type Resources = BTreeMap<CallId, Result<Arc<Value>, ToolError>>;

/// Looks up what those of `decisions` that got as far as the gate speak of, all at once.
pub(super) async fn of_calls(
    parts: &Parts,
    turn: &Turn,
    decisions: &[CallDecided],
    cancel: &CancellationToken,
) -> Resources {
    let asked = decisions.iter().filter(|decided| decided.decision.is_some()).filter_map(|decided| {
        let capability = decided.capability.as_ref().and_then(|id| parts.registry.get(id))?;
        capability.governance.facts.as_ref()?;
        let call = turn.call(&decided.call)?;
        let text = decided.arguments.as_deref().unwrap_or(&call.arguments);
        let (arguments, _) = arguments::parse(text, RepairLevel::Certain).unwrap_or_default();
        Some(async move {
            let found = of(parts, turn, &call.id, capability, &arguments, cancel).await;
            found.transpose().map(|found| (call.id.clone(), found))
        })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// What the `facts` of `capability` say of `arguments`; `None` where it names none.
///
/// # Errors
/// That it could not be looked up: the call then does not run.
pub(super) async fn of(
    parts: &Parts,
    turn: &Turn,
    call: &CallId,
    capability: &Capability,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<Option<Arc<Value>>, ToolError> {
    match &capability.governance.facts {
        None => Ok(None),
        Some(facts) => Box::pin(ask(parts, turn, call, (capability, facts), arguments, cancel)).await.map(Some),
    }
}

async fn ask(
    parts: &Parts,
    turn: &Turn,
    call: &CallId,
    (capability, facts): (&Capability, &CapabilityId),
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<Arc<Value>, ToolError> {
    let refuse = |why: String| {
        errors::unavailable(
            &format!("what the rules have to know about `{}`", capability.intent),
            format!("{facts}: {why}"),
        )
    };
    let reader = capability::asked(&parts.registry, "facts", facts).map_err(|problem| refuse(problem.to_string()))?;
    let tool = parts.toolbox.get(reader).map_err(&refuse)?;
    let arguments = taken(reader, arguments);
    tool.validator.check(&arguments).map_err(|violations| {
        refuse(format!("the arguments of the call do not fit it: {}", arguments::told(&violations)))
    })?;
    let executor = parts.executors.executor_for(reader)?;
    let context = run::context(turn, call, format!("{}/{call}/facts", turn.started().turn), cancel.clone());
    let attempted = run_one(executor.as_ref(), &arguments, context, RunPolicy::of(&reader.execution)).await;
    let output = attempted.result.map_err(|error| refuse(error.to_string()))?;
    Ok(Arc::new(answer(&output).map_err(refuse)?))
}

/// Those of a call's arguments that the reader declares.
fn taken(reader: &Capability, arguments: &Value) -> Value {
    let declared = reader.input.schema.get("properties").and_then(Value::as_object);
    let (Some(declared), Some(given)) = (declared, arguments.as_object()) else { return arguments.clone() };
    let taken: Map<String, Value> = given
        .iter()
        .filter(|(name, _)| declared.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(taken)
}

fn answer(output: &ToolOutput) -> Result<Value, String> {
    let text = output.content.iter().find_map(|content| match content {
        Content::Json(text) | Content::Text(text) => Some(text),
        Content::Media { .. } => None,
    });
    let text = text.ok_or("it answered with nothing that rules could read")?;
    if text.len() > MAX_BYTES {
        return Err(format!("its answer has {} bytes, more than {MAX_BYTES}", text.len()));
    }
    serde_json::from_str(text).map_err(|error| format!("its answer is no JSON: {error}"))
}
