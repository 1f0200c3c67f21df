//! Token counts as disjoint counters.

use serde::Deserialize;

use super::super::super::json::{Int, Raw};
use crate::types::Usage;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Int,
    cached_content_token_count: Int,
    candidates_token_count: Int,
    thoughts_token_count: Int,
    tool_use_prompt_token_count: Int,
}

/// The counters of `usageMetadata`; `None` when it counts nothing (chunks of Vertex bring only a `trafficType`).
///
/// Cached tokens are part of the prompt; thoughts and what hosted tools added are counted beside (google-genai 3.6.1).
pub(super) fn read(raw: Raw<'_>) -> Option<Usage> {
    let wire: WireUsage = raw.read()?;
    wire.prompt_token_count.0.or(wire.candidates_token_count.0)?;
    let prompt = wire.prompt_token_count.or_zero();
    let cached = wire.cached_content_token_count.or_zero().min(prompt);
    Some(Usage {
        input: prompt - cached,
        cached,
        output: wire.candidates_token_count.or_zero(),
        reasoning: wire.thoughts_token_count.or_zero(),
        tool_use: wire.tool_use_prompt_token_count.or_zero(),
        ..Usage::default()
    })
}
