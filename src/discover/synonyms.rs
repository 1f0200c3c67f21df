//! Words that mean the same to somebody who looks for a tool, English and Chinese together.
//!
//! The table is small and written by hand; it is read when the first index is built.

use std::sync::OnceLock;

use super::token::{self, Reading};

/// One group a line, words separated by a blank.
const TABLE: &str = include_str!("synonyms.txt");

/// The groups as terms. A Chinese word of three characters or more is known by its last pair.
pub(super) fn groups() -> &'static [Vec<String>] {
    static GROUPS: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    GROUPS.get_or_init(|| TABLE.lines().map(|line| line.split(' ').filter_map(term_of).collect()).collect())
}

fn term_of(word: &str) -> Option<String> {
    let mut last = None;
    token::terms(word, Reading::Name, |term| last = Some(term.to_owned()));
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_a_term() {
        for (line, group) in TABLE.lines().zip(groups()) {
            assert_eq!(line.split(' ').count(), group.len(), "{line}");
        }
    }
}
