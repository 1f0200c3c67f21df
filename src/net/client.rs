//! The HTTP client: pooled connections, deadlines, no surprises.

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri, Version, body::Incoming, header::HeaderValue};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, proxy::Tunnel},
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{NetError, NetErrorKind};

/// How an [`HttpClient`] connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept for reuse.
    pub pool_idle: Duration,
    /// How many idle connections are kept per host.
    pub pool_per_host: usize,
    /// An HTTP proxy for `https` addresses (`CONNECT`); `None` connects directly, whatever the environment says.
    pub proxy: Option<Url>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            pool_idle: Duration::from_secs(90),
            pool_per_host: 1024,
            proxy: None,
        }
    }
}

/// One request.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The address, `http` or `https`.
    pub url: Url,
    /// The headers. Mark secrets with [`HeaderValue::set_sensitive`].
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How long the answer's head, and then each piece of its body, may take to come.
    pub idle_timeout: Duration,
    /// When the exchange has to be over.
    pub deadline: Instant,
}

/// The head of an answer; the body follows piece by piece.
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    host: Arc<str>,
    idle_timeout: Duration,
    deadline: Instant,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).field("host", &self.host).finish_non_exhaustive()
    }
}

type Direct = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;
type Proxied = Client<HttpsConnector<Tunnel<HttpConnector>>, Full<Bytes>>;

/// Sends requests over pooled connections (HTTP/1.1, and HTTP/2 where the other side offers it by ALPN).
/// Cheap to clone; clones share the pool. Make one per process.
#[derive(Clone)]
pub struct HttpClient {
    direct: Direct,
    proxied: Option<Proxied>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("proxied", &self.proxied.is_some()).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// A client that connects as `config` says. Certificates are checked against the roots of the platform.
    ///
    /// # Errors
    /// [`NetErrorKind::Invalid`] when the platform has no usable roots or the proxy is no `http` address.
    pub fn new(config: &HttpConfig) -> Result<Self, NetError> {
        // Whoever comes first installs the provider; a second installation changes nothing.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let tls = ClientConfig::with_platform_verifier()
            .map_err(|error| NetError::new(NetErrorKind::Invalid, format!("cannot set up TLS: {error}")))?;
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.enforce_http(false);
        http.set_connect_timeout(Some(config.connect_timeout));
        http.set_keepalive(Some(Duration::from_secs(60)));
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(config.pool_idle)
            .pool_max_idle_per_host(config.pool_per_host);
        let secured = |tls: ClientConfig| {
            hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_all_versions()
        };
        let proxied = match &config.proxy {
            Some(proxy) => {
                let tunnel = Tunnel::new(proxy_uri(proxy)?, http.clone());
                Some(builder.build(secured(tls.clone()).wrap_connector(tunnel)))
            }
            None => None,
        };
        Ok(Self { direct: builder.build(secured(tls).wrap_connector(http)), proxied })
    }

    /// Sends a request and waits for the head of the answer. Statuses of 400 and more are answers, not errors;
    /// redirects are not followed. Dropping the future closes the exchange.
    ///
    /// # Errors
    /// [`NetError`] when nothing that is HTTP came back in time.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, NetError> {
        let HttpRequest { method, url, headers, body, idle_timeout, deadline } = request;
        let host: Arc<str> = url.host_str().unwrap_or_default().into();
        let secure = url.scheme() == "https";
        if !secure && url.scheme() != "http" {
            return Err(NetError::new(NetErrorKind::Invalid, format!("`{}` is neither http nor https", url.scheme())));
        }
        let uri: Uri = String::from(url).parse().map_err(|error| {
            NetError::new(NetErrorKind::Invalid, format!("the address of `{host}` cannot be used: {error}"))
        })?;
        let mut message = Request::new(Full::new(body));
        *message.method_mut() = method;
        *message.uri_mut() = uri;
        *message.version_mut() = Version::HTTP_11;
        *message.headers_mut() = headers;
        let sent = match &self.proxied {
            Some(client) if secure => client.request(message),
            Some(_) | None => self.direct.request(message),
        };
        let answer = timeout_at(next_limit(deadline, idle_timeout), sent)
            .await
            .map_err(|_| late(&host, deadline))?
            .map_err(|error| NetError::from_client(&error, &host))?;
        let (head, body) = answer.into_parts();
        Ok(HttpResponse { status: head.status, headers: head.headers, body, host, idle_timeout, deadline })
    }
}

impl HttpResponse {
    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// [`NetError`] when the connection broke or a piece took too long.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        loop {
            let frame = timeout_at(next_limit(self.deadline, self.idle_timeout), self.body.frame())
                .await
                .map_err(|_| late(&self.host, self.deadline))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(NetError::from_body(&error, &self.host)),
                // Trailers carry nothing for us.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// The whole body, at most `limit` bytes of it.
    ///
    /// # Errors
    /// [`NetErrorKind::TooLarge`] beyond the limit; otherwise as [`HttpResponse::chunk`].
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, NetError> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let mut whole: Option<BytesMut> = None;
        let mut length = first.len();
        while let Some(next) = if length <= limit { self.chunk().await? } else { None } {
            length += next.len();
            whole.get_or_insert_with(|| BytesMut::from(first.as_ref())).extend_from_slice(&next);
        }
        if length > limit {
            let message = format!("the answer of `{}` is larger than {limit} bytes", self.host);
            return Err(NetError::new(NetErrorKind::TooLarge, message));
        }
        Ok(whole.map_or(first, BytesMut::freeze))
    }

    /// A header as text, when it is there and readable.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| HeaderValue::to_str(value).ok())
    }
}

fn next_limit(deadline: Instant, idle: Duration) -> Instant {
    Instant::now().checked_add(idle).map_or(deadline, |idle| idle.min(deadline))
}

fn late(host: &str, deadline: Instant) -> NetError {
    let what = if Instant::now() >= deadline { "did not finish in time" } else { "sent nothing for too long" };
    NetError::new(NetErrorKind::Timeout, format!("`{host}` {what}"))
}

fn proxy_uri(proxy: &Url) -> Result<Uri, NetError> {
    let refused = |why: &str| NetError::new(NetErrorKind::Invalid, format!("the proxy address {why}"));
    if proxy.scheme() != "http" {
        return Err(refused("must start with http://"));
    }
    proxy.as_str().parse().map_err(|_| refused("cannot be used"))
}
