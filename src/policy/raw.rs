//! Raw provider tools at the gate: a tool that a client or an option put into a request past the catalog.

use super::bare::bare_capability;
use crate::{
    capability::{Capability, ProviderMatch},
    types::{CapabilityId, ExecutionMode, IdError, Intent, ProviderName, RiskClass},
};

/// Hosted tool types whose effect is known: type, intent, risk. Versions (`_20250305`) are cut off before the look-up.
/// The types are those of the providers' tool lists as of 2026-11.
///
/// Code runs in a container of the provider that has no network and whose files nobody receives: a draft. What can act
/// elsewhere (remote MCP, connectors, computer use, shells) is not listed and so has the risk of a business write.
const KNOWN: &[(&str, &str, RiskClass)] = &[
    ("web_search", "web.search", RiskClass::ExternalRead),
    ("web_search_preview", "web.search", RiskClass::ExternalRead),
    ("web_search_premium", "web.search", RiskClass::ExternalRead),
    ("google_search", "web.search", RiskClass::ExternalRead),
    ("google_search_retrieval", "web.search", RiskClass::ExternalRead),
    ("enterprise_web_search", "web.search", RiskClass::ExternalRead),
    ("deepseek_web_search", "web.search", RiskClass::ExternalRead),
    ("x_search", "social.search", RiskClass::ExternalRead),
    ("web_search_image", "image.search", RiskClass::ExternalRead),
    ("image_search", "image.search", RiskClass::ExternalRead),
    ("google_maps", "maps.search", RiskClass::ExternalRead),
    ("web_fetch", "url.fetch", RiskClass::ExternalRead),
    ("url_context", "url.fetch", RiskClass::ExternalRead),
    ("web_extractor", "url.fetch", RiskClass::ExternalRead),
    ("deepseek_read_url", "url.fetch", RiskClass::ExternalRead),
    ("file_search", "file.search", RiskClass::InternalRead),
    ("document_library", "file.search", RiskClass::InternalRead),
    ("collections_search", "file.search", RiskClass::InternalRead),
    ("retrieval", "kb.search", RiskClass::InternalRead),
    ("tool_search", "tool.search", RiskClass::ReadOnly),
    ("tool_search_tool_regex", "tool.search", RiskClass::ReadOnly),
    ("tool_search_tool_bm25", "tool.search", RiskClass::ReadOnly),
    ("code_interpreter", "code.exec", RiskClass::DraftWrite),
    ("code_execution", "code.exec", RiskClass::DraftWrite),
    ("image_generation", "image.generate", RiskClass::DraftWrite),
];

/// The capability as which a raw hosted tool passes the gate: `raw.<provider>.<type>`, with the intent and risk of its
/// type. A type that is not known has the risk of a business write. `kind` is the wire type, in either spelling
/// (`google_search`, `googleSearch`).
///
/// # Errors
/// [`IdError`] when the type cannot be part of an id (empty, white space, control characters, too long).
pub fn raw_capability(provider: &ProviderName, kind: &str) -> Result<Capability, IdError> {
    let plain = without_version(&snake_case(kind));
    let (intent, risk) = KNOWN
        .iter()
        .find(|(known, _, _)| *known == plain)
        .map_or_else(|| (format!("raw.{kind}"), RiskClass::BusinessWrite), |(_, i, risk)| ((*i).to_owned(), *risk));
    let id = if kind.is_empty() { String::new() } else { format!("raw.{provider}.{kind}") };
    let mut capability = bare_capability(CapabilityId::new(id)?, Intent::new(intent)?, risk);
    capability.execution.mode = ExecutionMode::ProviderHosted;
    capability.execution.provider = ProviderMatch::Only(provider.clone());
    Ok(capability)
}

fn snake_case(kind: &str) -> String {
    let mut out = String::with_capacity(kind.len());
    for c in kind.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// `web_search_20250305` and `web_search_preview_2025_03_11` without their dates.
fn without_version(kind: &str) -> String {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = kind.split('_').collect();
    match parts.as_slice() {
        [stem @ .., date] if digits(date, 8) => stem.join("_"),
        [stem @ .., year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2) => stem.join("_"),
        _ => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_tool_has_the_risk_of_its_type_and_an_unknown_one_that_of_a_business_write() {
        let openai = ProviderName::new("openai").unwrap();
        let seen: Vec<_> = [
            "web_search",
            "web_search_20250305",
            "web_search_preview_2025_03_11",
            "googleSearch",
            "urlContext",
            "tool_search_tool_bm25_20251119",
            "code_execution",
            "mcp",
            "computer_20250124",
            "web_search_2",
            "web_search_and_delete",
        ]
        .into_iter()
        .map(|kind| {
            let capability = raw_capability(&openai, kind).unwrap();
            format!("{} {} {}", capability.id, capability.intent, capability.governance.risk_class)
        })
        .collect();
        assert_eq!(
            seen,
            [
                "raw.openai.web_search web.search external_read",
                "raw.openai.web_search_20250305 web.search external_read",
                "raw.openai.web_search_preview_2025_03_11 web.search external_read",
                "raw.openai.googleSearch web.search external_read",
                "raw.openai.urlContext url.fetch external_read",
                "raw.openai.tool_search_tool_bm25_20251119 tool.search read_only",
                "raw.openai.code_execution code.exec draft_write",
                "raw.openai.mcp raw.mcp business_write",
                "raw.openai.computer_20250124 raw.computer_20250124 business_write",
                "raw.openai.web_search_2 raw.web_search_2 business_write",
                "raw.openai.web_search_and_delete raw.web_search_and_delete business_write",
            ]
        );
    }

    #[test]
    fn a_type_that_can_be_no_id_is_refused() {
        let openai = ProviderName::new("openai").unwrap();
        assert!(raw_capability(&openai, "").is_err());
        assert!(raw_capability(&openai, "web search").is_err());
        assert!(raw_capability(&openai, &"x".repeat(5000)).is_err());
    }
}
