//! Checking arguments against the tool's own schema. The only place that names the `jsonschema` crate.

use std::{fmt, sync::Arc};

use jsonschema::{
    ValidationError, ValidationOptions,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::llm::schema::{self, BackMap, PerSchema, SchemaError};

/// How many violations are told to a model.
const MAX_VIOLATIONS: usize = 8;

/// How many characters of a value a message repeats.
const MAX_TOLD: usize = 80;

/// Whether `format` is checked or a remark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Formats {
    /// A wrong format is an error. What tool authors mean by it.
    #[default]
    Assert,
    /// A format is a remark, as JSON Schema has it by default.
    Annotate,
}

/// Which draft of JSON Schema a schema is read as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Draft {
    /// The one its `$schema` names. Without one 2020-12, or draft 7 if it is no valid schema in 2020-12 (a list as
    /// `items`).
    #[default]
    Named,
    /// Draft 7, unless `$schema` names another.
    Draft7,
}

/// One way in which arguments do not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where in the arguments, as a JSON pointer; empty is the whole.
    pub pointer: String,
    /// Which keyword of the schema, as a JSON pointer.
    pub schema_pointer: String,
    /// What is wrong, in words for a model.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "{} (schema {})", self.message, self.schema_pointer),
            pointer => write!(f, "`{pointer}`: {} (schema {})", self.message, self.schema_pointer),
        }
    }
}

/// A tool's schema, compiled: make it once per tool, share it, check with it from any thread.
///
/// Limits and fixed values beyond 64 bits are compared as doubles; the arguments themselves are never rounded.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    back: BackMap,
}

impl Validator {
    /// Compiles the original schema of a tool's arguments. The draft is the one it names, else 2020-12; formats are
    /// checked; references out of the document are never followed.
    ///
    /// A schema that says nothing (`null`, `{"type": "null"}`, `true`, `{}`) is that of a tool without arguments.
    ///
    /// # Errors
    /// [`SchemaError`] when it is no valid JSON Schema or refers to what it does not hold: withhold the tool.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let whole = schema::of_arguments(schema);
        let back = BackMap::of(&whole)?;
        Ok(Self { compiled: compile(&whole, Draft::Named, Formats::Assert)?, back })
    }

    /// Checks arguments and tells each violation, eight at most.
    ///
    /// # Errors
    /// What does not match.
    pub fn check(&self, arguments: &Value) -> Result<(), Vec<Violation>> {
        if self.compiled.is_valid(arguments) {
            return Ok(());
        }
        let mut violations = Vec::new();
        for error in self.compiled.iter_errors(arguments) {
            add(&error, &mut violations);
            if violations.len() >= MAX_VIOLATIONS {
                break;
            }
        }
        violations.truncate(MAX_VIOLATIONS);
        if violations.is_empty() {
            violations.push(Violation {
                pointer: String::new(),
                schema_pointer: String::new(),
                message: "the arguments do not match the schema".to_owned(),
            });
        }
        Err(violations)
    }

    /// Restores arguments to the form the schema means, see [`BackMap::restore`].
    pub fn restore(&self, arguments: &mut Value) -> Vec<String> {
        self.back.restore(arguments)
    }

    /// Checks any values, not only arguments, against any schema. For tool output schemas and for measuring.
    ///
    /// # Errors
    /// [`SchemaError`] when the schema does not compile.
    pub fn accepts(schema: &Value, values: &[Value], draft: Draft, formats: Formats) -> Result<Vec<bool>, SchemaError> {
        let compiled = compile(schema, draft, formats)?;
        Ok(values.iter().map(|value| compiled.is_valid(value)).collect())
    }
}

fn compile(schema: &Value, draft: Draft, formats: Formats) -> Result<jsonschema::Validator, SchemaError> {
    let options: ValidationOptions<'_> = jsonschema::options();
    let options =
        options.should_validate_formats(formats == Formats::Assert).should_ignore_unknown_formats(true).offline();
    let named = schema.get("$schema").is_some();
    let built = match draft {
        Draft::Draft7 if !named => options.with_draft(jsonschema::Draft::Draft7).build(schema),
        Draft::Named | Draft::Draft7 => options.clone().build(schema).or_else(|error| {
            let older = (!named).then(|| options.with_draft(jsonschema::Draft::Draft7).build(schema));
            older.and_then(Result::ok).ok_or(error)
        }),
    };
    built.map_err(|error| SchemaError::Invalid {
        message: format!("{} at `{}`", shortened(&error.to_string(), 200), error.instance_path()),
    })
}

/// Adds the error in words; of a union, the errors of the variant that is nearest.
fn add(error: &ValidationError<'_>, violations: &mut Vec<Violation>) {
    if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind()
        && let Some(nearest) = nearest(context)
    {
        for inner in nearest {
            add(inner, violations);
        }
        return;
    }
    violations.push(Violation {
        pointer: error.instance_path().to_string(),
        schema_pointer: error.schema_path().to_string(),
        message: message(error),
    });
}

/// The variant that the value resembles most: its errors lie deepest, then are fewest. `None` when no variant got
/// beyond the value itself, so that none is better than another.
fn nearest<'a>(context: &'a [Vec<ValidationError<'static>>]) -> Option<&'a [ValidationError<'static>]> {
    let depth = |error: &ValidationError<'static>| error.instance_path().to_string().matches('/').count();
    let rank = |errors: &&Vec<ValidationError<'static>>| {
        let wrong_type = errors.iter().any(|error| matches!(error.kind(), Kind::Type { .. } | Kind::Constant { .. }));
        let shallow = errors.iter().map(depth).min().unwrap_or(0);
        (
            wrong_type && shallow == 0,
            errors.iter().filter(|error| depth(error) == shallow).count(),
            usize::MAX - shallow,
        )
    };
    let best = context.iter().filter(|errors| !errors.is_empty()).min_by_key(rank)?;
    let (other_type, ..) = rank(&best);
    (!other_type).then_some(best.as_slice())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the crate's kinds change often; its own words serve for the rest")]
fn message(error: &ValidationError<'_>) -> String {
    let found = || shortened(&error.instance().to_string(), MAX_TOLD);
    match error.kind() {
        Kind::Required { property } => format!("the required key {property} is missing"),
        Kind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("must be {wanted}, not {}", found())
        }
        Kind::Enum { options } => {
            let options = shortened(options.to_string().trim_matches(['[', ']']), 300);
            format!("must be one of {options}, not {}", found())
        }
        Kind::Constant { expected_value } => format!("must be {expected_value}, not {}", found()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("unknown key {}", quoted(unexpected))
        }
        Kind::Format { format } => format!("must be in the format {format}, not {}", found()),
        Kind::Pattern { pattern } => {
            format!("must match the pattern {}, not {}", shortened(pattern, MAX_TOLD), found())
        }
        Kind::FalseSchema => "no value is allowed here".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => format!("matches none of the variants: {}", found()),
        Kind::OneOfMultipleValid { .. } => format!("matches several variants but must match one: {}", found()),
        _ => shortened(&error.masked_with("the value").to_string(), 200),
    }
}

fn quoted(names: &[String]) -> String {
    let told: Vec<String> = names.iter().take(5).map(|name| format!("\"{name}\"")).collect();
    told.join(", ")
}

fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit).collect();
    format!("{kept}…")
}

/// Validators by schema, compiled once per process. Share one.
#[derive(Debug, Default)]
pub struct ValidatorCache {
    made: PerSchema<(), Result<Arc<Validator>, SchemaError>>,
}

impl ValidatorCache {
    /// The validator of a schema, compiled the first time this very `Arc` is seen.
    ///
    /// # Errors
    /// As [`Validator::new`]; errors are kept too.
    pub fn get(&self, schema: &Arc<Value>) -> Result<Arc<Validator>, SchemaError> {
        self.made.get(schema, (), || Validator::new(schema).map(Arc::new))
    }
}
