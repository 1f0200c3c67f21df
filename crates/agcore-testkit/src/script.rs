//! What a fake provider answers, as data: built in a test or read from a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole script.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// How the answer to a request is found.
    pub by: By,
    /// The answers.
    pub answers: Vec<Answer>,
    /// How bodies are sent, where the answer does not say.
    pub delivery: Delivery,
}

/// How the answer to a request is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The nth request gets the nth answer.
    #[default]
    Order,
    /// A request whose conversation holds n replies already gets the nth answer: any number of conversations may run
    /// the script side by side, and a repeated request gets the same answer again.
    Position,
}

/// One answer. Without `raw` it is a reply in the wire format of the request; start it with [`answer`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// The visible text; empty for none.
    pub text: String,
    /// The calls.
    pub calls: Vec<ScriptedCall>,
    /// Raw output items before the text (Responses only): reasoning, hosted calls, unknown things.
    pub items: Vec<Value>,
    /// Why the reply ended early, in the words of Responses (`max_output_tokens`, `content_filter`).
    pub incomplete: Option<String>,
    /// The reply fails after its text, with HTTP status 200: code and message.
    pub failed: Option<(String, String)>,
    /// What it consumed.
    pub usage: Tokens,
    /// A whole HTTP answer instead of a reply.
    pub raw: Option<Raw>,
    /// How the body is sent.
    pub delivery: Option<Delivery>,
}

/// A call in an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool. A name that the request spells otherwise (`files.search` as `files_search`) is sent in its spelling.
    pub name: String,
    /// The arguments; a string is the raw argument text, broken or not.
    pub arguments: Value,
}

/// Counted tokens of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// Prompt tokens, the cached ones included.
    pub input: u64,
    /// Of these, read from the cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 100, cached: 0, output: 10 }
    }
}

/// A whole HTTP answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The status.
    pub status: u16,
    /// Headers beside the content type, which is JSON unless it is among them.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default)]
    pub body: String,
}

/// How a body is sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    /// Sizes in bytes of the pieces, over and over; empty sends it whole. Small odd sizes cut inside characters and
    /// line ends.
    pub chunks: Vec<usize>,
    /// Whether lines of a stream end in CR LF.
    pub crlf: bool,
    /// Hold the rest back after this many bytes until the provider is told to go on.
    pub stall_after: Option<usize>,
    /// Break the connection after this many bytes.
    pub cut_after: Option<usize>,
}

/// An empty answer, to be filled.
pub fn answer() -> Answer {
    Answer::default()
}

impl Script {
    /// A script of answers by order. Bodies go out in pieces of odd sizes, and lines of streams end in CR LF.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let delivery = Delivery { chunks: vec![1, 7, 2, 31, 3, 5], crlf: true, ..Delivery::default() };
        Self { by: By::Order, answers: answers.into_iter().collect(), delivery }
    }

    /// The same with the answers found by position.
    #[must_use]
    pub fn by_position(mut self) -> Self {
        self.by = By::Position;
        self
    }

    /// The same with another way to send bodies.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}

impl Answer {
    /// Says something.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Calls a tool; a JSON string is taken as the raw argument text.
    #[must_use]
    pub fn call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push(ScriptedCall { name: name.into(), arguments });
        self
    }

    /// Adds a raw output item (Responses only).
    #[must_use]
    pub fn item(mut self, item: Value) -> Self {
        self.items.push(item);
        self
    }

    /// Ends early.
    #[must_use]
    pub fn incomplete(mut self, reason: &str) -> Self {
        self.incomplete = Some(reason.into());
        self
    }

    /// Fails after its text, with HTTP status 200.
    #[must_use]
    pub fn failed(mut self, code: &str, message: &str) -> Self {
        self.failed = Some((code.into(), message.into()));
        self
    }

    /// Consumed this.
    #[must_use]
    pub fn usage(mut self, usage: Tokens) -> Self {
        self.usage = usage;
        self
    }

    /// Is this HTTP status with this body (an error, or anything else), instead of a reply.
    #[must_use]
    pub fn status(mut self, status: u16, body: impl Into<String>) -> Self {
        self.raw = Some(Raw { status, headers: BTreeMap::new(), body: body.into() });
        self
    }

    /// Adds a header to an answer made with [`Answer::status`].
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Some(raw) = &mut self.raw {
            raw.headers.insert(name.into(), value.into());
        }
        self
    }

    /// Is sent in this way.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }
}
