//! Digests that are equal for equal JSON values, however their keys are ordered and their numbers spelled.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::types::sha256_name;

/// `sha256:…` of some bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    sha256_name(&Sha256::digest(bytes))
}

/// `sha256:…` of a call: a name and its arguments.
pub(super) fn of_call(name: &str, arguments: &Value) -> String {
    let mut text = String::with_capacity(128);
    text.push_str(name);
    text.push('\n');
    canonical(arguments, &mut text);
    of_bytes(text.as_bytes())
}

/// Whether two values are equal, however they are written.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    let (mut left, mut right) = (String::new(), String::new());
    canonical(one, &mut left);
    canonical(other, &mut right);
    left == right
}

/// Writes a value so that equal values give equal text: keys sorted, numbers in one spelling.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => canonical_number(number.as_str(), out),
        Value::String(text) => quoted(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, item)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quoted(key, out);
                out.push(':');
                canonical(item, out);
            }
            out.push('}');
        }
    }
}

fn quoted(text: &str, out: &mut String) {
    // Writing text to memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// `-12.50e3` → `-125e2`: the digits without zeros at either end, and the exponent of the last digit.
fn canonical_number(text: &str, out: &mut String) {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else { return out.push_str(text) };
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let trimmed = significant.trim_end_matches('0');
    if trimmed.is_empty() {
        return out.push('0');
    }
    let dropped = i64::try_from(significant.len() - trimmed.len()).unwrap_or(0);
    let places = i64::try_from(fraction.len()).unwrap_or(0);
    out.push_str(sign);
    out.push_str(trimmed);
    out.push('e');
    out.push_str(&exponent.saturating_sub(places).saturating_add(dropped).to_string());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(json: &str) -> String {
        of_call("pay", &serde_json::from_str(json).unwrap())
    }

    #[test]
    fn equal_values_have_equal_digests_whatever_their_spelling() {
        let base = digest(r#"{"to":"A","amount":1}"#);
        for same in [r#"{"amount":1,"to":"A"}"#, r#"{"to":"A","amount":1.0}"#, r#"{"to":"\u0041","amount":10e-1}"#] {
            assert_eq!(base, digest(same), "{same}");
        }
        for other in [r#"{"to":"B","amount":1}"#, r#"{"to":"A","amount":"1"}"#, r#"{"to":"A","amount":1,"note":null}"#]
        {
            assert_ne!(base, digest(other), "{other}");
        }
    }

    /// DEV-B06: numbers beyond 2^53 and beyond any float keep their identity.
    #[test]
    fn big_numbers_are_told_apart() {
        assert_ne!(digest("2512292042121000001"), digest("2512292042121000000"));
        assert_ne!(digest("1e400"), digest("1e401"));
        assert_eq!(digest("1e400"), digest("10e399"));
    }

    proptest! {
        #[test]
        fn shifting_the_point_changes_nothing(digits in 1u64..u64::MAX, places in 0usize..12) {
            let moved = format!("{digits}{}e-{places}", "0".repeat(places));
            prop_assert_eq!(digest(&digits.to_string()), digest(&moved));
        }
    }
}
