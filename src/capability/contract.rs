//! The contract itself: plain data in five layers, as `docs/capabilities.md` describes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    secret::PersonalKinds,
    types::{
        ArgumentRole, CapabilityId, CostClass, DataClass, DurationMs, ExecutionMode, Intent, MicroUsd, ProviderName,
        Region, RiskClass, Scope, SideEffect, Trust,
    },
};

/// One declared tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    // Layer 1: capability
    /// Who it is, e.g. `runtime.tavily_search`; unique in a registry.
    pub id: CapabilityId,
    /// What it serves, e.g. `web.search`. Several capabilities may serve one intent.
    pub intent: Intent,
    /// What it does, for the model.
    pub description: String,
    /// When to take it, for the model and for tool search.
    pub use_when: Vec<String>,
    /// When not to.
    pub avoid_when: Vec<String>,
    /// The namespace, e.g. `web`; the first part of the intent when not given.
    pub namespace: String,
    /// The version of the contract.
    pub version: String,
    /// Higher is preferred, 0–100.
    pub priority: i32,
    /// Whether the model sees it only after it was routed to or found by `tool.search`.
    pub deferred: bool,
    // Layers 2–5
    /// What it takes.
    pub input: InputSpec,
    /// How it runs.
    pub execution: Execution,
    /// What it returns.
    pub output: OutputSpec,
    /// How it is governed.
    pub governance: Governance,
}

/// Layer 2: what a capability takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    /// JSON Schema 2020-12, always an object schema with explicit `properties`.
    pub schema: Value,
    /// Examples of calls.
    pub examples: Vec<Example>,
}

/// An example of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// What a user would say.
    pub user: String,
    /// The arguments that answer it.
    pub arguments: Value,
}

/// Layer 3: how a capability runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Who runs it.
    pub mode: ExecutionMode,
    /// With which provider it may be used.
    pub provider: ProviderMatch,
    /// Anchored globs over model names (`gpt-5.*`); empty means every model.
    pub model_patterns: Vec<String>,
    /// Where it may be used; empty means everywhere.
    pub regions: Vec<Region>,
    /// The provider-hosted tool, when the mode is `provider_hosted`.
    pub hosted: Option<HostedTool>,
    /// The registered function, when the mode is `runtime_function`.
    pub function_name: Option<String>,
    /// The declarative HTTP call, when the function is one.
    pub http: Option<HttpCall>,
    /// The MCP server, when the mode is `mcp_remote`.
    pub mcp_server: Option<String>,
    /// Its tool.
    pub mcp_tool: Option<String>,
    /// Limits of the sandbox, when the mode is `sandboxed`.
    pub sandbox: Option<SandboxSpec>,
    /// How long one call may take; 15,000 ms when not given.
    pub timeout: DurationMs,
    /// How many times a failed call is tried again, where its side effect allows it.
    pub retries: u32,
    /// How it may be run and retried.
    pub side_effect: SideEffect,
    /// Calls of one group never run at the same time.
    pub parallel_group: Option<String>,
    /// Intents whose calls in the same batch must have finished first.
    pub depends_on: Vec<Intent>,
    /// Whether the tool honours, and wants, an idempotency key.
    pub idempotency_key_required: bool,
    /// At most this many calls in a span of time.
    pub rate_limit: Option<RateLimit>,
    /// At most this many calls at once, over all turns.
    pub concurrency: Option<u32>,
    /// The tool is asked again and again on purpose (a job status): equal answers are no lack of progress.
    pub polling: bool,
    /// The capability that looks up what became of a write, by its idempotency key.
    pub lookup: Option<CapabilityId>,
}

/// With which providers a capability may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderMatch {
    /// Every provider.
    Any,
    /// Only this one.
    Only(ProviderName),
}

impl Serialize for ProviderMatch {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => s.serialize_str("any"),
            Self::Only(name) => name.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for ProviderMatch {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        ProviderName::deserialize(d).map(Self::from)
    }
}

impl From<ProviderName> for ProviderMatch {
    /// `any` stands for every provider.
    fn from(name: ProviderName) -> Self {
        if name.as_str() == "any" { Self::Any } else { Self::Only(name) }
    }
}

/// A provider-hosted tool as it goes on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostedTool {
    /// The raw tool, with a string `type`.
    pub payload: Value,
    /// How many times the provider may run it in one model call; 5 are reserved where there is no bound.
    pub max_uses: Option<u32>,
    /// Its price per use.
    pub price: MicroUsd,
}

/// A function that is an HTTP request, declared and not programmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpCall {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The address; `{name}` stands for the argument of that name, percent-encoded.
    pub url: String,
    /// Query parameters: name to argument name or template.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Headers; a value may be a secret reference (`env:NAME`, `file:PATH`).
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Whether the remaining arguments are sent as a JSON body.
    #[serde(default)]
    pub json_body: bool,
    /// The header that carries the idempotency key.
    #[serde(default)]
    pub idempotency_header: Option<String>,
    /// JSON pointer into the answer: only what it points to is returned.
    #[serde(default)]
    pub select: Option<String>,
}

/// Limits of one sandboxed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSpec {
    /// CPU seconds.
    pub max_cpu_seconds: u32,
    /// Megabytes of memory.
    pub max_memory_mb: u32,
    /// Tokens of output.
    pub max_output_tokens: u32,
    /// Whether it may use the network.
    pub network: bool,
    /// Packages code may import.
    pub allowed_packages: Vec<String>,
}

impl Default for SandboxSpec {
    fn default() -> Self {
        Self {
            max_cpu_seconds: 30,
            max_memory_mb: 1024,
            max_output_tokens: 8000,
            network: false,
            allowed_packages: ["pandas", "numpy", "matplotlib"].map(String::from).to_vec(),
        }
    }
}

/// At most `calls` in `per`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// How many calls.
    pub calls: u32,
    /// In how long, in milliseconds.
    pub per_ms: u64,
}

/// The form of what a capability returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Plain text.
    Text,
    /// A JSON value.
    Json,
    /// Snippets with their sources.
    CitedSnippets,
    /// An artifact.
    Artifact,
    /// A provider's file id.
    FileId,
    /// A provider's image id.
    ImageId,
}

/// Layer 4: what a capability returns and what of it the model sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The form.
    pub format: OutputFormat,
    /// At most this many results.
    pub max_results: Option<u32>,
    /// Whether results name their sources.
    pub supports_citations: bool,
    /// Whether a result without a source is an error.
    pub must_include_source_url: bool,
    /// What of it reaches the model.
    pub projection: ProjectionPolicy,
    /// Whether it may be believed.
    pub trust: Trust,
}

/// What of a result reaches the model. Both `snake_case` and `camelCase` load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectionPolicy {
    /// At most this many tokens; 4,000 when not given.
    #[serde(alias = "maxTokens")]
    pub max_tokens: u32,
    /// Fields (names, dotted paths or JSON pointers) to keep; empty keeps all.
    #[serde(alias = "preserveFields")]
    pub preserve_fields: Vec<String>,
    /// Fields to mask.
    #[serde(alias = "redactFields")]
    pub redact_fields: Vec<String>,
    /// Kinds of personal data to mask (`all`, or a list of `email`, `phone`, `card`, `id_number`, `iban`), beside those that
    /// are masked in every result.
    #[serde(alias = "redactPersonal", skip_serializing_if = "PersonalKinds::is_empty")]
    pub redact_personal: PersonalKinds,
    /// Whether long text is shortened to its most relevant passages instead of being cut at the end.
    pub summarize: bool,
    /// Whether citations go along.
    #[serde(alias = "includeCitations")]
    pub include_citations: bool,
    /// Whether the model is told where the whole result lies.
    #[serde(alias = "includeRawArtifactRef")]
    pub include_raw_artifact_ref: bool,
}

impl Default for ProjectionPolicy {
    fn default() -> Self {
        Self {
            max_tokens: 4000,
            preserve_fields: Vec::new(),
            redact_fields: Vec::new(),
            redact_personal: PersonalKinds::NONE,
            summarize: false,
            include_citations: true,
            include_raw_artifact_ref: true,
        }
    }
}

/// Whether a call needs a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The policy decides by risk.
    #[default]
    ByPolicy,
    /// Always.
    Always,
    /// The contract asks for none (a rule may still).
    Never,
}

/// Layer 5: how a capability is governed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Governance {
    /// How risky a call is.
    pub risk_class: RiskClass,
    /// What a call costs, roughly.
    pub cost_class: CostClass,
    /// What a call costs at most.
    pub cost: MicroUsd,
    /// At most this many calls in one turn.
    pub max_calls_per_turn: Option<u32>,
    /// What the principal must hold.
    pub required_scopes: Vec<Scope>,
    /// The classes of data its results hold; empty means public.
    pub data_classes: Vec<DataClass>,
    /// A read that is asked with the call's arguments before the rules are: they see its answer as `resource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<CapabilityId>,
    /// Whether personal data may be sent to it.
    pub pii_allowed: bool,
    /// Hosts, or named sets such as `official_docs`, it may reach; empty means no bound of its own.
    pub allowed_domains: Vec<String>,
    /// What its arguments are, by name, where the name does not say it (`to`, `url`, `amount`, `event_id` and `body` do).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, ArgumentRole>,
    /// Whether a person has to agree.
    pub approval: Approval,
}
