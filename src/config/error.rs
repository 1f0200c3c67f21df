//! Where a setting came from, and what may be wrong with it.

use std::{fmt, path::PathBuf};

use super::LimitError;
use crate::error::{Error, ErrorKind};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// What is wrong with the configuration. No message holds the value of a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file `{}` cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{origin}: {message}")]
    Syntax {
        /// Where.
        origin: Origin,
        /// What the parser says.
        message: String,
    },
    /// There is no such key.
    #[error("{origin}: there is no setting `{key}`{}", nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey {
        /// The key as it was written.
        key: String,
        /// Where.
        origin: Origin,
        /// The known key that is most like it.
        nearest: Option<String>,
    },
    /// The value is of another type.
    #[error("{origin}: `{key}` must be {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// Where.
        origin: Origin,
        /// What it must be.
        expected: &'static str,
    },
    /// The value cannot be.
    #[error("{origin}: `{key}` has a wrong value: {why}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// Where.
        origin: Origin,
        /// What is wrong with it.
        why: String,
    },
    /// A limit is out of its range.
    #[error("{origin}: {limit}")]
    Limit {
        /// Where.
        origin: Origin,
        /// Which, and what is allowed.
        #[source]
        limit: LimitError,
    },
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::from_source(ErrorKind::Config, error)
            .with_hint("`agcore config explain` shows every setting and its origin")
    }
}
