//! Which fields of a JSON value stay, and which are masked.
//!
//! A field is named in one of three ways: `title` is every field of that name at any depth, `results.title` is a path from
//! the root, `/results/0/title` is a JSON pointer (RFC 6901). A path goes through arrays without naming an index.

use serde_json::{Map, Value};

use crate::secret::MASK;

/// A list of named fields.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Fields wanted at any depth.
    names: Vec<String>,
    /// Fields wanted at one place.
    paths: Vec<Vec<String>>,
}

impl Fields {
    pub(super) fn parse<'a>(fields: impl IntoIterator<Item = &'a String>) -> Self {
        let mut parsed = Self::default();
        for field in fields {
            if let Some(pointer) = field.strip_prefix('/') {
                let unescape = |part: &str| part.replace("~1", "/").replace("~0", "~");
                parsed.paths.push(pointer.split('/').map(unescape).collect());
            } else if field.contains('.') {
                parsed.paths.push(field.split('.').map(str::to_owned).collect());
            } else if !field.is_empty() {
                parsed.names.push(field.clone());
            }
        }
        parsed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    /// What of `value` is named, in the shape it had; `None` when nothing is.
    pub(super) fn keep(&self, value: Value) -> Option<Value> {
        keep(value, &self.names, &self.start())
    }

    /// Masks what is named. Returns how many values that were.
    pub(super) fn mask(&self, value: &mut Value) -> usize {
        mask(value, &self.names, &self.start())
    }

    fn start(&self) -> Vec<&[String]> {
        self.paths.iter().map(Vec::as_slice).collect()
    }
}

/// Whether the step to `key` is named by itself, and what of the paths is left after it.
fn step<'p>(key: &str, names: &[String], paths: &[&'p [String]]) -> (bool, Vec<&'p [String]>) {
    let mut rest = Vec::new();
    let mut named = names.iter().any(|name| name == key);
    for path in paths {
        if let Some((first, after)) = path.split_first()
            && first == key
        {
            named |= after.is_empty();
            rest.push(after);
        }
    }
    (named, rest)
}

/// The paths for element `index` of an array: those that name the index, and those that go through.
fn into_element<'p>(index: usize, paths: &[&'p [String]]) -> (bool, Vec<&'p [String]>) {
    let (named, mut rest) = step(&index.to_string(), &[], paths);
    rest.extend(paths.iter().filter(|path| path.first().is_some_and(|first| first.parse::<usize>().is_err())));
    (named, rest)
}

fn keep(value: Value, names: &[String], paths: &[&[String]]) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                let (named, rest) = step(&key, names, paths);
                if let Some(value) = if named { Some(value) } else { keep(value, names, &rest) } {
                    kept.insert(key, value);
                }
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let mut kept = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let (named, rest) = into_element(index, paths);
                kept.extend(if named { Some(item) } else { keep(item, names, &rest) });
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn mask(value: &mut Value, names: &[String], paths: &[&[String]]) -> usize {
    let cover = |value: &mut Value, named: bool, rest: &[&[String]]| {
        if named && !value.is_null() {
            *value = Value::from(MASK);
            1
        } else {
            mask(value, names, rest)
        }
    };
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .map(|(key, value)| {
                let (named, rest) = step(key, names, paths);
                cover(value, named, &rest)
            })
            .sum(),
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .map(|(index, item)| {
                let (named, rest) = into_element(index, paths);
                cover(item, named, &rest)
            })
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Holds a list of results to `max`: the value itself, or the only list among its fields. Returns how many were dropped.
pub(super) fn cap_results(value: &mut Value, max: usize) -> usize {
    let list = match value {
        Value::Array(items) => items,
        Value::Object(fields) => {
            let mut lists = fields.values_mut().filter_map(Value::as_array_mut);
            match (lists.next(), lists.next()) {
                (Some(only), None) => only,
                (Some(_) | None, _) => return 0,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    let dropped = list.len().saturating_sub(max);
    list.truncate(max);
    dropped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(names: &[&str]) -> Fields {
        Fields::parse(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn sample() -> Value {
        json!({"total": 2, "results": [
            {"title": "A", "url": "https://a.example", "meta": {"title": "deep", "score": 0.10}},
            {"title": "B", "url": "https://b.example", "meta": {"score": 1}},
        ]})
    }

    #[test]
    fn names_match_at_any_depth_and_paths_from_the_root() {
        for (named, expected) in [
            (&["title"][..], json!({"results": [{"title": "A", "meta": {"title": "deep"}}, {"title": "B"}]})),
            (&["results.title"], json!({"results": [{"title": "A"}, {"title": "B"}]})),
            (&["/results/1/url", "total"], json!({"total": 2, "results": [{"url": "https://b.example"}]})),
            (&["results.meta.score"], json!({"results": [{"meta": {"score": 0.10}}, {"meta": {"score": 1}}]})),
        ] {
            assert_eq!(fields(named).keep(sample()), Some(expected), "{named:?}");
        }
        assert_eq!(fields(&["nothing", "results.nothing"]).keep(sample()), None);
    }

    #[test]
    fn masking_reaches_the_same_fields() {
        let mut value = sample();
        assert_eq!(fields(&["/results/0/title", "results.meta.score"]).mask(&mut value), 3);
        assert_eq!(
            value,
            json!({"total": 2, "results": [
                {"title": MASK, "url": "https://a.example", "meta": {"title": "deep", "score": MASK}},
                {"title": "B", "url": "https://b.example", "meta": {"score": MASK}},
            ]})
        );
    }

    #[test]
    fn only_the_one_list_is_held_to_the_number_of_results() {
        let mut value = sample();
        assert_eq!(cap_results(&mut value, 1), 1);
        assert_eq!(value["results"].as_array().unwrap().len(), 1);
        assert_eq!(cap_results(&mut json!({"a": [1, 2], "b": [3, 4]}), 1), 0);
        assert_eq!(cap_results(&mut json!([1, 2, 3]), 2), 1);
    }
}
