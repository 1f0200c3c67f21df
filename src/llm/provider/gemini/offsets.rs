//! From byte offsets to code points. Gemini counts bytes of UTF-8, in grounding supports (recorded traffic, 2026-08)
//! as in the annotations of Interactions ("measured in bytes", google-genai 3.6.1).

/// How many bytes lie between two remembered counts.
const STEP: usize = 256;

/// The code points of a text, found by byte offset without counting from its start each time.
#[derive(Debug)]
pub(in super::super) struct CodePoints<'a> {
    text: &'a str,
    /// How many code points begin before each multiple of [`STEP`].
    counts: Vec<usize>,
}

/// How many code points begin in these bytes: all bytes but the continuing ones.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

impl<'a> CodePoints<'a> {
    pub(in super::super) fn new(text: &'a str) -> Self {
        let mut counts = vec![0];
        let mut sum = 0;
        for chunk in text.as_bytes().chunks(STEP) {
            sum += starts(chunk);
            counts.push(sum);
        }
        Self { text, counts }
    }

    /// The offset in code points of a byte offset; `None` when it lies inside a code point or outside the text.
    pub(in super::super) fn at(&self, byte: usize) -> Option<usize> {
        if !self.text.is_char_boundary(byte) {
            return None;
        }
        let full = byte / STEP;
        if let Some(rest) = self.text.as_bytes().get(full * STEP..byte) {
            return Some(self.counts.get(full)? + starts(rest));
        }
        None
    }

    /// Both ends of a range that begins before it ends.
    pub(in super::super) fn range(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        if start < end { self.at(start).zip(self.at(end)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn emoji_and_chinese_count_once_each() {
        let points = CodePoints::new("天气 🌦️ ok");
        let found: Vec<Option<usize>> = (0..=18).map(|byte| points.at(byte)).collect();
        let at = |byte: usize| found.get(byte).copied().flatten();
        assert_eq!([at(0), at(3), at(6), at(7), at(11), at(14), at(15)], [0, 1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!([at(1), at(2), at(8), at(12), at(18)], [None; 5]);
        assert_eq!(points.range(7, 14), Some((3, 5)));
        assert_eq!(points.range(7, 7), None);
    }

    proptest! {
        #[test]
        fn offsets_are_those_of_counting(text in "(\\PC|[天气🌦é\n]){0,900}", byte in 0usize..4000) {
            let expected = text.get(..byte).map(|before| before.chars().count());
            prop_assert_eq!(CodePoints::new(&text).at(byte), expected);
        }
    }
}
