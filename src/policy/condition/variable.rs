//! What conditions can speak of: one table of names and types, and one function that gives each its value.

use std::sync::OnceLock;

use cel::{
    common::{
        types::{CelBool, CelDouble, CelInt, CelList, CelString},
        value::{CowVal, Val},
    },
    context::VariableResolver,
};

use super::{
    super::{
        decision::GateRequest,
        origin::{Action, Asked, CallOrigin, Unnamed},
    },
    json,
    pattern::{self, CompiledPattern},
};
use crate::types::{CostClass, DataClass, ExecutionMode, Region, RiskClass, SideEffect, Trigger, Trust};

/// The type of a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Bool,
    Int,
    Double,
    Text,
    /// A text of a closed list.
    Word(Words),
    Null,
    /// Known only when it is there.
    Any,
}

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Ty {
    One(Kind),
    List(Kind),
}

macro_rules! words {
    ($($name:ident = $what:literal),+ $(,)?) => {
        /// A closed list of words.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in super::super) enum Words { $($name),+ }

        impl Words {
            /// Every word of the list.
            pub(super) fn all(self) -> Vec<&'static str> {
                match self { $(Self::$name => $name::ALL.iter().map(|word| word.as_str()).collect()),+ }
            }

            /// What the words are, for messages.
            pub(super) const fn what(self) -> &'static str {
                match self { $(Self::$name => $what),+ }
            }
        }
    };
}

words!(
    RiskClass = "a risk",
    SideEffect = "a side effect",
    ExecutionMode = "an execution mode",
    CostClass = "a cost class",
    Trust = "a trust",
    DataClass = "a data class",
    Region = "a region",
    Trigger = "a trigger",
    Action = "an action",
    Asked = "whether it was asked for",
);

/// The variables that have fields.
pub(super) const ROOTS: [&str; 5] = ["principal", "capability", "turn", "user", CALL];
/// The variable with the facts about where the values of a call come from.
pub(super) const CALL: &str = "call";
/// The variables that have no fixed form: the arguments of the call, and what a look-up said of the thing acted on.
pub(super) const OPEN: [&str; 2] = ["args", "resource"];
/// The name under which the model called.
pub(super) const TOOL_NAME: &str = "tool_name";

/// Every field: root, name, type.
pub(in super::super) const FIELDS: &[(&str, &str, Ty)] = {
    use Kind::{Bool, Double, Int, Text, Word};
    use Ty::{List, One};
    &[
        ("principal", "tenant", One(Text)),
        ("principal", "user", One(Text)),
        ("principal", "roles", List(Text)),
        ("principal", "scopes", List(Text)),
        ("capability", "id", One(Text)),
        ("capability", "intent", One(Text)),
        ("capability", "namespace", One(Text)),
        ("capability", "risk", One(Word(Words::RiskClass))),
        ("capability", "side_effect", One(Word(Words::SideEffect))),
        ("capability", "mode", One(Word(Words::ExecutionMode))),
        ("capability", "cost_class", One(Word(Words::CostClass))),
        ("capability", "trust", One(Word(Words::Trust))),
        ("capability", "data_classes", List(Word(Words::DataClass))),
        ("capability", "pii_allowed", One(Bool)),
        ("capability", "idempotency_key_required", One(Bool)),
        ("turn", "tainted", One(Bool)),
        ("turn", "data_classes", List(Word(Words::DataClass))),
        ("turn", "tool_calls", One(Int)),
        ("turn", "data_class", One(Word(Words::DataClass))),
        ("turn", "region", One(Word(Words::Region))),
        ("turn", "task", One(Text)),
        ("turn", "provider", One(Text)),
        ("turn", "model", One(Text)),
        ("turn", "trigger", One(Word(Words::Trigger))),
        ("turn", "requires_approval_for_write", One(Bool)),
        ("turn", "tainted_by", List(Text)),
        ("turn", "injection_score", One(Double)),
        ("user", "spoke", One(Bool)),
        ("user", "asks", List(Word(Words::Action))),
        ("user", "asked", One(Word(Words::Asked))),
        ("user", "names_hosts", One(Bool)),
        ("call", "from_user", One(Bool)),
        ("call", "anchored", One(Bool)),
        ("call", "unnamed", List(Text)),
        ("call", "from_untrusted", List(Text)),
        ("call", "new_host", One(Bool)),
    ]
};

/// A JSON value as CEL, or why it is none.
type Converted<'a> = Result<Box<dyn Val + 'a>, String>;

/// What the conditions of one decision read: nothing is converted before a condition asks for it, and then once.
pub(in super::super) struct Facts<'a> {
    request: &'a GateRequest<'a>,
    args: OnceLock<Converted<'a>>,
    resource: OnceLock<Converted<'a>>,
    origin: OnceLock<CallOrigin>,
    asked: OnceLock<Asked>,
}

impl<'a> Facts<'a> {
    pub(in super::super) fn new(request: &'a GateRequest<'a>) -> Self {
        Self {
            request,
            args: OnceLock::new(),
            resource: OnceLock::new(),
            origin: OnceLock::new(),
            asked: OnceLock::new(),
        }
    }

    /// The arguments; an empty object when there are none.
    pub(super) fn args(&self) -> Result<&(dyn Val + 'a), String> {
        convert_once(&self.args, self.request.arguments)
    }

    /// Where the values of the call come from.
    fn origin(&self) -> &CallOrigin {
        let GateRequest { capability, arguments, turn, .. } = *self.request;
        self.origin.get_or_init(|| CallOrigin::of(capability, arguments, &turn.said, &turn.heard))
    }

    /// Whether the user asked for what the capability does.
    fn asked(&self) -> Asked {
        let GateRequest { capability, turn, .. } = *self.request;
        *self.asked.get_or_init(|| turn.said.asks_for(capability))
    }

    /// Where the values come from, when a condition wanted to know it.
    pub(in super::super) fn origin_if_read(&self) -> Option<&CallOrigin> {
        self.origin.get()
    }

    /// What the facts look-up returned; an empty object when there was none.
    pub(super) fn resource(&self) -> Result<&(dyn Val + 'a), String> {
        convert_once(&self.resource, self.request.resource)
    }
}

fn convert_once<'s, 'a>(
    cell: &'s OnceLock<Converted<'a>>,
    value: Option<&'a serde_json::Value>,
) -> Result<&'s (dyn Val + 'a), String> {
    match cell.get_or_init(|| value.map_or_else(|| Ok(json::empty()), json::to_cel)) {
        Ok(value) => Ok(value.as_ref()),
        Err(error) => Err(error.clone()),
    }
}

/// The variables of one condition.
pub(super) struct Scope<'s, 'a> {
    pub(super) facts: &'s Facts<'a>,
    pub(super) patterns: &'s [CompiledPattern],
}

impl VariableResolver for Scope<'_, '_> {
    /// The interpreter asks for the longest dotted name first, so that `turn.tainted` never builds all of `turn`.
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        let GateRequest { principal, capability, turn, tool_name, .. } = self.facts.request;
        Some(match name {
            "args" => CowVal::Borrowed(self.facts.args().ok()?),
            "resource" => CowVal::Borrowed(self.facts.resource().ok()?),
            TOOL_NAME => text(tool_name.map_or("", |name| name.as_str())),
            "principal.tenant" => text(principal.tenant.as_str()),
            "principal.user" => text(principal.user.as_str()),
            "principal.roles" => texts(principal.roles.iter().map(String::as_str)),
            "principal.scopes" => texts(principal.scopes.iter().map(|scope| scope.as_str())),
            "capability.id" => text(capability.id.as_str()),
            "capability.intent" => text(capability.intent.as_str()),
            "capability.namespace" => text(&capability.namespace),
            "capability.risk" => text(capability.governance.risk_class.as_str()),
            "capability.side_effect" => text(capability.execution.side_effect.as_str()),
            "capability.mode" => text(capability.execution.mode.as_str()),
            "capability.cost_class" => text(capability.governance.cost_class.as_str()),
            "capability.trust" => text(capability.output.trust.as_str()),
            "capability.data_classes" => texts(capability.governance.data_classes.iter().map(|class| class.as_str())),
            "capability.pii_allowed" => flag(capability.governance.pii_allowed),
            "capability.idempotency_key_required" => flag(capability.execution.idempotency_key_required),
            "turn.tainted" => flag(turn.tainted),
            "turn.data_classes" => texts(turn.data_classes.iter().map(|class| class.as_str())),
            "turn.tool_calls" => CowVal::owned(CelInt::from(i64::from(turn.tool_calls))),
            "turn.data_class" => text(turn.data_class.as_str()),
            "turn.region" => text(turn.region.as_str()),
            "turn.task" => text(turn.task.as_ref().map_or("", |task| task.as_str())),
            "turn.provider" => text(&turn.provider),
            "turn.model" => text(&turn.model),
            "turn.trigger" => text(turn.trigger.as_str()),
            "turn.requires_approval_for_write" => flag(turn.requires_approval_for_write),
            "turn.tainted_by" => texts(turn.heard.iter().map(|heard| heard.capability.as_str())),
            "turn.injection_score" => CowVal::owned(CelDouble::from(f64::from(turn.injection_score) / 1000.0)),
            "user.spoke" => flag(!turn.said.is_empty()),
            "user.asks" => texts(turn.said.asks().map(Action::as_str)),
            "user.asked" => text(self.facts.asked().as_str()),
            "user.names_hosts" => flag(turn.said.names_hosts()),
            "call.from_user" => flag(self.facts.origin().from_user()),
            "call.anchored" => flag(self.facts.origin().anchored),
            "call.new_host" => flag(self.facts.origin().new_host),
            "call.unnamed" => arguments(&self.facts.origin().unnamed, |_| true),
            "call.from_untrusted" => arguments(&self.facts.origin().unnamed, |unnamed| unnamed.source.is_some()),
            other => CowVal::Borrowed(pattern::find(self.patterns, other)?),
        })
    }
}

pub(in super::super) fn text(text: &str) -> CowVal<'_, '_> {
    CowVal::owned(CelString::from(text))
}

fn flag<'b>(flag: bool) -> CowVal<'b, 'b> {
    CowVal::owned(CelBool::from(flag))
}

pub(in super::super) fn texts<'b>(texts: impl Iterator<Item = &'b str>) -> CowVal<'b, 'b> {
    let texts: Vec<Box<dyn Val + 'b>> =
        texts.map(|text| Box::new(CelString::from(text)) as Box<dyn Val + 'b>).collect();
    CowVal::owned(CelList::from(texts))
}

fn arguments<'b>(unnamed: &'b [Unnamed], wanted: impl Fn(&Unnamed) -> bool) -> CowVal<'b, 'b> {
    texts(unnamed.iter().filter(|unnamed| wanted(unnamed)).map(|unnamed| unnamed.argument.as_str()))
}
