//! Markup that only the makers of a conversation write: roles, templates, tool calls; and links that carry data away.

use std::{ops::Range, sync::OnceLock};

use regex::Regex;

use super::Kind;

pub(super) struct Mark {
    pub(super) kind: Kind,
    pub(super) what: &'static str,
    pub(super) weight: f32,
    /// Every match holds one of these: most texts hold none, and the pattern is not even read.
    hints: &'static [&'static str],
    source: &'static str,
    pattern: OnceLock<Option<Regex>>,
}

impl Mark {
    const fn new(
        (kind, weight): (Kind, f32),
        what: &'static str,
        hints: &'static [&'static str],
        source: &'static str,
    ) -> Self {
        Self { kind, what, weight, hints, source, pattern: OnceLock::new() }
    }

    fn pattern(&self) -> Option<&Regex> {
        self.pattern.get_or_init(|| Regex::new(self.source).ok()).as_ref()
    }
}

/// The marks, as they stand in a plain text: small letters, single spaces.
static MARKS: [Mark; 9] = [
    Mark::new((Kind::Markup, 3.1), "a token of a chat template", &["<", "["], CHAT),
    Mark::new((Kind::Markup, 2.0), "a tag of a prompt", &["<", "["], TAG),
    Mark::new(
        (Kind::Markup, 1.8),
        "a heading of a prompt template or the end of one",
        &["###", "%%", "--", "]]}", "\"\"\"", "==="],
        TEMPLATE,
    ),
    Mark::new((Kind::Markup, 0.6), "a comment that is not shown", &["<", "[//", "/*"], r"<!--|\[//\]: ?#|/\*|<caption"),
    Mark::new((Kind::Markup, 1.5), "a tool call written out", &["_call", "tool_", "<invoke"], CALL),
    Mark::new(
        (Kind::Command, 0.5),
        "a command for a shell or an interpreter",
        &["os.system", "subprocess.", "rm -rf", "|", "curl ", "eval(", "exec("],
        r"os\.system|subprocess\.|rm -rf|\| ?(?:ba)?sh\b|\bcurl |\beval\(|\bexec\(",
    ),
    Mark::new((Kind::Exfiltration, 0.8), "an image whose address carries data", &["](http"], IMAGE),
    Mark::new((Kind::Exfiltration, 2.2), "an address with a place for a secret", &["://"], PLACE),
    Mark::new(
        (Kind::Markup, 0.5),
        "a mode in angle brackets",
        &["<"],
        r"<[a-z ]{0,30}(?:mode|override|warning|alert)[a-z ]{0,30}>",
    ),
];

const CHAT: &str = r"<\|?/?(?:im_start|im_end|endoftext|eot_id|start_header_id|end_header_id|start_of_turn|end_of_turn|begin_of_text)\|?>|<\|(?:system|assistant|user)\|>|<</?sys>>|\[/?inst\]";
const TAG: &str = r"</?(?:system|assistant|system_prompt|system-reminder|instructions?|important|information|admin|user_prompt|secret|sys|priority|hidden|prompt|command)>|\[/?system\]";
const TEMPLATE: &str = r#"###+ ?(?:instruction|system|new|response|human|user|assistant|task)|%%%?|-- ?(?:resume|end of)|\]\]\}|"{3} ?\]|={3,} ?(?:end|begin|new|system)|-{3,} ?(?:end|begin|new|system)"#;
const CALL: &str =
    r#""(?:function_call|tool_calls?|tool_name|tool_use)" ?:|<tool_call>|<function_calls?>|<invoke |\btool_code\b"#;
const IMAGE: &str = r"!\[[^\]]{0,200}\]\(https?://[^) ]{0,300}\?[^) ]{0,2000}\)";
const PLACE: &str = r#"https?://[^ )>"']{1,300}[?&/][a-z_]{0,20}=?[{<\[]{0,2}\$?[a-z_ -]{0,30}(?:secret|api[_ -]?key|token|password|credential|history|conversation|<key|\{key|your[_ -]?data|user[_ -]?data)[a-z_ -]{0,30}(?:[}>\])]|$|["' ])"#;

/// Every mark in a plain text.
pub(super) fn find(plain: &str) -> Vec<(&'static Mark, Range<usize>)> {
    let mut found = Vec::new();
    for mark in &MARKS {
        if !mark.hints.iter().any(|hint| plain.contains(hint)) {
            continue;
        }
        let Some(pattern) = mark.pattern() else { continue };
        found.extend(pattern.find_iter(plain).take(MOST).map(|hit| (mark, hit.range())));
    }
    found
}

/// A text that holds more marks of one kind than this is not looked through for more.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert!(MARKS.iter().all(|mark| mark.pattern().is_some()));
    }
}
