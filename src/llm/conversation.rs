//! A conversation that only grows, and the bytes already written for it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::{Entry, Part, UserPart};

use super::transcript::Transcript;

/// The entries of a conversation, oldest first, with what the last dialect wrote for them.
///
/// Entries are only appended, so what was serialised once stays right: each model call costs the entries added
/// since the call before. Changing the past ([`Conversation::replace`]) drops the written bytes. Asking another
/// provider with the same conversation is correct too; it only costs a fresh serialisation.
///
/// A clone has the same entries and no written bytes; so has what is deserialised.
#[derive(Default)]
pub struct Conversation {
    entries: Vec<Entry>,
    weight: usize,
    pub(super) transcript: Transcript,
}

impl Conversation {
    /// An empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        self.weight += weigh(&entry);
        self.entries.push(entry);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts other entries in place of all there are (after [`super::mend`] or trimming).
    pub fn replace(&mut self, entries: Vec<Entry>) {
        *self = Self::from(entries);
    }

    /// About how many bytes of text a model has to read, kept up to date as entries come in.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The entries and the transcript, for a dialect that appends to the latter.
    pub(super) fn split(&mut self) -> (&[Entry], &mut Transcript) {
        (&self.entries, &mut self.transcript)
    }
}

/// The bytes of an entry that a model reads: raw items where they are, the text of the parts elsewhere.
fn weigh(entry: &Entry) -> usize {
    match entry {
        Entry::User(parts) => parts
            .iter()
            .map(|part| match part {
                UserPart::Text(text) => text.len(),
                UserPart::Image { .. } => IMAGE_WEIGHT,
            })
            .sum(),
        Entry::Reply(reply) => reply
            .items
            .iter()
            .map(|item| {
                item.raw.as_ref().map_or_else(|| item.parts.iter().map(weigh_part).sum(), |raw| raw.get().len())
            })
            .sum(),
        Entry::Results(results) => {
            results.iter().map(|result| result.content.len() + 16 + IMAGE_WEIGHT * result.images.len()).sum()
        }
        Entry::Notice(text) => text.len(),
    }
}

/// An image counts like about 1,500 tokens of text.
const IMAGE_WEIGHT: usize = 4_500;

fn weigh_part(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } | Part::Refusal { text } => text.len(),
        Part::Call(call) => call.name.len() + call.arguments.len(),
        Part::Hosted(output) => output.output.as_deref().map_or(0, str::len),
        Part::Reasoning { .. } | Part::Unknown { .. } => 0,
    }
}

impl From<Vec<Entry>> for Conversation {
    fn from(entries: Vec<Entry>) -> Self {
        let weight = entries.iter().map(weigh).sum();
        Self { entries, weight, transcript: Transcript::default() }
    }
}

impl FromIterator<Entry> for Conversation {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self::from(entries.into_iter().collect::<Vec<_>>())
    }
}

impl Clone for Conversation {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), weight: self.weight, transcript: Transcript::default() }
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

impl Serialize for Conversation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Conversation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Entry>::deserialize(deserializer).map(Self::from)
    }
}
