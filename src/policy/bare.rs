//! A capability of which only the facts the gate looks at are known.

use serde_json::json;

use crate::{
    capability::{
        Approval, Capability, Execution, Governance, InputSpec, OutputFormat, OutputSpec, ProjectionPolicy,
        ProviderMatch,
    },
    types::{CapabilityId, CostClass, DurationMs, ExecutionMode, Intent, MicroUsd, RiskClass, Trust},
};

/// A runtime function of `risk` whose results are not trusted, with nothing else set.
pub(super) fn bare_capability(id: CapabilityId, intent: Intent, risk: RiskClass) -> Capability {
    let namespace = intent.as_str().split('.').next().unwrap_or_default().to_owned();
    Capability {
        id,
        intent,
        description: String::new(),
        use_when: Vec::new(),
        avoid_when: Vec::new(),
        namespace,
        version: "1".to_owned(),
        priority: 0,
        deferred: false,
        input: InputSpec { schema: json!({"type": "object", "properties": {}}), examples: Vec::new() },
        execution: Execution {
            mode: ExecutionMode::RuntimeFunction,
            provider: ProviderMatch::Any,
            model_patterns: Vec::new(),
            regions: Vec::new(),
            hosted: None,
            function_name: None,
            http: None,
            mcp_server: None,
            mcp_tool: None,
            sandbox: None,
            timeout: DurationMs(15_000),
            retries: 0,
            side_effect: risk.default_side_effect(),
            parallel_group: None,
            depends_on: Vec::new(),
            idempotency_key_required: false,
            rate_limit: None,
            concurrency: None,
            polling: false,
            lookup: None,
        },
        output: OutputSpec {
            format: OutputFormat::Text,
            max_results: None,
            supports_citations: false,
            must_include_source_url: false,
            projection: ProjectionPolicy::default(),
            trust: Trust::Untrusted,
        },
        governance: Governance {
            risk_class: risk,
            cost_class: CostClass::Low,
            cost: MicroUsd::ZERO,
            max_calls_per_turn: None,
            required_scopes: Vec::new(),
            data_classes: Vec::new(),
            facts: None,
            pii_allowed: false,
            allowed_domains: Vec::new(),
            arguments: Default::default(),
            approval: Approval::ByPolicy,
        },
    }
}
