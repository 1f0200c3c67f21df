//! Text as words in a row, so that a phrase is found whatever its case and punctuation.

/// The words of a text between single blanks, with one at either end: ` pay the bill `. Letters are lower-cased,
/// full-width forms made plain, invisible characters dropped; a character of a script without spaces is a word.
pub(super) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let mut open = false;
    for c in text.chars().filter(|c| !is_invisible(*c)).map(plain) {
        if is_unspaced(c) {
            out.extend(open.then_some(' '));
            out.push(c);
            out.push(' ');
            open = false;
        } else if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
            open = true;
        } else if open {
            out.push(' ');
            open = false;
        }
    }
    out.extend(open.then_some(' '));
    out
}

/// Whether `phrase` stands in `text`, both normalised. Nothing stands nowhere.
pub(super) fn stands_in(text: &str, phrase: &str) -> bool {
    phrase.len() > 1 && text.contains(phrase)
}

/// Full-width letters, digits and signs as their plain forms.
pub(super) fn plain(c: char) -> char {
    match u32::from(c) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(c),
        0x3000 => ' ',
        _ => c,
    }
}

/// Whether a reader does not see `c`.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(u32::from(c), 0xAD | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2064 | 0xFEFF | 0xE0000..=0xE007F)
}

/// Whether `c` belongs to a script written without spaces.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x3041..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x3134F)
}
