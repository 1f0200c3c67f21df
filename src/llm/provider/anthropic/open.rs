//! A block of a stream while its pieces come in.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    super::super::{ReplyEvent, ReplySink, arguments, dialect::Reading, json},
    block::{WireBlock, normal_arguments},
    fold::Delta,
};

/// What is known of a block that has begun.
#[derive(Debug)]
pub(super) struct Open {
    /// The block as its start gave it. Results of server tools come whole in it.
    start: Box<RawValue>,
    kind: String,
    id: String,
    name: String,
    /// The pieces of the text, the thought or the summary, after what the start held.
    text: Option<String>,
    /// The pieces of a call's input; these take the place of the start's input.
    input: String,
    citations: Vec<Box<RawValue>>,
    signature: Option<String>,
    /// Of a summary; goes back as it came.
    encrypted_content: Option<String>,
    finished: bool,
}

impl Open {
    pub(super) fn new(start: Box<RawValue>, reading: &Reading) -> Self {
        let block: WireBlock<'_> = serde_json::from_str(start.get()).unwrap_or_default();
        let (kind, id) = (block.kind.text().to_owned(), block.id.text().to_owned());
        let name = match kind.as_str() {
            "tool_use" => reading.original(block.name.text()),
            _ => block.name.text().to_owned(),
        };
        // The result of a server tool is whole from the start.
        let finished = kind.ends_with("_tool_result");
        let (text, input, citations) = (None, String::new(), Vec::new());
        Self { start, kind, id, name, text, input, citations, signature: None, encrypted_content: None, finished }
    }

    /// A block whose start never came, for a delta that says what it must be.
    pub(super) fn for_delta(kind: &str, reading: &Reading) -> Option<Self> {
        let start = match kind {
            "text_delta" => r#"{"type":"text","text":""}"#,
            "thinking_delta" => r#"{"type":"thinking","thinking":"","signature":""}"#,
            _ => return None,
        };
        Some(Self::new(RawValue::from_string(start.to_owned()).ok()?, reading))
    }

    /// Tells the watcher that it began.
    pub(super) fn announce(&self, sink: &dyn ReplySink) {
        match self.kind.as_str() {
            "tool_use" => {
                sink.on(ReplyEvent::CallStarted { provider_id: self.id.clone(), name: self.name.clone() });
            }
            "server_tool_use" | "mcp_tool_use" => sink.on(ReplyEvent::Hosted(self.name.clone())),
            kind if kind.ends_with("_tool_result") => sink.on(ReplyEvent::Hosted(self.kind.clone())),
            _ => {}
        }
    }

    /// Takes a piece; false when its kind is unknown.
    pub(super) fn take(&mut self, delta: &Delta<'_>, sink: &dyn ReplySink) -> bool {
        match delta.kind.text() {
            "text_delta" => {
                self.append(delta.text.text());
                sink.on(ReplyEvent::Text(delta.text.text().to_owned()));
            }
            "thinking_delta" => {
                self.append(delta.thinking.text());
                sink.on(ReplyEvent::Reasoning(delta.thinking.text().to_owned()));
            }
            "compaction_delta" => {
                if let Some(content) = delta.content.0.as_deref() {
                    self.append(content);
                }
                if let Some(encrypted) = delta.encrypted_content.0.as_deref() {
                    self.encrypted_content = Some(encrypted.to_owned());
                }
            }
            "signature_delta" => self.signature = Some(delta.signature.text().to_owned()),
            "citations_delta" => self.citations.extend(delta.citation.map(RawValue::to_owned)),
            "input_json_delta" => {
                let piece = delta.partial_json.text();
                self.input.push_str(piece);
                if self.kind == "tool_use" && !piece.is_empty() {
                    sink.on(ReplyEvent::Arguments { provider_id: self.id.clone(), delta: piece.to_owned() });
                }
            }
            _ => return false,
        }
        true
    }

    fn append(&mut self, piece: &str) {
        self.text.get_or_insert_default().push_str(piece);
    }

    /// Nothing more comes. A call whose input stood in the start is told to the watcher now.
    pub(super) fn stop(&mut self, sink: &dyn ReplySink) {
        self.finished = true;
        if self.kind == "tool_use" && self.input.is_empty() {
            let block: WireBlock<'_> = serde_json::from_str(self.start.get()).unwrap_or_default();
            if let Some(input) = block.input.get() {
                sink.on(ReplyEvent::Arguments { provider_id: self.id.clone(), delta: input.to_owned() });
            }
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The input as it was received, when it is no JSON object and so cannot go back.
    pub(super) fn broken_arguments(&self) -> Option<String> {
        let input = self.input.trim();
        (!input.is_empty() && *arguments::replayable(input) != *input).then(|| normal_arguments(self.input.clone()))
    }

    /// The block as the whole message would have it.
    pub(super) fn raw(&self) -> Arc<RawValue> {
        let changes = self.changes();
        if changes.is_empty() {
            return Arc::from(self.start.clone());
        }
        let Ok(Fields(fields)) = serde_json::from_str::<Fields<'_>>(self.start.get()) else {
            return Arc::from(self.start.clone());
        };
        let mut out = String::with_capacity(self.start.get().len() + self.input.len() + 256);
        let mut put = |name: &str, value: &str| {
            out.push(if out.is_empty() { '{' } else { ',' });
            out.push_str(&quoted(name));
            out.push(':');
            out.push_str(value);
        };
        for (name, value) in &fields {
            let change = changes.iter().find(|(changed, _)| changed == name);
            put(name, change.map_or(value.get(), |(_, new)| new));
        }
        let known = |name: &str| fields.iter().any(|(field, _)| field == name);
        changes.iter().filter(|(name, _)| !known(name)).for_each(|(name, value)| put(name, value));
        out.push('}');
        // All pieces are valid JSON themselves.
        RawValue::from_string(out).map_or_else(|_| Arc::from(self.start.clone()), Arc::from)
    }

    /// The fields that the pieces change, with their new values.
    fn changes(&self) -> Vec<(&'static str, String)> {
        let block: WireBlock<'_> = serde_json::from_str(self.start.get()).unwrap_or_default();
        let mut changes = Vec::new();
        if let Some(text) = &self.text {
            let (name, before) = match self.kind.as_str() {
                "thinking" => ("thinking", block.thinking.text()),
                "compaction" => ("content", ""),
                _ => ("text", block.text.text()),
            };
            changes.push((name, quoted(&format!("{before}{text}"))));
        }
        if !self.citations.is_empty() {
            let earlier = block.citations.list().into_iter().filter_map(json::Raw::get);
            let all: Vec<&str> = earlier.chain(self.citations.iter().map(|citation| citation.get())).collect();
            changes.push(("citations", format!("[{}]", all.join(","))));
        }
        for (name, whole) in [("signature", &self.signature), ("encrypted_content", &self.encrypted_content)] {
            changes.extend(whole.as_ref().map(|text| (name, quoted(text))));
        }
        if !self.input.trim().is_empty() {
            changes.push(("input", arguments::replayable(self.input.trim()).into_owned()));
        }
        changes
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// The fields of an object in their order, values as text.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((json::Str(name), value)) = map.next_entry::<json::Str<'de>, &'de RawValue>()? {
                    fields.push((name.unwrap_or_default(), value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
