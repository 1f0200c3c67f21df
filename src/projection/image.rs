//! Images of a result that a model may be shown as images.
//!
//! An image has limits of its own: no token budget can shorten it, and nothing in it can be masked.

use crate::types::ArtifactId;

use super::{Artifact, ProjectionInput};

/// What every provider that takes images in results reads (OpenAI, Anthropic, Gemini, xAI; 2026-11).
const READABLE: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// The largest image that is shown, in bytes: Anthropic takes 5 MB of Base64, the others more (2026-11).
const LARGEST: u64 = 3_750_000;

/// How many images one result shows.
const MOST: usize = 4;

/// The images among what is stored of a result. Where personal data is to be masked none is shown: there is no telling
/// what can be read on it.
pub(super) fn shown(input: &ProjectionInput<'_>, stored: &[Artifact]) -> Vec<ArtifactId> {
    if !input.personal().is_empty() {
        return Vec::new();
    }
    let references = stored.iter().map(Artifact::reference);
    let fit = references.filter(|it| it.bytes <= LARGEST && READABLE.contains(&essence(&it.mime)));
    fit.take(MOST).map(|it| it.id.clone()).collect()
}

/// A media type without its parameters.
fn essence(mime: &str) -> &str {
    mime.split(';').next().unwrap_or_default().trim()
}
