//! What was already written for a conversation: bytes that are appended to, never written again.

use std::sync::Arc;

use crate::types::Origin;

/// The serialised form of the first entries of a conversation, for one target.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// For whom the bytes were written; another target starts afresh.
    target: Option<Arc<Origin>>,
    /// How many entries they cover.
    written: usize,
    /// The entries, separated by commas.
    bytes: Vec<u8>,
}

impl Transcript {
    /// Makes the transcript cover the entries for `target`: `write` gets each entry that is not covered yet.
    pub(super) fn extend<T, E>(
        &mut self,
        target: &Arc<Origin>,
        entries: &[T],
        mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        if !self.target.as_ref().is_some_and(|own| Arc::ptr_eq(own, target) || own == target) {
            *self = Self { target: Some(Arc::clone(target)), ..Self::default() };
        }
        for entry in entries.iter().skip(self.written) {
            let before = self.bytes.len();
            if let Err(error) = write(entry, &mut self.bytes) {
                self.bytes.truncate(before);
                return Err(error);
            }
            self.written += 1;
        }
        Ok(&self.bytes)
    }
}
