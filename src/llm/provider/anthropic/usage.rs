//! The usage object as disjoint counters.

use serde::Deserialize;

use super::super::super::json::{Int, Raw};
use crate::types::Usage;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage<'a> {
    input_tokens: Int,
    output_tokens: Int,
    cache_creation_input_tokens: Int,
    cache_read_input_tokens: Int,
    #[serde(borrow)]
    cache_creation: Raw<'a>,
    #[serde(borrow)]
    output_tokens_details: Raw<'a>,
    #[serde(borrow)]
    server_tool_use: Raw<'a>,
    #[serde(borrow)]
    iterations: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    ephemeral_1h_input_tokens: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    thinking_tokens: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerTools {
    web_search_requests: Int,
}

/// The counters of a usage object; `None` when it is none.
///
/// Cache reads and writes stand beside `input_tokens`, not inside; thinking tokens stand inside `output_tokens`. The
/// outer counters leave out the passes of compaction and of the advisor, which are billed too; `iterations` lists all
/// passes (recorded traffic of 2026).
pub(super) fn read(usage: Raw<'_>) -> Option<Usage> {
    let wire: WireUsage<'_> = usage.read()?;
    wire.input_tokens.0.or(wire.output_tokens.0)?;
    let whole = pass(&wire);
    let passes = wire.iterations.list().into_iter().filter_map(|raw| raw.read::<WireUsage<'_>>());
    let sum = passes.fold(Usage::default(), |mut sum, wire| {
        sum += pass(&wire);
        sum
    });
    let complete = sum.prompt() >= whole.prompt() && sum.completion() >= whole.completion();
    let mut counted = if complete { sum } else { whole };
    if counted.reasoning == 0 {
        counted.reasoning = whole.reasoning.min(counted.output);
        counted.output -= counted.reasoning;
    }
    let tools: ServerTools = wire.server_tool_use.read().unwrap_or_default();
    counted.searches = tools.web_search_requests.or_zero();
    Some(counted)
}

fn pass(wire: &WireUsage<'_>) -> Usage {
    let written = wire.cache_creation_input_tokens.or_zero();
    let by_life: Written = wire.cache_creation.read().unwrap_or_default();
    let long = by_life.ephemeral_1h_input_tokens.or_zero().min(written);
    let details: Details = wire.output_tokens_details.read().unwrap_or_default();
    let output = wire.output_tokens.or_zero();
    let reasoning = details.thinking_tokens.or_zero().min(output);
    Usage {
        input: wire.input_tokens.or_zero(),
        cached: wire.cache_read_input_tokens.or_zero(),
        cache_write: written - long,
        cache_write_long: long,
        output: output - reasoning,
        reasoning,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn check(json: &str, expected: Option<Usage>) {
        let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
        assert_eq!(read(Raw::from(raw.as_ref())), expected, "{json}");
    }

    /// DEV-K01: the same totals as in the dialects that count cached tokens inside the prompt.
    #[test]
    fn every_token_is_counted_once() {
        check(
            r#"{"input_tokens":5005,"cache_read_input_tokens":257955,"cache_creation_input_tokens":0,"output_tokens":1744}"#,
            Some(Usage { input: 5_005, cached: 257_955, output: 1_744, ..Usage::default() }),
        );
        check(
            r#"{"input_tokens":7,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40},"output_tokens":30,"output_tokens_details":{"thinking_tokens":20},"server_tool_use":{"web_search_requests":2,"web_fetch_requests":1}}"#,
            Some(Usage {
                input: 7,
                cache_write: 60,
                cache_write_long: 40,
                output: 10,
                reasoning: 20,
                searches: 2,
                ..Usage::default()
            }),
        );
    }

    #[test]
    fn passes_that_the_outer_counters_leave_out_are_counted() {
        check(
            r#"{"input_tokens":224,"output_tokens":22,"output_tokens_details":{"thinking_tokens":2},"iterations":[
                {"type":"compaction","input_tokens":1000,"output_tokens":100},
                {"type":"message","input_tokens":224,"output_tokens":22}]}"#,
            Some(Usage { input: 1_224, output: 120, reasoning: 2, ..Usage::default() }),
        );
        // A list that does not even hold what the outer counters say is not believed.
        check(
            r#"{"input_tokens":224,"output_tokens":22,"iterations":[{"input_tokens":1,"output_tokens":1}]}"#,
            Some(Usage { input: 224, output: 22, ..Usage::default() }),
        );
    }

    #[test]
    fn no_counters_are_no_usage() {
        for json in ["null", "{}", "[]", "\"x\"", r#"{"input_tokens":null}"#] {
            check(json, None);
        }
    }
}
