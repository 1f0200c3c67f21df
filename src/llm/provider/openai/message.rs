//! An assistant message, put together from one piece or from many: the same way for both, so that a streamed reply
//! equals the unary one.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{
    super::{
        ReplyEvent, ReplySink,
        dialect::Reading,
        json::{Int, Raw, Str},
    },
    openai_response::{citations, normal_arguments},
};
use super::{hosted, tagged::TaggedReader};
use crate::types::{Citation, FunctionCall, HostedOutput, Part};

/// A message or a delta of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct WireMessage<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    refusal: Str<'a>,
    #[serde(borrow)]
    reasoning_content: Str<'a>,
    /// OpenRouter, newer vLLM.
    #[serde(borrow)]
    reasoning: Str<'a>,
    /// Opaque thoughts of gateways.
    #[serde(borrow)]
    reasoning_details: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
    /// The form of 2023.
    #[serde(borrow)]
    function_call: Raw<'a>,
    #[serde(borrow)]
    annotations: Raw<'a>,
    /// Groq: tools it ran itself.
    #[serde(borrow)]
    executed_tools: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireCall<'a> {
    index: Int,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    function: Raw<'a>,
    #[serde(borrow)]
    custom: Raw<'a>,
    /// Z.AI: a call that was run there.
    #[serde(borrow)]
    mcp: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireFunction<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
}

/// A piece of a content list (Mistral, and others that copy it).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
}

/// A call as far as it is known.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    announced: bool,
}

/// A message as far as it is known.
#[derive(Debug, Default)]
pub(in super::super) struct Message {
    text: String,
    refusal: String,
    reasoning: String,
    reasoned: bool,
    calls: Vec<Call>,
    /// Thoughts as they lie in `reasoning_details`; shown when they lie nowhere else.
    details: String,
    hosted: Vec<HostedOutput>,
    /// What the provider lists beside the message: sources it found, and sources the text rests on.
    found: Vec<Citation>,
    listed: Vec<Citation>,
    annotations: Vec<String>,
    unknown: Vec<String>,
    /// Reads calls out of the text, where models print them.
    tagged: Option<TaggedReader>,
    /// The content as it goes back, once a piece of it is no text.
    pieces: Vec<Value>,
    /// It came in one piece: each call in it is a call of its own.
    whole: bool,
}

impl Message {
    /// A message of which nothing has come yet.
    pub(in super::super) fn new(reading: &Reading) -> Self {
        Self { tagged: reading.tagged_calls.then(TaggedReader::default), ..Self::default() }
    }

    /// Takes a message that came in one piece.
    pub(in super::super) fn take_whole(&mut self, wire: &WireMessage<'_>, reading: &Reading) {
        self.whole = true;
        self.take(wire, reading, &());
    }

    /// Takes a message or the next delta of one.
    pub(in super::super) fn take(&mut self, wire: &WireMessage<'_>, reading: &Reading, sink: &dyn ReplySink) {
        for thought in [&wire.reasoning_content, &wire.reasoning] {
            if let Some(thought) = thought.0.as_deref() {
                // Some servers send one text under both names.
                self.think(thought, sink);
                if !thought.is_empty() {
                    break;
                }
            }
        }
        for detail in wire.reasoning_details.list() {
            self.reasoned = true;
            self.details.push_str(&hosted::detail_text(detail));
        }
        self.content(wire.content, reading, sink);
        if let Some(text) = wire.refusal.some() {
            self.refusal.push_str(text);
            sink.on(ReplyEvent::Text(text.to_owned()));
        }
        for raw in wire.tool_calls.list() {
            if let Some(call) = raw.read::<WireCall<'_>>() {
                self.call(&call, reading, sink);
            }
        }
        if let Some(function) = wire.function_call.read::<WireFunction<'_>>() {
            let place = Some(0);
            self.fragment(place, "", function.name.text(), &text_of(function.arguments), reading, sink);
        }
        self.hosted.extend(wire.executed_tools.list().into_iter().filter_map(hosted::executed));
        self.annotations.extend(wire.annotations.list().into_iter().filter_map(Raw::get).map(str::to_owned));
    }

    fn think(&mut self, text: &str, sink: &dyn ReplySink) {
        self.reasoned |= !text.is_empty();
        self.reasoning.push_str(text);
        if !text.is_empty() {
            sink.on(ReplyEvent::Reasoning(text.to_owned()));
        }
    }

    fn say(&mut self, text: &str, reading: &Reading, sink: &dyn ReplySink) {
        let text = match &mut self.tagged {
            Some(reader) => Cow::Owned(reader.push(text, |name| reading.names.original(name).is_some())),
            None => Cow::Borrowed(text),
        };
        if !text.is_empty() {
            self.text.push_str(&text);
            sink.on(ReplyEvent::Text(text.into_owned()));
        }
    }

    /// All text has come: what was held back is text or a call now. Returns whether any call was read out of it.
    pub(in super::super) fn end_text(
        &mut self,
        reading: &Reading,
        sink: &dyn ReplySink,
        notices: &mut Vec<String>,
    ) -> bool {
        let Some(mut reader) = self.tagged.take() else { return false };
        let rest = reader.end(|name| reading.names.original(name).is_some());
        if !rest.is_empty() {
            self.text.push_str(&rest);
            sink.on(ReplyEvent::Text(rest));
        }
        let calls = reader.take_calls();
        if calls.is_empty() {
            return false;
        }
        self.text.truncate(self.text.trim_end().len());
        for (name, arguments) in calls {
            notices.push(format!("a call of `{}` was read from tagged text", reading.original(&name)));
            self.calls.push(Call { name, arguments, ..Call::default() });
        }
        true
    }

    fn content(&mut self, raw: Raw<'_>, reading: &Reading, sink: &dyn ReplySink) {
        if let Some(text) = raw.read::<Cow<'_, str>>() {
            if !self.pieces.is_empty() && !text.is_empty() {
                join(&mut self.pieces, serde_json::json!({"type": "text", "text": text}));
            }
            return self.say(&text, reading, sink);
        }
        for raw in raw.list() {
            let Some(piece) = raw.read::<Piece<'_>>() else { continue };
            self.keep(raw, &piece);
            match piece.kind.text() {
                "thinking" => {
                    self.reasoned = true;
                    for inner in piece.thinking.list() {
                        let inner: Piece<'_> = inner.read().unwrap_or_default();
                        self.think(inner.text.text(), sink);
                    }
                }
                _ if piece.text.0.is_some() => self.say(piece.text.text(), reading, sink),
                // Points to numbered results of the request: nothing to show without them.
                "reference" => {}
                kind => self.unknown.push(kind.to_owned()),
            }
        }
    }

    /// Keeps a piece of a streamed content for the way back: all of them from the first that is no text.
    fn keep(&mut self, raw: Raw<'_>, piece: &Piece<'_>) {
        if self.whole || (self.pieces.is_empty() && piece.kind.text() == "text") {
            return;
        }
        if self.pieces.is_empty() && !self.text.is_empty() {
            self.pieces.push(serde_json::json!({"type": "text", "text": self.text}));
        }
        if let Some(piece) = raw.read::<Value>() {
            join(&mut self.pieces, piece);
        }
    }

    fn call(&mut self, call: &WireCall<'_>, reading: &Reading, sink: &dyn ReplySink) {
        if let Some(output) = hosted::mcp(call.id.some(), call.mcp) {
            // The call and its outcome may come in two pieces.
            let same = self.hosted.iter_mut().find(|known| known.id.is_some() && known.id == output.id);
            return match same {
                Some(known) => *known = output,
                None => self.hosted.push(output),
            };
        }
        let custom = call.kind.text() == "custom";
        let function: WireFunction<'_> = if custom { call.custom } else { call.function }.read().unwrap_or_default();
        let arguments = text_of(if custom { function.input } else { function.arguments });
        self.fragment(call.index.0, call.id.text(), function.name.text(), &arguments, reading, sink);
    }

    /// DEV-B04: whose fragment it is, by id first, then by index, then by the order of beginnings. Later fragments
    /// come with the id absent, empty or repeated; the first one that says something counts.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        if self.whole {
            return None;
        }
        let of_index = |index| self.calls.iter().rposition(|call| call.index == Some(index));
        if !id.is_empty() {
            // A beginning under another index is another call, even with an id that was used.
            let other =
                |call: &Call| !name.is_empty() && index.is_some() && call.index.is_some() && call.index != index;
            let same = self.calls.iter().rposition(|call| call.id == id && !other(call));
            let nameless =
                || index.and_then(of_index).filter(|at| self.calls.get(*at).is_some_and(|call| call.id.is_empty()));
            return same.or_else(nameless);
        }
        match index {
            Some(index) => of_index(index),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }

    fn fragment(
        &mut self,
        index: Option<u64>,
        id: &str,
        name: &str,
        arguments: &str,
        reading: &Reading,
        sink: &dyn ReplySink,
    ) {
        let at = self.place(index, id, name).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(arguments);
        if !call.announced && !call.name.is_empty() {
            call.announced = true;
            sink.on(ReplyEvent::CallStarted { provider_id: call.id.clone(), name: reading.original(&call.name) });
        }
        if !arguments.is_empty() {
            sink.on(ReplyEvent::Arguments { provider_id: call.id.clone(), delta: arguments.to_owned() });
        }
    }

    /// The text, the thoughts and all arguments, as far as they are known.
    pub(in super::super) fn texts(&self) -> [String; 3] {
        let arguments = self.calls.iter().map(|call| call.arguments.as_str()).collect();
        [self.text.clone(), self.reasoning.clone(), arguments]
    }

    /// Tells `sink` of the calls so far.
    pub(in super::super) fn show_calls(&self, reading: &Reading, sink: &dyn ReplySink) {
        for call in &self.calls {
            sink.on(ReplyEvent::CallStarted { provider_id: call.id.clone(), name: reading.original(&call.name) });
            sink.on(ReplyEvent::Arguments { provider_id: call.id.clone(), delta: call.arguments.clone() });
        }
    }

    /// What a search of the provider found, listed beside the message, perhaps again with every piece of it.
    pub(in super::super) fn found(&mut self, sources: Vec<Citation>) {
        add_new(&mut self.found, sources);
    }

    /// Sources without places that some providers list beside the message.
    pub(in super::super) fn cite(&mut self, sources: Vec<Citation>) {
        add_new(&mut self.listed, sources);
    }

    /// Gives each call without an id one that no other call of the conversation has.
    pub(in super::super) fn name_calls(&mut self, reply_id: &str) {
        for (at, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            let seed = format!("{reply_id}/{at}/{}/{}", call.name, call.arguments);
            call.id = super::super::super::names::call_id(&seed, MADE_IDS);
        }
    }

    /// The parts, in the order a model produces them: thoughts, text, calls.
    pub(in super::super) fn parts(&self, reading: &Reading, notices: &mut Vec<String>) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.reasoned {
            let shown = if self.reasoning.is_empty() { &self.details } else { &self.reasoning };
            let summary = Some(shown.clone()).filter(|text| !text.is_empty());
            parts.push(Part::Reasoning { summary });
        }
        parts.extend(self.hosted.iter().cloned().map(Part::Hosted));
        if !self.found.is_empty() {
            parts.push(Part::Hosted(hosted::search(self.found.clone())));
        }
        if !self.text.is_empty() {
            let list = format!("[{}]", self.annotations.join(","));
            let raw = serde_json::from_str::<Raw<'_>>(&list).unwrap_or_default();
            let mut citations = citations(raw, &self.text);
            if citations.is_empty() {
                citations.clone_from(&self.listed);
            }
            parts.push(Part::Text { text: self.text.clone(), citations });
        }
        if !self.refusal.is_empty() {
            parts.push(Part::Refusal { text: self.refusal.clone() });
        }
        for kind in &self.unknown {
            notices.push(format!("a piece of the unknown type `{kind}` was kept"));
            parts.push(Part::Unknown { kind: kind.clone() });
        }
        parts.extend(self.calls.iter().map(|call| {
            Part::Call(FunctionCall {
                provider_id: call.id.clone(),
                name: reading.original(&call.name),
                arguments: normal_arguments(call.arguments.clone()),
                complete: true,
            })
        }));
        parts
    }

    /// The message as its provider would have sent it in one piece; `more` are fields that are not known here.
    pub(in super::super) fn to_wire(&self, more: Map<String, Value>) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("role".to_owned(), "assistant".into());
        let content = match (self.pieces.is_empty(), self.text.is_empty()) {
            (false, _) => self.pieces.clone().into(),
            (true, true) => Value::Null,
            (true, false) => self.text.clone().into(),
        };
        fields.insert("content".to_owned(), content);
        fields.extend(more);
        if !self.refusal.is_empty() {
            fields.insert("refusal".to_owned(), self.refusal.clone().into());
        }
        if !self.calls.is_empty() {
            let call = |call: &Call| {
                let arguments = normal_arguments(call.arguments.clone());
                serde_json::json!({
                    "id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments},
                })
            };
            fields.insert("tool_calls".to_owned(), self.calls.iter().map(call).collect::<Vec<_>>().into());
        }
        fields
    }
}

/// Twenty-four letters and digits, since the seed always holds a slash.
const MADE_IDS: super::super::super::names::CallIdRule = super::super::super::names::CallIdRule::PORTABLE;

fn text_of(raw: Raw<'_>) -> String {
    raw.text_or_json().unwrap_or_default()
}

/// Adds a piece of content. A text goes on in a text before it, a thought in a thought.
pub(in super::super) fn join(list: &mut Vec<Value>, piece: Value) {
    let Some(last) = list.last_mut().filter(|last| last.get("type") == piece.get("type")) else {
        return list.push(piece);
    };
    if let (Some(Value::String(text)), Some(Value::String(more))) = (last.get_mut("text"), piece.get("text")) {
        return text.push_str(more);
    }
    let Value::Object(mut piece) = piece else { return list.push(piece) };
    let (Some(Value::Array(thoughts)), Some(Value::Array(_))) = (last.get_mut("thinking"), piece.get("thinking"))
    else {
        return list.push(Value::Object(piece));
    };
    if let Some(Value::Array(more)) = piece.shift_remove("thinking") {
        more.into_iter().for_each(|thought| join(thoughts, thought));
    }
    // What comes with the last piece of it (its signature) is that of the whole.
    if let Some(fields) = last.as_object_mut() {
        fields.extend(piece);
    }
}

/// Appends the sources that are not there yet.
fn add_new(list: &mut Vec<Citation>, sources: Vec<Citation>) {
    for source in sources {
        if !list.iter().any(|known| known.source == source.source) {
            list.push(source);
        }
    }
}
