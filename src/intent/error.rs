//! What can be wrong with a catalog of intents.

/// Why a catalog of intents was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntentError {
    /// The YAML cannot be read as such a catalog.
    #[error("`{file}` is no catalog of intents: {why}")]
    Yaml {
        /// Which file.
        file: &'static str,
        /// What the parser said, with line and column.
        why: String,
    },
    /// A rule names a term that is not declared.
    #[error("rule `{rule}` names the term `{term}`, which is not among `terms`; declare it or mend the name")]
    UnknownTerm {
        /// The rule.
        rule: String,
        /// The term.
        term: String,
    },
    /// A rule names no term that has to be found.
    #[error("rule `{rule}` would match everything; name a term in `when` or `any`")]
    MatchesAll {
        /// The rule.
        rule: String,
    },
    /// Two rules have one id.
    #[error("two rules have the id `{rule}`; rename one")]
    DuplicateRule {
        /// The id.
        rule: String,
    },
    /// A confidence is not between 0 and 1.
    #[error("rule `{rule}` gives `{intent}` the confidence {confidence}; it must be between 0 and 1")]
    Confidence {
        /// The rule.
        rule: String,
        /// The intent.
        intent: String,
        /// The number.
        confidence: String,
    },
    /// A term has no words, or its pattern is not valid.
    #[error("term `{term}` cannot be used: {why}")]
    Term {
        /// The term.
        term: String,
        /// What is wrong.
        why: String,
    },
}
