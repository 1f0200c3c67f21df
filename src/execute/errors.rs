//! The errors of calls, ready made: one function per [`ErrorCode`], each with the hint that tells the model what to
//! do next. Messages made here hold nothing secret; what only the trace may keep goes to `developer_message`.

use crate::{
    policy::Decision,
    types::{DurationMs, ErrorCode, ToolError, ToolName},
};

/// The call did not answer within `after`.
pub fn timeout(after: DurationMs) -> ToolError {
    ToolError::new(
        ErrorCode::Timeout,
        format!("the tool did not answer within {after}"),
        "Ask for less (a narrower query, fewer results), use another tool, or answer from what is known.",
    )
    .retryable()
}

/// `what` does not exist.
pub fn not_found(what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::NotFound,
        format!("{what} was not found"),
        "Check the identifier or search for it first; do not repeat the same call.",
    )
}

/// The principal or the credential may not do this.
pub fn permission_denied(what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::PermissionDenied,
        format!("permission denied: {what}"),
        "Do not repeat the call. Go on without it, or tell the user which permission is missing.",
    )
}

/// The arguments do not match the schema; `problem` says where and why.
pub fn schema_validation(problem: &str) -> ToolError {
    ToolError::new(
        ErrorCode::SchemaValidation,
        format!("the arguments do not match the schema: {problem}"),
        "Correct the arguments as the message says and call the tool again.",
    )
}

/// The arguments are no JSON object at all.
pub fn invalid_arguments(problem: &str) -> ToolError {
    ToolError::new(
        ErrorCode::InvalidArguments,
        format!("the arguments are no JSON object: {problem}"),
        "Send the arguments as one complete JSON object.",
    )
}

/// Too many requests; the other side asked to wait `retry_after`.
pub fn rate_limited(retry_after: Option<DurationMs>) -> ToolError {
    let wait = retry_after.map_or_else(String::new, |wait| format!("; it may be called again in {wait}"));
    let mut error = ToolError::new(
        ErrorCode::RateLimited,
        format!("the tool was called too often{wait}"),
        "Wait, use another tool that serves the same purpose, or answer from what is known.",
    )
    .retryable();
    error.retry_after = retry_after;
    error
}

/// The gate said no. Its reason is shown; the names of the rules only go to the trace.
pub fn denied(decision: &Decision) -> ToolError {
    let rule = decision.rule.as_ref().map_or("the default", |rule| rule.as_str());
    let mut developer = format!("decided by {rule}");
    if !decision.errors.is_empty() {
        developer.push_str("; failed to evaluate: ");
        developer.push_str(&decision.errors.join("; "));
    }
    ToolError::new(
        ErrorCode::PolicyDenied,
        format!("the call is not allowed and did not run: {}", decision.because),
        "Do not try to get around this. Explain the reason to the user, or go on without the tool.",
    )
    .developer(developer)
}

/// The tool is not what it was when a person approved the call.
pub fn changed_after_approval(name: &str) -> ToolError {
    ToolError::new(
        ErrorCode::PolicyDenied,
        format!("`{name}` changed after a person approved this call, so the approval does not hold and it did not run"),
        "Ask for the call again; a person then sees the tool as it is now.",
    )
}

/// A person said no, perhaps with a note for the model.
pub fn rejected(note: Option<&str>) -> ToolError {
    let note = note.map_or_else(String::new, |note| format!(": {note}"));
    ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("a person rejected the call and it did not run{note}"),
        "Do not repeat the call. Ask what should be different, or finish without it.",
    )
}

/// Nothing that could run the call is there; `why` only goes to the trace.
pub fn unavailable(what: &str, why: impl Into<String>) -> ToolError {
    ToolError::new(
        ErrorCode::ExecutorUnavailable,
        format!("{what} is not available at the moment"),
        "Use another tool that serves the same purpose, or tell the user that it is not available.",
    )
    .developer(why)
}

/// No tool of this name is visible; `closest` are the visible names most like it, the most like first.
pub fn unknown_tool(name: &str, closest: &[ToolName]) -> ToolError {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let hint = if closest.is_empty() {
        "No visible tool has a name like it: use only the tools that were given, or answer without one.".to_owned()
    } else {
        let names: Vec<String> = closest.iter().map(|name| format!("`{name}`")).collect();
        format!("Call one of the tools that were given. The names most like it: {}.", names.join(", "))
    };
    ToolError::new(ErrorCode::UnknownTool, format!("there is no tool `{shown}`; nothing ran"), hint)
}

/// A limit of the turn was reached before the call started; `limit` is its name and value.
pub fn limit_reached(limit: &str) -> ToolError {
    ToolError::new(
        ErrorCode::LimitReached,
        format!("the call did not start: the limit {limit} is reached"),
        "Call no more tools. Answer from what is known and say what is missing.",
    )
}

/// A budget that the turn shares with others cannot pay for the call; `why` says which, and when it starts anew.
pub fn budget_short(why: &str) -> ToolError {
    ToolError::new(
        ErrorCode::LimitReached,
        format!("the call did not start: {why}"),
        "Do not repeat it in this turn. Use a tool that costs nothing, or answer from what is known and say what is missing.",
    )
}

/// The turn was cancelled before the call started.
pub fn cancelled() -> ToolError {
    ToolError::new(
        ErrorCode::Cancelled,
        "the turn was cancelled before the call started; it did not run",
        "Call it again only if the user still wants it.",
    )
}

/// A read was stopped after it had started.
pub fn interrupted() -> ToolError {
    ToolError::new(
        ErrorCode::Interrupted,
        "the call was stopped after it had started; there is no result",
        "It changes nothing, so it may be called again if the user still wants it.",
    )
    .retryable()
}

/// A write was started and what became of it is not known. `how` says what happened (for the model too).
pub fn outcome_unknown(how: &str) -> ToolError {
    ToolError::new(
        ErrorCode::OutcomeUnknown,
        format!("the call was started and its outcome is not known ({how}): it may have taken effect"),
        "Do not repeat the call. Look up whether it took effect, or tell the user that it has to be checked.",
    )
}

/// A write was interrupted, and its look-up says that it took no effect.
pub fn no_effect() -> ToolError {
    let why = "it was interrupted, and a look-up says that it took no effect";
    ToolError::new(ErrorCode::ToolFailed, why, "it may be asked for again, if it is still wanted")
}

/// The sandbox failed; `why` only goes to the trace.
pub fn sandbox_failed(why: impl Into<String>) -> ToolError {
    ToolError::new(
        ErrorCode::SandboxFailed,
        "the sandbox failed while running the code",
        "Try smaller or simpler code once; then go on without running code.",
    )
    .developer(why)
}

/// The tool itself failed; `why` only goes to the trace.
pub fn tool_failed(why: impl Into<String>) -> ToolError {
    ToolError::new(
        ErrorCode::ToolFailed,
        "the tool failed",
        "Use another tool or other arguments, or tell the user that the tool failed.",
    )
    .developer(why)
}

/// The same call brought nothing new `times` times and is withheld.
pub fn no_progress(times: u32) -> ToolError {
    ToolError::new(
        ErrorCode::NoProgress,
        format!("the same call brought nothing new {times} times; it was not run again"),
        "Do something different: other arguments, another tool, or answer from what is known.",
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{policy::Outcome, types::RuleId};

    fn one_of_each() -> Vec<ToolError> {
        let decision = Decision {
            outcome: Outcome::Deny,
            rule: Some(RuleId::new("no-mail").unwrap()),
            because: "mail is off".into(),
            matched: vec![],
            lifted: vec![],
            obligations: vec![],
            shadow: Vec::new(),
            errors: vec!["rule x: no such variable".into()],
            unnamed: vec![],
        };
        vec![
            timeout(DurationMs(15_000)),
            not_found("order 7"),
            permission_denied("the order service refused the credential"),
            schema_validation("/q: expected a string"),
            invalid_arguments("it ends inside a string"),
            rate_limited(Some(DurationMs(2000))),
            denied(&decision),
            rejected(Some("not this customer")),
            unavailable("`orders.get`", "no executor `get_order`"),
            unknown_tool("serch_files", &[ToolName::new("search_files").unwrap()]),
            limit_reached("max_tool_calls_per_turn 12"),
            cancelled(),
            interrupted(),
            outcome_unknown("the connection broke"),
            sandbox_failed("exit 137"),
            tool_failed("boom"),
            no_progress(3),
        ]
    }

    #[test]
    fn every_error_says_what_happened_and_what_to_do_next() {
        let errors = one_of_each();
        let codes: std::collections::HashSet<ErrorCode> = errors.iter().map(|error| error.code).collect();
        assert_eq!(codes.len(), errors.len(), "one constructor per code");
        for error in errors {
            assert!(!error.safe_message.is_empty() && error.next_action_hint.ends_with('.'), "{error:?}");
            for secret in ["no such variable", "no executor", "exit 137", "boom"] {
                assert!(!error.safe_message.contains(secret), "developer detail in {error:?}");
            }
        }
    }

    /// DEV-J02: the four ways of not finishing are four different results.
    #[test]
    fn never_started_denied_cancelled_and_interrupted_are_told_apart() {
        let errors = one_of_each();
        let said: Vec<&ToolError> = errors
            .iter()
            .filter(|error| {
                use ErrorCode as E;
                [E::LimitReached, E::PolicyDenied, E::Cancelled, E::Interrupted, E::OutcomeUnknown]
                    .contains(&error.code)
            })
            .collect();
        assert_eq!(said.len(), 5);
        for error in &said {
            let ran = matches!(error.code, ErrorCode::Interrupted | ErrorCode::OutcomeUnknown);
            assert_eq!(error.safe_message.contains("started and") || error.safe_message.contains("had started"), ran);
        }
    }

    /// DEV-D08: a structured result with close names, not the end of the turn.
    #[test]
    fn an_unknown_tool_names_the_closest_visible_ones() {
        assert_eq!(
            unknown_tool("serch_files", &[ToolName::new("search_files").unwrap()]),
            ToolError {
                code: ErrorCode::UnknownTool,
                retryable: false,
                safe_message: "there is no tool `serch_files`; nothing ran".into(),
                developer_message: String::new(),
                next_action_hint: "Call one of the tools that were given. The names most like it: `search_files`."
                    .into(),
                retry_after: None,
            }
        );
    }
}
