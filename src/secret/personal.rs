//! The kinds of personal data that can be masked, and sets of them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeSeq};

/// A kind of personal data. Each is found by its form and checked, so that ordinary numbers stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Personal {
    /// E-mail addresses.
    Email,
    /// Telephone numbers: international ones, and the national forms of several countries.
    Phone,
    /// Payment cards: issuer, length and check digit (ISO/IEC 7812).
    Card,
    /// Chinese resident identity numbers: region, birthday and check digit (GB 11643).
    IdNumber,
    /// Bank accounts: country, length and check digits (ISO 13616).
    Iban,
}

impl Personal {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Email, Self::Phone, Self::Card, Self::IdNumber, Self::Iban];

    /// The word for it in configuration, contracts and rules.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::IdNumber => "id_number",
            Self::Iban => "iban",
        }
    }
}

impl fmt::Display for Personal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A set of kinds. Written as `all`, `none`, one word, or a list of words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PersonalKinds(u8);

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of personal data; there are email, phone, card, id_number and iban, or all, or none")]
pub struct UnknownKind(String);

impl PersonalKinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << Personal::ALL.len()) - 1);

    /// These kinds.
    pub const fn of(kinds: &[Personal]) -> Self {
        let (mut set, mut rest) = (0, kinds);
        while let [kind, others @ ..] = rest {
            set |= 1 << *kind as u8;
            rest = others;
        }
        Self(set)
    }

    /// The kinds that the words name.
    ///
    /// # Errors
    /// [`UnknownKind`] for the first word that names none.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownKind> {
        words.into_iter().try_fold(Self::NONE, |set, word| match word.trim() {
            "all" => Ok(Self::ALL),
            "none" => Ok(set),
            word => {
                let kind = Personal::ALL.into_iter().find(|kind| kind.as_str() == word);
                kind.map(|kind| set.and(Self::of(&[kind]))).ok_or_else(|| UnknownKind(word.to_owned()))
            }
        })
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether a kind is in it.
    pub const fn holds(self, kind: Personal) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// The kinds, in the order of [`Personal::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Personal> {
        Personal::ALL.into_iter().filter(move |kind| self.holds(*kind))
    }
}

impl fmt::Display for PersonalKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.pad("none");
        }
        let words: Vec<&str> = self.iter().map(Personal::as_str).collect();
        f.pad(&words.join(", "))
    }
}

impl Serialize for PersonalKinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for kind in self.iter() {
            list.serialize_element(kind.as_str())?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for PersonalKinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> de::Visitor<'de> for Words {
            type Value = PersonalKinds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, `none`, or a list of email, phone, card, id_number and iban")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<PersonalKinds, E> {
                PersonalKinds::parse([word]).map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<PersonalKinds, A::Error> {
                let mut set = PersonalKinds::NONE;
                while let Some(word) = list.next_element::<String>()? {
                    set = set.and(PersonalKinds::parse([word.as_str()]).map_err(de::Error::custom)?);
                }
                Ok(set)
            }
        }
        deserializer.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_as_it_is_written() {
        let read = |json: &str| serde_json::from_str::<PersonalKinds>(json);
        let some = PersonalKinds::of(&[Personal::Phone, Personal::Email]);
        assert_eq!(read(r#"["phone","email"]"#).unwrap(), some);
        assert_eq!(serde_json::to_string(&some).unwrap(), r#"["email","phone"]"#);
        assert_eq!(read(r#""all""#).unwrap(), PersonalKinds::ALL);
        assert_eq!(read("[]").unwrap(), PersonalKinds::NONE);
        assert_eq!(read(r#""none""#).unwrap(), PersonalKinds::NONE);
        assert!(read(r#"["name"]"#).unwrap_err().to_string().contains("`name` is no kind of personal data"));
        assert_eq!(PersonalKinds::ALL.iter().count(), 5);
        assert_eq!(some.to_string(), "email, phone");
    }
}
