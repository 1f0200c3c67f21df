//! The part of a body before the conversation: parameters, tools, the choice among them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::types::{Api, HostedKind, ToolName};

use super::{
    AllowedTools, HostedTool, ModelRequest, OnUnsupported, ToolChoice,
    dialect::{Target, WireError},
    hosted, json,
    tools::ToolBlock,
};

/// The choice of tools, resolved for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// One of the plain words.
    Word(&'static str),
    /// A function, by the name on the wire.
    Function(String),
    /// A hosted tool, by its type.
    Hosted(String),
    /// Some of the tools: functions by the names on the wire, hosted tools by their types.
    Among {
        /// The functions.
        functions: Vec<String>,
        /// The hosted tools.
        hosted: Vec<String>,
        /// Whether one must be used.
        required: bool,
    },
}

/// The tools of a request as they go out.
#[derive(Debug)]
pub(super) struct Offer {
    /// The block; `None` when no tool is left, so that no parameter about tools may be sent.
    pub(super) tools: Option<Arc<ToolBlock>>,
    /// The choice; `None` leaves it to the model.
    pub(super) choice: Option<Choice>,
    /// Body fields that go with the hosted tools.
    pub(super) body: Map<String, Value>,
    /// What could not be expressed and was dropped, as the request allows.
    pub(super) notices: Vec<String>,
}

/// Resolves the choice among the tools of `block`.
pub(super) fn offer(request: &ModelRequest, target: &Target, block: Arc<ToolBlock>) -> Result<Offer, WireError> {
    let mut notices = block.notices.clone();
    if block.is_empty() {
        let body = if request.tool_choice == ToolChoice::None { Map::new() } else { block.body.clone() };
        return Ok(Offer { tools: None, choice: None, body, notices });
    }
    let has = |word| target.api.tool_choice.contains(&word);
    let choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None if has(super::profile::ChoiceWord::None) => Some(Choice::Word("none")),
        // No word for it, but the same effect: nothing to call.
        ToolChoice::None => return Ok(Offer { tools: None, choice: None, body: Map::new(), notices }),
        ToolChoice::Required | ToolChoice::Named(_) | ToolChoice::Allowed(_)
            if !target.api.supports(&request.tool_choice) =>
        {
            let error = unsupported_choice(request, target);
            match request.on_unsupported {
                OnUnsupported::Error | OnUnsupported::Reroute => return Err(error),
                OnUnsupported::Drop => notices.push(format!("{error}; the choice was left to the model")),
            }
            None
        }
        ToolChoice::Required => Some(Choice::Word("required")),
        ToolChoice::Named(name) => Some(block.named(name)?),
        ToolChoice::Allowed(allowed) => Some(among(allowed, &block)?),
    };
    let body = block.body.clone();
    Ok(Offer { tools: Some(block), choice, body, notices })
}

/// The tools of the block that may be used.
fn among(allowed: &AllowedTools, block: &ToolBlock) -> Result<Choice, WireError> {
    let (mut functions, mut hosted) = (Vec::new(), Vec::new());
    for name in &allowed.tools {
        match block.named(name)? {
            Choice::Function(name) => functions.push(name),
            Choice::Hosted(kind) => hosted.push(kind),
            Choice::Word(_) | Choice::Among { .. } => {}
        }
    }
    Ok(Choice::Among { functions, hosted, required: allowed.required })
}

/// The request with no other tools than those that may be used, for a target that cannot be told so; `None` when the
/// request can go out as it is.
///
/// # Errors
/// [`WireError::UnknownChoice`] when one of them is not among the tools.
pub(super) fn narrowed(request: &ModelRequest, target: &Target) -> Result<Option<ModelRequest>, WireError> {
    let ToolChoice::Allowed(allowed) = &request.tool_choice else { return Ok(None) };
    if allowed.tools.is_empty() {
        return Ok(Some(ModelRequest { tool_choice: ToolChoice::None, ..request.clone() }));
    }
    if can_list(allowed, request, target) {
        return Ok(None);
    }
    let named = |word: Option<&str>| word.is_some_and(|word| allowed.tools.iter().any(|name| name.as_str() == word));
    let spelt = |tool: &HostedTool| {
        let raw = target.api.hosted.get(&tool.kind).and_then(|spelling| spelling.tool.clone()).map(Value::Object);
        named(Some(tool.kind.as_str()))
            || raw.as_ref().is_some_and(|raw| named(hosted::raw_kind(raw)) || named(name_of(raw)))
    };
    let mut narrowed = request.clone();
    narrowed.tools_defs.retain(|def| allowed.tools.contains(&def.name));
    narrowed.hosted.retain(spelt);
    if let Some(Value::Array(raw)) = narrowed.extra.get_mut("builtin_tools") {
        raw.retain(|tool| named(hosted::raw_kind(tool)) || named(name_of(tool)));
    }
    let raw = narrowed.extra.get("builtin_tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let found = |name: &&ToolName| {
        narrowed.tools_defs.iter().any(|def| def.name == **name)
            || narrowed.hosted.iter().any(|tool| tool.kind.as_str() == name.as_str() || spelt(tool))
            || raw.iter().any(|tool| [hosted::raw_kind(tool), name_of(tool)].contains(&Some(name.as_str())))
    };
    if let Some(missing) = allowed.tools.iter().find(|name| !found(name)) {
        return Err(WireError::UnknownChoice { name: missing.to_string() });
    }
    narrowed.tool_choice = if allowed.required { ToolChoice::Required } else { ToolChoice::Auto };
    Ok(Some(narrowed))
}

/// Whether the target can be told which of the tools may be used. Gemini and Chat list functions only; deferred functions
/// and the search for them cannot be listed at all (2026-11).
fn can_list(allowed: &AllowedTools, request: &ModelRequest, target: &Target) -> bool {
    let hosted = !request.hosted.is_empty() || request.extra.contains_key("builtin_tools");
    let functions_only = target.origin.api != Api::Responses;
    let deferred = |name: &ToolName| {
        let deferred = |def: &Arc<super::ToolDef>| def.deferred && target.api.deferred && def.name == *name;
        name.as_str() == HostedKind::ToolSearch.as_str() || request.tools_defs.iter().any(deferred)
    };
    target.api.tool_choice.contains(&super::profile::ChoiceWord::Allowed)
        && !(functions_only && hosted)
        && !allowed.tools.iter().any(deferred)
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str)
}

pub(super) fn unsupported_choice(request: &ModelRequest, target: &Target) -> WireError {
    let choice = match &request.tool_choice {
        ToolChoice::Named(name) => format!("the tool `{name}`"),
        ToolChoice::Allowed(_) => "one of some tools".to_owned(),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => "some tool".to_owned(),
    };
    WireError::UnsupportedChoice { choice, provider: target.origin.provider.clone(), api: target.origin.api }
}

/// Names the request sets itself; an extra of that name is refused.
const RESERVED: &[(&str, &str)] = &[
    ("model", ""),
    ("input", "; the conversation is what is sent"),
    ("inputs", "; the conversation is what is sent"),
    ("messages", "; the conversation is what is sent"),
    ("tools", "; provider tools go into `extra.builtin_tools`"),
    ("stream", ""),
];

/// Writes top-level fields, each once: what the request's extras say wins over its typed parameters, and these over
/// the profile.
#[derive(Debug)]
pub(super) struct Head<'a> {
    request: &'a ModelRequest,
    out: Vec<u8>,
    written: Vec<&'static str>,
}

impl<'a> Head<'a> {
    /// A body that begins with the model.
    pub(super) fn new(request: &'a ModelRequest, target: &Target, capacity: usize) -> Result<Self, WireError> {
        Self::naming("model", request, target, capacity)
    }

    /// A body that begins with the model under another name.
    pub(super) fn naming(
        field: &str,
        request: &'a ModelRequest,
        target: &Target,
        capacity: usize,
    ) -> Result<Self, WireError> {
        if let Some((name, hint)) = RESERVED.iter().find(|(name, _)| request.extra.contains_key(*name)) {
            return Err(WireError::ReservedField { name: (*name).to_owned(), hint });
        }
        let mut out = Vec::with_capacity(capacity + request.instructions.len() + 1024);
        json::put(&mut out, "{\"");
        json::put(&mut out, field);
        json::put(&mut out, "\":");
        json::string(&mut out, request.model.as_ref().unwrap_or(&target.origin.model).as_str());
        Ok(Self { request, out, written: Vec::new() })
    }

    fn has(&self, name: &str) -> bool {
        self.written.contains(&name)
    }

    /// An extra that the dialect puts elsewhere, or writes itself after all: it is no longer written as it is.
    pub(super) fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.written.push(name);
        self.request.extra.get(name)
    }

    /// Writes `,"name":` and lets `write` add the value, unless an extra of that name will.
    pub(super) fn field(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        if self.request.extra.contains_key(name) && !self.has(name) {
            return;
        }
        self.written.push(name);
        json::put(&mut self.out, ",\"");
        json::put(&mut self.out, name);
        json::put(&mut self.out, "\":");
        write(&mut self.out);
    }

    /// Writes a field when there is a value for it.
    pub(super) fn optional<T: serde::Serialize>(&mut self, name: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.field(name, |out| json::value(out, &value));
        }
    }

    /// Writes an object into which the profile, the hosted tools, the request and an extra of the same name put their
    /// members, later ones in place of earlier ones, and a list that is bytes already. Empty, it is left out.
    pub(super) fn merged(
        &mut self,
        name: &'static str,
        members: &Map<String, Value>,
        list: Option<(&str, &[u8])>,
        fields: [&Map<String, Value>; 2],
    ) {
        let own = members;
        let mut members = Map::new();
        for more in fields.into_iter().filter_map(|fields| fields.get(name)?.as_object()) {
            hosted::merge(&mut members, more);
        }
        members.extend(own.clone());
        match self.request.extra.get(name) {
            None => {}
            Some(Value::Object(more)) => members.extend(more.clone()),
            Some(_) => return,
        }
        self.written.push(name);
        let list = list.filter(|(name, _)| !members.contains_key(*name));
        if members.is_empty() && list.is_none() {
            return;
        }
        json::put(&mut self.out, ",\"");
        json::put(&mut self.out, name);
        json::put(&mut self.out, "\":");
        let start = self.out.len();
        json::value(&mut self.out, &members);
        if let Some((name, elements)) = list {
            self.out.pop();
            let first = self.out.len() == start + 1;
            json::put(&mut self.out, if first { "\"" } else { ",\"" });
            json::put(&mut self.out, name);
            json::put(&mut self.out, "\":[");
            self.out.extend_from_slice(elements);
            json::put(&mut self.out, "]}");
        }
    }

    /// The field for the output limit, which has a name of its own with each provider.
    pub(super) fn max_tokens(&mut self, target: &Target) {
        if let Some(limit) = self.request.max_output_tokens
            && !self.request.extra.contains_key(&target.api.max_tokens)
        {
            json::put(&mut self.out, ",\"");
            json::put(&mut self.out, &target.api.max_tokens);
            json::put(&mut self.out, "\":");
            json::value(&mut self.out, &limit);
        }
    }

    /// Writes the extras, the fields of the hosted tools and the profile's in the order of their names.
    pub(super) fn extras(&mut self, target: &Target, hosted: &Map<String, Value>) {
        let extra = &self.request.extra;
        let own = extra.iter().filter(|(name, _)| *name != "builtin_tools" && !self.has(name));
        let merged;
        let fields = if hosted.is_empty() {
            &target.fields
        } else {
            let mut both = target.fields.clone();
            hosted::merge(&mut both, hosted);
            merged = both;
            &merged
        };
        let more = fields.iter();
        let more = more.filter(|(name, _)| !extra.contains_key(*name) && !self.has(name));
        let mut all: Vec<(&String, &Value)> = own.chain(more).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in all {
            json::put(&mut self.out, ",");
            json::string(&mut self.out, name);
            json::put(&mut self.out, ":");
            json::value(&mut self.out, value);
        }
    }

    /// The bytes so far, to which the conversation is added.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
