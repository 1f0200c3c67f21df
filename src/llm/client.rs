//! A model behind HTTP: profile, dialect, key, and the decision when to try again.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    ApiProfile, Auth, Conversation, Model, ModelError, ModelErrorKind, ModelRequest, PriceTable, Profile, ReplyEvent,
    ReplySink, SseParser, ToolChoice, constrained,
    dialect::{Dialect, Fold, Reading, Target, Wire},
    provider::{self, errors},
    retry::{self, CallLimits},
};
use crate::{
    net::{
        HeaderMap, HeaderName, HeaderValue, HttpClient, HttpRequest, HttpResponse, Method, NetError, NetErrorKind,
        header,
    },
    types::{Api, HostedKind, MicroUsd, ModelName, Origin, Region, Reply, Stop, Usage},
};

/// The largest reply read in one piece.
const MAX_REPLY_BYTES: usize = 64 << 20;
/// The most that is read of an error body.
const MAX_ERROR_BYTES: usize = 256 << 10;
/// Output tokens reserved for a call that sets no limit of its own.
const UNBOUNDED_OUTPUT: u64 = 16_384;
/// Hosted calls reserved for a hosted tool that has no bound of its own.
const HOSTED_CALLS: u64 = 5;
/// Bytes of text per token at the least: Chinese takes about three, English about four.
const BYTES_PER_TOKEN: u64 = 3;

/// Where and how a model is reached.
#[derive(Debug, Clone)]
pub struct HttpModelConfig {
    /// The wire format; the profile's default when not given.
    pub api: Option<Api>,
    /// The model; the profile's default when not given.
    pub model: Option<ModelName>,
    /// Where it is served.
    pub region: Region,
    /// An address in place of the profile's, up to and including the version (`http://127.0.0.1:8080/v1`).
    pub base_url: Option<Url>,
    /// The key; local servers need none.
    pub key: Option<SecretString>,
    /// Prices in place of the profile's.
    pub prices: Option<PriceTable>,
    /// Attempts and deadlines.
    pub limits: CallLimits,
}

impl Default for HttpModelConfig {
    fn default() -> Self {
        let limits = CallLimits::default();
        Self { api: None, model: None, region: Region::Global, base_url: None, key: None, prices: None, limits }
    }
}

/// Why a model cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetUpError {
    /// No model is named and the provider has no default.
    #[error("`{0}` has no default model; name one with --model")]
    NoModel(String),
    /// The provider does not offer the wire format, or agcore does not speak it yet.
    #[error("`{provider}` cannot be reached through `{api}`")]
    NoApi {
        /// The provider.
        provider: String,
        /// The wire format.
        api: Api,
    },
    /// There is no address.
    #[error("`{0}` has no address; give one with --base-url")]
    NoAddress(String),
    /// The address is none.
    #[error("`{0}` is no usable address: {1}")]
    BadAddress(String, String),
    /// The key holds characters that no header may have.
    #[error("the key of `{0}` holds characters a key cannot have (a line break?)")]
    BadKey(String),
}

/// A model of a provider, called over HTTP. Keep one for the life of the process: it remembers rendered tools.
pub struct HttpModel {
    target: Target,
    dialect: Box<dyn Dialect>,
    client: HttpClient,
    urls: Urls,
    headers: HeaderMap,
    key: Option<SecretString>,
    prices: Option<PriceTable>,
    limits: CallLimits,
    /// Whether the server was seen to ignore a forced choice of tools.
    ignores_choice: AtomicBool,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("origin", &self.target.origin)
            .field("url", &self.urls.unary.as_str())
            .finish_non_exhaustive()
    }
}

impl HttpModel {
    /// A model of the provider that `profile` describes.
    ///
    /// # Errors
    /// [`SetUpError`] when model, wire format, address or key do not go together.
    pub fn new(profile: &Profile, config: HttpModelConfig, client: HttpClient) -> Result<Self, SetUpError> {
        let name = profile.name.to_string();
        let model = config.model.or_else(|| profile.default_model.clone());
        let model = model.ok_or_else(|| SetUpError::NoModel(name.clone()))?;
        let api = config.api.unwrap_or(profile.default_api);
        let no_api = || SetUpError::NoApi { provider: name.clone(), api };
        let dialect = provider::dialect(api).ok_or_else(no_api)?;
        let target = Target::new(profile, api, model).ok_or_else(no_api)?;
        let base = match config.base_url {
            Some(url) => url.to_string(),
            None => profile.base_url(api, config.region).ok_or_else(|| SetUpError::NoAddress(name.clone()))?.to_owned(),
        };
        let address = |stream| {
            let path = target.api.path_for(target.origin.model.as_str(), stream);
            let address = format!("{}{path}", base.trim_end_matches('/'));
            Url::parse(&address).map_err(|error| SetUpError::BadAddress(address, error.to_string()))
        };
        let urls = Urls { unary: address(false)?, streamed: address(true)? };
        let headers = headers(&target.api, config.key.as_ref()).ok_or(SetUpError::BadKey(name))?;
        let prices = config.prices.or_else(|| profile.prices.clone());
        Ok(Self {
            target,
            dialect,
            client,
            urls,
            headers,
            key: config.key,
            prices,
            limits: config.limits,
            ignores_choice: AtomicBool::new(false),
        })
    }

    /// One exchange.
    async fn exchange(
        &self,
        wire: &Wire,
        stream: bool,
        deadline: Instant,
        sink: &dyn ReplySink,
    ) -> Result<Reply, Failed> {
        let accept = if stream { "text/event-stream" } else { "application/json" };
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        for (name, value) in self.target.api.stream_headers.iter().filter(|_| stream).chain(&wire.headers) {
            add_header(&mut headers, name, value);
        }
        let url = if stream { &self.urls.streamed } else { &self.urls.unary };
        let request = HttpRequest {
            method: Method::POST,
            url: url.clone(),
            headers,
            body: wire.body.clone(),
            idle_timeout: self.limits.idle,
            deadline,
        };
        let answer = self.client.send(request).await.map_err(|error| {
            let begun = if error.kind() == NetErrorKind::Connect { Begun::No } else { Begun::Perhaps };
            Failed { error: from_net(&error), begun }
        })?;
        let status = answer.status.as_u16();
        if !answer.status.is_success() {
            let headers = answer.headers.clone();
            let body = answer.bytes(MAX_ERROR_BYTES).await.unwrap_or_default();
            let begun = if status < 500 { Begun::No } else { Begun::Perhaps };
            return Err(Failed { error: errors::classify(status, &headers, &body), begun });
        }
        // What comes decides, not what was asked for: some servers ignore `stream`.
        let kind = answer.header("content-type").unwrap_or_default();
        if kind.starts_with("text/event-stream") || (stream && !kind.starts_with("application/json")) {
            return self.read_stream(answer, wire.reading.clone(), sink).await;
        }
        let perhaps = |error: ModelError| Failed { error, begun: Begun::Perhaps };
        let body = answer.bytes(MAX_REPLY_BYTES).await.map_err(|error| perhaps(from_net(&error)))?;
        let reply = self.dialect.parse(&body, &wire.reading).map_err(perhaps)?;
        if stream {
            replay(&reply, sink);
        }
        Ok(reply)
    }

    async fn read_stream(
        &self,
        mut answer: HttpResponse,
        reading: Reading,
        sink: &dyn ReplySink,
    ) -> Result<Reply, Failed> {
        let (mut parser, mut fold) = (SseParser::new(), self.dialect.fold(reading));
        let broken = loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => {
                    if let Err(error) = parser.push(&bytes, |event| fold.push(event, sink)) {
                        break Some(ModelError::new(ModelErrorKind::BadResponse, error.to_string()));
                    }
                    if fold.done() {
                        drain(&mut answer).await;
                        break None;
                    }
                }
                Ok(None) => {
                    parser.end(|event| fold.push(event, sink));
                    break None;
                }
                Err(error) => break Some(from_net(&error)),
            }
        };
        let begun = if fold.started() { Begun::Surely } else { Begun::Perhaps };
        finish(fold, broken).map_err(|error| Failed { error, begun })
    }

    /// The reply to a request. Where a forced call does not come, because the server ignores the choice, it is asked
    /// for once more through the schema of an answer; from then on at once.
    async fn answer(
        &self,
        request: &ModelRequest,
        conversation: &mut Conversation,
        sink: &dyn ReplySink,
    ) -> Result<Reply, ModelError> {
        let forced = self.target.api.constrained_calls && constrained::forces(request);
        let mut spent = None;
        if !(forced && self.ignores_choice.load(Ordering::Relaxed)) {
            let wire = self.dialect.build(request, &self.target, conversation)?;
            let reply = self.call_with_retries(request, &wire, sink).await?;
            if !(forced && constrained::was_ignored(&reply)) {
                return Ok(reply);
            }
            self.ignores_choice.store(true, Ordering::Relaxed);
            spent = reply.usage;
        }
        let Some(held) = constrained::request(request) else {
            return Err(ModelError::new(ModelErrorKind::Unsupported, "no tool has a schema that can be sent"));
        };
        let wire = self.dialect.build(&held, &self.target, conversation)?;
        let mut reply = constrained::read(self.call_with_retries(&held, &wire, &()).await?);
        if let Some(spent) = spent {
            *reply.usage.get_or_insert_default() += spent;
        }
        Ok(reply)
    }

    async fn call_with_retries(
        &self,
        request: &ModelRequest,
        wire: &Wire,
        sink: &dyn ReplySink,
    ) -> Result<Reply, ModelError> {
        let deadline = Instant::now() + self.limits.total;
        let careful = has_hosted_effects(request, &self.target.api);
        let mut attempt = 1;
        loop {
            let Failed { mut error, begun } = match self.exchange(wire, request.stream, deadline, sink).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            error.attempts = attempt;
            error.message = mask(&error.message, self.key.as_ref());
            let repeatable = match begun {
                Begun::No => true,
                Begun::Perhaps => !careful,
                Begun::Surely => false,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = retry::wait(&error, attempt, &self.limits, left, retry::luck()).filter(|_| repeatable);
            let Some(wait) = wait else { return Err(error) };
            tracing::warn!(attempt, %error, wait_ms = wait.as_millis(), "model call failed, trying again");
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }
}

/// An exchange that brought no reply.
struct Failed {
    error: ModelError,
    begun: Begun,
}

/// Whether the provider began to work on a request that failed. Hosted tools may have had effects then.
#[derive(Debug, Clone, Copy)]
enum Begun {
    /// It was refused, or never arrived.
    No,
    /// Nobody knows.
    Perhaps,
    /// Pieces of the reply have come, and others may have seen them.
    Surely,
}

impl Model for HttpModel {
    fn origin(&self) -> Origin {
        (*self.target.origin).clone()
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        conversation: &'a mut Conversation,
        sink: &'a dyn ReplySink,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::new(ModelErrorKind::Cancelled, "the model call was cancelled")),
                reply = self.answer(request, conversation, sink) => reply,
            }
        }
        .boxed()
    }

    fn price(&self, usage: &Usage) -> Option<MicroUsd> {
        self.prices.as_ref()?.price(self.target.origin.model.as_str(), usage)
    }

    fn worst_case(&self, request: &ModelRequest, conversation: &Conversation) -> Option<MicroUsd> {
        let tools: usize = request.tools_defs.iter().map(|def| def.description.len() + TOOL_WEIGHT).sum();
        let bytes = conversation.weight() + request.instructions.len() + tools;
        let prompt = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN + 1;
        let output = request.max_output_tokens.map_or(UNBOUNDED_OUTPUT, u64::from);
        let raw = request.extra.get("builtin_tools").and_then(Value::as_array).map_or(0, Vec::len);
        let hosted = (raw + request.hosted.len()) as u64;
        self.prices.as_ref()?.worst_case(self.target.origin.model.as_str(), prompt, output, hosted * HOSTED_CALLS)
    }

    fn takes_hosted(&self, tool: &Value, beside_functions: bool) -> Result<(), String> {
        self.target.takes_hosted(tool, beside_functions)
    }

    fn supports(&self, choice: &ToolChoice) -> bool {
        self.target.api.supports(choice)
    }
}

/// About how many bytes of schema a tool has.
const TOOL_WEIGHT: usize = 600;

/// Where calls go.
struct Urls {
    unary: Url,
    streamed: Url,
}

/// Adds a header; values of one name are joined by commas, as beta headers want it.
fn add_header(headers: &mut HeaderMap, name: &str, value: &str) {
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { return };
    let joined = match headers.get(&name).and_then(|own| own.to_str().ok()) {
        Some(own) => format!("{own},{value}"),
        None => value.to_owned(),
    };
    if let Ok(value) = HeaderValue::from_str(&joined) {
        headers.insert(name, value);
    }
}

fn headers(api: &ApiProfile, key: Option<&SecretString>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in &api.headers {
        add_header(&mut headers, name, value);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("agcore/", env!("CARGO_PKG_VERSION"))));
    if let Some(key) = key {
        let key = key.expose_secret().trim();
        let (name, value) = match &api.auth {
            Auth::Bearer => (header::AUTHORIZATION, format!("Bearer {key}")),
            Auth::Header(name) => (HeaderName::from_bytes(name.as_bytes()).ok()?, key.to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

/// The rest of a finished stream, read so that the connection can be used again; not waited for long.
async fn drain(answer: &mut HttpResponse) {
    let rest = async { while let Ok(Some(_)) = answer.chunk().await {} };
    let _late = tokio::time::timeout(Duration::from_millis(50), rest).await;
}

/// The folded reply; a broken connection leaves what is known.
fn finish(fold: Box<dyn Fold>, broken: Option<ModelError>) -> Result<Reply, ModelError> {
    let Some(broken) = broken else { return fold.finish() };
    if !fold.started() {
        return Err(broken);
    }
    let mut reply = fold.finish()?;
    if matches!(reply.stop, Stop::Failed(_)) {
        reply.stop = Stop::Failed(broken.message);
    }
    Ok(reply)
}

fn replay(reply: &Reply, sink: &dyn ReplySink) {
    let (text, _) = reply.text_and_citations();
    if !text.is_empty() {
        sink.on(ReplyEvent::Text(text));
    }
}

fn from_net(error: &NetError) -> ModelError {
    let kind = match error.kind() {
        NetErrorKind::Connect | NetErrorKind::Broken => ModelErrorKind::Network,
        NetErrorKind::Timeout => ModelErrorKind::Timeout,
        NetErrorKind::TooLarge => ModelErrorKind::BadResponse,
        NetErrorKind::Invalid => ModelErrorKind::BadRequest,
    };
    ModelError { retryable: error.retryable(), ..ModelError::new(kind, error.to_string()) }
}

/// Whether a hosted tool of the request may change something: one that the profile does not know as harmless.
fn has_hosted_effects(request: &ModelRequest, api: &ApiProfile) -> bool {
    let raw_harmless = |tool: &Value| {
        tool.get("type").and_then(Value::as_str) == Some("function")
            || api.spelling_of(tool).is_some_and(|spelling| spelling.read_only)
    };
    let raw = request.extra.get("builtin_tools").and_then(Value::as_array);
    let harmless = |kind: &HostedKind| api.hosted.get(kind).is_some_and(|spelling| spelling.read_only);
    raw.is_some_and(|tools| !tools.iter().all(raw_harmless)) || !request.hosted.iter().all(|tool| harmless(&tool.kind))
}

/// DEV-M03: the text without the key, and without the parts of it that providers echo ("sk-proj-ab12***wxyz").
pub(super) fn mask(text: &str, key: Option<&SecretString>) -> String {
    let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= 8) else {
        return text.to_owned();
    };
    let whole = text.replace(key, "***");
    let start: String = key.chars().take(6).collect();
    let mut masked = String::with_capacity(whole.len());
    for piece in whole.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || "-_*.".contains(c))) {
        let word = piece.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || "-_*".contains(c)));
        if word.len() > start.len() && word.starts_with(&start) {
            masked.push_str("***");
            masked.push_str(piece.get(word.len()..).unwrap_or_default());
        } else {
            masked.push_str(piece);
        }
    }
    masked
}

#[cfg(test)]
mod tests;
