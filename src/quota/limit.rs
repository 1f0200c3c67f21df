//! One limit of a row: a constant or an expression.

use serde::Deserialize;

use crate::{
    config::Limits,
    policy::{Expression, ExpressionFacts, ExpressionValue},
    types::{DurationMs, MicroUsd, Tokens},
};

/// The limits that a row may set, by their names in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LimitKey {
    MaxToolIterations,
    MaxToolCallsPerTurn,
    MaxWallTimeMs,
    MaxToolCostUsd,
    MaxContextTokensFromTools,
    MaxSameToolRetries,
    RequiresApprovalForWrite,
    ToolTimeoutMs,
    ApprovalTtlMs,
}

/// What a limit is set to.
#[derive(Debug)]
pub(super) enum LimitValue {
    Fixed(ExpressionValue),
    /// Evaluated once, when a turn begins.
    Computed(Expression),
}

/// A limit and what it is set to.
#[derive(Debug)]
pub(super) struct LimitRow {
    pub(super) key: LimitKey,
    pub(super) value: LimitValue,
}

impl LimitRow {
    /// Sets the limit; with `tighten` only where that leaves less room.
    pub(super) fn apply(&self, limits: &mut Limits, facts: &ExpressionFacts<'_>, tighten: bool) -> Result<(), String> {
        let value = match &self.value {
            LimitValue::Fixed(value) => *value,
            LimitValue::Computed(expression) => {
                expression.evaluate(facts).map_err(|why| format!("`limits.{}`: {why}", self.key.name()))?
            }
        };
        match value {
            ExpressionValue::Switch(switch) if self.key == LimitKey::RequiresApprovalForWrite => {
                limits.requires_approval_for_write = switch || (tighten && limits.requires_approval_for_write);
                Ok(())
            }
            ExpressionValue::Number(number) if self.key != LimitKey::RequiresApprovalForWrite => {
                self.key.set(limits, number, tighten)
            }
            ExpressionValue::Switch(_) => Err(format!("`limits.{}` has to be a number", self.key.name())),
            ExpressionValue::Number(_) => Err(format!("`limits.{}` has to be true or false", self.key.name())),
        }
    }
}

impl LimitKey {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MaxToolIterations => "max_tool_iterations",
            Self::MaxToolCallsPerTurn => "max_tool_calls_per_turn",
            Self::MaxWallTimeMs => "max_wall_time_ms",
            Self::MaxToolCostUsd => "max_tool_cost_usd",
            Self::MaxContextTokensFromTools => "max_context_tokens_from_tools",
            Self::MaxSameToolRetries => "max_same_tool_retries",
            Self::RequiresApprovalForWrite => "requires_approval_for_write",
            Self::ToolTimeoutMs => "tool_timeout_ms",
            Self::ApprovalTtlMs => "approval_ttl_ms",
        }
    }

    fn set(self, limits: &mut Limits, number: f64, tighten: bool) -> Result<(), String> {
        let wrong = || format!("`limits.{}` cannot be {number}", self.name());
        if self == Self::MaxToolCostUsd {
            let cost = MicroUsd::from_usd(number).ok_or_else(wrong)?;
            limits.max_tool_cost = if tighten { cost.min(limits.max_tool_cost) } else { cost };
            return Ok(());
        }
        if !(0.0..=1e15).contains(&number) || number.fract() != 0.0 {
            return Err(wrong());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was just checked")]
        let whole = number as u64;
        let count = |old: u32| -> Result<u32, String> {
            let new = u32::try_from(whole).map_err(|_| wrong())?;
            Ok(if tighten { new.min(old) } else { new })
        };
        let long = |old: u64| if tighten { whole.min(old) } else { whole };
        match self {
            Self::MaxToolIterations => limits.max_tool_iterations = count(limits.max_tool_iterations)?,
            Self::MaxToolCallsPerTurn => limits.max_tool_calls_per_turn = count(limits.max_tool_calls_per_turn)?,
            Self::MaxSameToolRetries => limits.max_same_tool_retries = count(limits.max_same_tool_retries)?,
            Self::MaxWallTimeMs => limits.max_wall_time = DurationMs(long(limits.max_wall_time.0)),
            Self::ToolTimeoutMs => limits.tool_timeout = DurationMs(long(limits.tool_timeout.0)),
            Self::ApprovalTtlMs => limits.approval_ttl = DurationMs(long(limits.approval_ttl.0)),
            Self::MaxContextTokensFromTools => {
                limits.max_context_tokens_from_tools = Tokens(long(limits.max_context_tokens_from_tools.0));
            }
            Self::MaxToolCostUsd | Self::RequiresApprovalForWrite => {}
        }
        Ok(())
    }
}
