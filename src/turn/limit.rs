//! Which hard limit of a turn is reached, if any.

use super::{LimitKind, Turn};

/// The first limit that forbids another round of tools. Wall time and money are the driver's to notice: they need
/// a clock and prices.
pub(super) fn reached(turn: &Turn) -> Option<LimitKind> {
    let limits = turn.limits();
    let checks = [
        (turn.progress.exhausted(), LimitKind::NoProgress),
        (turn.rounds >= limits.max_tool_iterations, LimitKind::ToolIterations),
        (turn.tool_calls >= limits.max_tool_calls_per_turn, LimitKind::ToolCalls),
        (turn.tokens_from_tools >= limits.max_context_tokens_from_tools, LimitKind::ContextTokens),
    ];
    checks.into_iter().find_map(|(reached, kind)| reached.then_some(kind))
}
