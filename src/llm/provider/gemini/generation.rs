//! What differs between the generations of models (google-genai 3.6.1, ai.google.dev, recorded traffic of 2026).

/// A generation, told by the model's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Generation {
    /// Gemini up to 2.5, and Gemma: built-in tools and functions exclude each other; a grounded prompt is billed once.
    Two,
    /// Gemini 3 and later, and names that say no number (`gemini-flash-latest`): both may be mixed when server-side
    /// invocations are included; calls must come back with their signatures; each query is billed.
    Three,
}

impl Generation {
    pub(in super::super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let version = name.strip_prefix("gemini-").and_then(|rest| rest.chars().next()).and_then(|c| c.to_digit(10));
        match version {
            Some(version) if version < 3 => Self::Two,
            _ if name.starts_with("gemma") => Self::Two,
            _ => Self::Three,
        }
    }

    /// How many of the queries are billed.
    pub(in super::super) const fn billed_searches(self, queries: u64) -> u64 {
        match self {
            Self::Two if queries > 1 => 1,
            Self::Two | Self::Three => queries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generation_is_told_by_the_name() {
        for (model, expected) in [
            ("gemini-2.5-flash", Generation::Two),
            ("models/gemini-1.5-pro", Generation::Two),
            ("gemma-3-27b-it", Generation::Two),
            ("gemini-3-flash-preview", Generation::Three),
            ("gemini-4-argon", Generation::Three),
            ("gemini-flash-latest", Generation::Three),
        ] {
            assert_eq!(Generation::of(model), expected, "{model}");
        }
        assert_eq!([Generation::Two, Generation::Three].map(|generation| generation.billed_searches(4)), [1, 4]);
    }
}
