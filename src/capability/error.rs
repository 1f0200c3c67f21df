//! Why a capability, or a catalog of them, cannot be used.

use std::fmt;

use crate::types::CapabilityId;

/// What is wrong with one capability, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable word for it, e.g. `unknown_key`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

/// Where something was declared, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// A file, or what the caller named the text.
    pub source: Option<String>,
    /// Line and column, from 1.
    pub line: Option<(u64, u64)>,
    /// The id of the capability, as it was written.
    pub capability: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.as_deref().unwrap_or("in code"))?;
        if let Some((line, column)) = self.line {
            write!(f, ":{line}:{column}")?;
        }
        self.capability.iter().try_for_each(|id| write!(f, ": capability `{id}`"))
    }
}

/// Why capabilities cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CapabilityError {
    /// The text is no YAML, or not a catalog.
    #[error("{place}: not readable as YAML: {message}")]
    Yaml {
        /// Where.
        place: Box<Place>,
        /// What the YAML reader says.
        message: String,
    },
    /// A capability breaks the contract.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Box<Place>,
        /// How.
        problem: Problem,
    },
    /// One id is declared twice by the same source.
    #[error("{place}: `{id}` is declared already by the same source; give each capability its own id")]
    Duplicate {
        /// Where it is declared again.
        place: Box<Place>,
        /// The id.
        id: CapabilityId,
    },
    /// Somebody outside declares what is there already.
    #[error("{place}: `{id}` is taken: what comes from outside never takes the place of another capability")]
    TakesOver {
        /// Where it is declared again.
        place: Box<Place>,
        /// The id.
        id: CapabilityId,
    },
    /// A catalog file or folder cannot be read.
    #[error("cannot read `{path}`: {reason}; give a folder of `.yaml` files")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// What the operating system says.
        reason: String,
    },
}

impl CapabilityError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Yaml { .. } => "yaml",
            Self::Invalid { problem, .. } => problem.code,
            Self::Duplicate { .. } => "duplicate_id",
            Self::TakesOver { .. } => "takes_over",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// The id of the capability it is about, as it was written, where one could be read.
    pub fn capability(&self) -> Option<&str> {
        match self {
            Self::Yaml { place, .. } | Self::Invalid { place, .. } => place.capability.as_deref(),
            Self::Duplicate { id, .. } | Self::TakesOver { id, .. } => Some(id.as_str()),
            Self::Unreadable { .. } => None,
        }
    }
}
