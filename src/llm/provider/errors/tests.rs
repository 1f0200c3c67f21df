use pretty_assertions::assert_eq;

use super::*;
use crate::net::{HeaderName, HeaderValue};

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of bodies")]
fn error_bodies_of_every_shape_are_told_apart() {
    use ModelErrorKind as Kind;
    let cases: &[(u16, &str, Kind, bool, &str)] = &[
        (
            400,
            r#"{"error":{"message":"bad","type":"invalid_request_error","param":"tools[0].name","code":"invalid_value"}}"#,
            Kind::BadRequest,
            false,
            "bad (code `invalid_value`)",
        ),
        (
            429,
            r#"{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}"#,
            Kind::RateLimited,
            true,
            "slow (code `rate_limit_exceeded`)",
        ),
        (
            429,
            r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Kind::Quota,
            false,
            "pay (code `insufficient_quota`)",
        ),
        // xAI: a bad key is a 400, the code is prose and the error a text.
        (
            400,
            r#"{"code":"invalid-argument","error":"Incorrect API key provided: ab***yz."}"#,
            Kind::Auth,
            false,
            "Incorrect API key provided: ab***yz. (code `invalid-argument`)",
        ),
        // Aliyun, flat.
        (
            400,
            r#"{"code":"DataInspectionFailed","message":"no","request_id":"r"}"#,
            Kind::Filtered,
            false,
            "no (code `DataInspectionFailed`)",
        ),
        (
            429,
            r#"{"code":"Throttling.RateQuota","message":"no","request_id":"r"}"#,
            Kind::RateLimited,
            true,
            "no (code `Throttling.RateQuota`)",
        ),
        (400, r#"{"code":"Arrearage","message":"no","request_id":"r"}"#, Kind::Quota, false, "no (code `Arrearage`)"),
        // Mistral: a detail, or an object for a message.
        (401, r#"{"detail":"Unauthorized"}"#, Kind::Auth, false, "Unauthorized"),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"loc":["body"]}]},"type":"invalid_request_error","code":null}"#,
            Kind::BadRequest,
            false,
            r#"{"detail":[{"loc":["body"]}]}"#,
        ),
        // Z.AI: numbers as texts; rate limits and spent quota are both 429.
        (429, r#"{"error":{"code":"1302","message":"rate"}}"#, Kind::RateLimited, true, "rate (code `1302`)"),
        (429, r#"{"error":{"code":"1113","message":"empty"}}"#, Kind::Quota, false, "empty (code `1113`)"),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            Kind::Quota,
            false,
            "Insufficient Balance (code `invalid_request_error`)",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8 tokens"}}"#,
            Kind::ContextTooLong,
            false,
            "This model's maximum context length is 8 tokens",
        ),
        (
            404,
            r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
            Kind::ModelNotFound,
            false,
            "no such model (code `model_not_found`)",
        ),
        // Anthropic.
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
            Kind::Unavailable,
            true,
            "Overloaded",
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            Kind::Quota,
            false,
            "limit (code `enforced_spend_limit_reached`)",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            Kind::Quota,
            false,
            "Your credit balance is too low to access the API.",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            Kind::ContextTooLong,
            false,
            "prompt is too long: 9 tokens > 8 maximum",
        ),
        (402, r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#, Kind::Quota, false, "pay"),
        (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, Kind::Auth, false, "no"),
        (404, r#"{"type":"error","error":{"type":"not_found_error","message":"m"}}"#, Kind::ModelNotFound, false, "m"),
        (409, r#"{"type":"error","error":{"type":"conflict_error","message":"c"}}"#, Kind::Unavailable, true, "c"),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"b"}}"#, Kind::BadRequest, false, "b"),
        (504, r#"{"type":"error","error":{"type":"timeout_error","message":"t"}}"#, Kind::Timeout, true, "t"),
        (503, "<html>busy</html>", Kind::Unavailable, true, "<html>busy</html>"),
        (500, "", Kind::Unavailable, true, "the provider answered with status 500 and no message"),
    ];
    for (status, body, kind, retryable, message) in cases {
        let error = classify(*status, &HeaderMap::new(), body.as_bytes());
        let expected = ModelError {
            kind: *kind,
            message: (*message).to_owned(),
            retryable: *retryable,
            retry_after: None,
            status: Some(*status),
            attempts: 0,
        };
        assert_eq!(error, expected, "{body}");
    }
}

#[test]
fn the_provider_says_when_to_come_back() {
    let after = |pairs: &[(&'static str, &'static str)]| classify(429, &headers(pairs), b"{}").retry_after;
    assert_eq!(after(&[("retry-after", "2")]), Some(DurationMs(2_000)));
    assert_eq!(after(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(DurationMs(1_500)));
    let dates = [("retry-after", "Mon, 30 Nov 2026 10:00:07 GMT"), ("date", "Mon, 30 Nov 2026 10:00:00 GMT")];
    assert_eq!(after(&dates), Some(DurationMs(7_000)));
    assert_eq!(after(&[("retry-after", "soon")]), None);
    assert_eq!(after(&[("retry-after", "-1")]), None);
    assert!(!classify(500, &headers(&[("x-should-retry", "false")]), b"").retryable);
    assert!(classify(400, &headers(&[("x-should-retry", "true")]), b"").retryable);
}

#[test]
fn a_failure_inside_a_200_is_a_failure() {
    let cases = [
        (r#"{"error":{"message":"Provider returned error","code":502}}"#, ModelErrorKind::Unavailable, true),
        (
            r#"{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"x"}}"#,
            ModelErrorKind::Quota,
            false,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}"#,
            ModelErrorKind::Unavailable,
            true,
        ),
        (
            r#"{"error":{"message":"x","type":"invalid_request_error","code":"tool_use_failed"}}"#,
            ModelErrorKind::BadResponse,
            false,
        ),
        ("nothing", ModelErrorKind::BadResponse, false),
    ];
    for (body, kind, retryable) in cases {
        let error = inside_success(body.as_bytes());
        assert_eq!((error.kind, error.retryable), (kind, retryable), "{body}");
    }
}

/// Google's errors: a list around the error of a stream, a word for the status, the wait in the details.
#[test]
fn googles_errors_say_why_and_how_long_to_wait() {
    use ModelErrorKind as Kind;
    let body = |code: u16, status: &str, message: &str, details: &str| {
        format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}","details":[{details}]}}}}"#)
    };
    let quota = "You exceeded your current quota, please check your plan and billing details.";
    let retry = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}"#;
    let key = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
    let long = "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).";
    for (status, body, kind, retryable, wait) in [
        (429, body(429, "RESOURCE_EXHAUSTED", quota, retry), Kind::RateLimited, true, Some(34_500)),
        (429, body(429, "RESOURCE_EXHAUSTED", quota, ""), Kind::Quota, false, None),
        (429, body(429, "RESOURCE_EXHAUSTED", "Resource exhausted.", ""), Kind::RateLimited, true, None),
        (400, body(400, "INVALID_ARGUMENT", "API key not valid.", key), Kind::Auth, false, None),
        (400, body(400, "INVALID_ARGUMENT", long, ""), Kind::ContextTooLong, false, None),
        (503, body(503, "UNAVAILABLE", "Overloaded.", ""), Kind::Unavailable, true, None),
        (404, body(404, "NOT_FOUND", "No such model.", ""), Kind::ModelNotFound, false, None),
    ] {
        for text in [body.clone(), format!("[{body}\n]")] {
            let error = classify(status, &HeaderMap::new(), text.as_bytes());
            let seen = (error.kind, error.retryable, error.retry_after.map(|wait| wait.0));
            assert_eq!(seen, (kind, retryable, wait), "{text}");
            let inside = inside_success(text.as_bytes());
            assert_eq!((inside.kind, inside.retryable), (kind, retryable), "{text}");
        }
    }
}
