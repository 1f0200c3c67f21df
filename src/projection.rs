//! The one projector: the bounded, masked, cited form in which a result reaches the model.
//!
//! Every result takes the same path, whatever ran it, error or success: mask secrets → select fields → shorten to the
//! token budget → cite → fence if untrusted → refer to the artifact. [`project`] is total: it never fails, never panics and
//! does no I/O. What has to be stored it hands back in [`Projected::artifacts`].

mod artifact;
mod cite;
mod compose;
mod fence;
mod image;
mod json;
mod passages;
mod piece;
mod read;
mod select;

use crate::{
    capability::OutputSpec,
    policy::Obligation,
    scan::Scanner,
    secret::{PersonalKinds, Redactor},
    types::{CallId, CitationSource, ErrorCode, HostedOutput, Projection, Tokens, ToolError, ToolOutput},
};

pub use artifact::{Artifact, ArtifactError, ArtifactStore, DiskArtifacts, MemoryArtifacts, Slice};
pub use fence::SYSTEM_NOTE;
pub use read::{ReadArguments, read};

/// A result always gets this many tokens: enough to say that it exists, what became of it and where it lies.
pub const LEAST_BUDGET: Tokens = Tokens(200);

/// What the projector has to know besides the result.
#[derive(Debug, Clone, Copy)]
pub struct ProjectionInput<'a> {
    /// Of which call.
    pub call_id: &'a CallId,
    /// What the capability says about its results.
    pub output: &'a OutputSpec,
    /// What the gate's decision asks for.
    pub obligations: &'a [Obligation],
    /// How many tokens of tool results the context still takes; one result gets half of it at most.
    pub remaining: Tokens,
    /// What the user wants to know: passages are chosen by it.
    pub query: &'a str,
    /// What masks secrets.
    pub redactor: &'a Redactor,
    /// Whether there is an artifact store: the text refers to artifacts only then.
    pub keep_artifacts: bool,
}

impl ProjectionInput<'_> {
    /// How many tokens the projection may have: the least of the capability's limit, the gate's caps and half of
    /// what remains, but never less than [`LEAST_BUDGET`].
    pub fn budget(&self) -> Tokens {
        let caps = self.obligations.iter().filter_map(|obligation| match obligation {
            Obligation::CapTokens(most) => Some(u64::from(*most)),
            Obligation::Redact(_)
            | Obligation::RedactPersonal(_)
            | Obligation::CapCalls(_)
            | Obligation::Approvers(_) => None,
        });
        let limit = u64::from(self.output.projection.max_tokens).min(self.remaining.0 / 2);
        Tokens(caps.fold(limit, u64::min).max(LEAST_BUDGET.0))
    }

    /// The kinds of personal data that the capability or the gate want masked, beside those of the redactor.
    fn personal(&self) -> PersonalKinds {
        let obliged = self.obligations.iter().filter_map(|obligation| match obligation {
            Obligation::RedactPersonal(kinds) => Some(*kinds),
            Obligation::Redact(_) | Obligation::CapTokens(_) | Obligation::CapCalls(_) | Obligation::Approvers(_) => {
                None
            }
        });
        obliged.fold(self.output.projection.redact_personal, PersonalKinds::and)
    }
}

/// A projection, and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projected {
    /// What the model sees.
    pub projection: Projection,
    /// How many tokens it counts, by the upper estimate of [`crate::text::cut::tokens`].
    pub tokens: Tokens,
    /// Whether it holds words of an untrusted source: they are fenced then, and taint the turn.
    pub untrusted: bool,
    /// How much those words look like they hold instructions (see [`crate::scan`]), in thousandths; 0 for trusted results.
    pub injection_score: u16,
    /// What to store before the projection is used. Should storing fail, project again with `keep_artifacts` off.
    pub artifacts: Vec<Artifact>,
}

/// Makes the form of a result that a model may see.
pub fn project(input: &ProjectionInput<'_>, result: Result<&ToolOutput, &ToolError>) -> Projected {
    let kinds = input.personal();
    if input.redactor.kinds().and(kinds) != input.redactor.kinds() {
        let redactor = input.redactor.also(kinds);
        return project(&ProjectionInput { redactor: &redactor, ..*input }, result);
    }
    match result {
        Ok(output) => compose::success(input, output),
        Err(error) => compose::failure(input, error),
    }
}

/// How much what hosted tools brought looks like it holds instructions, in thousandths: the worst of them counts. The
/// provider's model has read it already, so it is scored and not marked.
pub fn hosted_score<'a>(outputs: impl Iterator<Item = &'a HostedOutput>) -> u16 {
    let texts = outputs.flat_map(|output| {
        let named = output.sources.iter().flat_map(|source| [&source.title, &source.quote]);
        named.chain([&output.output]).flatten()
    });
    texts.map(|text| Scanner::scan(text).thousandths()).max().unwrap_or(0)
}

/// Whether an output names the sources its capability promises. To be asked right after the call, before its outcome is
/// journalled.
///
/// # Errors
/// `TOOL_FAILED` when `must_include_source_url` is set and no citation has an address or a file.
pub fn check_sources(spec: &OutputSpec, output: &ToolOutput) -> Result<(), ToolError> {
    let sourced = output.citations.iter().any(|citation| match &citation.source {
        CitationSource::Url(place) | CitationSource::File { path: place, .. } => !place.is_empty(),
        CitationSource::Call(_) => false,
    });
    if !spec.must_include_source_url || sourced {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::ToolFailed,
        "the tool returned a result without a source, which this capability does not allow",
        "use another tool, or say that there is no source",
    ))
}

#[cfg(test)]
mod tests;
