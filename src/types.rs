//! Plain data that every module speaks: ids, money, tokens, risks, messages, calls and results.
//!
//! Nothing in here does I/O, reads a clock or can block.

mod call;
mod class;
mod id;
mod message;
mod money;
mod time;
mod usage;

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
pub use time::{DurationMs, Timestamp};
pub use usage::{Tokens, Usage};

/// For `skip_serializing_if`: a field that holds its usual value need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A map for look-ups on the path of every turn: keyed at random like the usual one, and several times faster on ids.
pub(crate) type FastMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
