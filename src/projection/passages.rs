//! Shortens a text to a token budget: to the passages that speak of the question, or to its head and its tail.

use crate::{text::cut, types::Tokens};

/// What the note on what was left out costs at most.
const NOTE: u64 = 24;
/// A passage ends at the first sentence end after this many bytes,
const PASSAGE_BYTES: usize = 240;
/// or here at the latest.
const LONGEST_PASSAGE: usize = 720;
/// Texts are looked through this far for passages.
const LOOK: usize = 8 << 20;
/// At most this many words of a question are looked for.
const MOST_TERMS: usize = 32;

/// The head and the tail of `text` within `budget`, with a note between them.
pub(super) fn head_and_tail(text: &str, budget: Tokens) -> String {
    let room = budget.0.saturating_sub(NOTE);
    let head = to_line_end(cut::to_tokens(text, Tokens(room - room / 3)));
    let rest = text.get(head.len()..).unwrap_or_default();
    let tail = from_line_start(cut::tail_tokens(rest, Tokens(room / 3)));
    let left_out = rest.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

/// Drops a broken last line when little is lost by it.
fn to_line_end(head: &str) -> &str {
    match head.rfind('\n') {
        Some(at) if at >= head.len() / 4 * 3 => head.get(..at).unwrap_or(head),
        Some(_) | None => head,
    }
}

fn from_line_start(tail: &str) -> &str {
    match tail.find('\n') {
        Some(at) if at <= tail.len() / 4 => tail.get(at + 1..).unwrap_or(tail),
        Some(_) | None => tail,
    }
}

/// The passages of `text` that speak most of `question`, in their order, within `budget`. `None` when none does.
pub(super) fn relevant(text: &str, question: &str, budget: Tokens) -> Option<String> {
    let terms = terms(question);
    let passages = split(cut::to_bytes(text, LOOK));
    let scores = scores(&passages, &terms);
    let mut order: Vec<usize> =
        (0..passages.len()).filter(|at| scores.get(*at).is_some_and(|score| *score > 0.0)).collect();
    if order.is_empty() {
        return None;
    }
    let score = |at: &usize| scores.get(*at).copied().unwrap_or_default();
    order.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
    let mut room = budget.0.saturating_sub(NOTE);
    let mut kept: Vec<usize> = Vec::new();
    for at in order {
        // A gap before it costs a mark.
        let cost = passages.get(at).map_or(0, |passage| cut::tokens(passage).0 + 6);
        if cost <= room {
            room -= cost;
            kept.push(at);
        }
    }
    kept.sort_unstable();
    (!kept.is_empty()).then(|| join(text, &passages, &kept))
}

fn join(text: &str, passages: &[&str], kept: &[usize]) -> String {
    let (mut out, mut shown, mut next) = (String::new(), 0, 0);
    for at in kept {
        if *at != next {
            out.push_str("[…]\n");
        }
        let passage = passages.get(*at).copied().unwrap_or_default();
        out.push_str(passage.trim_end());
        out.push('\n');
        shown += passage.len();
        next = at + 1;
    }
    out.push_str(&format!("[… {} of {} bytes left out …]", text.len() - shown, text.len()));
    out
}

/// The words of a question, lower-case; of Chinese, Japanese and Korean the pairs of characters.
fn terms(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let mut terms: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<char> = word.chars().collect();
        if chars.iter().any(|c| is_wide(*c)) {
            terms.extend(chars.windows(2).map(|pair| pair.iter().collect()));
        } else if chars.len() >= 2 {
            terms.push(word.to_owned());
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms.truncate(MOST_TERMS);
    terms
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Cuts a text at paragraph and sentence ends into passages. Together they are the text.
fn split(text: &str) -> Vec<&str> {
    let (mut passages, mut start, mut before) = (Vec::new(), 0, '\0');
    for (at, c) in text.char_indices() {
        let length = at - start;
        let paragraph = before == '\n' && c == '\n';
        let sentence = length >= PASSAGE_BYTES
            && (matches!(before, '\n' | '。' | '！' | '？') || (c == ' ' && matches!(before, '.' | '!' | '?')));
        if length > 0 && (paragraph || sentence || length >= LONGEST_PASSAGE) {
            let end = cut::floor(text, at);
            passages.extend(text.get(start..end).filter(|passage| !passage.is_empty()));
            start = end;
        }
        before = c;
    }
    passages.extend(text.get(start..).filter(|rest| !rest.trim().is_empty()));
    passages
}

/// How much each passage speaks of the terms: rare terms count more (as in BM25), the first passage a little.
fn scores(passages: &[&str], terms: &[String]) -> Vec<f64> {
    let counts: Vec<Vec<u32>> = passages
        .iter()
        .map(|passage| {
            let lower = passage.to_lowercase();
            terms.iter().map(|term| count(&lower, term)).collect()
        })
        .collect();
    let total = to_f64(passages.len());
    let weights: Vec<f64> = (0..terms.len())
        .map(|term| {
            let with = to_f64(counts.iter().filter(|counts| counts.get(term).is_some_and(|n| *n > 0)).count());
            (1.0 + (total - with + 0.5) / (with + 0.5)).ln()
        })
        .collect();
    let score = |counts: &Vec<u32>| -> f64 {
        counts.iter().zip(&weights).map(|(n, weight)| weight * f64::from(*n) / (f64::from(*n) + 1.0)).sum()
    };
    let mut scores: Vec<f64> = counts.iter().map(score).collect();
    if let Some(first) = scores.first_mut() {
        *first *= 1.1;
    }
    scores
}

#[expect(clippy::cast_precision_loss, reason = "a number of passages is far below 2^53")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

/// How often `term` begins a word of `text`.
fn count(text: &str, term: &str) -> u32 {
    let wide = term.chars().any(is_wide);
    let begins = |at: &usize| {
        wide || !text.get(..*at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
    };
    let found = text.match_indices(term).map(|(at, _)| at).filter(begins).count();
    u32::try_from(found).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> String {
        let filler = "The weather was fine and nothing happened that day. ".repeat(8);
        format!(
            "{filler}\n\n{filler}\n\nThe refund limit is 500 euro per order.\n\n{filler}\n\n退款上限是每单五百欧元。\n\n{filler}"
        )
    }

    #[test]
    fn the_passages_that_speak_of_the_question_stay() {
        let text = long();
        for (question, passage) in [
            ("what is the refund limit?", "The refund limit is 500 euro per order."),
            ("退款上限是多少", "退款上限是每单五百欧元。"),
        ] {
            let short = relevant(&text, question, Tokens(120)).unwrap();
            assert!(short.contains(passage), "{short}");
            assert!(cut::fits(&short, Tokens(120)) && short.ends_with(" bytes left out …]"), "{short}");
        }
        assert_eq!(relevant(&text, "", Tokens(120)), None);
        assert_eq!(relevant(&text, "zebra", Tokens(120)), None);
    }

    #[test]
    fn head_and_tail_say_what_is_missing() {
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let short = head_and_tail(&text, Tokens(100));
        assert!(short.starts_with("line 0\nline 1\n") && short.ends_with("line 999\n"), "{short}");
        let kept: usize = short.lines().filter(|line| line.starts_with("line")).map(|line| line.len() + 1).sum();
        let said: usize = short.split("[… ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((text.len() - kept).abs_diff(said) <= 1, "{short}");
        assert!(cut::fits(&short, Tokens(100)));
    }

    #[test]
    fn passages_are_the_whole_text() {
        let text = long();
        assert_eq!(split(&text).concat(), text);
    }
}
