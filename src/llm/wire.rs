//! The wire as people look at it: the request that would be sent, and what a body says, as JSON.
//!
//! This is what `agcore wire build` and `agcore wire parse` print. It uses the dialects as a turn does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    net::HeaderMap,
    types::{
        Api, Citation, CitationSource, DurationMs, Entry, HostedOutput, ModelName, Origin, Part, Region, Reply, Stop,
        Usage, UserPart,
    },
};

use super::{
    Auth, Conversation, ModelError, ModelErrorKind, ModelRequest, Profile, SseParser, Target,
    dialect::{Dialect, Reading},
    provider::{self, errors},
};

/// A request as it would go out. Secrets are references, never values.
#[derive(Debug, Clone, Serialize)]
pub struct BuiltRequest {
    /// Always `POST`.
    pub method: &'static str,
    /// The address.
    pub url: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body, byte for byte.
    pub body: Box<RawValue>,
    /// What was dropped, withheld or skipped, and why.
    pub notices: Vec<String>,
}

/// Why a request cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The neutral form cannot be read.
    #[error("the request cannot be read: {0}")]
    Form(String),
    /// The provider does not offer this.
    #[error("{0}")]
    Target(String),
    /// It cannot be expressed.
    #[error(transparent)]
    Wire(#[from] super::WireError),
}

/// Builds the request that `profile` would be sent for a neutral one: the fields of [`ModelRequest`] and
/// `conversation`, a list of entries (`{"user": "text"}`, `{"reply": …}`, `{"results": […]}`, `{"notice": "text"}`).
///
/// # Errors
/// [`BuildError`] with the place.
pub fn build(profile: &Profile, api: Option<Api>, form: &str) -> Result<BuiltRequest, BuildError> {
    let (request, mut conversation) = read_form(form)?;
    let api = api.unwrap_or(profile.default_api);
    let name = &profile.name;
    let model = request.model.clone().or_else(|| profile.default_model.clone());
    let model =
        model.ok_or_else(|| BuildError::Target(format!("`{name}` has no default model; name one in `model`")))?;
    let offers = || {
        let apis: Vec<&str> = profile.apis.keys().map(|api| api.as_str()).collect();
        BuildError::Target(format!("`{name}` cannot be reached through `{api}`; it offers {}", apis.join(", ")))
    };
    let target = Target::new(profile, api, model).ok_or_else(offers)?;
    let dialect = provider::dialect(api).ok_or_else(offers)?;
    let wire = dialect.build(&request, &target, &mut conversation)?;
    let base = profile.base_url(api, Region::Global).unwrap_or("http://BASE_URL");
    let path = target.api.path_for(target.origin.model.as_str(), request.stream);
    let body = String::from_utf8_lossy(&wire.body).into_owned();
    let body = RawValue::from_string(body).map_err(|error| BuildError::Form(error.to_string()))?;
    Ok(BuiltRequest {
        method: "POST",
        url: format!("{}{path}", base.trim_end_matches('/')),
        headers: headers(profile, &target, request.stream, wire.headers),
        body,
        notices: wire.reading.notices,
    })
}

fn headers(
    profile: &Profile,
    target: &Target,
    stream: bool,
    more: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = target.api.headers.clone();
    if stream {
        all.extend(target.api.stream_headers.clone());
    }
    for (name, value) in more {
        let own = all.entry(name).or_default();
        *own = if own.is_empty() { value } else { format!("{own},{value}") };
    }
    all.insert("content-type".to_owned(), "application/json".to_owned());
    all.insert("accept".to_owned(), if stream { "text/event-stream" } else { "application/json" }.to_owned());
    if let Some(key) = &profile.key_env {
        match &target.api.auth {
            Auth::Bearer => all.insert("authorization".to_owned(), format!("Bearer env:{key}")),
            Auth::Header(name) => all.insert(name.clone(), format!("env:{key}")),
        };
    }
    all
}

/// Reads the neutral form of a request and its conversation.
fn read_form(form: &str) -> Result<(ModelRequest, Conversation), BuildError> {
    let wrong = |error: serde_json::Error| BuildError::Form(error.to_string());
    let mut map: Map<String, Value> = serde_json::from_str(form).map_err(wrong)?;
    let entries = map.remove("conversation").unwrap_or(Value::Array(Vec::new()));
    let Value::Array(entries) = entries else {
        return Err(BuildError::Form("`conversation` must be a list of entries".to_owned()));
    };
    let known = serde_json::to_value(ModelRequest::default()).map_err(wrong)?;
    if let Some(unknown) = map.keys().find(|key| known.get(key.as_str()).is_none()) {
        let known: Vec<&str> =
            known.as_object().map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
        let all = known.join(", ");
        return Err(BuildError::Form(format!("`{unknown}` is no field of a request; there are conversation, {all}")));
    }
    let request = serde_json::from_value(Value::Object(map)).map_err(wrong)?;
    let read = |(at, entry)| read_entry(entry).map_err(|why| BuildError::Form(format!("`conversation[{at}]`: {why}")));
    let entries: Vec<Entry> = entries.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok((request, Conversation::from(entries)))
}

fn read_entry(entry: Value) -> Result<Entry, String> {
    if let Some(text) = entry.get("user").and_then(Value::as_str) {
        return Ok(Entry::User(vec![UserPart::Text(text.to_owned())]));
    }
    // From text, because raw items are kept as the text they are.
    serde_json::from_str(&entry.to_string()).map_err(|error| error.to_string())
}

/// What came back, to be read.
#[derive(Debug, Clone, Default)]
pub struct Answer<'a> {
    /// The body: JSON, or the text of an event stream.
    pub body: &'a [u8],
    /// Whether it is an event stream; `None` finds out.
    pub stream: Option<bool>,
    /// The HTTP status; 200 when it is not known.
    pub status: Option<u16>,
    /// The headers that say when to come back.
    pub headers: Option<&'a HeaderMap>,
}

/// What a body says, in the neutral form.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Parsed {
    /// All visible text.
    pub text: String,
    /// Function calls, in order.
    pub calls: Vec<ParsedCall>,
    /// What hosted tools did, in order.
    pub hosted: Vec<HostedOutput>,
    /// The sources of the text; offsets are code points into `text`.
    pub citations: Vec<ParsedCitation>,
    /// Whether the model thought.
    pub reasoning: bool,
    /// What it consumed; absent when the provider did not say.
    pub usage: Option<ParsedUsage>,
    /// Why it stopped: `end`, `tool_calls`, `length`, `filtered`, `refused`, `paused`, `failed: …`, `unknown: …`.
    pub stop: Option<String>,
    /// Items that agcore does not know, as they came.
    pub unknown: Vec<Box<RawValue>>,
    /// What was noticed while reading.
    pub notices: Vec<String>,
    /// The failure, when it is one.
    pub error: Option<ParsedError>,
    /// The whole neutral reply, as an entry of a conversation takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
}

/// A function call as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedCall {
    /// The provider's id, or the one made for it.
    pub call_id: String,
    /// The tool's name on the wire.
    pub name: String,
    /// The arguments as received.
    pub arguments: String,
    /// False when the output ended inside the call.
    pub complete: bool,
}

/// A citation as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedCitation {
    /// `url`, `file` or `call`.
    pub kind: &'static str,
    /// The address.
    pub url: Option<String>,
    /// Path, name or id of a file.
    pub file: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// Where the claim starts in the text.
    pub start: Option<usize>,
    /// Where it ends.
    pub end: Option<usize>,
}

/// Tokens as providers count them: input with what was cached, output with reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ParsedUsage {
    /// All prompt tokens.
    pub input: u64,
    /// Of these, read from a cache.
    pub cached: u64,
    /// Of these, written to a cache.
    pub cache_write: u64,
    /// All output tokens.
    pub output: u64,
    /// Of these, reasoning.
    pub reasoning: u64,
    /// Of the prompt tokens, those that hosted tools added.
    pub tool_use: u64,
    /// Hosted searches.
    pub searches: u64,
}

/// A failure as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedError {
    /// What kind.
    pub kind: ModelErrorKind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the provider asks to wait.
    pub retry_after_ms: Option<DurationMs>,
    /// What it says.
    pub message: String,
}

/// Reads a body of `api` as a turn would.
///
/// # Errors
/// A message when agcore does not speak the wire format. A failure of the provider is no error here: it is in
/// [`Parsed::error`].
pub fn parse(origin: Origin, answer: &Answer<'_>) -> Result<Parsed, String> {
    let api = origin.api;
    let dialect = provider::dialect(api).ok_or_else(|| format!("agcore does not speak `{api}`"))?;
    let status = answer.status.unwrap_or(200);
    if status >= 400 {
        let none = HeaderMap::new();
        return Ok(failed(&errors::classify(status, answer.headers.unwrap_or(&none), answer.body)));
    }
    let stream = answer.stream.unwrap_or_else(|| looks_streamed(answer.body));
    let reading = Reading::of(origin);
    let reply =
        if stream { fold(dialect.as_ref(), reading, answer.body) } else { dialect.parse(answer.body, &reading) };
    Ok(reply.map_or_else(|error| failed(&error), |reply| parsed(&reply)))
}

/// The origin for a body that comes from nowhere in particular.
pub fn origin(provider: &str, api: Api, model: &str) -> Result<Origin, String> {
    let wrong = |error: crate::types::IdError| error.to_string();
    let model = ModelName::new(model).map_err(wrong)?;
    let family = match Profile::by_name(provider) {
        Some(profile) => profile.origin(api, model.clone()).family,
        None => model.as_str().to_owned(),
    };
    Ok(Origin { provider: provider.parse().map_err(wrong)?, api, model, family })
}

fn looks_streamed(body: &[u8]) -> bool {
    let start = body.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let body = body.get(start..).unwrap_or_default();
    ["data:", "event:", "id:", ":"].iter().any(|field| body.starts_with(field.as_bytes()))
}

fn fold(dialect: &dyn Dialect, reading: Reading, body: &[u8]) -> Result<Reply, ModelError> {
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading));
    parser
        .push(body, |event| fold.push(event, &()))
        .map_err(|error| ModelError::new(ModelErrorKind::BadResponse, error.to_string()))?;
    parser.end(|event| fold.push(event, &()));
    fold.finish()
}

fn failed(error: &ModelError) -> Parsed {
    let error = ParsedError {
        kind: error.kind,
        retryable: error.retryable,
        retry_after_ms: error.retry_after,
        message: error.message.clone(),
    };
    Parsed { error: Some(error), ..Parsed::default() }
}

fn parsed(reply: &Reply) -> Parsed {
    let (text, citations) = visible(reply);
    let unknown = reply.items.iter().filter(|item| item.parts.iter().any(|part| matches!(part, Part::Unknown { .. })));
    let unknown = unknown.filter_map(|item| item.raw.as_deref().map(ToOwned::to_owned)).collect();
    let error = match &reply.stop {
        Stop::Failed(message) => Some(ParsedError {
            kind: ModelErrorKind::Network,
            retryable: false,
            retry_after_ms: None,
            message: message.clone(),
        }),
        Stop::End
        | Stop::ToolCalls
        | Stop::Length
        | Stop::Filtered
        | Stop::Refused
        | Stop::Paused
        | Stop::Unknown(_) => None,
    };
    Parsed {
        text,
        citations: citations.into_iter().map(citation).collect(),
        calls: reply
            .calls()
            .map(|call| ParsedCall {
                call_id: call.provider_id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                complete: call.complete,
            })
            .collect(),
        hosted: reply.hosted().cloned().collect(),
        reasoning: reply.parts().any(|part| matches!(part, Part::Reasoning { .. })),
        usage: reply.usage.map(usage),
        stop: Some(stop(&reply.stop)),
        unknown,
        notices: reply.notices.clone(),
        error,
        reply: Some(reply.clone()),
    }
}

/// The visible text with refusals where they stand, and the citations moved to count into it.
fn visible(reply: &Reply) -> (String, Vec<Citation>) {
    let refused = reply.parts().any(|part| matches!(part, Part::Refusal { .. }));
    if !refused {
        return reply.text_and_citations();
    }
    let (mut text, citations) = reply.text_and_citations();
    for part in reply.parts() {
        if let Part::Refusal { text: words } = part {
            text.push_str(words);
        }
    }
    (text, citations)
}

fn citation(citation: Citation) -> ParsedCitation {
    let (kind, url, file) = match citation.source {
        CitationSource::Url(url) => ("url", Some(url), None),
        CitationSource::File { path, .. } => ("file", None, Some(path)),
        CitationSource::Call(id) => ("call", None, Some(id)),
    };
    ParsedCitation { kind, url, file, title: citation.title, start: citation.start, end: citation.end }
}

fn usage(usage: Usage) -> ParsedUsage {
    ParsedUsage {
        input: usage.prompt(),
        cached: usage.cached,
        cache_write: usage.cache_write + usage.cache_write_long,
        output: usage.completion(),
        reasoning: usage.reasoning,
        tool_use: usage.tool_use,
        searches: usage.searches,
    }
}

fn stop(stop: &Stop) -> String {
    match stop {
        Stop::End => "end".to_owned(),
        Stop::ToolCalls => "tool_calls".to_owned(),
        Stop::Length => "length".to_owned(),
        Stop::Filtered => "filtered".to_owned(),
        Stop::Refused => "refused".to_owned(),
        Stop::Paused => "paused".to_owned(),
        Stop::Failed(why) => format!("failed: {why}"),
        Stop::Unknown(word) => format!("unknown: {word}"),
    }
}

/// One line of `--jsonl` input of `wire parse`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AnswerLine {
    /// Goes to the output as it is.
    pub id: Value,
    /// The body: a text, or JSON as it is.
    pub body: Option<Box<RawValue>>,
    /// The text of an event stream.
    pub sse: Option<String>,
    /// Whether the body is an event stream.
    pub stream: Option<bool>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Headers of the answer.
    pub headers: BTreeMap<String, String>,
    /// Another provider than the command line names.
    pub provider: Option<String>,
    /// Another wire format than the command line names.
    pub api: Option<Api>,
}

impl AnswerLine {
    /// The bytes, and whether they are an event stream.
    pub fn bytes(&self) -> (Vec<u8>, Option<bool>) {
        if let Some(sse) = &self.sse {
            return (sse.clone().into_bytes(), Some(true));
        }
        let Some(body) = &self.body else { return (Vec::new(), self.stream) };
        match serde_json::from_str::<String>(body.get()) {
            Ok(text) => (text.into_bytes(), self.stream),
            Err(_) => (body.get().as_bytes().to_vec(), self.stream.or(Some(false))),
        }
    }
}
