//! Which required parameters have nothing in the query that could fill them.

use serde_json::Value;

use super::{
    ToolBrief,
    lexis::{Query, content},
};

/// Schemas deeper than this are not looked into.
const MAX_DEPTH: usize = 8;

/// What a parameter is about, told from its type and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Choice,
    Flag,
    Number,
    Structure,
    Mail,
    Url,
    Time,
    Identifier,
    Place,
    Text,
    Other,
}

/// How many required parameters lack evidence in the query: each counts from 0 (surely there) to 1 (nowhere).
/// `left` is the number of words that the tool does not name itself.
pub(super) fn lacking(query: &Query, schema: &Value, left: usize) -> f32 {
    let left = halved(query, left);
    required(schema).map(|(name, spec)| 1.0 - likely(query, name, spec, left)).sum()
}

/// The required parameters that nothing in the query can fill, nested ones too.
pub(super) fn parameters(query: &Query, tool: &ToolBrief<'_>) -> Vec<String> {
    let left = left_over(query, tool);
    let mut leaves = Vec::new();
    collect_leaves(tool.schema, 0, &mut leaves);
    let mut missing: Vec<String> = Vec::new();
    let mut numbers = query.numbers;
    for (name, spec) in leaves.into_iter().filter(|(_, spec)| spec.get("default").is_none()) {
        let absent = match kind(name, spec) {
            // Each number fills one parameter.
            Kind::Number if numbers > 0 => {
                numbers -= 1;
                false
            }
            Kind::Number => true,
            Kind::Choice
            | Kind::Flag
            | Kind::Structure
            | Kind::Mail
            | Kind::Url
            | Kind::Time
            | Kind::Identifier
            | Kind::Place
            | Kind::Text
            | Kind::Other => likely(query, name, spec, left) <= 0.0,
        };
        if absent && !missing.iter().any(|one| one == name) {
            missing.push(name.to_owned());
        }
    }
    missing
}

/// The words of the query that the tool does not name itself: they are what could be its arguments.
fn left_over(query: &Query, tool: &ToolBrief<'_>) -> usize {
    let (name, description) = (content(tool.name), content(tool.description));
    let left = query.words.iter().filter(|word| !name.contains(word) && !description.contains(word)).count();
    halved(query, left)
}

/// Chinese is read in pairs of characters, about two for each word.
fn halved(query: &Query, left: usize) -> usize {
    if query.cjk { left / 2 } else { left }
}

/// The required parameters at the top of a schema.
fn required(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let names = schema.get("required").and_then(Value::as_array);
    let named = move |name: &str| names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(name, spec)| (name.as_str(), spec)).filter(move |(name, _)| named(name))
}

/// The required parameters without parts of their own, at any depth below required ones.
fn collect_leaves<'a>(schema: &'a Value, depth: usize, leaves: &mut Vec<(&'a str, &'a Value)>) {
    if depth > MAX_DEPTH {
        return;
    }
    for (name, spec) in required(schema) {
        let inner = if spec.get("properties").is_some() { Some(spec) } else { spec.get("items") };
        match inner.filter(|inner| required(inner).next().is_some()) {
            Some(inner) => collect_leaves(inner, depth + 1, leaves),
            None => leaves.push((name, spec)),
        }
    }
}

/// How likely it is that the query says what a parameter needs, 0–1.
fn likely(query: &Query, name: &str, spec: &Value, left: usize) -> f32 {
    let or = |there: bool, else_: f32| if there { 1.0 } else { else_ };
    let named = query.names > 0 || query.quotes > 0;
    if spec.get("default").is_some() {
        return 1.0;
    }
    match kind(name, spec) {
        Kind::Choice => or(chosen(query, spec), 0.35),
        Kind::Flag => 0.8,
        Kind::Number => or(query.numbers > 0, 0.0),
        Kind::Structure if query.numbers > 0 || named || left >= 3 => 0.6,
        Kind::Structure => 0.1,
        Kind::Mail => or(query.mail, 0.1),
        Kind::Url => or(query.url, 0.1),
        Kind::Time => or(query.dated, 0.0),
        Kind::Identifier => {
            or(query.numbers > 0 || query.codes > 0 || query.quotes > 0, if query.names > 0 { 0.3 } else { 0.0 })
        }
        Kind::Place => or(query.names > 0, if query.cjk && left >= 1 { 0.7 } else { 0.2 }),
        Kind::Text => or(left >= 1 || query.quotes > 0, 0.3),
        Kind::Other if named => 1.0,
        Kind::Other => [0.1, 0.5, 0.8].get(left.min(2)).copied().unwrap_or(0.8),
    }
}

/// Whether one of the values to choose from is in the query.
fn chosen(query: &Query, spec: &Value) -> bool {
    let is_there = |choice: &str| {
        let words = content(choice);
        query.lower.contains(&choice.to_lowercase())
            || (!words.is_empty() && words.iter().all(|word| query.set.contains(word)))
    };
    let choices = spec.get("enum").and_then(Value::as_array).into_iter().flatten();
    choices.filter_map(Value::as_str).any(is_there)
}

fn kind(name: &str, spec: &Value) -> Kind {
    let lower = name.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if spec.get("enum").and_then(Value::as_array).is_some_and(|choices| !choices.is_empty()) {
        return Kind::Choice;
    }
    match spec.get("type").and_then(Value::as_str).unwrap_or("string") {
        "boolean" => return Kind::Flag,
        "integer" | "number" | "float" => return Kind::Number,
        "object" | "dict" => return Kind::Structure,
        _ => {}
    }
    if has(&["mail", "邮箱"]) {
        Kind::Mail
    } else if has(&["url", "link", "website", "uri", "网址"]) {
        Kind::Url
    } else if has(&["date", "time", "day", "year", "month", "week", "period", "when", "deadline", "日期", "时间"]) {
        Kind::Time
    } else if lower.ends_with("id") && !lower.ends_with("paid") && !lower.ends_with("grid")
        || has(&["uuid", "identifier", "account", "number", "code", "key", "token", "编号", "标识"])
    {
        Kind::Identifier
    } else if has(&[
        "city",
        "location",
        "country",
        "state",
        "address",
        "place",
        "region",
        "area",
        "origin",
        "destination",
        "from",
        "where",
        "airport",
        "城市",
        "地点",
        "地址",
        "国家",
        "地区",
        "位置",
    ]) || lower.ends_with("to")
    {
        Kind::Place
    } else if has(&[
        "query",
        "text",
        "prompt",
        "message",
        "content",
        "search",
        "keyword",
        "question",
        "topic",
        "subject",
        "title",
        "body",
        "description",
        "term",
        "phrase",
        "input",
        "expression",
        "sentence",
        "command",
        "关键",
        "内容",
        "主题",
        "文本",
    ]) {
        Kind::Text
    } else {
        Kind::Other
    }
}
