//! Words of a text: runs of letters and digits, and single Chinese, Japanese or Korean characters.

/// Whether a character is written without blanks around its words.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// The words of `text`, which should be lower-cased before, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(char::is_alphanumeric)?;
        let (_, from) = rest.split_at_checked(start)?;
        let first = from.chars().next()?;
        let end = if is_cjk(first) {
            first.len_utf8()
        } else {
            from.find(|c: char| !c.is_alphanumeric() || is_cjk(c)).unwrap_or(from.len())
        };
        let (word, after) = from.split_at_checked(end)?;
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_single_chinese_characters() {
        let found: Vec<_> = words("why's pod-7 在crashloop吗？\u{301}é").collect();
        assert_eq!(found, ["why", "s", "pod", "7", "在", "crashloop", "吗", "é"]);
    }

    proptest! {
        #[test]
        fn every_letter_of_any_text_is_in_one_word(text: String) {
            let in_words: usize = words(&text).map(|word| word.chars().count()).sum();
            prop_assert_eq!(in_words, text.chars().filter(|c| c.is_alphanumeric()).count());
        }
    }
}
