//! Whole replies and streams. Each event of a stream is a whole response with the next piece of its content.

use super::{
    super::super::{
        ModelError, ModelErrorKind, ReplySink, SseEvent,
        dialect::{Fold, Reading},
        json,
    },
    assembly::{Assembly, Form},
};
use crate::types::Reply;

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let text = std::str::from_utf8(json::unmarked(body))
        .map_err(|error| ModelError::new(ModelErrorKind::BadResponse, format!("the reply is no UTF-8: {error}")))?;
    let mut assembly = Assembly::default();
    assembly.add(text, reading, &());
    assembly.finish(reading, Form::Whole)
}

/// The fold over the chunks of one reply.
#[derive(Debug)]
pub(super) struct ContentFold {
    reading: Reading,
    assembly: Assembly,
    done: bool,
}

impl ContentFold {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, assembly: Assembly::default(), done: false }
    }
}

impl Fold for ContentFold {
    fn push(&mut self, event: SseEvent<'_>, sink: &dyn ReplySink) {
        match event.data.trim() {
            "" => {}
            // Not Google's, but some gateways send it.
            "[DONE]" => self.done = true,
            data => self.assembly.add(data, &self.reading, sink),
        }
    }

    /// A reason to stop does not end a stream: after running code a model may go on (recorded 2026), so the stream is
    /// read to its end.
    fn done(&self) -> bool {
        self.done
    }

    fn started(&self) -> bool {
        self.assembly.started()
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        self.assembly.finish(&self.reading, Form::Streamed)
    }
}
