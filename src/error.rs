//! The error of the library boundary.
//!
//! Each module has its own error type that says what went wrong in its words. What a user of the library gets is one
//! type, [`Error`]: a stable kind to act on, the message, a hint what to do, and the module's error as its source. A
//! module makes one with `impl From<ItsError> for Error`; this module knows none of them.

use std::fmt;

/// What kind of thing went wrong: stable, for exit codes, HTTP status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration, or a flag, is wrong.
    Config,
    /// A secret cannot be had.
    Secret,
    /// What the caller passed is wrong.
    Input,
    /// A catalog, capability or schema is wrong.
    Catalog,
    /// A policy rule is wrong.
    Policy,
    /// Nothing can serve what is wanted.
    NoRoute,
    /// What was named does not exist.
    NotFound,
    /// The model or its provider failed.
    Model,
    /// A tool failed outside of a turn.
    Tool,
    /// The journal, the artifacts or the index failed.
    Store,
    /// The network failed, or the guard refused an address.
    Net,
    /// Somebody cancelled it.
    Cancelled,
    /// A defect of agcore.
    Internal,
}

impl ErrorKind {
    /// The word for it, e.g. `no_route`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Secret => "secret",
            Self::Input => "input",
            Self::Catalog => "catalog",
            Self::Policy => "policy",
            Self::NoRoute => "no_route",
            Self::NotFound => "not_found",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Store => "store",
            Self::Net => "net",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

type Source = Box<dyn std::error::Error + Send + Sync>;

/// What every fallible entry point of the library returns. One word wide.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    retryable: bool,
    source: Option<Source>,
}

impl Error {
    /// An error with a message of its own: lower-case, without a stop, saying what is wrong and where.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), hint: None, retryable: false, source: None }))
    }

    /// An error of a module. The message holds the messages of all its sources, so it can be shown as it is.
    pub fn from_source(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let mut error = Self::new(kind, chain(&source));
        error.0.source = Some(Box::new(source));
        error
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error, marked as worth trying again.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Whether the same thing may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The module's error, if it is one of type `T`.
    pub fn source_as<T: std::error::Error + 'static>(&self) -> Option<&T> {
        self.0.source.as_deref().and_then(|source| source.downcast_ref())
    }
}

/// The messages of an error and its sources. A message that holds its source's already is not repeated.
fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        next = source.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the file `x` cannot be read")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn an_error_says_all_of_its_sources_once() {
        let outer = || Outer(std::io::Error::other("the disk is gone"));
        let error = Error::from_source(ErrorKind::Store, outer()).with_hint("check the disk").retryable();
        assert_eq!(error.to_string(), "the file `x` cannot be read: the disk is gone");
        assert_eq!(
            (error.kind().as_str(), error.hint(), error.is_retryable()),
            ("store", Some("check the disk"), true)
        );
        assert!(error.source_as::<Outer>().is_some() && error.source_as::<std::fmt::Error>().is_none());
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
