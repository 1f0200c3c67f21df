//! The load-time check of a condition: every name is known, types that are known fit, and what may be absent is asked
//! for before it is used. What passes can only fail on arguments of an odd type, and then it denies.

mod call;

use cel::{
    IdedExpr,
    common::ast::{ComprehensionExpr, Expr, LiteralValue, SelectExpr},
};

use super::{
    super::error::{RuleProblem, nearest},
    MAX_DEPTH,
    guard::{self, Paths},
    variable::{CALL, FIELDS, Kind, OPEN, ROOTS, TOOL_NAME, Ty, Words},
};

/// Which parts of a call a condition speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Uses {
    pub(in super::super) args: bool,
    pub(in super::super) resource: bool,
    pub(in super::super) tool_name: bool,
    pub(in super::super) call: bool,
}

/// Checks a whole condition.
///
/// # Errors
/// The first thing that is wrong, reading from the left.
pub(super) fn check(expr: &IdedExpr) -> Result<Uses, RuleProblem> {
    let mut checker = Checker { locals: Vec::new(), uses: Uses::default(), depth: 0 };
    let ty = checker.infer(expr, &Paths::new())?;
    require(ty, Kind::Bool, "the condition")?;
    Ok(checker.uses)
}

/// Checks an expression that gives a value: a number, or true or false.
///
/// # Errors
/// The first thing that is wrong, reading from the left.
pub(in super::super) fn check_value(expr: &IdedExpr) -> Result<(), RuleProblem> {
    let mut checker = Checker { locals: Vec::new(), uses: Uses::default(), depth: 0 };
    match checker.infer(expr, &Paths::new())? {
        Ty::One(Kind::Bool | Kind::Int | Kind::Double | Kind::Any) => Ok(()),
        ty @ (Ty::One(Kind::Text | Kind::Word(_) | Kind::Null) | Ty::List(_)) => {
            Err(RuleProblem::Type(format!("it has to be a number, or true or false; it is {}", say(ty))))
        }
    }
}

struct Checker<'e> {
    /// The variables of the macros around, innermost last.
    locals: Vec<(&'e str, Ty)>,
    uses: Uses,
    depth: usize,
}

/// Refuses `ty` unless it is `wanted` or not known.
fn require(ty: Ty, wanted: Kind, what: &str) -> Result<(), RuleProblem> {
    match ty {
        Ty::One(kind) if kind == Kind::Any || kind == wanted => Ok(()),
        Ty::One(Kind::Word(_)) if wanted == Kind::Text => Ok(()),
        Ty::One(_) | Ty::List(_) => {
            Err(RuleProblem::Type(format!("{what} has to be {}, it is {}", say(Ty::One(wanted)), say(ty))))
        }
    }
}

/// A type in words.
fn say(ty: Ty) -> String {
    let one = |kind: Kind| match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Int => "a whole number".to_owned(),
        Kind::Double => "a number".to_owned(),
        Kind::Text => "a text".to_owned(),
        Kind::Word(words) => format!("{} (a text)", words.what()),
        Kind::Null => "null".to_owned(),
        Kind::Any => "a value of a call".to_owned(),
    };
    match ty {
        Ty::One(kind) => one(kind),
        Ty::List(kind) => format!("a list (of {})", one(kind)),
    }
}

impl<'e> Checker<'e> {
    /// The type of `expr`, given what is known to be there.
    fn infer(&mut self, expr: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        if self.depth >= MAX_DEPTH {
            return Err(RuleProblem::TooDeep(MAX_DEPTH));
        }
        self.depth += 1;
        let ty = match &expr.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select, expr, there),
            Expr::Call(call) => self.call(call, expr, there),
            Expr::List(list) => {
                let mut kinds = Vec::with_capacity(list.elements.len());
                for element in &list.elements {
                    kinds.push(self.infer(element, there)?);
                }
                Ok(Ty::List(common_kind(&kinds)))
            }
            Expr::Comprehension(loops) => self.comprehension(loops, there),
            Expr::Map(_) => Err(RuleProblem::Unsupported("a map literal".to_owned())),
            Expr::Struct(_) => Err(RuleProblem::Unsupported("a message literal".to_owned())),
            Expr::Unspecified => Err(RuleProblem::Syntax("a part of it is empty".to_owned())),
        }?;
        self.depth -= 1;
        Ok(ty)
    }

    fn local(&self, name: &str) -> Option<Ty> {
        self.locals.iter().rev().find(|(local, _)| *local == name).map(|(_, ty)| *ty)
    }

    fn variable(&mut self, name: &str) -> Result<Ty, RuleProblem> {
        if let Some(ty) = self.local(name) {
            return Ok(ty);
        }
        match name {
            "args" => self.uses.args = true,
            "resource" => self.uses.resource = true,
            TOOL_NAME => {
                self.uses.tool_name = true;
                return Ok(Ty::One(Kind::Text));
            }
            root if ROOTS.contains(&root) => {
                return Err(RuleProblem::Unsupported(format!("`{root}` as a whole; name one of its fields")));
            }
            other => {
                let known = ROOTS.into_iter().chain(OPEN).chain([TOOL_NAME]);
                return Err(RuleProblem::UnknownVariable { name: other.to_owned(), nearest: nearest(other, known) });
            }
        }
        Ok(Ty::One(Kind::Any))
    }

    /// The root that `expr` names, when it is one of those with known fields.
    fn root(&self, expr: &'e IdedExpr) -> Option<&'e str> {
        match &expr.expr {
            Expr::Ident(name) if ROOTS.contains(&name.as_str()) && self.local(name).is_none() => Some(name),
            Expr::Ident(_)
            | Expr::Unspecified
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => None,
        }
    }

    fn select(&mut self, select: &'e SelectExpr, whole: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        if let Some(root) = self.root(&select.operand) {
            self.uses.call |= root == CALL;
            let ty = field_type(root, &select.field)?;
            return if select.test {
                Err(RuleProblem::Unsupported(format!("`has({root}.{})`, which is always there", select.field)))
            } else {
                Ok(ty)
            };
        }
        self.open(&select.operand, &select.field, there)?;
        if select.test {
            return Ok(Ty::One(Kind::Bool));
        }
        guarded(whole, &select.operand, &select.field, there)
    }

    /// Checks that `operand` can have fields.
    fn open(&mut self, operand: &'e IdedExpr, field: &str, there: &Paths) -> Result<(), RuleProblem> {
        match self.infer(operand, there)? {
            Ty::One(Kind::Any) => Ok(()),
            ty @ (Ty::One(_) | Ty::List(_)) => {
                Err(RuleProblem::Type(format!("`.{field}` is asked of {}, which has no fields", say(ty))))
            }
        }
    }

    fn comprehension(&mut self, loops: &'e ComprehensionExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        let element = match self.infer(&loops.iter_range, there)? {
            Ty::List(kind) => Ty::One(kind),
            Ty::One(Kind::Any) => Ty::One(Kind::Any),
            ty @ Ty::One(_) => {
                return Err(RuleProblem::Type(format!("a list is needed to go through, this is {}", say(ty))));
            }
        };
        self.refuse_nested_range(&loops.iter_range)?;
        let name = loops.iter_var.as_str();
        if self.local(name).is_some() || ROOTS.contains(&name) || OPEN.contains(&name) || name == TOOL_NAME {
            return Err(RuleProblem::Unsupported(format!("`{name}` for a second variable; choose another name")));
        }
        let start = self.infer(&loops.accu_init, there)?;
        self.locals.push((name, element));
        self.locals.push((&loops.accu_var, start));
        for part in [&loops.loop_cond, &loops.loop_step] {
            self.infer(part, there)?;
        }
        let ty = self.infer(&loops.result, there)?;
        self.locals.truncate(self.locals.len().saturating_sub(2));
        Ok(ty)
    }

    /// Refuses to go through a whole argument once for each element of another: a call could make that take for ever.
    fn refuse_nested_range(&self, range: &'e IdedExpr) -> Result<(), RuleProblem> {
        let references = range.references();
        if !self.locals.is_empty() && OPEN.iter().any(|open| references.has_variable(open)) {
            return Err(RuleProblem::Unsupported(
                "a list of the call inside the loop over another; use `in`, or a list of the outer element".to_owned(),
            ));
        }
        Ok(())
    }
}

/// Refuses `operand.field` unless it is known to be there.
fn guarded(whole: &IdedExpr, operand: &IdedExpr, field: &str, there: &Paths) -> Result<Ty, RuleProblem> {
    match (guard::path(whole), guard::path(operand)) {
        (Some(path), _) if there.contains(&path) => Ok(Ty::One(Kind::Any)),
        (Some(path), Some(base)) => Err(RuleProblem::MissingGuard { path, guard: guard::question(&base, field) }),
        (Some(_) | None, Some(_) | None) => {
            Err(RuleProblem::Unsupported(format!("`.{field}` of a computed value, which may have no such field")))
        }
    }
}

fn field_type(root: &str, field: &str) -> Result<Ty, RuleProblem> {
    let mut fields = FIELDS.iter().filter(|(owner, _, _)| *owner == root);
    fields.clone().find(|(_, name, _)| *name == field).map(|(_, _, ty)| *ty).ok_or_else(|| RuleProblem::UnknownField {
        root: root.to_owned(),
        field: field.to_owned(),
        nearest: nearest(field, fields.by_ref().map(|(_, name, _)| *name)),
    })
}

fn literal_type(literal: &LiteralValue) -> Result<Ty, RuleProblem> {
    Ok(Ty::One(match literal {
        LiteralValue::Boolean(_) => Kind::Bool,
        LiteralValue::Int(_) => Kind::Int,
        LiteralValue::Double(_) => Kind::Double,
        LiteralValue::String(_) => Kind::Text,
        LiteralValue::Null => Kind::Null,
        LiteralValue::UInt(_) => return Err(RuleProblem::Unsupported("an unsigned literal; leave the `u` out".into())),
        LiteralValue::Bytes(_) => return Err(RuleProblem::Unsupported("a bytes literal".to_owned())),
    }))
}

/// The kind all elements have, `Any` where they differ.
fn common_kind(elements: &[Ty]) -> Kind {
    match elements.split_first() {
        Some((Ty::One(first), rest)) if rest.iter().all(|ty| *ty == Ty::One(*first)) => *first,
        _ => Kind::Any,
    }
}

/// Refuses a comparison of two types that are never equal.
fn comparable(a: Ty, b: Ty, what: &str) -> Result<(), RuleProblem> {
    let fits = |a: Kind, b: Kind| match (a, b) {
        (Kind::Any, _) | (_, Kind::Any) => true,
        (Kind::Word(a), Kind::Word(b)) => a == b,
        (Kind::Text | Kind::Word(_), Kind::Text | Kind::Word(_)) => true,
        (Kind::Int | Kind::Double, Kind::Int | Kind::Double) => true,
        (a, b) => a == b,
    };
    let fit = match (a, b) {
        (Ty::One(a), Ty::One(b)) | (Ty::List(a), Ty::List(b)) => fits(a, b),
        (Ty::One(kind), Ty::List(_)) | (Ty::List(_), Ty::One(kind)) => kind == Kind::Any,
    };
    if fit { Ok(()) } else { Err(RuleProblem::Type(format!("{what} compares {} with {}", say(a), say(b)))) }
}

/// Refuses literals that are no word of the list the other side is of.
fn words_fit(side: Ty, other: &IdedExpr) -> Result<(), RuleProblem> {
    let (Ty::One(Kind::Word(words)) | Ty::List(Kind::Word(words))) = side else { return Ok(()) };
    let elements =
        if let Expr::List(list) = &other.expr { list.elements.as_slice() } else { std::slice::from_ref(other) };
    elements.iter().try_for_each(|element| match &element.expr {
        Expr::Literal(LiteralValue::String(word)) => word_fits(words, word.inner()),
        Expr::Literal(_)
        | Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => Ok(()),
    })
}

fn word_fits(words: Words, word: &str) -> Result<(), RuleProblem> {
    let all = words.all();
    if all.contains(&word) {
        return Ok(());
    }
    Err(RuleProblem::UnknownWord { what: words.what(), word: word.to_owned(), nearest: nearest(word, all) })
}
