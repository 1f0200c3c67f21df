//! A turn about to begin.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    config::Limits,
    llm::{OnUnsupported, ToolChoice, mend},
    policy::{ExpressionFacts, Principal},
    turn::{self, Company, ModelOptions, OnReject, Parent, Started, Turn, TurnError, TurnOutcome},
    types::{DataClass, Entry, Intent, MicroUsd, Region, TaskType, TraceId, TurnId, UserPart},
};

use super::Runtime;

/// A turn about to begin. Everything has a default; [`TurnRequest::run`] begins it.
#[derive(Debug)]
pub struct TurnRequest<'a> {
    runtime: &'a Runtime,
    input: Vec<UserPart>,
    history: Vec<Entry>,
    declared: Vec<Intent>,
    past_intents: Vec<Intent>,
    limits: Option<Limits>,
    tool_choice: ToolChoice,
    force_every_step: bool,
    on_reject: OnReject,
    on_unsupported: OnUnsupported,
    data_class: DataClass,
    region: Region,
    parent: Option<Parent>,
    task: Option<TaskType>,
    principal: Option<Arc<Principal>>,
    data_classes: Vec<DataClass>,
    tainted: bool,
    /// What the parent has left to spend.
    left: Option<MicroUsd>,
    extra: Map<String, Value>,
    company: Company,
}

impl<'a> TurnRequest<'a> {
    pub(super) fn new(runtime: &'a Runtime, input: String) -> Self {
        Self {
            runtime,
            input: vec![UserPart::Text(input)],
            history: Vec::new(),
            declared: Vec::new(),
            past_intents: Vec::new(),
            limits: None,
            tool_choice: ToolChoice::Auto,
            force_every_step: false,
            on_reject: OnReject::Stop,
            on_unsupported: OnUnsupported::Error,
            data_class: DataClass::Public,
            region: Region::Global,
            parent: None,
            task: None,
            principal: None,
            data_classes: Vec::new(),
            tainted: false,
            left: None,
            extra: Map::new(),
            company: Company::default(),
        }
    }

    /// The conversation before this turn. Calls without results in it are closed, and orphans turned into text; since
    /// agcore cannot know who wrote it, it is taken for untrusted.
    #[must_use]
    pub fn history(mut self, history: Vec<Entry>) -> Self {
        self.history = history;
        self
    }

    /// What is wanted, where the caller knows. `citation.required` demands citations.
    #[must_use]
    pub fn intents(mut self, intents: impl IntoIterator<Item = Intent>) -> Self {
        self.declared.extend(intents);
        self
    }

    /// The intents of earlier turns, latest last: a follow-up question inherits them.
    #[must_use]
    pub fn past_intents(mut self, intents: impl IntoIterator<Item = Intent>) -> Self {
        self.past_intents.extend(intents);
        self
    }

    /// Other limits than the runtime's.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// What the first model call may or must do with the tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Keeps the choice in force for every model call but the last.
    #[must_use]
    pub fn force_every_step(mut self) -> Self {
        self.force_every_step = true;
        self
    }

    /// What a rejected approval does. Default: the turn ends with an explanation.
    #[must_use]
    pub fn on_reject(mut self, on_reject: OnReject) -> Self {
        self.on_reject = on_reject;
        self
    }

    /// The class of the data the turn works on.
    #[must_use]
    pub fn data_class(mut self, class: DataClass) -> Self {
        self.data_class = class;
        self
    }

    /// Where it is served.
    #[must_use]
    pub fn region(mut self, region: Region) -> Self {
        self.region = region;
        self
    }

    /// On whose behalf, where it is not the runtime's principal. Names and scopes come from who authenticated the
    /// caller, never from a model.
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.principal = Some(Arc::new(principal));
        self
    }

    /// What kind of work it is: budgets, limits and rules go by it.
    #[must_use]
    pub fn task(mut self, task: TaskType) -> Self {
        self.task = Some(task);
        self
    }

    /// Begins the turn for another one: it joins that one's tree (budgets of scope `turn_tree`), runs on behalf of the
    /// same principal, starts with its taint and its data classes, and may spend no more than that one has left.
    /// Children that run at the same time share what is left only through such a budget.
    #[must_use]
    pub fn child_of(mut self, parent: &Turn) -> Self {
        let (started, ledger) = (parent.started(), parent.ledger());
        self.parent = Some(Parent { turn: started.turn.clone(), root: started.root().clone() });
        self.task = self.task.or_else(|| started.task.clone());
        self.principal = Some(Arc::clone(&started.principal));
        self.tainted = parent.is_tainted();
        self.data_classes = parent.data_classes().iter().copied().collect();
        self.left = Some(started.limits.max_tool_cost.saturating_sub(ledger.spent() + ledger.reserved));
        self
    }

    /// Provider-specific extras; `builtin_tools` among them is an array of raw provider tools, which pass the gate.
    #[must_use]
    pub fn extra(mut self, extra: Map<String, Value>) -> Self {
        self.extra = extra;
        self
    }

    /// What becomes of raw provider tools and choices of tools that the model's wire cannot express. Default: the turn
    /// ends before anything is sent, and says which it was.
    #[must_use]
    pub fn on_unsupported(mut self, what: OnUnsupported) -> Self {
        self.on_unsupported = what;
        self
    }

    /// Who looks on, who answers for a person, who may cancel.
    #[must_use]
    pub fn company(mut self, company: Company) -> Self {
        self.company = company;
        self
    }

    /// Runs the turn until it is over or waits for a person.
    ///
    /// # Errors
    /// [`TurnError`] when the journal cannot be written. A model that fails is no error: the turn ends and says so.
    pub async fn run(self) -> Result<TurnOutcome, TurnError> {
        let (parts, company) = (self.runtime.parts.clone(), self.company.clone());
        turn::run(&parts, self.start()?, company).await
    }

    fn start(self) -> Result<Started, TurnError> {
        let Runtime { parts, defaults } = self.runtime;
        let origin = parts.model.origin();
        let id = |text: String| TurnId::new(text).map_err(|error| TurnError::Write(error.to_string()));
        let turn = id(parts.clock.fresh_id())?;
        let trace = TraceId::new(turn.as_str()).map_err(|error| TurnError::Write(error.to_string()))?;
        let tainted = self.tainted || !self.history.is_empty();
        let principal = self.principal.unwrap_or_else(|| defaults.principal.clone());
        let facts = ExpressionFacts {
            principal: &principal,
            task: self.task.as_ref(),
            data_class: self.data_class,
            region: self.region,
            provider: origin.provider.as_str(),
            model: origin.model.as_str(),
        };
        let mut limits = match &parts.quotas {
            Some(quotas) => Arc::new(quotas.limits(&defaults.limits, self.limits, &facts)?),
            None => self.limits.map_or_else(|| defaults.limits.clone(), Arc::new),
        };
        if let Some(left) = self.left {
            let limits = Arc::make_mut(&mut limits);
            limits.max_tool_cost = limits.max_tool_cost.min(left);
        }
        let (history, _) = mend(self.history);
        Ok(Started {
            turn,
            trace,
            input: self.input,
            instructions: defaults.instructions.clone(),
            history,
            declared: self.declared,
            past_intents: self.past_intents,
            parent: self.parent,
            task: self.task,
            principal,
            model: ModelOptions {
                provider: origin.provider,
                model: origin.model,
                max_output_tokens: defaults.max_output_tokens,
                temperature: defaults.temperature,
                reasoning_effort: defaults.reasoning_effort.clone(),
                stream: defaults.stream,
                on_unsupported: self.on_unsupported,
                extra: self.extra,
            },
            policy: self.runtime.parts.gate.version(),
            limits,
            data_class: self.data_class,
            region: self.region,
            tool_choice: self.tool_choice,
            force_every_step: self.force_every_step,
            on_reject: self.on_reject,
            tainted,
            data_classes: self.data_classes,
        })
    }
}
