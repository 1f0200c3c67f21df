//! The condition of a rule: a CEL expression that was checked when it was loaded, so that little can go wrong when it
//! is evaluated, and what still goes wrong denies.

mod check;
mod guard;
mod json;
mod pattern;
mod variable;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
};

use cel::{Context, Env, ExecutionError, IdedExpr, Value, common::types::CelBool};

#[cfg(test)]
pub(super) use self::variable::FIELDS;
pub(super) use self::{
    check::check_value,
    variable::{Facts, text, texts},
};
use self::{pattern::CompiledPattern, variable::Scope};
use super::error::{PolicyError, RuleProblem};

/// The longest condition, in bytes.
pub(super) const MAX_SOURCE_BYTES: usize = 4096;
/// The most opening brackets in a condition, those inside texts counted too.
const MAX_BRACKETS: usize = 64;
/// The deepest nesting of a condition; a call costs a few kilobytes of stack per level when it is evaluated.
pub(super) const MAX_DEPTH: usize = 64;
/// The stack of the thread that reads conditions: reserved, and used only as far as it is needed. The parser looks ahead
/// into brackets before it counts their nesting; a hundred open ones filled 16 MiB (cel 0.15.0, debug build).
const STACK_BYTES: usize = 64 << 20;

/// The functions and macros conditions are evaluated with.
pub(super) static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib().with_optional_support(false);
    let added = pattern::register(&mut env);
    debug_assert!(added.is_ok(), "{added:?}");
    Arc::new(env)
});

/// A checked condition.
#[derive(Debug)]
pub(super) struct Condition {
    expr: IdedExpr,
    /// The regular expressions it uses, compiled once.
    patterns: Vec<CompiledPattern>,
    uses: check::Uses,
}

impl Condition {
    /// Whether it speaks of the call itself (`args`, `resource`, `tool_name`, `call`), and so has no answer before there is one.
    pub(super) fn needs_call(&self) -> bool {
        self.uses.args || self.uses.resource || self.uses.tool_name || self.uses.call
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// What went wrong, without the values it went wrong with.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> Result<bool, String> {
        if self.uses.args {
            facts.args()?;
        }
        if self.uses.resource {
            facts.resource()?;
        }
        let scope = Scope { facts, patterns: &self.patterns };
        let mut context = Context::with_env(Arc::clone(&ENV));
        context.set_variable_resolver(&scope);
        let value = Value::resolve_val(&self.expr, &context).map_err(|error| describe(&error))?;
        value
            .downcast_ref::<CelBool>()
            .map(|answer| *answer.inner())
            .ok_or_else(|| format!("the condition is of type {}, not true or false", value.get_type().name()))
    }
}

/// Reads conditions, on a thread of its own with a stack that hostile nesting does not exhaust.
///
/// # Errors
/// [`PolicyError::Compiler`] when the thread cannot be started.
pub(super) fn compile_all(
    sources: &[Option<&str>],
) -> Result<Vec<Option<Result<Condition, RuleProblem>>>, PolicyError> {
    if sources.iter().all(Option::is_none) {
        return Ok(sources.iter().map(|_| None).collect());
    }
    on_reader(|| sources.iter().map(|source| source.map(compile)).collect())
}

/// Runs `work` on a thread whose stack is deep enough to read expressions.
pub(super) fn on_reader<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, PolicyError> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("policy-load".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(|error| PolicyError::Compiler(error.to_string()))?;
        reader.join().map_err(|_| PolicyError::Compiler("the reading thread died".to_owned()))
    })
}

/// Reads and checks one condition. Only [`compile_all`] calls it, since it needs the stack.
fn compile(source: &str) -> Result<Condition, RuleProblem> {
    let mut expr = parse(source)?;
    let uses = check::check(&expr)?;
    let patterns = pattern::compile(&mut expr)?;
    Ok(Condition { expr, patterns, uses })
}

/// Reads an expression. Only on the thread of [`on_reader`].
pub(super) fn parse(source: &str) -> Result<IdedExpr, RuleProblem> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(RuleProblem::TooLong { bytes: source.len(), limit: MAX_SOURCE_BYTES });
    }
    if source.matches(['(', '[', '{']).count() > MAX_BRACKETS {
        return Err(RuleProblem::TooManyBrackets(MAX_BRACKETS));
    }
    let parsed = catch_unwind(AssertUnwindSafe(|| ENV.parser().parse(source)))
        .map_err(|_| RuleProblem::Syntax("the parser gave up on it".to_owned()))?;
    parsed.map_err(|errors| {
        let messages: Vec<_> = errors.errors.iter().take(3).map(|error| error.msg.as_str()).collect();
        RuleProblem::Syntax(messages.join("; "))
    })
}

/// An evaluation error in words. Only names and types are told: the values are arguments of a call and may be secret.
pub(super) fn describe(error: &ExecutionError) -> String {
    if let ExecutionError::NoSuchKey(key) = error {
        return format!("there is no `{}`", key.chars().take(80).collect::<String>());
    }
    if let ExecutionError::NoSuchOverload(_) | ExecutionError::UnexpectedType { .. } = error {
        return error.to_string().chars().take(200).collect();
    }
    if let ExecutionError::Overflow(..) = error {
        return "a number overflows".to_owned();
    }
    if let ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) = error {
        return "a number is divided by zero".to_owned();
    }
    if let ExecutionError::FunctionError { function, .. } = error {
        return format!("`{function}` failed");
    }
    "the types of the values do not fit the operation".to_owned()
}
