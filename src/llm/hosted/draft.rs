//! A tool object and body fields in the making.

use serde_json::{Map, Value};

use super::{Place, Spelling};

/// What one hosted tool becomes.
#[derive(Debug)]
pub(super) struct Draft {
    tool: Option<Value>,
    body: Value,
}

impl Draft {
    pub(super) fn of(spelling: &Spelling) -> Self {
        Self { tool: spelling.tool.clone().map(Value::Object), body: Value::Object(spelling.body.clone()) }
    }

    /// Adds fields of the provider's own to the tool.
    pub(super) fn options(&mut self, value: &Value) -> Result<(), String> {
        match (value, self.tool.as_mut()) {
            (Value::Object(more), Some(Value::Object(own))) => {
                own.extend(more.clone());
                Ok(())
            }
            _ => Err("`options` must be an object, for a tool that has one".to_owned()),
        }
    }

    /// Puts a parameter where it belongs.
    pub(super) fn set(&mut self, name: &str, value: &Value, place: &Place) -> Result<(), String> {
        for (at, constant) in &place.set {
            self.put(at, constant)?;
        }
        if place.fields.is_empty() {
            let value = worded(name, value, place)?;
            return place.at.split_whitespace().try_for_each(|at| self.put(at, &value));
        }
        let Value::Object(map) = value else { return Err(format!("`{name}` must be an object")) };
        for (field, value) in map {
            let at = place.fields.get(field).ok_or_else(|| {
                let can: Vec<&str> = place.fields.keys().map(String::as_str).collect();
                format!("`{name}.{field}` cannot be expressed (it can have {})", can.join(", "))
            })?;
            let value = worded(field, value, place)?;
            at.split_whitespace().try_for_each(|at| self.put(at, &value))?;
        }
        Ok(())
    }

    fn put(&mut self, at: &str, value: &Value) -> Result<(), String> {
        let misfit = || format!("the profile's place `{at}` does not fit its tool");
        let (root, pointer) = match at.split_once(':') {
            Some(("tool", pointer)) => (self.tool.as_mut().ok_or_else(misfit)?, pointer),
            Some(("body", pointer)) => (&mut self.body, pointer),
            Some(_) | None => return Err(misfit()),
        };
        let mut here = root;
        for step in pointer.split('/').skip(1) {
            if let (Ok(index), true) = (step.parse::<usize>(), here.is_array()) {
                here = here.get_mut(index).ok_or_else(misfit)?;
                continue;
            }
            if here.is_null() {
                *here = Value::Object(Map::new());
            }
            here = here.as_object_mut().ok_or_else(misfit)?.entry(step).or_insert(Value::Null);
        }
        *here = value.clone();
        Ok(())
    }

    pub(super) fn finish(self) -> (Option<Map<String, Value>>, Map<String, Value>) {
        let map = |value| if let Value::Object(map) = value { Some(map) } else { None };
        (self.tool.and_then(map), map(self.body).unwrap_or_default())
    }
}

/// The value in the provider's words.
fn worded(name: &str, value: &Value, place: &Place) -> Result<Value, String> {
    match value {
        Value::String(word) if !place.words.is_empty() => match place.words.get(word) {
            Some(other) => Ok(other.clone()),
            None if place.fields.is_empty() => {
                let known: Vec<&str> = place.words.keys().map(String::as_str).collect();
                Err(format!("`{name}` cannot be `{word}` there; it can be {}", known.join(", ")))
            }
            None => Ok(value.clone()),
        },
        Value::Array(list) => match (place.max.filter(|max| list.len() > *max), place.single, list.as_slice()) {
            (Some(max), ..) => Err(format!("`{name}` may have {max} entries at most, not {}", list.len())),
            (None, true, [only]) => Ok(only.clone()),
            (None, true, many) => Err(format!("`{name}` may have one entry only, not {}", many.len())),
            (None, false, _) => Ok(value.clone()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Ok(value.clone()),
    }
}
