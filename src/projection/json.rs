//! Shortens a JSON value to a token budget so that it stays valid JSON.
//!
//! Arrays keep their first elements and say how many follow; objects keep all their fields, the large ones
//! shortened, as long as there is room for the names; strings keep their start.

use serde_json::Value;

use super::compose::level;
use crate::{text::cut, types::Tokens};

/// What a note on what was left out costs at most.
const NOTE: u64 = 12;
/// The least a value is shown with.
const LEAST: u64 = 8;
/// An element may take this part of its array before it is shortened itself.
const ELEMENTS: u64 = 3;

/// A value and what it costs, whole.
struct Weighed<'a> {
    value: &'a Value,
    cost: u64,
    parts: Vec<Weighed<'a>>,
}

/// The JSON text of `value` within about `budget` tokens. Every level may overdraw by a few tokens; the caller checks.
pub(super) fn shorten(value: &Value, budget: Tokens) -> String {
    let mut out = String::new();
    write(&weigh(value), budget.0, &mut out);
    out
}

fn weigh(value: &Value) -> Weighed<'_> {
    let (cost, parts) = match value {
        Value::Null | Value::Bool(_) => (2, Vec::new()),
        Value::Number(number) => (cut::tokens(&number.to_string()).0, Vec::new()),
        Value::String(text) => (string_cost(text), Vec::new()),
        Value::Array(items) => {
            let parts: Vec<Weighed<'_>> = items.iter().map(weigh).collect();
            (2 + parts.iter().map(|part| part.cost + 1).sum::<u64>(), parts)
        }
        Value::Object(fields) => {
            let parts: Vec<Weighed<'_>> = fields.values().map(weigh).collect();
            let keys: u64 = fields.keys().map(|key| key_cost(key)).sum();
            (2 + keys + parts.iter().map(|part| part.cost).sum::<u64>(), parts)
        }
    };
    Weighed { value, cost, parts }
}

fn string_cost(text: &str) -> u64 {
    let escapes: u64 = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 0,
        })
        .sum();
    cut::tokens(text).0 + escapes + 2
}

/// The name with its quotes, the colon and the comma.
fn key_cost(key: &str) -> u64 {
    string_cost(key) + 2
}

fn write(node: &Weighed<'_>, budget: u64, out: &mut String) {
    if node.cost <= budget {
        out.push_str(&node.value.to_string());
        return;
    }
    match node.value {
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&node.value.to_string()),
        Value::String(text) => write_string(text, budget, out),
        Value::Array(_) => write_array(node, budget, out),
        Value::Object(fields) => {
            let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
            write_object(node, &keys, budget, out);
        }
    }
}

fn push_json(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

fn write_string(text: &str, budget: u64, out: &mut String) {
    let mut room = budget.saturating_sub(NOTE + 2);
    let mut head = cut::to_tokens(text, Tokens(room));
    // Escapes count as well; what they take is given back once.
    let over = string_cost(head).saturating_sub(room + 2);
    if over > 0 {
        room = room.saturating_sub(over);
        head = cut::to_tokens(text, Tokens(room));
    }
    let left = text.len() - head.len();
    push_json(&format!("{head}… {left} more bytes"), out);
}

fn write_array(node: &Weighed<'_>, budget: u64, out: &mut String) {
    let count = node.parts.len();
    let room = budget.saturating_sub(NOTE + 2);
    let share = room / ELEMENTS.min(u64::try_from(count).unwrap_or(ELEMENTS)).max(1);
    let (mut spent, mut kept) = (0, 0);
    out.push('[');
    for part in &node.parts {
        let allowed = part.cost.min(share.max(LEAST));
        if spent + allowed + 1 > room {
            break;
        }
        if kept > 0 {
            out.push(',');
        }
        let from = out.len();
        write(part, allowed, out);
        spent += 1 + cut::tokens(out.get(from..).unwrap_or_default()).0;
        kept += 1;
    }
    if kept < count {
        if kept > 0 {
            out.push(',');
        }
        push_json(&format!("… {} more items", count - kept), out);
    }
    out.push(']');
}

fn write_object(node: &Weighed<'_>, keys: &[&str], budget: u64, out: &mut String) {
    let room = budget.saturating_sub(NOTE + 2);
    let mut least = 0;
    let shown = node
        .parts
        .iter()
        .zip(keys)
        .take_while(|(part, key)| {
            least += key_cost(key) + part.cost.min(LEAST);
            least <= room
        })
        .count();
    let fields = || node.parts.iter().zip(keys).take(shown);
    let names: u64 = fields().map(|(_, key)| key_cost(key)).sum();
    let share = level(fields().map(|(part, _)| part.cost).collect(), room.saturating_sub(names)).max(LEAST);
    out.push('{');
    for (at, (part, key)) in fields().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_json(key, out);
        out.push(':');
        write(part, part.cost.min(share), out);
    }
    if shown < keys.len() {
        if shown > 0 {
            out.push(',');
        }
        push_json("…", out);
        out.push(':');
        push_json(&format!("{} more fields", keys.len() - shown), out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_array_keeps_its_first_elements_and_says_how_many_follow() {
        let value = json!((0..100).map(|n| json!({"id": n})).collect::<Vec<_>>());
        let short = shorten(&value, Tokens(80));
        assert!(short.starts_with(r#"[{"id":0},{"id":1},"#) && short.ends_with(r#" more items"]"#), "{short}");
        let kept: Value = serde_json::from_str(&short).unwrap();
        let kept = kept.as_array().unwrap();
        assert_eq!(kept.last().unwrap(), &json!(format!("… {} more items", 100 - (kept.len() - 1))));
        assert!(cut::fits(&short, Tokens(80)));
    }

    #[test]
    fn small_fields_stay_whole_beside_a_large_one() {
        let value = json!({"title": "The title", "url": "https://a.example/x", "body": "word ".repeat(5_000), "n": 12});
        let short: Value = serde_json::from_str(&shorten(&value, Tokens(200))).unwrap();
        assert_eq!((&short["title"], &short["url"], &short["n"]), (&value["title"], &value["url"], &value["n"]));
        let body = short["body"].as_str().unwrap();
        assert!(body.starts_with("word word") && body.ends_with("more bytes"));
    }

    #[test]
    fn too_many_fields_are_counted() {
        let value = Value::Object((0..500).map(|n| (format!("field_{n}"), json!(n))).collect());
        let short = shorten(&value, Tokens(100));
        assert!(cut::fits(&short, Tokens(100)), "{short}");
        assert!(short.starts_with(r#"{"field_0":0,"#) && short.ends_with(r#" more fields"}"#), "{short}");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            "[a-z\"\n 中]{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::vec(("[a-z]{1,12}", inner), 0..12)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_shortened_stays_json_and_near_the_budget(value in values(), budget in 60u64..400) {
            let short = shorten(&value, Tokens(budget));
            prop_assert!(serde_json::from_str::<Value>(&short).is_ok());
            prop_assert!(cut::tokens(&short).0 <= budget * 2, "{} for {budget}", cut::tokens(&short));
        }
    }
}
