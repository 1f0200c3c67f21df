//! Usage objects as disjoint counters.

use serde::Deserialize;

use super::super::json::{Int, Raw};
use crate::types::Usage;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Int,
    cache_write_tokens: Int,
    cache_creation_input_tokens: Int,
    reasoning_tokens: Int,
}

/// The names of Responses and of Chat, and what single providers add.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage<'a> {
    input_tokens: Int,
    output_tokens: Int,
    prompt_tokens: Int,
    completion_tokens: Int,
    total_tokens: Int,
    #[serde(borrow)]
    input_tokens_details: Raw<'a>,
    #[serde(borrow)]
    output_tokens_details: Raw<'a>,
    #[serde(borrow)]
    prompt_tokens_details: Raw<'a>,
    #[serde(borrow)]
    completion_tokens_details: Raw<'a>,
    /// DeepSeek, Chat.
    prompt_cache_hit_tokens: Int,
    /// xAI.
    #[serde(borrow)]
    server_side_tool_usage_details: Raw<'a>,
    /// Aliyun.
    #[serde(borrow)]
    x_tools: Raw<'a>,
    /// Aliyun, natively.
    #[serde(borrow)]
    plugins: Raw<'a>,
    /// Mistral: what its hosted tools read, and how often each ran.
    connector_tokens: Int,
    #[serde(borrow)]
    connectors: Raw<'a>,
    /// Perplexity.
    num_search_queries: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerTools {
    web_search_calls: Int,
    x_search_calls: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counters<'a> {
    #[serde(borrow, alias = "search")]
    web_search: Raw<'a>,
}

/// How often Mistral's tools ran.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Connectors {
    web_search: Int,
    web_search_premium: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counter {
    #[serde(alias = "num_requests")]
    count: Int,
}

/// The counters of a usage object; `None` when it is none. Searches are filled in only where they are counted in it.
pub(super) fn read(usage: Raw<'_>) -> Option<Usage> {
    let wire: WireUsage<'_> = usage.read()?;
    let input = wire.input_tokens.0.or(wire.prompt_tokens.0);
    let output = wire.output_tokens.0.or(wire.completion_tokens.0);
    input.or(output)?;
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let read = |here: Raw<'_>, there: Raw<'_>| here.read().or_else(|| there.read()).unwrap_or_default();
    let details: Details = read(wire.input_tokens_details, wire.prompt_tokens_details);
    let written = details.cache_write_tokens.0.or(details.cache_creation_input_tokens.0).unwrap_or(0);
    let cached = details.cached_tokens.0.or(wire.prompt_cache_hit_tokens.0).unwrap_or(0);
    let outgoing: Details = read(wire.output_tokens_details, wire.completion_tokens_details);
    let reasoning = outgoing.reasoning_tokens.or_zero();
    // xAI's Chat counts reasoning beside the output, everyone else inside it; the total tells.
    let beside = reasoning > output
        || (reasoning > 0 && wire.total_tokens.0 == Some(input.saturating_add(output).saturating_add(reasoning)));
    let server: ServerTools = wire.server_side_tool_usage_details.read().unwrap_or_default();
    let counted =
        [wire.x_tools, wire.plugins].into_iter().find_map(|raw| raw.read::<Counters<'_>>()?.web_search.read());
    let counted: Counter = counted.unwrap_or_default();
    let connectors: Connectors = wire.connectors.read().unwrap_or_default();
    let searches = [
        server.web_search_calls,
        server.x_search_calls,
        counted.count,
        connectors.web_search,
        connectors.web_search_premium,
        wire.num_search_queries,
    ];
    Some(Usage {
        input: input.saturating_sub(cached).saturating_sub(written),
        cached: cached.min(input),
        cache_write: written,
        output: if beside { output } else { output.saturating_sub(reasoning) },
        reasoning,
        tool_use: connector_tokens(&wire, input, output),
        searches: searches.into_iter().map(Int::or_zero).fold(0, u64::saturating_add),
        ..Usage::default()
    })
}

/// Mistral counts what its hosted tools read beside the prompt; the total tells where somebody does not.
fn connector_tokens(wire: &WireUsage<'_>, input: u64, output: u64) -> u64 {
    let apart = wire.total_tokens.0.map_or(u64::MAX, |total| total.saturating_sub(input.saturating_add(output)));
    wire.connector_tokens.or_zero().min(apart)
}

/// The searches counted in OpenAI's `tool_usage`.
pub(super) fn searches(tool_usage: Raw<'_>) -> Option<u64> {
    tool_usage.read::<Counters<'_>>()?.web_search.read::<Counter>()?.count.0
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn check(json: &str, expected: Usage) {
        let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
        assert_eq!(read(Raw::from(raw.as_ref())), Some(expected), "{json}");
    }

    /// DEV-K01
    #[test]
    fn every_token_is_counted_once_whoever_counts() {
        check(
            r#"{"input_tokens":262960,"input_tokens_details":{"cached_tokens":257955},"output_tokens":1744,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":264704}"#,
            Usage { input: 5_005, cached: 257_955, output: 1_744, ..Usage::default() },
        );
        check(
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36,"completion_tokens_details":{"reasoning_tokens":5}}"#,
            Usage { input: 36, cached: 64, output: 15, reasoning: 5, ..Usage::default() },
        );
        // Reasoning beside the output: the total is the sum of all three.
        check(
            r#"{"prompt_tokens":10,"completion_tokens":9,"total_tokens":319,"completion_tokens_details":{"reasoning_tokens":300}}"#,
            Usage { input: 10, output: 9, reasoning: 300, ..Usage::default() },
        );
        check(
            r#"{"input_tokens":50,"output_tokens":5,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":40},"output_tokens_details":null}"#,
            Usage { input: 10, cache_write: 40, output: 5, ..Usage::default() },
        );
        check(
            r#"{"input_tokens":1,"output_tokens":1,"total_tokens":2,"x_tools":{"web_search":{"count":3}}}"#,
            Usage { input: 1, output: 1, searches: 3, ..Usage::default() },
        );
    }

    #[test]
    fn no_counters_are_no_usage() {
        for json in ["null", "{}", "[]", "\"x\"", r#"{"input_tokens":null}"#] {
            let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
            assert_eq!(read(Raw::from(raw.as_ref())), None, "{json}");
        }
    }
}
