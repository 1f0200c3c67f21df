//! Wires the parts.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{
    capability::{Capability, CapabilityBuilder, Registry, RegistryBuilder},
    clock::{Clock, SystemClock},
    config::{Limits, RedactionConfig},
    execute::{CallContext, Executor, Executors, HttpTool, IntoOutput, Slots, function},
    intent::Detector,
    llm::{Extractive, Model},
    net::{HttpClient, HttpConfig},
    policy::{DEFAULT_RULES, Gate, PolicyEngine, Principal},
    projection::{ArtifactStore, MemoryArtifacts},
    quota::Quotas,
    route::{Observed, Router, Weights},
    secret::{Known, Redactor},
    store::{Journal, MemoryJournal},
    turn::{Parts, Shown, Toolbox, is_searchable},
    types::{Demand, Pin, RiskClass, Scope, TenantId, ToolError, UserId},
};

use super::{Defaults, Runtime, RuntimeError};

/// Collects what a [`Runtime`] is made of. What is not given has a default that works without a key and a server.
#[derive(Debug)]
pub struct RuntimeBuilder {
    registry: RegistryBuilder,
    executors: Executors,
    failed: Option<RuntimeError>,
    policies: Vec<(String, String)>,
    quotas: Vec<(String, String)>,
    engine: Option<Arc<dyn PolicyEngine>>,
    model: Option<Arc<dyn Model>>,
    journal: Option<Arc<dyn Journal>>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    clock: Arc<dyn Clock>,
    secrets: Known,
    redaction: RedactionConfig,
    principal: Option<Principal>,
    scopes: Vec<Scope>,
    weights: Weights,
    defaults: Defaults,
}

impl RuntimeBuilder {
    pub(super) fn new() -> Self {
        let defaults = Defaults {
            principal: Arc::new(local(&[])),
            limits: Arc::default(),
            instructions: String::new(),
            temperature: None,
            max_output_tokens: None,
            reasoning_effort: None,
            stream: false,
        };
        Self {
            registry: Registry::builder().embedded(),
            executors: Executors::new(),
            failed: None,
            policies: Vec::new(),
            quotas: Vec::new(),
            engine: None,
            model: None,
            journal: None,
            artifacts: None,
            clock: Arc::new(SystemClock),
            secrets: Known::new(),
            redaction: RedactionConfig::default(),
            principal: None,
            scopes: Vec::new(),
            weights: Weights::default(),
            defaults,
        }
    }

    /// The model of every turn. Default: the extractive one, which only quotes.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// A capability that something else serves: a provider, or a function given with [`Self::executor`].
    #[must_use]
    pub fn capability(mut self, capability: Capability) -> Self {
        self.registry = self.registry.add(capability);
        self
    }

    /// The function that capabilities name with `function_name`.
    #[must_use]
    pub fn executor(mut self, name: impl Into<String>, executor: Arc<dyn Executor>) -> Self {
        if let Err(error) = self.executors.register(name, executor) {
            self.failed.get_or_insert(error.into());
        }
        self
    }

    /// A function tool from a typed async function that only reads: the name is its intent, the schema of its
    /// arguments is derived. For anything else than a read use [`Self::function_as`].
    #[must_use]
    pub fn function<A, O, F, R>(self, name: &str, description: &str, run: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: IntoOutput + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        self.function_as(Capability::function(name).description(description).risk(RiskClass::ReadOnly), run)
    }

    /// A function tool with its contract: risk, side effect, scopes, limits.
    #[must_use]
    pub fn function_as<A, O, F, R>(mut self, contract: CapabilityBuilder, run: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: IntoOutput + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        match contract.input::<A>().build() {
            Ok(capability) => {
                let name = capability.execution.function_name.clone().unwrap_or_default();
                let tool = function(name.clone(), run);
                self.capability(capability).executor(name, Arc::new(tool))
            }
            Err(error) => {
                self.failed.get_or_insert(error.into());
                self
            }
        }
    }

    /// A catalog in YAML. `source` names it in errors.
    #[must_use]
    pub fn catalog(mut self, yaml: &str, source: &str) -> Self {
        self.registry = self.registry.add_yaml(yaml, source);
        self
    }

    /// A folder of catalogs, which may override shipped capabilities.
    #[must_use]
    pub fn catalog_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.registry = self.registry.add_dir(folder);
        self
    }

    /// A folder of catalogs that somebody outside writes. What is in it can be used once a person has agreed to it, as it
    /// is: see [`Self::pins`].
    #[must_use]
    pub fn external_catalog_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.registry = self.registry.add_external_dir(folder);
        self
    }

    /// A capability that somebody outside describes; `source` names who. It can be used once a person has agreed to it.
    #[must_use]
    pub fn external_capability(mut self, capability: Capability, source: &str) -> Self {
        self.registry = self.registry.add_external(capability, source);
        self
    }

    /// What people agreed to of what comes from outside: `journal.pins().all()`. Without it, all of that is held back.
    #[must_use]
    pub fn pins(mut self, pins: impl IntoIterator<Item = Pin>) -> Self {
        self.registry = self.registry.pins(pins);
        self
    }

    /// A rule file in YAML, beside the shipped rules. `source` names it in errors.
    #[must_use]
    pub fn policy(mut self, yaml: &str, source: &str) -> Self {
        self.policies.push((source.to_owned(), yaml.to_owned()));
        self
    }

    /// A file in YAML with budgets, rates and what tenants may see and use. `source` names it in errors.
    #[must_use]
    pub fn quotas(mut self, yaml: &str, source: &str) -> Self {
        self.quotas.push((source.to_owned(), yaml.to_owned()));
        self
    }

    /// Another policy engine in place of the rules.
    #[must_use]
    pub fn policy_engine(mut self, engine: Arc<dyn PolicyEngine>) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Where journals are kept. Default: in memory.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Where whole results are kept. Default: in memory.
    #[must_use]
    pub fn artifacts(mut self, artifacts: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Another clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Secret values that must never reach a model, a trace or a log.
    #[must_use]
    pub fn secrets(mut self, secrets: Known) -> Self {
        self.secrets = secrets;
        self
    }

    /// Which personal data is masked in results and in records. Default: cards in results, everything in records.
    #[must_use]
    pub fn redaction(mut self, redaction: RedactionConfig) -> Self {
        self.redaction = redaction;
        self
    }

    /// On whose behalf turns run. Default: user `me` of tenant `local`.
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// A scope of the local principal.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// What every route has to honour; may be given several times.
    #[must_use]
    pub fn demand(mut self, demand: Demand) -> Self {
        self.weights = self.weights.demanding(demand);
        self
    }

    /// The limits of a turn.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.defaults.limits = Arc::new(limits);
        self
    }

    /// The system prompt.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.defaults.instructions = text.into();
        self
    }

    /// Sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: Option<f64>) -> Self {
        self.defaults.temperature = temperature;
        self
    }

    /// At most this many tokens of output a model call.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: Option<u32>) -> Self {
        self.defaults.max_output_tokens = tokens;
        self
    }

    /// Reasoning effort in the provider's words.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: Option<String>) -> Self {
        self.defaults.reasoning_effort = effort;
        self
    }

    /// Whether replies are streamed, so that a watcher sees them come in.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.defaults.stream = stream;
        self
    }

    /// Wires everything.
    ///
    /// # Errors
    /// [`RuntimeError`], saying which capability, catalog, rule or function is wrong.
    pub fn build(self) -> Result<Runtime, RuntimeError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let registry = self.registry.build()?;
        let gate: Arc<dyn PolicyEngine> = match self.engine {
            Some(engine) => engine,
            None => Arc::new(gate(&self.policies)?),
        };
        let quotas = quotas(&self.quotas)?;
        let gate = quotas.as_ref().map_or(Arc::clone(&gate), |quotas| quotas.guard(gate));
        let executors = with_http_tools(self.executors, &registry)?;
        let redactor = Redactor::new(&self.secrets);
        let shown = Shown::of(&registry, &executors);
        let searchable = is_searchable(&registry, &executors, &shown);
        let parts = Parts {
            clock: self.clock,
            journal: self.journal.unwrap_or_else(|| Arc::new(MemoryJournal::default())),
            artifacts: self.artifacts.unwrap_or_else(|| Arc::new(MemoryArtifacts::default())),
            registry,
            detector: Detector::embedded(),
            gate,
            router: Router::new(self.weights),
            observed: Observed::new(),
            executors,
            slots: Slots::default(),
            quotas,
            model: self.model.unwrap_or_else(|| Arc::new(Extractive::default())),
            records: Arc::new(redactor.clone().personal(self.redaction.records)),
            redactor: Arc::new(redactor.personal(self.redaction.results)),
            toolbox: Toolbox::default(),
            index: OnceLock::new(),
            shown,
            searchable,
        };
        let principal = Arc::new(self.principal.unwrap_or_else(|| local(&self.scopes)));
        let defaults = Arc::new(Defaults { principal, ..self.defaults });
        Ok(Runtime { parts: Arc::new(parts), defaults })
    }
}

/// Capabilities that are declared HTTP calls run without a function of anybody's.
fn with_http_tools(mut executors: Executors, registry: &Registry) -> Result<Executors, RuntimeError> {
    let mut client = None;
    for capability in registry.iter().filter(|capability| capability.execution.http.is_some()) {
        let client = match &client {
            Some(client) => HttpClient::clone(client),
            None => client.insert(HttpClient::new(&HttpConfig::default())?).clone(),
        };
        executors.register(capability.id.as_str(), Arc::new(HttpTool::new(capability, client)?))?;
    }
    Ok(executors)
}

/// The shipped rules, and the user's beside them.
fn gate(policies: &[(String, String)]) -> Result<Gate, RuntimeError> {
    if policies.is_empty() {
        return Ok(Gate::embedded()?);
    }
    let own = policies.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = std::iter::once(DEFAULT_RULES).chain(own).collect();
    Ok(Gate::load(&files)?)
}

/// What operators allotted; `None` when that is nothing.
fn quotas(files: &[(String, String)]) -> Result<Option<Arc<Quotas>>, RuntimeError> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let quotas = Quotas::load(&files)?;
    Ok((!quotas.is_empty()).then(|| Arc::new(quotas)))
}

#[expect(clippy::expect_used, reason = "constants that are valid ids")]
fn local(scopes: &[Scope]) -> Principal {
    Principal {
        tenant: TenantId::new("local").expect("a constant id"),
        user: UserId::new("me").expect("a constant id"),
        roles: std::collections::BTreeSet::new(),
        scopes: scopes.iter().cloned().collect(),
    }
}
