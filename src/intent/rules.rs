//! The rules of `catalog/intent-rules.yaml`, compiled.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::{
    IntentError,
    terms::{Found, Term, Terms},
};
use crate::types::Intent;

const FILE: &str = "intent-rules.yaml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    #[serde(rename = "dated")]
    _dated: String,
    terms: BTreeMap<String, Term>,
    rules: Vec<IntentRule>,
    forbidden: Vec<TriggerRule>,
    required: Vec<TriggerRule>,
    follow_up: Vec<String>,
    #[serde(default)]
    explicit_only: Vec<Intent>,
    look_up: Intent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentRule {
    id: String,
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    intents: BTreeMap<Intent, f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerRule {
    id: String,
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    because: String,
}

/// When a rule matches, in numbers of terms.
#[derive(Debug)]
struct Condition {
    when: Vec<usize>,
    any: Vec<usize>,
    unless: Vec<usize>,
}

impl Condition {
    fn holds(&self, found: &Found) -> bool {
        self.when.iter().all(|&term| found.has(term))
            && (self.any.is_empty() || self.any.iter().any(|&term| found.has(term)))
            && !self.unless.iter().any(|&term| found.has(term))
    }
}

/// A rule that says something when its condition holds.
#[derive(Debug)]
pub(super) struct Rule<T> {
    /// Its id.
    pub(super) id: String,
    condition: Condition,
    /// What it says.
    pub(super) then: T,
}

/// All rules over one set of terms: the input is read once for all of them.
#[derive(Debug)]
pub(super) struct Rules {
    terms: Terms,
    intents: Vec<Rule<Vec<(Intent, f32)>>>,
    forbidden: Vec<Rule<String>>,
    required: Vec<Rule<String>>,
    follow_up: Vec<usize>,
    /// Intents that are never guessed and never carried over.
    pub(super) explicit_only: Vec<Intent>,
    /// What an input that must be looked up is taken for.
    pub(super) look_up: Intent,
}

impl Rules {
    pub(super) fn from_yaml(text: &str) -> Result<Self, IntentError> {
        let yaml = |error: serde_saphyr::Error| IntentError::Yaml { file: FILE, why: error.to_string() };
        let catalog: Catalog = serde_saphyr::from_str(text).map_err(yaml)?;
        let names: Vec<&str> = catalog.terms.keys().map(String::as_str).collect();
        let compiler = Compiler { names: &names };
        let terms = Terms::new(&catalog.terms)?;
        let intents = catalog.rules.iter().map(|rule| compiler.intent_rule(rule)).collect::<Result<_, _>>()?;
        let triggers =
            |rules: &[TriggerRule]| rules.iter().map(|rule| compiler.trigger_rule(rule)).collect::<Result<Vec<_>, _>>();
        let (forbidden, required) = (triggers(&catalog.forbidden)?, triggers(&catalog.required)?);
        let follow_up = compiler.numbers("follow_up", &catalog.follow_up)?;
        let rules = Self {
            terms,
            intents,
            forbidden,
            required,
            follow_up,
            explicit_only: catalog.explicit_only,
            look_up: catalog.look_up,
        };
        rules.check_ids()?;
        Ok(rules)
    }

    fn check_ids(&self) -> Result<(), IntentError> {
        let triggers = self.forbidden.iter().chain(&self.required).map(|rule| ("trigger", rule.id.as_str()));
        let mut seen = HashSet::new();
        for (kind, id) in self.intents.iter().map(|rule| ("intent", rule.id.as_str())).chain(triggers) {
            if !seen.insert((kind, id)) {
                return Err(IntentError::DuplicateRule { rule: id.to_owned() });
            }
        }
        Ok(())
    }

    /// Every intent that a rule can yield.
    pub(super) fn known_intents(&self) -> impl Iterator<Item = &Intent> {
        let by_rules = self.intents.iter().flat_map(|rule| rule.then.iter().map(|(intent, _)| intent));
        by_rules.chain([&self.look_up])
    }

    /// Which terms are in `text`, which must be `normal`.
    pub(super) fn find(&self, text: &str) -> Found {
        self.terms.find(text)
    }

    /// The intent rules that match, in their order.
    pub(super) fn intents<'a>(&'a self, found: &'a Found) -> impl Iterator<Item = &'a Rule<Vec<(Intent, f32)>>> {
        self.intents.iter().filter(|rule| rule.condition.holds(found))
    }

    /// The first rule that forbids to look anything up.
    pub(super) fn forbidden(&self, found: &Found) -> Option<&Rule<String>> {
        self.forbidden.iter().find(|rule| rule.condition.holds(found))
    }

    /// The first rule that demands to look it up.
    pub(super) fn required(&self, found: &Found) -> Option<&Rule<String>> {
        self.required.iter().find(|rule| rule.condition.holds(found))
    }

    /// Whether the input goes on with what was said before.
    pub(super) fn follows_up(&self, found: &Found) -> bool {
        self.follow_up.iter().any(|&term| found.has(term))
    }
}

/// Turns names of terms into numbers.
struct Compiler<'a> {
    names: &'a [&'a str],
}

impl Compiler<'_> {
    fn numbers(&self, rule: &str, terms: &[String]) -> Result<Vec<usize>, IntentError> {
        let number = |term: &String| {
            let unknown = || IntentError::UnknownTerm { rule: rule.to_owned(), term: term.clone() };
            self.names.binary_search(&term.as_str()).map_err(|_| unknown())
        };
        terms.iter().map(number).collect()
    }

    fn condition(
        &self,
        rule: &str,
        when: &[String],
        any: &[String],
        unless: &[String],
    ) -> Result<Condition, IntentError> {
        if when.is_empty() && any.is_empty() {
            return Err(IntentError::MatchesAll { rule: rule.to_owned() });
        }
        let [when, any, unless] = [when, any, unless].map(|terms| self.numbers(rule, terms));
        Ok(Condition { when: when?, any: any?, unless: unless? })
    }

    fn intent_rule(&self, rule: &IntentRule) -> Result<Rule<Vec<(Intent, f32)>>, IntentError> {
        let off = rule.intents.iter().find(|(_, confidence)| !(0.0..=1.0).contains(*confidence));
        if let Some((intent, confidence)) = off {
            let (rule, intent) = (rule.id.clone(), intent.to_string());
            return Err(IntentError::Confidence { rule, intent, confidence: confidence.to_string() });
        }
        let condition = self.condition(&rule.id, &rule.when, &rule.any, &rule.unless)?;
        let then = rule.intents.iter().map(|(intent, confidence)| (intent.clone(), *confidence)).collect();
        Ok(Rule { id: rule.id.clone(), condition, then })
    }

    fn trigger_rule(&self, rule: &TriggerRule) -> Result<Rule<String>, IntentError> {
        let condition = self.condition(&rule.id, &rule.when, &rule.any, &rule.unless)?;
        Ok(Rule { id: rule.id.clone(), condition, then: rule.because.clone() })
    }
}
