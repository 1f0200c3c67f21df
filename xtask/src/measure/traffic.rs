//! Recorded exchanges, read as `agcore wire parse` reads them.

use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use agcore::{
    llm::wire::{self, Answer},
    net::{HeaderMap, HeaderName, HeaderValue},
    types::Api,
};
use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::Predicted;

#[derive(Debug, Deserialize)]
struct Recording {
    id: String,
    provider: String,
    api: String,
    exchanges: Vec<Exchange>,
}

#[derive(Debug, Deserialize)]
struct Exchange {
    request: Request,
    response: Response,
    /// Another kind of call than the file's (uploads, polling).
    api: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Request {
    #[serde(default)]
    method: String,
    #[serde(default)]
    path: String,
}

#[derive(Debug, Deserialize)]
struct Response {
    status: Option<u16>,
    #[serde(default)]
    headers: Value,
    body: Option<Box<RawValue>>,
    body_text: Option<String>,
    sse: Option<String>,
}

/// A reply of a recording, read.
pub(crate) struct Replied {
    pub(crate) name: String,
    /// The profile of its provider, where there is one.
    pub(crate) provider: String,
    pub(crate) api: Api,
    pub(crate) parsed: wire::Parsed,
}

/// Every reply of a model in the recordings.
pub(crate) fn replies(data: &Path) -> Result<Vec<Replied>> {
    let mut all = Vec::new();
    for recording in recordings(data)? {
        for (at, exchange) in recording.exchanges.iter().enumerate() {
            let kind = exchange.api.as_deref().unwrap_or(&recording.api);
            let Some(api) = api(kind).filter(|api| is_reply(exchange, *api)) else { continue };
            let parsed = parse(&recording.provider, api, &exchange.response)?;
            let (name, provider) = (format!("{} {at}", recording.id), profile(&recording.provider).to_owned());
            all.push(Replied { name, provider, api, parsed });
        }
    }
    Ok(all)
}

fn recordings(data: &Path) -> Result<Vec<Recording>> {
    let mut files: Vec<PathBuf> = fs::read_dir(data)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| {
        path.extension().is_some_and(|end| end == "json") && path.file_name().is_some_and(|n| n != "index.json")
    });
    files.sort();
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file)?;
        serde_json::from_str(&text).with_context(|| format!("`{}`", file.display()))
    };
    files.iter().map(read).collect()
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let mut lines = Vec::new();
    for recording in recordings(data)? {
        for (at, exchange) in recording.exchanges.iter().enumerate() {
            lines.push(line(&recording, at, exchange)?);
        }
    }
    let args = vec!["--fails".to_owned(), "40".to_owned(), "--by-feature".to_owned()];
    Ok(vec![Predicted { inputs: vec![data.to_owned()], lines, args }])
}

fn line(recording: &Recording, at: usize, exchange: &Exchange) -> Result<String> {
    let kind = exchange.api.as_deref().unwrap_or(&recording.api);
    let Some(api) = api(kind).filter(|api| is_reply(exchange, *api)) else {
        let why = format!("`{} {}` is no call of a model", exchange.request.method, exchange.request.path);
        return Ok(json!({"id": recording.id, "exchange": at, "skipped": why}).to_string());
    };
    let parsed = match parse(&recording.provider, api, &exchange.response) {
        Ok(parsed) => parsed,
        Err(error) => {
            let why = format!("{error:#}");
            return Ok(json!({"id": recording.id, "exchange": at, "skipped": why}).to_string());
        }
    };
    // Raw items are kept as text; a line break in JSON text is never part of a string.
    let (id, parsed) = (json!(recording.id), serde_json::to_string(&parsed)?.replace(['\n', '\r'], " "));
    Ok(format!("{{\"id\":{id},\"exchange\":{at},\"parsed\":{parsed}}}"))
}

fn api(kind: &str) -> Option<Api> {
    match kind {
        // Mistral's agents answer completions too, in the form of Chat.
        "chat_completions" | "agents" => Some(Api::Chat),
        "dashscope_generation" => Some(Api::Generation),
        other => Api::ALL.iter().find(|api| api.as_str() == other).copied(),
    }
}

/// Whether a call asked a model, by its method and path: `GET`s, uploads and deletions did not.
fn is_reply(exchange: &Exchange, api: Api) -> bool {
    let path = exchange.request.path.split('?').next().unwrap_or_default();
    let ends = |end: &str| path.ends_with(end);
    let asks = match api {
        Api::Responses => path.contains("/responses") && !path.ends_with("/compact") && !path.ends_with("/input_items"),
        Api::Chat => path.is_empty() || ends("/completions") || ends("/chat"),
        Api::Messages => {
            path.is_empty() || ends("/messages") || path.contains(":rawPredict") || path.contains(":streamRawPredict")
        }
        Api::GenerateContent => path.contains(":generateContent") || path.contains(":streamGenerateContent"),
        Api::Interactions => path.contains("/interactions"),
        Api::Conversations => path.contains("/conversations"),
        Api::Generation | Api::Local => true,
    };
    // A reply in the background is asked for again with a `GET`.
    let polled = matches!(api, Api::Responses | Api::Interactions);
    asks && (exchange.request.method.is_empty() || exchange.request.method == "POST" || polled)
}

fn parse(provider: &str, api: Api, response: &Response) -> Result<wire::Parsed> {
    let (body, stream) = match (&response.sse, &response.body, &response.body_text) {
        (Some(sse), ..) => (sse.as_bytes(), Some(true)),
        (None, Some(body), _) if body.get() != "null" => (body.get().as_bytes(), Some(false)),
        (None, _, Some(text)) => (text.as_bytes(), None),
        (None, _, None) => (&b""[..], Some(false)),
    };
    let mut headers = HeaderMap::new();
    for (name, value) in response.headers.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let (Ok(name), Ok(value)) = (HeaderName::from_str(name), HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
    let origin = wire::origin(profile(provider), api, "recorded").map_err(|error| anyhow!(error))?;
    let answer = Answer { body, stream, status: response.status, headers: Some(&headers) };
    wire::parse(origin, &answer).map_err(|error| anyhow!(error))
}

/// The profile of a recording's provider; compatible servers have no profile of their own.
fn profile(provider: &str) -> &str {
    match provider {
        "alibaba" => "aliyun",
        "google" => "gemini",
        "azure" => "openai",
        other => other,
    }
}
