//! What `artifact.read` does: pages through a whole result, or finds lines in it.

use std::ops::Range;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{ArtifactError, ArtifactStore, Slice};
use crate::{
    secret::Redactor,
    text::cut,
    types::{ArtifactId, ErrorCode, TenantId, Tokens, ToolError, ToolOutput},
};

/// A page has at most this many tokens, less than the 4,000 a projection may have, so that a page is never cut again.
const PAGE: Tokens = Tokens(3_000);
const PAGE_BYTES: u64 = 8_000;
const MOST_BYTES: u64 = 65_536;
/// Read on both sides of a page, to see secrets that cross its ends and whole characters.
const AROUND: u64 = 4_096;
/// A line that was found is shown this far on both sides of what was found.
const LINE_BYTES: usize = 240;

/// The arguments of `artifact.read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArguments {
    /// The artifact, as the result named it: `sha256:` and 64 hex digits.
    pub artifact: String,
    /// The first byte to read; 0 when not given.
    #[serde(default)]
    pub offset: u64,
    /// How many bytes to read; 8000 when not given, 65536 at most.
    #[serde(default)]
    pub length: Option<u64>,
    /// Instead of a range: the lines that hold this text, whatever its case.
    #[serde(default)]
    pub query: Option<String>,
}

/// Reads a page of an artifact, or the lines of it that hold a text. The result is masked, and goes through the projector
/// like every other.
///
/// # Errors
/// `NOT_FOUND` when the tenant has no such artifact, `SCHEMA_VALIDATION` for arguments of another shape or an offset behind
/// the end, `TOOL_FAILED` when it is no text or the store fails.
pub async fn read(
    store: &dyn ArtifactStore,
    tenant: &TenantId,
    redactor: &Redactor,
    arguments: &Value,
) -> Result<ToolOutput, ToolError> {
    let arguments = ReadArguments::deserialize(arguments).map_err(|error| invalid(&error.to_string()))?;
    let id = ArtifactId::new(arguments.artifact.trim()).map_err(|error| invalid(&error.to_string()))?;
    let text = match arguments.query.as_deref().map(str::trim).filter(|query| !query.is_empty()) {
        Some(query) => {
            let slice = store.get(tenant, &id, 0..u64::MAX).await.map_err(failed)?;
            lines(&slice, redactor, query)?
        }
        None => {
            let length = arguments.length.unwrap_or(PAGE_BYTES).clamp(1, MOST_BYTES);
            let wanted = arguments.offset..arguments.offset.saturating_add(length);
            let range = wanted.start.saturating_sub(AROUND)..wanted.end.saturating_add(AROUND);
            let slice = store.get(tenant, &id, range).await.map_err(failed)?;
            page(&slice, redactor, wanted)?
        }
    };
    Ok(ToolOutput::text(text))
}

fn invalid(problem: &str) -> ToolError {
    ToolError::new(
        ErrorCode::SchemaValidation,
        format!("artifact.read cannot use these arguments: {problem}"),
        "pass `artifact` as the result named it, and `offset` with `length`, or `query`",
    )
}

fn failed(error: ArtifactError) -> ToolError {
    match error {
        ArtifactError::NotFound(id) => ToolError::new(
            ErrorCode::NotFound,
            format!("there is no artifact `{id}`"),
            "copy the artifact's name whole from the result that named it",
        ),
        ArtifactError::Damaged(_) | ArtifactError::Io { .. } => ToolError::new(
            ErrorCode::ToolFailed,
            "the artifact cannot be read",
            "go on with the part of the result that is at hand",
        )
        .developer(error.to_string()),
    }
}

fn no_text(slice: &Slice) -> ToolError {
    ToolError::new(
        ErrorCode::ToolFailed,
        format!("the artifact is {} ({} bytes), not text", slice.mime, slice.total),
        "do not read it as text; tell the user where it is",
    )
}

/// The text in the bytes, and how many bytes of a broken character stand before it.
fn text_of(bytes: &Bytes) -> Option<(&str, usize)> {
    let skip = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let rest = bytes.get(skip..)?;
    match std::str::from_utf8(rest) {
        Ok(text) => Some((text, skip)),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(rest.get(..error.valid_up_to())?).ok().map(|text| (text, skip))
        }
        Err(_) => None,
    }
}

fn page(slice: &Slice, redactor: &Redactor, wanted: Range<u64>) -> Result<String, ToolError> {
    if wanted.start >= slice.total && slice.total > 0 {
        let problem = format!("offset {} is behind the end; there are {} bytes", wanted.start, slice.total);
        return Err(invalid(&problem));
    }
    let (text, skip) = text_of(&slice.bytes).ok_or_else(|| no_text(slice))?;
    let base = slice.start + u64::try_from(skip).unwrap_or(0);
    let within = |at: u64| usize::try_from(at.saturating_sub(base)).unwrap_or(usize::MAX).min(text.len());
    let start = cut::floor(text, within(wanted.start));
    let mut end = cut::floor(text, within(wanted.end));
    if end <= start {
        end = cut::ceil(text, start + 1);
    }
    let fitting = cut::to_tokens(text.get(start..end).unwrap_or_default(), PAGE).len();
    let end = if fitting == 0 { end } else { start + fitting };
    let shown = redactor.window(text, start..end);
    let place = |at: usize| base + u64::try_from(at).unwrap_or(0);
    let next =
        if place(end) < slice.total { format!("; more from offset {}", place(end)) } else { "; the end".to_owned() };
    Ok(format!("[bytes {} to {} of {}{next}]\n{shown}", place(start), place(end), slice.total))
}

/// The lines that hold the query. They are looked for in the masked text: a query cannot ask what was masked.
fn lines(slice: &Slice, redactor: &Redactor, query: &str) -> Result<String, ToolError> {
    let (text, _) = text_of(&slice.bytes).ok_or_else(|| no_text(slice))?;
    let masked = redactor.text(text);
    let query = query.to_lowercase();
    let (mut out, mut room, mut found, mut shown, mut at) = (String::new(), PAGE.0, 0u64, 0u64, 0usize);
    for (number, line) in masked.as_str().split_inclusive('\n').enumerate() {
        let lower = line.to_lowercase();
        if let Some(hit) = lower.find(&query) {
            found += 1;
            let start = cut::floor(line, hit.saturating_sub(LINE_BYTES));
            let end = cut::ceil(line, hit.saturating_add(query.len() + LINE_BYTES));
            let entry = format!(
                "line {}, byte {}: {}\n",
                number + 1,
                at + start,
                line.get(start..end).unwrap_or_default().trim()
            );
            let cost = cut::tokens(&entry).0;
            if cost <= room {
                room -= cost;
                shown += 1;
                out.push_str(&entry);
            } else {
                room = 0;
            }
        }
        at += line.len();
    }
    Ok(format!("[{found} lines hold the query; {shown} shown]\n{out}"))
}

#[cfg(test)]
mod tests;
