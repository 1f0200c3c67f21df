use pretty_assertions::assert_eq;

use super::*;
use crate::{
    policy::condition::MAX_SOURCE_BYTES,
    secret::{Personal, PersonalKinds},
};

/// What is wrong with a condition.
fn problem(condition: &str) -> RuleProblem {
    let error = refused(&deny_when(condition));
    let PolicyError::Rule { file, rule, problem } = error else { panic!("{condition}: {error:?}") };
    assert_eq!((file.as_str(), rule.as_str()), ("test.yaml", "r"));
    problem
}

#[test]
fn the_shipped_rules_keep_every_example_and_each_rule_has_one() {
    let report = check(&[DEFAULT_RULES]).unwrap();
    let failed: Vec<_> = report.failed.iter().map(ToString::to_string).collect();
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(report.untested, Vec::new());
    assert!(report.passed > 20);
    Gate::embedded().unwrap();
    Gate::load_checked(&[DEFAULT_RULES]).unwrap();
}

#[test]
fn every_variable_a_condition_may_name_has_a_value() {
    for stage in ["expose", "dispatch"] {
        for (root, field, _) in crate::policy::condition::FIELDS {
            let gate = gate(&deny_when(&format!("{root}.{field} == {root}.{field}")));
            let decision =
                question(&format!("{{capability: {{id: a.b, risk: read_only}}, stage: {stage}}}")).ask(&gate);
            // Before there is a call, nothing is said about where its values come from.
            let expected = if (stage, *root) == ("expose", "call") { Outcome::Allow } else { Outcome::Deny };
            assert_eq!((decision.errors.as_slice(), decision.outcome), (&[][..], expected), "{root}.{field}");
        }
    }
}

#[test]
fn a_name_that_is_not_there_is_refused_with_the_nearest_one() {
    let some = |text: &str| Some(text.to_owned());
    let field = |root: &str, field: &str, nearest| RuleProblem::UnknownField {
        root: root.to_owned(),
        field: field.to_owned(),
        nearest,
    };
    assert_eq!(problem("principal.tennant == 'a'"), field("principal", "tennant", some("tenant")));
    assert_eq!(problem("turn.taint"), field("turn", "taint", some("tainted")));
    assert_eq!(problem("capability.zzz == 1"), field("capability", "zzz", None));
    assert_eq!(
        problem("arguments.to == 'a'"),
        RuleProblem::UnknownVariable { name: "arguments".to_owned(), nearest: None }
    );
    assert_eq!(
        problem("turns.tainted"),
        RuleProblem::UnknownVariable { name: "turns".to_owned(), nearest: some("turn") }
    );
    assert_eq!(
        problem("principal.user.startWith('a')"),
        RuleProblem::UnknownFunction { name: "startWith".to_owned(), nearest: some("startsWith") }
    );
    assert_eq!(
        problem("capability.risk == 'bussiness_write'"),
        RuleProblem::UnknownWord {
            what: "a risk",
            word: "bussiness_write".to_owned(),
            nearest: some("business_write")
        }
    );
    assert_eq!(
        problem("turn.data_classes.exists(c, c in ['public', 'secret'])"),
        RuleProblem::UnknownWord { what: "a data class", word: "secret".to_owned(), nearest: None }
    );
    assert_eq!(
        problem("'internl' in turn.data_classes"),
        RuleProblem::UnknownWord { what: "a data class", word: "internl".to_owned(), nearest: some("internal") }
    );
    assert_eq!(
        refused(&deny_when("turn.taint")).to_string(),
        "test.yaml: rule `r`: `when` uses `turn.taint`; `turn` has no field of that name; did you mean `tainted`?"
    );
}

#[test]
fn an_optional_value_has_to_be_asked_for_in_the_same_conjunction() {
    let missing =
        |path: &str, guard: &str| RuleProblem::MissingGuard { path: path.to_owned(), guard: guard.to_owned() };
    for (condition, path, guard) in [
        ("args.amount > 5", "args.amount", "has(args.amount)"),
        ("has(args.amount) || args.amount > 5", "args.amount", "has(args.amount)"),
        ("!has(args.amount) && args.amount > 5", "args.amount", "has(args.amount)"),
        ("has(args.a.b) && args.a.b == 1", "args.a", "has(args.a)"),
        ("has(args.a) && args.a.b == 1", "args.a.b", "has(args.a.b)"),
        ("has(resource.owner) && args.owner == resource.owner", "args.owner", "has(args.owner)"),
        ("args['a.b'] == 1", "args[\"a.b\"]", "\"a.b\" in args"),
        ("has(args.x) && args['x.y'] == 1", "args[\"x.y\"]", "\"x.y\" in args"),
        ("has(args.list) && args.list.exists(x, x.name == 'a')", "x.name", "has(x.name)"),
        ("(has(args.a) || has(args.b)) && args.a == 1", "args.a", "has(args.a)"),
        ("has(args.a) ? true : args.a == 1", "args.a", "has(args.a)"),
        ("(has(args.a) && true) == true && args.a == 1", "args.a", "has(args.a)"),
    ] {
        assert_eq!(problem(condition), missing(path, guard), "{condition}");
    }
    for condition in [
        "has(args.amount) && args.amount > 5",
        "args.amount > 5 && has(args.amount)",
        "!has(args.amount) || args.amount > 5",
        "!(has(args.amount) && args.amount < 5)",
        "has(args.a) && has(args.a.b) && args.a.b == 1",
        "has(args.a) ? args.a == 1 : false",
        "!has(args.a) ? false : args.a == 1",
        "'a.b' in args && args['a.b'] == 1",
        "has(args.x) && args['x'] == 1",
        "has(args.list) && args.list.all(x, has(x.name) && x.name == 'a')",
        "has(args.list) && args.list.filter(x, has(x.on) && x.on == true).size() > 1",
        "has(args.list) && args.list.exists_one(x, x == 1)",
        "has(args.list) && 'a' in args.list.map(x, x)",
        "((has(args.a) && has(args.b)) || (has(args.a) && has(args.c))) && args.a == 1",
        "size(args) > 3",
    ] {
        gate(&deny_when(condition));
    }
}

/// DEV-L02: a set operator on a text is refused when the rule is loaded.
#[test]
fn a_condition_whose_types_never_fit_is_refused() {
    for condition in [
        "'gh pr merge' in principal.tenant",
        "turn.tainted in ['yes']",
        "principal.roles == 'admin'",
        "principal.user == 5",
        "capability.risk == capability.mode",
        "turn.tool_calls > '5'",
        "turn.tool_calls + 1.5 > 2.0",
        "capability.risk > 'read_only'",
        "turn.tool_calls",
        "principal.tenant",
        "!principal.tenant",
        "turn.tainted && principal.user",
        "turn.tainted ? principal.user : principal.tenant",
        "principal.user.all(c, c == 'a')",
        "principal.roles.contains('admin')",
        "size(turn.tool_calls) > 1",
        "turn.tool_calls.contains('a')",
        "principal.user - 'a' == 'b'",
        "int(principal.roles) == 1",
        "principal.user.name == 'a'",
        "null == turn.tainted",
    ] {
        assert!(matches!(problem(condition), RuleProblem::Type(_)), "{condition}: {:?}", problem(condition));
    }
}

#[test]
fn what_cel_has_and_rules_do_not_is_refused() {
    for condition in [
        "principal == principal",
        "has(principal.tenant)",
        "args[0] == 1",
        "has(args.a) && args.a[0] == 1",
        "has(args.a) && has(args.k) && args.a[args.k] == 1",
        "{'a': 1}.a == 1",
        "google.Type{a: 1} == 1",
        "b'abc' == b'abc'",
        "1u == 1u",
        "has(args.p) && principal.user.matches(args.p)",
        "has(args.a) && has(args.b) && args.a.all(x, args.b.all(y, x == y))",
        "principal.roles.all(turn, turn == 'a')",
        "principal.roles.all(r, principal.scopes.all(r, r == 'a'))",
        "(has(args.a) ? args.a : args).b == 1",
    ] {
        let problem = problem(condition);
        let known = matches!(problem, RuleProblem::Unsupported(_) | RuleProblem::UnknownVariable { .. });
        assert!(known, "{condition}: {problem:?}");
    }
    for condition in ["args.?a == 1", "principal.user.matches('(')", "", "1 +", "a b", "'open"] {
        assert!(matches!(problem(condition), RuleProblem::Syntax(_)), "{condition}: {:?}", problem(condition));
    }
    for condition in ["optional.of(1) == 1", "dyn(1) == 1", "type(1) == int", "principal.user.matches('a', 'b')"] {
        let problem = problem(condition);
        let known = matches!(problem, RuleProblem::UnknownFunction { .. } | RuleProblem::UnknownVariable { .. });
        assert!(known, "{condition}: {problem:?}");
    }
}

#[test]
fn hostile_text_is_refused_and_nothing_crashes() {
    let n = 1000;
    for condition in [
        format!("{}true{}", "(".repeat(n), ")".repeat(n)),
        format!("{}true{}", "[".repeat(n), "]".repeat(n)),
        "(".repeat(4000),
        "[".repeat(4000),
        "!".repeat(4000),
        "-".repeat(4000),
        format!("{}1 == true", "-".repeat(3001)),
        format!("args{}", ".a".repeat(n)),
        format!("args{}", "['a']".repeat(700)),
        format!("1{} == 1", "+1".repeat(n)),
        format!("{}true", "true ? true : ".repeat(200)),
        format!("{}true{}", "args.all(x, ".repeat(200), ")".repeat(200)),
        format!("args.a{}", ".b(1)".repeat(500)),
        format!("'{}' == ''", "\\".repeat(3001)),
        "\u{0}\u{1}\u{feff}".repeat(100),
        "\"\"\"".repeat(500),
        "a?b:".repeat(900),
        "{{{{".repeat(900),
        "x[".repeat(1500),
        "@pattern0 == 1".to_owned(),
    ] {
        let short: String = condition.chars().take(20).collect();
        assert!(matches!(refused(&deny_when(&condition)), PolicyError::Rule { .. }), "{short}");
    }
    let long = format!("'{}' == ''", "x".repeat(MAX_SOURCE_BYTES));
    assert_eq!(problem(&long), RuleProblem::TooLong { bytes: long.len(), limit: MAX_SOURCE_BYTES });
}

#[test]
fn a_long_chain_of_alternatives_is_no_deep_nesting() {
    let chain = (0..150).map(|n| format!("principal.user == 'u{n}'")).collect::<Vec<_>>().join(" || ");
    let gate = gate(&deny_when(&chain));
    let ask = |user: &str| {
        question(&format!("{{capability: {{id: a.b, risk: read_only}}, principal: {{user: {user}}}}}"))
            .ask(&gate)
            .outcome
    };
    assert_eq!([ask("u149"), ask("u150")], [Outcome::Deny, Outcome::Allow]);
}

#[test]
fn a_rule_that_cannot_mean_what_it_says_is_refused() {
    let rule = |text: &str| {
        let error = refused(&format!("rules: [{text}]"));
        let PolicyError::Rule { problem, .. } = error else { panic!("{text}: {error:?}") };
        problem
    };
    assert_eq!(
        rule("{id: a, then: deny, because: x}, {id: a, then: deny, because: x}"),
        RuleProblem::Duplicate("test.yaml".into())
    );
    assert_eq!(rule("{id: builtin.scopes, then: allow, because: x}"), RuleProblem::Reserved);
    assert_eq!(rule("{id: a, then: deny, because: ' '}"), RuleProblem::NoReason);
    assert_eq!(rule("{id: a, then: {}, because: x}"), RuleProblem::Nothing);
    assert_eq!(rule("{id: a, then: allow, floor: true, because: x}"), RuleProblem::HollowFloor);
    assert_eq!(rule("{id: a, match: {stage: expose}, then: deny, because: x}"), RuleProblem::ExposeOnly);
    assert_eq!(
        rule("{id: big.write, then: deny, because: x}, {id: b, then: allow, lifts: big.writes, because: x}"),
        RuleProblem::UnknownLift { name: "big.writes".into(), nearest: Some("big.write".into()) }
    );
    assert_eq!(
        rule("{id: a, then: deny, floor: true, because: x}, {id: b, then: allow, lifts: a, because: x}"),
        RuleProblem::LiftsFloor("a".into())
    );
    assert_eq!(rule("{id: a, then: allow, lifts: a, because: x}"), RuleProblem::LiftsLifter("a".into()));
    for lift in ["when: has(args.x)", "when: tool_name == 'x'", "match: {stage: dispatch}"] {
        assert_eq!(
            rule(&format!("{{id: a, then: deny, because: x}}, {{id: b, {lift}, then: allow, lifts: [a], because: x}}")),
            RuleProblem::LiftsHiding("a".into()),
            "{lift}"
        );
    }
}

#[test]
fn a_file_may_lift_rules_of_earlier_files_only() {
    let base = ("a.yaml", "rules: [{id: a, then: deny, because: x}]");
    let lift = ("b.yaml", "rules: [{id: b, then: allow, lifts: a, because: x}]");
    Gate::load(&[base, lift]).unwrap();
    assert_eq!(
        Gate::load(&[lift, base]).unwrap_err(),
        PolicyError::Rule {
            file: "b.yaml".into(),
            rule: "b".into(),
            problem: RuleProblem::UnknownLift { name: "a".into(), nearest: None }
        }
    );
}

#[test]
fn a_file_of_another_shape_is_refused_with_its_place() {
    for (text, says) in [
        ("rules: [{id: a, them: deny, because: x}]", "them"),
        ("rules: [{id: a, match: {risks: read_only}, then: deny, because: x}]", "risks"),
        ("rules: [{id: a, match: {risk: writ}, then: deny, because: x}]", "writ"),
        ("rules: [{id: a, match: {risk: []}, then: deny, because: x}]", "empty"),
        ("rules: [{id: a, then: maybe, because: x}]", "maybe"),
        ("rules: [{id: a, then: {cap: 1}, because: x}]", "cap"),
        ("rules: [{id: a b, then: deny, because: x}]", "white space"),
        ("rules: [{id: a, id: b, then: deny, because: x}]", "id"),
        ("rules: 5", "sequence"),
        ("rule: []", "rule"),
        ("rules: [", "line"),
    ] {
        let error = refused(text);
        let PolicyError::Yaml { file, message } = &error else { panic!("{text}: {error:?}") };
        assert!(file == "test.yaml" && message.contains(says) && message.contains("line 1"), "{text}: {message}");
    }
}

#[test]
fn a_file_with_nothing_under_its_keys_has_no_rules() {
    assert_eq!(gate("rules:\nexamples:\n").rules.len(), 0);
}

#[test]
fn examples_of_a_file_are_judged_by_it_and_those_before_it() {
    let strict = (
        "strict.yaml",
        "rules: [{id: no_search, match: {intent: web.*}, then: deny, because: none here}]
examples:
  - {given: {capability: {id: a.s, intent: web.search, risk: external_read}}, expect: deny, rule: no_search}
  - {given: {capability: {id: a.s, intent: web.search, risk: external_read}}, expect: allow}
  - {given: {capability: {id: a.b, risk: read_only}}, expect: allow, rule: no_search}",
    );
    let report = check(&[DEFAULT_RULES, strict]).unwrap();
    let failed: Vec<_> = report.failed.iter().map(|failure| (failure.file.as_str(), failure.example)).collect();
    assert_eq!(failed, [("strict.yaml", 2), ("strict.yaml", 3)]);
    let error = Gate::load_checked(&[DEFAULT_RULES, strict]).unwrap_err();
    assert!(
        matches!(&error, PolicyError::ExamplesFail { failed: 2, first } if first.contains("example 2: expected allow, got:\ndeny")),
        "{error}"
    );
}

#[test]
fn a_rule_without_an_example_is_named() {
    let report = check(&[("a.yaml", "rules: [{id: a, then: deny, because: x}]")]).unwrap();
    assert_eq!(report, CheckReport { passed: 0, failed: vec![], untested: vec!["a".parse().unwrap()] });
}

#[test]
fn a_rule_names_kinds_of_personal_data_or_is_refused() {
    let rule = |kinds: &str| format!("rules: [{{id: r, then: {{redact_personal: {kinds}}}, because: x}}]");
    let obligations = |kinds: &str| {
        let gate = Gate::load(&[
            ("test.yaml", &rule(kinds)),
            ("more.yaml", "rules: [{id: s, then: {redact_personal: phone}, because: x}]"),
        ])
        .unwrap();
        question("{capability: {id: a.b, risk: read_only}}").ask(&gate).obligations
    };
    let both = PersonalKinds::of(&[Personal::Email, Personal::Phone]);
    assert_eq!(obligations("[email]"), [Obligation::RedactPersonal(both)]);
    assert_eq!(obligations("all"), [Obligation::RedactPersonal(PersonalKinds::ALL)]);
    let error = refused(&rule("[name]")).to_string();
    assert!(error.contains("`name` is no kind of personal data"), "{error}");
}
