//! What was already written for a conversation: bytes that are appended to, never written again.

use std::sync::Arc;

use crate::types::{Entry, Origin};

use super::{
    ModelRequest,
    dialect::WireError,
    tools::{ToolBlock, ToolCache},
};

/// The serialised form of the first entries of a conversation, for one target.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// For whom the bytes were written; another target starts afresh.
    target: Option<Arc<Origin>>,
    /// How many entries they cover.
    written: usize,
    /// The entries, separated by commas.
    bytes: Vec<u8>,
    /// The tools of the last request.
    tools: Option<Arc<ToolBlock>>,
}

impl Transcript {
    /// Starts afresh when the bytes were written for somebody else.
    pub(super) fn aim(&mut self, target: &Arc<Origin>) {
        if !self.target.as_ref().is_some_and(|own| Arc::ptr_eq(own, target) || own == target) {
            *self = Self { target: Some(Arc::clone(target)), ..Self::default() };
        }
    }

    /// The tool block of the call before when it still fits, else one that another conversation had made, else a new one.
    pub(super) fn tools(
        &mut self,
        request: &ModelRequest,
        cache: &ToolCache,
        make: impl FnOnce() -> Result<ToolBlock, WireError>,
    ) -> Result<Arc<ToolBlock>, WireError> {
        if let Some(block) = &self.tools
            && block.is_for(request)
        {
            return Ok(Arc::clone(block));
        }
        let block = match self.target.as_ref().and_then(|target| cache.block(request, target)) {
            Some(block) => block,
            None => cache.keep(Arc::new(make()?), self.target.as_ref()),
        };
        self.tools = Some(Arc::clone(&block));
        Ok(block)
    }

    /// Lets `write` append each entry that is not covered yet (with all that came before it), and returns all bytes.
    /// `write` separates with commas whatever it appends.
    pub(super) fn extend(&mut self, entries: &[Entry], mut write: impl FnMut(&Entry, &[Entry], &mut Vec<u8>)) -> &[u8] {
        for (at, entry) in entries.iter().enumerate().skip(self.written) {
            let past = entries.get(..at).unwrap_or_default();
            write(entry, past, &mut self.bytes);
        }
        self.written = entries.len();
        &self.bytes
    }
}
