//! Numbers of people: telephones, identity numbers, bank accounts. One walk over the groups of digits in a text; at each
//! group a bounded look decides what it begins.

use std::ops::Range;

use super::{email, iban, phone};
use crate::secret::{Personal, PersonalKinds};

/// Bytes that are looked at together for a digit.
const BLOCK: usize = 64;

/// Adds the numbers of these kinds in `text`.
pub(super) fn find(text: &str, kinds: PersonalKinds, spans: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let (mut at, mut last_phone) = (0, None);
    while let Some(start) = next_digit(bytes, at) {
        let group = start..start + digits(bytes, start);
        at = group.end;
        let found = if kinds.holds(Personal::IdNumber) { identity(bytes, group.clone()) } else { None };
        let found = found.or_else(|| if kinds.holds(Personal::Iban) { account(bytes, &group) } else { None });
        if let Some(span) = found {
            at = at.max(span.end);
            spans.push(span);
        } else if kinds.holds(Personal::Phone)
            && let Some((span, digits)) = phone::number(text, &group, last_phone)
        {
            (at, last_phone) = (span.end, Some((span.end, digits)));
            spans.push(span);
        }
    }
}

fn next_digit(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let blocks =
        rest.chunks(BLOCK).position(|block| block.iter().fold(false, |any, byte| any | byte.is_ascii_digit()))?;
    let block = rest.get(blocks * BLOCK..)?;
    block.iter().position(u8::is_ascii_digit).map(|at| from + blocks * BLOCK + at)
}

/// How many digits stand at `at`.
pub(super) fn digits(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether a number that begins at `start` is only the end of something longer: a word, a decimal, a path, a price.
pub(super) fn is_glued(bytes: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1).and_then(|at| bytes.get(at)) else { return false };
    match before {
        b'_' | b'-' | b'#' | b'/' | b'$' | b'%' | b'+' => true,
        // `Tel.` ends a word, `c-.5` does not.
        b'.' => !start
            .checked_sub(3)
            .and_then(|at| bytes.get(at..at + 2))
            .is_some_and(|two| two.iter().all(u8::is_ascii_alphabetic)),
        byte => byte.is_ascii_alphanumeric() && !is_escape(bytes, start),
    }
}

/// Whether an escape of JSON ends at `end`: `\n` or `\u4e2d`.
fn is_escape(bytes: &[u8], end: usize) -> bool {
    let begins = |length: usize| {
        end.checked_sub(length)
            .is_some_and(|at| bytes.get(at.wrapping_sub(1)) == Some(&b'\\') && email::escape(bytes, at) == length)
    };
    begins(1) || begins(5)
}

/// Whether a number may end at `end`: what follows is not more of it.
pub(super) fn is_end(bytes: &[u8], end: usize) -> bool {
    let digit_after = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    match bytes.get(end) {
        None => true,
        Some(b'_' | b'%') => false,
        Some(b'.' | b',' | b'-' | b':' | b'/') => !digit_after,
        // An extension: `555-0199x12`.
        Some(b'x') => digit_after,
        Some(byte) => !byte.is_ascii_alphanumeric(),
    }
}

/// The account whose digits begin with this group.
fn account(bytes: &[u8], group: &Range<usize>) -> Option<Range<usize>> {
    let start = group.start.checked_sub(2)?;
    if group.len() < 2 || is_glued(bytes, start) { None } else { iban::account(bytes, start) }
}

/// The Chinese identity number that this group is: six digits of a region, a birthday, three digits, a check digit.
fn identity(bytes: &[u8], group: Range<usize>) -> Option<Range<usize>> {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    const CHECKS: &[u8; 11] = b"10X98765432";
    let end = match (group.len(), bytes.get(group.end)) {
        (18, _) => group.end,
        (17, Some(b'X' | b'x')) => group.end + 1,
        _ => return None,
    };
    let number = bytes.get(group.start..end)?;
    let value = |range: Range<usize>| {
        number.get(range).map(|part| part.iter().fold(0, |sum, d| sum * 10 + u32::from(d - b'0')))
    };
    let (region, year, month, day) = (value(0..2)?, value(6..10)?, value(10..12)?, value(12..14)?);
    let of_region = matches!(region, 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83 | 91);
    let born = (1900..=2099).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let sum: u32 = number.iter().zip(WEIGHTS).map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    let check = CHECKS.get(usize::try_from(sum % 11).ok()?)?;
    let right = number.last().is_some_and(|last| last.eq_ignore_ascii_case(check));
    (of_region && born && right && !is_glued(bytes, group.start) && is_end(bytes, end)).then_some(group.start..end)
}
