//! What the answer of a service means.

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{
    execute::errors,
    net::{HeaderMap, NetError, NetErrorKind, StatusCode},
    types::{Content, DurationMs, ErrorCode, ToolError, ToolOutput},
};

/// The most characters of a service's own error message that are shown.
const EXCERPT: usize = 300;

/// The output of a call that succeeded.
///
/// With `select`, only what the JSON pointer points to. A read where it points to nothing failed; a write has happened
/// whatever its answer looks like.
pub(super) fn output(
    status: StatusCode,
    headers: &HeaderMap,
    body: Bytes,
    select: Option<&str>,
    writes: bool,
) -> Result<ToolOutput, ToolError> {
    let location = header(headers, "location").filter(|_| writes).map(str::to_owned);
    let done = |content: Content, receipt: Option<String>| ToolOutput {
        content: vec![content],
        receipt,
        ..ToolOutput::default()
    };
    if body.is_empty() {
        return Ok(done(Content::Text(format!("done (HTTP {status})", status = status.as_u16())), location));
    }
    if let Some(pointer) = select {
        let whole: Option<Value> = serde_json::from_slice(&body).ok();
        match whole.as_ref().and_then(|whole| whole.pointer(pointer)) {
            Some(Value::String(text)) => {
                let receipt = location.or_else(|| writes.then(|| text.clone()));
                return Ok(done(Content::Text(text.clone()), receipt));
            }
            Some(value) => return Ok(done(Content::Json(value.to_string()), location)),
            None if writes => {}
            None => return Err(errors::tool_failed(format!("the answer has nothing at `{pointer}`"))),
        }
    }
    Ok(done(content(headers, body), location))
}

fn content(headers: &HeaderMap, body: Bytes) -> Content {
    let mime = header(headers, "content-type").and_then(|value| value.split(';').next()).unwrap_or("").trim();
    let mime = mime.to_ascii_lowercase();
    let json = mime.is_empty() || mime.ends_with("json");
    match String::from_utf8(body.into()) {
        Ok(text) if json && serde_json::from_str::<IgnoredAny>(&text).is_ok() => Content::Json(text),
        Ok(text) if json || is_text(&mime) => Content::Text(text),
        Err(error) if is_text(&mime) => Content::Text(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Ok(text) => Content::Media { mime, bytes: text.into_bytes().into() },
        Err(error) if mime.is_empty() => {
            Content::Media { mime: "application/octet-stream".to_owned(), bytes: error.into_bytes().into() }
        }
        Err(error) => Content::Media { mime, bytes: error.into_bytes().into() },
    }
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || ["xml", "yaml", "javascript"].iter().any(|kind| mime.ends_with(kind))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The error that a status of a service means.
///
/// A 5xx leaves open what a write did, except 503: the service says that it did not handle the request.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8], writes: bool) -> ToolError {
    let said = excerpt(body);
    let says = said.as_ref().map_or_else(String::new, |said| format!("; the service says: \"{said}\""));
    let wait = retry_after(headers);
    let failed = |what: &str| {
        let code = status.as_u16();
        ToolError { safe_message: format!("{what} (HTTP {code}){says}"), ..errors::tool_failed("") }
    };
    let error = match status.as_u16() {
        400 | 422 => errors::schema_validation(said.as_deref().unwrap_or("the service refused them")),
        401 | 403 => errors::permission_denied("the service refused the credential or the operation"),
        404 | 410 => errors::not_found("what was asked for"),
        408 | 504 => {
            let error = ToolError::new(
                ErrorCode::Timeout,
                "the service did not answer in time",
                "Ask for less, use another tool, or answer from what is known.",
            );
            error.retryable()
        }
        429 => errors::rate_limited(wait),
        503 => ToolError { retry_after: wait, ..errors::unavailable("the service", "").retryable() },
        500.. if writes => ToolError { code: ErrorCode::Interrupted, ..failed("the service failed").retryable() },
        500.. => ToolError { retry_after: wait, ..failed("the service failed").retryable() },
        300..400 => failed("the service answered with a redirect, which is not followed"),
        _ => failed("the service refused the call"),
    };
    error.developer(format!("HTTP {}{says}", status.as_u16()))
}

/// The error of an exchange that failed below HTTP. What was sent before it broke may have had its effect.
pub(super) fn broken(error: &NetError, writes: bool) -> ToolError {
    let text = error.to_string();
    match error.kind() {
        NetErrorKind::Connect => errors::unavailable("the service", text).retryable(),
        NetErrorKind::Timeout => ToolError::new(
            ErrorCode::Timeout,
            "the service did not answer in time",
            "Ask for less, use another tool, or answer from what is known.",
        )
        .retryable()
        .developer(text),
        NetErrorKind::Broken => {
            let code = if writes { ErrorCode::Interrupted } else { ErrorCode::ToolFailed };
            let message = "the connection to the service broke";
            ToolError { code, safe_message: message.to_owned(), ..errors::tool_failed(text).retryable() }
        }
        NetErrorKind::TooLarge => ToolError::new(
            ErrorCode::ToolFailed,
            "the answer of the service is too large",
            "Ask for less: a narrower query or fewer results.",
        )
        .developer(text),
        NetErrorKind::Invalid => errors::unavailable("the service", text),
    }
}

/// How long the service asked to wait: `retry-after-ms`, else `retry-after` in seconds.
fn retry_after(headers: &HeaderMap) -> Option<DurationMs> {
    let number = |name: &str| header(headers, name)?.trim().parse::<u64>().ok();
    let seconds = || number("retry-after").map(|seconds| seconds.saturating_mul(1000));
    number("retry-after-ms").or_else(seconds).map(DurationMs)
}

/// The words of a service about its error, made harmless: one line, bounded, no markup. `None` for what is no message.
fn excerpt(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let json: Option<Value> = serde_json::from_str(text).ok();
    let said = match &json {
        Some(value) => ["/error/message", "/message", "/detail", "/error", "/title"]
            .iter()
            .find_map(|pointer| value.pointer(pointer).and_then(Value::as_str))?,
        None => text,
    };
    if said.starts_with('<') || said.is_empty() {
        return None;
    }
    let line: Vec<&str> = said.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    Some(line.join(" ").replace('"', "'").chars().take(EXCERPT).collect())
}
