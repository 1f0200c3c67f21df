//! The user's own words.

use std::sync::OnceLock;

use super::{
    action::{self, Action, Actions, Asked},
    address::{self, Address, Web},
    date::{Day, Days},
    number, words,
};
use crate::capability::Capability;

/// More of the user's words than this, in bytes, is not read: the latest count.
const MAX_BYTES: usize = 64 << 10;

/// What the user said in a conversation, latest last. Read when something is first looked for in it, and then once.
#[derive(Clone, Default)]
pub struct Said {
    text: String,
    read: OnceLock<Read>,
}

#[derive(Clone)]
struct Read {
    words: String,
    numbers: Vec<String>,
    days: Days,
    addresses: Vec<Address>,
    actions: Actions,
    unclear: bool,
}

impl Said {
    /// The user's words: one text or several, joined by line breaks. What was typed, never what was read.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), read: OnceLock::new() }
    }

    /// Whether the user said nothing at all.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// What the words ask to be done; nothing when they only ask to be told something.
    pub fn asks(&self) -> impl Iterator<Item = Action> {
        self.read().actions.iter()
    }

    /// Whether they ask for what a capability does.
    pub fn asks_for(&self, capability: &Capability) -> Asked {
        let (does, read) = (action::of_capability(capability), self.read());
        if does.meets(read.actions) {
            Asked::Yes
        } else if self.is_empty() || (!read.unclear && !does.is_empty()) {
            Asked::No
        } else {
            Asked::Unclear
        }
    }

    /// Whether they name a web address: then the user has said where to look.
    pub fn names_hosts(&self) -> bool {
        self.read().addresses.iter().any(|address| matches!(address, Address::Web(_)))
    }

    pub(super) fn has_phrase(&self, normalised: &str) -> bool {
        words::stands_in(&self.read().words, normalised)
    }

    pub(super) fn has_number(&self, canonical: &str) -> bool {
        self.read().numbers.iter().any(|said| said == canonical)
    }

    pub(super) fn has_day(&self, day: Day) -> bool {
        self.read().days.has(day)
    }

    pub(super) fn has_address(&self, wanted: &Address) -> bool {
        if let Address::Web(web) = wanted {
            return self.has_web(web);
        }
        self.read().addresses.iter().any(|address| address == wanted)
    }

    pub(super) fn has_host(&self, host: &str) -> bool {
        self.read().addresses.iter().any(|address| matches!(address, Address::Web(web) if web.host == host))
    }

    /// Whether the host was named, and whatever the URL carries to it too.
    pub(super) fn has_web(&self, wanted: &Web) -> bool {
        self.read().addresses.iter().any(|address| match address {
            Address::Web(web) => web.host == wanted.host && (wanted.cargo.is_empty() || web.cargo == wanted.cargo),
            Address::Mail(_) | Address::Account(_) => false,
        })
    }

    fn read(&self) -> &Read {
        self.read.get_or_init(|| {
            let start = self.text.len().saturating_sub(MAX_BYTES);
            let text = self.text.get(self.text.ceil_char_boundary(start)..).unwrap_or_default();
            let words = words::normalise(text);
            let (actions, unclear) = action::of_request(&words, text);
            Read {
                numbers: number::all(text),
                days: Days::of(&words),
                addresses: address::all(text),
                actions,
                unclear,
                words,
            }
        })
    }
}

impl std::fmt::Debug for Said {
    /// Without the words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Said({} bytes)", self.text.len())
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Said {}
