//! The five-layer contract of a capability, and the registry that holds them.

mod contract;

pub use contract::{
    Approval, Capability, Example, Execution, Governance, HostedTool, HttpCall, InputSpec, OutputFormat, OutputSpec,
    ProjectionPolicy, ProviderMatch, RateLimit, SandboxSpec,
};
