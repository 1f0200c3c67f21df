//! Gemini generateContent (`POST /v1beta/models/{model}:generateContent`), also spoken by Vertex.
//!
//! Facts of 2026-11: google-genai 3.6.1, ai.google.dev, recorded traffic. JSON is that of proto3: camelCase out, either
//! case in, default values left out.

use bytes::Bytes;

use super::super::{
    Conversation, ModelError, ModelRequest,
    dialect::{Dialect, Fold, Reading, Target, Wire, WireError},
    head, json,
    tools::ToolCache,
};
use crate::types::Reply;

mod assembly;
mod body;
mod fold;
mod generation;
mod grounding;
mod history;
mod offsets;
mod part;
mod partial;
mod stop;
mod tools;
mod usage;
mod view;

pub(super) use body::{check_reserved, left_to_the_model, merge, write as write_fields};
pub(super) use generation::Generation;
pub(super) use history::{mime_of, to_send};
pub(super) use offsets::CodePoints;
pub(super) use part::inputs;
pub(super) use tools::may_stand;

/// The dialect of Gemini's generateContent.
#[derive(Debug, Default)]
pub struct GeminiGenerateContent {
    tools: ToolCache,
}

impl Dialect for GeminiGenerateContent {
    fn build(
        &self,
        request: &ModelRequest,
        target: &Target,
        conversation: &mut Conversation,
    ) -> Result<Wire, WireError> {
        let narrowed = head::narrowed(request, target)?;
        let request = narrowed.as_ref().unwrap_or(request);
        let (entries, transcript) = conversation.split();
        transcript.aim(&target.origin);
        let block = transcript.tools(request, &self.tools, || tools::block(request, target, &self.tools))?;
        let (names, headers) = (std::sync::Arc::clone(&block.names), block.headers.clone());
        let mut offer = head::offer(request, target, block)?;
        let (entries, token) = history::to_send(entries, target);
        let contents = transcript.extend(entries, |entry, past, out| {
            history::write(out, entry, past, target, &names);
        });
        let mut body = body::head(request, target, &mut offer)?;
        if let Some(token) = token {
            json::put(&mut body, "\"continuationToken\":");
            json::put(&mut body, token.get());
            body.push(b',');
        }
        if let Some(tools) = &offer.tools {
            json::put(&mut body, "\"tools\":[");
            body.extend_from_slice(&tools.bytes);
            json::put(&mut body, "],");
        }
        json::put(&mut body, "\"contents\":[");
        body.extend_from_slice(contents);
        json::put(&mut body, "]}");
        let reading = Reading { origin: target.origin.clone(), names, tagged_calls: false, notices: offer.notices };
        Ok(Wire { body: Bytes::from(body), headers, reading })
    }

    fn parse(&self, body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
        fold::parse(body, reading)
    }

    fn fold(&self, reading: Reading) -> Box<dyn Fold> {
        Box::new(fold::ContentFold::new(reading))
    }
}

#[cfg(test)]
mod tests;
