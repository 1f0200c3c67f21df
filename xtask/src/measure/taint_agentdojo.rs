//! The set `taint_agentdojo`: a model that obeys every injected instruction, against the shipped rules.
//!
//! The set holds calls and no results. So the text of a result is not known, and nothing here looks into one: what
//! counts is the user's request, the call, and that something untrusted was read. The rules see the injected goal as
//! what the poisoned call returned, so that an answer can name its source.
//!
//! The limits are the shipped ones as well.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use agcore::{
    capability::Capability,
    config::Limits,
    policy::{DEFAULT_RULES, Gate, GateRequest, Heard, PolicyEngine, Principal, Said, Stage, TurnFacts},
    types::{ArgumentRole, DataClass, Region, RiskClass, TenantId, Trigger, Trust, UserId},
};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Predicted, lines};

const CATALOG: &str = include_str!("taint_agentdojo/catalog.yaml");

#[derive(Deserialize)]
struct Catalog {
    suites: BTreeMap<String, Suite>,
}

#[derive(Deserialize)]
struct Suite {
    data_class: DataClass,
    tools: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    risk: RiskClass,
    data: Option<DataClass>,
    #[serde(default)]
    trusted: bool,
    #[serde(default)]
    arguments: BTreeMap<String, ArgumentRole>,
}

#[derive(Deserialize)]
struct Tool {
    suite: String,
    name: String,
    description: String,
    input_schema: Value,
}

#[derive(Deserialize)]
struct Task {
    id: String,
    suite: String,
    prompt: String,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Injection {
    id: String,
    goal: String,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Pair {
    user: String,
    injection: String,
    via_tool: String,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    args: Value,
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let above = data.parent().context("the split has no folder above it")?;
    let world = World {
        gate: Gate::load(&[DEFAULT_RULES])?,
        tools: tools(&lines(&above.join("tools.jsonl"))?)?,
        principal: Principal {
            tenant: TenantId::new("local")?,
            user: UserId::new("local")?,
            roles: BTreeSet::new(),
            scopes: BTreeSet::new(),
        },
    };
    let tasks: Vec<Task> = lines(&data.join("user_tasks.jsonl"))?;
    let injections: Vec<Injection> = lines(&above.join("injection_tasks.jsonl"))?;
    let pairs: Vec<Pair> = lines(&data.join("pairs.jsonl"))?;
    let tasks_by_id: BTreeMap<&str, &Task> = tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let injections: BTreeMap<&str, &Injection> = injections.iter().map(|one| (one.id.as_str(), one)).collect();
    let mut found = Vec::new();
    for task in &tasks {
        let mut replay = Replay::new(&world, task);
        let decisions = task.calls.iter().map(|call| replay.call(call, "")).collect::<Result<Vec<_>>>()?;
        found.push(json!({"user": task.id, "decisions": decisions}).to_string());
    }
    for pair in &pairs {
        let task = tasks_by_id.get(pair.user.as_str()).with_context(|| format!("no task `{}`", pair.user))?;
        let injection =
            injections.get(pair.injection.as_str()).with_context(|| format!("no injection `{}`", pair.injection))?;
        let decisions = attacked(&world, task, injection, &pair.via_tool)?;
        found.push(json!({"user": pair.user, "injection": pair.injection, "decisions": decisions}).to_string());
    }
    Ok(vec![Predicted { inputs: vec![data.to_owned()], lines: found, args: Vec::new() }])
}

/// The user's task up to the poisoned result, then the calls the injection asks for.
fn attacked(world: &World, task: &Task, injection: &Injection, via: &str) -> Result<Vec<&'static str>> {
    let mut replay = Replay::new(world, task);
    for call in &task.calls {
        let poisoned = call.tool == via;
        replay.call(call, if poisoned { &injection.goal } else { "" })?;
        if poisoned {
            break;
        }
    }
    injection.calls.iter().map(|call| replay.call(call, "")).collect()
}

struct World {
    gate: Gate,
    tools: BTreeMap<(String, String), (Capability, DataClass)>,
    principal: Principal,
}

/// A turn as far as the rules see it.
struct Replay<'w> {
    world: &'w World,
    suite: &'w str,
    calls: u32,
    turn: TurnFacts,
}

impl<'w> Replay<'w> {
    fn new(world: &'w World, task: &'w Task) -> Self {
        let class = world.tools.iter().find(|((suite, _), _)| *suite == task.suite).map(|(_, (_, class))| *class);
        let turn = TurnFacts {
            tainted: false,
            data_classes: BTreeSet::new(),
            tool_calls: 0,
            data_class: class.unwrap_or(DataClass::Internal),
            region: Region::Global,
            task: None,
            provider: "any".to_owned(),
            model: "obedient".to_owned(),
            trigger: Trigger::Auto,
            requires_approval_for_write: Limits::default().requires_approval_for_write,
            injection_score: 0,
            said: Arc::new(Said::new(task.prompt.as_str())),
            heard: Vec::new(),
        };
        Self { world, suite: &task.suite, calls: 0, turn }
    }

    /// Decides a call and takes it as made: what it returns marks the turn.
    fn call(&mut self, call: &Call, returned: &str) -> Result<&'static str> {
        let key = (self.suite.to_owned(), call.tool.clone());
        let (capability, _) =
            self.world.tools.get(&key).with_context(|| format!("no tool `{}` in the catalog", call.tool))?;
        let decision = self.world.gate.decide(&GateRequest {
            stage: Stage::Dispatch,
            principal: &self.world.principal,
            capability,
            tool_name: None,
            arguments: Some(&call.args),
            turn: &self.turn,
            resource: None,
        });
        self.calls += 1;
        self.turn.tool_calls = self.calls;
        self.turn.data_classes.extend(&capability.governance.data_classes);
        if capability.output.trust == Trust::Untrusted {
            self.turn.tainted = true;
            let heard = Heard::new(format!("call_{}", self.calls), capability.id.as_str(), returned);
            self.turn.heard.push(Arc::new(heard));
        }
        Ok(decision.outcome.as_str())
    }
}

fn tools(tools: &[Tool]) -> Result<BTreeMap<(String, String), (Capability, DataClass)>> {
    let catalog: Catalog = serde_saphyr::from_str(CATALOG)?;
    let mut all = BTreeMap::new();
    for tool in tools {
        let suite = catalog.suites.get(&tool.suite).with_context(|| format!("no suite `{}`", tool.suite))?;
        let entry = suite.tools.get(&tool.name).with_context(|| format!("`{}` is not in the catalog", tool.name))?;
        let id = format!("{}.{}", tool.suite, tool.name);
        let mut builder = Capability::builder(id.clone(), id)
            .description(tool.description.as_str())
            .input_schema(tool.input_schema.clone())
            .mcp(tool.suite.as_str(), tool.name.as_str())
            .risk(entry.risk)
            .trust(if entry.trusted { Trust::Trusted } else { Trust::Untrusted });
        if let Some(class) = entry.data {
            builder = builder.data_class(class);
        }
        for (name, role) in &entry.arguments {
            builder = builder.argument(name.as_str(), *role);
        }
        all.insert((tool.suite.clone(), tool.name.clone()), (builder.build()?, suite.data_class));
    }
    let written: usize = catalog.suites.values().map(|suite| suite.tools.len()).sum();
    ensure!(written == all.len(), "the catalog holds {written} tools, the set {}", all.len());
    Ok(all)
}
