//! From a raw result to the outcome in the journal: the one way through the projector.

use crate::{
    capability::Capability,
    execute::Attempted,
    policy::Obligation,
    projection::{self, ProjectionInput},
    text::cut,
    types::{DataClass, MicroUsd, Tokens, ToolError, Trust},
};

use super::{Call, CallOutcome, CallStatus, Parts, Turn, decide, digest};

/// Said to the model when the same call brings the same result again.
const REPEATED: &str = "\n[This is the same result as before. Asking again will not change it.]";

/// The outcome of a call that never started.
pub(super) fn refused(parts: &Parts, call: &Call, status: CallStatus, error: ToolError) -> CallOutcome {
    let projection = projection::of_error(&call.id, &error, &parts.redactor);
    let mut outcome = CallOutcome::not_run(&call.id, status, &error.safe_message);
    outcome.tokens = cut::tokens(&projection.content);
    outcome.result_digest = digest::of_bytes(projection.content.as_bytes());
    outcome.projection = projection;
    outcome.error = Some(error);
    outcome
}

/// The outcome of a call that was run, or was cancelled before it could start.
pub(super) fn of(
    parts: &Parts,
    turn: &Turn,
    call: &Call,
    capability: &Capability,
    attempted: &Attempted,
) -> CallOutcome {
    let status = match &attempted.result {
        Ok(_) => CallStatus::Ok,
        Err(error) if !attempted.started => match decide::status_of(error, capability.execution.side_effect) {
            CallStatus::Cancelled => CallStatus::Cancelled,
            CallStatus::Ok
            | CallStatus::Error
            | CallStatus::Refused
            | CallStatus::Denied
            | CallStatus::Rejected
            | CallStatus::Interrupted
            | CallStatus::OutcomeUnknown => CallStatus::Refused,
        },
        Err(error) => decide::status_of(error, capability.execution.side_effect),
    };
    let obligations: &[Obligation] = call
        .decided
        .as_ref()
        .and_then(|decided| decided.decision.as_ref())
        .map_or(&[], |decision| &decision.obligations);
    let limits = &turn.started().limits;
    let remaining = limits.max_context_tokens_from_tools.0.saturating_sub(turn.tokens_from_tools().0);
    let share = remaining / u64::try_from(turn.calls().len().max(1)).unwrap_or(1);
    let projected = projection::project(&ProjectionInput {
        call: &call.id,
        output: &capability.output,
        obligations,
        remaining: Tokens(share),
        query: call.effective_arguments(),
        redactor: &parts.redactor,
        artifacts: parts.artifacts.as_ref(),
        tenant: &turn.started().principal.tenant,
        result: attempted.result.as_ref(),
    });
    let mut projection = projected.projection;
    let polling = capability.execution.polling;
    if !polling && turn.repeats(call, &projected.digest) > 0 {
        projection.content.push_str(REPEATED);
    }
    let ok = attempted.result.is_ok();
    CallOutcome {
        status,
        tokens: cut::tokens(&projection.content),
        result_digest: projected.digest,
        projection,
        receipt: attempted.result.as_ref().ok().and_then(|output| output.receipt.clone()),
        error: attempted.result.as_ref().err().cloned(),
        attempts: attempted.attempts,
        latency: attempted.latency,
        cost: if attempted.started { capability.governance.cost } else { MicroUsd::ZERO },
        untrusted: ok && capability.output.trust == Trust::Untrusted,
        data_classes: if ok { classes(capability) } else { Vec::new() },
    }
}

fn classes(capability: &Capability) -> Vec<DataClass> {
    capability.governance.data_classes.clone()
}
