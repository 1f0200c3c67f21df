//! Everything a turn needs from the rest of agcore, wired once by the runtime and shared by all turns.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock, RwLock},
};

use crate::{
    capability::{Capability, Registry},
    clock::Clock,
    discover::Index,
    execute::{Executors, Slots},
    intent::Detector,
    llm::{Model, ToolDef, arguments::Validator},
    policy::PolicyEngine,
    projection::ArtifactStore,
    quota::Quotas,
    route::{Observed, Router},
    secret::Redactor,
    store::Journal,
    types::{CapabilityId, ExecutionMode, FastMap, Intent, ToolName},
};

/// Up to this many functions are put in front of the model without being asked for; with more registered, a turn gets
/// those that were routed to or found.
const SHOWN_UNASKED: usize = 24;

use super::internal;

/// The wired parts.
#[derive(Debug)]
pub struct Parts {
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// Where journals are kept.
    pub journal: Arc<dyn Journal>,
    /// Where whole results are kept.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// The capabilities.
    pub registry: Registry,
    /// Finds intents.
    pub detector: &'static Detector,
    /// Decides what may be seen and run.
    pub gate: Arc<dyn PolicyEngine>,
    /// Chooses who serves an intent.
    pub router: Router,
    /// What was observed of capabilities so far.
    pub observed: Observed,
    /// The functions.
    pub executors: Executors,
    /// Bounds on calls at once, over all turns.
    pub slots: Slots,
    /// The model.
    pub model: Arc<dyn Model>,
    /// What operators allotted; `None` when that is nothing.
    pub quotas: Option<Arc<Quotas>>,
    /// Masks secrets.
    pub redactor: Arc<Redactor>,
    /// Masks what is kept for people: traces, lists.
    pub records: Arc<Redactor>,
    /// Tool definitions and validators, made when first needed.
    pub toolbox: Toolbox,
    /// The index of tool search, made when first needed.
    pub index: OnceLock<Index>,
    /// The intents whose functions are shown unasked.
    pub shown: Shown,
    /// Whether there are functions to be found that are not shown.
    pub searchable: bool,
}

impl Parts {
    /// The index over all capabilities.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::build(self.registry.iter().map(Arc::as_ref)))
    }
}

/// Whether tool search has something to find: functions that are deferred, or too many to show.
pub fn is_searchable(registry: &Registry, executors: &Executors, shown: &Shown) -> bool {
    functions(registry, executors).any(|capability| capability.deferred || *shown == Shown::Found)
}

/// The functions that somebody can run, without agcore's own.
fn functions<'a>(registry: &'a Registry, executors: &Executors) -> impl Iterator<Item = &'a Arc<Capability>> {
    registry.iter().filter(|capability| {
        capability.execution.mode == ExecutionMode::RuntimeFunction
            && !internal::is_internal(capability)
            && executors.executor_for(capability).is_ok()
    })
}

/// Which functions are shown without being asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// These.
    All(Vec<Intent>),
    /// None: there are too many, they have to be found.
    Found,
}

impl Shown {
    /// All functions that somebody can run and that are not deferred, unless there are more than 24. agcore's own tools
    /// come when there is something to search or to read.
    pub fn of(registry: &Registry, executors: &Executors) -> Self {
        let unasked = functions(registry, executors).filter(|capability| !capability.deferred);
        let intents: BTreeSet<&Intent> = unasked.map(|capability| &capability.intent).collect();
        if intents.len() > SHOWN_UNASKED { Self::Found } else { Self::All(intents.into_iter().cloned().collect()) }
    }
}

/// A capability made ready for calls.
#[derive(Debug)]
pub struct Tool {
    /// How the model sees it.
    pub definition: Arc<ToolDef>,
    /// What its arguments are checked against: the original schema.
    pub validator: Validator,
    /// A hash of the whole contract: an approval ends when it changes.
    pub hash: Arc<str>,
}

/// Tools by capability, each made once.
#[derive(Debug, Default)]
pub struct Toolbox(RwLock<FastMap<CapabilityId, Result<Arc<Tool>, String>>>);

impl Toolbox {
    /// The tool of a capability.
    ///
    /// # Errors
    /// Why it cannot be offered: its schema is broken. The other tools are not touched by that.
    pub fn get(&self, capability: &Capability) -> Result<Arc<Tool>, String> {
        if let Ok(tools) = self.0.read()
            && let Some(tool) = tools.get(&capability.id)
        {
            return tool.clone();
        }
        let tool = make_tool(capability);
        if let Ok(mut tools) = self.0.write() {
            tools.insert(capability.id.clone(), tool.clone());
        }
        tool
    }
}

fn make_tool(capability: &Capability) -> Result<Arc<Tool>, String> {
    let name = ToolName::new(capability.intent.as_str()).map_err(|error| error.to_string())?;
    let schema = &capability.input.schema;
    let validator = Validator::new(schema).map_err(|error| format!("its input schema cannot be used: {error}"))?;
    let definition = ToolDef {
        name,
        description: describe(capability),
        parameters: Arc::new(schema.clone()),
        strict: false,
        deferred: false,
    };
    let hash = capability.contract_hash().into();
    Ok(Arc::new(Tool { definition: Arc::new(definition), validator, hash }))
}

/// The description for the model: what, when, when not.
fn describe(capability: &Capability) -> String {
    let mut text = capability.description.clone();
    for (label, lines) in [("Use when", &capability.use_when), ("Avoid when", &capability.avoid_when)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{label}: {}", lines.join("; ")));
        }
    }
    text
}
