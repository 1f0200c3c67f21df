//! From the raw text of a call's arguments to arguments that are valid for the tool's own schema.
//!
//! [`read`] is the one way in for a live call: parse, restore what the wire dialect changed, coerce where the schema
//! leaves no choice, check. What cannot be read for certain is never guessed: the model gets an error it can act on,
//! and the tool does not run. [`repair()`] goes further and is not for live calls.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::types::{ErrorCode, ToolError};

mod certain;
mod repair;
mod tolerant;
mod validator;
mod word;

pub use repair::repair;
pub use validator::{Draft, Formats, Validator, ValidatorCache, Violation};

/// How much of a broken text may be repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepairLevel {
    /// Only what has one reading: a byte order mark, a code fence around the whole text, a comma before a closing
    /// bracket, raw control characters in a string, an object encoded as a string once more. For live calls.
    #[default]
    Certain,
    /// Also what is merely likely: missing brackets and quotes, comments, prose around, Python literals. For data that
    /// a person looks at, and for measuring.
    All,
}

/// Arguments that are valid for the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The arguments, always an object. Numbers are the text the model gave.
    pub value: Value,
    /// What was repaired, restored or coerced, a sentence each. Usually empty.
    pub repairs: Vec<String>,
}

/// Why a call's arguments cannot be used. The tool must not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The text is no JSON.
    #[error("the arguments are no JSON: {reason} at line {line}, column {column}, near `{excerpt}`")]
    NotJson {
        /// What the parser says.
        reason: String,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1 (0 at the end of a line).
        column: usize,
        /// The text around the place, at most 60 characters.
        excerpt: String,
    },
    /// The text is JSON, but no object.
    #[error("the arguments must be a JSON object, not {found}: `{excerpt}`")]
    NotAnObject {
        /// The type found.
        found: &'static str,
        /// How the text begins, at most 60 characters.
        excerpt: String,
    },
    /// The object does not match the schema.
    #[error("the arguments do not match the schema: {}", told(.0))]
    Invalid(Vec<Violation>),
}

/// All of them, in one line.
pub(crate) fn told(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl ArgumentError {
    /// The result the model gets: what is wrong and where, so that it can call again.
    pub fn to_tool_error(&self) -> ToolError {
        match self {
            Self::NotJson { .. } | Self::NotAnObject { .. } => ToolError::new(
                ErrorCode::InvalidArguments,
                self.to_string(),
                "Call the tool again with one complete JSON object as arguments.",
            ),
            Self::Invalid(violations) => {
                let paths: Vec<&str> = violations.iter().map(|violation| violation.schema_pointer.as_str()).collect();
                let hint = "Call the tool again with arguments that match its schema.";
                ToolError::new(ErrorCode::SchemaValidation, self.to_string(), hint)
                    .developer(format!("schema paths: {}", paths.join(", ")))
            }
        }
    }
}

/// Reads the arguments of a live call. Blank text is the empty object.
///
/// The caller must not read a call that was cut off (the reply ended at its token limit): a cut text may by chance be
/// a whole one.
///
/// # Errors
/// [`ArgumentError`] when the text is no JSON object or does not match the schema.
pub fn read(raw: &str, validator: &Validator) -> Result<Arguments, ArgumentError> {
    let (mut value, mut repairs) = parse(raw, RepairLevel::Certain)?;
    repairs.append(&mut validator.restore(&mut value));
    validator.check(&value).map_err(ArgumentError::Invalid)?;
    Ok(Arguments { value, repairs })
}

/// Parses arguments without a schema. Returns the object and what was repaired.
///
/// # Errors
/// [`ArgumentError::NotJson`] and [`ArgumentError::NotAnObject`].
pub fn parse(raw: &str, level: RepairLevel) -> Result<(Value, Vec<String>), ArgumentError> {
    if raw.trim().is_empty() {
        return Ok((json!({}), Vec::new()));
    }
    let mut notes = Vec::new();
    let error = match serde_json::from_str::<Value>(raw) {
        Ok(value @ Value::Object(_)) => return Ok((value, notes)),
        Ok(value) => not_an_object(&value),
        Err(error) => not_json(raw, &error),
    };
    if let Some(value) = certain::object(raw, &mut notes) {
        return Ok((value, notes));
    }
    match level {
        RepairLevel::Certain => Err(error),
        RepairLevel::All => repair(raw).filter(|(value, _)| value.is_object()).ok_or(error),
    }
}

/// The text to put into a history for this call: always a JSON object. Some providers refuse a history whose
/// arguments are no JSON, so a broken call would make the whole conversation unusable.
pub fn replayable(raw: &str) -> Cow<'_, str> {
    let is_object = raw.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(raw).is_ok();
    if is_object {
        return Cow::Borrowed(raw);
    }
    match certain::object(raw, &mut Vec::new()) {
        Some(value) => Cow::Owned(value.to_string()),
        None => Cow::Borrowed("{}"),
    }
}

const EXCERPT: usize = 60;

fn not_an_object(value: &Value) -> ArgumentError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    ArgumentError::NotAnObject { found, excerpt: value.to_string().chars().take(EXCERPT).collect() }
}

fn not_json(raw: &str, error: &serde_json::Error) -> ArgumentError {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned();
    let before: usize = raw.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let place = (before + error.column()).min(raw.len());
    let start = raw.char_indices().rev().map(|(at, _)| at).filter(|at| *at < place).nth(EXCERPT / 2).unwrap_or(0);
    let excerpt = raw.get(start..).unwrap_or_default().chars().take(EXCERPT).collect();
    ArgumentError::NotJson { reason, line: error.line(), column: error.column(), excerpt }
}

#[cfg(test)]
mod tests;
