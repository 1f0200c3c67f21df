//! Regular expressions of conditions, compiled when the rule is loaded and not each time it is asked.
//!
//! `matches('…')` is rewritten to take a variable that holds the compiled expression; the interpreter picks the
//! overload by its type.

use std::any::Any;

use cel::{
    DeclarationError, Env, ExecutionError, IdedExpr,
    common::{
        ast::{EntryExpr, Expr, LiteralValue},
        types::{CelBool, CelString, STRING_TYPE, Type},
        value::{CowVal, StaticVal, Val},
    },
};
use regex::Regex;

use super::super::error::RuleProblem;

/// What the names of the variables begin with; no source text can spell it.
const PREFIX: &str = "@pattern";

const PATTERN: Type = Type::new_unspecified_type("agcore.pattern");
static PATTERN_TYPE: Type = PATTERN;

/// A compiled regular expression as a CEL value.
#[derive(Debug, Clone)]
pub(super) struct CompiledPattern(Regex);

impl Val for CompiledPattern {
    fn get_type(&self) -> &Type {
        &PATTERN_TYPE
    }

    fn cel_type() -> &'static Type {
        &PATTERN_TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for CompiledPattern {}

/// Adds the overload that takes a compiled expression.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_member_overload("matches", "string_matches_compiled", STRING_TYPE, vec![PATTERN], matches)
}

fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [text, pattern] = args.as_slice() else {
        return Err(ExecutionError::invalid_argument_count(2, args.len()));
    };
    match (text.downcast_ref::<CelString<'_>>(), pattern.downcast_ref::<CompiledPattern>()) {
        (Some(text), Some(pattern)) => Ok(CowVal::owned(CelBool::from(pattern.0.is_match(text.inner())))),
        (Some(_) | None, Some(_) | None) => Err(ExecutionError::missing_argument_or_target()),
    }
}

/// The pattern a variable name stands for.
pub(super) fn find<'p>(patterns: &'p [CompiledPattern], name: &str) -> Option<&'p CompiledPattern> {
    patterns.get(name.strip_prefix(PREFIX)?.parse::<usize>().ok()?)
}

/// Takes every literal pattern out of `expr` and compiles it.
pub(super) fn compile(expr: &mut IdedExpr) -> Result<Vec<CompiledPattern>, RuleProblem> {
    let mut patterns = Vec::new();
    extract(expr, &mut patterns)?;
    Ok(patterns)
}

fn extract(expr: &mut IdedExpr, patterns: &mut Vec<CompiledPattern>) -> Result<(), RuleProblem> {
    match &mut expr.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                extract(target, patterns)?;
            }
            if let ("matches", [IdedExpr { expr: pattern, .. }]) = (call.func_name.as_str(), call.args.as_mut_slice())
                && let Expr::Literal(LiteralValue::String(source)) = pattern
            {
                let compiled = Regex::new(source.inner())
                    .map_err(|error| RuleProblem::Syntax(format!("`{}` is no pattern: {error}", source.inner())))?;
                *pattern = Expr::Ident(format!("{PREFIX}{}", patterns.len()));
                patterns.push(CompiledPattern(compiled));
                return Ok(());
            }
            call.args.iter_mut().try_for_each(|arg| extract(arg, patterns))
        }
        Expr::Comprehension(loops) => {
            [&mut loops.iter_range, &mut loops.accu_init, &mut loops.loop_cond, &mut loops.loop_step, &mut loops.result]
                .into_iter()
                .try_for_each(|part| extract(part, patterns))
        }
        Expr::List(list) => list.elements.iter_mut().try_for_each(|element| extract(element, patterns)),
        Expr::Select(select) => extract(&mut select.operand, patterns),
        Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| extract_entry(&mut entry.expr, patterns)),
        Expr::Struct(made) => made.entries.iter_mut().try_for_each(|entry| extract_entry(&mut entry.expr, patterns)),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Ok(()),
    }
}

fn extract_entry(entry: &mut EntryExpr, patterns: &mut Vec<CompiledPattern>) -> Result<(), RuleProblem> {
    match entry {
        EntryExpr::StructField(field) => extract(&mut field.value, patterns),
        EntryExpr::MapEntry(entry) => {
            extract(&mut entry.key, patterns)?;
            extract(&mut entry.value, patterns)
        }
    }
}
