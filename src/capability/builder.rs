//! Building a capability in Rust.

use schemars::JsonSchema;
use serde_json::Value;

use super::{
    contract::{
        Approval, Capability, Example, HttpCall, OutputFormat, ProjectionPolicy, ProviderMatch, RateLimit, SandboxSpec,
    },
    draft::Draft,
    error::{CapabilityError, Place},
    intents, schema,
};
use crate::types::{
    ArgumentRole, CapabilityId, CostClass, DataClass, DurationMs, ExecutionMode, Intent, MicroUsd, ProviderName,
    Region, RiskClass, Scope, SideEffect, Trust,
};

/// Says what a capability is; [`build`](Self::build) fills in the rest and checks it.
///
/// What must be said: how it runs ([`runs_function`](Self::runs_function), [`hosted`](Self::hosted),
/// [`mcp`](Self::mcp), …) and its [`risk`](Self::risk). Defaults: version `1`, priority 50, 15,000 ms, one retry for
/// reads and none for writes, the side effect that follows from the risk, untrusted, the namespace of the intent, the
/// description and the input schema of the intent where agcore knows it.
///
/// ```
/// use agcore::{capability::Capability, types::RiskClass};
///
/// let look_up = Capability::builder("crm.orders_get", "orders.get_by_id")
///     .description("Returns one order with its lines and its state.")
///     .runs_function("orders_get")
///     .risk(RiskClass::InternalRead)
///     .build()?;
/// assert_eq!(look_up.namespace, "orders");
/// # Ok::<(), agcore::capability::CapabilityError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct CapabilityBuilder {
    draft: Draft,
}

impl Capability {
    /// Starts a capability with an id, unique in a registry, and the intent it serves. Both are checked by
    /// [`CapabilityBuilder::build`].
    pub fn builder(id: impl Into<String>, intent: impl Into<String>) -> CapabilityBuilder {
        CapabilityBuilder { draft: Draft { id: id.into(), intent: intent.into(), ..Draft::default() } }
    }

    /// Starts a capability for a registered Rust function, named like it: id, intent and function name are `name`.
    pub fn function(name: impl Into<String>) -> CapabilityBuilder {
        let name = name.into();
        Self::builder(name.clone(), name.clone()).runs_function(name)
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $kind:ty) => $field:ident = $value:expr;)+) => {
        $($(#[$doc])* pub fn $name(mut self, $argument: $kind) -> Self {
            self.draft.$field = $value;
            self
        })+
    };
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident => $field:ident;)+) => {
        $($(#[$doc])* pub fn $name(mut self) -> Self {
            self.draft.$field = true;
            self
        })+
    };
}

macro_rules! adders {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $kind:ty) => $field:ident << $value:expr;)+) => {
        $($(#[$doc])* pub fn $name(mut self, $argument: $kind) -> Self {
            self.draft.$field.push($value);
            self
        })+
    };
}

/// Layer 1: capability.
impl CapabilityBuilder {
    setters! {
        /// What it does, for the model: one or two sentences.
        description(text: impl Into<String>) => description = Some(text.into());
        /// The namespace, when it is not the first part of the intent.
        namespace(name: impl Into<String>) => namespace = Some(name.into());
        /// The version of the contract.
        version(version: impl Into<String>) => version = Some(version.into());
        /// Higher is preferred, 0 to 100.
        priority(priority: i32) => priority = Some(priority);
    }
    adders! {
        /// Adds a case in which to take it.
        use_when(case: impl Into<String>) => use_when << case.into();
        /// Adds a case in which not to.
        avoid_when(case: impl Into<String>) => avoid_when << case.into();
    }
    flags! {
        /// Keeps it from the model until it is routed to or found by `tool.search`.
        deferred => deferred;
    }
}

/// Layer 2: input.
impl CapabilityBuilder {
    setters! {
        /// What it takes, as JSON Schema 2020-12 with an object at the root.
        input_schema(schema: Value) => schema = Some(schema);
    }

    /// What it takes, as the Rust type its arguments are read into.
    pub fn input<T: JsonSchema>(self) -> Self {
        self.input_schema(schema::schema_of::<T>())
    }

    /// Adds an example: what a user would say and the arguments that answer it.
    pub fn example(mut self, user: impl Into<String>, arguments: Value) -> Self {
        self.draft.examples.push(Example { user: user.into(), arguments });
        self
    }
}

/// Layer 3: execution.
impl CapabilityBuilder {
    /// Runs a registered Rust function.
    pub fn runs_function(mut self, name: impl Into<String>) -> Self {
        self.draft.mode = Some(ExecutionMode::RuntimeFunction);
        self.draft.function_name = Some(name.into());
        self
    }

    /// Sends a declared HTTP request.
    pub fn http(mut self, call: HttpCall) -> Self {
        self.draft.mode = Some(ExecutionMode::RuntimeFunction);
        self.draft.http = Some(call);
        self
    }

    /// Is run by its provider; `payload` is the raw tool as that provider spells it.
    pub fn hosted(mut self, provider: ProviderName, payload: Value) -> Self {
        self.draft.mode = Some(ExecutionMode::ProviderHosted);
        self.draft.provider = Some(ProviderMatch::Only(provider));
        self.draft.payload = Some(payload);
        self
    }

    /// Is a tool of an MCP server.
    pub fn mcp(mut self, server: impl Into<String>, tool: impl Into<String>) -> Self {
        self.draft.mode = Some(ExecutionMode::McpRemote);
        self.draft.mcp_server = Some(server.into());
        self.draft.mcp_tool = Some(tool.into());
        self
    }

    /// Runs code in the sandbox, within these limits.
    pub fn sandboxed(mut self, limits: SandboxSpec) -> Self {
        self.draft.mode = Some(ExecutionMode::Sandboxed);
        self.draft.sandbox = Some(limits);
        self
    }

    /// Is done by a person.
    pub fn by_person(mut self) -> Self {
        self.draft.mode = Some(ExecutionMode::HumanApproval);
        self
    }

    setters! {
        /// Restricts it to one provider's models.
        provider(name: ProviderName) => provider = Some(ProviderMatch::Only(name));
        /// How many times the provider may run it in one model call.
        max_uses(uses: u32) => max_uses = Some(uses);
        /// How long one call may take.
        timeout(limit: DurationMs) => timeout = Some(limit);
        /// How many times a failed call is tried again. A write needs an idempotency key for that.
        retries(times: u32) => retries = Some(times);
        /// How it may be run and retried, when the risk alone does not say it.
        side_effect(effect: SideEffect) => side_effect = Some(effect);
        /// Calls of one group never run at the same time.
        parallel_group(group: impl Into<String>) => parallel_group = Some(group.into());
        /// At most so many calls in a span of time.
        rate_limit(limit: RateLimit) => rate_limit = Some(limit);
        /// At most so many calls at once, over all turns.
        concurrency(calls: u32) => concurrency = Some(calls);
        /// The capability that looks up what became of a write.
        lookup(id: CapabilityId) => lookup = Some(id);
    }
    adders! {
        /// Adds an anchored glob over model names it may be used with.
        model_pattern(glob: impl Into<String>) => model_patterns << glob.into();
        /// Adds a region it may be used in.
        region(region: Region) => regions << region;
        /// Adds an intent whose calls in the same batch must have finished first.
        depends_on(intent: Intent) => depends_on << intent;
    }
    flags! {
        /// The tool honours, and wants, an idempotency key.
        idempotency_key_required => idempotency_key_required;
        /// The tool is asked again and again on purpose: equal answers are no lack of progress.
        polling => polling;
    }
}

/// Layer 4: output.
impl CapabilityBuilder {
    setters! {
        /// The form of what it returns.
        format(format: OutputFormat) => format = Some(format);
        /// At most so many results.
        max_results(results: u32) => max_results = Some(results);
        /// What of a result reaches the model.
        projection(policy: ProjectionPolicy) => projection = Some(policy);
        /// Whether its results may be believed.
        trust(trust: Trust) => trust = Some(trust);
    }
    flags! {
        /// Its results name their sources.
        supports_citations => supports_citations;
        /// A result without a source is an error.
        must_include_source_url => must_include_source_url;
    }
}

/// Layer 5: governance.
impl CapabilityBuilder {
    setters! {
        /// How risky a call is. Must be said.
        risk(risk: RiskClass) => risk = Some(risk);
        /// What a call costs, roughly, when the cost does not say it.
        cost_class(class: CostClass) => cost_class = Some(class);
        /// What a call costs at most; for a hosted tool its price per use.
        cost(cost: MicroUsd) => cost = Some(cost);
        /// At most so many calls in one turn.
        max_calls_per_turn(calls: u32) => max_calls_per_turn = Some(calls);
        /// The read that is asked with the arguments of a call before the rules are: they see its answer as `resource`.
        facts(id: CapabilityId) => facts = Some(id);
        /// Whether a person has to agree.
        approval(approval: Approval) => approval = Some(approval);
    }
    adders! {
        /// Adds a scope the principal must hold.
        required_scope(scope: Scope) => required_scopes << scope;
        /// Adds a class of data its results hold.
        data_class(class: DataClass) => data_classes << class;
        /// Adds a host, or a named set of hosts, it may reach.
        allowed_domain(domain: impl Into<String>) => allowed_domains << domain.into();
    }
    /// Says what an argument is, where its name does not.
    pub fn argument(mut self, name: impl Into<String>, role: ArgumentRole) -> Self {
        self.draft.arguments.insert(name.into(), role);
        self
    }
    flags! {
        /// Personal data may be sent to it.
        pii_allowed => pii_allowed;
    }

    /// Fills in what was not said and checks the whole.
    ///
    /// # Errors
    /// [`CapabilityError::Invalid`] naming the capability, the first thing that is wrong and what to do.
    pub fn build(self) -> Result<Capability, CapabilityError> {
        let id = self.draft.id.clone();
        self.draft.finish(intents::shipped(), None).map_err(|problem| CapabilityError::Invalid {
            place: Box::new(Place { capability: Some(id), ..Place::default() }),
            problem,
        })
    }
}
