//! What the tests of this module share.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    capability::{Approval, Capability, Execution, Governance, InputSpec, OutputFormat, OutputSpec, ProviderMatch},
    policy::Principal,
    types::{
        CallId, CapabilityId, CostClass, DurationMs, ExecutionMode, Intent, MicroUsd, RiskClass, SideEffect, TenantId,
        Trust, TurnId, UserId,
    },
};

use super::CallContext;

/// A context of call `call-1`, first attempt, not cancelled.
pub(crate) fn context() -> CallContext {
    context_with(CancellationToken::new())
}

/// The same with a token to cancel it by.
pub(crate) fn context_with(cancel: CancellationToken) -> CallContext {
    CallContext {
        turn: TurnId::new("turn-1").unwrap(),
        call: CallId::new("call-1").unwrap(),
        principal: Arc::new(Principal {
            tenant: TenantId::new("local").unwrap(),
            user: UserId::new("me").unwrap(),
            roles: BTreeSet::new(),
            scopes: BTreeSet::new(),
        }),
        idempotency_key: "turn-1/call-1".into(),
        cancel,
        attempt: 1,
    }
}

/// A read-only capability `id` that serves `test.id` and runs the function `id`.
pub(crate) fn capability(id: &str) -> Capability {
    Capability {
        id: CapabilityId::new(id).unwrap(),
        intent: Intent::new(format!("test.{id}")).unwrap(),
        description: "a test".into(),
        use_when: vec![],
        avoid_when: vec![],
        namespace: "test".into(),
        version: "1".into(),
        priority: 50,
        deferred: false,
        input: InputSpec { schema: json!({"type": "object", "properties": {}}), examples: vec![] },
        execution: Execution {
            mode: ExecutionMode::RuntimeFunction,
            provider: ProviderMatch::Any,
            model_patterns: vec![],
            regions: vec![],
            hosted: None,
            function_name: Some(id.into()),
            http: None,
            mcp_server: None,
            mcp_tool: None,
            sandbox: None,
            timeout: DurationMs(15_000),
            retries: 0,
            side_effect: SideEffect::ReadOnly,
            parallel_group: None,
            depends_on: vec![],
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
            projection: Default::default(),
            trust: Trust::Trusted,
        },
        governance: Governance {
            risk_class: RiskClass::ReadOnly,
            cost_class: CostClass::Low,
            cost: MicroUsd::ZERO,
            max_calls_per_turn: None,
            required_scopes: vec![],
            data_classes: vec![],
            facts: None,
            pii_allowed: false,
            allowed_domains: vec![],
            arguments: Default::default(),
            approval: Approval::ByPolicy,
        },
    }
}
