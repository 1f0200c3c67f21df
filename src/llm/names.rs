//! Names on the wire: tool names and call ids as a provider accepts them, and the way back.
//!
//! A capability is called `orders.get_by_id`; most providers allow letters, digits, `_` and `-` only. The map is
//! made per request, deterministic, and stable: a tool keeps its exposed name when an unrelated tool is added.

use std::{borrow::Cow, collections::HashMap};

use sha2::{Digest, Sha256};

use crate::types::{CallId, ToolName, hex};

/// Which tool names a provider accepts. The portable rule fits every provider known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// At most this many characters (all allowed characters are one byte). At least 16.
    pub max_len: usize,
    /// Whether the first character may be a digit or a dash.
    pub any_start: bool,
    /// Characters allowed beside `a-z`, `A-Z`, `0-9`.
    pub extra: &'static str,
    /// Names the provider keeps for its own tools; a tool of ours with such a name gets a hash.
    pub reserved: &'static [&'static str],
}

impl NameRule {
    /// `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`: what works with every provider (2026-11; Gemini forbids a leading digit or
    /// dash, Anthropic, DeepSeek and Z.AI cap at 64).
    pub const PORTABLE: Self = Self { max_len: 64, any_start: false, extra: "_-", reserved: &[] };

    /// `^[a-zA-Z0-9_-]{1,64}$`: OpenAI, xAI, Aliyun, Mistral (2026-11).
    pub const OPENAI: Self = Self { any_start: true, ..Self::PORTABLE };

    /// The portable pattern without the names Anthropic gives its own tools (2026-11).
    pub const ANTHROPIC: Self = Self {
        any_start: true,
        reserved: &[
            "advisor",
            "bash",
            "code_execution",
            "computer",
            "memory",
            "str_replace_based_edit_tool",
            "web_fetch",
            "web_search",
        ],
        ..Self::PORTABLE
    };

    fn allows(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.extra.contains(c)
    }

    fn starts_well(&self, name: &str) -> bool {
        self.any_start || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }

    /// Whether `name` may be sent as it is.
    pub fn accepts(&self, name: &str) -> bool {
        !name.is_empty()
            && name.len() <= self.max_len
            && name.chars().all(|c| self.allows(c))
            && self.starts_well(name)
            && !self.reserved.contains(&name)
    }

    /// `name` with `_` for each character that is not allowed. May still be too long.
    fn cleaned(&self, name: &str) -> String {
        let mut clean: String = name.chars().map(|c| if self.allows(c) { c } else { '_' }).collect();
        if !self.starts_well(&clean) {
            clean.insert(0, '_');
        }
        clean
    }

    /// A cleaned name that ends in a hash of the original.
    fn hashed(&self, name: &str, salt: u32) -> String {
        let mut hashed = self.cleaned(name);
        hashed.truncate(self.max_len.saturating_sub(9));
        hashed.push('_');
        hashed.push_str(&hex8(name, salt));
        hashed
    }
}

/// Eight hex digits of a hash.
fn hex8(text: &str, salt: u32) -> String {
    hex(digest(text, salt).get(..4).unwrap_or_default())
}

fn digest(text: &str, salt: u32) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(text.as_bytes());
    if salt > 0 {
        hash.update(salt.to_be_bytes());
    }
    hash.finalize().into()
}

/// The tool names of one request, both ways.
///
/// A name the provider accepts is sent as it is. Another one is cleaned (`issues.search` → `issues_search`); it ends
/// in a hash of the original when it is too long, reserved, or when its clean form belongs to another tool too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMap {
    rule: NameRule,
    exposed: HashMap<ToolName, String>,
    original: HashMap<String, ToolName>,
}

impl NameMap {
    /// Maps `names`; their order does not matter and a repeated name counts once.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a ToolName>, rule: NameRule) -> Self {
        let mut map = Self { rule, exposed: HashMap::new(), original: HashMap::new() };
        let mut rest: Vec<&ToolName> = Vec::new();
        for name in names {
            if rule.accepts(name.as_str()) {
                map.insert(name, name.as_str().to_owned());
            } else {
                rest.push(name);
            }
        }
        rest.sort_unstable();
        rest.dedup();
        let mut wanted: HashMap<String, usize> = HashMap::new();
        for name in &rest {
            *wanted.entry(rule.cleaned(name.as_str())).or_default() += 1;
        }
        for name in rest {
            let clean = rule.cleaned(name.as_str());
            let alone = wanted.get(&clean) == Some(&1) && !map.original.contains_key(&clean);
            if alone && rule.accepts(&clean) {
                map.insert(name, clean);
            } else {
                let free = (0..).map(|salt| rule.hashed(name.as_str(), salt));
                let free = free.into_iter().find(|text| !map.original.contains_key(text));
                map.insert(name, free.unwrap_or(clean));
            }
        }
        map
    }

    fn insert(&mut self, name: &ToolName, exposed: String) {
        self.original.insert(exposed.clone(), name.clone());
        self.exposed.insert(name.clone(), exposed);
    }

    /// The name to send. A name that is not in the map (a tool of an older request in the history) is cleaned the
    /// same way, with a hash if it needed any change.
    pub fn exposed<'a>(&'a self, name: &'a ToolName) -> Cow<'a, str> {
        match self.exposed.get(name) {
            Some(exposed) => Cow::Borrowed(exposed),
            None if self.rule.accepts(name.as_str()) => Cow::Borrowed(name.as_str()),
            None => Cow::Owned(self.rule.hashed(name.as_str(), 0)),
        }
    }

    /// The tool behind a name the model used; `None` if it was not offered under that name.
    pub fn original(&self, exposed: &str) -> Option<&ToolName> {
        self.original.get(exposed)
    }
}

/// Which call ids a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallIdRule {
    /// The fewest characters.
    pub min_len: usize,
    /// The most characters; at least 9.
    pub max_len: usize,
    /// Characters allowed beside `a-z`, `A-Z`, `0-9`.
    pub extra: &'static str,
}

impl CallIdRule {
    /// `^[a-zA-Z0-9]{9}$`: Mistral, which answers any other id with a 400 (2026-11).
    pub const MISTRAL: Self = Self { min_len: 9, max_len: 9, extra: "" };

    /// `^[a-zA-Z0-9_-]{1,64}$`: Anthropic (2025), OpenAI and all others known.
    pub const PORTABLE: Self = Self { min_len: 1, max_len: 64, extra: "_-" };

    /// Whether `id` may be sent as it is.
    pub fn accepts(&self, id: &str) -> bool {
        (self.min_len..=self.max_len).contains(&id.len())
            && id.chars().all(|c| c.is_ascii_alphanumeric() || self.extra.contains(c))
    }
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id to send for `id`: itself when the rule accepts it, else a text derived from it, the same each time.
///
/// Nine characters hold 53 bits, so ten thousand ids collide with a chance of one in 270 million; where a whole
/// history is at hand, [`CallIdMap`] excludes even that.
pub fn call_id(id: &str, rule: CallIdRule) -> String {
    if rule.accepts(id) { id.to_owned() } else { derived_id(id, rule, 0) }
}

fn derived_id(id: &str, rule: CallIdRule, salt: u32) -> String {
    let length = rule.max_len.min(24).max(rule.min_len);
    let hash = digest(id, salt);
    let (high, low) = hash.split_at(16);
    let number = |half: &[u8]| half.iter().fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    let (mut high, mut low) = (number(high), number(low));
    (0..length)
        .map(|place| {
            let half = if place < 12 { &mut high } else { &mut low };
            let digit = usize::try_from(*half % 62).unwrap_or_default();
            *half /= 62;
            BASE62.get(digit).copied().map_or('0', char::from)
        })
        .collect()
}

/// The call ids of one history, each mapped once: the same for a call and its result, no two alike.
///
/// An id gets the same text in every request of a turn, because ids are added in the order of the history.
#[derive(Debug, Clone)]
pub struct CallIdMap {
    rule: CallIdRule,
    sent: HashMap<String, String>,
    taken: HashMap<String, String>,
}

impl CallIdMap {
    /// An empty map for one provider.
    pub fn new(rule: CallIdRule) -> Self {
        Self { rule, sent: HashMap::new(), taken: HashMap::new() }
    }

    /// The id to send for `id`.
    pub fn map(&mut self, id: &CallId) -> &str {
        let Self { rule, sent, taken } = self;
        sent.entry(id.as_str().to_owned()).or_insert_with(|| {
            let first = std::iter::once(call_id(id.as_str(), *rule));
            let salted = (1..u32::MAX).map(|salt| derived_id(id.as_str(), *rule, salt));
            let free = first.chain(salted).find(|text| !taken.contains_key(text)).unwrap_or_default();
            taken.insert(free.clone(), id.as_str().to_owned());
            free
        })
    }

    /// Our id behind a sent one.
    pub fn original(&self, sent: &str) -> Option<&str> {
        self.taken.get(sent).map(String::as_str)
    }
}

/// Name prefixes that models add because they saw them in training, e.g. `functions.read`.
const PREFIXES: &[&str] = &["functions.", "default_api.", "tools.", "tool.", "api.", "multi_tool_use."];

/// The tool that a name nobody offered must mean: blanks trimmed, or a prefix (`default_api:`, `functions.`) dropped.
///
/// `None` unless exactly one visible tool remains; a guess by likeness is never made, see [`closest`].
pub fn resolve<'a>(name: &str, visible: impl IntoIterator<Item = &'a ToolName>) -> Option<&'a ToolName> {
    let trimmed = name.trim();
    let after_colon = trimmed.rsplit_once(':').map(|(_, rest)| rest.trim());
    let after_prefix = PREFIXES.iter().find_map(|prefix| trimmed.strip_prefix(prefix)).map(str::trim);
    let (mut exact, mut stripped) = (None, Vec::new());
    for tool in visible {
        if tool.as_str() == trimmed {
            exact = Some(tool);
        } else if Some(tool.as_str()) == after_colon || Some(tool.as_str()) == after_prefix {
            stripped.push(tool);
        }
    }
    stripped.dedup();
    match (exact, stripped.as_slice()) {
        (Some(tool), _) => Some(tool),
        (None, [tool]) => Some(tool),
        (None, _) => None,
    }
}

/// Up to five visible tools whose names are near to `name`, the nearest first; for the hint of an `unknown_tool` result.
pub fn closest<'a>(name: &str, visible: impl IntoIterator<Item = &'a ToolName>) -> Vec<ToolName> {
    let plain =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    let wanted = plain(name);
    let last = plain(name.rsplit([':', '.', '/']).next().unwrap_or(name));
    let likeness = |tool: &ToolName| {
        let candidate = plain(tool.as_str());
        let contained = !last.is_empty() && last.len() > 2 && candidate.contains(&last);
        let by_letters = strsim::normalized_damerau_levenshtein(&wanted, &candidate);
        if contained { by_letters.max(0.75) } else { by_letters }
    };
    let mut near: Vec<(f64, &ToolName)> = visible.into_iter().map(|tool| (likeness(tool), tool)).collect();
    near.retain(|(score, _)| *score >= 0.5);
    near.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter().take(5).map(|(_, tool)| tool.clone()).collect()
}

#[cfg(test)]
mod tests;
