//! Error bodies of all shapes, as one kind of error.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    ModelError, ModelErrorKind,
    json::{Raw, Str},
};
use crate::{net::HeaderMap, types::DurationMs};

/// How much of an error body is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 600;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireError<'a> {
    /// An object, or a text (xAI).
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    detail: Raw<'a>,
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    /// A text, or a number (OpenRouter).
    #[serde(borrow)]
    code: Raw<'a>,
    /// A response object that failed, inside an event.
    #[serde(borrow)]
    response: Raw<'a>,
    /// Google's word for the status (`RESOURCE_EXHAUSTED`).
    #[serde(borrow)]
    status: Str<'a>,
    /// Google's list of details, each with an `@type`; Anthropic's object with its code.
    #[serde(borrow)]
    details: Raw<'a>,
}

/// `google.rpc.RetryInfo` and `google.rpc.ErrorInfo` together.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(borrow)]
    retry_delay: Str<'a>,
    #[serde(borrow)]
    reason: Str<'a>,
}

/// Anthropic's details.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Coded<'a> {
    #[serde(borrow)]
    error_code: Raw<'a>,
}

/// What an error body says.
#[derive(Debug, Default)]
struct Said {
    message: String,
    code: String,
    kind: String,
    /// A more exact reason (`API_KEY_INVALID`).
    reason: String,
    /// How long to wait, where the body says it.
    wait: Option<DurationMs>,
}

fn said(body: &str) -> Option<Said> {
    if body.trim_start().starts_with('[') {
        // Gemini wraps the error of a stream in a list.
        let list: Vec<&RawValue> = serde_json::from_str(body).ok()?;
        return list.into_iter().find_map(|element| said(element.get()));
    }
    let outer: WireError<'_> = serde_json::from_str(body).ok()?;
    if let Some(inner) = outer.response.get().and_then(said) {
        return Some(inner);
    }
    let inner: WireError<'_> = outer.error.read().unwrap_or_default();
    let text = |raw: Raw<'_>| raw.text_or_json();
    let message = text(inner.message)
        .or_else(|| text(outer.message))
        .or_else(|| outer.error.read::<String>())
        .or_else(|| text(outer.detail))
        .or_else(|| outer.error.get().map(str::to_owned))?;
    let details: Vec<Detail<'_>> = inner.details.list().into_iter().filter_map(Raw::read).collect();
    let seconds = |detail: &Detail<'_>| detail.retry_delay.text().strip_suffix('s')?.parse::<f64>().ok();
    // Anthropic's details are one object.
    let coded = inner.details.get().filter(|text| text.starts_with('{'));
    let coded: Coded<'_> = coded.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Some(Said {
        message,
        code: [inner.code, outer.code, coded.error_code].into_iter().find_map(text).unwrap_or_default(),
        kind: inner.kind.some().or(inner.status.some()).or(outer.kind.some()).unwrap_or_default().to_owned(),
        reason: details.iter().find_map(|detail| detail.reason.some()).unwrap_or_default().to_owned(),
        wait: details.iter().find_map(seconds).and_then(|seconds| millis(seconds * 1000.0)),
    })
}

/// The error of an answer with a status of 400 or more.
pub(crate) fn classify(status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let said = said(&text).unwrap_or_else(|| Said { message: text.trim().to_owned(), ..Said::default() });
    let kind = kind_of(&said).unwrap_or_else(|| kind_of_status(status));
    let retryable = match header(headers, "x-should-retry") {
        Some("true") => kind != ModelErrorKind::Quota,
        Some("false") => false,
        Some(_) | None => may_pass(kind) || matches!(status, 408 | 409),
    };
    let mut error = ModelError::new(kind, message(&said, status));
    error.retryable = retryable;
    error.status = Some(status);
    error.retry_after = retry_after(headers).or(said.wait);
    error
}

/// The error that a body or an event reports although the status was 200.
pub(crate) fn inside_success(body: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let said = said(&text).unwrap_or_else(|| Said {
        message: "the provider answered with something that is no reply".to_owned(),
        ..Said::default()
    });
    let status = said.code.parse::<u16>().ok().filter(|code| (400..600).contains(code));
    let kind = kind_of(&said).or_else(|| status.map(kind_of_status)).unwrap_or(ModelErrorKind::BadResponse);
    let mut error = ModelError::new(kind, message(&said, status.unwrap_or(200)));
    error.retryable = may_pass(kind);
    error.status = Some(status.unwrap_or(200));
    error.retry_after = said.wait;
    error
}

fn may_pass(kind: ModelErrorKind) -> bool {
    matches!(kind, ModelErrorKind::RateLimited | ModelErrorKind::Unavailable | ModelErrorKind::Timeout)
}

fn message(said: &Said, status: u16) -> String {
    let mut text: String = said.message.chars().take(MAX_MESSAGE_CHARS).collect();
    if text.is_empty() {
        text = format!("the provider answered with status {status} and no message");
    }
    if said.code.is_empty() {
        text
    } else {
        format!("{text} (code `{}`)", said.code.chars().take(80).collect::<String>())
    }
}

/// The kind by what the body says: codes first, then words that are never anything else.
fn kind_of(said: &Said) -> Option<ModelErrorKind> {
    use ModelErrorKind as Kind;
    let (code, kind, words) = (said.code.as_str(), said.kind.as_str(), said.message.to_lowercase());
    let is = |names: &[&str]| names.iter().any(|name| code == *name || kind == *name || said.reason == *name);
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    let spent = ["insufficient_quota", "billing_hard_limit_reached", "billing_error", "Arrearage", "1113", "402"];
    // Anthropic's spend limits are rate limit errors that no waiting mends (2026-11).
    if is(&spent)
        || is(&["insufficient_balance"])
        || code.ends_with("spend_limit_reached")
        || says(&["credit balance is too low"])
    {
        return Some(Kind::Quota);
    }
    // Gemini says the same of a spent quota and of a rate; only for the latter it says how long to wait.
    if kind == "RESOURCE_EXHAUSTED" && said.wait.is_none() && says(&["billing"]) {
        return Some(Kind::Quota);
    }
    if is(&["context_length_exceeded", "1261", "string_above_max_length"])
        || says(&["maximum context length", "prompt is too long", "context window", "maximum number of tokens allowed"])
    {
        return Some(Kind::ContextTooLong);
    }
    if is(&[
        "invalid_api_key",
        "InvalidApiKey",
        "authentication_error",
        "API_KEY_INVALID",
        "permission_error",
        "1000",
        "1001",
        "1002",
        "1003",
        "1004",
    ]) || says(&["incorrect api key", "invalid api key"])
    {
        return Some(Kind::Auth);
    }
    if is(&["model_not_found", "Model.NotExist", "ModelNotFound", "1211"]) {
        return Some(Kind::ModelNotFound);
    }
    if is(&[
        "content_filter",
        "moderation_blocked",
        "DataInspectionFailed",
        "data_inspection_failed",
        "1301",
        "invalid_prompt",
    ]) {
        return Some(Kind::Filtered);
    }
    if is(&["rate_limit_exceeded", "rate_limit_error", "1302", "1303", "1305", "429"]) || code.starts_with("Throttling")
    {
        return Some(Kind::RateLimited);
    }
    if is(&["timeout_error"]) {
        return Some(Kind::Timeout);
    }
    let down = ["server_error", "overloaded_error", "service_unavailable", "api_error", "internal_server_error"];
    (is(&down) || code.starts_with("InternalError")).then_some(Kind::Unavailable)
}

fn kind_of_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Auth,
        402 => ModelErrorKind::Quota,
        404 => ModelErrorKind::ModelNotFound,
        408 => ModelErrorKind::Timeout,
        409 | 425 => ModelErrorKind::Unavailable,
        429 => ModelErrorKind::RateLimited,
        500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::BadRequest,
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// How long the provider asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date, which is read
/// against the answer's own `date`.
fn retry_after(headers: &HeaderMap) -> Option<DurationMs> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return millis(ms);
    }
    let text = header(headers, "retry-after")?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    let at = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp().as_millisecond());
    let wait = at(text)?.checked_sub(at(header(headers, "date")?)?)?;
    Some(DurationMs(u64::try_from(wait).unwrap_or(0)))
}

fn millis(ms: f64) -> Option<DurationMs> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..=1e12).contains(&ms).then(|| DurationMs(ms.ceil() as u64))
}

#[cfg(test)]
mod tests;
