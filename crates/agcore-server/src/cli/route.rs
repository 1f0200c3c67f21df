//! `agcore route explain`: which capability would serve an intent, and why.

use agcore::{
    capability::Capability,
    policy::{Gate, GateRequest, Outcome, PolicyEngine, Principal, Stage, TurnFacts},
    route::{self, Reliability, RouteContext, RouteFacts, Router, Weights},
    types::{CapabilityId, CostClass, DataClass, Intent, ModelName, ProviderName, Region, Trigger},
};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum RouteCommand {
    /// Explain which capability would serve an intent for a provider and model
    Explain(Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The intent, e.g. web.search
    intent: Intent,
    /// The provider of the model
    #[arg(long, default_value = "openai")]
    provider: ProviderName,
    /// The model
    #[arg(long, default_value = "gpt-5.4")]
    model: ModelName,
    /// The class of the data the turn works on: public, internal, confidential, restricted
    #[arg(long, default_value = "public", value_parser = word::<DataClass>)]
    data_class: DataClass,
    /// Where it is served: global, cn, eu, us
    #[arg(long, default_value = "global", value_parser = word::<Region>)]
    region: Region,
    /// Only candidates that cite
    #[arg(long)]
    citations: bool,
    /// The dearest class that may serve: low, medium, high
    #[arg(long, default_value = "high", value_parser = word::<CostClass>)]
    max_cost: CostClass,
}

/// A word of the vocabulary.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
}

pub(crate) async fn run(global: &Global, command: RouteCommand) -> Result<u8> {
    let RouteCommand::Explain(args) = command;
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let registry = setup::registry(global, &config).await?;
    let candidates = registry.candidates(&args.intent);
    if candidates.is_empty() {
        bail!("no capability serves `{}`; `agcore tools list` shows those there are", args.intent);
    }
    let rules = setup::rule_files(global, &config)?;
    let rules: Vec<(&str, &str)> = rules.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let principal = Principal {
        tenant: config.principal.tenant.clone(),
        user: config.principal.user.clone(),
        roles: config.principal.roles.clone(),
        scopes: config.principal.scopes.clone(),
    };
    let facts = Facts { gate: Gate::load(&rules)?, turn: turn_facts(&args), principal };
    let weights = config.route.demands.iter().fold(Weights::default(), |weights, demand| weights.demanding(*demand));
    let context = context(&args, &config.principal.tenant);
    match Router::new(weights).route(&args.intent, candidates, &context, &facts) {
        Ok(route) => show(global, &route, &route::explain(&route), exit::OK),
        Err(none) => show(global, &none, &route::explain(&none), exit::NO_ANSWER),
    }
}

fn show(global: &Global, document: &impl serde::Serialize, text: &str, code: u8) -> Result<u8> {
    if global.json {
        screen::json(document)?
    } else {
        screen::line(text.trim_end())
    }
    Ok(code)
}

fn context(args: &Explain, tenant: &agcore::types::TenantId) -> RouteContext {
    RouteContext {
        model: args.model.clone(),
        provider: args.provider.clone(),
        tenant_id: tenant.clone(),
        user_role: None,
        data_class: args.data_class,
        region: args.region,
        require_citations: args.citations,
        max_cost_class: args.max_cost,
    }
}

fn turn_facts(args: &Explain) -> TurnFacts {
    TurnFacts {
        tainted: false,
        data_classes: std::collections::BTreeSet::new(),
        tool_calls: 0,
        data_class: args.data_class,
        region: args.region,
        task: None,
        provider: args.provider.to_string(),
        model: args.model.to_string(),
        trigger: Trigger::Auto,
        requires_approval_for_write: true,
        injection_score: 0,
        said: Default::default(),
        heard: Vec::new(),
    }
}

/// The gate as a new turn would ask it. Whether a function is registered is not known here.
struct Facts {
    gate: Gate,
    principal: Principal,
    turn: TurnFacts,
}

impl RouteFacts for Facts {
    fn denied(&self, capability: &Capability) -> Option<String> {
        let decision = self.gate.decide(&GateRequest {
            stage: Stage::Expose,
            principal: &self.principal,
            capability,
            tool_name: None,
            arguments: None,
            turn: &self.turn,
            resource: None,
        });
        (decision.outcome == Outcome::Deny).then_some(decision.because)
    }

    fn unavailable(&self, _: &Capability) -> Option<String> {
        None
    }

    fn reliability(&self, _: &CapabilityId) -> Option<Reliability> {
        None
    }
}
