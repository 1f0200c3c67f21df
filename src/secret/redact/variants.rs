//! The forms in which a known secret may turn up.

use regex::Regex;

use super::{Known, MASK};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// One pattern of literals for all forms of all secrets, the longest first; `None` when there is none.
pub(super) fn pattern(known: &Known) -> Option<Regex> {
    let mut all: Vec<String> = known.values().flat_map(variants).collect();
    all.retain(|form| form.len() >= Known::MIN_BYTES && !MASK.contains(form.as_str()));
    all.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    all.dedup();
    if all.is_empty() {
        return None;
    }
    let literals: Vec<String> = all.iter().map(|form| regex::escape(form)).collect();
    // Literals alone always compile; the bound is lifted because there may be many long ones.
    regex::RegexBuilder::new(&literals.join("|")).size_limit(256 << 20).build().ok()
}

fn variants(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    let mut forms = vec![value.to_owned(), json.replace('/', "\\/"), json, percent(value, true), percent(value, false)];
    for alphabet in [STANDARD, URL_SAFE] {
        forms.extend((0..3).map(|shift| base64_core(value.as_bytes(), shift, alphabet)));
    }
    forms
}

fn percent(value: &str, upper: bool) -> String {
    let mut out = String::with_capacity(value.len() * 3);
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else if upper {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// The Base64 letters that depend on `value` alone when it stands `shift` bytes into a group of three.
fn base64_core(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> String {
    let bit = |at: usize| value.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    // The first letter that begins inside the value: 6-bit letters against a value that begins at bit 8 × shift.
    let skip = match shift {
        0 => 0,
        1 => 4,
        _ => 2,
    };
    let mut out = String::new();
    let mut at = skip;
    while at + 6 <= value.len() * 8 {
        let letter = (at..at + 6).fold(0usize, |sum, next| sum << 1 | usize::from(bit(next)));
        out.extend(alphabet.get(letter).map(|byte| char::from(*byte)));
        at += 6;
    }
    out
}
