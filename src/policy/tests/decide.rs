use pretty_assertions::assert_eq;

use super::*;

fn ids(rules: &[crate::types::RuleId]) -> Vec<&str> {
    rules.iter().map(|id| id.as_str()).collect()
}

/// DEV-L01: a tool that is hidden is refused at dispatch too, whoever guessed its name and with whatever arguments.
#[test]
fn what_is_hidden_is_not_callable() {
    let rules = "rules: [{id: read_only_run, match: {risk: [business_write, destructive]}, then: deny, because: this run only reads}]";
    let gate = Gate::load(&[DEFAULT_RULES, ("run.yaml", rules)]).unwrap();
    let mut question =
        question("{capability: {id: github.delete_repo, risk: destructive}, stage: expose, tool_name: delete_repo}");
    let shown = question.ask(&gate);
    question.stage = Stage::Dispatch;
    question.arguments = Some(serde_json::json!({"repo": "a/b", "force": true}));
    let called = question.ask(&gate);
    assert_eq!([shown.outcome, called.outcome], [Outcome::Deny, Outcome::Deny]);
    assert_eq!(called, shown);
    assert!(!shown.shows(question.capability.execution.mode));
    assert_eq!(ids(&called.matched), ["risk.destructive", "effect.destructive", "read_only_run"]);
}

/// DEV-L01: the gate is asked again with the real arguments, and may say no then.
#[test]
fn a_tool_that_was_shown_is_decided_again_with_its_arguments() {
    let gate = gate(&deny_when("has(args.repo) && args.repo.startsWith('prod/')"));
    let ask = |stage: &str, args: &str| {
        question(&format!("{{capability: {{id: repo.read, risk: internal_read}}, stage: {stage}, args: {args}}}"))
            .ask(&gate)
            .outcome
    };
    assert_eq!(ask("expose", "{repo: prod/a}"), Outcome::Allow);
    assert_eq!(ask("dispatch", "{repo: prod/a}"), Outcome::Deny);
    assert_eq!(ask("dispatch", "{repo: test/a}"), Outcome::Allow);
    assert_eq!(ask("dispatch", "{}"), Outcome::Allow);
}

/// DEV-L02: what types cannot tell when the rule is loaded denies when it happens, and is recorded.
#[test]
fn a_condition_that_fails_to_evaluate_denies_and_is_recorded() {
    let rules = "rules:
  - {id: no_merge, when: \"has(args.command) && 'gh pr merge' in args.command\", then: deny, because: merging is for people}
  - {id: permit_all, then: allow, because: everything else goes}";
    let gate = gate(rules);
    let ask = |args: &str| {
        question(&format!("{{capability: {{id: shell.run, risk: business_write}}, args: {args}}}")).ask(&gate)
    };
    assert_eq!(
        ask("{command: gh pr merge}"),
        Decision {
            outcome: Outcome::Deny,
            rule: Some("no_merge".parse().unwrap()),
            because: "a rule about this call could not be evaluated, so the call is refused".into(),
            matched: vec!["no_merge".parse().unwrap(), "permit_all".parse().unwrap()],
            lifted: vec![],
            obligations: vec![],
            shadow: Vec::new(),
            errors: vec!["rule `no_merge`: found no matching overload for '@in' applied to '(string, string)'".into()],
            unnamed: vec![],
        }
    );
    assert_eq!(ask("{command: [gh pr merge]}").outcome, Outcome::Deny);
    assert_eq!(ask("{command: [ls]}").outcome, Outcome::Allow);
    assert_eq!(ask("[1, 2]").outcome, Outcome::Deny);
}

#[test]
fn an_evaluation_error_tells_no_value() {
    let gate = gate(&deny_when("has(args.a) && args.a + 1 > 5 || has(args.b) && args.b > 1"));
    for args in ["{a: hunter2}", "{b: hunter2}", "{a: [hunter2]}", "{b: {hunter2: 1}}", "{a: 9223372036854775807}"] {
        let decision = question(&format!("{{capability: {{id: a.b, risk: read_only}}, args: {args}}}")).ask(&gate);
        assert_eq!(decision.outcome, Outcome::Deny, "{args}");
        assert!(!decision.errors.is_empty() && !format!("{decision:?}").contains("hunter2"), "{decision:?}");
    }
}

#[test]
fn an_error_in_a_lifted_rule_still_denies() {
    let gate = gate(
        "rules:
  - {id: a, when: 'has(args.n) && args.n > 1', then: ask, because: x}
  - {id: b, then: allow, lifts: a, because: y}",
    );
    let ask = |n: &str| {
        question(&format!("{{capability: {{id: a.b, risk: read_only}}, args: {{n: {n}}}}}")).ask(&gate).outcome
    };
    assert_eq!([ask("2"), ask("text")], [Outcome::Allow, Outcome::Deny]);
}

#[test]
fn the_first_of_the_strictest_rules_is_the_one_that_decides() {
    let gate = gate(
        "rules:
  - {id: a, then: allow, because: x}
  - {id: b, then: ask, because: the first question}
  - {id: c, then: ask, because: the second question}",
    );
    let decision = question("{capability: {id: a.b, risk: read_only}}").ask(&gate);
    assert_eq!((decision.outcome, decision.because.as_str()), (Outcome::Ask, "the first question"));
    assert_eq!(ids(&decision.matched), ["a", "b", "c"]);
}

#[test]
fn without_a_rule_reads_are_allowed_and_writes_ask() {
    let gate = gate("rules: []");
    let ask = |capability: &str| {
        let decision = question(&format!("{{capability: {{id: a.b, {capability}}}}}")).ask(&gate);
        assert_eq!(decision.rule, None);
        decision.outcome
    };
    for risk in ["read_only", "internal_read", "external_read"] {
        assert_eq!(ask(&format!("risk: {risk}")), Outcome::Allow);
        assert_eq!(ask(&format!("risk: {risk}, side_effect: idempotent_write")), Outcome::Ask);
    }
    for risk in ["draft_write", "idempotent_write", "business_write", "write", "destructive"] {
        assert_eq!(ask(&format!("risk: {risk}")), Outcome::Ask);
    }
}

#[test]
fn an_operator_lifts_a_question_for_some_calls_and_never_a_floor() {
    let rules = "rules:
  - id: small_refund
    match: {capability: crm.*, role: support}
    when: has(args.amount) && args.amount <= 50
    then: allow
    lifts: [risk.business_write]
    because: support refunds up to 50 without asking";
    let gate = Gate::load(&[DEFAULT_RULES, ("mine.yaml", rules)]).unwrap();
    let ask = |more: &str| {
        let decision =
            question(&format!("{{capability: {{id: crm.refund, risk: business_write}}, {more}}}")).ask(&gate);
        (decision.outcome, decision.rule.map(|id| id.to_string()).unwrap_or_default(), decision.lifted.len())
    };
    let support = "principal: {roles: [support]}";
    let said = |outcome, rule: &str, lifted| (outcome, rule.to_owned(), lifted);
    assert_eq!(ask(&format!("{support}, args: {{amount: 50.0}}")), said(Outcome::Allow, "small_refund", 1));
    assert_eq!(ask(&format!("{support}, args: {{amount: 50.01}}")), said(Outcome::Ask, "risk.business_write", 0));
    assert_eq!(ask("args: {amount: 5}"), said(Outcome::Ask, "risk.business_write", 0));
    assert_eq!(ask(&format!("{support}, stage: expose")), said(Outcome::Ask, "risk.business_write", 0));
    assert_eq!(
        ask(&format!("{support}, args: {{amount: 5}}, turn: {{tainted: true}}")),
        said(Outcome::Ask, "taint.business_write", 0)
    );
}

#[test]
fn a_rule_may_look_at_the_score_of_what_was_read() {
    let gate = gate(
        "rules: [{id: planted, when: 'turn.injection_score >= 0.8', then: deny, because: what was read holds instructions}]",
    );
    let ask = |score: f32| {
        let given =
            format!("{{capability: {{id: a.b, risk: read_only}}, turn: {{tainted: true, injection_score: {score}}}}}");
        question(&given).ask(&gate).outcome
    };
    assert_eq!((ask(0.8), ask(0.79)), (Outcome::Deny, Outcome::Allow));
}

#[test]
fn the_contract_of_a_capability_is_held_before_all_rules() {
    let gate = gate("rules: [{id: permit_all, then: {outcome: allow, cap_calls: 9}, because: x}]");
    let given = "{capability: {id: a.b, risk: read_only, required_scopes: [s.one, s.two], approval: always, max_calls_per_turn: 3}";
    let denied = question(&format!("{given}, principal: {{user: ann, scopes: [s.two]}}, stage: expose}}")).ask(&gate);
    assert_eq!(
        denied,
        Decision {
            outcome: Outcome::Deny,
            rule: Some("builtin.scopes".parse().unwrap()),
            because: "`ann` lacks the scope `s.one`".into(),
            matched: ["builtin.scopes", "builtin.approval", "builtin.max_calls", "permit_all"]
                .map(|id| id.parse().unwrap())
                .into(),
            lifted: vec![],
            obligations: vec![Obligation::CapCalls(3)],
            shadow: Vec::new(),
            errors: vec![],
            unnamed: vec![],
        }
    );
    let asked = question(&format!("{given}, principal: {{scopes: [s.one, s.two]}}}}")).ask(&gate);
    assert_eq!((asked.outcome, asked.rule.unwrap().as_str()), (Outcome::Ask, "builtin.approval"));
}

#[test]
fn obligations_of_all_rules_are_put_together_as_strict_as_the_strictest() {
    let gate = gate(
        "rules:
  - {id: a, then: {outcome: allow, redact: [card, mail], cap_tokens: 500}, because: x}
  - {id: b, then: {redact: [card, address], cap_tokens: 200, cap_calls: 4}, because: x}
  - {id: c, then: {redact: [name]}, because: x}
  - {id: d, then: {cap_calls: 7}, lifts: c, because: x}",
    );
    let decision = question("{capability: {id: a.b, risk: read_only}}").ask(&gate);
    let fields = ["address", "card", "mail"].map(String::from).to_vec();
    assert_eq!(decision.obligations, [Obligation::Redact(fields), Obligation::CapTokens(200), Obligation::CapCalls(4)]);
}

#[test]
fn each_key_of_match_selects() {
    for (key, yes, no) in [
        (
            "capability: [crm.*, x]",
            "capability: {id: crm.a.b, risk: read_only}",
            "capability: {id: crmx.a, risk: read_only}",
        ),
        (
            "intent: '*.search'",
            "capability: {id: a, intent: web.search, risk: read_only}",
            "capability: {id: a, intent: web.searches, risk: read_only}",
        ),
        ("risk: [write]", "capability: {id: a, risk: business_write}", "capability: {id: a, risk: draft_write}"),
        ("side_effect: destructive", "capability: {id: a, risk: destructive}", "capability: {id: a, risk: read_only}"),
        (
            "mode: provider_hosted",
            "capability: {id: a, risk: read_only, mode: provider_hosted}",
            "capability: {id: a, risk: read_only}",
        ),
        (
            "tenant: [acme, eu.*]",
            "capability: {id: a, risk: read_only}, principal: {tenant: eu.x}",
            "capability: {id: a, risk: read_only}, principal: {tenant: acme2}",
        ),
        (
            "role: 'ops*'",
            "capability: {id: a, risk: read_only}, principal: {roles: [dev, ops-eu]}",
            "capability: {id: a, risk: read_only}, principal: {roles: [dev]}",
        ),
        (
            "scope: a.read",
            "capability: {id: a, risk: read_only}, principal: {scopes: [a.read]}",
            "capability: {id: a, risk: read_only}",
        ),
        (
            "data_class: internal",
            "capability: {id: a, risk: read_only}, turn: {data_classes: [public, internal]}",
            "capability: {id: a, risk: read_only}, turn: {data_classes: [restricted]}",
        ),
        (
            "data_class: restricted",
            "capability: {id: a, risk: read_only}, turn: {data_class: restricted}",
            "capability: {id: a, risk: read_only}, turn: {data_class: internal}",
        ),
        (
            "provider: 'open*'",
            "capability: {id: a, risk: read_only}, turn: {provider: openai}",
            "capability: {id: a, risk: read_only}, turn: {provider: xai}",
        ),
        (
            "stage: dispatch",
            "capability: {id: a, risk: read_only}, stage: dispatch",
            "capability: {id: a, risk: read_only}, stage: expose",
        ),
    ] {
        let gate = gate(&format!("rules: [{{id: r, match: {{{key}}}, then: deny, because: x}}]"));
        let matched = |given: &str| question(&format!("{{{given}}}")).ask(&gate).matched.len();
        assert_eq!([matched(yes), matched(no)], [1, 0], "{key}");
    }
}

#[test]
fn patterns_resources_and_numbers_are_compared_as_written() {
    for (condition, given, outcome) in [
        ("has(args.c) && args.c.matches('^rm\\\\s')", "args: {c: rm -rf /}", Outcome::Deny),
        ("has(args.c) && args.c.matches('^rm\\\\s')", "args: {c: term x}", Outcome::Allow),
        ("has(args.l) && args.l.exists(x, x.matches('^a') || x.matches('z$'))", "args: {l: [b, xyz]}", Outcome::Deny),
        ("has(resource.owner) && resource.owner != principal.user", "resource: {owner: bob}", Outcome::Deny),
        ("has(resource.owner) && resource.owner != principal.user", "resource: {owner: local}", Outcome::Allow),
        ("has(resource.owner) && resource.owner != principal.user", "args: {}", Outcome::Allow),
        ("has(args.n) && args.n > 1000", "args: {n: 1000.5}", Outcome::Deny),
        ("has(args.n) && args.n > 1000", "args: {n: 1000}", Outcome::Allow),
        ("has(args.n) && args.n > 1000", "args: {n: 18446744073709551615}", Outcome::Deny),
        ("has(args.n) && args.n in [1, 2]", "args: {n: 2.0}", Outcome::Deny),
        ("has(args.n) && args.n == 'null'", "args: {n: null}", Outcome::Allow),
        ("tool_name.startsWith('del')", "tool_name: delete_it", Outcome::Deny),
        ("turn.tool_calls >= 5 && principal.roles.all(r, r != 'ops')", "turn: {tool_calls: 5}", Outcome::Deny),
        ("size(principal.scopes) == 0", "principal: {scopes: [a]}", Outcome::Allow),
    ] {
        let decision = question(&format!("{{capability: {{id: a.b, risk: read_only}}, {given}}}"))
            .ask(&gate(&deny_when(condition)));
        assert_eq!((decision.outcome, decision.errors), (outcome, vec![]), "{condition} {given}");
    }
}

#[test]
fn a_number_that_no_type_holds_is_never_compared_by_size() {
    let gate = gate(&deny_when("has(args.n) && args.n > 1000"));
    let mut question = question("{capability: {id: a.b, risk: read_only}}");
    for number in ["123456789012345678901234567890", "1e400", "-1e400"] {
        question.arguments = Some(serde_json::from_str(&format!("{{\"n\": {number}}}")).unwrap());
        let decision = question.ask(&gate);
        assert_eq!((decision.outcome, decision.errors.len()), (Outcome::Deny, 1), "{number}");
    }
}

#[test]
fn an_answer_says_whether_the_tool_is_shown() {
    use crate::types::ExecutionMode::{ProviderHosted, RuntimeFunction};
    let gate = Gate::embedded().unwrap();
    let shown = |risk: &str| {
        let decision = question(&format!("{{capability: {{id: a.b, risk: {risk}}}, stage: expose}}")).ask(&gate);
        [decision.shows(RuntimeFunction), decision.shows(ProviderHosted)]
    };
    assert_eq!(shown("external_read"), [true, true]);
    assert_eq!(shown("business_write"), [true, false]);
}

#[test]
fn an_explanation_names_every_rule_and_its_reason() {
    let rules = "rules: [{id: my.sends, match: {capability: mail.*}, then: {outcome: allow, cap_calls: 2, redact: [to]}, lifts: [taint.business_write], because: mail is fine}]";
    let gate = Gate::load(&[DEFAULT_RULES, ("mine.yaml", rules)]).unwrap();
    let question = question(
        "{capability: {id: mail.send, intent: email.send, risk: business_write, max_calls_per_turn: 5}, turn: {tainted: true}}",
    );
    let request = question.request();
    assert_eq!(
        gate.explain(&gate.decide(&request), &request),
        "\
allow: mail.send (email.send, business_write) for local/local, to be called, after untrusted content
  because mail is fine (`my.sends`)
  matched  `builtin.max_calls` (the capability's contract)
  matched  `my.sends` (allow, mine.yaml): mail is fine
  lifted   `taint.business_write` (ask, policies/default.yaml): something untrusted was read in this turn and may have asked for this change
  must     mask to
  must     run at most 2 times in the turn
"
    );
}
