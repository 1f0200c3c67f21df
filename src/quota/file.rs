//! From YAML to what was allotted.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de};

use crate::{
    policy::{Expression, ExpressionValue, Glob},
    types::{DurationMs, MicroUsd, hex, texts_hash},
};

use super::{
    Budget, QuotaError, Quotas, Rate, Scope, UnknownPrice, Window,
    limit::{LimitKey, LimitRow, LimitValue},
    scope::Subjects,
    tenant::TenantRule,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    budgets: Option<Vec<BudgetSpec>>,
    rates: Option<Vec<RateSpec>>,
    tenants: Option<Vec<TenantSpec>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetSpec {
    id: String,
    scope: Scope,
    #[serde(rename = "match")]
    pattern: Option<String>,
    tenant: Option<String>,
    window: Option<Window>,
    usd: f64,
    #[serde(default)]
    unknown_price: UnknownPrice,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateSpec {
    id: String,
    scope: Scope,
    #[serde(rename = "match")]
    pattern: Option<String>,
    tenant: Option<String>,
    capability: Vec<String>,
    calls: Option<u32>,
    per_ms: Option<u64>,
    at_once: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantSpec {
    tenant: String,
    task: Option<String>,
    only: Option<Vec<String>>,
    #[serde(default)]
    hide: Vec<String>,
    #[serde(default)]
    limits: BTreeMap<LimitKey, Written>,
}

/// A limit as it is written: a number, true or false, or a text with an expression.
#[derive(Debug)]
enum Written {
    Fixed(ExpressionValue),
    Computed(String),
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct WrittenVisitor;
        impl de::Visitor<'_> for WrittenVisitor {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, true or false, or a text with an expression")
            }

            fn visit_bool<E>(self, switch: bool) -> Result<Written, E> {
                Ok(Written::Fixed(ExpressionValue::Switch(switch)))
            }

            #[expect(clippy::cast_precision_loss, reason = "limits end far below 2^53")]
            fn visit_u64<E>(self, number: u64) -> Result<Written, E> {
                Ok(Written::Fixed(ExpressionValue::Number(number as f64)))
            }

            #[expect(clippy::cast_precision_loss, reason = "limits end far below 2^53")]
            fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
                Ok(Written::Fixed(ExpressionValue::Number(number as f64)))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Written, E> {
                Ok(Written::Fixed(ExpressionValue::Number(number)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Written, E> {
                Ok(Written::Computed(text.to_owned()))
            }
        }
        d.deserialize_any(WrittenVisitor)
    }
}

pub(super) fn load(files: &[(&str, &str)]) -> Result<Quotas, QuotaError> {
    let mut quotas = Quotas { version: hex(&texts_hash(files)), ..Quotas::default() };
    for (name, text) in files {
        let fail = |why: String| QuotaError::File { file: (*name).to_owned(), why };
        let file: File = serde_saphyr::from_str(text).map_err(|error| fail(error.to_string()))?;
        for spec in file.budgets.unwrap_or_default() {
            let id = spec.id.clone();
            let known = quotas.budgets.iter().any(|known| known.id == id);
            quotas.budgets.push(budget(spec, known).map_err(|why| row(name, "budget", &id, why))?);
        }
        for spec in file.rates.unwrap_or_default() {
            let id = spec.id.clone();
            let known = quotas.rates.iter().any(|known| known.id == id);
            quotas.rates.push(rate(spec, known).map_err(|why| row(name, "rate", &id, why))?);
        }
        for spec in file.tenants.unwrap_or_default() {
            let id = spec.tenant.clone();
            quotas.tenants.push(tenant(name, spec).map_err(|why| row(name, "tenant", &id, why))?);
        }
    }
    Ok(quotas)
}

fn row(file: &str, kind: &'static str, row: &str, why: String) -> QuotaError {
    QuotaError::Row { file: file.to_owned(), kind, row: row.to_owned(), why }
}

/// `each` reads better than `*`.
fn glob(text: &str) -> Glob {
    Glob::new(if text == "each" { "*" } else { text })
}

fn subjects(scope: Scope, pattern: Option<&str>, tenant: Option<&str>) -> Result<Subjects, String> {
    if pattern.is_some() && matches!(scope, Scope::TurnTree | Scope::All) {
        return Err(format!("with `scope: {}` there is nothing to `match`; leave it out", scope.as_str()));
    }
    Ok(Subjects { scope, pattern: glob(pattern.unwrap_or("*")), tenant: tenant.map(glob) })
}

/// An id is a name in the database and on the command line.
fn check_id(id: &str, known: bool) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if known {
        return Err("there is a row of this id already; ids are unique over all files".to_owned());
    }
    let good = !id.is_empty() && id.chars().all(plain);
    good.then_some(()).ok_or_else(|| "an id has letters, digits, `-`, `_` and `.` only".to_owned())
}

fn budget(spec: BudgetSpec, known: bool) -> Result<Budget, String> {
    check_id(&spec.id, known)?;
    let window = match (spec.window, spec.scope) {
        (Some(window), _) => window,
        (None, Scope::TurnTree) => Window::Total,
        (None, Scope::All | Scope::Tenant | Scope::User | Scope::Task) => {
            return Err("say for how long: `window: day`, `month` or `total`".to_owned());
        }
    };
    let amount = MicroUsd::from_usd(spec.usd).ok_or_else(|| format!("{} is no amount of dollars", spec.usd))?;
    let pattern = spec.pattern.as_deref();
    Ok(Budget {
        subjects: subjects(spec.scope, pattern, spec.tenant.as_deref())?,
        pattern: pattern.unwrap_or("each").to_owned(),
        id: spec.id,
        scope: spec.scope,
        window,
        amount,
        unknown_price: spec.unknown_price,
    })
}

fn rate(spec: RateSpec, known: bool) -> Result<Rate, String> {
    check_id(&spec.id, known)?;
    let calls = match (spec.calls, spec.per_ms) {
        (Some(calls), Some(per)) if per > 0 => Some((calls, DurationMs(per))),
        (None, None) => None,
        (Some(_) | None, Some(_) | None) => {
            return Err("`calls` and `per_ms` go together, and the span is above 0".to_owned());
        }
    };
    if spec.scope == Scope::TurnTree {
        return Err("a rate is over many turns; for one there is `limits.max_tool_calls_per_turn`".to_owned());
    }
    if spec.at_once == Some(0) {
        return Err("`at_once: 0` would let no call run; hide the capability instead".to_owned());
    }
    if calls.is_none() && spec.at_once.is_none() {
        return Err("it bounds nothing: give `calls` and `per_ms`, or `at_once`".to_owned());
    }
    if spec.capability.is_empty() {
        return Err("name capabilities: their ids or intents, `*` for any text".to_owned());
    }
    Ok(Rate {
        subjects: subjects(spec.scope, spec.pattern.as_deref(), spec.tenant.as_deref())?,
        capabilities: spec.capability.iter().map(|text| glob(text)).collect(),
        id: spec.id,
        calls,
        at_once: spec.at_once,
    })
}

fn tenant(file: &str, spec: TenantSpec) -> Result<TenantRule, String> {
    let globs = |texts: &[String]| texts.iter().map(|text| glob(text)).collect::<Vec<_>>();
    if spec.task.is_some() && (spec.only.is_some() || !spec.hide.is_empty()) {
        return Err(
            "a row for one task has limits only; what a task may use is a policy rule (`match: {task: …}`)".to_owned()
        );
    }
    Ok(TenantRule {
        file: file.to_owned(),
        tenant: glob(&spec.tenant),
        name: spec.tenant,
        task: spec.task.as_deref().map(glob),
        only: spec.only.as_deref().map(globs),
        hide: globs(&spec.hide),
        limits: limits(spec.limits)?,
    })
}

fn limits(written: BTreeMap<LimitKey, Written>) -> Result<Vec<LimitRow>, String> {
    let sources = written
        .values()
        .filter_map(|value| if let Written::Computed(text) = value { Some(text.as_str()) } else { None });
    let sources: Vec<&str> = sources.collect();
    let mut compiled = Expression::compile_all(&sources).map_err(|error| error.to_string())?.into_iter();
    let mut rows = Vec::with_capacity(written.len());
    for (key, value) in &written {
        let value = match value {
            Written::Fixed(value) => LimitValue::Fixed(*value),
            Written::Computed(_) => match compiled.next() {
                Some(Ok(expression)) => LimitValue::Computed(expression),
                Some(Err(problem)) => {
                    let why = problem.to_string().replace("`when`", "the expression");
                    return Err(format!("`limits.{}`: {why}", key.name()));
                }
                None => continue,
            },
        };
        rows.push(LimitRow { key: *key, value });
    }
    Ok(rows)
}
