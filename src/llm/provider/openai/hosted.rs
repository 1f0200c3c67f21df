//! What providers ran themselves and tell beside a completion, each in a way of its own.

use serde::Deserialize;

use super::super::super::json::{Raw, Str};
use crate::types::{Citation, CitationSource, HostedKind, HostedOutput, HostedStatus};

/// A call that Z.AI ran on a remote MCP server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mcp<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    server_label: Str<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// A tool that Groq ran (`executed_tools`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Executed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    search_results: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Results<'a> {
    #[serde(borrow, alias = "search_results")]
    results: Raw<'a>,
}

/// A source by whatever name its address has: `link` with Z.AI, `url` with Perplexity, Aliyun and Groq.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found<'a> {
    #[serde(borrow)]
    link: Str<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
}

/// A piece of `reasoning_details` (OpenRouter).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Detail<'a> {
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    summary: Str<'a>,
}

/// What a detail shows; encrypted ones show nothing.
pub(super) fn detail_text(raw: Raw<'_>) -> String {
    let detail: Detail<'_> = raw.read().unwrap_or_default();
    detail.text.some().or(detail.summary.some()).unwrap_or_default().to_owned()
}

/// A call that was run on an MCP server, when it is one.
pub(super) fn mcp(id: Option<&str>, raw: Raw<'_>) -> Option<HostedOutput> {
    let mcp: Mcp<'_> = raw.read()?;
    let failed = mcp.error.get().is_some_and(|error| error != "\"\"");
    let name = match mcp.server_label.some() {
        Some(server) => format!("{server}.{}", mcp.name.text()),
        None => mcp.name.text().to_owned(),
    };
    let input = [Some(name), mcp.arguments.text_or_json()].into_iter().flatten().filter(|text| !text.is_empty());
    Some(HostedOutput {
        kind: HostedKind::Mcp,
        id: id.map(str::to_owned),
        status: if failed { HostedStatus::Failed } else { HostedStatus::Completed },
        input: input.collect(),
        output: if failed { mcp.error.text_or_json() } else { mcp.output.text_or_json() },
        sources: Vec::new(),
    })
}

/// A tool that Groq ran.
pub(super) fn executed(raw: Raw<'_>) -> Option<HostedOutput> {
    let tool: Executed<'_> = raw.read()?;
    let results: Results<'_> = tool.search_results.read().unwrap_or_default();
    let kind = match tool.kind.text() {
        "search" | "browser_search" => HostedKind::Search,
        "visit" | "open" => HostedKind::Fetch,
        "python" | "code_execution" => HostedKind::Code,
        other => HostedKind::Other(other.to_owned()),
    };
    Some(HostedOutput {
        kind,
        id: None,
        status: HostedStatus::Completed,
        input: tool.arguments.text_or_json().into_iter().collect(),
        output: tool.output.text_or_json().filter(|text| !text.is_empty()),
        sources: sources(results.results),
    })
}

/// A search that shows by what it found only.
pub(super) fn search(sources: Vec<Citation>) -> HostedOutput {
    HostedOutput {
        kind: HostedKind::Search,
        id: None,
        status: HostedStatus::Completed,
        input: Vec::new(),
        output: None,
        sources,
    }
}

/// Sources listed as addresses or as objects.
pub(in super::super) fn sources(raw: Raw<'_>) -> Vec<Citation> {
    let citation = |raw: Raw<'_>| {
        if let Some(url) = raw.read::<String>() {
            return Some(url_citation(url, None));
        }
        let found: Found<'_> = raw.read()?;
        let url = found.link.some().or(found.url.some())?;
        Some(url_citation(url.to_owned(), found.title.some().map(str::to_owned)))
    };
    raw.list().into_iter().filter_map(citation).collect()
}

fn url_citation(url: String, title: Option<String>) -> Citation {
    Citation { source: CitationSource::Url(url), title, quote: None, start: None, end: None }
}

#[cfg(test)]
mod tests;
