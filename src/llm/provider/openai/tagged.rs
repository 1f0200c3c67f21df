//! Calls that a model printed as tagged text, because its server does not read them (DEV-B07).
//!
//! A call is accepted only when its name is among the tools that were offered, and only outside code fences, so prose
//! that explains the tags stays prose. Text is held back only while it may still become a call.

use serde::Deserialize;

use super::super::super::json::{Raw, Str};

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

/// Reads a text that comes in pieces: what is text goes on, what is a call is kept aside.
#[derive(Debug, Default)]
pub(super) struct TaggedReader {
    /// What may still become a call.
    pending: String,
    fenced: bool,
    calls: Vec<(String, String)>,
}

impl TaggedReader {
    /// Takes the next piece and returns the text that is surely text. `offered` knows the names on the wire.
    pub(super) fn push(&mut self, piece: &str, offered: impl Fn(&str) -> bool) -> String {
        self.pending.push_str(piece);
        self.advance(false, offered)
    }

    /// The text has ended: nothing is held back any more.
    pub(super) fn end(&mut self, offered: impl Fn(&str) -> bool) -> String {
        let mut rest = self.advance(true, offered);
        rest.push_str(&std::mem::take(&mut self.pending));
        rest
    }

    /// The calls so far: names as they were printed, and arguments.
    pub(super) fn take_calls(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.calls)
    }

    fn advance(&mut self, ended: bool, offered: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        while let Some((at, opener, closer)) = next_tag(&self.pending) {
            let from_tag = self.pending.split_off(at);
            self.let_through(&mut text);
            let inner = from_tag.get(opener.len()..).unwrap_or_default();
            let (body, rest) = match inner.split_once(closer) {
                Some((body, rest)) => (body, Some(rest)),
                None => (inner, ended.then_some("")),
            };
            let accepted = call(body).filter(|(name, _)| !self.fenced && offered(name));
            match (accepted, rest) {
                (Some(call), Some(rest)) => {
                    self.calls.push(call);
                    rest.clone_into(&mut self.pending);
                }
                // Not closed yet, and what has come may still be the beginning of a call.
                (_, None) if !self.fenced && may_be_object(body) => {
                    self.pending = from_tag;
                    return text;
                }
                (_, Some(_) | None) => {
                    text.push_str(opener);
                    inner.clone_into(&mut self.pending);
                }
            }
        }
        let keep = if ended { 0 } else { opener_prefix(&self.pending) };
        let held = self.pending.split_off(self.pending.len() - keep);
        self.let_through(&mut text);
        self.pending = held;
        text
    }

    /// Passes on all that is pending, and watches the code fences in it.
    fn let_through(&mut self, text: &mut String) {
        self.fenced ^= self.pending.matches("```").count() % 2 == 1;
        text.push_str(&self.pending);
        self.pending.clear();
    }
}

fn next_tag(text: &str) -> Option<(usize, &'static str, &'static str)> {
    TAGS.iter().filter_map(|(opener, closer)| Some((text.find(opener)?, *opener, *closer))).min()
}

/// How many bytes at the end of the text are the beginning of an opening tag, or of a fence cut in two.
fn opener_prefix(text: &str) -> usize {
    let ends =
        |opener: &&str| (1..opener.len()).rev().find(|length| text.ends_with(opener.get(..*length).unwrap_or("\0")));
    let fence = text.len() - text.trim_end_matches('`').len();
    let tag = TAGS.iter().filter_map(|(opener, _)| ends(opener)).max().unwrap_or(0);
    tag.max(if fence < 3 { fence } else { 0 })
}

fn may_be_object(body: &str) -> bool {
    let body = body.trim_start();
    body.is_empty() || body.starts_with('{')
}

fn call(body: &str) -> Option<(String, String)> {
    let printed: Printed<'_> = serde_json::from_str(body.trim()).ok()?;
    let arguments = printed.arguments.text_or_json().or_else(|| printed.parameters.text_or_json());
    Some((printed.name.some()?.to_owned(), arguments.unwrap_or_else(|| "{}".to_owned())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&str]) -> (String, Vec<(String, String)>) {
        let (mut reader, mut text) = (TaggedReader::default(), String::new());
        for piece in pieces {
            text.push_str(&reader.push(piece, |name| name == "add"));
        }
        text.push_str(&reader.end(|name| name == "add"));
        (text, reader.take_calls())
    }

    fn check(text: &str, kept: &str, calls: &[(&str, &str)]) {
        let (left, found) = read(&[text]);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, args)| (name.as_str(), args.as_str())).collect();
        assert_eq!((left.as_str(), found.as_slice()), (kept, calls), "{text}");
    }

    /// DEV-B07
    #[test]
    fn only_calls_of_offered_tools_outside_fences_leave_the_text() {
        let call = r#"<tool_call>{"name":"add","arguments":{"a":1,"b":2}}</tool_call>"#;
        let add = ("add", r#"{"a":1,"b":2}"#);
        check(&format!("Sure. {call}"), "Sure. ", &[add]);
        check(&format!("```\n{call}\n```\nso"), &format!("```\n{call}\n```\nso"), &[]);
        check(&format!("```\nx\n```\n{call}"), "```\nx\n```\n", &[add]);
        check(r#"<tool_call>{"name":"sub"}</tool_call>"#, r#"<tool_call>{"name":"sub"}</tool_call>"#, &[]);
        check("The tag <tool_call> opens a call.", "The tag <tool_call> opens a call.", &[]);
        check(&format!("{call}\n{call}"), "\n", &[add, add]);
        check(r#"<function_call>{"name":"add","parameters":{}}"#, "", &[("add", "{}")]);
    }

    /// DEV-B07
    #[test]
    fn an_opening_tag_cut_in_two_does_not_leak_and_prose_is_not_held_back() {
        let mut reader = TaggedReader::default();
        assert_eq!(reader.push("Sure. <tool_", |name| name == "add"), "Sure. ");
        assert_eq!(reader.push("call>{\"name\":\"add\",\"arguments\":{}}</tool", |name| name == "add"), "");
        assert_eq!(reader.push("_call> Done.", |name| name == "add"), " Done.");
        assert_eq!(reader.take_calls(), [("add".to_owned(), "{}".to_owned())]);
        assert_eq!(reader.push("a < b", |_| true), "a < b");
        assert_eq!(reader.push(" <tool_call> in prose", |_| true), " <tool_call> in prose");
    }

    proptest! {
        #[test]
        fn any_cutting_reads_the_same(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<tool_call>", "</tool_call>", "<tool_", "call>", r#"{"name":"add","arguments":{"a":1}}"#, "```", "`", "é ", "<",
                "<|tool_call|>", "<|/tool_call|>", r#"{"name":"x"}"#, "{", "text",
            ]), 0..12),
            cuts in prop::collection::vec(0usize..300, 0..10),
        ) {
            let text = pieces.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).filter(|cut| text.is_char_boundary(*cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let parts: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&parts), read(&[&text]));
        }
    }
}
