//! Operators and functions.

use cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue, operators as op},
};

use super::{
    super::{
        super::error::{RuleProblem, nearest},
        guard::{self, Paths, known_when},
        variable::{Kind, Ty},
    },
    Checker, comparable, guarded, require, say, words_fit,
};

/// Functions of texts: `text.name(text)`.
const TEXT_TESTS: [&str; 3] = ["contains", "startsWith", "endsWith"];
/// Everything a condition may call, for suggestions.
const FUNCTIONS: [&str; 14] = [
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "size",
    "int",
    "double",
    "string",
    "has",
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
];

impl<'e> Checker<'e> {
    pub(super) fn call(&mut self, call: &'e CallExpr, whole: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        if let Some(target) = &call.target {
            return self.member(call, target, there);
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (op::LOGICAL_AND | op::LOGICAL_OR, [_, _]) => self.logic(call, whole, there),
            (op::LOGICAL_NOT | op::NOT_STRICTLY_FALSE, [inner]) => {
                let ty = self.infer(inner, there)?;
                require(ty, Kind::Bool, "the operand of `!`")?;
                Ok(Ty::One(Kind::Bool))
            }
            (op::CONDITIONAL, [question, yes, no]) => self.conditional(question, yes, no, there),
            (op::EQUALS | op::NOT_EQUALS, [a, b]) => {
                let (left, right) = (self.infer(a, there)?, self.infer(b, there)?);
                comparable(left, right, "`==`")?;
                words_fit(left, b)?;
                words_fit(right, a)?;
                Ok(Ty::One(Kind::Bool))
            }
            (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [a, b]) => self.order(a, b, there),
            (op::IN, [element, list]) => self.membership(element, list, there),
            (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [a, b]) => {
                let (left, right) = (self.infer(a, there)?, self.infer(b, there)?);
                arithmetic(&call.func_name, left, right)
            }
            (op::NEGATE, [number]) => {
                let ty = self.infer(number, there)?;
                arithmetic(op::SUBSTRACT, ty, ty)
            }
            (op::INDEX, [_, _]) => self.index(call, whole, there),
            ("size", [value]) => self.size(value, there),
            ("int", [value]) => self.conversion(value, Kind::Int, there),
            ("double", [value]) => self.conversion(value, Kind::Double, there),
            ("string", [value]) => self.conversion(value, Kind::Text, there),
            _ => Err(unknown(&call.func_name)),
        }
    }

    /// `a && b`, `a || b`: each side may rely on what the other one asks.
    fn logic(&mut self, call: &'e CallExpr, whole: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        let decided = call.func_name == op::LOGICAL_AND;
        let mut terms = Vec::new();
        flatten(whole, &call.func_name, &mut terms);
        let known: Vec<Paths> = terms.iter().map(|term| known_when(term, decided)).collect();
        for (at, term) in terms.iter().enumerate() {
            let mut there = there.clone();
            for (_, paths) in known.iter().enumerate().filter(|(other, _)| *other != at) {
                there.extend(paths.iter().cloned());
            }
            let ty = self.infer(term, &there)?;
            require(ty, Kind::Bool, if decided { "a side of `&&`" } else { "a side of `||`" })?;
        }
        Ok(Ty::One(Kind::Bool))
    }

    fn conditional(
        &mut self,
        question: &'e IdedExpr,
        yes: &'e IdedExpr,
        no: &'e IdedExpr,
        there: &Paths,
    ) -> Result<Ty, RuleProblem> {
        let ty = self.infer(question, there)?;
        require(ty, Kind::Bool, "what stands before `?`")?;
        let yes = self.infer(yes, &(there | &known_when(question, true)))?;
        let no = self.infer(no, &(there | &known_when(question, false)))?;
        Ok(if yes == no { yes } else { Ty::One(Kind::Any) })
    }

    fn order(&mut self, a: &'e IdedExpr, b: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        let (left, right) = (self.infer(a, there)?, self.infer(b, there)?);
        for side in [left, right] {
            match side {
                Ty::One(Kind::Int | Kind::Double | Kind::Text | Kind::Any) => {}
                Ty::One(Kind::Word(words)) => {
                    let what = words.what();
                    return Err(RuleProblem::Type(format!("{what} is a word without an order; use `in [...]`")));
                }
                Ty::One(Kind::Bool | Kind::Null) | Ty::List(_) => {
                    return Err(RuleProblem::Type(format!("{} has no order", say(side))));
                }
            }
        }
        comparable(left, right, "`<`")?;
        Ok(Ty::One(Kind::Bool))
    }

    fn membership(&mut self, element: &'e IdedExpr, list: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        let (left, right) = (self.infer(element, there)?, self.infer(list, there)?);
        match right {
            Ty::List(kind) => comparable(left, Ty::One(kind), "`in`")?,
            Ty::One(Kind::Any) => {}
            Ty::One(_) => {
                return Err(RuleProblem::Type(format!("`in` needs a list on its right, this is {}", say(right))));
            }
        }
        words_fit(left, list)?;
        words_fit(right, element)?;
        Ok(Ty::One(Kind::Bool))
    }

    /// `value['key']`, the same as `value.key`.
    fn index(&mut self, call: &'e CallExpr, whole: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        let Some((base, key)) = guard::literal_index(call) else {
            return Err(RuleProblem::Unsupported(
                "an index that is no literal text, which may point to nothing; use `in`, `exists` or `all`".to_owned(),
            ));
        };
        self.open(base, key, there)?;
        guarded(whole, base, key, there)
    }

    fn member(&mut self, call: &'e CallExpr, target: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("size", []) => self.size(target, there),
            ("matches", [pattern]) => {
                let ty = self.infer(target, there)?;
                require(ty, Kind::Text, "what `matches` is asked of")?;
                if !matches!(pattern.expr, Expr::Literal(LiteralValue::String(_))) {
                    return Err(RuleProblem::Unsupported("a pattern for `matches` that is no literal text".to_owned()));
                }
                Ok(Ty::One(Kind::Bool))
            }
            (name, [argument]) if TEXT_TESTS.contains(&name) => {
                let (of, with) = (self.infer(target, there)?, self.infer(argument, there)?);
                require(of, Kind::Text, &format!("what `{name}` is asked of"))?;
                require(with, Kind::Text, &format!("what `{name}` looks for"))?;
                Ok(Ty::One(Kind::Bool))
            }
            (name, _) => Err(unknown(name)),
        }
    }

    fn size(&mut self, of: &'e IdedExpr, there: &Paths) -> Result<Ty, RuleProblem> {
        match self.infer(of, there)? {
            Ty::List(_) | Ty::One(Kind::Text | Kind::Word(_) | Kind::Any) => Ok(Ty::One(Kind::Int)),
            ty @ Ty::One(Kind::Bool | Kind::Int | Kind::Double | Kind::Null) => {
                Err(RuleProblem::Type(format!("{} has no size", say(ty))))
            }
        }
    }

    fn conversion(&mut self, value: &'e IdedExpr, to: Kind, there: &Paths) -> Result<Ty, RuleProblem> {
        match self.infer(value, there)? {
            Ty::One(Kind::Int | Kind::Double | Kind::Text | Kind::Word(_) | Kind::Any) => Ok(Ty::One(to)),
            ty @ (Ty::One(Kind::Bool | Kind::Null) | Ty::List(_)) => {
                Err(RuleProblem::Type(format!("{} cannot be made {}", say(ty), say(Ty::One(to)))))
            }
        }
    }
}

/// The terms of a chain of one operator, in order.
fn flatten<'e>(expr: &'e IdedExpr, operator: &str, terms: &mut Vec<&'e IdedExpr>) {
    match &expr.expr {
        Expr::Call(call) if call.func_name == operator && call.target.is_none() => {
            call.args.iter().for_each(|arg| flatten(arg, operator, terms));
        }
        Expr::Call(_)
        | Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => terms.push(expr),
    }
}

fn arithmetic(operator: &str, left: Ty, right: Ty) -> Result<Ty, RuleProblem> {
    let sign = operator.trim_matches('_');
    match (left, right) {
        (Ty::One(Kind::Any), Ty::One(Kind::Int | Kind::Double | Kind::Any)) => Ok(left),
        (Ty::One(Kind::Int | Kind::Double), Ty::One(Kind::Any)) => Ok(right),
        (Ty::One(a @ (Kind::Int | Kind::Double)), Ty::One(b)) if a == b => Ok(left),
        (Ty::One(Kind::Text | Kind::Word(_) | Kind::Any), Ty::One(Kind::Text | Kind::Word(_) | Kind::Any))
            if operator == op::ADD =>
        {
            Ok(Ty::One(Kind::Text))
        }
        (Ty::List(a), Ty::List(b)) if operator == op::ADD => Ok(Ty::List(if a == b { a } else { Kind::Any })),
        (Ty::One(_) | Ty::List(_), Ty::One(_) | Ty::List(_)) => {
            Err(RuleProblem::Type(format!("`{sign}` cannot take {} and {}", say(left), say(right))))
        }
    }
}

fn unknown(name: &str) -> RuleProblem {
    RuleProblem::UnknownFunction { name: name.to_owned(), nearest: nearest(name, FUNCTIONS) }
}
