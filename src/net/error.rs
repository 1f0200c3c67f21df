//! What can go wrong between here and the other side.

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetErrorKind {
    /// No connection came about: name, route, refusal, TLS.
    Connect,
    /// The connection broke after it stood.
    Broken,
    /// A deadline passed: connecting, the time between two pieces, or the whole exchange.
    Timeout,
    /// The body is larger than the caller allows.
    TooLarge,
    /// The request itself cannot be sent (address, header, configuration).
    Invalid,
}

impl NetErrorKind {
    /// A stable word for traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Broken => "broken",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Invalid => "invalid",
        }
    }
}

/// An HTTP exchange that failed below HTTP. It names the host, never the query or a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NetError {
    kind: NetErrorKind,
    message: String,
}

impl NetError {
    pub(super) fn new(kind: NetErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The failure of a call that never stood, or broke, with the innermost cause the stack names.
    pub(super) fn from_client(error: &hyper_util::client::legacy::Error, host: &str) -> Self {
        let kind = if error.is_connect() { NetErrorKind::Connect } else { NetErrorKind::Broken };
        let verb = if error.is_connect() { "cannot connect to" } else { "the connection broke to" };
        Self::new(kind, format!("{verb} `{host}`: {}", innermost(error)))
    }

    pub(super) fn from_body(error: &hyper::Error, host: &str) -> Self {
        Self::new(NetErrorKind::Broken, format!("the answer of `{host}` broke off: {}", innermost(error)))
    }

    /// What kind of failure it was.
    pub const fn kind(&self) -> NetErrorKind {
        self.kind
    }

    /// Whether sending the same again may succeed.
    pub const fn retryable(&self) -> bool {
        matches!(self.kind, NetErrorKind::Connect | NetErrorKind::Broken | NetErrorKind::Timeout)
    }
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
