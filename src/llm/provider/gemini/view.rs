//! The neutral view of a content's parts.
//!
//! Items follow the wire: one raw part each. Parts follow the meaning: a text that came in several raw parts (because a
//! signature cut it, or a stream did) is one [`Part::Text`], at the first of them; a hosted call and its result are one
//! [`Part::Hosted`], at the call.

use std::sync::Arc;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{
    super::super::{dialect::Reading, json},
    super::openai_response::normal_arguments,
    assembly::Piece,
    grounding::{self, Metadata, TextPart, Visible},
    offsets::CodePoints,
    part::{self, Hosted, WireCall, WirePart},
};
use crate::types::{Citation, FunctionCall, HostedKind, HostedOutput, Item, Part, hex};

/// The items of a reply, and how many queries were searched for.
#[derive(Debug)]
pub(super) struct View {
    pub(super) items: Vec<Item>,
    pub(super) searches: u64,
}

/// A run of text parts.
#[derive(Debug)]
struct Run {
    /// The item that holds its neutral part.
    item: usize,
    thought: bool,
    /// Where it begins in the visible text, in bytes.
    base: usize,
}

#[derive(Debug, Default)]
struct Reader {
    items: Vec<Item>,
    run: Option<Run>,
    /// The visible runs, in order.
    shown: Vec<Run>,
    /// All visible text.
    text: String,
    text_parts: Vec<TextPart>,
}

/// Reads the pieces of a content with what was said beside it.
pub(super) fn read(pieces: Vec<Piece>, metadata: &Metadata, reading: &Reading, ended: bool) -> View {
    let mut reader = Reader::default();
    for piece in pieces {
        reader.piece(piece, reading, ended);
    }
    reader.ground(metadata);
    let hosted = || reader.items.iter().flat_map(|item| &item.parts);
    let queries = hosted().map(|part| match part {
        Part::Hosted(output) if output.kind == HostedKind::Search => output.input.len() as u64,
        Part::Hosted(_) | Part::Text { .. } | Part::Call(_) | Part::Reasoning { .. } => 0,
        Part::Refusal { .. } | Part::Unknown { .. } => 0,
    });
    let searches = queries.sum();
    View { items: reader.items, searches }
}

impl Reader {
    fn piece(&mut self, piece: Piece, reading: &Reading, ended: bool) {
        match piece {
            Piece::Text { text, thought, raw } => {
                let raw = raw.or_else(|| text_part(&text, thought));
                self.text(raw, &text, thought);
            }
            Piece::Call { raw, id } => {
                let part: WirePart<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
                let call: WireCall<'_> = part.function_call.read().unwrap_or_default();
                let name = reading.original(call.name.text());
                let call = FunctionCall { provider_id: id, name, arguments: arguments(&call), complete: true };
                self.push(Some(raw), vec![Part::Call(call)]);
            }
            Piece::Partial { call, id } => {
                let complete = call.complete(ended);
                let name = reading.original(&call.name);
                let (raw, arguments) = (call.raw(), call.arguments());
                self.push(raw, vec![Part::Call(FunctionCall { provider_id: id, name, arguments, complete })]);
            }
            Piece::Whole(raw) => self.whole(raw),
        }
    }

    fn push(&mut self, raw: Option<Box<RawValue>>, parts: Vec<Part>) {
        self.run = None;
        self.items.push(Item { raw: raw.map(Arc::from), parts });
    }

    fn whole(&mut self, raw: Box<RawValue>) {
        let part: WirePart<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        if let Some(text) = &part.text.0 {
            let (text, thought) = (text.to_string(), part.is_thought());
            return self.text(Some(raw), &text, thought);
        }
        let parts = match part::hosted(&part) {
            Some(Hosted::Begun(output)) => vec![Part::Hosted(output)],
            Some(Hosted::Ended(output)) => self.attach(output),
            None if part.is_thought() => vec![Part::Reasoning { summary: None }],
            None if part.thought_signature.some().is_some() && part.kind() == "part" => Vec::new(),
            None => vec![Part::Unknown { kind: part.kind().to_owned() }],
        };
        self.push(Some(raw), parts);
    }

    /// Puts what a hosted tool brought to its call: by id, else to the first open call of its kind. Without a call it is
    /// a part of its own.
    fn attach(&mut self, ended: HostedOutput) -> Vec<Part> {
        let open = |output: &&mut HostedOutput| {
            output.status == crate::types::HostedStatus::Incomplete
                && output.kind == ended.kind
                && (ended.id.is_none() || output.id.is_none() || output.id == ended.id)
        };
        let parts = self.items.iter_mut().flat_map(|item| &mut item.parts);
        let mut calls = parts.filter_map(|part| if let Part::Hosted(output) = part { Some(output) } else { None });
        match calls.find(open) {
            Some(call) => {
                call.status = ended.status;
                call.output = ended.output;
                Vec::new()
            }
            None => vec![Part::Hosted(ended)],
        }
    }

    fn text(&mut self, raw: Option<Box<RawValue>>, text: &str, thought: bool) {
        self.text_parts.push(TextPart { base: self.text.len(), visible: !thought, empty: text.is_empty() });
        let item = Item { raw: raw.map(Arc::from), parts: Vec::new() };
        self.items.push(item);
        let at = self.items.len() - 1;
        let continued = self.run.as_ref().filter(|run| run.thought == thought).map(|run| run.item);
        let part = continued.and_then(|item| self.items.get_mut(item)?.parts.first_mut());
        match part {
            Some(Part::Text { text: known, .. } | Part::Reasoning { summary: Some(known) }) => known.push_str(text),
            // An empty part that only carries a signature says nothing.
            _ if text.is_empty() && !thought => return,
            _ => {
                let part = if thought {
                    Part::Reasoning { summary: Some(text.to_owned()) }
                } else {
                    Part::Text { text: text.to_owned(), citations: Vec::new() }
                };
                if let Some(item) = self.items.get_mut(at) {
                    item.parts.push(part);
                }
                let run = || Run { item: at, thought, base: self.text.len() };
                if !thought {
                    self.shown.push(run());
                }
                self.run = Some(run());
            }
        }
        if !thought {
            self.text.push_str(text);
        }
    }

    /// Adds citations and the hosted tools that show only in the metadata. The metadata stay as an item before the
    /// answer; they are no part of the content and are not replayed.
    fn ground(&mut self, metadata: &Metadata) {
        let Some(raw) = metadata.raw() else { return };
        let visible = Visible { text: &self.text, parts: &self.text_parts };
        let grounded = grounding::read(metadata, &visible);
        let mut loose = Vec::new();
        for run in &self.shown {
            let Some(Part::Text { text, citations }) =
                self.items.get_mut(run.item).and_then(|item| item.parts.first_mut())
            else {
                continue;
            };
            let points = CodePoints::new(text);
            let here = |range: &(usize, usize)| (run.base..run.base + text.len()).contains(&range.0);
            for (citation, range) in grounded.citations.iter().filter(|(_, range)| range.as_ref().is_some_and(here)) {
                let within = range.and_then(|range| grounding::within(range, run.base, &points, text.len()));
                let (start, end) = within.unzip();
                citations.push(Citation { start, end, ..citation.clone() });
            }
        }
        loose.extend(grounded.citations.into_iter().filter(|(_, range)| range.is_none()).map(|(citation, _)| citation));
        let mut parts = Vec::new();
        for output in grounded.hosted {
            parts.extend(self.merge(output).map(Part::Hosted));
        }
        if !loose.is_empty() {
            let last = self.shown.last().and_then(|run| self.items.get_mut(run.item)?.parts.first_mut());
            match last {
                Some(Part::Text { citations, .. }) => citations.extend(loose),
                _ => parts.push(Part::Text { text: String::new(), citations: loose }),
            }
        }
        let at = self.shown.first().map_or(self.items.len(), |run| run.item);
        self.items.insert(at, Item { raw: Some(Arc::from(raw)), parts });
    }

    /// Gives what grounding knows of a hosted tool to the last call of it in the content; `None` when that took it.
    fn merge(&mut self, output: HostedOutput) -> Option<HostedOutput> {
        let parts = self.items.iter_mut().rev().flat_map(|item| &mut item.parts);
        let mut calls = parts.filter_map(|part| if let Part::Hosted(call) = part { Some(call) } else { None });
        match calls.find(|call| call.kind == output.kind) {
            Some(call) => {
                call.sources.extend(output.sources);
                None
            }
            None => Some(output),
        }
    }
}

impl Metadata {
    /// The metadata as one item; `None` when there are none.
    fn raw(&self) -> Option<Box<RawValue>> {
        let mut out = Vec::new();
        let named = [("groundingMetadata", &self.grounding), ("urlContextMetadata", &self.urls)];
        for (name, raw) in named.into_iter().filter_map(|(name, raw)| Some((name, raw.as_deref()?))) {
            let before = if out.is_empty() { "{\"" } else { ",\"" };
            json::put(&mut out, before);
            json::put(&mut out, name);
            json::put(&mut out, "\":");
            json::put(&mut out, raw.get());
        }
        if out.is_empty() {
            return None;
        }
        json::put(&mut out, "}");
        RawValue::from_string(String::from_utf8(out).ok()?).ok()
    }
}

/// Whether an item is what was said beside the content.
pub(super) fn is_metadata(raw: &str) -> bool {
    raw.starts_with("{\"groundingMetadata\":") || raw.starts_with("{\"urlContextMetadata\":")
}

/// A text part that came in pieces.
fn text_part(text: &str, thought: bool) -> Option<Box<RawValue>> {
    let mut out = Vec::new();
    json::put(&mut out, "{\"text\":");
    json::string(&mut out, text);
    json::put(&mut out, if thought { ",\"thought\":true}" } else { "}" });
    RawValue::from_string(String::from_utf8(out).ok()?).ok()
}

/// The arguments of a whole call, as text.
pub(super) fn arguments(call: &WireCall<'_>) -> String {
    normal_arguments(call.args.text_or_json().unwrap_or_default())
}

/// The wire's word for a hosted tool, for those who watch.
pub(super) fn kind_name(kind: &HostedKind) -> String {
    match kind {
        HostedKind::Search => "google_search",
        HostedKind::Fetch => "url_context",
        HostedKind::Code => "code_execution",
        HostedKind::FileSearch => "file_search",
        HostedKind::Image => "image_search",
        HostedKind::Maps => "google_maps",
        HostedKind::Computer => "computer_use",
        HostedKind::Mcp | HostedKind::McpApproval => "mcp_server",
        HostedKind::ToolSearch => "tool_search",
        HostedKind::Other(kind) => kind,
    }
    .to_owned()
}

/// Eight hex digits that stand for a text.
pub(super) fn digest(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()).get(..4).unwrap_or_default())
}
