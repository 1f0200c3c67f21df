//! The first step: from the input to intents, routes and the tools in front of the model. Pure but for reading
//! what was observed of capabilities.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    capability::{Capability, Registry},
    intent::{DetectedIntent, Input, IntentReport, IntentSource},
    llm::{self, OnUnsupported, ToolChoice},
    policy::{GateRequest, Said, Stage, TurnFacts, raw_capability},
    route::{Reliability, Route, RouteContext, RouteFacts},
    types::{CapabilityId, CostClass, DurationMs, Entry, ExecutionMode, Intent, ToolName, Trigger},
};

use super::{Exposed, Parts, Prepared, Shown, Started, Withheld, internal, log::input_text};

/// How many capabilities tool search adds to a turn when there are too many to show.
const FOUND: usize = 8;

/// Chooses intents, routes and tools.
pub(super) fn prepare(parts: &Parts, started: &Started) -> Prepared {
    let text = input_text(&started.input);
    let input = Input { text: &text, declared: &started.declared, history: &started.past_intents };
    let mut report = parts.detector.detect(&input);
    add_found(parts, &text, &mut report);
    let facts = turn_facts(started, report.trigger);
    let mut plan = Plan {
        parts,
        started,
        facts,
        context: route_context(parts, started, &report),
        prepared: empty(report),
        conflicts: BTreeMap::new(),
    };
    plan.route_wanted();
    plan.route_shown();
    plan.check_raw_tools();
    plan.finish()
}

fn empty(report: IntentReport) -> Prepared {
    Prepared {
        report,
        routes: Vec::new(),
        unrouted: Vec::new(),
        exposed: Vec::new(),
        withheld: Vec::new(),
        tool_choice: ToolChoice::Auto,
        builtin_tools: Vec::new(),
    }
}

/// With too many functions to show, those that fit the input join the intents.
fn add_found(parts: &Parts, text: &str, report: &mut IntentReport) {
    let declared = report.intents.iter().any(|found| found.source == IntentSource::Declared);
    if parts.shown != Shown::Found || report.trigger == Trigger::Forbidden || declared {
        return;
    }
    for hit in parts.index().search(text, FOUND) {
        let Some(capability) = CapabilityId::new(hit.key).ok().and_then(|id| parts.registry.get(&id)) else { continue };
        if report.intents.iter().any(|found| found.intent == capability.intent) {
            continue;
        }
        report.intents.push(DetectedIntent {
            intent: capability.intent.clone(),
            confidence: 0.3,
            source: IntentSource::Discovery,
            because: format!("tool search found `{}`", capability.id),
        });
    }
}

fn route_context(parts: &Parts, started: &Started, report: &IntentReport) -> RouteContext {
    let origin = parts.model.origin();
    RouteContext {
        model: origin.model,
        provider: origin.provider,
        tenant_id: started.principal.tenant.clone(),
        user_role: started.principal.roles.first().cloned(),
        data_class: started.data_class,
        region: started.region,
        require_citations: report.require_citations,
        max_cost_class: CostClass::High,
    }
}

/// What the rules may know before anything has happened.
fn turn_facts(started: &Started, trigger: Trigger) -> TurnFacts {
    TurnFacts {
        tainted: started.tainted,
        data_classes: started.data_classes.iter().copied().collect(),
        tool_calls: 0,
        data_class: started.data_class,
        region: started.region,
        task: started.task.clone(),
        provider: started.model.provider.to_string(),
        model: started.model.model.to_string(),
        trigger,
        requires_approval_for_write: started.limits.requires_approval_for_write,
        injection_score: 0,
        said: Arc::new(Said::new(said(started))),
        heard: Vec::new(),
    }
}

/// The user's own words in the conversation, latest last.
pub(super) fn said(started: &Started) -> String {
    let before = started.history.iter().filter_map(|entry| match entry {
        Entry::User(parts) => Some(input_text(parts)),
        Entry::Reply(_) | Entry::Results(_) | Entry::Notice(_) => None,
    });
    before.chain([input_text(&started.input)]).collect::<Vec<_>>().join("\n")
}

struct Plan<'a> {
    parts: &'a Parts,
    started: &'a Started,
    facts: TurnFacts,
    context: RouteContext,
    prepared: Prepared,
    /// Hosted candidates that cannot stand beside the functions of this turn.
    conflicts: BTreeMap<CapabilityId, String>,
}

impl Plan<'_> {
    /// The intents of the input, surest first. With the trigger `forbidden` only declared ones count.
    fn route_wanted(&mut self) {
        let forbidden = self.prepared.report.trigger == Trigger::Forbidden;
        let wanted = self.prepared.report.intents.iter();
        let wanted = wanted.filter(|found| !forbidden || found.source == IntentSource::Declared);
        for intent in wanted.map(|found| found.intent.clone()).collect::<Vec<_>>() {
            self.route(&intent, true);
        }
    }

    /// The functions that are shown unasked, and tool search where there is more to find.
    fn route_shown(&mut self) {
        if self.prepared.report.trigger == Trigger::Forbidden {
            return;
        }
        if let Shown::All(intents) = &self.parts.shown {
            for intent in intents {
                self.route(intent, false);
            }
        }
        if self.parts.searchable {
            self.route(&internal::tool_search_intent(), false);
        }
    }

    fn route(&mut self, intent: &Intent, wanted: bool) {
        if self.prepared.routes.iter().any(|route| route.intent == *intent) {
            return;
        }
        let candidates = self.parts.registry.candidates(intent);
        if candidates.is_empty() && !wanted {
            return;
        }
        match self.parts.router.route(intent, candidates, &self.context, &Facts { plan: self }) {
            Ok(route) => self.expose(route, wanted),
            Err(none) if wanted => self.prepared.unrouted.push(none),
            Err(none) => {
                let reason = none.to_string();
                let withheld = candidates.iter().map(|c| Withheld { capability: c.id.clone(), reason: reason.clone() });
                self.prepared.withheld.extend(withheld);
            }
        }
    }

    /// A route is recorded where somebody asked for it, or where there was a choice.
    fn expose(&mut self, route: Route, wanted: bool) {
        let Some(capability) = self.parts.registry.get(&route.capability) else { return };
        if let Ok(name) = ToolName::new(capability.intent.as_str()) {
            let hosted = capability.execution.mode == ExecutionMode::ProviderHosted;
            if let Some(tool) = capability.execution.hosted.as_ref().filter(|_| hosted) {
                self.prepared.builtin_tools.push(tool.payload.clone());
            }
            self.prepared.exposed.push(Exposed { name, capability: capability.id.clone(), hosted });
        }
        if wanted || route.candidates.len() > 1 {
            self.prepared.routes.push(route);
        }
    }

    /// Raw provider tools pass the gate too: what is denied never reaches the wire.
    fn check_raw_tools(&mut self) {
        let Some(Value::Array(raw)) = self.started.model.extra.get("builtin_tools") else { return };
        for tool in raw {
            // What is no tool at all is left to the adapter, which skips it with a warning: it never reaches the wire.
            let Some(kind) = tool.get("type").and_then(Value::as_str) else {
                self.prepared.builtin_tools.push(tool.clone());
                continue;
            };
            let Ok(capability) = raw_capability(&self.started.model.provider, kind) else { continue };
            let unsupported = self.parts.model.takes_hosted(tool, false).err();
            let reroute = self.started.model.on_unsupported == OnUnsupported::Reroute;
            if let (true, Some(reason), Some(intent)) = (reroute, unsupported, llm::intent_of_hosted(kind)) {
                self.prepared.withheld.push(Withheld {
                    capability: capability.id,
                    reason: format!("{reason}; another candidate for `{intent}` serves in its place"),
                });
                self.route(&intent, true);
                continue;
            }
            match self.denied(&capability) {
                None => self.prepared.builtin_tools.push(tool.clone()),
                Some(reason) => self.prepared.withheld.push(Withheld { capability: capability.id, reason }),
            }
        }
    }

    fn denied(&self, capability: &Capability) -> Option<String> {
        let decision = self.parts.gate.decide(&GateRequest {
            stage: Stage::Expose,
            principal: &self.started.principal,
            capability,
            tool_name: None,
            arguments: None,
            turn: &self.facts,
            resource: None,
        });
        (!decision.shows(capability.execution.mode)).then_some(decision.because)
    }

    /// Hosted tools that the model does not take beside functions make way for another candidate of their intent.
    fn resolve_conflicts(&mut self) {
        if self.prepared.exposed.iter().all(|tool| tool.hosted) {
            return;
        }
        let hosted: Vec<CapabilityId> =
            self.prepared.exposed.iter().filter(|tool| tool.hosted).map(|tool| tool.capability.clone()).collect();
        for id in hosted {
            let Some(capability) = self.parts.registry.get(&id) else { continue };
            let Some(tool) = &capability.execution.hosted else { continue };
            let Err(reason) = self.parts.model.takes_hosted(&tool.payload, true) else { continue };
            self.prepared.exposed.retain(|tool| tool.capability != id);
            self.prepared.routes.retain(|route| route.capability != id);
            self.prepared.builtin_tools.retain(|raw| *raw != tool.payload);
            self.prepared.withheld.push(Withheld { capability: id.clone(), reason: reason.clone() });
            self.conflicts.insert(id, reason);
            self.route(&capability.intent.clone(), true);
        }
    }

    fn finish(mut self) -> Prepared {
        self.resolve_conflicts();
        // The order of tools is defined, whatever order they were found in: equal sets give equal bytes.
        self.prepared.exposed.sort_by(|a, b| a.capability.cmp(&b.capability));
        self.prepared.tool_choice = self.first_choice();
        self.prepared
    }

    /// What must be looked up, or cited, is looked up: the first call has to use a tool, where there is one for it.
    fn first_choice(&self) -> ToolChoice {
        let report = &self.prepared.report;
        let asked: BTreeSet<&Intent> = report.intents.iter().map(|found| &found.intent).collect();
        let can = self
            .prepared
            .exposed
            .iter()
            .any(|tool| !tool.hosted && asked.contains(&intent_of(tool, &self.parts.registry)));
        let must = report.trigger == Trigger::Required || report.require_citations;
        match &self.started.tool_choice {
            ToolChoice::Auto if must && can && self.can_force() => ToolChoice::Required,
            choice @ (ToolChoice::Auto
            | ToolChoice::None
            | ToolChoice::Required
            | ToolChoice::Named(_)
            | ToolChoice::Allowed(_)) => choice.clone(),
        }
    }
}

impl Plan<'_> {
    fn can_force(&self) -> bool {
        self.parts.model.supports(&ToolChoice::Required)
    }
}

fn intent_of(tool: &Exposed, registry: &Registry) -> Intent {
    match registry.get(&tool.capability) {
        Some(capability) => capability.intent.clone(),
        None => internal::tool_search_intent(),
    }
}

struct Facts<'a, 'b> {
    plan: &'a Plan<'b>,
}

impl RouteFacts for Facts<'_, '_> {
    fn denied(&self, capability: &Capability) -> Option<String> {
        self.plan.denied(capability)
    }

    fn unavailable(&self, capability: &Capability) -> Option<String> {
        let parts = self.plan.parts;
        match capability.execution.mode {
            ExecutionMode::ProviderHosted => self.plan.conflicts.get(&capability.id).cloned().or_else(|| {
                let tool = capability.execution.hosted.as_ref()?;
                parts.model.takes_hosted(&tool.payload, false).err()
            }),
            ExecutionMode::RuntimeFunction if internal::is_internal(capability) => None,
            ExecutionMode::RuntimeFunction => {
                let missing = parts.executors.executor_for(capability).err().map(|error| error.safe_message);
                missing.or_else(|| parts.toolbox.get(capability).err())
            }
            ExecutionMode::McpRemote => Some("no MCP server is connected".to_owned()),
            ExecutionMode::Sandboxed => Some("no sandbox is configured".to_owned()),
            ExecutionMode::HumanApproval => Some("nobody is there to do it".to_owned()),
        }
    }

    fn reliability(&self, id: &CapabilityId) -> Option<Reliability> {
        self.plan.parts.observed.reliability(id)
    }
}

/// How long a call may take: what the contract says, within what the turn has left.
pub(super) fn within(timeout: DurationMs, left: DurationMs) -> DurationMs {
    DurationMs(timeout.0.min(left.0.max(1)))
}
