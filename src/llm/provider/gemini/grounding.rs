//! Grounding: which searches were made, what they found, and which words of the answer rest on it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::super::json::{Int, Raw, Str},
    offsets::CodePoints,
};
use crate::types::{Citation, CitationSource, HostedKind, HostedOutput, HostedStatus};

/// How much of a retrieved text is kept as a citation's quote, in characters.
const MAX_QUOTE_CHARS: usize = 1_000;

/// What a candidate says beside its content.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) grounding: Option<Box<RawValue>>,
    pub(super) urls: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireGrounding<'a> {
    #[serde(borrow)]
    web_search_queries: Raw<'a>,
    #[serde(borrow)]
    image_search_queries: Raw<'a>,
    #[serde(borrow)]
    grounding_chunks: Raw<'a>,
    #[serde(borrow)]
    grounding_supports: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireChunk<'a> {
    #[serde(borrow)]
    web: Raw<'a>,
    #[serde(borrow)]
    image: Raw<'a>,
    #[serde(borrow)]
    retrieved_context: Raw<'a>,
    #[serde(borrow)]
    maps: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSource<'a> {
    #[serde(borrow)]
    uri: Str<'a>,
    #[serde(borrow)]
    source_uri: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    document_name: Str<'a>,
    #[serde(borrow)]
    file_search_store: Str<'a>,
    #[serde(borrow)]
    place_id: Str<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSupport<'a> {
    #[serde(borrow)]
    segment: Raw<'a>,
    #[serde(borrow)]
    grounding_chunk_indices: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSegment<'a> {
    part_index: Int,
    start_index: Int,
    end_index: Int,
    #[serde(borrow)]
    text: Str<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireUrls<'a> {
    #[serde(borrow)]
    url_metadata: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireUrl<'a> {
    #[serde(borrow)]
    retrieved_url: Str<'a>,
    #[serde(borrow)]
    url_retrieval_status: Str<'a>,
}

/// A source, and the tool that found it.
#[derive(Debug)]
struct Source {
    tool: HostedKind,
    citation: Option<Citation>,
}

/// A text part of the answer, as the offsets count it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPart {
    /// Where it begins in the visible text, in bytes.
    pub(super) base: usize,
    /// Whether it is shown; thoughts are not.
    pub(super) visible: bool,
    /// Whether it holds nothing.
    pub(super) empty: bool,
}

/// The visible text, with the parts it came in.
#[derive(Debug)]
pub(super) struct Visible<'a> {
    pub(super) text: &'a str,
    pub(super) parts: &'a [TextPart],
}

/// What the grounding says.
#[derive(Debug, Default)]
pub(super) struct Grounded {
    /// What the hosted tools did that show only here.
    pub(super) hosted: Vec<HostedOutput>,
    /// The citations, with the byte range of the visible text they support.
    pub(super) citations: Vec<(Citation, Option<(usize, usize)>)>,
}

/// Reads the metadata of a candidate.
pub(super) fn read(metadata: &Metadata, visible: &Visible<'_>) -> Grounded {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_deref().map(RawValue::get).unwrap_or("null").to_owned();
    let (grounding, urls) = (raw(&metadata.grounding), raw(&metadata.urls));
    let grounding: WireGrounding<'_> = serde_json::from_str(&grounding).unwrap_or_default();
    let urls: WireUrls<'_> = serde_json::from_str(&urls).unwrap_or_default();
    let sources: Vec<Source> = grounding.grounding_chunks.list().into_iter().map(source).collect();
    let supports = grounding.grounding_supports.list();
    let citations = supports.into_iter().flat_map(|support| cited(support, &sources, visible)).collect();
    let mut hosted = fetched(&urls);
    let queries = texts(grounding.web_search_queries);
    let images = texts(grounding.image_search_queries);
    // Pages that were fetched by address are listed among the chunks as well; then nothing was searched for.
    let found = |kind: &HostedKind| hosted.is_empty() && sources.iter().any(|source| source.tool == *kind);
    let mut ran = Vec::new();
    for (kind, input) in [
        (HostedKind::Search, queries),
        (HostedKind::Image, images),
        (HostedKind::FileSearch, Vec::new()),
        (HostedKind::Maps, Vec::new()),
    ] {
        if !input.is_empty() || found(&kind) {
            let by = sources.iter().filter(|source| source.tool == kind);
            let sources = by.filter_map(|source| source.citation.clone()).collect();
            let status = HostedStatus::Completed;
            ran.push(HostedOutput { kind, id: None, status, input, output: None, sources });
        }
    }
    hosted.extend(ran);
    Grounded { hosted, citations }
}

fn texts(list: Raw<'_>) -> Vec<String> {
    let texts = list.list().into_iter().filter_map(|text| text.read::<String>());
    texts.filter(|text| !text.is_empty()).collect()
}

fn source(raw: Raw<'_>) -> Source {
    let chunk: WireChunk<'_> = raw.read().unwrap_or_default();
    let (tool, found) = if chunk.retrieved_context.get().is_some() {
        (HostedKind::FileSearch, chunk.retrieved_context)
    } else if chunk.maps.get().is_some() {
        (HostedKind::Maps, chunk.maps)
    } else if chunk.image.get().is_some() {
        (HostedKind::Image, chunk.image)
    } else {
        (HostedKind::Search, chunk.web)
    };
    Source { tool, citation: found.read::<WireSource<'_>>().and_then(|source| citation(&source)) }
}

fn citation(found: &WireSource<'_>) -> Option<Citation> {
    let file = [&found.document_name, &found.file_search_store, &found.place_id, &found.title];
    let source = match found.uri.some().or(found.source_uri.some()) {
        Some(url) => CitationSource::Url(url.to_owned()),
        None => CitationSource::File { path: file.iter().find_map(|name| name.some())?.to_owned(), lines: None },
    };
    let quote = found.text.some().map(|text| text.chars().take(MAX_QUOTE_CHARS).collect());
    Some(Citation { source, title: found.title.some().map(str::to_owned), quote, start: None, end: None })
}

/// One citation for each chunk of a support.
fn cited(support: Raw<'_>, sources: &[Source], visible: &Visible<'_>) -> Vec<(Citation, Option<(usize, usize)>)> {
    let support: WireSupport<'_> = support.read().unwrap_or_default();
    let range = support.segment.read::<WireSegment<'_>>().and_then(|segment| place(&segment, visible));
    let chunks = support.grounding_chunk_indices.read::<Vec<Int>>().unwrap_or_default();
    let chunks = chunks.into_iter().filter_map(|at| sources.get(usize::try_from(at.0?).ok()?)?.citation.clone());
    chunks.map(|citation| (citation, range)).collect()
}

/// The byte range of a segment in the visible text.
///
/// Offsets count bytes of UTF-8, from the start of the text part `partIndex` in a whole reply and from the start of all
/// text in a stream (recorded traffic, 2026-08); only text parts are counted. The quoted words decide between the
/// readings, and offsets that fit none of them are left out.
fn place(segment: &WireSegment<'_>, visible: &Visible<'_>) -> Option<(usize, usize)> {
    let index = usize::try_from(segment.part_index.or_zero()).ok()?;
    let start = usize::try_from(segment.start_index.or_zero()).ok()?;
    let end = usize::try_from(segment.end_index.0?).ok()?;
    let shown = visible.parts.iter().filter(|part| part.visible && !part.empty).nth(index);
    let any = visible.parts.get(index);
    let bases = [shown.map(|part| part.base), Some(0), any.map(|part| part.base)];
    let ranges =
        bases.into_iter().flatten().filter_map(|base| Some((base.checked_add(start)?, base.checked_add(end)?)));
    let fits = |(start, end): &(usize, usize)| {
        let words = visible.text.get(*start..*end).filter(|words| !words.is_empty());
        words.is_some_and(|words| segment.text.some().is_none_or(|quoted| quoted == words))
    };
    ranges.into_iter().find(fits)
}

/// One output for each address that was fetched.
fn fetched(urls: &WireUrls<'_>) -> Vec<HostedOutput> {
    let read = |raw: Raw<'_>| {
        let url: WireUrl<'_> = raw.read()?;
        let address = url.retrieved_url.some()?.to_owned();
        let fetched = url.url_retrieval_status.text() == "URL_RETRIEVAL_STATUS_SUCCESS";
        let status = if fetched { HostedStatus::Completed } else { HostedStatus::Failed };
        let source = CitationSource::Url(address.clone());
        let source = Citation { source, title: None, quote: None, start: None, end: None };
        Some(HostedOutput {
            kind: HostedKind::Fetch,
            id: None,
            status,
            input: vec![address],
            output: None,
            sources: fetched.then_some(source).into_iter().collect(),
        })
    };
    urls.url_metadata.list().into_iter().filter_map(read).collect()
}

/// Moves a byte range of the visible text into a run of it, in code points; what reaches beyond the run is cut.
pub(super) fn within(
    range: (usize, usize),
    base: usize,
    points: &CodePoints<'_>,
    length: usize,
) -> Option<(usize, usize)> {
    let start = range.0.checked_sub(base)?;
    let end = range.1.checked_sub(base)?.min(length);
    points.range(start, end)
}
