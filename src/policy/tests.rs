//! Tests of the gate, by part.

use super::*;

mod decide;
mod load;
mod property;

/// A gate of one file of rules.
fn gate(rules: &str) -> Gate {
    Gate::load(&[("test.yaml", rules)]).unwrap()
}

/// What is wrong with a file of rules.
fn refused(rules: &str) -> PolicyError {
    Gate::load(&[("test.yaml", rules)]).unwrap_err()
}

/// A question in YAML.
fn question(given: &str) -> Question {
    Given::parse("question", given).unwrap().build().unwrap()
}

/// A rule `r` that denies under a condition.
fn deny_when(condition: &str) -> String {
    let condition = serde_json::Value::from(condition);
    format!("rules: [{{id: r, when: {condition}, then: deny, because: no}}]")
}

/// A file of rules from JSON values.
fn file(rules: &[serde_json::Value]) -> String {
    serde_json::json!({ "rules": rules }).to_string()
}
