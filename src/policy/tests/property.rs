use std::sync::LazyLock;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Number, Value, json};

use super::*;

/// Conditions over all parts of a request; some fail to evaluate on some arguments.
const CONDITIONS: [&str; 13] = [
    "true",
    "turn.tainted",
    "turn.injection_score >= 0.5",
    "!turn.tainted",
    "turn.data_classes.exists(c, c in ['internal', 'restricted'])",
    "principal.roles.all(r, r != 'ops')",
    "10 / turn.tool_calls > 2",
    "has(args.n) && args.n > 10",
    "!has(args.n) || args.n < 10",
    "has(args.l) && args.l.exists(x, x == 'a')",
    "has(args.l) && 'a' in args.l",
    "has(args.s) && args.s.matches('^[a-c]+$') || tool_name.contains('x')",
    "has(resource.owner) && resource.owner == principal.user",
];

/// What conditions are made of.
const TOKENS: [&str; 30] = [
    "args",
    ".",
    "a",
    "has(",
    ")",
    "(",
    "&&",
    "||",
    "!",
    "principal.user",
    "turn.tainted",
    "==",
    " in ",
    "[",
    "]",
    "'x'",
    "1",
    ".all(x, ",
    ".exists(x, ",
    "x",
    "?",
    ":",
    "+",
    "-",
    "<",
    "{",
    "}",
    ".matches('a')",
    "size(",
    ",",
];

/// A rule without its lifts; the id is given later.
fn rule() -> impl Strategy<Value = Value> {
    let risk = select(&["read_only", "external_read", "business_write", "destructive"][..]);
    let keys = (
        proptest::option::of(select(&["crm.*", "crm.update", "*", "*.update", "web.search"][..])),
        proptest::option::of(vec(risk, 1..3)),
        proptest::option::of(select(&["acme", "a*"][..])),
        proptest::bool::weighted(0.1),
    );
    let then = select(&["allow", "ask", "deny"][..]);
    (keys, proptest::option::of(select(&CONDITIONS[..])), then, proptest::bool::weighted(0.2)).prop_map(
        |((capability, risk, tenant, dispatch), when, then, floor)| {
            let mut matches = Map::new();
            matches.extend(capability.map(|glob| ("capability".to_owned(), json!(glob))));
            matches.extend(risk.map(|risk| ("risk".to_owned(), json!(risk))));
            matches.extend(tenant.map(|tenant| ("tenant".to_owned(), json!(tenant))));
            matches.extend(dispatch.then(|| ("stage".to_owned(), json!("dispatch"))));
            json!({"match": matches, "when": when, "then": then, "floor": floor && then != "allow", "because": "x"})
        },
    )
}

/// Rules with ids and with such lifts as may be loaded.
fn rules() -> impl Strategy<Value = Vec<Value>> {
    (vec(rule(), 0..7), vec((0usize..7, 0usize..7), 0..5)).prop_map(|(mut rules, lifts)| {
        for (at, rule) in rules.iter_mut().enumerate() {
            rule["id"] = json!(format!("r{at}"));
        }
        for (from, to) in lifts {
            let mut tried = rules.clone();
            if from < tried.len() && to < tried.len() {
                let mut all = tried[from]["lifts"].as_array().cloned().unwrap_or_default();
                all.push(json!(format!("r{to}")));
                tried[from]["lifts"] = json!(all);
                if Gate::load(&[("test.yaml", &file(&tried))]).is_ok() {
                    rules = tried;
                }
            }
        }
        rules
    })
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0i64..20).prop_map(Value::from),
        any::<f64>().prop_map(|f| Number::from_f64(f).map_or(Value::Null, Value::Number)),
        select(&["1e400", "-1e999", "123456789012345678901234567890", "0.1", "-0", "1E-400"][..])
            .prop_map(|text| serde_json::from_str(text).unwrap()),
    ]
}

/// Any JSON at all, with the names that conditions use among its keys.
fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        "[a-c]{0,3}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof![select(&["n", "l", "s", "owner"][..]).prop_map(str::to_owned), any::<String>()];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map(key, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn questions() -> impl Strategy<Value = Question> {
    (
        select(&["crm.update", "crm.a.b", "web.search", "x"][..]),
        select(&["read_only", "external_read", "business_write", "destructive"][..]),
        select(&["acme", "other"][..]),
        any::<bool>(),
        0u32..6,
        proptest::option::of(arguments()),
        proptest::option::of(arguments()),
    )
        .prop_map(|(id, risk, tenant, tainted, tool_calls, args, resource)| {
            let mut question = question(&format!(
                "{{capability: {{id: {id}, risk: {risk}}}, principal: {{tenant: {tenant}}}, tool_name: x1, \
                 turn: {{tainted: {tainted}, tool_calls: {tool_calls}}}}}"
            ));
            question.arguments = args;
            question.resource = resource;
            question
        })
}

/// Conditions that ask for optional values here and there, not always where it helps.
fn guarded() -> impl Strategy<Value = String> {
    let atom = select(
        &[
            "has(args.a)",
            "args.a == 1",
            "has(args.b)",
            "args.b == 1",
            "has(args.a.c)",
            "args.a.c == 1",
            "'b' in args",
            "args['b'] == 1",
            "true",
            "args.a.exists(x, has(x.c) && x.c == 1)",
        ][..],
    );
    atom.prop_map(str::to_owned).prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            1 => inner.clone().prop_map(|a| format!("!{a}")),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            2 => inner.clone().prop_map(|a| format!("(has(args.a) && {a})")),
            2 => inner.prop_map(|a| format!("(has(args.a) && has(args.a.c) && has(args.b) && {a})")),
        ]
    })
}

fn decide(rules: &[Value], question: &Question) -> Decision {
    question.ask(&gate(&file(rules)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_rule_that_denies_never_makes_an_outcome_less_restrictive(
        rules in rules(),
        mut extra in rule(),
        at in any::<prop::sample::Index>(),
        question in questions(),
    ) {
        extra["id"] = json!("extra");
        extra["then"] = json!("deny");
        let mut more = rules.clone();
        more.insert(at.index(rules.len() + 1), extra);
        prop_assert!(decide(&more, &question).outcome >= decide(&rules, &question).outcome);
    }

    #[test]
    fn the_order_of_rules_does_not_matter_for_the_outcome(
        (rules, other) in rules().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        question in questions(),
    ) {
        let (a, b) = (decide(&rules, &question), decide(&other, &question));
        prop_assert_eq!((a.outcome, &a.obligations), (b.outcome, &b.obligations));
        let sorted = |mut ids: Vec<crate::types::RuleId>| { ids.sort(); ids };
        prop_assert_eq!(sorted(a.matched), sorted(b.matched));
        prop_assert_eq!(sorted(a.lifted), sorted(b.lifted));
    }

    #[test]
    fn a_lift_never_lifts_a_floor(rules in rules(), question in questions()) {
        let decision = decide(&rules, &question);
        for rule in rules.iter().filter(|rule| rule["floor"] == json!(true)) {
            let id = rule["id"].as_str().unwrap().parse().unwrap();
            prop_assert!(!decision.lifted.contains(&id));
            if decision.matched.contains(&id) {
                let at_least = if rule["then"] == "deny" { Outcome::Deny } else { Outcome::Ask };
                prop_assert!(decision.outcome >= at_least);
            }
        }
    }

    /// DEV-L01
    #[test]
    fn what_is_denied_when_shown_is_denied_when_called(rules in rules(), question in questions()) {
        let shown = decide(&rules, &Question { stage: Stage::Expose, ..question.clone() });
        let called = decide(&rules, &question);
        prop_assert!(shown.outcome != Outcome::Deny || called.outcome == Outcome::Deny, "{:?}\n{:?}", shown, called);
    }

    #[test]
    fn the_index_finds_exactly_the_rules_that_match(rules in rules(), question in questions()) {
        let decision = decide(&rules, &question);
        for rule in &rules {
            // Alone, behind a pattern that no index can use, the rule has to say the same.
            let id: crate::types::RuleId = rule["id"].as_str().unwrap().parse().unwrap();
            let mut alone = rule.clone();
            alone.as_object_mut().unwrap().remove("lifts");
            let matched = !decide(&[alone], &question).matched.is_empty();
            prop_assert_eq!(matched, decision.matched.contains(&id) || decision.lifted.contains(&id));
        }
    }

    #[test]
    fn conditions_never_panic_on_any_arguments(question in questions()) {
        static GATES: LazyLock<Vec<Gate>> =
            LazyLock::new(|| CONDITIONS.into_iter().map(|condition| gate(&deny_when(condition))).collect());
        for gate in GATES.iter() {
            let decision = question.ask(gate);
            prop_assert!(decision.errors.is_empty() || decision.outcome == Outcome::Deny);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_as_a_condition_is_read_or_refused(text in "(\\PC|[a-z0-9.()\\[\\]{}'\"!?:&|+<>=@, ]){0,60}") {
        let _ = Gate::load(&[("test.yaml", &deny_when(&text))]);
    }

    #[test]
    fn a_few_tokens_repeated_to_the_limit_are_read_or_refused(tokens in vec(select(&TOKENS[..]), 1..5)) {
        let once = tokens.concat();
        let brackets = once.matches(['(', '[', '{']).count();
        let times = (4096 / once.len()).min(64usize.checked_div(brackets).unwrap_or(usize::MAX));
        let _ = Gate::load(&[("test.yaml", &deny_when(&once.repeat(times)))]);
    }

    #[test]
    fn conditions_put_together_from_their_parts_are_read_or_refused(
        parts in vec(select(&TOKENS[..]), 0..25),
        args in arguments(),
    ) {
        if let Ok(gate) = Gate::load(&[("test.yaml", &deny_when(&parts.concat()))]) {
            let mut question = question("{capability: {id: a.b, risk: read_only}}");
            question.arguments = Some(args);
            question.ask(&gate);
        }
    }

    /// What the load-time check promises: whoever passes it never trips over an absent argument.
    #[test]
    fn a_condition_that_loads_never_misses_an_argument(condition in guarded()) {
        static QUESTION: LazyLock<Question> = LazyLock::new(|| question("{capability: {id: a.b, risk: read_only}}"));
        if let Ok(gate) = Gate::load(&[("test.yaml", &deny_when(&condition))]) {
            for args in [
                json!({}), json!({"a": 1}), json!({"b": 1}), json!({"a": {"c": 1}}), json!({"a": {}, "b": 2}),
                json!({"a": [{"c": 2}, {}]}), json!({"a": {"c": {}}, "b": 1}),
            ] {
                let decision = Question { arguments: Some(args.clone()), ..QUESTION.clone() }.ask(&gate);
                let missed = decision.errors.iter().any(|error| error.contains("there is no"));
                prop_assert!(!missed, "{} {}: {:?}", condition, args, decision.errors);
            }
        }
    }
}
