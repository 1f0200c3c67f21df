//! Expressions that give a value when a turn begins, e.g. a limit: CEL over what is known of it by then.

use std::sync::Arc;

use cel::{Context, IdedExpr, Value, common::value::CowVal, context::VariableResolver};

use super::{
    condition::{ENV, check_value, describe, on_reader, parse, text, texts},
    decision::Principal,
    error::{PolicyError, RuleProblem},
};
use crate::types::{DataClass, Region, TaskType};

/// What is known when a turn begins: `principal.{tenant, user, roles, scopes}` and `turn.{task, data_class, region,
/// provider, model}` of rules, by the same names.
#[derive(Debug, Clone, Copy)]
pub struct ExpressionFacts<'a> {
    /// On whose behalf.
    pub principal: &'a Principal,
    /// What kind of work it is.
    pub task: Option<&'a TaskType>,
    /// The class of the data the turn works on.
    pub data_class: DataClass,
    /// Where it is served.
    pub region: Region,
    /// The provider of the model.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
}

/// What an expression can give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpressionValue {
    /// A number.
    Number(f64),
    /// True or false.
    Switch(bool),
}

/// A checked expression.
#[derive(Debug)]
pub struct Expression(IdedExpr);

/// What is not known yet when a turn begins.
const LATER: [&str; 6] = ["capability", "user", "call", "args", "resource", "tool_name"];

/// Its fields that change while it runs.
const LATER_OF_TURN: [&str; 6] = [
    "turn.injection_score",
    "turn.tainted",
    "turn.data_classes",
    "turn.tool_calls",
    "turn.trigger",
    "turn.requires_approval_for_write",
];

impl Expression {
    /// Reads and checks expressions.
    ///
    /// # Errors
    /// [`PolicyError`] when they cannot be read at all; the problem of each one that is wrong.
    pub fn compile_all(sources: &[&str]) -> Result<Vec<Result<Self, RuleProblem>>, PolicyError> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        on_reader(|| sources.iter().map(|source| Self::compile(source)).collect())
    }

    fn compile(source: &str) -> Result<Self, RuleProblem> {
        let expr = parse(source)?;
        let references = expr.references();
        if let Some(later) = LATER.iter().find(|name| references.has_variable(name)) {
            return Err(RuleProblem::Unsupported(format!("`{later}`, which is not known when a turn begins")));
        }
        if let Some(later) = LATER_OF_TURN.iter().find(|name| source.contains(**name)) {
            return Err(RuleProblem::Unsupported(format!("`{later}`, which is not known when a turn begins")));
        }
        if references.has_function("matches") {
            return Err(RuleProblem::Unsupported("`matches`; compare, or use `startsWith` and `endsWith`".to_owned()));
        }
        check_value(&expr)?;
        Ok(Self(expr))
    }

    /// The value for one turn.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn evaluate(&self, facts: &ExpressionFacts<'_>) -> Result<ExpressionValue, String> {
        let mut context = Context::with_env(Arc::clone(&ENV));
        context.set_variable_resolver(facts);
        let value = Value::resolve(&self.0, &context).map_err(|error| describe(&error))?;
        #[expect(clippy::cast_precision_loss, reason = "limits end far below 2^53")]
        match value {
            Value::Int(number) => Ok(ExpressionValue::Number(number as f64)),
            Value::UInt(number) => Ok(ExpressionValue::Number(number as f64)),
            Value::Float(number) => Ok(ExpressionValue::Number(number)),
            Value::Bool(switch) => Ok(ExpressionValue::Switch(switch)),
            other @ (Value::List(_)
            | Value::Map(_)
            | Value::Function(..)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Opaque(_)
            | Value::Struct(_)
            | Value::Null) => Err(format!("it gives a {}, not a number, true or false", other.type_of())),
        }
    }
}

impl VariableResolver for ExpressionFacts<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        let Self { principal, task, data_class, region, provider, model } = self;
        Some(match name {
            "principal.tenant" => text(principal.tenant.as_str()),
            "principal.user" => text(principal.user.as_str()),
            "principal.roles" => texts(principal.roles.iter().map(String::as_str)),
            "principal.scopes" => texts(principal.scopes.iter().map(|scope| scope.as_str())),
            "turn.task" => text(task.map_or("", |task| task.as_str())),
            "turn.data_class" => text(data_class.as_str()),
            "turn.region" => text(region.as_str()),
            "turn.provider" => text(provider),
            "turn.model" => text(model),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::types::{TenantId, UserId};

    fn value(source: &str) -> Result<ExpressionValue, String> {
        let principal = Principal {
            tenant: TenantId::new("acme").unwrap(),
            user: UserId::new("ann").unwrap(),
            roles: ["vip".to_owned()].into(),
            scopes: Default::default(),
        };
        let task = TaskType::new("research").unwrap();
        let facts = ExpressionFacts {
            principal: &principal,
            task: Some(&task),
            data_class: DataClass::Public,
            region: Region::Eu,
            provider: "openai",
            model: "gpt-5",
        };
        let compiled = Expression::compile_all(&[source]).unwrap().remove(0).map_err(|error| error.to_string())?;
        compiled.evaluate(&facts)
    }

    #[test]
    fn a_value_follows_from_who_asks_for_what() {
        use ExpressionValue::{Number, Switch};
        for (source, expected) in [
            ("principal.roles.exists(r, r == 'vip') ? 5.0 : 0.5", Number(5.0)),
            ("'vip' in principal.roles && turn.task == 'research' ? 20 : 5", Number(20.0)),
            ("turn.region == 'eu' && principal.tenant != 'other'", Switch(true)),
            ("2 * 3 + size(principal.scopes)", Number(6.0)),
        ] {
            assert_eq!(value(source), Ok(expected), "{source}");
        }
    }

    #[test]
    fn what_cannot_give_a_limit_is_refused_when_it_is_read() {
        for (source, why) in [
            ("principal.rols.exists(r, r == 'vip') ? 5 : 1", "no field of that name"),
            ("principal.tenant", "has to be a number"),
            ("turn.tool_calls > 3 ? 1 : 2", "not known when a turn begins"),
            ("args.amount > 3 ? 1 : 2", "not known when a turn begins"),
            ("1 +", "no CEL expression"),
            ("int(principal.tenant)", "failed"),
        ] {
            let error = value(source).unwrap_err();
            assert!(error.contains(why), "{source}: {error}");
        }
    }
}
