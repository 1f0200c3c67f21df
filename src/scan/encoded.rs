//! Texts inside the text: written in bits, hexadecimal, Base64, percent signs or invisible letters.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::hidden;

/// What is read of an encoded text.
const LONGEST: usize = 4096;
/// How many are read.
const MOST: usize = 16;

static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?:\b[01]{7,8}\s){4,}[01]{7,8}|(?:\\x[0-9a-fA-F]{2}){4,}|(?:%[0-9a-fA-F]{2}){8,}|[A-Za-z0-9+/]{24,}={0,2}").ok()
});

/// The encoded texts that hold words, with where they stand.
pub(super) fn find(raw: &str, hidden: &[(hidden::Hidden, Range<usize>)]) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for (_, range) in hidden.iter().filter(|(kind, _)| *kind == hidden::Hidden::Tags).take(MOST) {
        let text = hidden::spelled(raw.get(range.clone()).unwrap_or_default());
        if !text.is_empty() {
            found.push((text, range.clone()));
        }
    }
    let Some(runs) = RUNS.as_ref() else { return found };
    for run in runs.find_iter(raw) {
        if found.len() >= MOST {
            break;
        }
        if let Some(text) = decode(cut(run.as_str())).filter(|text| has_words(text)) {
            found.push((text, run.range()));
        }
    }
    found
}

/// The runs are ASCII.
fn cut(run: &str) -> &str {
    run.get(..LONGEST).unwrap_or(run)
}

fn decode(run: &str) -> Option<String> {
    let bytes = if run.starts_with("\\x") || run.starts_with('%') {
        let hex: Vec<u8> = run.bytes().filter(u8::is_ascii_hexdigit).collect();
        pairs(&hex)
    } else if run.bytes().any(|b| b.is_ascii_whitespace()) {
        run.split_ascii_whitespace().filter_map(|bits| u8::from_str_radix(bits, 2).ok()).collect()
    } else if run.bytes().all(|b| b.is_ascii_hexdigit()) {
        pairs(run.as_bytes())
    } else {
        base64(run.trim_end_matches('='))
    };
    String::from_utf8(bytes).ok()
}

fn pairs(hex: &[u8]) -> Vec<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    hex.chunks_exact(2)
        .filter_map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

/// Base64 without padding; what is left over at the end is dropped.
fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    out
}

/// Two words at least, and nothing but text.
fn has_words(text: &str) -> bool {
    let plain = text.chars().filter(|c| !c.is_control() || c.is_whitespace()).count() == text.chars().count();
    let words = text
        .split_whitespace()
        .filter(|word| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || ",.!?:'".contains(c)));
    plain && words.take(2).count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_code_is_read() {
        let of = |raw: &str| find(raw, &hidden::find(raw)).into_iter().map(|(text, _)| text).collect::<Vec<_>>();
        assert_eq!(of("see aWdub3JlIHRoZSByZXN0IG9mIHRoaXM= end"), ["ignore the rest of this"]);
        assert_eq!(of(r"x \x69\x67\x6e\x6f\x72\x65\x20\x61\x6c\x6c"), ["ignore all"]);
        assert_eq!(of("%67%6f%20%68%6f%6d%65%21%21"), ["go home!!"]);
        assert_eq!(of("01101000 01101001 00100000 01111001 01101111 01110101"), ["hi you"]);
        assert_eq!(of("69676e6f726520616c6c206f6620697421"), ["ignore all of it!"]);
        for fine in [
            "d41d8cd98f00b204e9800998ecf8427e",
            "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
            "a/very/long/path/to/some/file/name",
        ] {
            assert_eq!(of(fine), Vec::<String>::new(), "{fine}");
        }
    }
}
