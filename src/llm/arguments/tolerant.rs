//! A JSON parser that forgives: it reads what a person would read, and gives up where a person would have to guess.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Deepest nesting; as the strict parser's.
const MAX_DEPTH: usize = 127;

/// How far a look ahead for a key goes.
const KEY_SPAN: usize = 160;

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
        let mut rest = Vec::new();
        while several {
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

    /// A string in any quotes, its end found by what follows.
    fn string(&mut self, within: Within) -> Read<String> {
        let opening = self.peek().unwrap_or('"');
        if opening != '"' {
            self.note("quotes were made plain");
        }
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.at += 1;
                self.escape(&mut out);
                continue;
            }
            if closes(opening, c) {
                if self.is_end(within, self.at) {
                    self.at += 1;
                    return Ok(out);
                }
                if within == Within::Object && self.is_key(self.at) && ends_open(&out) {
                    return Ok(self.closed_early(&out));
                }
                if within == Within::Array {
                    // A key in a list: whether the list or an object was left open cannot be known.
                    if self.char_at(self.past_blanks(self.at + 1)) == Some(':') {
                        return Err(GiveUp);
                    }
                    let next = self.next_quote(self.at);
                    if ends_open(&out) && next.is_some_and(|next| self.is_end(within, next)) {
                        return Ok(self.closed_early(&out));
                    }
                }
                self.note("quotes inside a string were kept");
            }
            if c < ' ' {
                self.note("raw control characters in a string were escaped");
            }
            out.push(c);
            self.at += 1;
        }
        self.note("a string that was cut off was closed");
        Ok(out.trim_end().to_owned())
    }

    /// A string whose closing quote is missing, up to the comma that follows it.
    fn closed_early(&mut self, out: &str) -> String {
        self.note("a missing quote was added");
        let kept = out.trim_end();
        kept.strip_suffix(',').unwrap_or(kept).trim_end().to_owned()
    }

    /// The next quote that could close a string opened at `place`.
    fn next_quote(&self, place: usize) -> Option<usize> {
        let opening = self.char_at(place)?;
        let rest = self.text.get(place + 1..)?;
        rest.iter().position(|c| closes(opening, *c)).map(|offset| place + 1 + offset)
    }

    fn escape(&mut self, out: &mut String) {
        let Some(c) = self.peek() else { return };
        self.at += 1;
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' | '\'' => out.push(c),
            'u' => {
                let hex: String =
                    self.text.get(self.at..(self.at + 4).min(self.text.len())).unwrap_or_default().iter().collect();
                match self.unicode(&hex) {
                    Some(read) => out.push(read),
                    None => out.push_str("\\u"),
                }
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }

    /// The character of `\uXXXX`, of a pair where it is half of one. Moves past it.
    fn unicode(&mut self, hex: &str) -> Option<char> {
        let first = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 4)?;
        if !(0xD800..0xDC00).contains(&first) {
            let read = char::from_u32(first)?;
            self.at += 4;
            return Some(read);
        }
        let low: String = self.text.get(self.at + 6..self.at + 10).unwrap_or_default().iter().collect();
        let low = u32::from_str_radix(&low, 16).ok().filter(|low| (0xDC00..0xE000).contains(low))?;
        let read = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00))?;
        self.at += 10;
        Some(read)
    }

    /// Whether the quote at `place` ends its string.
    fn is_end(&self, within: Within, place: usize) -> bool {
        let next = self.past_blanks(place + 1);
        let Some(c) = self.char_at(next) else { return true };
        let apart = next > place + 1;
        match (within, c) {
            (_, '}' | ']') => true,
            (Within::Object, ',') => {
                let after = self.past_blanks(next + 1);
                let cut_key = || self.char_at(after).is_some_and(is_quote) && self.next_quote(after).is_none();
                self.char_at(after).is_none_or(|c| matches!(c, '}' | ']' | ',')) || self.is_key(after) || cut_key()
            }
            (Within::Object, _) => self.is_key(next) || self.is_cut(next),
            (Within::Array, ',') => true,
            (Within::Array, c) if is_quote(c) => {
                let stray = !apart && matches!(self.char_at(self.past_blanks(next + 1)), Some(',' | ']') | None);
                !stray
            }
            (Within::Array, '{' | '[') => true,
            (Within::Array, c) => {
                let literal = c.is_ascii_digit()
                    || ["true", "false", "null", "-"].iter().any(|word| self.starts_with(next, word));
                apart && literal || self.is_cut(next)
            }
        }
    }

    /// Whether a key and its colon stand at `place`.
    fn is_key(&self, place: usize) -> bool {
        match self.char_at(place) {
            Some(c) if is_quote(c) => self.key_end(place).is_some(),
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {
                let span = self.text.get(place..).unwrap_or_default().iter().take(KEY_SPAN);
                let length = span.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.')).count();
                let colon = self.past_blanks(place + length);
                self.char_at(colon) == Some(':') && !self.starts_with(colon, "://")
            }
            _ => false,
        }
    }

    /// Where the quoted key that begins at `place` has its closing quote, if a colon follows.
    fn key_end(&self, place: usize) -> Option<usize> {
        let opening = self.char_at(place)?;
        let mut at = place + 1;
        while at < place + KEY_SPAN {
            match self.char_at(at)? {
                '\\' => at += 1,
                '\n' => return None,
                c if closes(opening, c) => {
                    let colon = self.past_blanks(at + 1);
                    if self.char_at(colon) == Some(':') {
                        return Some(at);
                    }
                    if matches!(self.char_at(colon), Some(',' | '}' | ']')) {
                        return None;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
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
        let value = literal(word);
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
        let word: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
        let next = self.past_blanks(self.at);
        let begins =
            self.char_at(next).is_some_and(|c| matches!(c, '{' | '[' | '-') || is_quote(c) || c.is_ascii_digit());
        let word_next = ["true", "false", "null"].iter().any(|word| self.starts_with(next, word));
        !literal(&word).is_string() && (begins || word_next)
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

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '”' | '„' | '‘' | '’' | '´')
}

/// Whether `c` may close a string that `opening` opened.
fn closes(opening: char, c: char) -> bool {
    match opening {
        '"' | '\'' | '`' => c == opening,
        '“' | '”' | '„' => matches!(c, '“' | '”' | '"'),
        _ => matches!(c, '‘' | '’' | '´' | '\'' | '`'),
    }
}

/// Whether a string that lacks its closing quote may have ended here: a comma or a line break stands last.
fn ends_open(out: &str) -> bool {
    let kept = out.trim_end();
    kept.ends_with(',') || out.get(kept.len()..).is_some_and(|blank| blank.contains('\n'))
}

fn is_regex(word: &str) -> bool {
    let Some((body, flags)) = word.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) else { return false };
    !body.is_empty() && flags.chars().all(|c| c.is_ascii_lowercase())
}

/// The value of a word without quotes.
fn literal(word: &str) -> Value {
    match word {
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        "null" | "None" | "NULL" | "undefined" => Value::Null,
        _ => number(word).unwrap_or_else(|| Value::String(unescaped(word))),
    }
}

/// A number as people write it: `.5`, `1.`, `1e`; not `007`, `0xFF` or `1-2`.
fn number(word: &str) -> Option<Value> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let sign = if unsigned.len() < word.len() { "-" } else { "" };
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, "" | "+" | "-")) => (mantissa, String::new()),
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (unsigned, String::new()),
    };
    let zero = if mantissa.starts_with('.') { "0" } else { "" };
    let after = if mantissa.ends_with('.') { "0" } else { "" };
    let text = format!("{sign}{zero}{mantissa}{after}{exponent}");
    serde_json::from_str::<Value>(&text).ok().filter(Value::is_number)
}

/// A text with its escapes read; an escape JSON does not know stays as it is.
fn unescaped(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_owned();
    }
    let mut parser = Parser::new(raw);
    let mut out = String::with_capacity(raw.len());
    while let Some(c) = parser.peek() {
        parser.at += 1;
        if c == '\\' { parser.escape(&mut out) } else { out.push(c) }
    }
    out
}
