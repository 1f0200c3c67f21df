//! The root of a tool's schema: every provider wants an object there, without `$ref`, `anyOf`, `oneOf` or `allOf`.

use serde_json::{Map, Value, json};

use super::{
    Log, SchemaError, merge,
    normal::Normal,
    tree::{self, Node},
};

/// How many references and unions are followed at the root.
const MAX_STEPS: usize = 64;

/// Rewrites the root to an object with all properties of its parts; variants are told in the description.
pub(super) fn as_object(normal: &mut Normal, log: &mut Log) -> Result<(), SchemaError> {
    let mut steps = MAX_STEPS;
    let root = std::mem::take(&mut normal.root);
    let mut root = flat(root, &normal.defs, &mut steps, log)?;
    if root.contains_key("type") && !tree::has_type(&root, "object") {
        return Err(SchemaError::NotAnObject { found: kind_word(&root) });
    }
    if root.get("type") != Some(&Value::String("object".to_owned())) {
        if root.contains_key("type") {
            log.note("root_type", "", "the arguments are an object; other types of the root are left out");
        }
        root.shift_remove("type");
    }
    for keyword in ["enum", "const", "not", "if", "then", "else"] {
        if root.shift_remove(keyword).is_some() {
            log.loss("root_keywords", "", format!("`{keyword}` at the root is left out"));
        }
    }
    let mut ordered = Map::from_iter([("type".to_owned(), json!("object"))]);
    ordered.append(&mut root);
    ordered.entry("properties").or_insert_with(|| json!({}));
    normal.root = ordered;
    Ok(())
}

fn kind_word(root: &Node) -> &'static str {
    ["array", "string", "integer", "number", "boolean", "null"]
        .into_iter()
        .find(|name| tree::has_type(root, name))
        .unwrap_or("something else")
}

/// The node without `$ref`, `allOf`, `anyOf` and `oneOf` at its top.
fn flat(mut node: Node, defs: &Node, steps: &mut usize, log: &mut Log) -> Result<Node, SchemaError> {
    *steps = steps.checked_sub(1).ok_or(SchemaError::RootTooEntangled)?;
    if let Some(reference) = node.shift_remove("$ref") {
        let target = resolve(&reference, defs).cloned().unwrap_or_default();
        let target = flat(target, defs, steps, log)?;
        node = merge::both(node, target);
    }
    if let Some(Value::Array(parts)) = node.shift_remove("allOf") {
        for part in parts {
            if let Value::Object(part) = part {
                node = merge::both(node, flat(part, defs, steps, log)?);
            }
        }
        log.note("root_all_of", "", "the parts of `allOf` are merged");
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(variants)) = node.shift_remove(keyword) else { continue };
        let mut objects = Vec::new();
        for variant in variants {
            let Value::Object(variant) = variant else { continue };
            let variant = flat(variant, defs, steps, log)?;
            if !variant.contains_key("type") || tree::has_type(&variant, "object") {
                objects.push(variant);
            }
        }
        if objects.is_empty() {
            return Err(SchemaError::NoObjectVariant { keyword });
        }
        log.loss("root_union", "", format!("the {} variants of `{keyword}` are merged to one object", objects.len()));
        node = with_variants(node, &objects);
    }
    Ok(node)
}

/// The definition a normal reference points to.
pub(super) fn resolve<'a>(reference: &Value, defs: &'a Node) -> Option<&'a Node> {
    let name = reference.as_str()?.strip_prefix("#/$defs/")?;
    defs.get(name)?.as_object()
}

/// The base with the properties of all variants; what all variants require stays required.
fn with_variants(mut base: Node, variants: &[Node]) -> Node {
    let mut union = Map::new();
    let declares = |node: &Node, key: &str| tree::properties(node).is_some_and(|map| map.contains_key(key));
    let described_by_base = |key: &str| declares(&base, key);
    let all_describe = |key: &str| variants.iter().all(|variant| declares(variant, key));
    for variant in variants {
        for (key, schema) in tree::properties(variant).into_iter().flatten() {
            // A key the base describes too: a variant that leaves it open is bound by the base alone.
            if described_by_base(key) && !all_describe(key) {
                continue;
            }
            let joined = match union.get(key) {
                None => schema.clone(),
                Some(present) => merge::either(present, schema),
            };
            union.insert(key.clone(), joined);
        }
    }
    let always = common_required(variants);
    let open = variants.iter().any(|variant| variant.get("additionalProperties") != Some(&Value::Bool(false)));
    let closed_by_variants = !open && !base.contains_key("additionalProperties");
    let story = story(variants);
    let extra = json!({"properties": union, "required": always});
    if let Value::Object(mut extra) = extra {
        if always.is_empty() {
            extra.shift_remove("required");
        }
        base = merge::both(base, extra);
    }
    if closed_by_variants {
        base.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(story) = story {
        tree::describe(&mut base, &story);
    }
    base
}

fn common_required(variants: &[Node]) -> Vec<String> {
    let Some((first, rest)) = variants.split_first() else { return Vec::new() };
    let mut common = tree::required(first);
    common.retain(|key| rest.iter().all(|variant| tree::required(variant).contains(key)));
    common
}

/// The variants in a sentence: `Give one of: (1) by="id", id; (2) by="path", path.`
fn story(variants: &[Node]) -> Option<String> {
    let tell = |variant: &Node| {
        let keys = tree::required(variant);
        let parts: Vec<String> = keys.iter().map(|key| tell_key(variant, key)).collect();
        let named = variant.get("title").or_else(|| variant.get("description")).and_then(Value::as_str);
        match (named, parts.is_empty()) {
            (Some(name), true) => name.to_owned(),
            (Some(name), false) if name.len() <= 80 => format!("{name}: {}", parts.join(", ")),
            (Some(_), false) | (None, false) => parts.join(", "),
            (None, true) => "nothing".to_owned(),
        }
    };
    let told: Vec<String> =
        variants.iter().enumerate().map(|(n, variant)| format!("({}) {}", n + 1, tell(variant))).collect();
    (variants.len() > 1).then(|| format!("Give one of: {}.", told.join("; ")))
}

fn tell_key(variant: &Node, key: &str) -> String {
    let fixed = tree::properties(variant).and_then(|map| map.get(key)?.as_object()?.get("const"));
    fixed.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
}
