//! The builder.

use pretty_assertions::assert_eq;
use schemars::JsonSchema;
use serde_json::json;

use crate::{
    capability::{
        Approval, Capability, Execution, Governance, InputSpec, OutputFormat, OutputSpec, ProjectionPolicy,
        ProviderMatch,
    },
    types::{CostClass, DurationMs, ExecutionMode, MicroUsd, ProviderName, RiskClass, SideEffect, Trust},
};

#[test]
fn a_builder_fills_in_the_defaults() {
    let capability = Capability::builder("crm.orders_get", "orders.get_by_id")
        .description("Returns one order.")
        .runs_function("orders_get")
        .risk(RiskClass::InternalRead)
        .build()
        .unwrap();
    let expected = Capability {
        id: "crm.orders_get".parse().unwrap(),
        intent: "orders.get_by_id".parse().unwrap(),
        description: "Returns one order.".into(),
        use_when: vec![],
        avoid_when: vec![],
        namespace: "orders".into(),
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
            function_name: Some("orders_get".into()),
            http: None,
            mcp_server: None,
            mcp_tool: None,
            sandbox: None,
            timeout: DurationMs(15_000),
            retries: 1,
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
            format: OutputFormat::Json,
            max_results: None,
            supports_citations: false,
            must_include_source_url: false,
            projection: ProjectionPolicy::default(),
            trust: Trust::Untrusted,
        },
        governance: Governance {
            risk_class: RiskClass::InternalRead,
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
    };
    assert_eq!(capability, expected);
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Sum {
    /// The first number.
    a: i64,
    /// The second number.
    b: Option<i64>,
}

#[test]
fn a_function_tool_takes_its_names_from_the_function_and_its_schema_from_the_type() {
    let capability = Capability::function("math.sum").input::<Sum>().risk(RiskClass::ReadOnly).build().unwrap();
    assert_eq!((capability.id.as_str(), capability.intent.as_str()), ("math.sum", "math.sum"));
    assert_eq!(capability.execution.function_name.as_deref(), Some("math.sum"));
    assert_eq!(
        capability.input.schema,
        json!({
            "type": "object",
            "properties": {
                "a": {"description": "The first number.", "type": "integer"},
                "b": {"description": "The second number.", "type": ["integer", "null"]},
            },
            "required": ["a"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn a_hosted_tool_reserves_its_price_and_its_bound() {
    let payload = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 3});
    let capability = Capability::builder("a.web_search", "web.search")
        .hosted(ProviderName::new("anthropic").unwrap(), payload.clone())
        .risk(RiskClass::ExternalRead)
        .cost(MicroUsd::new(10_000))
        .build()
        .unwrap();
    let hosted = capability.execution.hosted.unwrap();
    assert_eq!((hosted.payload, hosted.max_uses, hosted.price), (payload, Some(3), MicroUsd::new(10_000)));
    assert_eq!(capability.governance.cost_class, CostClass::Medium);
}

#[test]
fn a_write_cannot_be_declared_as_a_read_nor_a_read_as_a_write() {
    for (risk, effect) in [
        (RiskClass::ReadOnly, SideEffect::NonIdempotentWrite),
        (RiskClass::BusinessWrite, SideEffect::ReadOnly),
        (RiskClass::BusinessWrite, SideEffect::Destructive),
        (RiskClass::Destructive, SideEffect::IdempotentWrite),
    ] {
        let error = Capability::function("orders.cancel_one").risk(risk).side_effect(effect).build().unwrap_err();
        assert_eq!(error.kind(), "effect_mismatch", "{risk} {effect}");
    }
}

#[test]
fn a_write_is_retried_only_with_an_idempotency_key() {
    let write = || Capability::function("orders.cancel_one").risk(RiskClass::IdempotentWrite).retries(2);
    assert_eq!(write().build().unwrap_err().kind(), "unsafe_retry");
    assert_eq!(write().idempotency_key_required().build().unwrap().execution.retries, 2);
}

#[test]
fn the_check_names_the_capability_and_the_way_out() {
    let error = Capability::function("orders.list_open").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "in code: capability `orders.list_open`: it does not say how risky a call is; set `risk_class`, such as \
         read_only, external_read or business_write"
    );
    let kind =
        |built: crate::capability::CapabilityBuilder| built.risk(RiskClass::ReadOnly).build().unwrap_err().kind();
    assert_eq!(kind(Capability::function("")), "missing_key");
    assert_eq!(kind(Capability::function("a b")), "invalid_value");
    assert_eq!(kind(Capability::function("a.b").priority(101)), "invalid_value");
    assert_eq!(kind(Capability::function("a.b").timeout(DurationMs(0))), "invalid_value");
    assert_eq!(kind(Capability::function("a.b").max_calls_per_turn(0)), "invalid_value");
    assert_eq!(kind(Capability::function("a.b").input_schema(json!({"type": "string"}))), "bad_schema");
    assert_eq!(kind(Capability::function("a.b").input::<i64>()), "bad_schema");
}
