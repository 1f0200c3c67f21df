//! Tools that are an HTTP request, declared in the catalog and not programmed.

mod answer;
mod template;

use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::Serializer as _;
use serde_json::{Map, Value};
use tokio::time::Instant;
use url::Url;

use crate::{
    capability::{Capability, HttpCall},
    net::{HeaderMap, HeaderName, HeaderValue, HttpClient, HttpRequest, HttpResponse, Method, NetErrorKind, header},
    secret::SecretRef,
    types::{CapabilityId, DurationMs, ToolError, ToolOutput},
};

use super::{CallContext, Executor, errors};
use template::{Template, Unfilled, scalar};

/// The largest answer that is read, in bytes.
const MAX_ANSWER: usize = 8 << 20;

/// The most of an error's body that is read, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// Runs the [`HttpCall`] of a capability.
///
/// The host is the operator's: only path and query take arguments, percent-encoded, and redirects are not followed.
/// Arguments that stand nowhere in the address go into the JSON body, if there is one. Secrets are resolved for each
/// call and never shown.
///
/// Query parameters whose argument is absent or null are left out; a list becomes a repeated parameter. Answers of
/// more than 8 MiB are an error.
pub struct HttpTool {
    client: HttpClient,
    method: Method,
    url: Template,
    query: Vec<(String, Template)>,
    headers: Vec<(HeaderName, HeaderText)>,
    json_body: bool,
    idempotency_header: Option<HeaderName>,
    select: Option<String>,
    writes: bool,
    timeout: DurationMs,
}

/// A declared HTTP call that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("capability `{capability}`, http.{field}: {why}")]
pub struct HttpToolError {
    capability: CapabilityId,
    field: String,
    why: String,
}

/// The value of a header: a text, or a secret after a prefix (`Bearer env:TOKEN`).
#[derive(Debug)]
enum HeaderText {
    Plain(HeaderValue),
    Secret { prefix: String, secret: SecretRef },
}

impl fmt::Debug for HttpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTool").field("method", &self.method).field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpTool {
    /// Checks the call that `capability` declares and makes it a tool.
    ///
    /// # Errors
    /// [`HttpToolError`] when there is no call, the method is unknown, the address is no http(s) address, holds a
    /// credential or takes an argument before its path, a header cannot be sent, or a GET has a body.
    pub fn new(capability: &Capability, client: HttpClient) -> Result<Self, HttpToolError> {
        let refused = |field: &str, why: &str| HttpToolError {
            capability: capability.id.clone(),
            field: field.to_owned(),
            why: why.to_owned(),
        };
        let call = capability.execution.http.as_ref().ok_or_else(|| refused("url", "no HTTP call is declared"))?;
        let method = method(&call.method).ok_or_else(|| refused("method", "use GET, POST, PUT, PATCH or DELETE"))?;
        if call.json_body && method == Method::GET {
            return Err(refused("json_body", "a GET has no body; use POST, or put the arguments into `query`"));
        }
        if call.select.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            return Err(refused("select", "a JSON pointer starts with `/`"));
        }
        let url = address(&call.url).map_err(|why| refused("url", why))?;
        let query = query(call).map_err(|(name, why)| refused(&format!("query.{name}"), why))?;
        let headers = headers(call).map_err(|(name, why)| refused(&format!("headers.{name}"), why))?;
        let idempotency_header = call.idempotency_header.as_deref().map(HeaderName::try_from).transpose();
        Ok(Self {
            client,
            method,
            url,
            query,
            headers,
            json_body: call.json_body,
            idempotency_header: idempotency_header
                .map_err(|_| refused("idempotency_header", "it is no header name"))?,
            select: call.select.clone(),
            writes: capability.execution.side_effect.writes(),
            timeout: capability.execution.timeout,
        })
    }

    fn request(&self, arguments: &Value, context: &CallContext) -> Result<HttpRequest, ToolError> {
        let empty = Map::new();
        let arguments = arguments.as_object().unwrap_or(&empty);
        Ok(HttpRequest {
            method: self.method.clone(),
            url: self.target(arguments)?,
            headers: self.head(context)?,
            body: self.body(arguments)?,
            idle_timeout: self.timeout.as_duration(),
            deadline: Instant::now() + self.timeout.as_duration(),
        })
    }

    fn target(&self, arguments: &Map<String, Value>) -> Result<Url, ToolError> {
        let text = self.url.address(arguments).map_err(|unfilled| match unfilled {
            Unfilled::Missing(name) => errors::schema_validation(&format!("`{name}` has to be a text or a number")),
            Unfilled::Empty(name) => errors::schema_validation(&format!("`{name}` must not be empty")),
        })?;
        if has_dots(&text) {
            return Err(errors::schema_validation("an argument must not be `.` or `..`"));
        }
        let broken = |error| errors::unavailable("the service", format!("the address is broken: {error}"));
        let mut url = Url::parse(&text).map_err(broken)?;
        for (name, template) in &self.query {
            let sole = template.sole_argument().and_then(|argument| arguments.get(argument));
            if let Some(Value::Array(values)) = sole {
                let texts = values.iter().map(|value| scalar(Some(value)).unwrap_or_else(|| value.to_string()));
                url.query_pairs_mut().extend_pairs(texts.map(|text| (name, text)));
            } else if let Some(value @ Value::Object(_)) = sole {
                url.query_pairs_mut().append_pair(name, &value.to_string());
            } else if let Some(text) = template.plain(arguments) {
                url.query_pairs_mut().append_pair(name, &text);
            }
        }
        Ok(url)
    }

    fn head(&self, context: &CallContext) -> Result<HeaderMap, ToolError> {
        let unusable = |why: String| errors::unavailable("the service", why);
        let mut map = HeaderMap::with_capacity(self.headers.len() + 3);
        map.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5"));
        if self.json_body {
            map.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(name) = &self.idempotency_header {
            let key = HeaderValue::from_str(&context.idempotency_key);
            map.insert(name, key.map_err(|_| unusable("the idempotency key is no header value".to_owned()))?);
        }
        for (name, text) in &self.headers {
            let value = match text {
                HeaderText::Plain(value) => value.clone(),
                HeaderText::Secret { prefix, secret } => {
                    let value: SecretString = secret.resolve().map_err(|error| unusable(error.to_string()))?;
                    let mut value = HeaderValue::from_str(&format!("{prefix}{}", value.expose_secret()))
                        .map_err(|_| unusable(format!("the secret for the header `{name}` is no header value")))?;
                    value.set_sensitive(true);
                    value
                }
            };
            map.insert(name, value);
        }
        Ok(map)
    }

    /// The arguments that stand nowhere in the address.
    fn body(&self, arguments: &Map<String, Value>) -> Result<Bytes, ToolError> {
        if !self.json_body {
            return Ok(Bytes::new());
        }
        let templates = || std::iter::once(&self.url).chain(self.query.iter().map(|(_, template)| template));
        let placed = |name: &str| templates().any(|template| template.arguments().any(|argument| argument == name));
        let rest = arguments.iter().filter(|(name, _)| !placed(name));
        let mut bytes = Vec::new();
        serde_json::Serializer::new(&mut bytes)
            .collect_map(rest)
            .map_err(|error| errors::tool_failed(format!("the body does not serialise: {error}")))?;
        Ok(bytes.into())
    }

    async fn read(&self, response: HttpResponse) -> Result<ToolOutput, ToolError> {
        let (status, headers) = (response.status, response.headers.clone());
        if !status.is_success() {
            // The status says enough when the body cannot be had.
            let body = response.bytes(MAX_ERROR).await.unwrap_or_default();
            return Err(answer::refusal(status, &headers, &body, self.writes));
        }
        match response.bytes(MAX_ANSWER).await {
            Ok(body) => answer::output(status, &headers, body, self.select.as_deref(), self.writes),
            // It has happened: an error would make somebody do it again.
            Err(error) if self.writes && error.kind() == NetErrorKind::TooLarge => {
                Ok(ToolOutput::text(format!("done (HTTP {}); the answer was too large to keep", status.as_u16())))
            }
            Err(error) => Err(answer::broken(&error, self.writes)),
        }
    }
}

impl Executor for HttpTool {
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = self.request(arguments, context)?;
            match self.client.send(request).await {
                Ok(response) => self.read(response).await,
                Err(error) => Err(answer::broken(&error, self.writes)),
            }
        })
    }
}

fn method(name: &str) -> Option<Method> {
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE]
        .into_iter()
        .find(|method| method.as_str().eq_ignore_ascii_case(name))
}

/// The address as a template, once it is sure that arguments cannot change where it leads.
fn address(text: &str) -> Result<Template, &'static str> {
    let template = Template::parse(text)?;
    let (_, rest) = text.split_once("://").ok_or("it has to start with http:// or https://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if text.split(['/', '?', '#']).next().unwrap_or_default().contains('{') || authority.contains('{') {
        return Err("the host must not hold an argument: only path and query may");
    }
    if authority.contains('@') {
        return Err("it must not hold a credential; use a header with a secret reference");
    }
    if text.contains('#') {
        return Err("it must not hold a fragment");
    }
    if has_dots(text) {
        return Err("its path must not hold `.` or `..`");
    }
    let sample = Url::parse(&text.replace(['{', '}'], "x")).map_err(|_| "it is no address")?;
    if !matches!(sample.scheme(), "http" | "https") || !sample.has_host() {
        return Err("it has to start with http:// or https:// and a host");
    }
    Ok(template)
}

/// Whether a path of the address has a segment that leads up or nowhere; encoded dots count.
fn has_dots(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

type Wrong = (String, &'static str);

fn query(call: &HttpCall) -> Result<Vec<(String, Template)>, Wrong> {
    let entry = |(name, text): (&String, &String)| {
        let template = if text.contains('{') || text.contains('}') {
            Template::parse(text).map_err(|why| (name.clone(), why))?
        } else {
            Template::argument(text)
        };
        Ok((name.clone(), template))
    };
    call.query.iter().map(entry).collect()
}

fn headers(call: &HttpCall) -> Result<Vec<(HeaderName, HeaderText)>, Wrong> {
    let entry = |(name, text): (&String, &String)| {
        let wrong = |why| (name.clone(), why);
        let known = HeaderName::try_from(name).map_err(|_| wrong("it is no header name"))?;
        let (prefix, last) = text.rfind(' ').map_or(("", text.as_str()), |at| text.split_at(at + 1));
        let value = match last.parse::<SecretRef>() {
            Ok(secret) => HeaderText::Secret { prefix: prefix.to_owned(), secret },
            Err(_) => HeaderText::Plain(HeaderValue::from_str(text).map_err(|_| wrong("it is no header value"))?),
        };
        Ok((known, value))
    };
    call.headers.iter().map(entry).collect()
}

#[cfg(test)]
mod tests;
