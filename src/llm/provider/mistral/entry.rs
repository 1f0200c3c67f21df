//! One output entry, read into parts.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    super::{
        dialect::Reading,
        json::{Raw, Str},
        names::{self, CallIdRule},
    },
    openai_response::arguments_text,
};
use crate::types::{Citation, CitationSource, FunctionCall, HostedKind, HostedOutput, HostedStatus, Item, Part};

/// The entry of a hand-over to another agent.
pub(super) const HANDOFF: &str = "agent.handoff";

/// The fields of all entry types together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireEntry<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    tool_call_id: Str<'a>,
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    confirmation_status: Str<'a>,
    #[serde(borrow)]
    info: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    next_agent_id: Str<'a>,
    #[serde(borrow)]
    next_agent_name: Str<'a>,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chunk<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    title: Str<'a>,
    #[serde(borrow)]
    url: Str<'a>,
    /// The address in older replies.
    #[serde(borrow)]
    source: Str<'a>,
    #[serde(borrow)]
    file_id: Str<'a>,
    #[serde(borrow)]
    file_name: Str<'a>,
    #[serde(borrow)]
    document_url: Str<'a>,
    #[serde(borrow)]
    document_name: Str<'a>,
}

/// What a hosted tool was asked and what it shows of its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Execution<'a> {
    #[serde(borrow)]
    query: Str<'a>,
    #[serde(borrow)]
    prompt: Str<'a>,
    #[serde(borrow)]
    code: Str<'a>,
    #[serde(borrow)]
    code_output: Str<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// Reads one entry. Whatever it is, there is a result; what is not understood becomes [`Part::Unknown`].
pub(super) fn read(raw: &RawValue, reading: &Reading, notices: &mut Vec<String>) -> Vec<Part> {
    let Ok(entry) = serde_json::from_str::<WireEntry<'_>>(raw.get()) else {
        return vec![Part::Unknown { kind: "no object".to_owned() }];
    };
    match entry.kind.text() {
        "message.output" => Message::read(entry.content, notices),
        "tool.execution" => vec![Part::Hosted(execution(&entry))],
        // A server tool that waits for consent looks like a function call (mistralai 3.7.0). It is one of ours only
        // when it was offered.
        "function.call" if entry.confirmation_status.text() == "pending" && !offered(&entry, reading) => {
            let name = entry.name.text();
            notices.push(format!("`{name}` waits at the provider for a confirmation that was not given"));
            vec![Part::Hosted(approval(&entry))]
        }
        "function.call" => vec![call(&entry, reading)],
        HANDOFF => {
            let to = entry.next_agent_name.some().unwrap_or_else(|| entry.next_agent_id.text());
            notices.push(format!("the conversation was handed to the agent `{to}`"));
            vec![Part::Unknown { kind: HANDOFF.to_owned() }]
        }
        kind => {
            notices.push(format!("an entry of the unknown type `{kind}` was kept"));
            vec![Part::Unknown { kind: kind.to_owned() }]
        }
    }
}

fn offered(entry: &WireEntry<'_>, reading: &Reading) -> bool {
    reading.names.original(entry.name.text()).is_some()
}

fn call(entry: &WireEntry<'_>, reading: &Reading) -> Part {
    let arguments = arguments_text(entry.arguments);
    let id = entry.tool_call_id.some().or(entry.id.some()).map_or_else(
        || names::call_id(&format!("{}/{arguments}", entry.name.text()), CallIdRule::MISTRAL),
        str::to_owned,
    );
    let name = reading.original(entry.name.text());
    Part::Call(FunctionCall { provider_id: id, name, arguments, complete: true })
}

fn approval(entry: &WireEntry<'_>) -> HostedOutput {
    let input = [entry.name.some().map(str::to_owned), entry.arguments.text_or_json()];
    HostedOutput {
        kind: HostedKind::McpApproval,
        id: entry.tool_call_id.some().or(entry.id.some()).map(str::to_owned),
        status: HostedStatus::Incomplete,
        input: input.into_iter().flatten().collect(),
        output: None,
        sources: Vec::new(),
    }
}

/// A hosted tool by its name; what is not built in is a connector, which is a remote MCP server.
fn kind_of(name: &str) -> HostedKind {
    match name {
        "web_search" | "web_search_premium" => HostedKind::Search,
        "code_interpreter" => HostedKind::Code,
        "image_generation" => HostedKind::Image,
        "document_library" => HostedKind::FileSearch,
        _ => HostedKind::Mcp,
    }
}

fn execution(entry: &WireEntry<'_>) -> HostedOutput {
    let info: Execution<'_> = entry.info.read().unwrap_or_default();
    let failed = info.error.get().is_some();
    HostedOutput {
        kind: kind_of(entry.name.text()),
        id: entry.id.some().map(str::to_owned),
        status: if failed { HostedStatus::Failed } else { HostedStatus::Completed },
        input: inputs(entry),
        output: if failed { info.error.text_or_json() } else { output(&info) },
        sources: Vec::new(),
    }
}

/// The question, the code or the description in the arguments; the arguments themselves when there is none of these.
fn inputs(entry: &WireEntry<'_>) -> Vec<String> {
    let text = entry.arguments.text_or_json().unwrap_or_default();
    let asked: Execution<'_> = serde_json::from_str(&text).unwrap_or_default();
    let known: Vec<String> = [&asked.query, &asked.prompt, &asked.code]
        .into_iter()
        .filter_map(|field| field.some().map(str::to_owned))
        .collect();
    let mut inputs = if known.is_empty() && !matches!(text.trim(), "" | "{}") { vec![text] } else { known };
    if kind_of(entry.name.text()) == HostedKind::Mcp {
        inputs.insert(0, entry.name.text().to_owned());
    }
    inputs
}

fn output(info: &Execution<'_>) -> Option<String> {
    if let Some(text) = info.code_output.some() {
        return Some(text.to_owned());
    }
    if let Some(text) = info.result.read::<String>() {
        return Some(text).filter(|text| !text.is_empty());
    }
    let pieces = info.result.list().into_iter().filter_map(|piece| piece.read::<Chunk<'_>>());
    let texts: Vec<String> = pieces.filter_map(|piece| piece.text.some().map(str::to_owned)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// A message as far as it is read.
#[derive(Debug, Default)]
struct Message {
    parts: Vec<Part>,
    text: String,
    /// Code points of `text`.
    length: usize,
    /// Where the last piece of text began.
    piece: usize,
    citations: Vec<Citation>,
}

impl Message {
    fn read(content: Raw<'_>, notices: &mut Vec<String>) -> Vec<Part> {
        let mut message = Self::default();
        if let Some(text) = content.read::<Cow<'_, str>>() {
            message.say(&text);
        }
        for chunk in content.list() {
            match chunk.read::<Chunk<'_>>() {
                Some(chunk) => message.chunk(&chunk, notices),
                None => message.unknown("no object", notices),
            }
        }
        message.flush();
        message.parts
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, notices: &mut Vec<String>) {
        match chunk.kind.text() {
            "thinking" => {
                self.flush();
                self.parts.push(Part::Reasoning { summary: thoughts(chunk.thinking) });
            }
            "tool_reference" => {
                let address = chunk.url.some().or(chunk.source.some());
                let source = match address {
                    Some(url) => CitationSource::Url(url.to_owned()),
                    None => CitationSource::File { path: chunk.title.text().to_owned(), lines: None },
                };
                self.cite(source, &chunk.title);
            }
            "tool_file" => {
                let path = chunk.file_id.some().unwrap_or_else(|| chunk.file_name.text()).to_owned();
                self.cite(CitationSource::File { path, lines: None }, &chunk.file_name);
            }
            "document_url" => {
                let url = chunk.document_url.some().unwrap_or_else(|| chunk.url.text()).to_owned();
                self.cite(CitationSource::Url(url), &chunk.document_name);
            }
            // Points to numbered results of the request: nothing to show without them.
            "reference" => {}
            _ if chunk.text.0.is_some() => self.say(chunk.text.text()),
            kind => self.unknown(kind, notices),
        }
    }

    fn say(&mut self, text: &str) {
        self.piece = self.length;
        self.length += text.chars().count();
        self.text.push_str(text);
    }

    /// There are no offsets on the wire; a reference stands behind the piece of text that it supports.
    fn cite(&mut self, source: CitationSource, title: &Str<'_>) {
        let range = (self.piece < self.length).then_some((self.piece, self.length));
        self.citations.push(Citation {
            source,
            title: title.some().map(str::to_owned),
            quote: None,
            start: range.map(|it| it.0),
            end: range.map(|it| it.1),
        });
    }

    fn unknown(&mut self, kind: &str, notices: &mut Vec<String>) {
        self.flush();
        notices.push(format!("a piece of the unknown type `{kind}` was kept"));
        self.parts.push(Part::Unknown { kind: kind.to_owned() });
    }

    fn flush(&mut self) {
        let (text, citations) = (std::mem::take(&mut self.text), std::mem::take(&mut self.citations));
        (self.length, self.piece) = (0, 0);
        if !text.is_empty() || !citations.is_empty() {
            self.parts.push(Part::Text { text, citations });
        }
    }
}

fn thoughts(raw: Raw<'_>) -> Option<String> {
    let pieces = raw.list().into_iter().filter_map(|piece| piece.read::<Chunk<'_>>());
    let text: String = pieces.filter_map(|piece| piece.text.some().map(str::to_owned)).collect();
    let text = if text.is_empty() { raw.read::<String>().unwrap_or_default() } else { text };
    Some(text).filter(|text| !text.is_empty())
}

/// Results are not on the wire, only what the text refers to: it counts as found by the last tool that could have.
pub(super) fn give_sources(items: &mut [Item]) {
    let mut finder: Option<(usize, usize)> = None;
    for at in 0..items.len() {
        let parts = items.get(at).map(|item| item.parts.as_slice()).unwrap_or_default();
        let mut found: Vec<Citation> = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            match part {
                Part::Hosted(output) if output.status != HostedStatus::Incomplete => finder = Some((at, place)),
                Part::Text { citations, .. } => found.extend(citations.iter().cloned()),
                Part::Hosted(_)
                | Part::Call(_)
                | Part::Reasoning { .. }
                | Part::Refusal { .. }
                | Part::Unknown { .. } => {}
            }
        }
        let finder = finder.and_then(|(at, place)| items.get_mut(at)?.parts.get_mut(place));
        if let Some(Part::Hosted(output)) = finder {
            for citation in found {
                let source = Citation { start: None, end: None, ..citation };
                if !output.sources.contains(&source) {
                    output.sources.push(source);
                }
            }
        }
    }
}
