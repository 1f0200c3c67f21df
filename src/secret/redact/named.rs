//! Values that stand after the name of a secret: `"password": "hunter2"`, `API_KEY=…`, `Authorization: Basic …`, `密码：…`.
//!
//! JSON, YAML, headers, command lines and query strings look alike here: a name, `:` or `=`, a value. The name
//! alone is not enough, since prose and source code are full of such names: the value has to look like a secret
//! as well, the more so the less it stands apart from its surroundings.

use std::ops::Range;

use super::{Form, MASK, Quotes};

/// What kind of secret a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// May be any word.
    Password,
    /// Looks random.
    Key,
    /// `<scheme> <credentials>`.
    Authorization,
    /// `name=value; name=value`.
    Cookie,
    /// The caller wants it masked, whatever it is.
    Wanted,
}

const NAMES: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("pwd", Kind::Password),
    ("密码", Kind::Password),
    ("口令", Kind::Password),
    ("secret", Kind::Key),
    ("token", Kind::Key),
    ("apikey", Kind::Key),
    ("accesskey", Kind::Key),
    ("secretkey", Kind::Key),
    ("privatekey", Kind::Key),
    ("signingkey", Kind::Key),
    ("credential", Kind::Key),
    ("credentials", Kind::Key),
    ("signature", Kind::Key),
    ("密钥", Kind::Key),
    ("令牌", Kind::Key),
    ("authorization", Kind::Authorization),
    ("cookie", Kind::Cookie),
];

/// A token of this kind is a place in a list, not a secret, and the model needs it to go on.
const PLACES: &[&str] = &["page", "next", "cursor", "continu", "sync", "resume", "stop"];

/// Bytes of a name that are looked at.
const LONGEST_NAME: usize = 48;
/// Bytes of a value that are looked at: longer ones are no passwords.
const LONGEST_VALUE: usize = 4096;
const LONGEST_BARE_VALUE: usize = 512;

/// A value and how it stands in the text.
struct Value<'a> {
    text: &'a str,
    start: usize,
    quote: Option<&'static str>,
}

/// Adds the values in `text` that stand after the name of a secret, or after one of `wanted`.
pub(super) fn find(text: &str, wanted: &[&str], form: Form, spans: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut quotes = Quotes::default();
    // A bare value that was no secret has no secret of its kind in its end either: it is not looked at again.
    let mut plain: Option<(Kind, usize)> = None;
    // Blocks without a separator are the most, and are passed over quickly.
    for (block, part) in bytes.chunks(BLOCK).enumerate() {
        if !part.iter().fold(false, |any, byte| any | is_separator(*byte)) {
            continue;
        }
        for (at, _) in part.iter().enumerate().filter(|(_, byte)| is_separator(**byte)) {
            let end = block * BLOCK + at + 1;
            let Some((kind, start)) = kind(text, end, wanted) else { continue };
            if plain.is_some_and(|(of, until)| of == kind && end < until) {
                continue;
            }
            // Inside a JSON string the next bare quote ends it; no value begins there.
            let inside = form == Form::Json && quotes.inside(text, start);
            let value = value(text, end, kind).filter(|value| !(inside && value.quote == Some("\"")));
            let Some(value) = value else { continue };
            match secret(&value, kind) {
                Some(span) => spans.push(span),
                None if value.quote.is_none() => plain = Some((kind, value.start + value.text.len())),
                None => {}
            }
        }
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// `:`, `=`, or the last byte of a full-width colon.
const fn is_separator(byte: u8) -> bool {
    matches!(byte, b':' | b'=' | 0x9a)
}

const WIDE_COLON: &str = "：";

/// What the name before the separator that ends at byte `end` promises, and where the separator starts.
fn kind(text: &str, end: usize, wanted: &[&str]) -> Option<(Kind, usize)> {
    let bytes = text.as_bytes();
    let start = match bytes.get(end.checked_sub(1)?) {
        Some(0x9a) => end.checked_sub(WIDE_COLON.len()).filter(|start| text.get(*start..end) == Some(WIDE_COLON))?,
        Some(_) | None => end - 1,
    };
    let trim = |from: usize, drop: fn(&u8) -> bool| {
        from - bytes.get(..from).unwrap_or_default().iter().rev().take(4).take_while(|byte| drop(byte)).count()
    };
    let close = trim(trim(start, |byte| *byte == b' '), |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'));
    // The cheap look first: names end in few letters.
    let last = *bytes.get(close.checked_sub(1)?)?;
    let telling =
        matches!(last.to_ascii_lowercase(), b'd' | b'e' | b't' | b'n' | b'y' | b'l' | b's') || !last.is_ascii();
    if wanted.is_empty() && !telling {
        return None;
    }
    let from = text.floor_char_boundary(close.saturating_sub(LONGEST_NAME));
    let before = text.get(from..close)?;
    if !wanted.is_empty() {
        let word = before.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).next().unwrap_or(before);
        if wanted.iter().any(|wanted| wanted.rsplit(['.', '/']).next() == Some(word)) {
            return Some((Kind::Wanted, start));
        }
    }
    let last = last.to_ascii_lowercase();
    let alike = NAMES.iter().filter(|(word, _)| word.as_bytes().last() == Some(&last));
    let (rest, kind) = alike.into_iter().find_map(|(word, kind)| Some((ends_with(before, word)?, *kind)))?;
    let rest = rest.rsplit(|c: char| !is_of_name(c)).next().unwrap_or(rest).to_ascii_lowercase();
    let place = kind == Kind::Key && PLACES.iter().any(|place| rest.contains(place));
    (!place).then_some((kind, start))
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ')
}

/// What stands before `word` if `text` ends with it, whatever its case and with `_`, `-`, `.` or a blank anywhere in it.
fn ends_with<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    if !word.is_ascii() {
        return text.strip_suffix(word);
    }
    let bytes = text.as_bytes();
    let mut at = bytes.len();
    for (index, letter) in word.bytes().rev().enumerate() {
        at = at.checked_sub(1)?;
        while index > 0 && matches!(bytes.get(at), Some(b'_' | b'-' | b'.' | b' ')) {
            at = at.checked_sub(1)?;
        }
        if !bytes.get(at)?.eq_ignore_ascii_case(&letter) {
            return None;
        }
    }
    text.get(..at)
}

/// The value that begins after the separator.
fn value(text: &str, from: usize, kind: Kind) -> Option<Value<'_>> {
    let rest = text.get(from..)?;
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    for quote in ["\\\"", "\"", "'", "`"] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let inner = inner.get(..inner.floor_char_boundary(LONGEST_VALUE))?;
            let end = closing(inner, quote)?;
            return Some(Value { text: inner.get(..end)?, start: start + quote.len(), quote: Some(quote) });
        }
    }
    let rest = rest.get(..rest.floor_char_boundary(LONGEST_BARE_VALUE))?;
    let end = match kind {
        Kind::Authorization | Kind::Cookie => rest.find(['\r', '\n', '"', '\'', '`', '<', '\\']),
        Kind::Password | Kind::Key | Kind::Wanted => rest.find(|c: char| {
            !c.is_ascii_graphic()
                || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>' | '\\' | '|')
                || matches!(c, '(' | ')' | '{' | '}' | '[' | ']')
        }),
    };
    let cut = end.unwrap_or(rest.len());
    let called = matches!(rest.as_bytes().get(cut), Some(b'(' | b'[' | b'{' | b'<'));
    let text = rest.get(..cut)?.trim_end_matches(['.', ' ']);
    (!text.is_empty() && !called).then_some(Value { text, start, quote: None })
}

/// Where the quote that was opened is closed. No value holds a bare double quote: it would reach out of its JSON string.
fn closing(inner: &str, quote: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'"' if escaped && quote == "\\\"" => return at.checked_sub(1),
            b'"' if !escaped => return (quote == "\"").then_some(at),
            b'\'' | b'`' if !escaped && quote.as_bytes() == [byte] => return Some(at),
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    None
}

/// The part of the value that is a secret.
fn secret(value: &Value<'_>, kind: Kind) -> Option<Range<usize>> {
    let text = value.text;
    let whole = value.start..value.start + text.len();
    if text.is_empty() || text.contains(MASK) {
        return None;
    }
    match kind {
        Kind::Wanted => Some(whole),
        Kind::Password => is_password(value).then_some(whole),
        Kind::Key => is_random(text).then_some(whole),
        Kind::Cookie => {
            text.split(';').any(|pair| pair.split_once('=').is_some_and(|(_, value)| is_random(value))).then_some(whole)
        }
        Kind::Authorization => match text.split_once(' ') {
            Some((_, credentials)) => {
                let ok = credentials.len() >= 6 && !credentials.contains(' ') && !is_placeholder(credentials);
                ok.then_some(whole.end - credentials.len()..whole.end)
            }
            None => is_random(text).then_some(whole),
        },
    }
}

/// In quotes any word may be a password; bare, it must not read like prose or source code.
fn is_password(value: &Value<'_>) -> bool {
    let text = value.text;
    if is_placeholder(text) || text.contains(char::is_whitespace) || text.starts_with('/') {
        return false;
    }
    let odd = |b: u8| {
        b.is_ascii_digit() || matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'~' | b'?')
    };
    value.quote.is_some()
        || (text.len() >= 4 && text.bytes().any(odd) && text.bytes().any(|b| b.is_ascii_alphabetic()))
        || (text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a text looks drawn at random: letters and digits mixed, or long and in both cases.
pub(super) fn is_random(text: &str) -> bool {
    let graphic = text.bytes().all(|b| b.is_ascii_graphic());
    if !graphic || text.len() < 8 || is_placeholder(text) || text.contains("://") {
        return false;
    }
    let (mut digits, mut lower, mut upper) = (0usize, 0usize, 0usize);
    for byte in text.bytes() {
        digits += usize::from(byte.is_ascii_digit());
        lower += usize::from(byte.is_ascii_lowercase());
        upper += usize::from(byte.is_ascii_uppercase());
    }
    let letters = lower + upper;
    let mixed = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= 8 && digits >= 2 && digits < part.len()
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(mixed)
        || (text.len() >= 12 && digits >= 3 && letters >= 3)
        || (text.len() >= 20
            && digits + letters > text.len() * 9 / 10
            && lower >= 4
            && upper >= 4
            && distinct(text) >= 10)
}

fn distinct(text: &str) -> u32 {
    text.bytes().fold(0u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

/// Whether a value only says where a secret would stand.
pub(super) fn is_placeholder(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "string",
        "str",
        "text",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "required",
        "optional",
        "undefined",
        "number",
        "int",
        "integer",
        "boolean",
        "bool",
        "any",
        "object",
        "array",
        "secret",
        "password",
        "token",
        "hidden",
        "empty",
        "unset",
    ];
    let same = text.as_bytes().first().is_some_and(|first| text.bytes().all(|b| b == *first));
    same || text.starts_with(['<', '$', '{', '%', '['])
        || ["env:", "file:", "process.env", "os.environ"].iter().any(|start| text.starts_with(start))
        || ["***", "...", "…", "{{"].iter().any(|part| text.contains(part))
        || text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("your") || start.eq_ignore_ascii_case("xxxx"))
        || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
