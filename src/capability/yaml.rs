//! YAML as a tree that knows its lines, and the reader that takes typed values out of one mapping.

use std::{fmt, ops::Range};

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::error::Problem;
use crate::types::MicroUsd;

/// How deep a catalog may be nested; what is deeper is refused before it costs stack.
const MAX_DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Line and column, from 1.
    pub(super) at: (u64, u64),
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Reads one YAML document. The error is a message and a place.
    pub(super) fn parse(text: &str) -> Result<Self, (String, Option<(u64, u64)>)> {
        // `no`, `on` and `n` are texts, as YAML 1.2 has it: a parameter may be called `n`.
        let options = serde_saphyr::options! {
            strict_booleans: true,
            with_snippet: false,
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        };
        serde_saphyr::from_str_with_options::<Self>(text, options).map_err(|error| {
            let at = error.location().map(|at| (at.line(), at.column())).filter(|(line, _)| *line > 0);
            (error.to_string(), at)
        })
    }

    /// The word for its kind, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => None,
        }
    }

    pub(super) fn map(&self) -> Option<&[(String, Self)]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }

    /// The same as JSON.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect::<Map<_, _>>())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(d)?;
        Ok(Self { kind: spanned.value, at: (spanned.referenced.line(), spanned.referenced.column()) })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> de::Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Kind, D::Error> {
        Kind::deserialize(d)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Kind, E> {
        Ok(Kind::Text(value))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Kind::Map(map))
    }
}

/// A problem and the line it is on.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) problem: Problem,
    pub(super) at: (u64, u64),
}

impl Located {
    pub(super) fn new(node: &Node, problem: Problem) -> Self {
        Self { problem, at: node.at }
    }
}

/// The known key nearest to one that is unknown.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &'a str| (strsim::damerau_levenshtein(word, candidate), candidate);
    let (distance, found) = known.into_iter().map(distance).min()?;
    (distance <= (word.chars().count() / 3).max(2)).then_some(found)
}

/// Values looked up by key. Every lookup says what it wants, so that a wrong type names its key.
pub(super) struct Fields<'a> {
    entries: Vec<(&'a str, &'a Node)>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(entries: Vec<(&'a str, &'a Node)>) -> Self {
        Self { entries }
    }

    /// The value of a key; a key without a value counts as absent.
    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        let found = self.entries.iter().find(|(name, _)| *name == key).map(|(_, node)| *node)?;
        (!matches!(found.kind, Kind::Null)).then_some(found)
    }

    fn read<T>(&self, key: &str, wanted: &str, read: impl FnOnce(&'a Node) -> Option<T>) -> Result<Option<T>, Located> {
        let Some(node) = self.node(key) else { return Ok(None) };
        read(node).map(Some).ok_or_else(|| wrong_type(key, wanted, node))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Located> {
        self.read(key, "a text", |node| node.text().map(str::to_owned))
    }

    /// A text that people like to write as a number: `version: 1`.
    pub(super) fn label(&self, key: &str) -> Result<Option<String>, Located> {
        self.read(key, "a text", |node| match &node.kind {
            Kind::Text(text) => Some(text.clone()),
            Kind::Number(number) => Some(number.to_string()),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
        })
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Located> {
        self.read(key, "`true` or `false`", |node| match node.kind {
            Kind::Bool(value) => Some(value),
            Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        })
    }

    pub(super) fn whole<N: TryFrom<i64>>(&self, key: &str, range: Range<i64>) -> Result<Option<N>, Located> {
        let wanted = format!("a whole number from {} to {}", range.start, range.end - 1);
        self.read(key, &wanted, |node| match &node.kind {
            Kind::Number(number) => number.as_i64().filter(|n| range.contains(n)).and_then(|n| N::try_from(n).ok()),
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        })
    }

    /// A decimal amount of dollars. It is exact to the millionth; a smaller positive amount is no amount at all.
    pub(super) fn dollars(&self, key: &str) -> Result<Option<MicroUsd>, Located> {
        self.read(key, "dollars, such as 0.01, at least a millionth", |node| match &node.kind {
            Kind::Number(number) => {
                let usd = number.as_f64()?;
                MicroUsd::from_usd(usd).filter(|amount| usd == 0.0 || *amount > MicroUsd::ZERO)
            }
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        })
    }

    /// A list of texts; one text stands for a list of one.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Located> {
        self.read(key, "a list of texts", |node| match &node.kind {
            Kind::Text(text) => Some(vec![text.clone()]),
            Kind::List(items) => items.iter().map(|item| item.text().map(str::to_owned)).collect(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Map(_) => None,
        })
    }

    /// A text that is an id of ours.
    pub(super) fn parsed<T: std::str::FromStr<Err: fmt::Display>>(&self, key: &str) -> Result<Option<T>, Located> {
        let Some(node) = self.node(key) else { return Ok(None) };
        let text = node.text().ok_or_else(|| wrong_type(key, "a text", node))?;
        parse(key, text, node).map(Some)
    }

    /// A list of ids.
    pub(super) fn parsed_list<T: std::str::FromStr<Err: fmt::Display>>(&self, key: &str) -> Result<Vec<T>, Located> {
        let (Some(texts), Some(node)) = (self.texts(key)?, self.node(key)) else { return Ok(Vec::new()) };
        texts.iter().map(|text| parse(key, text, node)).collect()
    }

    /// One word of a closed list.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Located> {
        let Some(node) = self.node(key) else { return Ok(None) };
        let text = node.text().ok_or_else(|| wrong_type(key, "a word", node))?;
        known(key, text, words, node).map(Some)
    }

    /// Several words of a closed list.
    pub(super) fn words<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Vec<T>, Located> {
        let (Some(texts), Some(node)) = (self.texts(key)?, self.node(key)) else { return Ok(Vec::new()) };
        texts.iter().map(|text| known(key, text, words, node)).collect()
    }

    /// A mapping whose shape serde knows. Its own error says which key is wrong.
    pub(super) fn shaped<T: de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Located> {
        let Some(node) = self.node(key) else { return Ok(None) };
        if node.map().is_none() {
            return Err(wrong_type(key, "a mapping", node));
        }
        serde_json::from_value(node.to_json())
            .map(Some)
            .map_err(|error| Located::new(node, Problem::new("invalid_value", format!("`{key}`: {error}"))))
    }
}

pub(super) fn wrong_type(key: &str, wanted: &str, node: &Node) -> Located {
    Located::new(node, Problem::new("wrong_type", format!("`{key}` must be {wanted}, not {}", node.what())))
}

fn parse<T: std::str::FromStr<Err: fmt::Display>>(key: &str, text: &str, node: &Node) -> Result<T, Located> {
    text.parse().map_err(|error| Located::new(node, Problem::new("invalid_value", format!("`{key}`: {error}"))))
}

fn known<T: Copy>(key: &str, text: &str, words: &[(&str, T)], node: &Node) -> Result<T, Located> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let names = words.iter().map(|(word, _)| *word);
    let hint = match nearest(text, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it is one of {}", names.collect::<Vec<_>>().join(", ")),
    };
    let problem = Problem::new("invalid_value", format!("`{key}`: `{text}` is not known")).hint(hint);
    Err(Located::new(node, problem))
}
