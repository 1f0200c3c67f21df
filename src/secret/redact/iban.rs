//! International bank account numbers: country, length and check digits (ISO 13616; lengths of the registry, release 99).

use std::ops::Range;

const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The account that begins at `at`, two letters before a group of at least two digits.
pub(super) fn account(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let country = [*bytes.get(at)?, *bytes.get(at + 1)?];
    let alike = country.iter().all(u8::is_ascii_uppercase) || country.iter().all(u8::is_ascii_lowercase);
    let upper = country.map(|letter| letter.to_ascii_uppercase());
    let length = LENGTHS.iter().find(|(of, _)| alike && **of == upper)?.1;
    let (mut taken, mut digits, mut remainder, mut end) = (0, 0, 0u64, at);
    let mut head = 0u64;
    while taken < length {
        let byte = *bytes.get(end)?;
        end += 1;
        if matches!(byte, b' ' | b'-') && taken > 0 && bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let value = u64::from(char::from(byte).to_digit(36)?);
        digits += usize::from(byte.is_ascii_digit());
        let into = if taken < 4 { &mut head } else { &mut remainder };
        *into = if value < 10 { *into * 10 + value } else { *into * 100 + value };
        remainder %= 97;
        taken += 1;
    }
    // Two letters of two digits each, and two digits, go to the end.
    let right = (remainder * 1_000_000 + head) % 97 == 1;
    let ends = !bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (right && ends && digits * 2 >= length).then_some(at..end)
}
