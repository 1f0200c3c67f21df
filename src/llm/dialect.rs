//! What a wire format is to the rest of `llm`: bytes out, bytes in, nothing else.

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::types::{Api, ModelName, Origin, ProviderName, Reply};

use super::{
    Conversation, ModelError, ModelErrorKind, ModelRequest, ReplySink, SseEvent,
    names::NameMap,
    profile::{ApiProfile, Profile},
};

/// A wire format. Implementations do no I/O and keep no state that changes what they answer.
pub trait Dialect: Send + Sync + fmt::Debug {
    /// The body of a request. Equal inputs give equal bytes; only what was added to the conversation since the last
    /// call is serialised.
    ///
    /// # Errors
    /// [`WireError`] when the request cannot be expressed for the target; nothing must be sent then.
    fn build(
        &self,
        request: &ModelRequest,
        target: &Target,
        conversation: &mut Conversation,
    ) -> Result<Wire, WireError>;

    /// Reads a whole reply (HTTP status 200).
    ///
    /// # Errors
    /// [`ModelError`] when it is no reply of this format, or reports a failure inside a 200.
    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError>;

    /// A fold over the events of a streamed reply.
    fn fold(&self, reading: Reading) -> Box<dyn Fold>;
}

/// Puts a streamed reply together. The same reply comes out as from the unary form, however the bytes were cut.
pub trait Fold: Send + fmt::Debug {
    /// Takes the next event; what it brings for people goes to `sink`.
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink);

    /// Whether the reply is complete, so that nothing more need be read.
    fn done(&self) -> bool;

    /// Whether anything of the reply has come: then it cannot be asked for again unnoticed.
    fn started(&self) -> bool;

    /// The reply. When the stream broke off before its end, it holds what is known, with [`crate::types::Stop::Failed`].
    ///
    /// # Errors
    /// [`ModelError`] when the stream reported a failure, or brought nothing at all.
    fn finish(self: Box<Self>) -> Result<Reply, ModelError>;
}

/// A request as bytes, with what is needed to read its reply.
#[derive(Debug, Clone)]
pub struct Wire {
    /// The JSON body.
    pub body: Bytes,
    /// Headers beside the usual ones (a beta header).
    pub headers: BTreeMap<String, String>,
    /// How to read the reply.
    pub reading: Reading,
}

/// What reading a reply needs to know of its request.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Who was asked.
    pub origin: Arc<Origin>,
    /// The tool names as they were sent.
    pub names: Arc<NameMap>,
    /// Whether calls printed as tagged text are to be read as calls.
    pub tagged_calls: bool,
    /// What had to be left out of the request; part of the reply's notices.
    pub notices: Vec<String>,
}

impl Reading {
    /// Reading without a request of ours: recordings, tests.
    pub fn of(origin: Origin) -> Self {
        Self {
            origin: Arc::new(origin),
            names: Arc::new(NameMap::new([], ApiProfile::NAMES)),
            tagged_calls: false,
            notices: Vec::new(),
        }
    }

    /// The capability's name behind a name on the wire; the name itself when it was not offered.
    pub(super) fn original(&self, name: &str) -> String {
        self.names.original(name).map_or(name, |tool| tool.as_str()).to_owned()
    }
}

/// Whom a request is for: one model of one provider through one wire format.
#[derive(Debug, Clone)]
pub struct Target {
    /// Who will answer.
    pub origin: Arc<Origin>,
    /// How the provider speaks the format.
    pub api: ApiProfile,
    /// Top-level fields of the profile for this model, by name.
    pub(super) fields: Map<String, Value>,
}

impl Target {
    /// The target for `model` through `api`; `None` when the provider does not offer that.
    pub fn new(profile: &Profile, api: Api, model: ModelName) -> Option<Self> {
        let settings = profile.apis.get(&api)?.clone();
        let fields = settings.body_for(model.as_str());
        Some(Self { origin: Arc::new(profile.origin(api, model)), api: settings, fields })
    }

    /// Whether a raw provider tool can be sent here, and sent beside function tools. A type that the profile does not
    /// know is let through where raw tools are: the provider knows more than a dated file.
    pub(super) fn takes_hosted(&self, tool: &Value, beside_functions: bool) -> Result<(), String> {
        let Origin { provider, api, model, .. } = &*self.origin;
        if !self.api.builtin_tools {
            return Err(format!("`{provider}` takes no hosted tools through `{api}`"));
        }
        self.api.spelling_of(tool).map_or(Ok(()), |spelling| spelling.fits(model.as_str(), beside_functions))
    }

    /// Whether a reply came from here, so that its raw items may go back as they are.
    pub(super) fn issued(&self, origin: &Origin) -> bool {
        let own = &self.origin;
        origin.provider == own.provider && origin.api == own.api && origin.family == own.family
    }
}

/// A request that cannot be expressed for its target. Found before anything is sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// Two tools have one name.
    #[error("duplicate_tool: `{name}` is the name of two tools (the second: {place}); rename or remove one")]
    DuplicateTool {
        /// The name.
        name: String,
        /// Where the second one stands.
        place: String,
    },
    /// A raw provider tool for a target that takes none.
    #[error(
        "unsupported_tool: `builtin_tools[{index}]` of type `{kind}` cannot be sent to `{provider}` through `{api}`; \
         choose another candidate for the intent or allow it to be dropped"
    )]
    UnsupportedTool {
        /// Its place in the list.
        index: usize,
        /// Its type, as far as it has one.
        kind: String,
        /// The provider.
        provider: ProviderName,
        /// The wire format.
        api: Api,
    },
    /// A hosted tool, or a parameter of one, that the target cannot express.
    #[error("unsupported_tool: the hosted tool `{kind}` cannot be sent to `{provider}` through `{api}`: {why}")]
    UnsupportedHosted {
        /// Which tool.
        kind: String,
        /// What is the matter.
        why: String,
        /// The provider.
        provider: ProviderName,
        /// The wire format.
        api: Api,
    },
    /// A choice of tools that the target has no word for.
    #[error("unsupported_tool_choice: `{provider}` cannot be told to use {choice} through `{api}`")]
    UnsupportedChoice {
        /// In words.
        choice: String,
        /// The provider.
        provider: ProviderName,
        /// The wire format.
        api: Api,
    },
    /// The tool that must be called is not among the tools.
    #[error("the chosen tool `{name}` is not among the tools of the request")]
    UnknownChoice {
        /// Its name.
        name: String,
    },
    /// An extra field that the request sets itself.
    #[error("`extra.{name}` would replace a field of the request itself{hint}")]
    ReservedField {
        /// Its name.
        name: String,
        /// What to do instead.
        hint: &'static str,
    },
}

impl From<WireError> for ModelError {
    fn from(error: WireError) -> Self {
        Self::new(ModelErrorKind::Unsupported, error.to_string())
    }
}
