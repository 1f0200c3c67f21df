use std::collections::BTreeSet;

use pretty_assertions::assert_eq;

use super::*;
use crate::{
    policy::{Decision, GateRequest, Outcome, Principal, Stage, TurnFacts},
    store::Account,
    types::{DataClass, DurationMs, Region, RiskClass, TaskType, TenantId, Trigger, TurnId, UserId},
};

fn principal(tenant: &str, user: &str, roles: &[&str]) -> Principal {
    Principal {
        tenant: TenantId::new(tenant).unwrap(),
        user: UserId::new(user).unwrap(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        scopes: BTreeSet::new(),
    }
}

fn load(text: &str) -> Quotas {
    Quotas::load(&[("q.yaml", text)]).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::from_ms(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn accounts(quotas: &Quotas, principal: &Principal, task: Option<&str>) -> Vec<(String, String)> {
    let (task, root) = (task.map(|task| TaskType::new(task).unwrap()), TurnId::new("root").unwrap());
    let asker = Asker { principal, task: task.as_ref(), root: &root };
    let allotment = quotas.allot(&asker, at("2026-12-01T10:00:00Z"));
    let claims = allotment.map(|allotment| allotment.claims.to_vec()).unwrap_or_default();
    claims.iter().map(|claim| (claim.account.budget.clone(), claim.account.subject.clone())).collect()
}

#[test]
fn a_turn_pays_from_every_account_it_belongs_to() {
    let quotas = load(
        "
budgets:
  - {id: tree, scope: turn_tree, usd: 1.5}
  - {id: house, scope: all, window: month, usd: 1000}
  - {id: acme, scope: tenant, match: acme, window: month, usd: 50}
  - {id: users, scope: user, match: each, window: day, usd: 2}
  - {id: bobs, scope: user, match: '*/bob', window: day, usd: 2}
  - {id: research, scope: task, match: research, window: total, usd: 9}
  - {id: tasks, scope: task, tenant: each, window: total, usd: 9}
",
    );
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(budget, subject)| ((*budget).to_owned(), (*subject).to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(
        accounts(&quotas, &principal("acme", "ann", &[]), Some("research")),
        pairs(&[
            ("tree", "root"),
            ("house", "all"),
            ("acme", "acme"),
            ("users", "acme/ann"),
            ("research", "research"),
            ("tasks", "acme/research"),
        ])
    );
    // A slash in a tenant's name is no way into another tenant's account.
    assert_eq!(
        accounts(&quotas, &principal("a/b", "bob", &[]), None),
        pairs(&[("tree", "root"), ("house", "all"), ("users", "a%2Fb/bob"), ("bobs", "a%2Fb/bob")])
    );
    assert_eq!(accounts(&load("budgets:\n"), &principal("acme", "ann", &[]), None), vec![]);
}

#[test]
fn windows_are_those_of_the_calendar_in_utc() {
    let now = at("2028-02-29T23:59:59.999Z");
    assert_eq!(
        (Window::Day.start(now), Window::Day.end(now)),
        (at("2028-02-29T00:00:00Z"), Some(at("2028-03-01T00:00:00Z")))
    );
    assert_eq!(
        (Window::Month.start(now), Window::Month.end(now)),
        (at("2028-02-01T00:00:00Z"), Some(at("2028-03-01T00:00:00Z")))
    );
    assert_eq!((Window::Total.start(now), Window::Total.end(now)), (Timestamp::from_ms(0), None));
    assert_eq!(Window::Month.end(at("2026-12-31T00:00:00Z")), Some(at("2027-01-01T00:00:00Z")));
}

#[test]
fn an_allotment_knows_when_its_first_window_turns_and_what_it_refuses() {
    let quotas = load(
        "budgets:
  - {id: month, scope: tenant, window: month, usd: 50, unknown_price: flag}
  - {id: day, scope: tenant, window: day, usd: 2}",
    );
    let (principal, root) = (principal("acme", "ann", &[]), TurnId::new("root").unwrap());
    let asker = Asker { principal: &principal, task: None, root: &root };
    let now = at("2026-12-01T10:00:00Z");
    let allotment = quotas.allot(&asker, now).unwrap();
    assert_eq!((allotment.turns_at, allotment.refuses_unpriced), (Some(at("2026-12-02T00:00:00Z")), Some(1)));
    let account = |budget: &str, opened: &str| {
        Arc::new(Account { budget: budget.into(), subject: "acme".into(), opened_at: at(opened) })
    };
    assert_eq!(
        allotment.claims.to_vec(),
        [
            AccountClaim { account: account("month", "2026-12-01T00:00:00Z"), limit: MicroUsd::new(50_000_000) },
            AccountClaim { account: account("day", "2026-12-01T00:00:00Z"), limit: MicroUsd::new(2_000_000) },
        ]
    );
    let short = quotas.shortfall("day", "acme", MicroUsd::new(120_000), MicroUsd::new(160_000), now);
    assert_eq!(
        short.to_string(),
        "the budget `day` (tenant acme, $2.000000 per day) has $0.120000 left, and $0.160000 had to be set aside; \
         it starts anew at 2026-12-02T00:00:00.000Z"
    );
    let unpriced = quotas.unpriced(1, &asker, "m-1", now).unwrap();
    assert!(unpriced.to_string().starts_with("the price of `m-1` is not known, and the budget `day` refuses"));
}

fn mail() -> Capability {
    let mail = Capability::function("email.send_message").description("Sends").risk(RiskClass::BusinessWrite);
    mail.input_schema(serde_json::json!({"type": "object"})).build().unwrap()
}

#[test]
fn a_rate_binds_calls_of_what_it_names_for_each_subject() {
    let quotas = load(
        "rates:
  - {id: mail, scope: tenant, match: 'ac*', capability: ['email.*'], calls: 10, per_ms: 60000, at_once: 2}
  - {id: crm, scope: all, capability: ['crm.*'], at_once: 4}",
    );
    let root = TurnId::new("root").unwrap();
    let (acme, other) = (principal("acme", "ann", &[]), principal("other", "ann", &[]));
    let bounds = |principal| quotas.bounds(&Asker { principal, task: None, root: &root }, &mail());
    let rates = vec![crate::store::RateClaim { id: "mail/acme".into(), calls: 10, per: DurationMs(60_000) }];
    assert_eq!(bounds(&acme), Some(Bounds { rates, at_once: vec![("mail/acme".into(), 2)] }));
    assert_eq!(bounds(&other), None);
}

fn limits(quotas: &Quotas, asked: Option<Limits>, roles: &[&str], task: &str) -> Result<Limits, String> {
    let (principal, task) = (principal("acme", "ann", roles), TaskType::new(task).unwrap());
    let facts = ExpressionFacts {
        principal: &principal,
        task: Some(&task),
        data_class: DataClass::Public,
        region: Region::Global,
        provider: "openai",
        model: "m",
    };
    quotas.limits(&Limits::default(), asked, &facts).map_err(|error| error.to_string())
}

#[test]
fn a_tenants_limits_follow_its_rows_and_a_caller_can_only_tighten_them() {
    let quotas = load(
        "tenants:
  - tenant: acme
    limits:
      max_tool_calls_per_turn: 20
      max_tool_cost_usd: \"'vip' in principal.roles ? 5.0 : 0.5\"
      requires_approval_for_write: \"turn.data_class != 'public'\"
  - {tenant: each, task: bulk, limits: {max_tool_iterations: 100}}
  - {tenant: other, limits: {max_tool_calls_per_turn: 1}}",
    );
    let usual = Limits {
        max_tool_calls_per_turn: 20,
        max_tool_cost: MicroUsd::new(500_000),
        requires_approval_for_write: false,
        ..Limits::default()
    };
    assert_eq!(limits(&quotas, None, &[], "chat"), Ok(usual.clone()));
    assert_eq!(
        limits(&quotas, None, &["vip"], "bulk"),
        Ok(Limits { max_tool_cost: MicroUsd::new(5_000_000), max_tool_iterations: 100, ..usual.clone() })
    );
    let asked = Limits { max_tool_calls_per_turn: 3, max_tool_cost: MicroUsd::new(9_000_000), ..Limits::default() };
    assert_eq!(
        limits(&quotas, Some(asked), &[], "chat"),
        Ok(Limits { max_tool_calls_per_turn: 3, requires_approval_for_write: true, ..usual })
    );
    let wrong = load("tenants: [{tenant: acme, limits: {max_tool_iterations: \"size(principal.roles) - 1\"}}]");
    assert_eq!(
        limits(&wrong, None, &[], "chat"),
        Err("`q.yaml`: tenant `acme`: `limits.max_tool_iterations` cannot be -1".to_owned())
    );
}

#[derive(Debug)]
struct Yes;

impl PolicyEngine for Yes {
    fn decide(&self, _: &GateRequest<'_>) -> Decision {
        Decision {
            outcome: Outcome::Allow,
            rule: None,
            because: "yes".into(),
            matched: vec![],
            lifted: vec![],
            obligations: vec![],
            shadow: vec![],
            errors: vec![],
            unnamed: vec![],
        }
    }
}

#[test]
fn what_is_not_in_a_tenants_catalog_is_denied_to_it_at_every_stage() {
    let quotas = load(
        "tenants:
  - {tenant: acme, only: ['crm.*', 'email.send_*']}
  - {tenant: 'shop*', hide: ['email.*']}",
    );
    let gate = Arc::new(quotas).guard(Arc::new(Yes));
    let turn = TurnFacts {
        tainted: false,
        injection_score: Default::default(),
        data_classes: BTreeSet::new(),
        tool_calls: 0,
        data_class: DataClass::Public,
        region: Region::Global,
        task: None,
        provider: "p".into(),
        model: "m".into(),
        trigger: Trigger::Auto,
        requires_approval_for_write: true,
        said: Default::default(),
        heard: vec![],
    };
    let ask = |tenant: &str, intent: &str, stage| {
        let (principal, mut capability) = (principal(tenant, "ann", &[]), mail());
        capability.intent = crate::types::Intent::new(intent).unwrap();
        capability.id = crate::types::CapabilityId::new(format!("x.{}", intent.replace('.', "_"))).unwrap();
        let request = GateRequest {
            stage,
            principal: &principal,
            capability: &capability,
            tool_name: None,
            arguments: None,
            turn: &turn,
            resource: None,
        };
        gate.decide(&request).outcome
    };
    for (tenant, intent, outcome) in [
        ("acme", "crm.find", Outcome::Allow),
        ("acme", "email.send_message", Outcome::Allow),
        ("acme", "email.delete_message", Outcome::Deny),
        ("acme", "artifact.read", Outcome::Allow),
        ("shop1", "email.send_message", Outcome::Deny),
        ("shop1", "crm.find", Outcome::Allow),
        ("other", "email.send_message", Outcome::Allow),
    ] {
        assert_eq!(ask(tenant, intent, Stage::Expose), outcome, "{tenant} {intent}");
        assert_eq!(ask(tenant, intent, Stage::Dispatch), outcome, "{tenant} {intent}");
    }
}

#[test]
fn a_row_that_cannot_be_meant_is_refused_with_what_to_do() {
    for (text, why) in [
        ("budgets: [{id: a, scope: tenant, usd: 1}]", "`q.yaml`: budget `a`: say for how long"),
        ("budgets: [{id: a, scope: tenant, window: day, usd: -1}]", "-1 is no amount of dollars"),
        ("budgets: [{id: 'a b', scope: tenant, window: day, usd: 1}]", "an id has letters"),
        ("budgets: [{id: a, scope: all, match: x, window: day, usd: 1}]", "there is nothing to `match`"),
        (
            "budgets: [{id: a, scope: all, window: day, usd: 1}, {id: a, scope: all, window: day, usd: 1}]",
            "there is a row of this id already",
        ),
        ("budget: []", "unknown field"),
        ("rates: [{id: a, scope: all, capability: [x], calls: 1}]", "go together"),
        ("rates: [{id: a, scope: all, capability: [x]}]", "it bounds nothing"),
        ("rates: [{id: a, scope: turn_tree, capability: [x], at_once: 1}]", "a rate is over many turns"),
        ("rates: [{id: a, scope: all, capability: [], at_once: 1}]", "name capabilities"),
        ("tenants: [{tenant: a, limits: {max_tool_costs: 1}}]", "unknown variant"),
        ("tenants: [{tenant: a, limits: {max_tool_iterations: \"principal.rols\"}}]", "no field of that name"),
        ("tenants: [{tenant: a, task: b, hide: [x]}]", "has limits only"),
    ] {
        let error = Quotas::load(&[("q.yaml", text)]).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}
