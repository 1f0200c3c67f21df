//! Masks secrets: known ones by value, others by their shape or by the name of the field they stand in; and personal data,
//! found by its form and checked.
//!
//! It is the one choke point: results, errors, logs, spans and exports pass through it. Ordinary text comes out as it
//! went in; what was masked once is not masked again.

mod card;
mod email;
mod iban;
mod named;
mod number;
mod phone;
mod shape;
mod variants;

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

use super::{Known, Personal, PersonalKinds};
use variants::Forms;

/// What stands in place of a secret.
pub const MASK: &str = "[redacted]";

/// No secret in a field is shorter than this with its name: `pwd=a1`.
const SHORTEST: usize = 6;

/// How often a text is looked through at most.
const MAX_ROUNDS: usize = 8;

/// Something that passed the redactor. Only [`Redactor`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<T> {
    value: T,
    masked: usize,
}

impl<T> Redacted<T> {
    /// How many places were masked.
    pub const fn masked(&self) -> usize {
        self.masked
    }

    /// The value, which may be shown.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl Redacted<Cow<'_, str>> {
    /// The same, owned.
    pub fn into_owned(self) -> Redacted<String> {
        Redacted { value: self.value.into_owned(), masked: self.masked }
    }
}

impl<T: AsRef<str>> Redacted<T> {
    /// The text, which may be shown.
    pub fn as_str(&self) -> &str {
        self.value.as_ref()
    }
}

impl<T: fmt::Display> fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Masks secrets and, of personal data, the kinds it is told to. Cheap to clone; build one per process, after all secrets
/// are known.
#[derive(Clone)]
pub struct Redactor {
    known: Option<Arc<Forms>>,
    personal: PersonalKinds,
}

impl Default for Redactor {
    fn default() -> Self {
        Self { known: None, personal: PersonalKinds::of(&[Personal::Card]) }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} known secrets)", if self.known.is_some() { "with" } else { "no" })
    }
}

impl Redactor {
    /// A redactor that masks the values in `known` (also Base64, percent-encoded and JSON-escaped) beside everything that
    /// has the shape or the field name of a secret; and payment cards, until it is told otherwise.
    pub fn new(known: &Known) -> Self {
        Self { known: Forms::of(known).map(Arc::new), ..Self::default() }
    }

    /// The same, masking these kinds of personal data and no others.
    #[must_use]
    pub fn personal(mut self, kinds: PersonalKinds) -> Self {
        self.personal = kinds;
        self
    }

    /// The same, masking these kinds of personal data as well.
    #[must_use]
    pub fn also(&self, kinds: PersonalKinds) -> Self {
        Self { known: self.known.clone(), personal: self.personal.and(kinds) }
    }

    /// Which kinds of personal data it masks.
    pub const fn kinds(&self) -> PersonalKinds {
        self.personal
    }

    /// Masks the secrets in a text. Borrows when there is none.
    pub fn text<'a>(&self, text: &'a str) -> Redacted<Cow<'a, str>> {
        self.apply(text, &[], Form::of(text))
    }

    /// Masks the secrets in a JSON text, which stays valid JSON: a masked number becomes a string.
    pub fn json<'a>(&self, text: &'a str) -> Redacted<Cow<'a, str>> {
        match unescape(text) {
            Some(plain) => Redacted::from(self.apply(&plain, &[], Form::Json).into_owned()),
            None => self.apply(text, &[], Form::Json),
        }
    }

    /// Masks the secrets in a text, and besides them whatever value stands after one of the names in `fields`
    /// (`name: value`, `name=value`, `"name": "value"`).
    pub fn text_with_fields<'a>(&self, text: &'a str, fields: &[&str]) -> Redacted<Cow<'a, str>> {
        self.apply(text, fields, Form::of(text))
    }

    /// Masks the part `range` of a text, with an eye on what stands around it: a secret that is cut by an end of the range
    /// is masked all the same, so nobody reads one in halves.
    pub fn window(&self, text: &str, range: Range<usize>) -> Redacted<String> {
        let part = text.get(range.clone()).unwrap_or_default();
        let spans: Vec<Range<usize>> = self
            .spans(text, &[], Form::of(text))
            .into_iter()
            .filter(|span| span.start < range.end && span.end > range.start)
            .map(|span| span.start.max(range.start) - range.start..span.end.min(range.end) - range.start)
            .collect();
        Redacted { masked: spans.len(), value: splice(part, spans, Form::Text, &|_| MASK) }
    }

    /// What a person sees of the arguments of a call before agreeing to it: all of them, but in place of the value of a known
    /// secret its name (`[secret env:NAME]`).
    pub fn for_approver<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let Some(known) = &self.known else { return Cow::Borrowed(arguments) };
        let spans: Vec<Range<usize>> = known.pattern.find_iter(arguments).map(|found| found.range()).collect();
        if spans.is_empty() {
            return Cow::Borrowed(arguments);
        }
        Cow::Owned(splice(arguments, spans, Form::of(arguments), &|form| known.name(form)))
    }

    fn apply<'a>(&self, text: &'a str, fields: &[&str], form: Form) -> Redacted<Cow<'a, str>> {
        let mut out = Redacted { value: Cow::Borrowed(text), masked: 0 };
        // A mask may lay bare what was glued to the secret before; with nothing masked there is one round.
        for _ in 0..MAX_ROUNDS {
            let spans = if out.value.len() < SHORTEST { Vec::new() } else { self.spans(&out.value, fields, form) };
            if spans.is_empty() {
                break;
            }
            out = Redacted {
                masked: out.masked + spans.len(),
                value: Cow::Owned(splice(&out.value, spans, form, &|_| MASK)),
            };
        }
        out
    }

    /// Where secrets are: in order, apart from each other.
    fn spans(&self, text: &str, fields: &[&str], form: Form) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        if let Some(known) = &self.known {
            spans.extend(known.pattern.find_iter(text).map(|found| found.range()));
        }
        shape::find(text, &mut spans);
        named::find(text, fields, form, &mut spans);
        self.find_personal(text, &mut spans);
        if spans.len() > 1 {
            spans.sort_unstable_by_key(|span| (span.start, span.end));
            spans.dedup_by(|next, kept| {
                let touch = next.start <= kept.end;
                if touch {
                    kept.end = kept.end.max(next.end);
                }
                touch
            });
        }
        spans
    }
}

impl Redactor {
    fn find_personal(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        let kinds = self.personal;
        if kinds.holds(Personal::Card) {
            card::find(text, spans);
        }
        if kinds.holds(Personal::Email) {
            email::find(text, spans);
        }
        if kinds.and(NO_NUMBERS) != NO_NUMBERS {
            number::find(text, kinds, spans);
        }
    }
}

/// The kinds that need no walk over the numbers of a text.
const NO_NUMBERS: PersonalKinds = PersonalKinds::of(&[Personal::Card, Personal::Email]);

impl From<Redacted<String>> for Redacted<Cow<'_, str>> {
    fn from(owned: Redacted<String>) -> Self {
        Redacted { value: Cow::Owned(owned.value), masked: owned.masked }
    }
}

/// What kind of text is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl Form {
    /// What `text` looks like.
    fn of(text: &str) -> Self {
        let ends = (text.trim_start().bytes().next(), text.trim_end().bytes().next_back());
        match ends {
            (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => Self::Json,
            _ => Self::Text,
        }
    }
}

/// JSON may spell any letter as `\u00…`: such a text is written anew, so that nothing hides behind an escape.
fn unescape(text: &str) -> Option<String> {
    if !text.contains("\\u00") {
        return None;
    }
    serde_json::from_str::<serde_json::Value>(text).ok().map(|value| value.to_string())
}

/// The text with something else in place of each span.
fn splice<'m>(text: &str, spans: Vec<Range<usize>>, form: Form, mask: &dyn Fn(&str) -> &'m str) -> String {
    let mut out = String::with_capacity(text.len() + MASK.len() * spans.len());
    let (mut done, mut quotes) = (0, Quotes::default());
    for mut span in spans {
        let mask = mask(text.get(span.clone()).unwrap_or_default());
        let bare = form == Form::Json && !quotes.inside(text, span.start);
        if bare {
            span = scalar(text, span);
        }
        let from = span.start.max(done);
        out.push_str(text.get(done..from).unwrap_or_default());
        if bare {
            out.push('"');
            out.push_str(mask);
            out.push('"');
        } else {
            out.push_str(mask);
        }
        done = span.end.max(done);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Follows whether a byte of a JSON text is inside a string. Asked in ascending order, it reads the text once.
#[derive(Default)]
struct Quotes {
    at: usize,
    open: bool,
    escaped: bool,
}

impl Quotes {
    fn inside(&mut self, text: &str, until: usize) -> bool {
        for byte in text.as_bytes().get(self.at..until).unwrap_or_default() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.open,
                b'"' => self.open = !self.open,
                _ => {}
            }
        }
        self.at = self.at.max(until);
        self.open
    }
}

/// The whole bare JSON value that `span` is a part of.
fn scalar(text: &str, span: Range<usize>) -> Range<usize> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let before = text.as_bytes().get(..span.start).unwrap_or_default();
    let after = text.as_bytes().get(span.end..).unwrap_or_default();
    span.start - before.iter().rev().take_while(|b| part(b)).count()
        ..span.end + after.iter().take_while(|b| part(b)).count()
}

#[cfg(test)]
mod tests;
