//! Patterns with `*`, and fields that hold one value or a list of them.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IntoDeserializer, SeqAccess, Visitor, value},
};

/// A pattern over a whole text: `*` stands for any characters, dots among them, and for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    /// What stands between the stars; a single piece is a plain text.
    pieces: Vec<Box<str>>,
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        Self { pieces: text.split('*').map(Box::from).collect() }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match self.pieces.as_slice() {
            [] => false,
            [exact] => **exact == *text,
            [first, middle @ .., last] => {
                let Some(mut rest) = text.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last)) else {
                    return false;
                };
                for piece in middle {
                    let Some(at) = rest.find(&**piece) else { return false };
                    rest = rest.get(at + piece.len()..).unwrap_or_default();
                }
                true
            }
        }
    }

    /// The text, when the pattern has no star.
    pub(super) fn exact(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [exact] => Some(exact),
            [] | [_, _, ..] => None,
        }
    }

    /// What every match has before its first dot, as far as the pattern fixes it.
    pub(super) fn first_segment(&self) -> Option<&str> {
        self.pieces.first()?.split_once('.').map(|(segment, _)| segment)
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self::new(&String::deserialize(d)?))
    }
}

/// Whether one of `patterns` matches; no pattern at all matches everything.
pub(super) fn any_matches(patterns: &[Glob], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(text))
}

/// Reads one word or a list of words.
pub(super) fn one_or_many<'de, D, T>(d: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Words<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Words<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            let text: value::StrDeserializer<'_, E> = text.into_deserializer();
            Ok(vec![T::deserialize(text)?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(item) = seq.next_element()? {
                all.push(item);
            }
            if all.is_empty() {
                return Err(serde::de::Error::custom("the list is empty: leave the key out to match everything"));
            }
            Ok(all)
        }
    }

    d.deserialize_any(Words(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_for_none() {
        for (pattern, yes, no) in [
            ("crm.update", "crm.update", "crm.update2"),
            ("crm.*", "crm.a.b", "crm"),
            ("*", "", "\u{0}never"),
            ("*.delete", "a.b.delete", "delete"),
            ("a*b*c", "abbc", "acb"),
            ("a*a", "aa", "a"),
            ("*é*", "caféx", "cafe"),
        ] {
            let glob = Glob::new(pattern);
            assert!(glob.matches(yes), "{pattern} {yes}");
            assert!(pattern == "*" || !glob.matches(no), "{pattern} {no}");
        }
    }

    #[test]
    fn a_pattern_knows_the_part_every_match_begins_with() {
        assert_eq!(Glob::new("crm.*").first_segment(), Some("crm"));
        assert_eq!(Glob::new("crm*.x").first_segment(), None);
        assert_eq!(Glob::new("crm.update").exact(), Some("crm.update"));
        assert_eq!(Glob::new("crm.*").exact(), None);
    }
}
