//! JSON Schema of tool arguments, converted to what a provider accepts.
//!
//! A provider refuses a whole request because of one odd schema, and each accepts another subset. So every tool's
//! original schema is brought to the provider's dialect by a list of small transforms. They only **widen**: whatever
//! the original accepts can still be said (a key no schema names aside). What the wider schema lets through is caught
//! when the arguments are checked against the original, see [`arguments`](super::arguments).
//!
//! Converting walks the schema several times; [`Cache`] does it once for each schema and dialect.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, Weak},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod back;
mod gemini;
mod lenient;
mod merge;
mod normal;
mod root;
mod shape;
mod strict;
mod strict_anthropic;
mod strict_deepseek;
mod tree;

pub use back::BackMap;
use normal::Normal;
pub(crate) use normal::of_arguments;

/// The JSON Schema subset a provider accepts for tool parameters (facts of 2026-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaDialect {
    /// OpenAI's strict mode: every object closed, every key required, a subset of keywords. Falls back to
    /// [`OpenAi`](Self::OpenAi) when the schema does not convert without loss.
    OpenAiStrict,
    /// OpenAI without strict mode, and the compatible servers (xAI, Aliyun, Mistral, DeepSeek, Z.AI, local ones):
    /// nearly all of JSON Schema, an object without unions at the root.
    OpenAi,
    /// Anthropic without strict mode: draft 2020-12, an object without unions at the root, plain property names.
    Anthropic,
    /// Anthropic's strict mode: every object closed, no recursion, no bounds. Falls back to
    /// [`Anthropic`](Self::Anthropic) when the schema does not convert without loss.
    AnthropicStrict,
    /// DeepSeek's strict mode (beta). Falls back to [`OpenAi`](Self::OpenAi) when the schema does not convert without loss.
    DeepSeekStrict,
    /// Gemini's `parameters`: the OpenAPI-like subset, no references, enums of strings.
    Gemini,
}

/// One thing a transform changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The transform, a stable name such as `root_union`.
    pub transform: String,
    /// Where, as a JSON pointer into the schema; empty is the root.
    pub pointer: String,
    /// What was changed, in words.
    pub note: String,
    /// Whether the model is told less than the original says. The arguments are still checked against all of it.
    pub loss: bool,
}

/// A schema in a provider's dialect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Converted {
    /// What to send as the tool's parameters. Equal originals give equal bytes.
    pub schema: Value,
    /// Whether the provider may be told to keep strictly to it.
    pub strict: bool,
    /// What was changed on the way, in order.
    pub log: Vec<Change>,
}

impl Converted {
    /// Arguments that are valid for the original schema, in the form the converted one wants: missing keys that are
    /// required now become `null`, enum values become their labels. For input examples and for tests;
    /// [`BackMap::restore`] is the way back.
    pub fn express(&self, arguments: &Value) -> Value {
        back::express(&self.schema, arguments)
    }

    /// Whether a transform of this name changed anything.
    pub fn was(&self, transform: &str) -> bool {
        self.log.iter().any(|change| change.transform == transform)
    }
}

/// Why a tool cannot be offered: its schema makes no sense for tool arguments. The tool is withheld, no other one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The root describes something that is no object.
    #[error("the input schema describes {found}, but tool arguments are an object; give it `\"type\": \"object\"`")]
    NotAnObject {
        /// What it describes.
        found: &'static str,
    },
    /// No variant of a union at the root is an object.
    #[error("no variant of `{keyword}` at the root of the input schema is an object")]
    NoObjectVariant {
        /// `anyOf` or `oneOf`.
        keyword: &'static str,
    },
    /// A reference leads nowhere, or out of the document. Schemas are never fetched.
    #[error("`$ref` to `{reference}` at `{pointer}` leads to nothing in the schema; put its target under `$defs`")]
    UnresolvedRef {
        /// The reference.
        reference: String,
        /// Where it stands.
        pointer: String,
    },
    /// The root consists of references and unions without end.
    #[error("the root of the input schema is a tangle of references and unions; make it a plain object")]
    RootTooEntangled,
    /// Nested too deeply.
    #[error("the input schema is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Too large.
    #[error("the input schema holds more than {limit} values")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// A keyword has a value JSON Schema does not allow.
    #[error("the input schema is no valid JSON Schema: {message}")]
    Invalid {
        /// What is wrong and where.
        message: String,
    },
}

/// Converts the original schema of a tool's arguments to a dialect.
///
/// # Errors
/// [`SchemaError`] when the schema cannot describe tool arguments; the caller withholds this tool and says why.
pub fn convert(original: &Value, dialect: SchemaDialect) -> Result<Converted, SchemaError> {
    let mut log = Log::default();
    let mut normal = normal::normalise(original)?;
    root::as_object(&mut normal, &mut log)?;
    let (schema, strict) = match dialect {
        SchemaDialect::OpenAi => (lenient::openai(normal, &mut log), false),
        SchemaDialect::Anthropic => (lenient::anthropic(normal, &mut log), false),
        SchemaDialect::Gemini => (gemini::convert(normal, &mut log), false),
        SchemaDialect::OpenAiStrict => strictly(normal, &mut log, strict::convert, lenient::openai),
        SchemaDialect::DeepSeekStrict => strictly(normal, &mut log, strict_deepseek::convert, lenient::openai),
        SchemaDialect::AnthropicStrict => strictly(normal, &mut log, strict_anthropic::convert, lenient::anthropic),
    };
    Ok(Converted { schema, strict, log: log.changes })
}

type Conversion = fn(Normal, &mut Log) -> Value;

/// The strict form when nothing is lost on the way to it, else the lenient one.
fn strictly(normal: Normal, log: &mut Log, strict: Conversion, lenient: Conversion) -> (Value, bool) {
    let mut attempt = log.clone();
    let schema = strict(normal.clone(), &mut attempt);
    match attempt.losses() {
        None => {
            *log = attempt;
            (schema, true)
        }
        Some(why) => {
            log.note("strict_fallback", "", format!("not strict: {why}"));
            (lenient(normal, log), false)
        }
    }
}

/// What the transforms write down.
#[derive(Debug, Clone, Default)]
struct Log {
    changes: Vec<Change>,
}

impl Log {
    fn note(&mut self, transform: &str, pointer: &str, note: impl Into<String>) {
        self.push(transform, pointer, note.into(), false);
    }

    fn loss(&mut self, transform: &str, pointer: &str, note: impl Into<String>) {
        self.push(transform, pointer, note.into(), true);
    }

    fn push(&mut self, transform: &str, pointer: &str, note: String, loss: bool) {
        self.changes.push(Change { transform: transform.to_owned(), pointer: pointer.to_owned(), note, loss });
    }

    /// The first few losses in words.
    fn losses(&self) -> Option<String> {
        let losses: Vec<&Change> = self.changes.iter().filter(|change| change.loss).collect();
        let told: Vec<String> = losses.iter().take(3).map(|c| format!("`{}`: {}", c.pointer, c.note)).collect();
        let more = losses.len().saturating_sub(told.len());
        match (told.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(told.join("; ")),
            (false, more) => Some(format!("{}; and {more} more", told.join("; "))),
        }
    }
}

/// Something made once for each schema, found again by the schema's address.
///
/// The entry holds a weak reference, so an address is never used again while its entry lives, and what belongs to
/// dropped schemas goes when the map grows.
pub(crate) struct PerSchema<K, V> {
    entries: RwLock<HashMap<(usize, K), Kept<V>>>,
}

struct Kept<V> {
    schema: Weak<Value>,
    made: V,
}

impl<K: Copy + Eq + std::hash::Hash, V: Clone> PerSchema<K, V> {
    /// The entry for `schema` and `key`, made by `make` the first time.
    pub(crate) fn get(&self, schema: &Arc<Value>, key: K, make: impl FnOnce() -> V) -> V {
        let place = (Arc::as_ptr(schema) as usize, key);
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = entries.get(&place) {
            return kept.made.clone();
        }
        drop(entries);
        let made = make();
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == entries.capacity() {
            entries.retain(|_, kept| kept.schema.strong_count() > 0);
        }
        entries.insert(place, Kept { schema: Arc::downgrade(schema), made: made.clone() });
        made
    }
}

impl<K, V> Default for PerSchema<K, V> {
    fn default() -> Self {
        Self { entries: RwLock::default() }
    }
}

impl<K, V> fmt::Debug for PerSchema<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "PerSchema({} entries)", entries.len())
    }
}

/// Conversions by schema and dialect, made once per process. Share one; a hit is a read lock and a hash look-up.
#[derive(Debug, Default)]
pub struct Cache {
    made: PerSchema<SchemaDialect, Result<Arc<Converted>, SchemaError>>,
}

impl Cache {
    /// The schema in the dialect, converted the first time this very `Arc` is seen.
    ///
    /// # Errors
    /// As [`convert`]; errors are kept too.
    pub fn get(&self, schema: &Arc<Value>, dialect: SchemaDialect) -> Result<Arc<Converted>, SchemaError> {
        self.made.get(schema, dialect, || convert(schema, dialect).map(Arc::new))
    }
}

#[cfg(test)]
mod tests;
