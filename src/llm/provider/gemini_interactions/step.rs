//! One step of an interaction, read into neutral parts.

use serde::Deserialize;

use super::super::{
    super::{
        dialect::Reading,
        json::{Int, Raw, Str},
    },
    gemini::{CodePoints, inputs},
    openai_response::normal_arguments,
};
use crate::types::{Citation, CitationSource, FunctionCall, HostedKind, HostedOutput, HostedStatus, Part};

/// The fields of all step types together; older replies list their contents (`text`) in place of steps.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireStep<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) call_id: Str<'a>,
    #[serde(borrow)]
    pub(super) name: Str<'a>,
    #[serde(borrow)]
    server_name: Str<'a>,
    #[serde(borrow)]
    pub(super) arguments: Raw<'a>,
    #[serde(borrow)]
    summary: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Annotation<'a> {
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    file_name: Str<'a>,
    #[serde(borrow)]
    document_uri: Str<'a>,
    #[serde(borrow)]
    source: Str<'a>,
    #[serde(borrow)]
    place_id: Str<'a>,
    start_index: Int,
    end_index: Int,
}

/// What a result lists: pages that were fetched, places that were found.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found<'a> {
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    status: Str<'a>,
    #[serde(borrow)]
    places: Raw<'a>,
    #[serde(borrow)]
    text: Str<'a>,
}

/// What a step says.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) parts: Vec<Part>,
    /// What a hosted tool brought to the call of this id.
    pub(super) result: Option<HostedOutput>,
}

/// Reads a step.
pub(super) fn read(json: &str, reading: &Reading) -> Read {
    let step: WireStep<'_> = serde_json::from_str(json).unwrap_or_default();
    let parts = match step.kind.text() {
        "model_output" => contents(step.content),
        "text" => vec![text(step.text.text(), step.annotations)],
        "thought" => vec![Part::Reasoning { summary: summary(step.summary) }],
        "function_call" if step.name.some().is_some() => vec![Part::Call(FunctionCall {
            provider_id: step.id.some().unwrap_or_else(|| step.call_id.text()).to_owned(),
            name: reading.original(step.name.text()),
            arguments: normal_arguments(step.arguments.text_or_json().unwrap_or_default()),
            complete: true,
        })],
        kind if kind != "function_call" && kind.ends_with("_call") => vec![Part::Hosted(call(&step))],
        kind if kind != "function_result" && kind.ends_with("_result") => {
            return Read { parts: Vec::new(), result: Some(result(&step)) };
        }
        other => vec![Part::Unknown { kind: other.chars().take(80).collect() }],
    };
    Read { parts, result: None }
}

fn contents(list: Raw<'_>) -> Vec<Part> {
    let read = |raw: Raw<'_>| {
        let content: Content<'_> = raw.read().unwrap_or_default();
        match content.kind.text() {
            "text" => text(content.text.text(), content.annotations),
            other => Part::Unknown { kind: other.chars().take(80).collect() },
        }
    };
    list.list().into_iter().map(read).collect()
}

/// Offsets count bytes of the text ("measured in bytes", google-genai 3.6.1); those that fall into a character are
/// left out.
fn text(text: &str, annotations: Raw<'_>) -> Part {
    let points = CodePoints::new(text);
    let citations = annotations.list().into_iter().filter_map(|raw| citation(raw, &points)).collect();
    Part::Text { text: text.to_owned(), citations }
}

fn citation(raw: Raw<'_>, points: &CodePoints<'_>) -> Option<Citation> {
    let note: Annotation<'_> = raw.read()?;
    let files = [&note.file_name, &note.document_uri, &note.source, &note.place_id];
    let source = match note.url.some() {
        Some(url) => CitationSource::Url(url.to_owned()),
        None => CitationSource::File { path: files.iter().find_map(|name| name.some())?.to_owned(), lines: None },
    };
    let offset = |at: Int| usize::try_from(at.or_zero()).ok();
    let range = note.end_index.0.and_then(|_| points.range(offset(note.start_index)?, offset(note.end_index)?));
    let (start, end) = range.unzip();
    Some(Citation { source, title: note.title.some().or(note.name.some()).map(str::to_owned), quote: None, start, end })
}

fn summary(list: Raw<'_>) -> Option<String> {
    let texts = list.list().into_iter().filter_map(|raw| Some(raw.read::<Content<'_>>()?.text.text().to_owned()));
    Some(texts.collect::<String>()).filter(|text| !text.is_empty())
}

/// The tool behind `google_search_call` and its like.
pub(super) fn hosted_kind(kind: &str) -> HostedKind {
    match kind.strip_suffix("_call").or_else(|| kind.strip_suffix("_result")).unwrap_or(kind) {
        "google_search" => HostedKind::Search,
        "url_context" => HostedKind::Fetch,
        "code_execution" => HostedKind::Code,
        "file_search" | "retrieval" => HostedKind::FileSearch,
        "google_maps" => HostedKind::Maps,
        "mcp_server_tool" => HostedKind::Mcp,
        "tool_search" => HostedKind::ToolSearch,
        "computer_use" => HostedKind::Computer,
        other => HostedKind::Other(other.chars().take(80).collect()),
    }
}

fn call(step: &WireStep<'_>) -> HostedOutput {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Code<'a> {
        #[serde(borrow)]
        code: Str<'a>,
    }
    let code: Code<'_> = step.arguments.read().unwrap_or_default();
    let mut input = match code.code.some() {
        Some(code) => vec![code.to_owned()],
        None => inputs(step.arguments),
    };
    if let Some(server) = step.server_name.some() {
        input.insert(0, format!("{server}.{}", step.name.text()));
    }
    HostedOutput {
        kind: hosted_kind(step.kind.text()),
        id: step.id.some().map(str::to_owned),
        status: HostedStatus::Incomplete,
        input,
        output: None,
        sources: Vec::new(),
    }
}

fn result(step: &WireStep<'_>) -> HostedOutput {
    let failed = step.is_error.get() == Some("true");
    let list = step.result.list();
    let found: Vec<Found<'_>> = list.iter().filter_map(|raw| raw.read()).collect();
    let mut sources = Vec::new();
    for page in &found {
        let places = page.places.list().into_iter().filter_map(|raw| raw.read::<Found<'_>>());
        sources.extend(places.filter_map(|place| source(&place)));
        if matches!(page.status.text(), "" | "success") {
            sources.extend(source(page));
        }
    }
    // A list of search results holds only markup for showing suggestions.
    let shows = |found: &Found<'_>| found.text.some().map(str::to_owned);
    let output = if list.is_empty() {
        step.result.text_or_json().filter(|text| !text.is_empty() && text != "[]")
    } else {
        let texts: Vec<String> = found.iter().filter_map(shows).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    HostedOutput {
        kind: hosted_kind(step.kind.text()),
        id: step.call_id.some().map(str::to_owned),
        status: if failed { HostedStatus::Failed } else { HostedStatus::Completed },
        input: Vec::new(),
        output,
        sources,
    }
}

fn source(found: &Found<'_>) -> Option<Citation> {
    let source = CitationSource::Url(found.url.some()?.to_owned());
    let title = found.title.some().or(found.name.some()).map(str::to_owned);
    Some(Citation { source, title, quote: None, start: None, end: None })
}
