//! A trace as an OTLP/HTTP JSON request (opentelemetry-proto 1.x, `ExportTraceServiceRequest`).
//!
//! The journal knows when everything began and how long it took, so the spans are folded from it and sent afterwards.
//! Names follow the GenAI semantic conventions v0.1.0 (status: development): `invoke_agent`, `chat {model}`,
//! `execute_tool {name}`. Arguments and results are not exported; the digest of the input is.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::types::{DurationMs, Timestamp, hex};

use super::{ModelSpan, ToolSpan, Trace};

/// The version of the names.
const SCHEMA: &str = "https://opentelemetry.io/schemas/gen-ai/0.1.0";

/// The request body for `POST {endpoint}/v1/traces`.
pub fn otlp(trace: &Trace) -> Value {
    let root = span_id(trace, "turn");
    let mut spans = vec![turn_span(trace, &root)];
    spans.extend(trace.model_calls.iter().map(|model| model_span(trace, &root, model)));
    spans.extend(trace.tool_calls.iter().map(|tool| tool_span(trace, &root, tool)));
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "agcore"), text("service.version", env!("CARGO_PKG_VERSION"))]},
        "scopeSpans": [{"scope": {"name": "agcore"}, "schemaUrl": SCHEMA, "spans": spans}],
    }]})
}

fn turn_span(trace: &Trace, id: &str) -> Value {
    let reason = trace.ended.as_ref().map_or("open", |ended| ended.reason.as_str());
    let attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", "agcore"),
        text("agcore.turn.id", trace.turn_id.as_str()),
        text("agcore.turn.reason", reason),
        number("agcore.cost.micro_usd", trace.cost.total.micro()),
    ];
    let times = (trace.started_at, last(trace).max(trace.active_ms));
    span(trace, (id, None), "invoke_agent agcore", times, attributes, reason == "failed")
}

/// When the last span ended, counted from the start.
fn last(trace: &Trace) -> DurationMs {
    let models = trace.model_calls.iter().map(|span| (span.started_at, span.latency_ms));
    let tools = trace.tool_calls.iter().map(|span| (span.started_at, span.latency_ms));
    let ends = models.chain(tools).map(|(start, took)| start.plus(took).since(trace.started_at));
    ends.max().unwrap_or_default()
}

fn model_span(trace: &Trace, root: &str, model: &ModelSpan) -> Value {
    let attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", &model.provider),
        text("gen_ai.request.model", &model.model),
        text("gen_ai.response.finish_reasons", &model.stop),
        number("gen_ai.usage.input_tokens", model.usage.prompt()),
        number("gen_ai.usage.output_tokens", model.usage.completion()),
        number("agcore.cost.micro_usd", model.cost.unwrap_or_default().micro()),
    ];
    let id = span_id(trace, &format!("model {}", model.number));
    let name = format!("chat {}", model.model);
    let failed = model.stop.starts_with("failed");
    span(trace, (&id, Some(root)), &name, (model.started_at, model.latency_ms), attributes, failed)
}

fn tool_span(trace: &Trace, root: &str, tool: &ToolSpan) -> Value {
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &tool.tool_name),
        text("gen_ai.tool.call.id", tool.tool_call_id.as_str()),
        text("gen_ai.tool.type", "function"),
        text("agcore.route", tool.route.as_ref().map_or("", |route| route.as_str())),
        text("agcore.input_hash", &tool.input_hash),
        text("agcore.status", &tool.status),
        text("agcore.policy.decision", tool.policy_decision.as_str()),
        text("agcore.risk_class", tool.risk_class.as_str()),
        number("agcore.citations", u64::try_from(tool.citations_count).unwrap_or(u64::MAX)),
        number("agcore.cost.micro_usd", tool.cost.micro()),
    ];
    attributes.extend(tool.error.as_deref().map(|code| text("error.type", code)));
    let id = span_id(trace, tool.tool_call_id.as_str());
    let name = format!("execute_tool {}", tool.tool_name);
    let times = (tool.started_at, tool.latency_ms);
    span(trace, (&id, Some(root)), &name, times, attributes, tool.error.is_some())
}

fn span(
    trace: &Trace,
    (id, parent): (&str, Option<&str>),
    name: &str,
    (start, took): (Timestamp, DurationMs),
    attributes: Vec<Value>,
    failed: bool,
) -> Value {
    json!({
        "traceId": trace.trace_id,
        "spanId": id,
        "parentSpanId": parent.unwrap_or_default(),
        "name": name,
        "kind": if name.starts_with("chat ") { 3 } else { 1 },
        "startTimeUnixNano": nanos(start),
        "endTimeUnixNano": nanos(start.plus(took)),
        "attributes": attributes,
        "status": {"code": if failed { 2 } else { 1 }},
    })
}

/// 64-bit numbers are strings in the JSON form of protocol buffers.
fn nanos(at: Timestamp) -> String {
    format!("{}000000", at.ms().max(0))
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// 16 hex digits that follow from the trace and the name: the same span has the same id however often it is sent.
fn span_id(trace: &Trace, name: &str) -> String {
    let hash = Sha256::digest(format!("{}/{name}", trace.trace_id));
    hex(hash.get(..8).unwrap_or_default())
}
