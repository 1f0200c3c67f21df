//! From a text to intents and trigger.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{LazyLock, OnceLock},
};

use serde::Deserialize;

use super::{
    Classifier, DetectedIntent, IntentError, IntentReport, IntentSource, Labelled,
    rules::Rules,
    terms::{Found, normal},
};
use crate::types::{Intent, Trigger};

/// The pseudo-intent that demands citations; it never becomes an intent.
pub const CITATION_REQUIRED: &str = "citation.required";

const RULES: &str = include_str!("../../catalog/intent-rules.yaml");
const INTENTS: &str = include_str!("../../catalog/intents.yaml");

/// The label of examples that need no tool.
const NONE: &str = "none";
/// A guess below this is none.
const SURE_ENOUGH: f32 = 0.5;
/// How sure an intent is that was carried over from the turn before.
const CARRIED: f32 = 0.6;
/// How sure it is that an input must be looked up on the web when nothing says where else.
const LOOKED_UP: f32 = 0.5;
/// Rules look at this many bytes from the start of an input and half as many from its end: what is wanted stands there.
const LOOK_AT: usize = 6_000;

/// What is looked at to find intents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Input<'a> {
    /// What the user said.
    pub text: &'a str,
    /// What the caller declared; `citation.required` among them demands citations.
    pub declared: &'a [Intent],
    /// The intents of the latest turn that had any, surest first: a follow-up question inherits them.
    pub history: &'a [Intent],
}

/// Finds intents: declared ones win; then rules; where no rule matches, a follow-up inherits the intents before it,
/// and else a lexical classifier over examples is asked.
///
/// Detection is pure and quick: one pass over the text for all rules, microseconds for a question. The classifier is
/// trained from the catalog's examples at its first use, which takes some milliseconds once.
#[derive(Debug)]
pub struct Detector {
    rules: Rules,
    classifier: OnceLock<Classifier>,
    examples: Examples,
}

#[derive(Debug)]
enum Examples {
    /// Shipped: read when they are needed first.
    Shipped,
    /// Given: read and checked already.
    Given(Vec<Group>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    #[serde(rename = "dated")]
    _dated: String,
    intents: Vec<Group>,
}

/// An intent with its examples.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    intent: Intent,
    examples: Vec<String>,
}

impl Group {
    fn labelled(&self) -> impl Iterator<Item = Labelled<'_>> {
        self.examples.iter().map(|text| Labelled { label: self.intent.as_str(), text })
    }
}

impl Detector {
    /// The detector over the shipped catalog.
    ///
    /// # Panics
    /// Never in a released build: the shipped catalog is read in the tests.
    pub fn embedded() -> &'static Self {
        static SHIPPED: LazyLock<Detector> = LazyLock::new(|| {
            #[expect(clippy::expect_used, reason = "the shipped rules are compiled in; a test reads them")]
            let rules = Rules::from_yaml(RULES).expect("the shipped intent rules");
            Detector { rules, classifier: OnceLock::new(), examples: Examples::Shipped }
        });
        &SHIPPED
    }

    /// A detector over other data, in the form of `catalog/intent-rules.yaml` and `catalog/intents.yaml`.
    ///
    /// # Errors
    /// [`IntentError`] when a text is no such catalog, or a rule names an unknown term, is double, or matches all.
    pub fn from_yaml(rules: &str, intents: &str) -> Result<Self, IntentError> {
        let rules = Rules::from_yaml(rules)?;
        Ok(Self { rules, classifier: OnceLock::new(), examples: Examples::Given(read_examples(intents)?) })
    }

    /// What `input` wants, and whether it must be looked up. Total: any text gives a report.
    pub fn detect(&self, input: &Input<'_>) -> IntentReport {
        let text = relevant(input.text);
        let found = self.rules.find(&text);
        let declared: Vec<&Intent> = input.declared.iter().filter(|one| one.as_str() != CITATION_REQUIRED).collect();
        let require_citations = declared.len() < input.declared.len();
        let (trigger, trigger_because) = self.trigger(&found);
        let mut intents = match declared.is_empty() {
            false => declared.into_iter().map(as_declared).collect(),
            true => self.undeclared(input, &text, &found),
        };
        if intents.is_empty() && trigger == Trigger::Required {
            intents.push(self.looked_up());
        }
        IntentReport { intents, trigger, trigger_because, require_citations }
    }

    /// Every intent that rules or examples can yield, for checking a catalog against it.
    pub fn known_intents(&self) -> BTreeSet<Intent> {
        let examples = self.examples();
        let of_examples = examples.iter().map(|group| &group.intent).filter(|intent| intent.as_str() != NONE);
        self.rules.known_intents().chain(of_examples).cloned().collect()
    }

    fn trigger(&self, found: &Found) -> (Trigger, String) {
        if let Some(rule) = self.rules.forbidden(found) {
            return (Trigger::Forbidden, format!("{} (rule `{}`)", rule.then, rule.id));
        }
        match self.rules.required(found) {
            Some(rule) => (Trigger::Required, format!("{} (rule `{}`)", rule.then, rule.id)),
            None => (Trigger::Auto, "nothing demands or forbids to look it up".to_owned()),
        }
    }

    fn undeclared(&self, input: &Input<'_>, text: &str, found: &Found) -> Vec<DetectedIntent> {
        let by_rules = self.by_rules(found);
        if !by_rules.is_empty() {
            return by_rules;
        }
        let by_history = self.by_history(input, found);
        if !by_history.is_empty() || self.rules.forbidden(found).is_some() {
            return by_history;
        }
        self.by_examples(text).into_iter().collect()
    }

    fn by_rules(&self, found: &Found) -> Vec<DetectedIntent> {
        let mut intents: Vec<DetectedIntent> = Vec::new();
        for rule in self.rules.intents(found) {
            for (intent, confidence) in &rule.then {
                let because = || format!("rule `{}`", rule.id);
                match intents.iter_mut().find(|one| one.intent == *intent) {
                    Some(one) if one.confidence < *confidence => {
                        (one.confidence, one.because) = (*confidence, because());
                    }
                    Some(_) => {}
                    None => intents.push(DetectedIntent {
                        intent: intent.clone(),
                        confidence: *confidence,
                        source: IntentSource::Rule,
                        because: because(),
                    }),
                }
            }
        }
        // Stable: equally sure intents stay in the order of the rules.
        intents.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
        intents
    }

    fn by_history(&self, input: &Input<'_>, found: &Found) -> Vec<DetectedIntent> {
        if !self.rules.follows_up(found) {
            return Vec::new();
        }
        let carried = |intent: &Intent| DetectedIntent {
            intent: intent.clone(),
            confidence: CARRIED,
            source: IntentSource::History,
            because: "it goes on with the turn before".to_owned(),
        };
        input.history.iter().filter(|intent| self.may_be_guessed(intent)).map(carried).collect()
    }

    fn by_examples(&self, text: &str) -> Option<DetectedIntent> {
        let guess = self.classifier().classify(text)?;
        let intent = Intent::new(guess.label).ok().filter(|intent| intent.as_str() != NONE)?;
        let because = format!("close to its examples, most by `{}`", guess.word);
        let (confidence, source) = (guess.confidence, IntentSource::Classifier);
        (confidence >= SURE_ENOUGH && self.may_be_guessed(&intent)).then_some(DetectedIntent {
            intent,
            confidence,
            source,
            because,
        })
    }

    fn looked_up(&self) -> DetectedIntent {
        DetectedIntent {
            intent: self.rules.look_up.clone(),
            confidence: LOOKED_UP,
            source: IntentSource::Rule,
            because: "it must be looked up, and nothing says where else".to_owned(),
        }
    }

    fn may_be_guessed(&self, intent: &Intent) -> bool {
        intent.as_str() != CITATION_REQUIRED && !self.rules.explicit_only.contains(intent)
    }

    fn classifier(&self) -> &Classifier {
        self.classifier.get_or_init(|| {
            let groups = self.examples();
            Classifier::train(&groups.iter().flat_map(Group::labelled).collect::<Vec<_>>())
        })
    }

    fn examples(&self) -> Cow<'_, [Group]> {
        match &self.examples {
            Examples::Given(groups) => Cow::Borrowed(groups),
            // A test reads them; without examples nothing would be guessed.
            Examples::Shipped => Cow::Owned(read_examples(INTENTS).unwrap_or_default()),
        }
    }
}

fn as_declared(intent: &Intent) -> DetectedIntent {
    DetectedIntent {
        intent: intent.clone(),
        confidence: 1.0,
        source: IntentSource::Declared,
        because: "the caller declared it".to_owned(),
    }
}

fn read_examples(text: &str) -> Result<Vec<Group>, IntentError> {
    let yaml = |error: serde_saphyr::Error| IntentError::Yaml { file: "intents.yaml", why: error.to_string() };
    Ok(serde_saphyr::from_str::<Catalog>(text).map_err(yaml)?.intents)
}

/// The start and the end of a text, in lower case and with single blanks.
fn relevant(text: &str) -> String {
    if text.len() <= LOOK_AT + LOOK_AT / 2 {
        return normal(text);
    }
    let start = text.get(..text.floor_char_boundary(LOOK_AT)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - LOOK_AT / 2)..).unwrap_or_default();
    normal(&format!("{start}\n{end}"))
}
