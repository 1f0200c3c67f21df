//! Dialects that take nearly all of JSON Schema: OpenAI without strict mode, Anthropic.

use serde_json::{Value, json};

use super::{
    Log, back,
    normal::Normal,
    tree::{self, Node, Order},
};

/// OpenAI and compatible servers, not strict.
pub(super) fn openai(mut normal: Normal, log: &mut Log) -> Value {
    for_each_schema(&mut normal, &mut |node, pointer| give_arrays_items(node, pointer, log));
    assembled(normal)
}

/// Anthropic, not strict. Property names must match `^[a-zA-Z0-9_.-]{1,64}$` (API error texts, 2025).
pub(super) fn anthropic(mut normal: Normal, log: &mut Log) -> Value {
    for_each_schema(&mut normal, &mut |node, pointer| rename_keys(node, pointer, back::KeyRule::Anthropic, log));
    assembled(normal)
}

/// Calls `f` with every schema of the root and the definitions.
pub(super) fn for_each_schema(normal: &mut Normal, f: &mut dyn FnMut(&mut Node, &str)) {
    tree::walk(&mut normal.root, Order::Up, f);
    for (name, definition) in &mut normal.defs {
        if let Value::Object(node) = definition {
            let place = format!("/$defs/{}", tree::escape(name));
            tree::walk(node, Order::Up, &mut |node, pointer| f(node, &format!("{place}{pointer}")));
        }
    }
}

/// The root with the definitions it still uses, in alphabetical order.
pub(super) fn assembled(normal: Normal) -> Value {
    let Normal { mut root, mut defs } = normal;
    let mut used: Vec<String> = Vec::new();
    let mut todo = references(&mut root);
    while let Some(name) = todo.pop() {
        if let Some(Value::Object(node)) = defs.get_mut(&name)
            && !used.contains(&name)
        {
            todo.extend(references(node));
            used.push(name);
        }
    }
    defs.retain(|name, _| used.contains(name));
    if !defs.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(defs));
    }
    Value::Object(root)
}

fn references(node: &mut Node) -> Vec<String> {
    let mut names = Vec::new();
    tree::walk(node, Order::Down, &mut |node, _| {
        let name = node.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"));
        names.extend(name.map(str::to_owned));
    });
    names
}

/// OpenAI answers an array without `items` with a 400.
fn give_arrays_items(node: &mut Node, pointer: &str, log: &mut Log) {
    if tree::has_type(node, "array") && !node.contains_key("items") {
        node.insert("items".to_owned(), json!({}));
        log.note("array_items", pointer, "`items` added: the provider wants them");
    }
}

/// Property names the provider refuses get an alias; [`BackMap`](super::BackMap) knows it.
pub(super) fn rename_keys(node: &mut Node, pointer: &str, rule: back::KeyRule, log: &mut Log) {
    let bad = |key: &String| !rule.accepts(key);
    if let Some(Value::Object(map)) = node.get_mut("properties")
        && map.keys().any(bad)
    {
        let renamed = std::mem::take(map).into_iter().map(|(key, schema)| {
            if rule.accepts(&key) {
                return (key, schema);
            }
            let alias = back::alias(&key);
            log.note("key_alias", pointer, format!("`{key}` is sent as `{alias}`"));
            (alias, schema)
        });
        *map = renamed.collect();
    }
    if let Some(Value::Array(list)) = node.get_mut("required") {
        for key in list {
            if let Some(text) = key.as_str()
                && !rule.accepts(text)
            {
                *key = Value::String(back::alias(text));
            }
        }
    }
}
