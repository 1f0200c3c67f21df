//! Characters that a person does not see and a model reads.

use std::ops::Range;

/// What hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Tag characters, which spell an invisible text.
    Tags,
    /// Characters that turn the direction of a text.
    Direction,
    /// Characters without width inside or beside words of Latin letters.
    NoWidth,
}

/// Whether a character is left out before words are looked for.
pub(super) const fn is_invisible(c: char) -> bool {
    is_no_width(c)
        || is_direction(c)
        || is_tag(c)
        || matches!(c, '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

const fn is_no_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
}

const fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The runs of hidden characters, with what they are. A mark at the start of the text, an emoji made of several, and a
/// joiner in a script that needs it are none.
pub(super) fn find(text: &str) -> Vec<(Hidden, Range<usize>)> {
    let mut found: Vec<(Hidden, Range<usize>)> = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let mut before = '\0';
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        let kind = if is_tag(c) && before != '\u{1f3f4}' {
            Some(Hidden::Tags)
        } else if is_direction(c) {
            Some(Hidden::Direction)
        } else if is_no_width(c) && at > 0 && (before.is_ascii() || is_hidden(before)) {
            let next = rest.as_str().chars().next();
            next.is_none_or(|next| next.is_ascii() || is_no_width(next)).then_some(Hidden::NoWidth)
        } else {
            None
        };
        // The tags of a flag belong to it.
        before = if is_tag(c) && before == '\u{1f3f4}' { before } else { c };
        let Some(kind) = kind else { continue };
        match found.last_mut() {
            Some((last, range)) if *last == kind && range.end == at => range.end = at + c.len_utf8(),
            _ => found.push((kind, at..at + c.len_utf8())),
        }
    }
    found
}

const fn is_hidden(c: char) -> bool {
    is_no_width(c) || is_tag(c)
}

/// What the tag characters of a run spell.
pub(super) fn spelled(run: &str) -> String {
    run.chars()
        .filter_map(|c| char::from_u32((c as u32).checked_sub(0xe0000)?))
        .filter(|c| matches!(c, ' '..='~'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_found_and_what_is_needed_is_not() {
        let kinds = |text: &str| find(text).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        assert_eq!(kinds("se\u{200b}nd a\u{202e}b"), [Hidden::NoWidth, Hidden::Direction]);
        let tags: String = "hi".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        assert_eq!(kinds(&format!("a{tags}b")), [Hidden::Tags]);
        assert_eq!(spelled(&tags), "hi");
        for fine in [
            "\u{feff}text",
            "👩\u{200d}💻",
            "می\u{200c}خواهم",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "plain",
        ] {
            assert_eq!(kinds(fine), [], "{fine}");
        }
    }
}
