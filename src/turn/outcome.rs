//! From a raw result to the outcome in the journal: the one way through the projector.

use sha2::{Digest, Sha256};

use crate::{
    capability::{Capability, OutputFormat, OutputSpec, ProjectionPolicy},
    execute::Attempted,
    policy::Obligation,
    projection::{self, Projected, ProjectionInput},
    types::{Content, MicroUsd, Tokens, ToolError, ToolOutput, Trust, sha256_name},
};

use super::{Call, CallOutcome, CallStatus, Parts, Turn, decide};

/// Said to the model when the same call brings the same result again.
const REPEATED: &str = "\n[This is the same result as before. Asking again will not change it.]";

/// The outcome of a call that never started.
pub(super) fn refused(parts: &Parts, call: &Call, status: CallStatus, error: ToolError) -> CallOutcome {
    let spec = plain();
    let input = ProjectionInput {
        call_id: &call.id,
        output: &spec,
        obligations: &[],
        remaining: Tokens(u64::MAX),
        query: "",
        redactor: &parts.redactor,
        keep_artifacts: false,
    };
    let projected = projection::project(&input, Err(&error));
    CallOutcome {
        tokens: projected.tokens,
        result_digest: digest_of(Err(&error)),
        projection: projected.projection,
        error: Some(error),
        ..CallOutcome::not_run(&call.id, status, "")
    }
}

/// What a call without a contract returns: an error text.
fn plain() -> OutputSpec {
    OutputSpec {
        format: OutputFormat::Text,
        max_results: None,
        supports_citations: false,
        must_include_source_url: false,
        projection: ProjectionPolicy::default(),
        trust: Trust::Trusted,
    }
}

/// The outcome of a call that was run, or was cancelled before it could start. What was cut is stored whole first.
pub(super) async fn of(
    parts: &Parts,
    turn: &Turn,
    call: &Call,
    capability: &Capability,
    attempted: &Attempted,
) -> CallOutcome {
    let unsourced =
        attempted.result.as_ref().ok().and_then(|output| projection::check_sources(&capability.output, output).err());
    let result = match (&unsourced, &attempted.result) {
        (Some(error), _) | (None, Err(error)) => Err(error),
        (None, Ok(output)) => Ok(output),
    };
    let result_digest = digest_of(result);
    let obligations: &[Obligation] = call
        .decided
        .as_ref()
        .and_then(|decided| decided.decision.as_ref())
        .map_or(&[], |decision| &decision.obligations);
    let question = super::input_text(&turn.started().input);
    let input = ProjectionInput {
        call_id: &call.id,
        output: &capability.output,
        obligations,
        remaining: share(turn),
        query: &question,
        redactor: &parts.redactor,
        keep_artifacts: true,
    };
    let Projected { mut projection, tokens, untrusted, injection_score, .. } =
        project_and_keep(parts, turn, input, result).await;
    if !capability.execution.polling && turn.repeats(call, &result_digest) > 0 {
        projection.content.push_str(REPEATED);
    }
    if let Some(by) = &call.edited_by {
        let arguments = call.effective_arguments();
        projection
            .content
            .push_str(&format!("\n[{by} changed the arguments of this call before it ran; it ran with {arguments}]"));
    }
    let ok = result.is_ok();
    CallOutcome {
        status: status(capability, attempted, result),
        tokens,
        result_digest,
        projection,
        receipt: result.ok().and_then(|output| output.receipt.clone()),
        attempts: attempted.attempts,
        latency: attempted.latency,
        cost: if attempted.started { capability.governance.cost } else { MicroUsd::ZERO },
        untrusted,
        injection_score,
        data_classes: if ok { capability.governance.data_classes.clone() } else { Vec::new() },
        error: result.err().cloned(),
    }
}

fn status(capability: &Capability, attempted: &Attempted, result: Result<&ToolOutput, &ToolError>) -> CallStatus {
    let Err(error) = result else { return CallStatus::Ok };
    let status = decide::status_of(error, capability.execution.side_effect);
    if attempted.started || status == CallStatus::Cancelled { status } else { CallStatus::Refused }
}

/// The same share for each call of a batch, whatever finishes first: equal histories give equal bytes. The projector
/// gives one result half of what it is told remains.
fn share(turn: &Turn) -> Tokens {
    let left = turn.limits().max_context_tokens_from_tools.0.saturating_sub(turn.tokens_from_tools().0);
    let calls = u64::try_from(turn.calls().len().max(1)).unwrap_or(1);
    Tokens(left.saturating_mul(2) / calls.max(2))
}

async fn project_and_keep(
    parts: &Parts,
    turn: &Turn,
    input: ProjectionInput<'_>,
    result: Result<&ToolOutput, &ToolError>,
) -> Projected {
    let projected = projection::project(&input, result);
    let tenant = &turn.started().principal.tenant;
    for artifact in &projected.artifacts {
        if let Err(error) = parts.artifacts.put(tenant, artifact).await {
            tracing::warn!(%error, call = %input.call_id, "the whole result is not kept");
            return projection::project(&ProjectionInput { keep_artifacts: false, ..input }, result);
        }
    }
    projected
}

/// The digest of a whole result, for the progress detector.
fn digest_of(result: Result<&ToolOutput, &ToolError>) -> String {
    let mut hasher = Sha256::new();
    match result {
        Ok(output) => output.content.iter().for_each(|content| match content {
            Content::Text(text) | Content::Json(text) => hasher.update(text.as_bytes()),
            Content::Media { bytes, .. } => hasher.update(bytes),
        }),
        Err(error) => {
            hasher.update(error.code.as_str().as_bytes());
            hasher.update(error.safe_message.as_bytes());
        }
    }
    sha256_name(&hasher.finalize())
}
