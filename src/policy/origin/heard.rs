//! What untrusted sources said in a turn.

use std::sync::{Arc, OnceLock};

use super::words;
use crate::types::{CitationSource, HostedOutput};

/// An untrusted result that entered the context of a turn.
#[derive(Clone)]
pub struct Heard {
    /// The call that brought it, e.g. `call_2`.
    pub call: String,
    /// The capability that was called.
    pub capability: String,
    text: Arc<str>,
    /// Its words, once somebody looks for something in them.
    words: OnceLock<String>,
}

impl Heard {
    /// Keeps a result as the model saw it. It is read only when a value is looked for.
    pub fn new(call: impl Into<String>, capability: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { call: call.into(), capability: capability.into(), text: text.into(), words: OnceLock::new() }
    }

    /// What a provider's tool brought within the model call of that number, as far as the provider tells.
    pub fn hosted(model_call: u32, output: &HostedOutput) -> Self {
        let mut text = output.output.clone().unwrap_or_default();
        for citation in &output.sources {
            if let CitationSource::Url(url) = &citation.source {
                text.push('\n');
                text.push_str(url);
            }
            for part in [&citation.title, &citation.quote].into_iter().flatten() {
                text.push('\n');
                text.push_str(part);
            }
        }
        Self::new(format!("model call {model_call}"), output.kind.as_str(), text)
    }

    /// Whether a phrase (normalised) stands in it.
    pub(super) fn holds(&self, phrase: &str) -> bool {
        words::stands_in(self.words.get_or_init(|| words::normalise(&self.text)), phrase)
    }
}

impl std::fmt::Debug for Heard {
    /// Without the text, which is not to be in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Heard({} of {}, {} bytes)", self.call, self.capability, self.text.len())
    }
}

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        (&self.call, &self.capability, &self.text) == (&other.call, &other.capability, &other.text)
    }
}

impl Eq for Heard {}

impl std::fmt::Display for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.call, self.capability)
    }
}
