//! One piece of a result on its way to the model: masked, selected, shortened.

use std::{borrow::Cow, cell::OnceCell};

use bytes::Bytes;
use serde_json::Value;

use super::{
    Artifact, ProjectionInput, fence, json, passages,
    select::{self, Fields},
};
use crate::{
    capability::OutputFormat,
    policy::Obligation,
    secret::Redacted,
    text::cut,
    types::{Content, Tokens},
};

/// Base64 in a text that is longer than this is left out.
const LONGEST_DATA: usize = 256;

/// A piece, and what was done to it.
pub(super) struct Piece<'a> {
    /// What is left of it.
    pub(super) text: Cow<'a, str>,
    /// Whether the text is JSON.
    json: bool,
    /// The piece as the tool returned it.
    whole: Whole<'a>,
    /// The whole as a rule or the contract wants it masked: who reads it from the store later is not known, so it is
    /// stored like this.
    stored: Option<String>,
    /// The same, for the artifact store; made when it is needed.
    artifact: OnceCell<Option<Artifact>>,
    /// Something of it does not reach the model.
    pub(super) lossy: bool,
    /// It is byte for byte what the tool returned.
    pub(super) same: bool,
}

/// What a tool returned.
#[derive(Clone, Copy)]
enum Whole<'a> {
    Text(&'a str),
    Json(&'a str),
    Media(&'a str, &'a Bytes),
}

/// Whether what the model does not see goes to the artifact store. Pages of an artifact are in there already.
pub(super) fn keeps(input: &ProjectionInput<'_>) -> bool {
    input.keep_artifacts && input.output.format != OutputFormat::Artifact
}

impl<'a> Piece<'a> {
    /// Masks secrets, leaves out data that is no text, and selects fields.
    pub(super) fn prepare(input: &ProjectionInput<'_>, content: &'a Content, warnings: &mut Vec<String>) -> Self {
        let (whole, masked) = match content {
            Content::Media { mime, bytes } => return Self::media(input, mime, bytes, warnings),
            Content::Text(text) => (Whole::Text(text), input.redactor.text(text)),
            Content::Json(text) => (Whole::Json(text), input.redactor.json(text)),
        };
        let same = masked.masked() == 0;
        if !same {
            warnings.push(said(input, masked.masked()));
        }
        let mut piece = Self {
            text: masked.into_inner(),
            json: matches!(content, Content::Json(_)),
            whole,
            stored: None,
            artifact: OnceCell::new(),
            lossy: false,
            same,
        };
        if !same && !input.personal().is_empty() {
            piece.stored = Some(piece.text.clone().into_owned());
        }
        piece.leave_out_data(warnings);
        piece.select(input, warnings);
        piece
    }

    fn media(input: &ProjectionInput<'_>, mime: &'a str, bytes: &'a Bytes, warnings: &mut Vec<String>) -> Self {
        let kind: String = cut::to_chars(mime, 80).chars().filter(|c| !c.is_control()).collect();
        warnings.push(format!("{kind} of {} bytes is not shown as text", bytes.len()));
        let mut piece = Self {
            text: Cow::Borrowed(""),
            json: false,
            whole: Whole::Media(mime, bytes),
            stored: None,
            artifact: OnceCell::new(),
            lossy: true,
            same: false,
        };
        let artifact = if keeps(input) { piece.artifact() } else { None };
        let place = artifact.map_or_else(String::new, |artifact| format!(", artifact {}", artifact.reference().id));
        piece.text = Cow::Owned(format!("[{kind}, {} bytes{place}; not shown as text]", bytes.len()));
        piece
    }

    /// Replaces Base64 of `data:` addresses: it costs much and says nothing.
    fn leave_out_data(&mut self, warnings: &mut Vec<String>) {
        if let Some((text, count)) = without_data(&self.text) {
            self.text = Cow::Owned(text);
            (self.lossy, self.same) = (true, false);
            warnings.push(format!("{count} embedded files were left out"));
        }
    }

    fn select(&mut self, input: &ProjectionInput<'_>, warnings: &mut Vec<String>) {
        let policy = &input.output.projection;
        let hidden: Vec<&String> = policy.redact_fields.iter().chain(obliged(input)).collect();
        if policy.preserve_fields.is_empty() && hidden.is_empty() && input.output.max_results.is_none() {
            return;
        }
        let Some(mut value) = self.value() else {
            return self.hide_in_text(input, &hidden, warnings);
        };
        let masked = Fields::parse(hidden.iter().copied()).mask(&mut value);
        if masked > 0 {
            self.stored = Some(value.to_string());
        }
        let dropped = match input.output.max_results {
            Some(most) => select::cap_results(&mut value, usize::try_from(most).unwrap_or(usize::MAX)),
            None => 0,
        };
        let keep = Fields::parse(&policy.preserve_fields);
        let mut selected = false;
        if !keep.is_empty() {
            match keep.keep(value.clone()) {
                Some(kept) => {
                    selected = kept != value;
                    value = kept;
                }
                None => warnings.push("none of the fields to keep is in the result; it is shown whole".to_owned()),
            }
        }
        if masked > 0 {
            warnings.push(format!("{masked} fields were masked"));
        }
        if dropped > 0 {
            warnings.push(format!(
                "{dropped} results beyond the first {} were dropped",
                input.output.max_results.unwrap_or(0)
            ));
        }
        if selected {
            warnings.push("only some fields are shown".to_owned());
        }
        if masked > 0 || dropped > 0 || selected {
            self.text = Cow::Owned(value.to_string());
            self.json = true;
            self.same = false;
            self.lossy |= dropped > 0 || selected;
        }
    }

    fn hide_in_text(&mut self, input: &ProjectionInput<'_>, hidden: &[&String], warnings: &mut Vec<String>) {
        let names: Vec<&str> = hidden.iter().map(|name| name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let masked: Redacted<String> = input.redactor.text_with_fields(&self.text, &names).into_owned();
        if masked.masked() > 0 {
            warnings.push(format!("{} fields were masked", masked.masked()));
            self.text = Cow::Owned(masked.into_inner());
            self.stored = Some(self.text.clone().into_owned());
            self.same = false;
        }
    }

    /// The piece as JSON, also when a tool returned JSON as text.
    fn value(&self) -> Option<Value> {
        let looks = self.json || self.text.trim_start().starts_with(['{', '[']);
        if looks { serde_json::from_str(&self.text).ok() } else { None }
    }

    /// Escapes what looks like the fence.
    pub(super) fn escape(&mut self, warnings: &mut Vec<String>) {
        if let Cow::Owned(escaped) = fence::escape(&self.text) {
            self.text = Cow::Owned(escaped);
            self.same = false;
            warnings.push("the text held marks like those of the fence; they were escaped".to_owned());
        }
    }

    /// Shortens the piece to `room` tokens.
    pub(super) fn shorten(&mut self, input: &ProjectionInput<'_>, room: Tokens, warnings: &mut Vec<String>) {
        if matches!(self.whole, Whole::Media(..)) {
            return;
        }
        let before = self.text.len();
        let text = self.shortened_json(room).unwrap_or_else(|| self.shortened_text(input, room));
        self.text = Cow::Owned(text);
        (self.lossy, self.same) = (true, false);
        warnings.push(format!("cut from {before} to {} bytes", self.text.len()));
    }

    /// As JSON, when it is JSON and comes out within the budget.
    fn shortened_json(&self, room: Tokens) -> Option<String> {
        let value = self.value()?;
        [4, 3, 2]
            .into_iter()
            .map(|quarters| json::shorten(&value, Tokens(room.0 / 4 * quarters)))
            .find(|text| cut::fits(text, room))
    }

    fn shortened_text(&self, input: &ProjectionInput<'_>, room: Tokens) -> String {
        let relevant =
            if input.output.projection.summarize { passages::relevant(&self.text, input.query, room) } else { None };
        let text = relevant.unwrap_or_else(|| passages::head_and_tail(&self.text, room));
        cut::to_tokens(&text, room).to_owned()
    }

    /// What to store of it.
    pub(super) fn artifact(&self) -> Option<Artifact> {
        let make = || match &self.stored {
            Some(text) => self.whole.masked(text.clone()),
            None => self.whole.artifact(),
        };
        self.artifact.get_or_init(make).clone()
    }

    /// Whether the model is told where the whole lies. A line of media says it already.
    pub(super) fn needs_reference(&self) -> bool {
        self.lossy && !matches!(self.whole, Whole::Media(..))
    }

    /// Whether the whole piece holds these words.
    pub(super) fn whole_contains(&self, words: &str) -> bool {
        match self.whole {
            Whole::Text(text) | Whole::Json(text) => text.contains(words),
            Whole::Media(..) => false,
        }
    }
}

/// What is said of masked places.
pub(super) fn said(input: &ProjectionInput<'_>, count: usize) -> String {
    let what = if input.redactor.kinds().is_empty() { "secrets" } else { "secrets or personal data" };
    format!("{count} places with {what} were masked")
}

impl Whole<'_> {
    /// The whole, with its text masked.
    fn masked(&self, text: String) -> Option<Artifact> {
        match *self {
            Self::Text(_) => Artifact::new(text, "text/plain"),
            Self::Json(_) => Artifact::new(text, "application/json"),
            Self::Media(..) => self.artifact(),
        }
    }

    fn artifact(&self) -> Option<Artifact> {
        match *self {
            Self::Text(text) => Artifact::new(text.to_owned(), "text/plain"),
            Self::Json(text) => Artifact::new(text.to_owned(), "application/json"),
            Self::Media(mime, bytes) => Artifact::new(bytes.clone(), mime),
        }
    }
}

/// The fields the gate wants masked.
fn obliged<'a>(input: &ProjectionInput<'a>) -> impl Iterator<Item = &'a String> {
    input.obligations.iter().flat_map(|obligation| match obligation {
        Obligation::Redact(fields) => fields.as_slice(),
        Obligation::RedactPersonal(_)
        | Obligation::CapTokens(_)
        | Obligation::CapCalls(_)
        | Obligation::Approvers(_) => &[],
    })
}

/// The text without long Base64 data, and how many there were; `None` when there was none.
fn without_data(text: &str) -> Option<(String, usize)> {
    const MARK: &str = ";base64,";
    let (mut out, mut done, mut count) = (String::new(), 0, 0);
    for (at, _) in text.match_indices(MARK) {
        let start = at + MARK.len();
        let data = text.get(start..).unwrap_or_default();
        let length = data
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_'))
            .count();
        if start < done || length <= LONGEST_DATA {
            continue;
        }
        out.push_str(text.get(done..start).unwrap_or_default());
        out.push_str(&format!("[{} bytes left out]", length / 4 * 3));
        done = start + length;
        count += 1;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (count > 0).then_some((out, count))
}
