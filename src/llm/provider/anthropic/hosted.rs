//! What the provider ran itself: the use of a server tool and the block with its result.

use serde::Deserialize;

use super::super::super::json::{Int, Raw, Str};
use crate::types::{Citation, CitationSource, HostedKind, HostedOutput, HostedStatus};

/// What may stand in the input of a server tool, in the order in which it is shown.
const INPUTS: [&str; 9] = ["query", "queries", "url", "pattern", "code", "command", "path", "old_str", "new_str"];

/// The use of a server tool, before its result is known.
pub(super) fn started(name: &str, id: &str, input: Raw<'_>) -> HostedOutput {
    pending(kind_of(name), id, inputs(input))
}

/// A call of a tool on a remote MCP server.
pub(super) fn mcp_started(server: &str, name: &str, id: &str, input: Raw<'_>) -> HostedOutput {
    let mut told = vec![if server.is_empty() { name.to_owned() } else { format!("{server}.{name}") }];
    told.extend(input.get().filter(|text| *text != "{}").map(str::to_owned));
    pending(HostedKind::Mcp, id, told)
}

fn pending(kind: HostedKind, id: &str, input: Vec<String>) -> HostedOutput {
    let id = (!id.is_empty()).then(|| id.to_owned());
    HostedOutput { kind, id, status: HostedStatus::Incomplete, input, output: None, sources: Vec::new() }
}

/// The kind by a tool's name, or by the type of its result without the ending.
pub(super) fn kind_of(name: &str) -> HostedKind {
    match name {
        "web_search" | "deepseek_web_search" => HostedKind::Search,
        "web_fetch" | "deepseek_read_url" => HostedKind::Fetch,
        "code_execution" | "bash_code_execution" | "text_editor_code_execution" => HostedKind::Code,
        "mcp" => HostedKind::Mcp,
        _ if name.starts_with("tool_search") => HostedKind::ToolSearch,
        other => HostedKind::Other(other.to_owned()),
    }
}

fn inputs(input: Raw<'_>) -> Vec<String> {
    let Some(serde_json::Value::Object(map)) = input.read() else { return Vec::new() };
    let mut told = Vec::new();
    for name in INPUTS {
        match map.get(name) {
            Some(serde_json::Value::String(text)) if !text.is_empty() => told.push(text.clone()),
            Some(serde_json::Value::Array(list)) => {
                told.extend(list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)));
            }
            Some(_) | None => {}
        }
    }
    if told.is_empty() && !map.is_empty() {
        told.extend(input.get().map(str::to_owned));
    }
    told
}

/// What a result block says of the use it belongs to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) kind: HostedKind,
    pub(super) tool_use_id: String,
    status: HostedStatus,
    output: Option<String>,
    sources: Vec<Citation>,
}

impl Outcome {
    /// Completes the use.
    pub(super) fn complete(self, hosted: &mut HostedOutput) {
        hosted.status = self.status;
        hosted.output = self.output;
        hosted.sources = self.sources;
    }

    /// The result of a use that is not in the same reply: it was still open when the reply before ended.
    pub(super) fn alone(self) -> HostedOutput {
        let mut hosted = pending(self.kind.clone(), &self.tool_use_id, Vec::new());
        self.complete(&mut hosted);
        hosted
    }
}

/// The fields of all result contents together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    error_code: Str<'a>,
    #[serde(borrow)]
    error_message: Str<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    stdout: Str<'a>,
    #[serde(borrow)]
    stderr: Str<'a>,
    return_code: Int,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    source: Raw<'a>,
    #[serde(borrow)]
    data: Str<'a>,
    #[serde(borrow)]
    lines: Raw<'a>,
    #[serde(borrow)]
    tool_references: Raw<'a>,
    #[serde(borrow)]
    tool_name: Str<'a>,
    #[serde(borrow)]
    file_id: Str<'a>,
}

/// Reads a result block: `kind` is its type, `content` a list, one object or a text. An error is one object with
/// HTTP status 200; an empty list means that nothing was found.
pub(super) fn outcome(kind: &str, tool_use_id: &str, is_error: bool, content: Raw<'_>) -> Outcome {
    let name = kind.strip_suffix("_tool_result").unwrap_or(kind);
    let mut outcome = Outcome {
        kind: kind_of(name),
        tool_use_id: tool_use_id.to_owned(),
        status: if is_error { HostedStatus::Failed } else { HostedStatus::Completed },
        output: None,
        sources: Vec::new(),
    };
    if let Some(text) = content.read::<String>() {
        outcome.output = Some(text);
        return outcome;
    }
    let mut texts = Vec::new();
    match object(content) {
        Some(one) if one.error_code.some().is_some() || one.kind.text().ends_with("_error") => {
            outcome.status = HostedStatus::Failed;
            texts.extend([&one.error_code, &one.error_message].into_iter().filter_map(Str::some).map(str::to_owned));
        }
        Some(one) => gather(&one, &mut texts, &mut outcome.sources),
        None => {
            for piece in content.list().into_iter().filter_map(object) {
                gather(&piece, &mut texts, &mut outcome.sources);
            }
        }
    }
    outcome.output = (!texts.is_empty()).then(|| texts.join("\n"));
    outcome
}

/// The fields of an object. (Read straight away, a list would pass for one.)
fn object(raw: Raw<'_>) -> Option<Content<'_>> {
    raw.read().filter(|_| raw.get().is_some_and(|text| text.starts_with('{')))
}

/// Text and sources of one piece of a result.
fn gather(piece: &Content<'_>, texts: &mut Vec<String>, sources: &mut Vec<Citation>) {
    let inner = object(piece.content);
    if let Some(url) = piece.url.some() {
        let title = piece.title.some().or(inner.as_ref().and_then(|document| document.title.some()));
        sources.push(named(CitationSource::Url(url.to_owned()), title));
    }
    if let Some(file) = piece.file_id.some() {
        sources.push(named(CitationSource::File { path: file.to_owned(), lines: None }, None));
    }
    let mut add = |text: Option<&str>| texts.extend(text.map(str::to_owned));
    add(piece.text.some());
    add(piece.stdout.some());
    add(piece.stderr.some());
    if let Some(code) = piece.return_code.0.filter(|code| *code != 0) {
        add(Some(&format!("exit code {code}")));
    }
    add(piece.content.read::<String>().as_deref());
    // A fetched document: a text, or a PDF in base64, which is no text.
    let source = inner.and_then(|document| object(document.source));
    add(source.filter(|source| source.kind.text() == "text").and_then(|source| source.data.0).as_deref());
    for line in piece.lines.list() {
        add(line.read::<String>().as_deref());
    }
    for reference in piece.tool_references.list() {
        add(object(reference).as_ref().and_then(|tool| tool.tool_name.some()));
    }
    for file in piece.content.list().into_iter().filter_map(object) {
        add(file.text.some());
        if let Some(id) = file.file_id.some() {
            sources.push(named(CitationSource::File { path: id.to_owned(), lines: None }, None));
        }
    }
}

fn named(source: CitationSource, title: Option<&str>) -> Citation {
    Citation { source, title: title.map(str::to_owned), quote: None, start: None, end: None }
}
