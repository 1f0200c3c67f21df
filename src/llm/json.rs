//! Reading and writing JSON on the wire without building trees.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// A text field that may hold something else on a bad day: then it is `None`, and reading goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Str<'a>(pub(super) Option<Cow<'a, str>>);

impl<'a> Str<'a> {
    /// The text, when there is any beside the empty one.
    pub(super) fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// The text, empty when it is absent.
    pub(super) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrVisitor).map(Str)
    }
}

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A field kept as it came, read only when it is needed. `null` counts as absent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Raw<'a>(Option<&'a RawValue>);

impl<'a> Raw<'a> {
    /// The JSON text, unless the field is absent or null.
    pub(super) fn get(self) -> Option<&'a str> {
        self.0.map(RawValue::get).filter(|text| *text != "null")
    }

    /// The field read as `T`; `None` when it is absent, null or of another shape.
    pub(super) fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.get()?).ok()
    }

    /// The elements of an array; none when it is something else.
    pub(super) fn list(self) -> Vec<Raw<'a>> {
        self.read::<Vec<&RawValue>>().unwrap_or_default().into_iter().map(|raw| Raw(Some(raw))).collect()
    }

    /// The text of a string, or the JSON text of anything else.
    pub(super) fn text_or_json(self) -> Option<String> {
        let raw = self.get()?;
        Some(self.read::<String>().unwrap_or_else(|| raw.to_owned()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Raw(Some(raw)))
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Raw(Some(raw))
    }
}

/// A whole number, or nothing when the field holds something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Int(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(raw.get().parse().ok()))
    }
}

impl Int {
    /// The number, zero when it is absent.
    pub(super) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

/// A body without the byte order mark that some gateways put before it.
pub(super) fn unmarked(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Reads a body. Checking once that it is UTF-8 is cheaper than checking each text in it.
pub(super) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> serde_json::Result<T> {
    let body = unmarked(body);
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(body),
    }
}

/// Appends `text` as a JSON string.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    value(out, text);
}

/// Appends any serialisable value as JSON.
pub(super) fn value<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Writing to memory cannot fail, and keys of the values written here are strings.
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok(), "a value of the wire serialises");
}

/// Appends bytes as they are.
pub(super) fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends `,"key":` and the text as a JSON string.
pub(super) fn text_field(out: &mut Vec<u8>, key: &str, text: &str) {
    put(out, ",\"");
    put(out, key);
    put(out, "\":");
    string(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sample<'a> {
        #[serde(borrow, default)]
        text: Str<'a>,
        #[serde(borrow, default)]
        raw: Raw<'a>,
        #[serde(default)]
        int: Int,
    }

    #[test]
    fn a_field_of_another_type_is_read_as_absent() {
        for (json, text, raw, int) in [
            (r#"{"text":"a","raw":[1, 2],"int":7}"#, Some("a"), Some("[1, 2]"), Some(7)),
            (r#"{"text":{"a":[1e400]},"raw":null,"int":"x"}"#, None, None, None),
            (r#"{"text":12345678901234567890123,"int":-1}"#, None, None, None),
            (r#"{"text":null,"raw":"\u00e9","int":1.5}"#, None, Some(r#""\u00e9""#), None),
            (r#"{"text":"\u00e9"}"#, Some("é"), None, None),
        ] {
            let sample: Sample<'_> = serde_json::from_str(json).unwrap();
            assert_eq!((sample.text.0.as_deref(), sample.raw.get(), sample.int.0), (text, raw, int), "{json}");
        }
    }
}
