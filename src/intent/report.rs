//! What detection found.

use serde::{Deserialize, Serialize};

use crate::types::{Intent, Trigger};

/// How an intent was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentSource {
    /// The caller declared it.
    Declared,
    /// A rule of the catalog matched.
    Rule,
    /// The lexical classifier found it near its examples.
    Classifier,
    /// The conversation so far was about it.
    History,
    /// Tool search found a capability that fits.
    Discovery,
}

/// One intent of an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetectedIntent {
    /// The intent.
    pub intent: Intent,
    /// How sure, 0–1.
    pub confidence: f32,
    /// How it was found.
    pub source: IntentSource,
    /// The rule, example or word that found it.
    pub because: String,
}

/// All that detection found in one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntentReport {
    /// The intents, surest first.
    pub intents: Vec<DetectedIntent>,
    /// Whether the answer must, may or must not be looked up.
    pub trigger: Trigger,
    /// Why.
    pub trigger_because: String,
    /// The caller declared `citation.required`.
    pub require_citations: bool,
}
