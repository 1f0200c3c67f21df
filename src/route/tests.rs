use std::{collections::HashMap, sync::Arc};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    capability::{
        Approval, Capability, Execution, Governance, HostedTool, InputSpec, OutputFormat, OutputSpec, ProjectionPolicy,
        ProviderMatch,
    },
    types::{
        CapabilityId, CostClass, DataClass, Demand, DurationMs, ExecutionMode, Intent, MicroUsd, ModelName,
        ProviderName, Region, RiskClass, TenantId, Trust,
    },
};

/// A capability with the fields that routing looks at.
fn capability(id: &str, intent: &str, mode: ExecutionMode, priority: i32) -> Capability {
    let hosted = (mode == ExecutionMode::ProviderHosted).then(|| HostedTool {
        payload: json!({"type": "web_search"}),
        max_uses: None,
        price: MicroUsd::ZERO,
    });
    let (head, risk_class) = (id.split('.').next().unwrap(), RiskClass::ExternalRead);
    let only = || ProviderMatch::Only(ProviderName::new(head).unwrap());
    let provider = if mode == ExecutionMode::ProviderHosted { only() } else { ProviderMatch::Any };
    Capability {
        id: CapabilityId::new(id).unwrap(),
        intent: Intent::new(intent).unwrap(),
        description: "a tool".to_owned(),
        use_when: Vec::new(),
        avoid_when: Vec::new(),
        namespace: intent.split('.').next().unwrap().to_owned(),
        version: "1".to_owned(),
        priority,
        deferred: false,
        input: InputSpec { schema: json!({"type": "object", "properties": {}}), examples: Vec::new() },
        execution: Execution {
            mode,
            provider,
            model_patterns: Vec::new(),
            regions: Vec::new(),
            hosted,
            function_name: None,
            http: None,
            mcp_server: None,
            mcp_tool: None,
            sandbox: None,
            timeout: DurationMs(15_000),
            retries: 0,
            side_effect: risk_class.default_side_effect(),
            parallel_group: None,
            depends_on: Vec::new(),
            idempotency_key_required: false,
            rate_limit: None,
            concurrency: None,
            polling: false,
            lookup: None,
        },
        output: OutputSpec {
            format: OutputFormat::CitedSnippets,
            max_results: None,
            supports_citations: true,
            must_include_source_url: false,
            projection: ProjectionPolicy::default(),
            trust: Trust::Untrusted,
        },
        governance: Governance {
            risk_class,
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

use ExecutionMode::{McpRemote, ProviderHosted, RuntimeFunction, Sandboxed};

/// The candidates for `web.search` as the specification writes them.
fn searchers() -> Vec<Capability> {
    let mut openai = capability("openai.web_search", "web.search", ProviderHosted, 90);
    openai.execution.model_patterns = vec!["gpt-5.*".to_owned()];
    let mut gemini = capability("gemini.google_search", "web.search", ProviderHosted, 90);
    gemini.execution.model_patterns = vec!["gemini-*".to_owned()];
    let tavily = capability("runtime.tavily_search", "web.search", RuntimeFunction, 60);
    let firecrawl = capability("mcp.firecrawl_search", "web.search", McpRemote, 70);
    vec![openai, gemini, tavily, firecrawl]
}

fn context() -> RouteContext {
    RouteContext {
        model: ModelName::new("gpt-5.4").unwrap(),
        provider: ProviderName::new("openai").unwrap(),
        tenant_id: TenantId::new("local").unwrap(),
        user_role: None,
        data_class: DataClass::Public,
        region: Region::Global,
        require_citations: false,
        max_cost_class: CostClass::High,
    }
}

#[derive(Debug, Default)]
struct Facts {
    denied: HashMap<&'static str, &'static str>,
    unavailable: HashMap<&'static str, &'static str>,
    seen: HashMap<&'static str, Reliability>,
}

impl RouteFacts for Facts {
    fn denied(&self, capability: &Capability) -> Option<String> {
        self.denied.get(capability.id.as_str()).map(|&why| why.to_owned())
    }
    fn unavailable(&self, capability: &Capability) -> Option<String> {
        self.unavailable.get(capability.id.as_str()).map(|&why| why.to_owned())
    }
    fn reliability(&self, id: &CapabilityId) -> Option<Reliability> {
        self.seen.get(id.as_str()).copied()
    }
}

fn route_with(
    weights: Weights,
    candidates: Vec<Capability>,
    context: &RouteContext,
    facts: &Facts,
) -> Result<Route, NoRoute> {
    let intent = candidates.first().map_or(Intent::new("web.search").unwrap(), |first| first.intent.clone());
    let candidates: Vec<_> = candidates.into_iter().map(Arc::new).collect();
    Router::new(weights).route(&intent, &candidates, context, facts)
}

fn route(candidates: Vec<Capability>, context: &RouteContext) -> Result<Route, NoRoute> {
    route_with(Weights::default(), candidates, context, &Facts::default())
}

fn chosen(candidates: Vec<Capability>, context: &RouteContext) -> String {
    route(candidates, context).unwrap().capability.to_string()
}

fn fates(candidates: &[Candidate]) -> Vec<(&str, &Fate)> {
    candidates.iter().map(|candidate| (candidate.capability.as_str(), &candidate.fate)).collect()
}

// The preferences of the specification, on default weights.

#[test]
fn public_facts_with_citations_go_to_hosted_search() {
    let cited = RouteContext { require_citations: true, ..context() };
    assert_eq!(chosen(searchers(), &cited), "openai.web_search");
    let mut even = searchers();
    even.iter_mut().for_each(|one| one.priority = 70);
    assert_eq!(chosen(even, &cited), "openai.web_search");
}

#[test]
fn another_provider_gets_its_own_hosted_search_and_a_foreign_model_gets_none() {
    let gemini = RouteContext {
        provider: ProviderName::new("gemini").unwrap(),
        model: ModelName::new("gemini-3-pro").unwrap(),
        ..context()
    };
    assert_eq!(chosen(searchers(), &gemini), "gemini.google_search");
    let old = RouteContext { model: ModelName::new("gpt-4.1").unwrap(), ..context() };
    assert_eq!(chosen(searchers(), &old), "mcp.firecrawl_search");
}

#[test]
fn private_data_goes_to_runtime_before_hosted_whatever_the_priorities() {
    for data_class in [DataClass::Confidential, DataClass::Restricted] {
        let private = RouteContext { data_class, require_citations: true, ..context() };
        let mut candidates = searchers();
        candidates[0].priority = 100;
        candidates[2].priority = 0;
        candidates.pop();
        assert_eq!(chosen(candidates, &private), "runtime.tavily_search");
    }
}

#[test]
fn strict_audit_failover_and_controlled_search_go_to_the_own_pipeline_before_hosted() {
    for demand in [Demand::StrictAudit, Demand::Failover, Demand::ControlledSearch] {
        let weights = Weights::default().demanding(demand);
        let candidates = searchers().into_iter().filter(|one| one.execution.mode != McpRemote).collect();
        let route = route_with(weights, candidates, &context(), &Facts::default()).unwrap();
        assert_eq!(route.capability.as_str(), "runtime.tavily_search", "{demand:?}");
    }
}

#[test]
fn company_knowledge_goes_to_own_retrieval() {
    let hosted = capability("openai.file_search", "kb.search", ProviderHosted, 90);
    let own = capability("runtime.kb_search", "kb.search", RuntimeFunction, 70);
    assert_eq!(chosen(vec![hosted, own], &context()), "runtime.kb_search");
}

#[test]
fn operations_go_to_runtime_or_mcp_tools_before_hosted() {
    let hosted = capability("openai.log_search", "log.search", ProviderHosted, 80);
    let own = capability("ops.loki_search", "log.search", McpRemote, 60);
    assert_eq!(chosen(vec![hosted, own], &context()), "ops.loki_search");
}

#[test]
fn high_risk_goes_to_a_runtime_tool_with_approval() {
    let write = |id: &str, mode, approval| {
        let mut one = capability(id, "deployment.restart", mode, 80);
        one.governance.risk_class = RiskClass::BusinessWrite;
        one.governance.approval = approval;
        one
    };
    let unasked = write("a.restart", RuntimeFunction, Approval::Never);
    let remote = write("b.restart", McpRemote, Approval::ByPolicy);
    let mut hosted = write("openai.restart", ProviderHosted, Approval::Always);
    hosted.priority = 100;
    let asked = write("c.restart", RuntimeFunction, Approval::Always);
    assert_eq!(chosen(vec![unasked, remote, hosted, asked], &context()), "c.restart");
}

#[test]
fn one_url_goes_to_url_fetch_or_a_reader_and_the_hosted_fetch_needs_its_provider() {
    let own = capability("runtime.url_fetch", "url.fetch", RuntimeFunction, 80);
    let anthropic = capability("anthropic.web_fetch", "url.fetch", ProviderHosted, 80);
    assert_eq!(chosen(vec![own, anthropic], &context()), "runtime.url_fetch");
}

// Filters.

#[test]
fn every_filter_names_its_reason() {
    let mut candidates = vec![];
    let mut add = |id: &str, change: &dyn Fn(&mut Capability)| {
        let mut one = capability(id, "web.search", McpRemote, 50);
        change(&mut one);
        candidates.push(one);
    };
    let anthropic = || ProviderMatch::Only(ProviderName::new("anthropic").unwrap());
    add("a.provider", &|one| one.execution.provider = anthropic());
    add("b.model", &|one| one.execution.model_patterns = vec!["o3*".to_owned(), "gpt-5".to_owned()]);
    add("c.region", &|one| one.execution.regions = vec![Region::Cn, Region::Eu]);
    add("d.policy", &|_| ());
    add("e.citations", &|one| one.output.supports_citations = false);
    add("f.cost", &|one| one.governance.cost_class = CostClass::High);
    add("g.availability", &|_| ());
    let facts = Facts {
        denied: [("d.policy", "`no-mcp`: no foreign servers")].into(),
        unavailable: [("g.availability", "server `web` is down")].into(),
        ..Facts::default()
    };
    let narrow = RouteContext { require_citations: true, max_cost_class: CostClass::Medium, ..context() };
    let refused = route_with(Weights::default(), candidates, &narrow, &facts).unwrap_err();
    insta::assert_snapshot!(explain(&refused), @r"
    web.search → none: nothing can serve it
      out        a.provider (mcp_remote): provider: only with `anthropic`, the turn uses `openai`
      out        b.model (mcp_remote): model: `gpt-5.4` matches none of `o3*`, `gpt-5`
      out        c.region (mcp_remote): region: only in cn, eu, the turn is served in global
      out        d.policy (mcp_remote): policy: `no-mcp`: no foreign servers
      out        e.citations (mcp_remote): citations: required, and it does not give any
      out        f.cost (mcp_remote): cost: its class is high, at most medium may serve
      out        g.availability (mcp_remote): unavailable: server `web` is down
    ");
}

#[test]
fn no_candidate_at_all_says_where_to_look() {
    let refused = route(Vec::new(), &context()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no capability can serve `web.search`: none is registered for it; see `agcore tools list`"
    );
}

#[test]
fn a_denied_capability_never_serves_not_even_as_the_fallback() {
    let mut own = capability("runtime.search", "web.search", RuntimeFunction, 50);
    own.output.supports_citations = false;
    let facts = Facts { denied: [("runtime.search", "no")].into(), ..Facts::default() };
    let cited = RouteContext { require_citations: true, ..context() };
    assert!(route_with(Weights::default(), vec![own], &cited, &facts).is_err());
}

#[test]
fn a_runtime_function_that_does_not_cite_falls_back_and_says_so() {
    let customers = |id: &str, mode| {
        let mut one = capability(id, "business.customer.query", mode, 100);
        one.output.supports_citations = false;
        one
    };
    let cited = RouteContext { require_citations: true, ..context() };
    let candidates = vec![customers("mcp.customers", McpRemote), customers("runtime.customer_query", RuntimeFunction)];
    let route = route(candidates, &cited).unwrap();
    insta::assert_snapshot!(explain(&route), @r"
    business.customer.query → runtime.customer_query as the fallback: every other candidate fell out
      chosen     runtime.customer_query (runtime_function) 168 = priority +100, reliability +38, own data +30, fallback in spite of citations: required, and it does not give any
      out        mcp.customers (mcp_remote): citations: required, and it does not give any
    ");
}

#[test]
fn a_fallback_never_beats_a_candidate_that_fits() {
    let mut dear = capability("runtime.deep_search", "web.search", RuntimeFunction, 100);
    dear.governance.cost_class = CostClass::High;
    let cheap = capability("mcp.search", "web.search", McpRemote, 1);
    let frugal = RouteContext { max_cost_class: CostClass::Low, ..context() };
    let route = route(vec![dear, cheap], &frugal).unwrap();
    assert_eq!((route.capability.as_str(), route.fallback), ("mcp.search", false));
}

#[test]
fn an_unavailable_runtime_function_is_no_fallback() {
    let mut own = capability("runtime.search", "web.search", RuntimeFunction, 50);
    own.output.supports_citations = false;
    let facts = Facts { unavailable: [("runtime.search", "no such function")].into(), ..Facts::default() };
    let cited = RouteContext { require_citations: true, ..context() };
    let refused = route_with(Weights::default(), vec![own], &cited, &facts).unwrap_err();
    let why = "citations: required, and it does not give any; unavailable: no such function".to_owned();
    assert_eq!(fates(&refused.candidates), vec![("runtime.search", &Fate::Filtered(why))]);
}

#[test]
fn writes_and_computations_need_not_cite() {
    let cited = RouteContext { require_citations: true, ..context() };
    let mut draft = capability("runtime.draft", "email.create_draft", RuntimeFunction, 50);
    draft.governance.risk_class = RiskClass::DraftWrite;
    draft.output.supports_citations = false;
    let mut code = capability("sandbox.python", "code.exec", Sandboxed, 50);
    code.output.supports_citations = false;
    let served = [draft, code].map(|one| route(vec![one], &cited).map(|route| route.fallback));
    assert_eq!(served, [Ok(false), Ok(false)]);
}

#[test]
fn a_region_that_fits_is_preferred_and_global_fits_everywhere() {
    let own = |id: &str, regions: &[Region]| {
        let mut one = capability(id, "web.search", RuntimeFunction, 50);
        one.execution.regions = regions.to_vec();
        one
    };
    let china = RouteContext { region: Region::Cn, ..context() };
    let candidates = vec![own("a.any", &[]), own("b.global", &[Region::Global]), own("c.cn", &[Region::Cn])];
    let route = route(candidates, &china).unwrap();
    let expected = vec![("c.cn", &Fate::Chosen), ("a.any", &Fate::Outscored), ("b.global", &Fate::Outscored)];
    assert_eq!(fates(&route.candidates), expected);
}

// Scores.

#[test]
fn the_parts_of_a_score_add_up_and_explain_it() {
    let facts = Facts {
        seen: [("runtime.tavily_search", Reliability { success: 0.5, latency: DurationMs(4000) })].into(),
        ..Facts::default()
    };
    let mut candidates = searchers();
    candidates[2].governance.cost_class = CostClass::Medium;
    let route = route_with(Weights::default(), candidates, &context(), &facts).unwrap();
    for candidate in &route.candidates {
        assert_eq!(candidate.score, candidate.parts.iter().map(|part| part.points).sum::<f32>());
    }
    insta::assert_snapshot!(explain(&route), @r"
    web.search → openai.web_search
      chosen     openai.web_search (provider_hosted) 145.5 = priority +90, citations +7.5, reliability +38, hosted for public facts +10
      outscored  mcp.firecrawl_search (mcp_remote) 115.5 = priority +70, citations +7.5, reliability +38
      outscored  runtime.tavily_search (runtime_function) 80.5 = priority +60, citations +7.5, cost -5, reliability +20, latency -2
      out        gemini.google_search (provider_hosted): provider: only with `gemini`, the turn uses `openai`
    ");
}

#[test]
fn a_candidate_that_keeps_failing_gives_way() {
    let observed = Observed::new();
    let hosted = CapabilityId::new("openai.web_search").unwrap();
    (0..10).for_each(|_| observed.failed(&hosted));
    let facts =
        Facts { seen: [("openai.web_search", observed.reliability(&hosted).unwrap())].into(), ..Facts::default() };
    let route = route_with(Weights::default(), searchers(), &context(), &facts).unwrap();
    assert_eq!(route.capability.as_str(), "mcp.firecrawl_search");
}

#[test]
fn one_failure_does_not_overturn_a_priority() {
    let observed = Observed::new();
    let hosted = CapabilityId::new("openai.web_search").unwrap();
    observed.failed(&hosted);
    let facts =
        Facts { seen: [("openai.web_search", observed.reliability(&hosted).unwrap())].into(), ..Facts::default() };
    let route = route_with(Weights::default(), searchers(), &context(), &facts).unwrap();
    assert_eq!(route.capability.as_str(), "openai.web_search");
}

#[test]
fn ties_go_to_the_smaller_id() {
    let own = |id: &str| capability(id, "web.search", RuntimeFunction, 50);
    assert_eq!(chosen(vec![own("b.search"), own("a.search"), own("c.search")], &context()), "a.search");
}

#[test]
fn unknown_weights_are_refused_and_a_part_of_them_is_enough() {
    let some: Weights = serde_json::from_value(json!({"demands": ["strict_audit"]})).unwrap();
    assert_eq!(some, Weights::default().demanding(Demand::StrictAudit));
    assert!(serde_json::from_value::<Weights>(json!({"citation": 3})).is_err());
}

proptest! {
    #[test]
    fn a_route_does_not_depend_on_the_order_of_its_candidates(
        seeds in prop::collection::vec((0..4usize, 0..4i32, 0..3usize, any::<bool>(), any::<bool>()), 0..9),
        require_citations: bool,
        turn in any::<prop::sample::Index>(),
    ) {
        let modes = [ProviderHosted, RuntimeFunction, McpRemote, Sandboxed];
        let build = |(number, &(mode, priority, cost, cites, elsewhere)): (usize, &(usize, i32, usize, bool, bool))| {
            let mut one = capability(&format!("openai.c{number}"), "web.search", modes[mode], priority * 20);
            one.governance.cost_class = CostClass::ALL[cost];
            one.output.supports_citations = cites;
            one.execution.regions = if elsewhere { vec![Region::Eu] } else { vec![] };
            one
        };
        let candidates: Vec<_> = seeds.iter().enumerate().map(build).collect();
        let context = RouteContext { require_citations, max_cost_class: CostClass::Medium, ..context() };
        let mut turned = candidates.clone();
        turned.reverse();
        if !turned.is_empty() {
            let by = turn.index(turned.len());
            turned.rotate_left(by);
        }
        let intent = Intent::new("web.search").unwrap();
        let go = |list: Vec<Capability>| {
            let list: Vec<_> = list.into_iter().map(Arc::new).collect();
            Router::default().route(&intent, &list, &context, &NoFacts)
        };
        prop_assert_eq!(go(candidates), go(turned));
    }
}
