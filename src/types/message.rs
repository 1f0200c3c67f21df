//! The neutral form of a conversation: what was said, called, returned and cited.
//!
//! A reply keeps each item as the provider sent it (`Item::raw`) beside the neutral [`Part`]s that the rest
//! of agcore reads. The raw text is replayed byte for byte to the family that issued it; for any other
//! provider the history is rendered from the parts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Api, ModelName, ProviderName, Usage};

/// Who issued a reply: raw items go back only to the same provider, surface and model family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The provider profile.
    pub provider: ProviderName,
    /// The wire format.
    pub api: Api,
    /// The model that answered, as the provider named it.
    pub model: ModelName,
    /// The model family whose opaque parts (reasoning, signatures) this reply carries, e.g. `gpt`, `claude`.
    pub family: String,
}

/// One model reply, whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reply {
    /// Who issued it.
    pub origin: Origin,
    /// The provider's id of the reply.
    pub id: Option<String>,
    /// The items, in the provider's order.
    pub items: Vec<Item>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What it consumed; `None` when the provider did not say.
    pub usage: Option<Usage>,
    /// What was changed or noticed while reading it (unknown events, repaired arguments).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What the provider wants back beside the items with the next request, as it came (Anthropic's container).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry: Option<Arc<RawValue>>,
}

impl Reply {
    /// All parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.items.iter().flat_map(|item| &item.parts)
    }

    /// The function calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    /// What provider-hosted tools did, in order.
    pub fn hosted(&self) -> impl Iterator<Item = &HostedOutput> {
        self.parts().filter_map(|part| if let Part::Hosted(output) = part { Some(output) } else { None })
    }

    /// All visible text, and the citations with their offsets moved to count into it (code points).
    pub fn text_and_citations(&self) -> (String, Vec<Citation>) {
        let (mut text, mut length, mut all) = (String::new(), 0usize, Vec::new());
        for part in self.parts() {
            if let Part::Text { text: piece, citations } = part {
                all.extend(citations.iter().cloned().map(|mut citation| {
                    citation.start = citation.start.map(|at| at + length);
                    citation.end = citation.end.map(|at| at + length);
                    citation
                }));
                length += piece.chars().count();
                text.push_str(piece);
            }
        }
        (text, all)
    }
}

/// One item of a reply: the raw JSON text and its neutral view.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Item {
    /// As the provider sent it; `None` for models without a wire.
    pub raw: Option<Arc<RawValue>>,
    /// What it says.
    pub parts: Vec<Part>,
}

impl Item {
    /// An item of one part that has no raw form.
    pub fn local(part: Part) -> Self {
        Self { raw: None, parts: vec![part] }
    }
}

/// The neutral view of a piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Visible text. Citation offsets count code points of this text.
    Text {
        /// The text.
        text: String,
        /// Its sources.
        citations: Vec<Citation>,
    },
    /// The model asks for a function tool.
    Call(FunctionCall),
    /// A provider-hosted tool did something.
    Hosted(HostedOutput),
    /// The model thought. The opaque form is in the item's raw text; only a shown summary is here.
    Reasoning {
        /// The summary the provider shows, if any.
        summary: Option<String>,
    },
    /// The model declined to answer.
    Refusal {
        /// Its words.
        text: String,
    },
    /// An item agcore does not know: kept and replayed, never executed.
    Unknown {
        /// Its `type`, as far as it has one.
        kind: String,
    },
}

/// A function call inside a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The provider's call id (some providers give none: then one made by the dialect).
    pub provider_id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as received. Blank means `{}`.
    pub arguments: String,
    /// False when the output ended inside the call: it must not run.
    pub complete: bool,
}

/// What kind of hosted tool it is. Written as one word (`search`, `file_search`, `x_search`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostedKind {
    /// Web search.
    Search,
    /// Fetching a page.
    Fetch,
    /// Running code.
    Code,
    /// Searching files or collections.
    FileSearch,
    /// Making or finding an image.
    Image,
    /// Maps.
    Maps,
    /// Computer use.
    Computer,
    /// Listing tools of, or calling, a remote MCP server.
    Mcp,
    /// The provider asks whether an MCP call may run.
    McpApproval,
    /// Searching for tools.
    ToolSearch,
    /// Anything else, by its own word.
    Other(String),
}

impl HostedKind {
    const WORDS: [(&'static str, Self); 10] = [
        ("search", Self::Search),
        ("fetch", Self::Fetch),
        ("code", Self::Code),
        ("file_search", Self::FileSearch),
        ("image", Self::Image),
        ("maps", Self::Maps),
        ("computer", Self::Computer),
        ("mcp", Self::Mcp),
        ("mcp_approval", Self::McpApproval),
        ("tool_search", Self::ToolSearch),
    ];

    /// The word.
    pub fn as_str(&self) -> &str {
        if let Self::Other(word) = self {
            return word;
        }
        Self::WORDS.iter().find(|(_, kind)| kind == self).map_or("", |(word, _)| word)
    }
}

impl From<&str> for HostedKind {
    fn from(word: &str) -> Self {
        let known = Self::WORDS.into_iter().find(|(known, _)| *known == word);
        known.map_or_else(|| Self::Other(word.to_owned()), |(_, kind)| kind)
    }
}

impl std::fmt::Display for HostedKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for HostedKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for HostedKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer).map(|word| Self::from(&*word))
    }
}

/// How a hosted tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostedStatus {
    /// It finished.
    Completed,
    /// It failed.
    Failed,
    /// It had not finished when the reply ended.
    Incomplete,
}

/// What a provider-hosted tool did: observed and projected, never executed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedOutput {
    /// What kind of tool.
    pub kind: HostedKind,
    /// The provider's id of the call, if any.
    pub id: Option<String>,
    /// How it ended.
    pub status: HostedStatus,
    /// Queries, code or target: what it was asked.
    pub input: Vec<String>,
    /// Text of what it returned, where the provider shows it.
    pub output: Option<String>,
    /// The sources it named.
    pub sources: Vec<Citation>,
}

/// Where a citation points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CitationSource {
    /// A web address.
    Url(String),
    /// A file, by path or provider file id, with the lines it was taken from (1-based, inclusive) where known.
    File {
        /// Path or id.
        path: String,
        /// First and last line.
        lines: Option<(u32, u32)>,
    },
    /// A tool result of this turn.
    Call(String),
}

/// One citation, in one form for all providers and tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The source.
    pub source: CitationSource,
    /// Its title.
    pub title: Option<String>,
    /// The words of the source that support the claim.
    pub quote: Option<String>,
    /// Where the supported claim starts in the text it belongs to, in code points.
    pub start: Option<usize>,
    /// Where it ends (exclusive).
    pub end: Option<usize>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had said what it wanted.
    End,
    /// It waits for tool results.
    ToolCalls,
    /// The output budget ran out.
    Length,
    /// A filter stopped it.
    Filtered,
    /// It declined.
    Refused,
    /// A server-side tool loop paused: the reply has to be sent back to go on.
    Paused,
    /// The stream broke off or the provider reported a failure inside a reply.
    Failed(String),
    /// A reason agcore does not know, as written. Never treated as finished.
    Unknown(String),
}

/// A result as it goes back to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The provider's id of the call it answers.
    pub provider_id: String,
    /// The name the model used for the tool.
    pub name: String,
    /// The projected content.
    pub content: String,
    /// Whether the content is an error.
    pub is_error: bool,
    /// Images that belong to it, by address (`https:` or `data:`; `artifact:` within a turn). Where a provider takes none
    /// in a result, the model is told how many are not shown; an image never becomes text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// A piece of a user's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserPart {
    /// Text.
    Text(String),
    /// An image by address (`https:` or `data:`).
    Image {
        /// The address.
        url: String,
    },
}

/// One entry of a conversation, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The user said something.
    User(Vec<UserPart>),
    /// The model replied.
    Reply(Arc<Reply>),
    /// All results of one reply's calls, in call order.
    Results(Vec<ToolResult>),
    /// agcore tells the model something (a limit is reached, a call was edited).
    Notice(String),
}
