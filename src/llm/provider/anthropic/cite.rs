//! Citations of a text block, in agcore's one form.

use serde::Deserialize;

use super::super::super::json::{Int, Raw, Str};
use crate::types::{Citation, CitationSource};

/// The fields of all citation types together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireCitation<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    /// Of a search result the client sent: its address or name.
    #[serde(borrow)]
    source: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    document_title: Str<'a>,
    #[serde(borrow)]
    file_id: Str<'a>,
    document_index: Int,
    search_result_index: Int,
    #[serde(borrow)]
    cited_text: Str<'a>,
}

/// The citations of `text`. A block holds one claim and its sources, so each citation spans all of the text.
pub(super) fn citations(list: Raw<'_>, text: &str) -> Vec<Citation> {
    let wires: Vec<WireCitation<'_>> = list.list().into_iter().filter_map(Raw::read).collect();
    if wires.is_empty() {
        return Vec::new();
    }
    let end = text.chars().count();
    wires.iter().map(|wire| citation(wire, end)).collect()
}

fn citation(wire: &WireCitation<'_>, end: usize) -> Citation {
    let title = wire.title.some().or(wire.document_title.some()).map(str::to_owned);
    Citation {
        source: source(wire),
        title,
        quote: wire.cited_text.some().map(str::to_owned),
        start: Some(0),
        end: Some(end),
    }
}

/// Web results have an address. All other types point into a document or search result of the request, by number,
/// with a name where the client gave one.
fn source(wire: &WireCitation<'_>) -> CitationSource {
    if let Some(url) = wire.url.some().or_else(|| wire.source.some().filter(|source| is_web(source))) {
        return CitationSource::Url(url.to_owned());
    }
    let named = [&wire.file_id, &wire.source, &wire.document_title, &wire.title].into_iter().find_map(Str::some);
    let path = match (named, wire.document_index.0, wire.search_result_index.0) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(index), _) => format!("document {index}"),
        (None, None, Some(index)) => format!("search result {index}"),
        (None, None, None) => wire.kind.text().to_owned(),
    };
    CitationSource::File { path, lines: None }
}

fn is_web(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}
