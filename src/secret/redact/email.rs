//! E-mail addresses (RFC 5321, as they are in use: no quoted names, no address literals).

use std::ops::Range;

/// The longest part before the `@`.
const LONGEST_NAME: usize = 64;
/// The longest domain.
const LONGEST_DOMAIN: usize = 253;
/// Ends of file names that look like a domain: `icon@2x.png`.
const FILES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "pdf", "js", "mjs", "ts", "jsx", "tsx", "css", "html", "json",
    "yaml", "yml", "xml", "toml", "txt", "lock", "log", "csv", "gz", "tar", "exe", "dmg", "cpp", "hpp", "java",
];

/// Adds the addresses in `text`.
pub(super) fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices('@') {
        spans.extend(address(text, at, at + 1));
    }
    for (at, _) in text.match_indices("%40") {
        spans.extend(address(text, at, at + 3));
    }
}

/// The address around the `@` that stands at `at` and ends before `after`.
fn address(text: &str, at: usize, after: usize) -> Option<Range<usize>> {
    // The cheap look first.
    if !text.as_bytes().get(after).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80) {
        return None;
    }
    let start = name(text, at)?;
    let end = domain(text, after)?;
    let follows = text.get(end..)?;
    (!follows.starts_with('(') && !is_path(follows)).then_some(start..end)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '\u{c0}'..='\u{24f}')
}

/// Where the name before the `@` begins.
fn name(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let part = |c: char| is_letter(c) || matches!(c, '.' | '_' | '%' | '+' | '-');
    let letters = before.char_indices().rev().take(LONGEST_NAME).take_while(|(_, c)| part(*c));
    let start = letters.last()?.0;
    let name = before.get(start + escape(text.as_bytes(), start)..)?.trim_start_matches(['.', '-', '%', '+']);
    // A name and no address: `https://user@host`.
    let user = before.get(..start)?.ends_with("//");
    (!name.is_empty() && !user).then_some(at - name.len())
}

/// How many of the letters from `start` on belong to an escape of JSON: `\nann@example.com`.
pub(super) fn escape(bytes: &[u8], start: usize) -> usize {
    let slashes = bytes.get(..start).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\').count();
    match bytes.get(start) {
        Some(b'u') if slashes % 2 == 1 => 5,
        Some(b'n' | b't' | b'r' | b'b' | b'f') if slashes % 2 == 1 => 1,
        Some(_) | None => 0,
    }
}

/// Where the domain that begins at `from` ends: labels, the last one of letters only.
fn domain(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let rest = rest.get(..rest.floor_char_boundary(LONGEST_DOMAIN))?;
    let (mut at, mut end) = (0, None);
    for (number, label) in rest.split('.').enumerate() {
        let length = label.find(|c| !(is_letter(c) || c == '-')).unwrap_or(label.len());
        let label_end = at + length;
        let letters = label.find(|c: char| c.is_ascii() && !c.is_ascii_alphabetic()).unwrap_or(label.len()).min(length);
        if length == 0 || label.starts_with('-') || (number == 1 && is_version(rest.get(..at)?, label)) {
            break;
        }
        let whole = letters == length || label.get(letters..)?.starts_with('-');
        if number > 0 && letters >= 2 && whole {
            end = Some((at, at + letters));
        }
        if length < label.len() {
            break;
        }
        at = label_end + 1;
    }
    let (last, end) = end?;
    let last = rest.get(last..end)?;
    (!FILES.iter().any(|file| file.eq_ignore_ascii_case(last))).then_some(from + end)
}

/// Whether two labels begin a version: `lodash@4.17.21-beta.rc`, `checkout@v4.1`.
fn is_version(first: &str, second: &str) -> bool {
    let first = first.trim_end_matches('.').trim_start_matches('v');
    !first.is_empty()
        && first.bytes().all(|byte| byte.is_ascii_digit())
        && second.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether what follows makes a place of it: `git@host.example:team/project.git`.
fn is_path(follows: &str) -> bool {
    let Some(path) = follows.strip_prefix(':') else { return false };
    let word =
        path.bytes().take(128).take_while(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<'));
    word.into_iter().any(|byte| byte == b'/')
}
