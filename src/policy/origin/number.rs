//! Numbers by value, not by spelling.

use super::words::{is_invisible, plain};

/// A decimal in one spelling: no zeros in front, none after the point (`1,000.50` → `1000.5`). `None` when it is no
/// plain decimal.
pub(super) fn canonical(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| *c != ',' && *c != '_').collect();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !plain(whole) || !plain(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

/// Every number of a text, in one spelling. A comma between groups of three digits joins them.
pub(super) fn all(text: &str) -> Vec<String> {
    let text: String = text.chars().filter(|c| !is_invisible(*c)).map(plain).collect();
    let mut found = Vec::new();
    for run in text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',') {
        let run = run.trim_matches(['.', ',']);
        if run.is_empty() {
            continue;
        }
        if is_grouped(run) {
            found.extend(canonical(run));
        } else {
            found.extend(run.split(',').filter_map(canonical));
        }
    }
    found
}

/// `1,000,000.5`, not `1,2`.
fn is_grouped(run: &str) -> bool {
    let whole = run.split('.').next().unwrap_or(run);
    let mut groups = whole.split(',');
    groups.next().is_some_and(|first| (1..=3).contains(&first.len())) && groups.all(|group| group.len() == 3)
}
