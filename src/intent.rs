//! What is wanted? Declared intents, rules, a lexical classifier and history say which intents an input has, and
//! whether it must be looked up ([`Detector`]); with tools given, [`need`] says whether to call one, to ask for what is
//! missing, or to answer without.

mod classifier;
mod detector;
mod error;
mod hash;
pub mod need;
mod report;
mod rules;
mod terms;
mod words;

#[cfg(test)]
mod tests;

pub use classifier::{Classifier, Guess, Labelled};
pub use detector::{CITATION_REQUIRED, Detector, Input};
pub use error::IntentError;
pub use report::{DetectedIntent, IntentReport, IntentSource};
