//! Addresses with `{name}` in them, and values as they are written into addresses.

use std::fmt::Write;

use serde_json::{Map, Value};

/// A text with places for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Argument(String),
}

/// Why a template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// This argument is not there, null or a list or object.
    Missing(String),
    /// This argument is empty where an empty one would mean another address.
    Empty(String),
}

impl Template {
    /// Reads a text; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-' || c == '.') {
                return Err("between `{` and `}` stands no argument name");
            }
            pieces.push(literal(before)?);
            pieces.push(Piece::Argument(name.to_owned()));
            rest = after;
        }
        pieces.push(literal(rest)?);
        Ok(Self(pieces))
    }

    /// A template that is one argument.
    pub(super) fn argument(name: &str) -> Self {
        Self(vec![Piece::Argument(name.to_owned())])
    }

    /// The names of its arguments.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| if let Piece::Argument(name) = piece { Some(name.as_str()) } else { None })
    }

    /// The only argument, when there is nothing else in it.
    pub(super) fn sole_argument(&self) -> Option<&str> {
        if let [Piece::Argument(name)] = self.0.as_slice() { Some(name) } else { None }
    }

    /// The text with every argument percent-encoded, the literal parts as they are. An argument before the first `?`
    /// stands for a part of the path and must not be empty.
    pub(super) fn address(&self, arguments: &Map<String, Value>) -> Result<String, Unfilled> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Argument(name) => {
                    let value = scalar(arguments.get(name)).ok_or_else(|| Unfilled::Missing(name.clone()))?;
                    if value.is_empty() && !text.contains('?') {
                        return Err(Unfilled::Empty(name.clone()));
                    }
                    encode(&value, &mut text);
                }
            }
        }
        Ok(text)
    }

    /// The text with every argument as it is; `None` when one is missing.
    pub(super) fn plain(&self, arguments: &Map<String, Value>) -> Option<String> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Literal(literal) => Some(literal.clone()),
            Piece::Argument(name) => scalar(arguments.get(name)),
        });
        pieces.collect()
    }
}

fn literal(text: &str) -> Result<Piece, &'static str> {
    if text.contains('}') { Err("a `}` has no `{`") } else { Ok(Piece::Literal(text.to_owned())) }
}

/// A text, number or boolean as text.
pub(super) fn scalar(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn address(template: &str, arguments: Value) -> Result<String, Unfilled> {
        Template::parse(template).unwrap().address(arguments.as_object().unwrap())
    }

    #[test]
    fn arguments_are_percent_encoded_and_literals_are_not() {
        let arguments = json!({"id": "a/b?c#d é", "n": 12345678901234567890_u64, "on": true});
        let expected = "https://x/o/a%2Fb%3Fc%23d%20%C3%A9/12345678901234567890?on=true";
        assert_eq!(address("https://x/o/{id}/{n}?on={on}", arguments), Ok(expected.into()));
    }

    #[test]
    fn what_cannot_stand_in_an_address_is_named() {
        assert_eq!(address("/o/{id}", json!({})), Err(Unfilled::Missing("id".into())));
        assert_eq!(address("/o/{id}", json!({"id": null})), Err(Unfilled::Missing("id".into())));
        assert_eq!(address("/o/{id}", json!({"id": ["a"]})), Err(Unfilled::Missing("id".into())));
        assert_eq!(address("/o/{id}", json!({"id": ""})), Err(Unfilled::Empty("id".into())));
        assert_eq!(address("/o?q={id}", json!({"id": ""})), Ok("/o?q=".into()));
    }

    #[test]
    fn a_template_with_a_lone_brace_or_a_bad_name_is_refused() {
        for (text, why) in [
            ("/o/{id", "a `{` has no `}`"),
            ("/o/id}", "a `}` has no `{`"),
            ("/o/{}", "between `{` and `}` stands no argument name"),
            ("/o/{a b}", "between `{` and `}` stands no argument name"),
        ] {
            assert_eq!(Template::parse(text), Err(why), "{text}");
        }
    }
}
