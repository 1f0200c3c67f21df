//! Which values that may be absent are known to be there, and where.

use std::collections::BTreeSet;

use cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue, operators},
};

/// Paths that are there.
pub(super) type Paths = BTreeSet<String>;

/// What an expression reads, as it is written: `args.to`, `args["a.b"]`, `item.name`. `None` when it is no plain path.
pub(super) fn path(expr: &IdedExpr) -> Option<String> {
    match &expr.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => Some(child(&path(&select.operand)?, &select.field)),
        Expr::Call(call) => {
            let (base, key) = literal_index(call)?;
            Some(child(&path(base)?, key))
        }
        Expr::Select(_)
        | Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_) => None,
    }
}

/// The path of a field.
pub(super) fn child(base: &str, field: &str) -> String {
    if is_identifier(field) { format!("{base}.{field}") } else { format!("{base}[{field:?}]") }
}

/// The question whether `base` has `field`, as one would write it.
pub(super) fn question(base: &str, field: &str) -> String {
    if is_identifier(field) { format!("has({base}.{field})") } else { format!("{field:?} in {base}") }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `base['key']`.
pub(super) fn literal_index(call: &CallExpr) -> Option<(&IdedExpr, &str)> {
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::INDEX, [base, IdedExpr { expr: Expr::Literal(LiteralValue::String(key)), .. }]) => {
            Some((base, key.inner()))
        }
        _ => None,
    }
}

/// What is there when `expr` is `outcome`.
///
/// INVARIANT: when one of the paths is absent, `expr` is the other truth value and not an error. CEL's `&&` and `||`
/// are false and true as soon as one side is, whatever the other side does, and so a guard protects both its sides.
pub(super) fn known_when(expr: &IdedExpr, outcome: bool) -> Paths {
    let call = match &expr.expr {
        Expr::Select(select) if select.test && outcome => {
            return path(&select.operand).map(|base| child(&base, &select.field)).into_iter().collect();
        }
        Expr::Call(call) => call,
        Expr::Select(_)
        | Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_) => return Paths::new(),
    };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::LOGICAL_NOT, [inner]) => known_when(inner, !outcome),
        (operators::LOGICAL_AND, [a, b]) if outcome => &known_when(a, true) | &known_when(b, true),
        (operators::LOGICAL_AND, [a, b]) => &known_when(a, false) & &known_when(b, false),
        (operators::LOGICAL_OR, [a, b]) if outcome => &known_when(a, true) & &known_when(b, true),
        (operators::LOGICAL_OR, [a, b]) => &known_when(a, false) | &known_when(b, false),
        (operators::IN, [IdedExpr { expr: Expr::Literal(LiteralValue::String(key)), .. }, map]) if outcome => {
            path(map).map(|base| child(&base, key.inner())).into_iter().collect()
        }
        _ => Paths::new(),
    }
}
