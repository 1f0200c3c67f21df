//! An HTTP server that plays a model provider, and the services that tools call.

mod deliver;
mod protocol;
mod service;
mod wire;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    serve::ListenerExt,
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{Answer, By, Delivery, Effects, Gate, Script};
use protocol::Issued;
use wire::Rendering;

/// The largest request body that is read.
const MAX_BODY: usize = 64 << 20;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The method.
    pub method: Method,
    /// The path with the query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub bytes: Bytes,
}

impl Captured {
    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A provider on `127.0.0.1` that answers from a script and stops when it is dropped.
///
/// It serves `/v1/responses`, `/v1/chat/completions` and `/v1/models`. Each request is checked: one whose calls have
/// no result, whose results have no call, that changes a call it was given or names its tools badly is answered
/// with 400 and kept under [`FakeProvider::violations`]; it uses up no answer.
///
/// Under `/effects/NAME` it plays the service behind a tool: POST, PUT, PATCH and DELETE take effect (once per
/// `Idempotency-Key`) and return a receipt, `?fault=cut` takes effect and breaks the connection, `?fault=stall` takes
/// effect and answers when released, `?fault=STATUS` answers with that status and has no effect; faults spare a key
/// that had its effect. GET changes nothing and echoes its query, or returns the receipt of `?key=KEY` or 404.
/// `GET /effects` returns the counts, `GET /violations` the violations; POST `/release` lets go what is held back.
#[derive(Debug)]
pub struct FakeProvider {
    shared: Arc<Shared>,
    address: SocketAddr,
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    release: Gate,
    effects: Effects,
    keeps: bool,
    state: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    captured: Vec<Captured>,
    violations: Vec<String>,
    answered: usize,
    issued: Issued,
}

impl FakeProvider {
    /// Starts a provider on a free port.
    ///
    /// # Panics
    /// When no port can be had.
    #[expect(clippy::expect_used, reason = "without a port there is no test")]
    pub async fn start(script: Script) -> Self {
        Self::serve(script, Effects::default(), true).await.expect("a free port on 127.0.0.1")
    }

    /// Starts a provider that counts effects in `effects` and, if `keeps`, keeps the requests it got.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn serve(script: Script, effects: Effects, keeps: bool) -> io::Result<Self> {
        let state = Mutex::new(Played::default());
        let shared = Arc::new(Shared { script, release: Gate::closed(), effects, keeps, state });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let listener = listener.tap_io(|stream| {
            // A piece that was scripted goes out as a piece.
            let _ = stream.set_nodelay(true);
        });
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { shared, address, _server: server })
    }

    /// `http://127.0.0.1:PORT/v1`, what a client takes as its base address.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// `http://127.0.0.1:PORT`, for the services of tools.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests to the model so far.
    pub fn requests(&self) -> Vec<Captured> {
        self.shared.lock().captured.iter().filter(|request| !request.path.starts_with("/effects")).cloned().collect()
    }

    /// All requests to services of tools so far.
    pub fn service_requests(&self) -> Vec<Captured> {
        self.shared.lock().captured.iter().filter(|request| request.path.starts_with("/effects")).cloned().collect()
    }

    /// Which rules were broken by which request.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// What took effect at the services of tools.
    pub fn effects(&self) -> &Effects {
        &self.shared.effects
    }

    /// The gate at which stalled answers wait.
    pub fn release(&self) -> &Gate {
        &self.shared.release
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Played> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request to the model, or what is wrong with it.
    fn choose(&self, chat: bool, body: &Value) -> Result<(Answer, usize), String> {
        let mut played = self.lock();
        let played = &mut *played;
        let check = if chat { protocol::check_chat } else { protocol::check_responses };
        let wrong = check(body, &played.issued);
        if let Some(first) = wrong.first() {
            let first = first.clone();
            played.violations.extend(wrong);
            return Err(first);
        }
        let nth = played.answered;
        let place = match self.script.by {
            By::Order => nth,
            By::Position => protocol::replies_so_far(body),
        };
        let Some(answer) = self.script.answers.get(place) else {
            let why =
                format!("the script has {} answers, none for request {place} (from 0)", self.script.answers.len());
            played.violations.push(why.clone());
            return Err(why);
        };
        played.answered += 1;
        Ok((answer.clone(), nth))
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let request = Captured { method: head.method, path, headers: head.headers, bytes };
    if shared.keeps {
        shared.lock().captured.push(request.clone());
    }
    let path = request.path.split('?').next().unwrap_or_default();
    match path.trim_start_matches("/v1") {
        "/responses" => model(&shared, false, &request.json()),
        "/chat/completions" => model(&shared, true, &request.json()),
        "/models" => {
            json_response(StatusCode::OK, &json!({"object": "list", "data": [{"id": "fake-1", "object": "model"}]}))
        }
        "/violations" => json_response(StatusCode::OK, &json!(shared.lock().violations)),
        "/release" => {
            shared.release.open();
            StatusCode::NO_CONTENT.into_response()
        }
        path if path.starts_with("/effects") => service::serve(&shared, path, &request).await,
        _ => error(StatusCode::NOT_FOUND, "there is nothing at this address"),
    }
}

fn model(shared: &Shared, chat: bool, body: &Value) -> Response {
    let (answer, nth) = match shared.choose(chat, body) {
        Ok(chosen) => chosen,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    let delivery = answer.delivery.as_ref().unwrap_or(&shared.script.delivery);
    if let Some(raw) = &answer.raw {
        let mut response = Response::new(deliver::body(raw.body.clone().into_bytes(), delivery, &shared.release));
        *response.status_mut() = StatusCode::from_u16(raw.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        for (name, value) in &raw.headers {
            if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(name), value.parse()) {
                headers.insert(name, value);
            }
        }
        return response;
    }
    let rendering = Rendering::new(&answer, nth, body);
    shared.lock().issued.extend(rendering.issued());
    let streamed = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let rendered = match (chat, streamed) {
        (false, false) => rendering.responses_body(),
        (false, true) => rendering.responses_stream(delivery),
        (true, false) => rendering.chat_body(),
        (true, true) => rendering.chat_stream(delivery),
    };
    let content_type = [(header::CONTENT_TYPE, rendered.content_type)];
    (content_type, deliver::body(rendered.bytes, delivery, &shared.release)).into_response()
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn error(status: StatusCode, message: &str) -> Response {
    let error = json!({"message": message, "type": "invalid_request_error", "param": null, "code": null});
    json_response(status, &json!({"error": error}))
}

/// A body that breaks the connection before it says anything.
fn cut(shared: &Shared) -> Body {
    deliver::body(b"cut".to_vec(), &Delivery { cut_after: Some(0), ..Delivery::default() }, &shared.release)
}

#[cfg(test)]
mod tests;
