//! One output item, read into parts.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::super::{
    dialect::Reading,
    json::{Int, Raw, Str},
};
use crate::types::{Citation, CitationSource, FunctionCall, HostedKind, HostedOutput, HostedStatus, Part};

/// The fields of all item types together. All are optional: two generations of shapes are on the wire at once.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) call_id: Str<'a>,
    #[serde(borrow)]
    pub(super) name: Str<'a>,
    #[serde(borrow)]
    status: Str<'a>,
    #[serde(borrow)]
    pub(super) arguments: Raw<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    summary: Raw<'a>,
    #[serde(borrow)]
    action: Raw<'a>,
    #[serde(borrow)]
    queries: Raw<'a>,
    #[serde(borrow)]
    results: Raw<'a>,
    #[serde(borrow)]
    code: Str<'a>,
    #[serde(borrow)]
    outputs: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    result: Str<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    server_label: Str<'a>,
    #[serde(borrow)]
    execution: Str<'a>,
    #[serde(borrow)]
    environment: Raw<'a>,
    #[serde(borrow)]
    goal: Str<'a>,
    #[serde(borrow)]
    urls: Raw<'a>,
    #[serde(borrow)]
    revised_prompt: Str<'a>,
    /// What xAI calls the prompt of a picture.
    #[serde(borrow)]
    prompt: Str<'a>,
    /// What a computer is to do; older models ask for one thing at a time, in `action`.
    #[serde(borrow)]
    actions: Raw<'a>,
    /// How a file is to be changed.
    #[serde(borrow)]
    operation: Raw<'a>,
    /// What a remote server has.
    #[serde(borrow)]
    tools: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    refusal: Str<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Annotation<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    filename: Str<'a>,
    #[serde(borrow)]
    file_id: Str<'a>,
    start_index: Int,
    end_index: Int,
    /// Chat nests it.
    #[serde(borrow)]
    url_citation: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Action<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    query: Str<'a>,
    #[serde(borrow)]
    queries: Raw<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    pattern: Str<'a>,
    #[serde(borrow)]
    sources: Raw<'a>,
    #[serde(borrow)]
    commands: Raw<'a>,
    /// Of a shell of the client: one command, in words.
    #[serde(borrow)]
    command: Raw<'a>,
}

/// A change of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Operation<'a> {
    #[serde(borrow)]
    path: Str<'a>,
    #[serde(borrow)]
    diff: Str<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    url: Str<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    filename: Str<'a>,
    #[serde(borrow)]
    file_id: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    logs: Str<'a>,
    #[serde(borrow)]
    stdout: Str<'a>,
    /// Of a tool, or of a source that is no page (`{"type": "api", "name": "oai-weather"}`).
    #[serde(borrow)]
    name: Str<'a>,
    /// Of a picture: where it stands, and what it shows.
    #[serde(borrow)]
    source_website_url: Str<'a>,
    #[serde(borrow)]
    caption: Str<'a>,
}

/// What the rest of a reply has to know about an item beside its parts.
pub(super) struct ReadItem {
    pub(super) parts: Vec<Part>,
    /// The output it is of a call that is an item of its own.
    pub(super) output_of: Option<OutputOf>,
    /// Whom it waits for, in words, unless an output for it follows: a client that agcore is not, or a person.
    pub(super) waits: Option<String>,
}

/// An output that came as an item of its own.
pub(super) struct OutputOf {
    /// Of which call.
    pub(super) call: String,
    pub(super) output: String,
    /// What it is when the call was in an earlier reply.
    pub(super) alone: Option<HostedKind>,
}

/// Reads one item. Whatever it is, there is a result; what is not understood becomes [`Part::Unknown`].
pub(super) fn read(raw: &RawValue, reading: &Reading, notices: &mut Vec<String>) -> ReadItem {
    let Ok(item) = serde_json::from_str::<WireItem<'_>>(raw.get()) else {
        return plain(vec![Part::Unknown { kind: "no object".to_owned() }]);
    };
    match item.kind.text() {
        "message" | "" if item.content.get().is_some() => plain(content(item.content, notices)),
        "message" => plain(Vec::new()),
        "function_call" => plain(vec![call(&item, reading)]),
        // x_search of xAI comes as a custom call that was already run there (recorded traffic 2026-08).
        "custom_tool_call" if !item.call_id.text().starts_with("xs_") => plain(vec![custom_call(&item, reading)]),
        "reasoning" => plain(vec![Part::Reasoning { summary: reasoning_text(&item) }]),
        kind @ ("shell_call_output" | "program_output") => {
            let (call, output) = (item.call_id.text().to_owned(), output_text(&item).unwrap_or_default());
            let alone = (kind == "program_output").then_some(HostedKind::Code);
            ReadItem { output_of: Some(OutputOf { call, output, alone }), ..plain(Vec::new()) }
        }
        // What the provider keeps for itself, to have it back: a compacted past, tools found, results of its own.
        "compaction"
        | "additional_tools"
        | "tool_search_output"
        | "function_call_output"
        | "custom_tool_call_output"
        | "computer_call_output"
        | "local_shell_call_output"
        | "apply_patch_call_output"
        | "mcp_approval_response" => plain(Vec::new()),
        kind => match hosted_kind(kind, &item) {
            Some(hosted) => {
                let waits = waits(&item, &hosted);
                if hosted == HostedKind::Other(kind.to_owned()) && item.status.some().is_none() {
                    notices
                        .push(format!("a call of the unknown type `{kind}` was kept; what became of it is not known"));
                } else if hosted == HostedKind::Other(kind.to_owned()) {
                    notices.push(format!("a call of the unknown type `{kind}` was kept; it was run by the provider"));
                }
                ReadItem { waits, ..plain(vec![Part::Hosted(hosted_output(&item, hosted))]) }
            }
            None => {
                notices.push(format!("an item of the unknown type `{kind}` was kept"));
                plain(vec![Part::Unknown { kind: kind.to_owned() }])
            }
        },
    }
}

fn plain(parts: Vec<Part>) -> ReadItem {
    ReadItem { parts, output_of: None, waits: None }
}

/// What to say when nothing goes on before somebody acts who is not there.
fn waits(item: &WireItem<'_>, hosted: &HostedKind) -> Option<String> {
    let (kind, name, server) = (item.kind.text(), item.name.text(), item.server_label.text());
    if *hosted == HostedKind::McpApproval {
        return Some(format!("`{server}.{name}` waits at the provider for an approval that was not given"));
    }
    asks_client(item).then(|| format!("`{kind}` asks for a client that agcore is not; nothing was done"))
}

/// The parts of a message's content: usually a list, sometimes a text.
fn content(raw: Raw<'_>, notices: &mut Vec<String>) -> Vec<Part> {
    if let Some(text) = raw.read::<String>() {
        return vec![Part::Text { text, citations: Vec::new() }];
    }
    let mut read = |piece: Raw<'_>| match piece.read::<Content<'_>>() {
        Some(part) if part.refusal.0.is_some() => Part::Refusal { text: part.refusal.text().to_owned() },
        Some(part) if part.text.0.is_some() => {
            let text = part.text.text().to_owned();
            let citations = citations(part.annotations, &text);
            Part::Text { text, citations }
        }
        other => {
            let kind = other.as_ref().map_or("no object", |part| part.kind.text());
            notices.push(format!("a piece of the unknown type `{kind}` was kept"));
            Part::Unknown { kind: kind.to_owned() }
        }
    };
    raw.list().into_iter().map(&mut read).collect()
}

/// Citations of a text, in one form. Offsets that lie outside the text are left out.
pub(in super::super) fn citations(annotations: Raw<'_>, text: &str) -> Vec<Citation> {
    let list = annotations.list();
    if list.is_empty() {
        return Vec::new();
    }
    let length = text.chars().count();
    list.into_iter().filter_map(|raw| raw.read::<Annotation<'_>>()).filter_map(|note| citation(&note, length)).collect()
}

fn citation(note: &Annotation<'_>, length: usize) -> Option<Citation> {
    if let Some(inner) = note.url_citation.read::<Annotation<'_>>() {
        return citation(&inner, length);
    }
    let source = match (note.url.some(), note.filename.some().or(note.file_id.some())) {
        (Some(url), _) => CitationSource::Url(url.to_owned()),
        (None, Some(path)) => CitationSource::File { path: path.to_owned(), lines: None },
        (None, None) => return None,
    };
    let at = |index: Int| index.0.and_then(|index| usize::try_from(index).ok());
    let range = at(note.start_index).zip(at(note.end_index)).filter(|(start, end)| start < end && *end <= length);
    let title = note.title.some().map(str::to_owned);
    Some(Citation { source, title, quote: None, start: range.map(|it| it.0), end: range.map(|it| it.1) })
}

/// Arguments as text. None, blank and `null` all mean an empty object; some servers send the word as a text.
pub(in super::super) fn arguments_text(raw: Raw<'_>) -> String {
    normal_arguments(raw.text_or_json().unwrap_or_default())
}

/// As [`arguments_text`], of a text that is already unescaped.
pub(in super::super) fn normal_arguments(text: String) -> String {
    if matches!(text.trim(), "" | "null") { "{}".to_owned() } else { text }
}

fn call(item: &WireItem<'_>, reading: &Reading) -> Part {
    Part::Call(FunctionCall {
        provider_id: item.call_id.some().unwrap_or_else(|| item.id.text()).to_owned(),
        name: reading.original(item.name.text()),
        arguments: arguments_text(item.arguments),
        complete: true,
    })
}

fn custom_call(item: &WireItem<'_>, reading: &Reading) -> Part {
    Part::Call(FunctionCall {
        provider_id: item.call_id.some().unwrap_or_else(|| item.id.text()).to_owned(),
        name: reading.original(item.name.text()),
        arguments: item.input.text_or_json().unwrap_or_default(),
        complete: true,
    })
}

fn reasoning_text(item: &WireItem<'_>) -> Option<String> {
    let texts = |raw: Raw<'_>| -> Vec<String> {
        let pieces = raw.list().into_iter().filter_map(|piece| piece.read::<Content<'_>>());
        pieces.filter_map(|piece| piece.text.some().map(str::to_owned)).collect()
    };
    let summary = texts(item.summary);
    let shown = if summary.is_empty() { texts(item.content) } else { summary };
    (!shown.is_empty()).then(|| shown.join("\n\n"))
}

/// What runs at the provider, or is asked of a client that agcore is not. `None` for an unknown type.
fn hosted_kind(kind: &str, item: &WireItem<'_>) -> Option<HostedKind> {
    Some(match kind {
        // A page that is opened, or searched in, is no search, and not billed as one.
        "web_search_call" if is_page(item) => HostedKind::Fetch,
        "web_search_call" | "x_search_call" => HostedKind::Search,
        "file_search_call" => HostedKind::FileSearch,
        "code_interpreter_call" | "program" => HostedKind::Code,
        "shell_call" | "local_shell_call" | "apply_patch_call" => HostedKind::Code,
        "image_generation_call" | "web_search_image_call" | "image_search_call" => HostedKind::Image,
        "web_extractor_call" => HostedKind::Fetch,
        "mcp_call" | "mcp_list_tools" => HostedKind::Mcp,
        "mcp_approval_request" => HostedKind::McpApproval,
        "computer_call" => HostedKind::Computer,
        "tool_search_call" => HostedKind::ToolSearch,
        "custom_tool_call" if item.name.text().starts_with("x_") => HostedKind::Search,
        "custom_tool_call" => HostedKind::Other(item.name.text().to_owned()),
        "view_image_call" | "view_x_video_call" => HostedKind::Other(kind.trim_end_matches("_call").to_owned()),
        // Calls that clients run are all known here; a new one is of the provider's own.
        _ if kind.ends_with("_call") => HostedKind::Other(kind.to_owned()),
        _ => return None,
    })
}

fn is_page(item: &WireItem<'_>) -> bool {
    let action: Option<Action<'_>> = item.action.read();
    action.is_some_and(|action| matches!(action.kind.text(), "open_page" | "find_in_page"))
}

/// Whether the item asks a client to run something that agcore does not run: it is not done.
fn asks_client(item: &WireItem<'_>) -> bool {
    match item.kind.text() {
        "computer_call" | "local_shell_call" | "apply_patch_call" => true,
        "tool_search_call" => item.execution.text() == "client",
        "shell_call" => {
            item.environment.read::<Content<'_>>().is_none_or(|environment| environment.kind.text() == "local")
        }
        _ => false,
    }
}

fn hosted_output(item: &WireItem<'_>, kind: HostedKind) -> HostedOutput {
    let action: Action<'_> = item.action.read().unwrap_or_default();
    let status = match item.status.text() {
        _ if item.error.get().is_some() => HostedStatus::Failed,
        _ if asks_client(item) || kind == HostedKind::McpApproval => HostedStatus::Incomplete,
        // Of a tool that nobody knows, nothing is taken for granted.
        "" if matches!(&kind, HostedKind::Other(other) if *other == item.kind.text()) => HostedStatus::Incomplete,
        "completed" | "" => HostedStatus::Completed,
        "failed" => HostedStatus::Failed,
        _ => HostedStatus::Incomplete,
    };
    let listed = [action.sources, item.results, item.outputs].into_iter().flat_map(Raw::list).filter_map(source);
    let mut sources: Vec<Citation> = listed.collect();
    if kind == HostedKind::Image
        && let Some(found) = item.output.read::<String>()
    {
        // Aliyun lists the pictures in a text.
        sources
            .extend(serde_json::from_str::<Raw<'_>>(&found).unwrap_or_default().list().into_iter().filter_map(source));
    }
    HostedOutput {
        kind,
        id: item.call_id.some().or(item.id.some()).map(str::to_owned),
        status,
        input: inputs(item, &action),
        output: output_text(item),
        sources,
    }
}

fn inputs(item: &WireItem<'_>, action: &Action<'_>) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    let mut add = |text: Option<&str>| {
        if let Some(text) = text
            && !inputs.iter().any(|known| known == text)
        {
            inputs.push(text.to_owned());
        }
    };
    add(action.query.some());
    for list in [action.queries, item.queries, item.urls, action.commands, action.command] {
        for text in list.list() {
            add(text.read::<String>().as_deref());
        }
    }
    for text in [&action.url, &action.pattern, &item.code, &item.goal, &item.revised_prompt, &item.prompt] {
        add(text.some());
    }
    if item.kind.text() == "computer_call" {
        item.actions.list().into_iter().chain([item.action]).for_each(|action| add(action.get()));
    }
    if let Some(operation) = item.operation.read::<Operation<'_>>() {
        [&operation.path, &operation.diff].into_iter().for_each(|text| add(text.some()));
    }
    let label = item.server_label.some().map(|server| match item.name.some() {
        Some(name) => format!("{server}.{name}"),
        None => server.to_owned(),
    });
    add(label.as_deref());
    add(item.arguments.text_or_json().as_deref());
    add(item.input.text_or_json().as_deref());
    inputs
}

/// The text of an output: a text, a list of logs, what was found; never an image.
fn output_text(item: &WireItem<'_>) -> Option<String> {
    if let Some(error) = item.error.text_or_json() {
        return Some(error);
    }
    if let Some(text) = item.output.read::<String>() {
        return Some(text);
    }
    if item.kind.text() == "program_output" {
        return item.result.some().map(str::to_owned);
    }
    let pieces = [item.outputs, item.output, item.results, item.tools].into_iter().flat_map(Raw::list);
    let texts: Vec<String> = pieces
        .filter_map(|piece| {
            let piece: Source<'_> = piece.read()?;
            [piece.logs, piece.stdout, piece.text, piece.name].iter().find_map(Str::some).map(str::to_owned)
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn source(raw: Raw<'_>) -> Option<Citation> {
    let found: Source<'_> = raw.read()?;
    let url = found.url.some().or(found.source_website_url.some()).filter(|url| !url.starts_with("data:"));
    let named = [&found.filename, &found.file_id, &found.name].into_iter().find_map(Str::some);
    let source = match (url, named) {
        (Some(url), _) => CitationSource::Url(url.to_owned()),
        (None, Some(path)) => CitationSource::File { path: path.to_owned(), lines: None },
        (None, None) => return None,
    };
    let title = found.title.some().or(found.caption.some()).map(str::to_owned);
    Some(Citation { source, title, quote: None, start: None, end: None })
}
