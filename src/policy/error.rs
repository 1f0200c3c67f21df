//! Why rule files were refused.

use crate::types::IdError;

/// Why rules could not be loaded. Nothing is loaded in part: a set of rules is in force as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file is no YAML, or not of the shape of a rule file.
    #[error("{file}: {message}")]
    Yaml {
        /// The file.
        file: String,
        /// What is wrong, with line and column.
        message: String,
    },
    /// A rule cannot be used.
    #[error("{file}: rule `{rule}`: {problem}")]
    Rule {
        /// The file.
        file: String,
        /// The id of the rule.
        rule: String,
        /// What is wrong with it.
        problem: RuleProblem,
    },
    /// An example cannot be used.
    #[error("{file}: example {number}: {message}")]
    Example {
        /// The file.
        file: String,
        /// Which example of the file, from 1.
        number: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The rules do not do what their own examples say.
    #[error("{failed} of the rules' own examples fail; the first: {first}")]
    ExamplesFail {
        /// How many.
        failed: usize,
        /// The first of them, in words.
        first: String,
    },
    /// An id of the gate's own is no valid id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The thread that reads conditions could not be started, or died.
    #[error("the conditions could not be read: {0}")]
    Compiler(String),
}

/// What is wrong with one rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleProblem {
    /// Two rules have one id.
    #[error("there is a rule of this id already, in {0}")]
    Duplicate(String),
    /// The id is kept for checks of the contract.
    #[error("ids that begin with `builtin.` are kept for the checks of a capability's own contract")]
    Reserved,
    /// `because` is empty.
    #[error("`because` is empty: say in a few words why, people and models will read it")]
    NoReason,
    /// `then` says nothing.
    #[error("`then` decides nothing, obliges to nothing, and the rule lifts nothing")]
    Nothing,
    /// A shadow that would change what others say.
    #[error("a rule in shadow only records what it would say: it can be no floor and lift nothing")]
    HeavyShadow,
    /// A floor that allows.
    #[error("a floor has to ask or deny: one that allows holds nothing")]
    HollowFloor,
    /// `match.stage` is `expose`.
    #[error("`stage: expose` is refused, since what hides a tool must stop its call too: leave `stage` out")]
    ExposeOnly,
    /// `lifts` names a rule that is not there.
    #[error("it lifts `{name}`, which is in neither this file nor one before it{}", hint(.nearest))]
    UnknownLift {
        /// The name.
        name: String,
        /// The most similar id.
        nearest: Option<String>,
    },
    /// `lifts` names a floor.
    #[error("it lifts `{0}`, which is a floor and cannot be lifted")]
    LiftsFloor(String),
    /// `lifts` names a rule that lifts.
    #[error("it lifts `{0}`, which lifts rules itself: a rule that lifts cannot be lifted")]
    LiftsLifter(String),
    /// A condition over the call lifts a rule that hides the tool.
    #[error(
        "it decides only at dispatch and lifts `{0}`, which denies and hides the tool before there are arguments: what \
         is hidden cannot be called; put the exception into the condition of `{0}`"
    )]
    LiftsHiding(String),
    /// The condition is too long.
    #[error("`when` has {bytes} bytes; at most {limit} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The condition is nested too deeply.
    #[error("`when` is nested deeper than {0} levels")]
    TooDeep(usize),
    /// The condition has too many brackets.
    #[error("`when` has more than {0} opening brackets; make it several rules")]
    TooManyBrackets(usize),
    /// The condition is no CEL.
    #[error("`when` is no CEL expression: {0}")]
    Syntax(String),
    /// A variable that is not there.
    #[error("`when` uses `{name}`, which is no variable{}", hint(.nearest))]
    UnknownVariable {
        /// The name.
        name: String,
        /// The most similar variable.
        nearest: Option<String>,
    },
    /// A field that is not there.
    #[error("`when` uses `{root}.{field}`; `{root}` has no field of that name{}", hint(.nearest))]
    UnknownField {
        /// The variable.
        root: String,
        /// The field.
        field: String,
        /// The most similar field.
        nearest: Option<String>,
    },
    /// A function that is not there.
    #[error("`when` calls `{name}`, which is no function with these arguments{}", hint(.nearest))]
    UnknownFunction {
        /// The name.
        name: String,
        /// The most similar function.
        nearest: Option<String>,
    },
    /// A word that its list does not have.
    #[error("`when` compares {what} with `{word}`, which it never is{}", hint(.nearest))]
    UnknownWord {
        /// What is compared.
        what: &'static str,
        /// The word.
        word: String,
        /// The most similar word.
        nearest: Option<String>,
    },
    /// A value that may be absent is used without asking whether it is there.
    #[error("`when` uses `{path}`, which may be absent; ask first, in the same conjunction: `{guard} && …`")]
    MissingGuard {
        /// What is used.
        path: String,
        /// The guard that is missing.
        guard: String,
    },
    /// The types do not fit.
    #[error("`when` can never be evaluated: {0}")]
    Type(String),
    /// Something CEL has and rules do not.
    #[error("`when` uses {0}")]
    Unsupported(String),
}

/// ` (did you mean …?)`, or nothing.
fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The name most similar to `name`, when one is similar at all.
pub(super) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    known
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(similarity, _)| *similarity >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other.to_owned())
}
