//! A capability in the making: what was said, before defaults fill in what was not.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    check,
    contract::{
        Approval, Capability, Example, Execution, Governance, HostedTool, HttpCall, InputSpec, OutputFormat,
        OutputSpec, ProjectionPolicy, ProviderMatch, RateLimit, SandboxSpec,
    },
    error::Problem,
    intents::IntentDefaults,
    schema,
};
use crate::types::{
    ArgumentRole, CapabilityId, CostClass, DataClass, DurationMs, ExecutionMode, Intent, MicroUsd, Region, RiskClass,
    Scope, SideEffect, Trust,
};

/// How long a call may take when nothing else is said.
const TIMEOUT: DurationMs = DurationMs(15_000);
/// Neither preferred nor avoided.
const PRIORITY: i32 = 50;
/// Up to here a call is cheap: a tenth of a cent.
const LOW_COST: MicroUsd = MicroUsd::new(1_000);
/// Up to here it is about a cent.
const MEDIUM_COST: MicroUsd = MicroUsd::new(20_000);

/// What a registered function says of itself, for capabilities that leave it out.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionDefaults {
    /// What it does.
    pub description: String,
    /// What it takes.
    pub schema: Value,
}

/// Everything that can be said; `None` and empty mean that it was not.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) intent: String,
    pub(super) description: Option<String>,
    pub(super) use_when: Vec<String>,
    pub(super) avoid_when: Vec<String>,
    pub(super) namespace: Option<String>,
    pub(super) version: Option<String>,
    pub(super) priority: Option<i32>,
    pub(super) deferred: bool,
    pub(super) schema: Option<Value>,
    pub(super) examples: Vec<Example>,
    pub(super) mode: Option<ExecutionMode>,
    pub(super) provider: Option<ProviderMatch>,
    pub(super) model_patterns: Vec<String>,
    pub(super) regions: Vec<Region>,
    pub(super) payload: Option<Value>,
    pub(super) max_uses: Option<u32>,
    pub(super) function_name: Option<String>,
    pub(super) http: Option<HttpCall>,
    pub(super) mcp_server: Option<String>,
    pub(super) mcp_tool: Option<String>,
    pub(super) sandbox: Option<SandboxSpec>,
    pub(super) timeout: Option<DurationMs>,
    pub(super) retries: Option<u32>,
    pub(super) side_effect: Option<SideEffect>,
    pub(super) parallel_group: Option<String>,
    pub(super) depends_on: Vec<Intent>,
    pub(super) idempotency_key_required: bool,
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) concurrency: Option<u32>,
    pub(super) polling: bool,
    pub(super) lookup: Option<CapabilityId>,
    pub(super) format: Option<OutputFormat>,
    pub(super) max_results: Option<u32>,
    pub(super) supports_citations: bool,
    pub(super) must_include_source_url: bool,
    pub(super) projection: Option<ProjectionPolicy>,
    pub(super) trust: Option<Trust>,
    pub(super) risk: Option<RiskClass>,
    pub(super) cost_class: Option<CostClass>,
    pub(super) cost: Option<MicroUsd>,
    pub(super) max_calls_per_turn: Option<u32>,
    pub(super) required_scopes: Vec<Scope>,
    pub(super) data_classes: Vec<DataClass>,
    pub(super) facts: Option<CapabilityId>,
    pub(super) pii_allowed: bool,
    pub(super) allowed_domains: Vec<String>,
    pub(super) arguments: BTreeMap<String, ArgumentRole>,
    pub(super) approval: Option<Approval>,
    /// Shipped with agcore: the only capabilities that are trusted without saying so.
    pub(super) built_in: bool,
}

impl Draft {
    /// Fills in what was not said and checks the whole.
    pub(super) fn finish(
        mut self,
        intents: &IntentDefaults,
        function: Option<&FunctionDefaults>,
    ) -> Result<Capability, Problem> {
        let invalid = |error: crate::types::IdError| Problem::new("invalid_value", error.to_string());
        for (key, text) in [("id", &self.id), ("intent", &self.intent)] {
            if text.is_empty() {
                return Err(Problem::new("missing_key", format!("`{key}` is missing")));
            }
        }
        let id = CapabilityId::new(&self.id).map_err(invalid)?;
        let intent = Intent::new(&self.intent).map_err(invalid)?;
        let mode = self.mode.ok_or_else(|| {
            Problem::new("missing_mode", "it does not say how it runs")
                .hint("set `mode` to provider_hosted, runtime_function, mcp_remote, sandboxed or human_approval")
        })?;
        let risk = self.risk.ok_or_else(|| {
            Problem::new("missing_risk_class", "it does not say how risky a call is")
                .hint("set `risk_class`, such as read_only, external_read or business_write")
        })?;
        let defaults = intents.get(&intent);
        let description = self.description.take().filter(|text| !text.trim().is_empty());
        let description = description
            .or_else(|| function.map(|function| function.description.clone()))
            .or_else(|| defaults.map(|intent| intent.description.clone()))
            .unwrap_or_else(|| placeholder(&intent));
        let given = self.schema.take().or_else(|| function.map(|function| function.schema.clone()));
        let schema = match given.or_else(|| defaults.and_then(|intent| intent.schema.clone())) {
            Some(schema) => schema::normal(schema),
            None => json!({"type": "object", "properties": {}}),
        };
        let namespace = self.namespace.take().unwrap_or_else(|| first_part(&intent).to_owned());
        let capability = Capability {
            id,
            intent,
            description,
            namespace,
            version: self.version.take().unwrap_or_else(|| "1".into()),
            priority: self.priority.unwrap_or(PRIORITY),
            deferred: self.deferred,
            output: self.output(mode),
            governance: self.governance(risk),
            use_when: std::mem::take(&mut self.use_when),
            avoid_when: std::mem::take(&mut self.avoid_when),
            input: InputSpec { schema, examples: std::mem::take(&mut self.examples) },
            execution: self.execution(mode, risk),
        };
        match check::problems(&capability).into_iter().next() {
            None => Ok(capability),
            Some(problem) => Err(problem),
        }
    }

    fn output(&self, mode: ExecutionMode) -> OutputSpec {
        let usual = match (self.supports_citations, mode) {
            (true, _) => OutputFormat::CitedSnippets,
            (false, ExecutionMode::RuntimeFunction) => OutputFormat::Json,
            (
                false,
                ExecutionMode::ProviderHosted
                | ExecutionMode::McpRemote
                | ExecutionMode::Sandboxed
                | ExecutionMode::HumanApproval,
            ) => OutputFormat::Text,
        };
        let trusted = self.built_in && mode == ExecutionMode::RuntimeFunction;
        OutputSpec {
            format: self.format.unwrap_or(usual),
            max_results: self.max_results,
            supports_citations: self.supports_citations,
            must_include_source_url: self.must_include_source_url,
            projection: self.projection.clone().unwrap_or_default(),
            trust: self.trust.unwrap_or(if trusted { Trust::Trusted } else { Trust::Untrusted }),
        }
    }

    fn governance(&self, risk: RiskClass) -> Governance {
        let cost = self.cost.unwrap_or(MicroUsd::ZERO);
        let usual = match cost {
            low if low <= LOW_COST => CostClass::Low,
            medium if medium <= MEDIUM_COST => CostClass::Medium,
            _ => CostClass::High,
        };
        Governance {
            risk_class: risk,
            cost_class: self.cost_class.unwrap_or(usual),
            cost,
            max_calls_per_turn: self.max_calls_per_turn,
            required_scopes: self.required_scopes.clone(),
            data_classes: self.data_classes.clone(),
            facts: self.facts.clone(),
            pii_allowed: self.pii_allowed,
            allowed_domains: self.allowed_domains.clone(),
            arguments: self.arguments.clone(),
            approval: self.approval.unwrap_or_default(),
        }
    }

    fn execution(self, mode: ExecutionMode, risk: RiskClass) -> Execution {
        let side_effect = self.side_effect.unwrap_or(risk.default_side_effect());
        let named = self.payload.as_ref().and_then(|payload| payload.get("max_uses")?.as_u64());
        let max_uses = self.max_uses.or_else(|| named.and_then(|uses| u32::try_from(uses).ok()));
        let price = self.cost.unwrap_or(MicroUsd::ZERO);
        let sandboxed = mode == ExecutionMode::Sandboxed;
        Execution {
            mode,
            provider: self.provider.unwrap_or(ProviderMatch::Any),
            model_patterns: self.model_patterns,
            regions: self.regions,
            hosted: self.payload.map(|payload| HostedTool { payload, max_uses, price }),
            function_name: self.function_name,
            http: self.http,
            mcp_server: self.mcp_server,
            mcp_tool: self.mcp_tool,
            sandbox: self.sandbox.or_else(|| sandboxed.then(SandboxSpec::default)),
            timeout: self.timeout.unwrap_or(TIMEOUT),
            retries: self.retries.unwrap_or(u32::from(!side_effect.writes())),
            side_effect,
            parallel_group: self.parallel_group,
            depends_on: self.depends_on,
            idempotency_key_required: self.idempotency_key_required,
            rate_limit: self.rate_limit,
            concurrency: self.concurrency,
            polling: self.polling,
            lookup: self.lookup,
        }
    }
}

/// The description of a capability that has none: lint asks for a better one.
pub(super) fn placeholder(intent: &Intent) -> String {
    format!("Serves the intent `{intent}`.")
}

/// `web` of `web.search`.
fn first_part(intent: &Intent) -> &str {
    intent.as_str().split('.').next().unwrap_or_default()
}

/// The descriptions and schemas of registered functions, by function name.
pub(super) type Functions = std::collections::HashMap<String, Arc<FunctionDefaults>>;
