//! One content block, read into parts.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::super::{
        dialect::Reading,
        json::{Raw, Str},
    },
    cite,
    hosted::{self, Outcome},
};
use crate::types::{FunctionCall, Part};

/// The fields of all block types together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) name: Str<'a>,
    #[serde(borrow)]
    pub(super) text: Str<'a>,
    #[serde(borrow)]
    pub(super) citations: Raw<'a>,
    #[serde(borrow)]
    pub(super) thinking: Str<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    server_name: Str<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub(super) toolset_name: Str<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    from: Raw<'a>,
    #[serde(borrow)]
    to: Raw<'a>,
}

/// What the rest of a reply has to know about a block beside its parts.
#[derive(Debug, Default)]
pub(super) struct ReadBlock {
    pub(super) parts: Vec<Part>,
    /// What became of a server tool's use.
    pub(super) outcome: Option<Outcome>,
    /// What a person should know of it.
    pub(super) notice: Option<String>,
}

/// Reads one block. Whatever it is, there is a result; what is not understood becomes [`Part::Unknown`].
pub(super) fn read(raw: &RawValue, reading: &Reading) -> ReadBlock {
    let Ok(block) = serde_json::from_str::<WireBlock<'_>>(raw.get()) else {
        return unknown("no object");
    };
    let told = |notice: &str| ReadBlock { notice: Some(notice.to_owned()), ..ReadBlock::default() };
    match block.kind.text() {
        "text" => {
            let text = block.text.text().to_owned();
            let citations = cite::citations(block.citations, &text);
            part(Part::Text { text, citations })
        }
        "tool_use" => part(Part::Call(call(&block, reading))),
        "thinking" => part(Part::Reasoning { summary: block.thinking.some().map(str::to_owned) }),
        "redacted_thinking" => part(Part::Reasoning { summary: None }),
        "server_tool_use" => part(Part::Hosted(hosted::started(block.name.text(), block.id.text(), block.input))),
        "mcp_tool_use" => {
            let (server, name, id) = (block.server_name.text(), block.name.text(), block.id.text());
            part(Part::Hosted(hosted::mcp_started(server, name, id, block.input)))
        }
        kind if kind.ends_with("_tool_result") => {
            let failed = block.is_error.get() == Some("true");
            let outcome = hosted::outcome(kind, block.tool_use_id.text(), failed, block.content);
            ReadBlock { outcome: Some(outcome), ..ReadBlock::default() }
        }
        // Beta blocks that say something about the conversation, not to the user.
        "compaction" => told("the provider replaced the conversation so far with a summary"),
        "fallback" => {
            let model = |raw: Raw<'_>| -> String {
                let model: Option<Model<'_>> = raw.read();
                model.and_then(|it| it.model.some().map(str::to_owned)).unwrap_or_else(|| "another model".to_owned())
            };
            told(&format!("the provider went on with `{}` instead of `{}`", model(block.to), model(block.from)))
        }
        "mcp_tool_listing" | "container_upload" => ReadBlock::default(),
        kind => unknown(kind),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model<'a> {
    #[serde(borrow)]
    model: Str<'a>,
}

fn part(part: Part) -> ReadBlock {
    ReadBlock { parts: vec![part], ..ReadBlock::default() }
}

fn unknown(kind: &str) -> ReadBlock {
    ReadBlock {
        parts: vec![Part::Unknown { kind: kind.to_owned() }],
        notice: Some(format!("a block of the unknown type `{kind}` was kept")),
        ..ReadBlock::default()
    }
}

fn call(block: &WireBlock<'_>, reading: &Reading) -> FunctionCall {
    FunctionCall {
        provider_id: block.id.text().to_owned(),
        name: reading.original(block.name.text()),
        arguments: normal_arguments(block.input.text_or_json().unwrap_or_default()),
        complete: true,
    }
}

/// DEV-B01: none, blank and `null` all mean an empty object.
pub(super) fn normal_arguments(text: String) -> String {
    if matches!(text.trim(), "" | "null") { "{}".to_owned() } else { text }
}
