//! The hard limits of a turn.
//!
//! Reaching one ends the turn with an answer from what is known, never with an exception.

use std::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::types::{DurationMs, MicroUsd, Tokens};

/// How long a turn may take: the tier gives the default of `max_wall_time`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A quick answer: 30 s.
    Quick,
    /// The usual case: 60 s.
    #[default]
    Standard,
    /// Research or operations: 300 s.
    Long,
}

impl Tier {
    /// Every tier, the shortest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Long];

    /// The name as it is written in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Long => "long",
        }
    }

    /// The wall time of a turn of this tier: 30,000, 60,000 or 300,000 ms.
    pub const fn wall_time(self) -> DurationMs {
        match self {
            Self::Quick => DurationMs(30_000),
            Self::Standard => DurationMs(60_000),
            Self::Long => DurationMs(300_000),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The limits of one turn. Every field has a default, so a table may name only what it changes.
///
/// The fields are plain data; [`Limits::check`] holds them to [`Limits::RANGES`]. The configuration calls it at load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// At most this many rounds of model call and tools. 6; 3–8 is usual, up to 1,000.
    pub max_tool_iterations: u32,
    /// At most this many tool calls in all. 12; 5–20 is usual, up to 10,000.
    pub max_tool_calls_per_turn: u32,
    /// At most this much wall time, without waiting for people, pause and downtime. 60,000 ms; up to 24 h.
    #[serde(rename = "max_wall_time_ms")]
    pub max_wall_time: DurationMs,
    /// At most this much money for models and tools together. 1 USD; up to 10,000 USD; 0 forbids all that costs.
    #[serde(rename = "max_tool_cost_usd", with = "usd")]
    pub max_tool_cost: MicroUsd,
    /// At most this many tokens of tool results in the context. 32,000; up to 10,000,000.
    pub max_context_tokens_from_tools: Tokens,
    /// A failed call of one tool is tried again at most this many times. 2; up to 20.
    pub max_same_tool_retries: u32,
    /// Whether business writes wait for a person, but for what the user asked for and named in full. True. Destructive calls
    /// always do.
    pub requires_approval_for_write: bool,
    /// How long one tool call may take when its contract does not say. 15,000 ms; up to 1 h.
    #[serde(rename = "tool_timeout_ms")]
    pub tool_timeout: DurationMs,
    /// How long a question to a person stands before the call does not run. 7 days; up to 90 days.
    #[serde(rename = "approval_ttl_ms")]
    pub approval_ttl: DurationMs,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_tool_iterations: 6,
            max_tool_calls_per_turn: 12,
            max_wall_time: Tier::Standard.wall_time(),
            max_tool_cost: MicroUsd::new(1_000_000),
            max_context_tokens_from_tools: Tokens(32_000),
            max_same_tool_retries: 2,
            requires_approval_for_write: true,
            tool_timeout: DurationMs(15_000),
            approval_ttl: DurationMs(7 * 24 * HOUR_MS),
        }
    }
}

/// What a limit may be set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRange {
    /// The key in the table `limits`.
    pub key: &'static str,
    /// The unit of the numbers here: milliseconds, tokens, micro-dollars or a count.
    pub unit: &'static str,
    /// Outside of this a value is accepted with a warning.
    pub usual: RangeInclusive<u64>,
    /// Outside of this a value is refused.
    pub allowed: RangeInclusive<u64>,
}

const fn range(
    key: &'static str,
    unit: &'static str,
    usual: RangeInclusive<u64>,
    allowed: RangeInclusive<u64>,
) -> LimitRange {
    LimitRange { key, unit, usual, allowed }
}

const HOUR_MS: u64 = 3_600_000;

/// A limit outside of what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`limits.{key}` is {value} {unit}, but only {low} to {high} is allowed")]
pub struct LimitError {
    /// The key in the table `limits`.
    pub key: &'static str,
    /// What it was set to.
    pub value: u64,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// The least value allowed.
    pub low: u64,
    /// The greatest value allowed.
    pub high: u64,
}

impl Limits {
    /// What each limit may be set to, in the order of the fields.
    pub const RANGES: &'static [LimitRange] = &[
        range("max_tool_iterations", "rounds", 3..=8, 1..=1_000),
        range("max_tool_calls_per_turn", "calls", 5..=20, 0..=10_000),
        range("max_wall_time_ms", "ms", 30_000..=300_000, 100..=24 * HOUR_MS),
        range("max_tool_cost_usd", "micro-dollars", 10_000..=20_000_000, 0..=10_000_000_000),
        range("max_context_tokens_from_tools", "tokens", 4_000..=200_000, 256..=10_000_000),
        range("max_same_tool_retries", "retries", 0..=3, 0..=20),
        range("tool_timeout_ms", "ms", 1_000..=120_000, 10..=HOUR_MS),
        range("approval_ttl_ms", "ms", HOUR_MS..=14 * 24 * HOUR_MS, 1_000..=90 * 24 * HOUR_MS),
    ];

    /// The defaults with the wall time of `tier`.
    pub fn of_tier(tier: Tier) -> Self {
        Self { max_wall_time: tier.wall_time(), ..Self::default() }
    }

    /// Holds every limit to its range. Returns one warning for each that is allowed but unusual.
    ///
    /// # Errors
    /// [`LimitError`] for the first limit outside of what is allowed.
    pub fn check(&self) -> Result<Vec<String>, LimitError> {
        let mut warnings = Vec::new();
        for (range, value) in Self::RANGES.iter().zip(self.values()) {
            let LimitRange { key, unit, usual, allowed } = range;
            if !allowed.contains(&value) {
                return Err(LimitError { key, value, unit, low: *allowed.start(), high: *allowed.end() });
            }
            if !usual.contains(&value) {
                warnings.push(format!(
                    "`limits.{key}` is {value} {unit}; {} to {} is usual",
                    usual.start(),
                    usual.end()
                ));
            }
        }
        Ok(warnings)
    }

    /// These limits with some changed, by their names in the table `limits`. Usual or not, what is allowed is taken.
    ///
    /// # Errors
    /// What is wrong: there is no such limit, or it may not have that value.
    pub fn with(&self, set: &serde_json::Map<String, serde_json::Value>) -> Result<Self, String> {
        let mut table = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(table)) => table,
            Ok(_) | Err(_) => return Err("the limits cannot be written".to_owned()),
        };
        for (key, value) in set {
            if !table.contains_key(key) {
                let known: Vec<&str> = table.keys().map(String::as_str).collect();
                return Err(format!("there is no limit `{key}`; there are {}", known.join(", ")));
            }
            table.insert(key.clone(), value.clone());
        }
        let limits =
            serde_json::from_value::<Self>(table.into()).map_err(|error| format!("a limit cannot be set: {error}"))?;
        limits.check().map_err(|error| error.to_string())?;
        Ok(limits)
    }

    /// The values in the order of [`Limits::RANGES`].
    fn values(&self) -> [u64; 8] {
        [
            u64::from(self.max_tool_iterations),
            u64::from(self.max_tool_calls_per_turn),
            self.max_wall_time.0,
            self.max_tool_cost.micro(),
            self.max_context_tokens_from_tools.0,
            u64::from(self.max_same_tool_retries),
            self.tool_timeout.0,
            self.approval_ttl.0,
        ]
    }
}

/// Money is written in dollars in files, and is integer micro-dollars everywhere else.
mod usd {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::types::MicroUsd;

    pub(super) fn serialize<S: Serializer>(amount: &MicroUsd, s: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "limits end at 10^10 micro-dollars, far below 2^53")]
        s.serialize_f64(amount.micro() as f64 / 1e6)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MicroUsd, D::Error> {
        let usd = f64::deserialize(d)?;
        MicroUsd::from_usd(usd).ok_or_else(|| de::Error::custom(format!("{usd} is no amount of dollars")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let limits = Limits::default();
        assert_eq!(
            limits,
            Limits {
                max_tool_iterations: 6,
                max_tool_calls_per_turn: 12,
                max_wall_time: DurationMs(60_000),
                max_tool_cost: MicroUsd::new(1_000_000),
                max_context_tokens_from_tools: Tokens(32_000),
                max_same_tool_retries: 2,
                requires_approval_for_write: true,
                tool_timeout: DurationMs(15_000),
                approval_ttl: DurationMs(604_800_000),
            }
        );
        assert_eq!(limits.check(), Ok(Vec::new()));
        assert_eq!(Tier::ALL.map(|tier| Limits::of_tier(tier).max_wall_time.0), [30_000, 60_000, 300_000]);
    }

    #[test]
    fn beyond_the_usual_warns_and_beyond_the_maximum_fails() {
        let unusual = Limits { max_tool_iterations: 200, max_tool_calls_per_turn: 400, ..Limits::default() };
        assert_eq!(
            unusual.check(),
            Ok(vec![
                "`limits.max_tool_iterations` is 200 rounds; 3 to 8 is usual".to_owned(),
                "`limits.max_tool_calls_per_turn` is 400 calls; 5 to 20 is usual".to_owned(),
            ])
        );
        let refused = Limits { max_tool_iterations: 0, ..Limits::default() }.check().unwrap_err();
        assert_eq!(refused.to_string(), "`limits.max_tool_iterations` is 0 rounds, but only 1 to 1000 is allowed");
    }

    #[test]
    fn a_table_may_name_only_what_it_changes_and_comes_back_equal() {
        let limits: Limits = toml::from_str("max_tool_iterations = 8\nmax_tool_cost_usd = 0.25").unwrap();
        assert_eq!(
            limits,
            Limits { max_tool_iterations: 8, max_tool_cost: MicroUsd::new(250_000), ..Limits::default() }
        );
        assert_eq!(toml::from_str::<Limits>("max_tool_cost_usd = 2").unwrap().max_tool_cost, MicroUsd::new(2_000_000));
        let json = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&json).unwrap(), limits);
        assert!(toml::from_str::<Limits>("max_tool_iteration = 8").is_err());
    }
}
