//! Bytes of an unknown character set become text.
//!
//! The order: a byte order mark, then UTF-8 if the bytes are UTF-8 (a wrong label does not matter then), then
//! UTF-16 by its zero bytes, then the declared label if the bytes decode without an error, then detection.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes detection looks at.
const DETECT_BYTES: usize = 256 * 1024;
/// How many bytes a page may take to declare its character set (HTML standard: 1024; real pages need more).
const META_BYTES: usize = 4096;

/// Text and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without a byte order mark.
    pub text: String,
    /// The name of the encoding by the WHATWG standard, e.g. `UTF-8`, `GBK`, `Shift_JIS`.
    pub encoding: &'static str,
    /// Whether some bytes were malformed and became U+FFFD.
    pub malformed: bool,
}

/// Decodes `bytes`; `declared` is the label of a header or a meta tag, if there is one.
///
/// Cutting the bytes at a size limit first is safe: an incomplete last character is dropped or replaced and does not
/// change which encoding is found.
pub fn decode(bytes: &[u8], declared: Option<&str>) -> Decoded {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, bytes.get(mark..).unwrap_or_default());
    }
    let declared = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    let stateful = declared == Some(ISO_2022_JP) && bytes.contains(&0x1b);
    if let Some(encoding) = utf16(bytes) {
        return decode_as(encoding, bytes);
    }
    if !stateful && is_utf8(bytes) {
        return decode_as(UTF_8, bytes);
    }
    if let Some(encoding) = declared {
        let found = decode_as(encoding, bytes);
        if !found.malformed {
            return found;
        }
    }
    decode_as(detect(bytes), bytes)
}

/// The character set an HTML page declares about itself near its start, e.g. `gbk`.
pub fn declared_in_html(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..META_BYTES).unwrap_or(bytes)).to_ascii_lowercase();
    let mut rest = head.as_str();
    while let Some(at) = rest.find("charset") {
        rest = rest.get(at + "charset".len()..)?;
        let Some(value) = rest.trim_start().strip_prefix('=') else { continue };
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(value.len());
        let label = value.get(..end).unwrap_or_default();
        if Encoding::for_label(label.as_bytes()).is_some() {
            return Some(label.to_owned());
        }
    }
    None
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, malformed) = encoding.decode_without_bom_handling(bytes);
    Decoded { text: text.into_owned(), encoding: encoding.name(), malformed }
}

/// Whether the bytes are UTF-8: wholly, up to an incomplete last character, or nearly (a stray byte in a long text).
fn is_utf8(bytes: &[u8]) -> bool {
    let Err(error) = std::str::from_utf8(bytes) else { return true };
    if error.error_len().is_none() {
        return true;
    }
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 10 * bad
}

/// UTF-16 without a mark: nearly every other byte of Western text is zero, on one side only.
fn utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..1024).unwrap_or(bytes);
    let pairs = head.chunks_exact(2).len();
    let zeros = |side: usize| head.iter().skip(side).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if pairs < 4 {
        return None;
    }
    if odd * 3 > pairs && even == 0 {
        return Some(UTF_16LE);
    }
    (even * 3 > pairs && odd == 0).then_some(UTF_16BE)
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    let head = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, SHIFT_JIS};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &str, encoding: &'static str) -> Decoded {
        Decoded { text: text.to_owned(), encoding, malformed: false }
    }

    const PRICE: &str = "价格：￥99，本产品支持七天无理由退货。";

    /// DEV-N03
    #[test]
    fn gbk_is_read_by_its_declaration_and_without_one() {
        let (bytes, _, _) = GBK.encode(PRICE);
        assert_eq!(decode(&bytes, Some("gb2312")), decoded(PRICE, "GBK"));
        assert_eq!(decode(&bytes, None), decoded(PRICE, "GBK"));
    }

    #[test]
    fn utf8_is_read_whatever_the_label_says() {
        assert_eq!(decode(PRICE.as_bytes(), Some("iso-8859-1")), decoded(PRICE, "UTF-8"));
        assert_eq!(decode("\u{feff}plain".as_bytes(), Some("gbk")), decoded("plain", "UTF-8"));
    }

    #[test]
    fn shift_jis_is_detected_in_spite_of_a_wrong_label() {
        let text = "これは日本語の文章です。カタカナもあります。";
        let (bytes, _, _) = SHIFT_JIS.encode(text);
        assert_eq!(decode(&bytes, None), decoded(text, "Shift_JIS"));
        assert_eq!(decode(&bytes, Some("utf-8")), decoded(text, "Shift_JIS"));
    }

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        let little: Vec<u8> = "plain words, 价格".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&little, None), decoded("plain words, 价格", "UTF-16LE"));
        let big: Vec<u8> = "\u{feff}价格".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&big, None), decoded("价格", "UTF-16BE"));
    }

    #[test]
    fn a_cut_last_character_leaves_utf8_utf8() {
        let bytes = PRICE.as_bytes().get(..PRICE.len() - 1).unwrap();
        assert_eq!(decode(bytes, None).encoding, "UTF-8");
        let mut stray = PRICE.repeat(20).into_bytes();
        stray.insert(30, 0xff);
        assert_eq!(decode(&stray, None).encoding, "UTF-8");
    }

    #[test]
    fn a_page_declares_its_character_set_in_both_spellings() {
        let short = b"<html><head><meta charset=\"gbk\"><title>x</title>";
        let long = b"<META http-equiv=Content-Type content=\"text/html; charset=Shift_JIS\">";
        assert_eq!(declared_in_html(short).as_deref(), Some("gbk"));
        assert_eq!(declared_in_html(long).as_deref(), Some("shift_jis"));
        assert_eq!(declared_in_html(b"<p>the charset = none of your business</p>"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..600), label in proptest::option::of("[a-z0-9-]{0,12}")) {
            let _ = decode(&bytes, label.as_deref());
            let _ = declared_in_html(&bytes);
        }
    }
}
