//! The way back from what a model gives to what the tool's own schema means, and forth.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    SchemaError,
    normal::{self, Normal},
    shape::{Place, ROOT, Shape, TypeSet, Way},
    tree,
};
use crate::types::hex;

/// Turns arguments as a model gives them into the form the original schema means.
///
/// It follows the original alone, so it serves every dialect:
/// - a `null` for a key that is optional and not nullable was a key left out, and is removed;
/// - the label of an enum value becomes the value (`"2"` → `2`), in any letter case;
/// - the alias of a key becomes the key;
/// - a string where no string may stand is read as JSON, if it holds what may stand there.
///
/// All else is left alone; whether the result is valid is for the validator to say.
#[derive(Debug, Clone)]
pub struct BackMap {
    shape: Shape,
}

impl BackMap {
    /// Reads the shape of an original schema.
    ///
    /// # Errors
    /// As [`convert`](super::convert), for a schema that cannot be read at all.
    pub fn of(original: &Value) -> Result<Self, SchemaError> {
        Ok(Self { shape: Shape::new(&normal::normalise(original)?, Way::Back) })
    }

    /// Restores `arguments` in place and tells what it changed, a sentence each; empty is the usual case.
    pub fn restore(&self, arguments: &mut Value) -> Vec<String> {
        let mut work = Restore { shape: &self.shape, pointer: String::new(), notes: Vec::new() };
        work.value(&[ROOT], arguments);
        work.notes
    }
}

struct Restore<'a> {
    shape: &'a Shape,
    pointer: String,
    notes: Vec<String>,
}

impl Restore<'_> {
    /// Restores a value at which all of `places` hold.
    fn value(&mut self, places: &[Place], value: &mut Value) {
        if let Value::String(_) = value {
            self.read_string(places, value);
        }
        if !value.is_object() && !value.is_array() && !value.is_string() {
            return;
        }
        let (mut yes, mut other) = (Vec::new(), Vec::new());
        for place in places {
            let mut holding = self.shape.holding(*place, value);
            yes.append(&mut holding.yes);
            other.append(&mut holding.other);
        }
        match value {
            Value::String(_) => self.label(&yes, value),
            Value::Object(map) => self.object(&yes, &other, map),
            Value::Array(list) => {
                for (index, child) in list.iter_mut().enumerate() {
                    let spots = yes.iter().filter_map(|place| self.shape.spot(*place));
                    let below: Vec<Place> =
                        spots.filter_map(|spot| spot.prefix.get(index).copied().or(spot.items)).collect();
                    self.below(&index.to_string(), &below, child);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn below(&mut self, segment: &str, places: &[Place], value: &mut Value) {
        if places.is_empty() {
            return;
        }
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&tree::escape(segment));
        self.value(places, value);
        self.pointer.truncate(length);
    }

    fn note(&mut self, what: &str) {
        self.notes.push(format!("`{}`: {what}", self.pointer));
    }

    /// A string where no string may stand.
    fn read_string(&mut self, places: &[Place], value: &mut Value) {
        let types = places.iter().fold(TypeSet::ANY, |set, place| set.and(self.shape.types(*place)));
        if types.meets(TypeSet::STRING) {
            return;
        }
        let Some(text) = value.as_str() else { return };
        if self.is_label(places, text) {
            return;
        }
        let text = text.trim();
        let lower = if types.meets(TypeSet::BOOLEAN) { text.to_ascii_lowercase() } else { String::new() };
        let text = if matches!(lower.as_str(), "true" | "false") { &lower } else { text };
        let Ok(read) = serde_json::from_str::<Value>(text) else { return };
        if !read.is_string() && !read.is_null() && types.holds(TypeSet::of_value(&read)) {
            let word = tree::type_name(&read);
            *value = read;
            self.note(&format!("text was read as {word}"));
        }
    }

    fn is_label(&self, places: &[Place], text: &str) -> bool {
        let value = Value::String(text.to_owned());
        places.iter().flat_map(|place| self.shape.holding(*place, &value).yes).any(|place| {
            let values = self.shape.spot(place).and_then(|spot| spot.values());
            values.is_some_and(|values| value_of(values, &value).is_some())
        })
    }

    /// The label of an enum value becomes the value.
    fn label(&mut self, yes: &[Place], value: &mut Value) {
        let spots = yes.iter().filter_map(|place| self.shape.spot(*place));
        let mut lists = spots.filter_map(|spot| spot.values());
        let found = lists.find_map(|values| value_of(values, value));
        if let Some(found) = found
            && found != value
        {
            let found = found.clone();
            self.note(&format!("{value} stands for {found}"));
            *value = found;
        }
    }

    fn object(&mut self, yes: &[Place], other: &[Place], map: &mut Map<String, Value>) {
        self.rename(yes, map);
        let mut left_out = Vec::new();
        for (key, child) in map.iter_mut() {
            let spots = yes.iter().filter_map(|place| self.shape.spot(*place));
            let (mut declared, mut additional, mut required) = (Vec::new(), Vec::new(), false);
            for spot in spots {
                declared.extend(spot.properties.get(key).copied());
                additional.extend(spot.additional);
                required |= spot.required.contains(key);
            }
            if !child.is_null() {
                let places = if declared.is_empty() { additional } else { declared };
                self.below(key, &places, child);
            } else if !required && self.was_left_out(key, &declared, other) {
                left_out.push(key.clone());
            }
        }
        for key in left_out {
            map.shift_remove(&key);
            self.note(&format!("the null of `{key}` was left out"));
        }
    }

    /// Whether a null stands for a key that was left out: its schema has no null, or only another variant has the key.
    fn was_left_out(&self, key: &str, declared: &[Place], other: &[Place]) -> bool {
        if declared.is_empty() {
            let mut others = other.iter().filter_map(|place| self.shape.spot(*place));
            return others.any(|spot| spot.properties.contains_key(key));
        }
        !declared.iter().all(|place| self.shape.types(*place).meets(TypeSet::NULL))
    }

    fn rename(&mut self, yes: &[Place], map: &mut Map<String, Value>) {
        let spots = yes.iter().filter_map(|place| self.shape.spot(*place));
        let aliases: Vec<&BTreeMap<String, String>> =
            spots.map(|spot| &spot.aliases).filter(|map| !map.is_empty()).collect();
        if aliases.is_empty() {
            return;
        }
        let original = |key: &String| aliases.iter().find_map(|names| names.get(key)).cloned();
        *map = std::mem::take(map).into_iter().map(|(key, value)| (original(&key).unwrap_or(key), value)).collect();
    }
}

/// The value of the list a model means by `given`: the value itself, its label, or its label in other letter case
/// (strict decoding does not guarantee the case everywhere).
pub(super) fn value_of<'a>(values: &'a [Value], given: &Value) -> Option<&'a Value> {
    if let Some(same) = values.iter().find(|value| same_value(value, given)) {
        return Some(same);
    }
    let text = given.as_str()?;
    let labels = labels(values);
    if let Some((_, value)) = labels.iter().find(|(label, _)| label == text) {
        return Some(value);
    }
    let mut alike = labels.iter().filter(|(label, _)| label.to_lowercase() == text.to_lowercase());
    match (alike.next(), alike.next()) {
        (Some((_, value)), None) => Some(value),
        _ => None,
    }
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64() && left.as_f64().is_some()
        }
        _ => a == b,
    }
}

/// What a dialect of string enums calls each value; null has no label.
pub(super) fn labels(values: &[Value]) -> Vec<(String, &Value)> {
    let label = |value: &Value| match value {
        Value::String(text) if text.is_empty() => "(empty)".to_owned(),
        Value::String(text) => text.clone(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let text = other.to_string();
            let taken = values.iter().any(|value| value.as_str() == Some(&text));
            if taken { format!("{text} ({})", tree::type_name(other)) } else { text }
        }
    };
    values.iter().filter(|value| !value.is_null()).map(|value| (label(value), value)).collect()
}

/// Which property names a dialect accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRule {
    /// `^[a-zA-Z0-9_.-]{1,64}$`
    Anthropic,
    /// `^[a-zA-Z0-9_]{1,64}$`
    Gemini,
}

impl KeyRule {
    pub(super) fn accepts(self, key: &str) -> bool {
        let extra = match self {
            Self::Anthropic => "_.-",
            Self::Gemini => "_",
        };
        (1..=64).contains(&key.len()) && key.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
    }
}

/// The name sent instead of a key no rule accepts: the same for each rule, and told from a real key by its hash.
pub(super) fn alias(key: &str) -> String {
    if KeyRule::Gemini.accepts(key) {
        return key.to_owned();
    }
    let mut alias: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    alias.truncate(48);
    let hash = Sha256::digest(key.as_bytes());
    alias.push('_');
    alias.push_str(&hex(hash.get(..3).unwrap_or_default()));
    alias
}

/// Arguments in the form a converted schema wants; see [`Converted::express`](super::Converted::express).
pub(super) fn express(converted: &Value, arguments: &Value) -> Value {
    let Value::Object(mut root) = converted.clone() else { return arguments.clone() };
    let defs = root.shift_remove("$defs").and_then(|defs| if let Value::Object(map) = defs { Some(map) } else { None });
    let shape = Shape::new(&Normal { root, defs: defs.unwrap_or_default() }, Way::Forth);
    expressed(&shape, &[ROOT], arguments)
}

fn expressed(shape: &Shape, places: &[Place], value: &Value) -> Value {
    let yes: Vec<Place> = places.iter().flat_map(|place| shape.holding(*place, value).yes).collect();
    let spots: Vec<_> = yes.iter().filter_map(|place| shape.spot(*place)).collect();
    if let Some(said) = spots.iter().filter_map(|spot| spot.values()).find_map(|values| label_for(values, value)) {
        return said;
    }
    match value {
        Value::Object(map) => {
            let mut given = Map::new();
            for (key, child) in map {
                let declared = |key: &str| spots.iter().filter_map(|spot| spot.properties.get(key).copied()).collect();
                let mut places: Vec<Place> = declared(key);
                let mut key = key.clone();
                if places.is_empty() && spots.iter().any(|spot| spot.properties.contains_key(&alias(&key))) {
                    key = alias(&key);
                    places = declared(&key);
                }
                if places.is_empty() {
                    places = spots.iter().filter_map(|spot| spot.additional).collect();
                }
                given.insert(key, expressed(shape, &places, child));
            }
            for key in spots.iter().flat_map(|spot| &spot.required) {
                given.entry(key.clone()).or_insert(Value::Null);
            }
            Value::Object(given)
        }
        Value::Array(list) => {
            let place = |index: usize| -> Vec<Place> {
                spots.iter().filter_map(|spot| spot.prefix.get(index).copied().or(spot.items)).collect()
            };
            list.iter().enumerate().map(|(index, child)| expressed(shape, &place(index), child)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// How a converted enum says `value`: the value itself or its label; `None` if it cannot.
pub(super) fn label_for(values: &[Value], value: &Value) -> Option<Value> {
    if values.iter().any(|known| same_value(known, value)) {
        return Some(value.clone());
    }
    let text = if value.as_str() == Some("") { "(empty)".to_owned() } else { value.to_string() };
    let numbered = format!("{text} ({})", tree::type_name(value));
    [numbered, text].into_iter().map(Value::String).find(|label| values.contains(label))
}
