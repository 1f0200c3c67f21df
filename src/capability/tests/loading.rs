//! Catalogs in YAML.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use crate::{
    capability::{
        Approval, Capability, CapabilityError, OutputFormat, ProjectionPolicy, ProviderMatch, RateLimit, Registry,
        SandboxSpec,
    },
    types::{
        CostClass, DataClass, DurationMs, ExecutionMode, Intent, MicroUsd, ProviderName, Region, RiskClass, Scope,
        SideEffect, Trust,
    },
};

/// The flat form, as the specification (S1) writes it.
const FLAT: &str = r#"
capabilities:
  - {id: openai.web_search, intent: web.search, provider: openai, mode: provider_hosted, model_patterns: ["gpt-5.*"],
     payload: {type: web_search}, supports_citations: true, risk_class: external_read, priority: 90}
  - {id: gemini.google_search, intent: web.search, provider: gemini, mode: provider_hosted, model_patterns: ["gemini-*"],
     payload: {type: google_search}, supports_citations: true, risk_class: external_read, priority: 90}
  - {id: runtime.tavily_search, intent: web.search, provider: any, mode: runtime_function,
     function_name: runtime_web_search, supports_citations: true, risk_class: external_read, priority: 60}
  - {id: mcp.firecrawl_search, intent: web.search, provider: any, mode: mcp_remote, mcp_server: web-research,
     mcp_tool: search, supports_citations: true, risk_class: external_read, priority: 70}
  - {id: runtime.customer_query, intent: business.customer.query, provider: any, mode: runtime_function,
     function_name: customer_query, supports_citations: false, risk_class: internal_read,
     required_scopes: [customer.read], priority: 100}
"#;

/// The full form, every key said.
const FULL: &str = r#"
capabilities:
  - capability:
      id: billing.invoice_create
      intent: billing.invoice.create_draft
      description: Creates an invoice as a draft.
      use_when: [a contract was fulfilled]
      avoid_when: [the customer disputes the delivery]
      namespace: finance
      version: 2
      priority: 70
      deferred: true
    input:
      input_schema:
        customer: string
        lines: string[]
        urgency?: low|high
        net?: number
      examples:
        - {user: bill ACME, arguments: {customer: acme, lines: [a]}}
    execution:
      mode: mcp_remote
      provider: anthropic
      model_patterns: ["claude-*"]
      regions: [eu]
      mcp_server: erp
      mcp_tool: invoice_create
      timeout_ms: 30000
      retries: 2
      side_effect: idempotent_write
      parallel_group: erp
      depends_on: [business.customer.query]
      idempotency_key_required: true
      rate_limit: {calls: 10, per_ms: 60000}
      concurrency: 4
      polling: false
      lookup: billing.invoice_find
    output:
      format: json
      max_results: 1
      supports_citations: false
      must_include_source_url: false
      projection: {maxTokens: 500, preserveFields: [id], redact_fields: [iban], includeRawArtifactRef: false}
      trust: trusted
    governance:
      risk_class: idempotent_write
      cost_class: medium
      cost_usd: 0.0125
      max_calls_per_turn: 3
      required_scopes: [billing.write]
      data_classes: [confidential]
      pii_allowed: true
      allowed_domains: [erp.example]
      approval_required: true
"#;

fn load(yaml: &str) -> Result<Registry, CapabilityError> {
    Registry::builder().add_yaml(yaml, "test.yaml").build()
}

fn one(yaml: &str) -> Capability {
    let registry = load(yaml).unwrap();
    assert_eq!(registry.len(), 1);
    registry.iter().next().unwrap().as_ref().clone()
}

fn refused(yaml: &str) -> String {
    load(yaml).unwrap_err().to_string()
}

/// A flat entry with one more line.
fn entry_with(line: &str) -> String {
    format!(
        "capabilities:\n  - id: runtime.x\n    intent: orders.get_by_id\n    mode: runtime_function\n    \
         function_name: x\n    risk_class: internal_read\n    {line}\n"
    )
}

#[test]
fn the_flat_form_loads_as_the_specification_writes_it() {
    let registry = load(FLAT).unwrap();
    let seen: Vec<_> = registry
        .iter()
        .map(|c| (c.id.as_str(), c.intent.as_str(), c.execution.mode, c.governance.risk_class, c.priority))
        .collect();
    use ExecutionMode as Mode;
    use RiskClass as Risk;
    assert_eq!(
        seen,
        [
            ("gemini.google_search", "web.search", Mode::ProviderHosted, Risk::ExternalRead, 90),
            ("mcp.firecrawl_search", "web.search", Mode::McpRemote, Risk::ExternalRead, 70),
            ("openai.web_search", "web.search", Mode::ProviderHosted, Risk::ExternalRead, 90),
            ("runtime.customer_query", "business.customer.query", Mode::RuntimeFunction, Risk::InternalRead, 100),
            ("runtime.tavily_search", "web.search", Mode::RuntimeFunction, Risk::ExternalRead, 60),
        ]
    );
    let hosted = registry.get("openai.web_search").unwrap();
    assert_eq!(hosted.execution.provider, ProviderMatch::Only(ProviderName::new("openai").unwrap()));
    assert_eq!(hosted.execution.model_patterns, ["gpt-5.*"]);
    assert_eq!(hosted.execution.hosted.as_ref().unwrap().payload, json!({"type": "web_search"}));
    let tavily = registry.get("runtime.tavily_search").unwrap();
    assert_eq!(tavily.execution.provider, ProviderMatch::Any);
    assert_eq!(tavily.execution.function_name.as_deref(), Some("runtime_web_search"));
    assert_eq!(tavily.output.supports_citations, true);
    let firecrawl = registry.get("mcp.firecrawl_search").unwrap();
    assert_eq!(firecrawl.execution.mcp_server.as_deref(), Some("web-research"));
    assert_eq!(firecrawl.execution.mcp_tool.as_deref(), Some("search"));
    let customer = registry.get("runtime.customer_query").unwrap();
    assert_eq!(customer.governance.required_scopes, [Scope::new("customer.read").unwrap()]);
    assert_eq!(customer.output.supports_citations, false);
}

#[test]
fn what_a_flat_entry_leaves_out_comes_from_its_intent_and_its_risk() {
    let registry = load(FLAT).unwrap();
    let tavily = registry.get("runtime.tavily_search").unwrap();
    assert!(tavily.description.starts_with("Searches the public web"), "{}", tavily.description);
    assert_eq!(tavily.input.schema["required"], json!(["query"]));
    assert_eq!(tavily.execution.side_effect, SideEffect::ReadOnly);
    assert_eq!(tavily.execution.retries, 1);
    assert_eq!(tavily.execution.timeout, DurationMs(15_000));
    assert_eq!(tavily.output.trust, Trust::Untrusted);
    assert_eq!(tavily.output.format, OutputFormat::CitedSnippets);
    assert_eq!((tavily.namespace.as_str(), tavily.version.as_str()), ("web", "1"));
    let customer = registry.get("runtime.customer_query").unwrap();
    assert_eq!(customer.input.schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn a_registered_function_fills_in_what_an_entry_leaves_out() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let defaults =
        crate::capability::FunctionDefaults { description: "Finds a customer.".into(), schema: schema.clone() };
    let registry =
        Registry::builder().describe_function("customer_query", defaults).add_yaml(FLAT, "flat.yaml").build().unwrap();
    let customer = registry.get("runtime.customer_query").unwrap();
    assert_eq!((customer.description.as_str(), &customer.input.schema), ("Finds a customer.", &schema));
}

#[test]
fn the_full_form_says_everything() {
    let capability = one(FULL);
    let expected = Capability::builder("billing.invoice_create", "billing.invoice.create_draft")
        .description("Creates an invoice as a draft.")
        .use_when("a contract was fulfilled")
        .avoid_when("the customer disputes the delivery")
        .namespace("finance")
        .version("2")
        .priority(70)
        .deferred()
        .input_schema(json!({
            "type": "object",
            "properties": {
                "customer": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "string"}},
                "urgency": {"type": "string", "enum": ["low", "high"]},
                "net": {"type": "number"},
            },
            "required": ["customer", "lines"],
            "additionalProperties": false,
        }))
        .example("bill ACME", json!({"customer": "acme", "lines": ["a"]}))
        .mcp("erp", "invoice_create")
        .provider(ProviderName::new("anthropic").unwrap())
        .model_pattern("claude-*")
        .region(Region::Eu)
        .timeout(DurationMs(30_000))
        .retries(2)
        .side_effect(SideEffect::IdempotentWrite)
        .parallel_group("erp")
        .depends_on(Intent::new("business.customer.query").unwrap())
        .idempotency_key_required()
        .rate_limit(RateLimit { calls: 10, per_ms: 60_000 })
        .concurrency(4)
        .lookup("billing.invoice_find".parse().unwrap())
        .format(OutputFormat::Json)
        .max_results(1)
        .projection(ProjectionPolicy {
            max_tokens: 500,
            preserve_fields: vec!["id".into()],
            redact_fields: vec!["iban".into()],
            include_raw_artifact_ref: false,
            ..ProjectionPolicy::default()
        })
        .trust(Trust::Trusted)
        .risk(RiskClass::IdempotentWrite)
        .cost_class(CostClass::Medium)
        .cost(MicroUsd::new(12_500))
        .max_calls_per_turn(3)
        .required_scope(Scope::new("billing.write").unwrap())
        .data_class(DataClass::Confidential)
        .pii_allowed()
        .allowed_domain("erp.example")
        .approval(Approval::Always)
        .build()
        .unwrap();
    assert_eq!(capability, expected);
}

#[test]
fn aliases_load_like_the_names_they_stand_for() {
    let yaml = entry_with("approval_required: always").replace("internal_read", "write");
    let capability = one(&yaml);
    assert_eq!(capability.governance.risk_class, RiskClass::BusinessWrite);
    assert_eq!(capability.governance.approval, Approval::Always);
    assert_eq!(capability.execution.side_effect, SideEffect::NonIdempotentWrite);
    assert_eq!(capability.execution.retries, 0);
}

#[test]
fn a_sandboxed_entry_has_limits_whether_it_says_them_or_not() {
    let yaml = |more: &str| {
        format!("capabilities:\n  - {{id: s.x, intent: code.exec, mode: sandboxed, risk_class: read_only{more}}}\n")
    };
    assert_eq!(one(&yaml("")).execution.sandbox, Some(SandboxSpec::default()));
    let tight = SandboxSpec { max_cpu_seconds: 5, ..SandboxSpec::default() };
    assert_eq!(one(&yaml(", sandbox: {max_cpu_seconds: 5}")).execution.sandbox, Some(tight));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one_and_its_line() {
    assert_eq!(
        refused(&entry_with("timeout_msec: 5")),
        "test.yaml:7:19: capability `runtime.x`: a capability has no key `timeout_msec`; did you mean `timeout_ms`?"
    );
    assert_eq!(
        refused("capabilitys: []"),
        "test.yaml:1:14: the catalog has no key `capabilitys`; did you mean `capabilities`?"
    );
    assert_eq!(
        refused("capabilities:\n  - capability: {id: a.b, risk_class: read_only}\n"),
        "test.yaml:2:39: capability `a.b`: `capability` has no key `risk_class`; it belongs into `governance`"
    );
    let shaped = refused(&entry_with("rate_limit: {calls: 1, per: 5}"));
    assert!(shaped.contains("`rate_limit`: unknown field `per`"), "{shaped}");
}

#[test]
fn a_wrong_value_is_refused_with_its_key_its_line_and_the_way_out() {
    let cases = [
        ("priority: high", "`priority` must be a whole number from 0 to 100, not a text"),
        ("priority: 101", "`priority` must be a whole number from 0 to 100, not a number"),
        ("trust: trused", "`trust`: `trused` is not known; did you mean `trusted`?"),
        ("regions: [mars]", "`regions`: `mars` is not known"),
        ("cost_usd: -1", "`cost_usd` must be dollars, such as 0.01, at least a millionth, not a number"),
        ("cost_usd: 0.0000001", "`cost_usd` must be dollars, such as 0.01, at least a millionth, not a number"),
        ("deferred: maybe", "`deferred` must be `true` or `false`, not a text"),
        ("required_scopes: [a b]", "`required_scopes`: `a b` is no valid scope: it holds white space"),
        ("input_schema: {x: strng}", "`input_schema`: `x` has no type that is known; write string, integer"),
        ("input_schema: text", "`input_schema` must be a mapping, not a text"),
        ("examples: [{user: x}]", "`examples` must be a list of `{user: text, arguments: {…}}`"),
        ("payload: {type: x}", "`payload` belongs to the mode provider_hosted, but the mode is runtime_function"),
        ("side_effect: destructive", "`side_effect` is destructive, but `risk_class` is internal_read"),
    ];
    for (line, message) in cases {
        let error = refused(&entry_with(line));
        assert!(error.starts_with("test.yaml:"), "{error}");
        assert!(error.contains(message), "{line}: {error}");
    }
}

#[test]
fn what_a_mode_needs_must_be_there() {
    let cases = [
        ("mode: runtime_function", "missing_function_name"),
        ("mode: mcp_remote, mcp_tool: x", "missing_mcp_server"),
        ("mode: mcp_remote, mcp_server: x", "missing_mcp_tool"),
        ("mode: provider_hosted", "missing_payload"),
        ("mode: provider_hosted, payload: {kind: web_search}", "bad_payload"),
        ("priority: 1", "missing_mode"),
    ];
    for (said, kind) in cases {
        let yaml = format!("capabilities: [{{id: a.b, intent: web.search, risk_class: external_read, {said}}}]");
        assert_eq!(load(&yaml).unwrap_err().kind(), kind, "{said}");
    }
    let yaml = "capabilities: [{id: a.b, intent: web.search, mode: runtime_function, function_name: x}]";
    assert_eq!(load(yaml).unwrap_err().kind(), "missing_risk_class");
}

#[test]
fn text_that_is_no_yaml_is_refused_with_its_line() {
    let error = load("capabilities:\n  - {id: [\n").unwrap_err();
    assert_eq!(error.kind(), "yaml");
    assert!(error.to_string().starts_with("test.yaml:"), "{error}");
    assert_eq!(load("- a\n- b\n").unwrap_err().kind(), "wrong_type");
    assert_eq!(load("").unwrap().len(), 0);
}

#[test]
fn json_schema_is_taken_as_it_is() {
    let schema =
        one(&entry_with("input_schema: {type: object, properties: {n: {type: integer, default: 3}}, required: [n]}"));
    assert_eq!(
        schema.input.schema,
        json!({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}, "required": ["n"]})
    );
}

#[test]
fn words_that_look_like_booleans_elsewhere_stay_words() {
    let schema = one(&entry_with("input_schema: {n: string, y?: on|off, no?: boolean}")).input.schema;
    assert_eq!(schema["required"], json!(["n"]));
    assert_eq!(schema["properties"]["y"]["enum"], json!(["on", "off"]));
    assert_eq!(schema["properties"]["no"], json!({"type": "boolean"}));
}

#[test]
fn a_catalog_may_describe_intents_of_its_own() {
    let yaml = format!(
        "intents:\n  orders.get_by_id:\n    description: Returns one order.\n    input_schema: {{id: string}}\n{}",
        entry_with("priority: 1")
    );
    let capability = one(&yaml);
    assert_eq!(capability.description, "Returns one order.");
    assert_eq!(capability.input.schema["required"], json!(["id"]));
}

#[test]
fn aliases_of_yaml_cannot_blow_up_memory() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(load(&bomb).is_err());
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    assert!(load(&format!("capabilities: {}", "[".repeat(100_000))).is_err());
    assert!(load(&format!("capabilities: {}1{}", "{a: ".repeat(5_000), "}".repeat(5_000))).is_err());
}

/// Lines that look like a catalog, so that the property test gets past the YAML reader.
fn any_catalog() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("id"),
        Just("intent"),
        Just("mode"),
        Just("payload"),
        Just("risk_class"),
        Just("input_schema"),
        Just("projection"),
        Just("examples"),
        Just("cost_usd"),
        Just("execution"),
        Just("approval"),
        Just("regions"),
        Just("model_patterns"),
        Just("http"),
        Just("sandbox"),
        Just("timeout_ms"),
        Just("version"),
    ];
    let value = prop_oneof![
        "[a-z.]{0,12}",
        Just("{type: web_search}".to_owned()),
        Just("[a, 1, {b: c}]".to_owned()),
        Just("{a?: string, b: 'x|y', c: {type: object}}".to_owned()),
        Just("provider_hosted".to_owned()),
        Just("external_read".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        Just(".nan".to_owned()),
        Just("&a *a".to_owned()),
    ];
    prop::collection::vec((key, value), 0..8).prop_map(|lines| {
        let mut text = String::from("capabilities:\n  - id: a.b\n");
        for (key, value) in lines {
            text.push_str(&format!("    {key}: {value}\n"));
        }
        text
    })
}

proptest! {
    #[test]
    fn loading_any_text_never_panics(text in any::<String>()) {
        let _ = load(&text);
    }

    #[test]
    fn loading_anything_like_a_catalog_never_panics_and_errors_name_the_source(text in any_catalog()) {
        if let Err(error) = load(&text) {
            prop_assert!(error.to_string().starts_with("test.yaml"), "{}", error);
        }
    }
}
