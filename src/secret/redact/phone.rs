//! Telephone numbers: international ones (E.164), and the national forms that cannot be taken for another number. Where the
//! form alone does not say it, the word before the number has to (`phone`, `手机`), and a word like `order` speaks against it.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::number::{digits, is_end, is_glued};

/// No number has more groups.
const MOST_GROUPS: usize = 7;
/// No number has more digits, its prefix counted.
const MOST_DIGITS: usize = 17;
/// How far before a number a word may stand that says what it is.
const CONTEXT: usize = 32;
/// Between two numbers of a list.
const BETWEEN: usize = 4;

/// Words that announce a telephone number.
const PHONE: &[&str] = &[
    "phone",
    "telephone",
    "cellphone",
    "tel",
    "mobile",
    "fax",
    "whatsapp",
    "wechat",
    "telefon",
    "handy",
    "mobil",
    "téléphone",
    "teléfono",
    "móvil",
    "telefono",
    "cellulare",
    "电话",
    "手机",
    "联系方式",
    "座机",
    "传真",
    "携帯",
    "電話",
    "전화",
];
/// Words that announce another number.
const OTHER: &[&str] = &[
    "order",
    "orders",
    "invoice",
    "id",
    "ids",
    "uid",
    "ref",
    "reference",
    "ticket",
    "tracking",
    "version",
    "serial",
    "sku",
    "isbn",
    "issn",
    "doi",
    "timestamp",
    "ts",
    "hash",
    "commit",
    "build",
    "batch",
    "amount",
    "price",
    "count",
    "size",
    "bytes",
    "port",
    "seed",
    "offset",
    "bestellung",
    "rechnung",
    "订单",
    "订单号",
    "单号",
    "编号",
    "流水",
    "流水号",
    "时间戳",
    "运单",
    "金额",
];

/// What stands between two groups of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sep {
    Space,
    Dash,
    Dot,
    Slash,
    /// A bracket was closed.
    Close,
}

/// What stands before the first digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Plus,
    Open,
    Nothing,
}

/// Groups of digits that may belong together.
#[derive(Debug, Default)]
struct Groups {
    /// All digits, as far as they count.
    digits: [u8; MOST_DIGITS + 1],
    /// How many groups there are.
    count: usize,
    /// Digits up to the end of each group, and where it ends in the text.
    ends: [(usize, usize); MOST_GROUPS],
    /// What stands after each group but the last.
    seps: [Option<Sep>; MOST_GROUPS],
}

/// The telephone number that was found before: where it ended, and how many digits it had.
pub(super) type Last = Option<(usize, usize)>;

/// The number that begins with a group of digits, and how many digits it has.
pub(super) fn number(text: &str, group: &Range<usize>, last: Last) -> Option<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let groups = Groups::collect(bytes, group.start);
    if groups.total(groups.count) < 7 {
        return None;
    }
    let (start, lead) = lead(bytes, group.start);
    let listed = |end: usize| {
        let between = text.get(end..start).unwrap_or_default();
        !between.is_empty()
            && between.len() <= BETWEEN
            && between.trim_matches(|c| " ,;/|、，；".contains(c)).is_empty()
    };
    let near = last.filter(|(end, _)| listed(*end));
    let joined = if lead == Lead::Plus { is_summand(bytes, start) } else { is_glued(bytes, start) };
    if near.is_none() && joined {
        return None;
    }
    let longest = |test: &dyn Fn(usize) -> bool| {
        (1..=groups.count).rev().find(|k| {
            let like_last = near.is_some_and(|(_, digits)| digits == groups.total(*k));
            (like_last || test(*k)) && is_end(bytes, groups.end(*k))
        })
    };
    let said = || Said::before(text, start);
    let count = match lead {
        Lead::Plus => longest(&|k| groups.is_international(0, k, k > 1)),
        Lead::Open => longest(&|k| groups.is_bracketed(k)),
        Lead::Nothing if groups.digits.starts_with(b"00") && groups.size(0) > 1 => {
            if goes_on(bytes, start) {
                return None;
            }
            longest(&|k| groups.is_international(2, k, true) && (k > 1 || said() == Said::Phone))
        }
        Lead::Nothing => {
            let grouped = goes_on(bytes, start) && groups.seps.first() == Some(&Some(Sep::Space));
            let assigned = bytes.get(start.saturating_sub(2)..start).is_some_and(|before| before.contains(&b'='));
            let national = |k| {
                groups.is_american(k)
                    || (k == 1 || !grouped) && (groups.is_chinese(k) && !assigned || groups.is_national(k))
            };
            match said() {
                Said::Phone => longest(&|k| national(k) || groups.is_chinese(k) || groups.may_be(k)),
                Said::Nothing => longest(&national),
                Said::Other => None,
            }
        }
    }?;
    Some((start..groups.end(count), groups.total(count)))
}

/// Whether the `+` at `start` adds two things: `a+49`, `f(x)+49`.
fn is_summand(bytes: &[u8], start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    matches!(before, Some(b')' | b']' | b'}')) || (is_glued(bytes, start) && before != Some(&b'/'))
}

/// Whether another group of digits stands before, so that this may be the rest of a longer number.
fn goes_on(bytes: &[u8], start: usize) -> bool {
    start.checked_sub(2).and_then(|at| bytes.get(at..start)).is_some_and(|before| matches!(before, [b'0'..=b'9', b' ']))
}

/// Where a number begins, its sign or bracket counted.
fn lead(bytes: &[u8], start: usize) -> (usize, Lead) {
    let before = bytes.get(..start).unwrap_or_default();
    let signs = [
        (b"+".as_slice(), Lead::Plus),
        (b"%2B", Lead::Plus),
        (b"%2b", Lead::Plus),
        ("＋".as_bytes(), Lead::Plus),
        (b"(", Lead::Open),
    ];
    let found = signs.into_iter().find(|(sign, _)| before.ends_with(sign));
    found.map_or((start, Lead::Nothing), |(sign, lead)| (start - sign.len(), lead))
}

impl Groups {
    /// The groups from `start` on, as far as they are near each other and no date begins.
    fn collect(bytes: &[u8], start: usize) -> Self {
        let mut groups = Self::default();
        let (mut at, mut before) = (start, 0);
        while !is_date(bytes, at) {
            let end = at + digits(bytes, at);
            let total = before + end - at;
            let (Some(group), Some(slot), Some(room)) =
                (bytes.get(at..end), groups.ends.get_mut(groups.count), groups.digits.get_mut(before..total))
            else {
                break;
            };
            room.copy_from_slice(group);
            *slot = (total, end);
            groups.count += 1;
            let Some((sep, next)) = separator(bytes, end) else { break };
            if let Some(after) = groups.seps.get_mut(groups.count - 1) {
                *after = Some(sep);
            }
            (at, before) = (next, total);
        }
        groups
    }

    /// Digits of the first `k` groups.
    fn total(&self, k: usize) -> usize {
        k.checked_sub(1).and_then(|last| self.ends.get(last)).map_or(0, |end| end.0)
    }

    /// Where the first `k` groups end.
    fn end(&self, k: usize) -> usize {
        k.checked_sub(1).and_then(|last| self.ends.get(last)).map_or(0, |end| end.1)
    }

    /// How many digits the group with this index has.
    fn size(&self, index: usize) -> usize {
        self.total(index + 1).saturating_sub(self.total(index))
    }

    /// Whether the first `k` groups are all, and have these sizes.
    fn sizes(&self, k: usize, sizes: &[usize]) -> bool {
        k == sizes.len() && sizes.iter().enumerate().all(|(index, size)| self.size(index) == *size)
    }

    /// Whether these stand between the first groups.
    fn between(&self, seps: &[Sep]) -> bool {
        seps.iter().zip(&self.seps).all(|(wanted, found)| *found == Some(*wanted))
    }

    /// Whether the first `k` groups are parted by dots only, or not by dots: other numbers are decimals.
    fn are_even(&self, k: usize) -> bool {
        let seps = self.seps.get(..k.saturating_sub(1)).unwrap_or_default();
        let dots = seps.iter().filter(|sep| **sep == Some(Sep::Dot)).count();
        dots == 0 || dots == seps.len()
    }

    fn digit(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or_default()
    }

    /// `0` and an area: `030 …`.
    fn has_area(&self) -> bool {
        self.digit(0) == b'0' && self.digit(1) > b'0'
    }

    /// E.164 without its sign, after `skip` digits.
    fn is_international(&self, skip: usize, k: usize, formatted: bool) -> bool {
        let Some(digits) = self.digits.get(skip..self.total(k)).filter(|_| self.are_even(k)) else { return false };
        let least = if formatted { 9 } else { 10 };
        match digits {
            [b'1', area, ..] => digits.len() == 11 && *area > b'1',
            [b'7', ..] => digits.len() == 11,
            [b'8', b'6', rest @ ..] => {
                is_chinese_mobile(rest)
                    || (rest.first() != Some(&b'1') || rest.starts_with(b"10")) && (9..=11).contains(&rest.len())
            }
            digits => is_country(digits) && (least..=14).contains(&digits.len()),
        }
    }

    /// A bracket around the area: `(415) 555-2671`, `(030) 123456`, `(11) 98765-4321`.
    fn is_bracketed(&self, k: usize) -> bool {
        let american = self.sizes(k, &[3, 3, 4]) && self.digit(0) > b'1';
        let national =
            self.has_area() && (2..=6).contains(&self.size(0)) && k <= 5 && (9..=12).contains(&self.total(k));
        let brazilian = self.sizes(k, &[2, 5, 4]) || self.sizes(k, &[2, 4, 4]);
        self.between(&[Sep::Close]) && (american || national || brazilian)
    }

    /// A mobile number of China: `13812345678`, `138 1234 5678`.
    fn is_chinese(&self, k: usize) -> bool {
        let even = self.between(&[Sep::Space; 2]) || self.between(&[Sep::Dash; 2]);
        let form = k == 1 || (self.sizes(k, &[3, 4, 4]) && even);
        form && self.digits.get(..self.total(k)).is_some_and(is_chinese_mobile)
    }

    /// A number of the North American plan: `415-555-2671`, `1-800-555-0199`, `1 (415) 555-2671`.
    fn is_american(&self, k: usize) -> bool {
        let exchange = self.digit(3) > b'1';
        if self.sizes(k, &[3, 3, 4]) {
            let dots = self.between(&[Sep::Dot; 2]) && exchange;
            return self.digit(0) > b'1' && (self.between(&[Sep::Dash; 2]) || dots);
        }
        let long = self.between(&[Sep::Dash; 3]) || self.between(&[Sep::Space, Sep::Close]);
        self.sizes(k, &[1, 3, 3, 4]) && self.digit(0) == b'1' && self.digit(1) > b'1' && long
    }

    /// `0`, an area, and a number: `030/1234567`, `0755-12345678`, `03-1234-5678`.
    fn is_national(&self, k: usize) -> bool {
        if !self.has_area() {
            return false;
        }
        let eastern = [[2, 4, 4], [3, 4, 4]].iter().any(|sizes| self.sizes(k, sizes)) && self.between(&[Sep::Dash; 2]);
        let least = match self.seps.first() {
            Some(Some(Sep::Slash)) => 9,
            Some(Some(Sep::Space | Sep::Dash)) => 10,
            Some(Some(Sep::Dot | Sep::Close) | None) | None => return eastern,
        };
        let near = (1..k).all(|index| self.size(index) > 1)
            && (1..k.saturating_sub(1)).all(|index| matches!(self.seps.get(index), Some(Some(Sep::Space | Sep::Dash))));
        let plain =
            (3..=5).contains(&self.size(0)) && (2..=4).contains(&k) && (least..=12).contains(&self.total(k)) && near;
        eastern || plain
    }

    /// Whether it may be one where the words before it say so.
    fn may_be(&self, k: usize) -> bool {
        let day = self.sizes(k, &[8]) && (self.digits.starts_with(b"19") || self.digits.starts_with(b"20"));
        (7..=13).contains(&self.total(k)) && self.size(0) > 1 && !day && self.are_even(k)
    }
}

/// The numbers that mobile operators of China have, by their first three digits (as of 2026).
fn is_chinese_mobile(digits: &[u8]) -> bool {
    let &[b'1', second, third, ..] = digits else { return false };
    let known = match second {
        b'3' | b'8' => true,
        b'4' => third >= b'4',
        b'5' | b'9' => third != b'4',
        b'6' => matches!(third, b'2' | b'5' | b'6' | b'7'),
        b'7' => third < b'9',
        _ => false,
    };
    known && digits.len() == 11
}

/// Whether a country code (ITU-T E.164) stands first.
fn is_country(digits: &[u8]) -> bool {
    let code = digits.iter().take(2).fold(0u32, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    // Codes of two digits, and the first two of those with three.
    let two =
        matches!(code, 20 | 27 | 30..=34 | 36 | 39..=41 | 43..=49 | 51..=58 | 60..=66 | 81 | 82 | 84 | 90..=95 | 98);
    two || matches!(code, 21..=26 | 29 | 35 | 37 | 38 | 42 | 50 | 59 | 67..=69 | 80 | 85 | 87 | 88 | 96 | 97 | 99)
}

/// What stands between two groups of digits, and where the second begins.
fn separator(bytes: &[u8], from: usize) -> Option<(Sep, usize)> {
    let (mut at, mut kind) = (from, None);
    for _ in 0..4 {
        let (next, length) = match bytes.get(at..)? {
            [b'0'..=b'9', ..] => return kind.map(|kind| (kind, at)),
            [b' ' | b'(', ..] => (Sep::Space, 1),
            [0xc2, 0xa0, ..] => (Sep::Space, 2),
            [b'-', ..] => (Sep::Dash, 1),
            [0xe2, 0x80, 0x91 | 0x93, ..] => (Sep::Dash, 3),
            [b'.', ..] => (Sep::Dot, 1),
            [b'/', ..] => (Sep::Slash, 1),
            [b')', ..] => (Sep::Close, 1),
            _ => return None,
        };
        kind = Some(match (kind, next) {
            (None | Some(Sep::Space), next) => next,
            (Some(kind @ (Sep::Dash | Sep::Slash | Sep::Close)), Sep::Space) => kind,
            (Some(Sep::Close), Sep::Dash | Sep::Slash) => Sep::Close,
            _ => return None,
        });
        at += length;
    }
    None
}

/// Whether a date begins at `at`: `2026-12-01`, `01.12.2026`.
fn is_date(bytes: &[u8], at: usize) -> bool {
    let Some(&[a, b, c, d, e, f, g, h, i, j]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
        return false;
    };
    let sep = |byte: u8| matches!(byte, b'-' | b'.' | b'/');
    let two = |tens: u8, ones: u8| {
        if tens.is_ascii_digit() && ones.is_ascii_digit() { (tens - b'0') * 10 + ones - b'0' } else { 99 }
    };
    let year = |a: u8, b: u8, c: u8, d: u8| matches!(two(a, b), 19 | 20) && two(c, d) < 99;
    let day = |first: u8, second: u8| (first <= 12 || second <= 12) && first <= 31 && second <= 31;
    let forward = sep(e) && e == h && year(a, b, c, d) && day(two(f, g), two(i, j));
    let backward = sep(c) && c == f && year(g, h, i, j) && day(two(a, b), two(d, e));
    (forward || backward) && !bytes.get(at + 10).is_some_and(u8::is_ascii_digit)
}

/// What the words before a number say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Phone,
    Other,
    Nothing,
}

static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = PHONE.iter().chain(OTHER);
    AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(words).ok()
});

impl Said {
    /// The nearest of the words before `start` counts, unless something else stands between.
    fn before(text: &str, start: usize) -> Self {
        let near = text.get(text.floor_char_boundary(start.saturating_sub(CONTEXT))..start).unwrap_or_default();
        let cut = |c: char| c.is_ascii_digit() || matches!(c, ',' | ';' | '?' | '\n' | '{' | '}' | ']' | '|');
        let near = near.rsplit(cut).next().unwrap_or(near);
        let Some(words) = WORDS.as_ref() else { return Self::Nothing };
        let mut said = Self::Nothing;
        for found in words.find_iter(near) {
            let phone = found.pattern().as_usize() < PHONE.len();
            // Of a word that stands far off nothing is known.
            let far = near.get(found.end()..).is_some_and(|gap| {
                gap.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count() > 2
            });
            if is_word(near, found.range(), phone) && !(phone && far) {
                said = if phone { Self::Phone } else { Self::Other };
            }
        }
        said
    }
}

/// Whether a word begins where it was found, and ends there; an `open` one may go on: `phonenumber`. Words of scripts without spaces always do.
fn is_word(text: &str, at: Range<usize>, open: bool) -> bool {
    let bytes = text.as_bytes();
    let Some(first) = bytes.get(at.start).filter(|first| first.is_ascii()) else { return true };
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    let begins = !before.is_some_and(|before| {
        before.is_ascii_alphabetic() && !(before.is_ascii_lowercase() && first.is_ascii_uppercase())
    });
    let rest = bytes.get(at.end..).unwrap_or_default();
    let rest = rest.get(..rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count()).unwrap_or_default();
    let counted: [&[u8]; 7] = [b"s", b"no", b"nr", b"num", b"number", b"numbers", b"nummer"];
    begins && (rest.is_empty() || (open && counted.contains(&rest)))
}
