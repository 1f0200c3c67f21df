//! Plain data that every module speaks: ids, money, tokens, risks, messages, calls and results.
//!
//! Nothing in here does I/O, reads a clock or can block.

mod call;
mod class;
mod id;
mod message;
mod money;
mod pin;
mod time;
mod usage;

use sha2::{Digest, Sha256};

pub use call::{ArtifactRef, Content, ErrorCode, Projection, ProjectionKind, ToolCall, ToolError, ToolOutput};
pub use class::{
    Api, ArgumentRole, CostClass, DataClass, Demand, ExecutionMode, Region, RiskClass, SideEffect, Trigger, Trust,
};
pub use id::{
    ArtifactId, CallId, CapabilityId, IdError, Intent, ModelName, ProviderName, RuleId, Scope, TaskType, TenantId,
    ToolName, TraceId, TurnId, UserId,
};
pub use message::{
    Citation, CitationSource, Entry, FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Origin, Part, Reply,
    Stop, ToolResult, UserPart,
};
pub use money::MicroUsd;
pub use pin::Pin;
pub use time::{DurationMs, Timestamp};
pub use usage::{Tokens, Usage};

/// For `skip_serializing_if`: a field that holds its usual value need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    let digits: Vec<u8> = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    // ASCII is UTF-8.
    String::from_utf8(digits).unwrap_or_default()
}

/// A SHA-256 hash as agcore writes it: `sha256:` and its hexadecimal digits.
pub(crate) fn sha256_name(hash: &[u8]) -> String {
    format!("sha256:{}", hex(hash))
}

/// The SHA-256 hash of files that were loaded together: of their texts, in order, each with its length.
pub(crate) fn texts_hash(files: &[(&str, &str)]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for (_, text) in files {
        hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().into()
}

/// A map for look-ups on the path of every turn: keyed at random like the usual one, and several times faster on ids.
pub(crate) type FastMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
