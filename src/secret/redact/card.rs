//! Payment card numbers: digits in groups, a known issuer, the right length and a right check digit (ISO/IEC 7812).

use std::ops::Range;

const SHORTEST: usize = 14;
const LONGEST: usize = 19;

/// Adds the card numbers in `text`. Looks at every fourteenth byte only, since a card has at least fourteen digits: those
/// of thirteen are no longer issued.
pub(super) fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = SHORTEST - 1;
    let mut done = 0;
    while let Some(byte) = bytes.get(at) {
        if !is_part(*byte) {
            at += SHORTEST;
            continue;
        }
        let run = around(bytes, at, done);
        done = run.end;
        numbers(bytes, run, spans);
        at = done + SHORTEST - 1;
    }
}

const fn is_part(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'-')
}

/// The run of digits and separators that holds `at` and begins no earlier than `from`.
fn around(bytes: &[u8], at: usize, from: usize) -> Range<usize> {
    let before = bytes.get(from..at).unwrap_or_default().iter().rev().take_while(|b| is_part(**b)).count();
    let after = bytes.get(at..).unwrap_or_default().iter().take_while(|b| is_part(**b)).count();
    at - before..at + after
}

/// Adds the card a run is, or else the cards between its blanks.
fn numbers(bytes: &[u8], run: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let digits = bytes.get(run.clone()).unwrap_or_default().iter().filter(|b| b.is_ascii_digit()).count();
    if digits < SHORTEST {
        return;
    }
    if let Some(card) = card(bytes, run.clone()) {
        spans.push(card);
        return;
    }
    let mut start = run.start;
    for piece in bytes.get(run).unwrap_or_default().split(|b| *b == b' ') {
        spans.extend(card(bytes, start..start + piece.len()));
        start += piece.len() + 1;
    }
}

/// The card number that the digits of a run are, if they are one.
fn card(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let glues = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/');
    let text = bytes.get(run.clone())?;
    let start = run.start + text.iter().position(u8::is_ascii_digit)?;
    let end = run.start + text.iter().rposition(u8::is_ascii_digit)? + 1;
    let number = bytes.get(start..end)?;
    if number.len() > 2 * LONGEST || number.windows(2).any(|pair| pair.iter().all(|b| !b.is_ascii_digit())) {
        return None;
    }
    let digits: Vec<u8> = number.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
    let glued = start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(glues)
        || bytes.get(end).is_some_and(|b| glues(b) && *b != b'.');
    let fits = (SHORTEST..=LONGEST).contains(&digits.len());
    // Nineteen digits from 4 on are a card only where they are written like one: ids look like that, too.
    let bare = digits.len() == LONGEST && digits.len() == number.len() && digits.first() == Some(&4);
    (fits && !glued && !bare && is_issued(&digits) && is_luhn(&digits)).then_some(start..end)
}

/// Whether first digits and length belong together: Visa, Mastercard, American Express, Discover, UnionPay, JCB, Diners.
fn is_issued(digits: &[u8]) -> bool {
    let first = digits.iter().take(4).fold(0u32, |sum, digit| sum * 10 + u32::from(*digit));
    match first {
        4000..=4999 => matches!(digits.len(), 16 | 19),
        5100..=5599 | 2221..=2720 | 6011 | 6440..=6499 | 6500..=6599 | 3528..=3589 => digits.len() == 16,
        3400..=3499 | 3700..=3799 => digits.len() == 15,
        6200..=6299 => digits.len() >= 16,
        3600..=3699 | 3800..=3899 | 3000..=3059 => digits.len() == 14,
        _ => false,
    }
}

fn is_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits.iter().rev().enumerate().fold(0, |sum, (place, digit)| {
        let digit = u32::from(*digit);
        sum + match place % 2 {
            0 => digit,
            _ if digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        }
    });
    sum.is_multiple_of(10)
}
