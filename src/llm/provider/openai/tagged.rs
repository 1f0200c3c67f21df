//! Calls that a model printed as tagged text, because its server does not read them (DEV-B07).
//!
//! A call is accepted only when its name is among the tools that were offered, and only outside code fences, so prose
//! that explains the tags stays prose.

use serde::Deserialize;

use super::{
    super::super::{
        dialect::Reading,
        json::{Raw, Str},
    },
    message::Message,
};

/// The tags of the dialects: Hermes and Qwen, then Llama and Functionary, then DeepSeek's distillations.
const TAGS: &[(&str, &str)] =
    &[("<tool_call>", "</tool_call>"), ("<function_call>", "</function_call>"), ("<|tool_call|>", "<|/tool_call|>")];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    parameters: Raw<'a>,
}

/// Moves printed calls of offered tools out of the text. Returns whether there were any.
pub(super) fn read(message: &mut Message, reading: &Reading, notices: &mut Vec<String>) -> bool {
    let text = std::mem::take(message.text_mut());
    let (kept, calls) = split(&text, |name| reading.names.original(name).is_some());
    let found = !calls.is_empty();
    *message.text_mut() = if found { kept.trim_end().to_owned() } else { text };
    for (name, arguments) in calls {
        notices.push(format!("a call of `{name}` was read from tagged text"));
        message.add_call(name, arguments);
    }
    found
}

/// The text without the calls, and the calls.
fn split(text: &str, offered: impl Fn(&str) -> bool) -> (String, Vec<(String, String)>) {
    let (mut kept, mut calls, mut rest, mut fenced) = (String::new(), Vec::new(), text, false);
    while let Some((at, opener, closer)) = next_tag(rest) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        fenced ^= before.matches("```").count() % 2 == 1;
        let inner = from.get(opener.len()..).unwrap_or_default();
        let end = inner.find(closer).unwrap_or(inner.len());
        let (body, after) = inner.split_at(end);
        let after = after.strip_prefix(closer).unwrap_or_default();
        match call(body).filter(|(name, _)| !fenced && offered(name)) {
            Some(call) => {
                calls.push(call);
                rest = after;
            }
            None => {
                kept.push_str(opener);
                rest = inner;
            }
        }
    }
    kept.push_str(rest);
    (kept, calls)
}

fn next_tag(text: &str) -> Option<(usize, &'static str, &'static str)> {
    TAGS.iter().filter_map(|(opener, closer)| Some((text.find(opener)?, *opener, *closer))).min()
}

fn call(body: &str) -> Option<(String, String)> {
    let printed: Printed<'_> = serde_json::from_str(body.trim()).ok()?;
    let arguments = printed.arguments.text_or_json().or_else(|| printed.parameters.text_or_json());
    Some((printed.name.some()?.to_owned(), arguments.unwrap_or_else(|| "{}".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kept: &str, calls: &[(&str, &str)]) {
        let (left, found) = split(text, |name| name == "add");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, args)| (name.as_str(), args.as_str())).collect();
        assert_eq!((left.as_str(), found.as_slice()), (kept, calls), "{text}");
    }

    /// DEV-B07
    #[test]
    fn only_calls_of_offered_tools_outside_fences_leave_the_text() {
        let call = r#"<tool_call>{"name":"add","arguments":{"a":1,"b":2}}</tool_call>"#;
        check(&format!("Sure. {call}"), "Sure. ", &[("add", r#"{"a":1,"b":2}"#)]);
        check(&format!("```\n{call}\n```\nso"), &format!("```\n{call}\n```\nso"), &[]);
        check(r#"<tool_call>{"name":"sub"}</tool_call>"#, r#"<tool_call>{"name":"sub"}</tool_call>"#, &[]);
        check("The tag <tool_call> opens a call.", "The tag <tool_call> opens a call.", &[]);
        check(&format!("{call}\n{call}"), "\n", &[("add", r#"{"a":1,"b":2}"#), ("add", r#"{"a":1,"b":2}"#)]);
        check(r#"<function_call>{"name":"add","parameters":{}}"#, "", &[("add", "{}")]);
    }
}
