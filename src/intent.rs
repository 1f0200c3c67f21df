//! What is wanted? Declared intents, rules, a lexical classifier and history say which intents an input has, and
//! whether it must be looked up.

mod report;

pub use report::{DetectedIntent, IntentReport, IntentSource};
