//! A function call whose arguments come in pieces: values at JSON paths (`streamFunctionCallArguments`, Vertex only).

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    super::super::json::{self, Raw, Str},
    part::WireCall,
};

/// How deep a path may lead.
const MAX_DEPTH: usize = 64;

/// How many places of an array may be left out by one path.
const MAX_GAP: usize = 256;

/// The call, as far as it is known.
#[derive(Debug)]
pub(super) struct PartialCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    signature: Option<String>,
    arguments: Value,
    /// A text value has more to come.
    open: bool,
    /// The call has ended, or its place is taken by the next.
    pub(super) closed: bool,
    /// A piece could not be put in its place.
    broken: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WirePiece<'a> {
    #[serde(borrow)]
    json_path: Str<'a>,
    #[serde(borrow)]
    string_value: Str<'a>,
    #[serde(borrow)]
    number_value: Raw<'a>,
    #[serde(borrow)]
    bool_value: Raw<'a>,
    #[serde(borrow)]
    will_continue: Raw<'a>,
}

impl PartialCall {
    pub(super) fn new(call: &WireCall<'_>, signature: Option<&str>) -> Self {
        let mut partial = Self {
            id: call.id.some().map(str::to_owned),
            name: call.name.text().to_owned(),
            signature: signature.map(str::to_owned),
            arguments: Value::Object(Map::new()),
            open: false,
            closed: false,
            broken: false,
        };
        partial.feed(call, None);
        partial
    }

    /// Takes a further part of the call. One that does not continue it ends it.
    pub(super) fn feed(&mut self, call: &WireCall<'_>, signature: Option<&str>) {
        if self.signature.is_none() {
            self.signature = signature.map(str::to_owned);
        }
        if let Some(args @ Value::Object(_)) = call.args.read::<Value>() {
            self.arguments = args;
            self.open = false;
        }
        for piece in call.partial_args.list() {
            match piece.read::<WirePiece<'_>>() {
                Some(piece) => self.put(&piece),
                None => self.broken = true,
            }
        }
        self.closed = !call.continues();
    }

    fn put(&mut self, piece: &WirePiece<'_>) {
        let place = path(piece.json_path.text()).and_then(|path| slot(&mut self.arguments, path));
        let Some(place) = place else {
            self.broken = true;
            return;
        };
        self.open = piece.will_continue.get() == Some("true");
        match (&piece.string_value.0, place) {
            (Some(more), Value::String(text)) => text.push_str(more),
            (Some(text), place) => *place = Value::String(text.to_string()),
            (None, place) => *place = piece.number_value.read().or_else(|| piece.bool_value.read()).unwrap_or_default(),
        }
    }

    /// Whether the arguments are all there; `ended` is whether the reply as a whole came to its end. A recorded stream
    /// (2026-05) never sends the empty call that should close it.
    pub(super) fn complete(&self, ended: bool) -> bool {
        (self.closed || ended) && !self.open && !self.broken
    }

    /// The arguments as text.
    pub(super) fn arguments(&self) -> String {
        self.arguments.to_string()
    }

    /// The part that a reply in one piece would have had.
    pub(super) fn raw(&self) -> Option<Box<RawValue>> {
        let mut out = Vec::new();
        json::put(&mut out, "{\"functionCall\":{\"name\":");
        json::string(&mut out, &self.name);
        if let Some(id) = &self.id {
            json::text_field(&mut out, "id", id);
        }
        json::put(&mut out, ",\"args\":");
        json::value(&mut out, &self.arguments);
        json::put(&mut out, "}");
        if let Some(signature) = &self.signature {
            json::text_field(&mut out, "thoughtSignature", signature);
        }
        json::put(&mut out, "}");
        RawValue::from_string(String::from_utf8(out).ok()?).ok()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The steps of `$.a.b[0]['c']`; `None` when it is written otherwise or too long.
fn path(text: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = text.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, tail) = after.split_at_checked(end)?;
            steps.push(Step::Key(key));
            rest = tail;
            continue;
        }
        let after = rest.strip_prefix('[')?;
        match after.chars().next()? {
            quote @ ('\'' | '"') => {
                let (key, tail) = after.get(1..)?.split_once(quote)?;
                steps.push(Step::Key(key));
                rest = tail.strip_prefix(']')?;
            }
            _ => {
                let (index, tail) = after.split_once(']')?;
                steps.push(Step::Index(index.parse().ok()?));
                rest = tail;
            }
        }
    }
    (!steps.is_empty()).then_some(steps)
}

/// The place of a path in `tree`, made where it is missing.
fn slot<'t>(tree: &'t mut Value, path: Vec<Step<'_>>) -> Option<&'t mut Value> {
    let mut at = tree;
    for step in path {
        at = match step {
            Step::Key(key) => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut()?.entry(key.to_owned()).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if !at.is_array() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut()?;
                if index > list.len() + MAX_GAP {
                    return None;
                }
                while list.len() <= index {
                    list.push(Value::Null);
                }
                list.get_mut(index)?
            }
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(pieces: &[&str]) -> PartialCall {
        let mut calls = pieces.iter().map(|json| serde_json::from_str::<WireCall<'_>>(json).unwrap());
        let mut partial = PartialCall::new(&calls.next().unwrap(), Some("sig"));
        calls.for_each(|call| partial.feed(&call, None));
        partial
    }

    /// DEV-B06
    #[test]
    fn values_at_paths_become_one_object_with_exact_numbers() {
        let call = fed(&[
            r#"{"name":"write","id":"w1","willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.items[0].name","stringValue":"a","willContinue":true}],"willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.items[0].name","stringValue":"🍎"}],"willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.items[1]['the price']","numberValue":12345678901234567890.10}],"willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.ok","boolValue":true},{"jsonPath":"$.none","nullValue":"NULL_VALUE"}],"willContinue":true}"#,
            "{}",
        ]);
        assert!(call.complete(false));
        assert_eq!(
            call.raw().unwrap().get(),
            r#"{"functionCall":{"name":"write","id":"w1","args":{"items":[{"name":"a🍎"},{"the price":12345678901234567890.10}],"ok":true,"none":null}},"thoughtSignature":"sig"}"#
        );
    }

    #[test]
    fn a_call_cut_in_a_text_is_not_complete_even_if_the_reply_ends() {
        let call = fed(&[
            r#"{"name":"f","willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.q","stringValue":"a","willContinue":true}],"willContinue":true}"#,
        ]);
        assert!(!call.complete(true));
        let whole = fed(&[
            r#"{"name":"f","willContinue":true}"#,
            r#"{"partialArgs":[{"jsonPath":"$.q","stringValue":"a"}],"willContinue":true}"#,
        ]);
        assert_eq!((whole.complete(true), whole.complete(false)), (true, false));
    }

    #[test]
    fn paths_that_lead_nowhere_spoil_the_call() {
        for bad in ["", "$", "q", "$x", "$[", "$[a]", "$['a'", "$.a[99999999999]", "$.a[100000]"] {
            let piece = serde_json::json!({"partialArgs": [{"jsonPath": bad, "numberValue": 1}]}).to_string();
            assert!(!fed(&[r#"{"name":"f","willContinue":true}"#, &piece]).complete(true), "{bad}");
        }
    }
}
