//! A JSON parser that forgives: it reads what a person would read, and gives up where a person would have to guess.

use std::collections::HashSet;

use serde_json::{Map, Value};

use self::string::unescaped;
use super::word::{is_quote, is_regex, literal};

mod string;

/// Deepest nesting; as the strict parser's.
const MAX_DEPTH: usize = 127;

/// The longest number that a blank may end.
const LITERAL_SPAN: usize = 40;

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Object,
    Array,
}

/// The text cannot be read without guessing.
struct GiveUp;

type Read<T> = Result<T, GiveUp>;

pub(super) struct Parser {
    text: Vec<char>,
    at: usize,
    /// What was forgiven, each once.
    pub(super) notes: Vec<String>,
    noted: HashSet<&'static str>,
}

impl Parser {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.chars().collect(), at: 0, notes: Vec::new(), noted: HashSet::new() }
    }

    /// The value the text begins with. Where `several` is allowed, values that follow one another make an array.
    pub(super) fn document(&mut self, several: bool) -> Option<Value> {
        let first = self.value(Within::Array, 0).ok()?;
        if !several {
            return Some(first);
        }
        let mut rest = Vec::new();
        loop {
            self.blanks();
            if self.peek() == Some(',') {
                self.at += 1;
                self.blanks();
            }
            if !matches!(self.peek(), Some('{' | '[')) {
                break;
            }
            rest.push(self.value(Within::Array, 0).ok()?);
        }
        if rest.is_empty() {
            return Some(first);
        }
        self.note("several values were taken as a list");
        rest.insert(0, first);
        Some(Value::Array(rest))
    }

    /// Whether only closing signs are left, which have nothing to close.
    pub(super) fn is_at_end(&mut self) -> bool {
        loop {
            self.blanks();
            match self.peek() {
                None => return true,
                Some('}' | ']' | ')' | ';' | ',' | '`') => self.at += 1,
                Some(_) => return false,
            }
        }
    }

    fn note(&mut self, what: &'static str) {
        if self.noted.insert(what) {
            self.notes.push(what.to_owned());
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn char_at(&self, place: usize) -> Option<char> {
        self.text.get(place).copied()
    }

    fn starts_with(&self, place: usize, what: &str) -> bool {
        what.chars().enumerate().all(|(n, c)| self.char_at(place + n) == Some(c))
    }

    /// The first place from `place` on that is neither blank nor comment.
    fn past_blanks(&self, mut place: usize) -> usize {
        loop {
            match self.char_at(place) {
                Some(c) if c.is_whitespace() || c == '\u{feff}' => place += 1,
                Some('/') if self.starts_with(place, "//") => {
                    while self.char_at(place).is_some_and(|c| c != '\n') {
                        place += 1;
                    }
                }
                Some('/') if self.starts_with(place, "/*") => {
                    place += 2;
                    while place < self.text.len() && !self.starts_with(place, "*/") {
                        place += 1;
                    }
                    place = (place + 2).min(self.text.len());
                }
                _ => return place,
            }
        }
    }

    fn blanks(&mut self) {
        let past = self.past_blanks(self.at);
        if self.text.get(self.at..past).is_some_and(|skipped| skipped.contains(&'/')) {
            self.note("comments were left out");
        }
        self.at = past;
    }

    /// The end of the text, or what follows the value when it was cut off inside a fence or a tag.
    fn is_cut(&self, place: usize) -> bool {
        self.char_at(place).is_none() || self.starts_with(place, "```") || self.starts_with(place, "</")
    }

    fn value(&mut self, within: Within, depth: usize) -> Read<Value> {
        if depth > MAX_DEPTH {
            return Err(GiveUp);
        }
        self.blanks();
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some(c) if is_quote(c) => self.string(within).map(Value::String),
            Some(_) => self.bare(within),
            None => Err(GiveUp),
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        self.at += 1;
        let mut map = Map::new();
        let mut after_comma = true;
        loop {
            self.blanks();
            if self.is_cut(self.at) {
                self.note("a missing `}` was added");
                break;
            }
            match self.peek() {
                Some('}') => {
                    self.at += 1;
                    break;
                }
                // A list around the object ends: the brace is missing.
                Some(']') => {
                    self.note("a missing `}` was added");
                    break;
                }
                // An empty place: what stood there cannot be known.
                Some(',') if after_comma => return Err(GiveUp),
                Some(',') => {
                    self.at += 1;
                    after_comma = true;
                    continue;
                }
                _ => {}
            }
            if !after_comma {
                self.note("a missing comma was added");
            }
            let Some(key) = self.key()? else { break };
            let value = self.member(depth)?;
            map.insert(key, value);
            after_comma = false;
        }
        if after_comma && !map.is_empty() {
            self.note("a comma before a closing bracket was removed");
        }
        Ok(Value::Object(map))
    }

    /// A key and its colon; `None` when the text ends before the colon.
    fn key(&mut self) -> Read<Option<String>> {
        let key = match self.peek() {
            Some(c) if is_quote(c) => {
                let cut = self.next_quote(self.at).is_none();
                let end = self.key_end(self.at).or(cut.then_some(self.text.len())).ok_or(GiveUp)?;
                let raw: String = self.text.get(self.at + 1..end).unwrap_or_default().iter().collect();
                self.at = (end + 1).min(self.text.len());
                unescaped(&raw)
            }
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|c| {
                    !matches!(c, ':' | ',' | '{' | '}' | '[' | ']' | '\n') && !is_comment(self, self.at)
                }) {
                    self.at += 1;
                }
                let raw: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
                let raw = raw.trim().trim_end_matches(['"', '\'']).to_owned();
                if raw.is_empty() && self.peek().is_some() || raw.contains(is_quote) || raw.contains("...") {
                    return Err(GiveUp);
                }
                self.note("quotes were added to keys");
                raw
            }
        };
        self.blanks();
        match self.peek() {
            Some(':') => {
                self.at += 1;
                Ok(Some(key))
            }
            None => {
                self.note("a key without a value at the end was left out");
                Ok(None)
            }
            Some(_) => Err(GiveUp),
        }
    }

    fn member(&mut self, depth: usize) -> Read<Value> {
        self.blanks();
        if self.is_cut(self.at) || matches!(self.peek(), Some('}')) {
            self.note("a missing value was taken as null");
            return Ok(Value::Null);
        }
        self.value(Within::Object, depth + 1)
    }

    fn array(&mut self, depth: usize) -> Read<Value> {
        self.at += 1;
        let mut list = Vec::new();
        let mut after_comma = true;
        loop {
            self.blanks();
            if self.is_cut(self.at) {
                self.note("a missing `]` was added");
                break;
            }
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    break;
                }
                Some('}') => {
                    self.note("a missing `]` was added");
                    // `[1, 2}, "next": …`: the brace stands for the bracket.
                    let after = self.past_blanks(self.at + 1);
                    if self.char_at(after) == Some(',') && self.is_key(self.past_blanks(after + 1)) {
                        self.at += 1;
                    }
                    break;
                }
                Some(':') => return Err(GiveUp),
                Some(',') if after_comma => return Err(GiveUp),
                Some(',') => {
                    self.at += 1;
                    after_comma = true;
                    continue;
                }
                Some('.') if self.starts_with(self.at, "...") => {
                    self.at += 3;
                    self.note("an ellipsis was left out");
                    self.blanks();
                    if self.peek() == Some(',') {
                        self.at += 1;
                    }
                    continue;
                }
                _ => {}
            }
            if !after_comma {
                self.note("a missing comma was added");
            }
            list.push(self.value(Within::Array, depth + 1)?);
            after_comma = false;
        }
        if after_comma && !list.is_empty() {
            self.note("a comma before a closing bracket was removed");
        }
        Ok(Value::Array(list))
    }

    /// A value without quotes: a number, a literal, or words.
    fn bare(&mut self, within: Within) -> Read<Value> {
        let start = self.at;
        while let Some(c) = self.peek() {
            if matches!(c, ',' | '}' | ']' | '\n') || is_comment(self, self.at) || self.is_cut(self.at) {
                break;
            }
            let blank = c.is_whitespace();
            if within == Within::Array && matches!(c, ':' | '[' | '{') {
                return Err(GiveUp);
            }
            if blank && (self.is_key(self.past_blanks(self.at)) || self.ends_literal(start)) {
                break;
            }
            self.at += 1;
        }
        let raw: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
        let word = raw.trim();
        let word = word.strip_suffix(['"', '\'']).unwrap_or(word);
        if word.is_empty() || is_regex(word) {
            return Err(GiveUp);
        }
        let newline_next = within == Within::Array && {
            let next = self.past_blanks(self.at);
            !matches!(self.char_at(next), None | Some(',' | ']' | '}'))
        };
        let value = literal(word).unwrap_or_else(|| Value::String(unescaped(word)));
        if value.is_string() {
            if newline_next {
                return Err(GiveUp);
            }
            self.note("quotes were added to a value");
        } else if serde_json::from_str::<Value>(word).is_err() {
            self.note("a literal of another language was read");
        }
        Ok(value)
    }

    /// Whether the text since `start` is a number or a literal, so that a blank ends it.
    fn ends_literal(&self, start: usize) -> bool {
        if self.at - start > LITERAL_SPAN {
            return false;
        }
        let word: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
        let next = self.past_blanks(self.at);
        let begins =
            self.char_at(next).is_some_and(|c| matches!(c, '{' | '[' | '-') || is_quote(c) || c.is_ascii_digit());
        let word_next = ["true", "false", "null"].iter().any(|word| self.starts_with(next, word));
        literal(&word).is_some() && (begins || word_next)
    }
}

/// Whether a value holds words without structure only, as a remark in brackets does.
pub(super) fn is_only_words(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().all(Value::is_string),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

fn is_comment(parser: &Parser, place: usize) -> bool {
    let blank_before = place == 0 || parser.char_at(place - 1).is_some_and(char::is_whitespace);
    parser.starts_with(place, "/*") || (blank_before && parser.starts_with(place, "//"))
}
