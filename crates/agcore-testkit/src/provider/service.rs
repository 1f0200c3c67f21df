//! The service behind a tool: takes effect, returns receipts, misbehaves on request.

use axum::{
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{Captured, Shared, cut, error, json_response};

/// Answers a request to `/effects` or `/effects/NAME`.
pub(super) async fn serve(shared: &Shared, path: &str, request: &Captured) -> Response {
    let name = path.trim_start_matches("/effects").trim_start_matches('/');
    let query = query(&request.path);
    if request.method == Method::GET {
        return read(shared, name, &query);
    }
    let key = request.header("idempotency-key");
    let spared = key.is_some_and(|key| shared.effects.receipt(name, key).is_some());
    let fault = query.get("fault").and_then(Value::as_str).filter(|_| !spared);
    if let Some(status) = fault.and_then(|fault| StatusCode::from_bytes(fault.as_bytes()).ok()) {
        shared.effects.read(name);
        return error(status, "the service fails on request");
    }
    let receipt = match shared.effects.commit(name, key, request.json()) {
        Ok((receipt, _)) => receipt,
        Err(why) => return error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    };
    match fault {
        Some("cut") => cut(shared).into_response(),
        Some("stall") => {
            shared.release.pass().await;
            json_response(StatusCode::CREATED, &receipt)
        }
        Some(_) | None => json_response(StatusCode::CREATED, &receipt),
    }
}

fn read(shared: &Shared, name: &str, query: &Map<String, Value>) -> Response {
    if name.is_empty() {
        return json_response(StatusCode::OK, &shared.effects.summary());
    }
    shared.effects.read(name);
    match query.get("key").and_then(Value::as_str) {
        None => json_response(StatusCode::OK, &json!({"name": name, "query": query})),
        Some(key) => match shared.effects.receipt(name, key) {
            Some(receipt) => json_response(StatusCode::OK, &receipt),
            None => error(StatusCode::NOT_FOUND, "no effect has this key"),
        },
    }
}

/// The query of a path, percent-decoded; of a repeated name the last.
fn query(path: &str) -> Map<String, Value> {
    let pairs = path.split_once('?').map_or("", |(_, query)| query);
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), Value::String(decoded(value)))
    };
    pairs.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                std::str::from_utf8(&digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
