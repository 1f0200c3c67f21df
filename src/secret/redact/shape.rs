//! Secrets that give themselves away by their shape: keys with a vendor's prefix, tokens, private keys, passwords in
//! addresses. Prefixes and lengths as the vendors document them (looked up 2026-05).
//!
//! One search over the whole text finds the prefixes; what follows a prefix is looked at by hand. That is linear, and
//! quicker by far than an expression for each shape.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::named::is_placeholder;

/// What a key is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    /// Letters and digits.
    Alnum,
    /// Besides them `_` and `-`.
    Token,
    /// Besides them `.` as well.
    Dotted,
}

impl Letters {
    const fn hold(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Self::Alnum => false,
                Self::Token => matches!(byte, b'_' | b'-'),
                Self::Dotted => matches!(byte, b'_' | b'-' | b'.'),
            }
    }
}

/// A vendor's key: a prefix at the start of a word, and then letters.
struct Key {
    prefix: &'static str,
    letters: Letters,
    /// At least this many letters after the prefix.
    least: usize,
    /// What else must be true of the letters after the prefix.
    check: fn(&str) -> bool,
}

const fn key(prefix: &'static str, letters: Letters, least: usize, check: fn(&str) -> bool) -> Key {
    Key { prefix, letters, least, check }
}

const KEYS: &[Key] = &[
    // OpenAI, Anthropic, DeepSeek, Aliyun Bailian, OpenRouter and many more; `sk-learn` is none.
    key("sk-", Letters::Token, 13, has_random_part),
    key("sk_", Letters::Token, 16, has_random_part),
    key("rk_", Letters::Token, 16, has_random_part),
    key("whsec_", Letters::Token, 16, has_random_part),
    key("AKIA", Letters::Alnum, 16, is_aws_id),
    key("ASIA", Letters::Alnum, 16, is_aws_id),
    key("LTAI", Letters::Alnum, 12, has_digits),
    key("AKID", Letters::Alnum, 24, has_digits),
    key("AIza", Letters::Token, 35, any),
    key("ya29.", Letters::Token, 20, any),
    key("ghp_", Letters::Alnum, 36, any),
    key("gho_", Letters::Alnum, 36, any),
    key("ghu_", Letters::Alnum, 36, any),
    key("ghs_", Letters::Alnum, 36, any),
    key("ghr_", Letters::Alnum, 36, any),
    key("github_pat_", Letters::Token, 40, any),
    key("glpat-", Letters::Token, 20, any),
    key("xoxa-", Letters::Token, 10, has_digits),
    key("xoxb-", Letters::Token, 10, has_digits),
    key("xoxe-", Letters::Token, 10, has_digits),
    key("xoxp-", Letters::Token, 10, has_digits),
    key("xoxr-", Letters::Token, 10, has_digits),
    key("xoxs-", Letters::Token, 10, has_digits),
    key("xai-", Letters::Alnum, 40, any),
    key("gsk_", Letters::Alnum, 40, any),
    key("hf_", Letters::Alnum, 30, any),
    key("tvly-", Letters::Token, 20, has_digits),
    key("npm_", Letters::Alnum, 36, any),
    key("pypi-", Letters::Token, 50, any),
    key("SG.", Letters::Dotted, 33, |text| text.contains('.')),
    // A signed token (RFC 7519): header and payload are JSON objects, so both begin with `{"`.
    key("eyJ", Letters::Dotted, 24, |text| text.contains(".eyJ")),
];

const ADDRESS: &str = "://";
const BEARER: [&str; 3] = ["Bearer", "bearer", "BEARER"];
const PEM: &str = "-----BEGIN ";

/// How much of a key is checked; it is masked to its end all the same.
const CHECKED: usize = 512;
/// The longest user name and password in an address.
const LONGEST_PART: usize = 256;
/// The longest private key.
const LONGEST_PEM: usize = 16 * 1024;

/// Every prefix. Literals alone, so the search is one of literals.
static PREFIXES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let others = [ADDRESS, PEM].into_iter().chain(BEARER);
    let all: Vec<String> = KEYS.iter().map(|key| key.prefix).chain(others).map(regex::escape).collect();
    Regex::new(&all.join("|")).ok()
});

/// Adds the secrets in `text` that have a known shape.
pub(super) fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    let Some(prefixes) = PREFIXES.as_ref() else { return };
    let mut runs = Runs::default();
    for found in prefixes.find_iter(text) {
        let after = found.end();
        let secret = match found.as_str() {
            ADDRESS => password(text, after),
            PEM => private_key(text, found.start(), after),
            prefix if BEARER.contains(&prefix) => bearer(text, after, &mut runs),
            prefix => vendor_key(text, prefix, found.range(), &mut runs),
        };
        spans.extend(secret);
    }
}

/// Ends of runs of letters that were found already, so that a text of many prefixes is not walked again and again.
#[derive(Default)]
struct Runs {
    known: [Range<usize>; 3],
    /// A prefix, and how far what follows was seen to hold no key of it.
    plain: Option<(&'static str, usize)>,
}

impl Runs {
    /// Where the run of letters that holds byte `from` ends.
    fn end(&mut self, text: &str, from: usize, letters: Letters) -> usize {
        let [alnum, token, dotted] = &mut self.known;
        let known = match letters {
            Letters::Alnum => alnum,
            Letters::Token => token,
            Letters::Dotted => dotted,
        };
        if !known.contains(&from) {
            let rest = text.as_bytes().get(from..).unwrap_or_default();
            *known = from..from + rest.iter().take_while(|byte| letters.hold(**byte)).count();
        }
        known.end.max(from)
    }
}

fn vendor_key(text: &str, prefix: &str, at: Range<usize>, runs: &mut Runs) -> Option<Range<usize>> {
    let key = KEYS.iter().find(|key| key.prefix == prefix)?;
    let before = at.start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let end = runs.end(text, at.end, key.letters);
    if runs.plain.is_some_and(|(of, until)| of == key.prefix && at.end < until) {
        return None;
    }
    let letters = text.get(at.end..end.min(at.end + CHECKED))?;
    if end - at.end >= key.least && (key.check)(letters) {
        return Some(at.start..end);
    }
    // Of a long run the first half of what was checked: a key shows itself in the other half.
    let until = if end - at.end <= CHECKED { end } else { at.end + CHECKED / 2 };
    runs.plain = Some((key.prefix, until));
    None
}

fn any(_: &str) -> bool {
    true
}

fn is_aws_id(letters: &str) -> bool {
    letters.len() == 16 && letters.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Letters alone are words, not keys.
fn has_digits(letters: &str) -> bool {
    digits(letters) >= 2
}

/// One of the parts must look random: `sk-learn-0-24-documentation` has none.
fn has_random_part(letters: &str) -> bool {
    letters
        .split(['-', '_'])
        .any(|part| part.len() >= 8 && digits(part) >= 2 && (part.len() >= 12 || digits(part) < part.len()))
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// The token after `Bearer` (RFC 6750, 2.1).
fn bearer(text: &str, from: usize, runs: &mut Runs) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let blanks = bytes.get(from..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = from + blanks;
    let mut end = runs.end(text, start, Letters::Dotted);
    while bytes.get(end).is_some_and(|byte| matches!(byte, b'~' | b'+' | b'/' | b'=')) {
        end = runs.end(text, end + 1, Letters::Dotted);
    }
    let token = text.get(start..end.min(start + CHECKED))?;
    (blanks > 0 && token.len() >= 8 && has_digits(token)).then_some(start..end)
}

/// The password in `://user:password@host` (RFC 3986, 3.2.1).
fn password(text: &str, from: usize) -> Option<Range<usize>> {
    let part =
        |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'@' | b'"' | b'\'' | b'<' | b'>' | b'\\');
    let rest = text.as_bytes().get(from..)?;
    let user = rest.iter().take(LONGEST_PART).take_while(|byte| part(byte) && **byte != b':').count();
    if rest.get(user) != Some(&b':') {
        return None;
    }
    let after = rest.get(user + 1..)?;
    let length = after.iter().take(LONGEST_PART).take_while(|byte| part(byte)).count();
    let start = from + user + 1;
    let value = text.get(start..start + length)?;
    (after.get(length) == Some(&b'@') && !is_placeholder(value)).then_some(start..start + length)
}

/// A private key in PEM (RFC 7468), in one piece or broken off. Certificates and public keys are no secrets.
fn private_key(text: &str, start: usize, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let rest = rest.get(..rest.floor_char_boundary(LONGEST_PEM))?;
    let (label, body) = rest.split_once("-----").filter(|(label, _)| label.len() <= 60)?;
    let named = label.trim_end_matches(" BLOCK").ends_with("PRIVATE KEY");
    let plain = label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    if !named || !plain {
        return None;
    }
    // A string that holds the key ends at the quote.
    let body = body.split('"').next().unwrap_or(body);
    let body_at = from + label.len() + 5;
    let lines = base64_lines(body);
    if let Some((inner, after)) = body.split_once("-----END") {
        let close = after.find("-----").map(|at| at + 5).filter(|close| *close <= 70)?;
        let long = inner.split(|c: char| !is_base64(c)).any(|run| run.len() >= SHORTEST_LINE);
        return long.then_some(start..body_at + inner.len() + 8 + close);
    }
    (lines > 0).then_some(start..body_at + lines)
}

/// Lines of a key are longer than the words of a sentence.
const SHORTEST_LINE: usize = 16;

const fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// How far the lines of Base64 at the start of `body` reach.
fn base64_lines(body: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = body.get(end..).unwrap_or_default();
        let line = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let line = ["\\n", "\\r\\n"].iter().find_map(|escape| line.strip_prefix(escape)).unwrap_or(line);
        let length = line.bytes().take_while(|byte| is_base64(char::from(*byte))).count();
        if length < SHORTEST_LINE {
            return end;
        }
        end = body.len() - line.len() + length;
    }
}
