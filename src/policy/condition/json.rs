//! JSON as CEL values.

use std::collections::HashMap;

use cel::common::{
    types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt},
    value::Val,
};
use serde_json::{Number, Value};

/// The deepest nesting rules are asked about.
const MAX_DEPTH: usize = 64;
/// The most values, keys not counted, rules are asked about. A condition may compare two lists of a call pairwise, so
/// that a call of this size keeps the gate busy for less than a second.
const MAX_VALUES: usize = 10_000;

/// `value` as a CEL value that borrows its texts.
///
/// Whole numbers become `int`, or `uint` above its range; all others the nearest `double`, which keeps their order. A
/// number that neither holds (30 digits, `1e400`) becomes a text: equal to no number, and comparing it by size is an
/// evaluation error, which denies.
///
/// # Errors
/// When the value is nested deeper than 64 levels or holds more than 10,000 values.
pub(super) fn to_cel(value: &Value) -> Result<Box<dyn Val + '_>, String> {
    let mut left = MAX_VALUES;
    convert(value, 0, &mut left)
}

/// An object without fields.
pub(super) fn empty() -> Box<dyn Val> {
    Box::new(CelMap::default())
}

fn convert<'v>(value: &'v Value, depth: usize, left: &mut usize) -> Result<Box<dyn Val + 'v>, String> {
    if depth > MAX_DEPTH {
        return Err(format!("the arguments are nested deeper than {MAX_DEPTH} levels"));
    }
    *left = left.checked_sub(1).ok_or_else(|| format!("the arguments hold more than {MAX_VALUES} values"))?;
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => number_to_cel(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| convert(item, depth + 1, left)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            let fields: Result<HashMap<_, _>, String> = fields
                .iter()
                .map(|(name, field)| Ok((CelMapKey::from(name.as_str()), convert(field, depth + 1, left)?)))
                .collect();
            Box::new(CelMap::from(fields?))
        }
    })
}

fn number_to_cel(number: &Number) -> Box<dyn Val + '_> {
    if let Some(whole) = number.as_i64() {
        return Box::new(CelInt::from(whole));
    }
    if let Some(whole) = number.as_u64() {
        return Box::new(CelUInt::from(whole));
    }
    let text = number.as_str();
    match number.as_f64() {
        Some(near) if near.is_finite() && text.contains(['.', 'e', 'E']) => Box::new(CelDouble::from(near)),
        Some(_) | None => Box::new(CelString::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(json: &str) -> String {
        let value: Value = serde_json::from_str(json).unwrap();
        to_cel(&value).map_or_else(|error| error, |value| value.get_type().name().to_owned())
    }

    #[test]
    fn a_number_that_no_type_holds_becomes_a_text() {
        let kinds: Vec<_> = [
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "0.1",
            "1e30",
            "1e400",
            "-0",
        ]
        .map(kind)
        .to_vec();
        assert_eq!(kinds, ["int", "uint", "string", "string", "double", "double", "string", "int"]);
    }

    #[test]
    fn deep_and_large_values_are_refused() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(kind(&deep), "the arguments are nested deeper than 64 levels");
        let large = format!("[{}1]", "1,".repeat(20_000));
        assert_eq!(kind(&large), "the arguments hold more than 10000 values");
    }
}
