//! The forms in which a known secret may turn up.

use std::collections::HashMap;

use regex::Regex;

use super::{Known, MASK};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// All forms of all secrets.
pub(super) struct Forms {
    /// One pattern of literals, the longest first.
    pub(super) pattern: Regex,
    /// What stands for each form where an approver sees it.
    names: HashMap<String, String>,
}

impl Forms {
    /// `None` when there is no secret.
    pub(super) fn of(known: &Known) -> Option<Self> {
        let mut names: HashMap<String, String> = HashMap::new();
        for (value, reference) in known.values() {
            let name = reference.map_or_else(|| MASK.to_owned(), |reference| format!("[secret {reference}]"));
            // Inside JSON it has to stay a string.
            let name = name.replace(['"', '\\'], "?");
            for form in
                variants(value).into_iter().filter(|form| form.len() >= Known::MIN_BYTES && !MASK.contains(form))
            {
                names.entry(form).or_insert_with(|| name.clone());
            }
        }
        let mut all: Vec<&String> = names.keys().collect();
        all.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        let literals: Vec<String> = all.into_iter().map(|form| regex::escape(form)).collect();
        if literals.is_empty() {
            return None;
        }
        // Literals alone always compile; the bound is lifted because there may be many long ones.
        let pattern = regex::RegexBuilder::new(&literals.join("|")).size_limit(256 << 20).build().ok()?;
        Some(Self { pattern, names })
    }

    /// What an approver sees in place of a form.
    pub(super) fn name(&self, form: &str) -> &str {
        self.names.get(form).map_or(MASK, String::as_str)
    }
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
