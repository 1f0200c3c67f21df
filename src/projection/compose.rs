//! The steps of the projector, in order.

use super::{
    Artifact, Projected, ProjectionInput, check_sources,
    cite::{self, Text},
    fence, image,
    piece::{self, Piece, keeps},
};
use crate::{
    scan::Scanner,
    text::cut,
    types::{ArtifactId, Citation, ErrorCode, Projection, ProjectionKind, Tokens, ToolError, ToolOutput, Trust},
};

/// What a reference to an artifact costs at most.
const REFERENCE: u64 = 110;

pub(super) fn success(input: &ProjectionInput<'_>, output: &ToolOutput) -> Projected {
    let mut warnings = Vec::new();
    if let Err(error) = check_sources(input.output, output) {
        warnings.push(error.safe_message);
    }
    let fenced = input.output.trust == Trust::Untrusted;
    let mut pieces: Vec<Piece<'_>> = Vec::with_capacity(output.content.len());
    for content in &output.content {
        let mut piece = Piece::prepare(input, content, &mut warnings);
        if fenced {
            piece.escape(&mut warnings);
        }
        pieces.push(piece);
    }
    let room = input.budget().0.saturating_sub(if fenced { fence::COST } else { 0 });
    let cites = input.output.projection.include_citations && !output.citations.is_empty();
    let for_sources = if cites { cut::tokens(&cite::lines(&output.citations, "", Tokens(room / 4))).0 } else { 0 };
    fit(input, &mut pieces, room.saturating_sub(for_sources), &mut warnings);

    let mut body = join(&pieces);
    let citations = if cites { staying(input, output, &pieces, &body) } else { Vec::new() };
    if cites {
        let lines = cite::lines(&citations, &body, Tokens(for_sources));
        body.push_str(&if fenced { fence::escape(&lines).into_owned() } else { lines });
    }
    let artifacts: Vec<Artifact> =
        pieces.iter().filter(|piece| piece.lossy && keeps(input)).filter_map(Piece::artifact).collect();
    let images = image::shown(input, &artifacts);
    let notes = if input.output.projection.include_raw_artifact_ref {
        references(input, &pieces, room / 2)
    } else {
        String::new()
    };
    let injection_score = scan(fenced, &body, &mut warnings);
    let made = Made { body, notes, fenced, citations, artifacts, images, warnings, injection_score };
    made.finish(input)
}

pub(super) fn failure(input: &ProjectionInput<'_>, error: &ToolError) -> Projected {
    let mut warnings = Vec::new();
    let fenced = input.output.trust == Trust::Untrusted && is_of_tool(error.code);
    let budget = input.budget().0;
    let mut shown = |text: &str, room: u64| {
        let masked = input.redactor.text(text);
        if masked.masked() > 0 {
            warnings.push(piece::said(input, masked.masked()));
        }
        let text = if fenced { fence::escape(masked.as_str()).into_owned() } else { masked.into_inner().into_owned() };
        let short = cut::to_tokens(&text, Tokens(room));
        if short.len() == text.len() {
            return text;
        }
        warnings.push(format!("cut from {} to {} bytes", text.len(), short.len()));
        format!("{short}…")
    };
    // The frame of the error takes some sixty tokens, and the call's id what it takes.
    let frame = 64 + cut::tokens(input.call_id.as_str()).0 + if fenced { fence::COST } else { 0 };
    let room = budget.saturating_sub(frame);
    let masked = ToolError {
        code: error.code,
        retryable: error.retryable,
        safe_message: shown(&error.safe_message, room / 3 * 2),
        developer_message: String::new(),
        next_action_hint: shown(&error.next_action_hint, room / 3),
        retry_after: error.retry_after,
    };
    let body = masked.for_model(input.call_id);
    let injection_score = scan(fenced, &body, &mut warnings);
    let (notes, citations, artifacts, images) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    Made { body, notes, fenced, citations, artifacts, images, warnings, injection_score }.finish(input)
}

/// Looks for instructions in what a model is shown of an untrusted result.
fn scan(untrusted: bool, body: &str, warnings: &mut Vec<String>) -> u16 {
    if !untrusted {
        return 0;
    }
    let report = Scanner::scan(body);
    if report.is_suspicious() {
        warnings.push(report.summary());
    }
    report.thousandths()
}

/// Whether the words of such an error come from the tool. The words of the others are agcore's own.
const fn is_of_tool(code: ErrorCode) -> bool {
    match code {
        ErrorCode::NotFound
        | ErrorCode::PermissionDenied
        | ErrorCode::RateLimited
        | ErrorCode::SandboxFailed
        | ErrorCode::ToolFailed => true,
        ErrorCode::Timeout
        | ErrorCode::SchemaValidation
        | ErrorCode::InvalidArguments
        | ErrorCode::PolicyDenied
        | ErrorCode::ApprovalRejected
        | ErrorCode::ExecutorUnavailable
        | ErrorCode::UnknownTool
        | ErrorCode::LimitReached
        | ErrorCode::Cancelled
        | ErrorCode::Interrupted
        | ErrorCode::OutcomeUnknown
        | ErrorCode::NoProgress => false,
    }
}

/// Shortens the pieces that are too large, so that together they take at most `room`. Small pieces stay whole.
fn fit(input: &ProjectionInput<'_>, pieces: &mut [Piece<'_>], room: u64, warnings: &mut Vec<String>) {
    let seams = u64::try_from(pieces.len()).unwrap_or(u64::MAX);
    let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    if u64::try_from(bytes).is_ok_and(|bytes| bytes + seams <= room) {
        return;
    }
    // What is larger than the room is not counted to its end.
    let cost = |piece: &Piece<'_>| {
        if cut::fits(&piece.text, Tokens(room)) { cut::tokens(&piece.text).0.min(room) } else { room + 1 }
    };
    let costs: Vec<u64> = pieces.iter().map(cost).collect();
    if costs.iter().fold(seams, |sum, cost| sum.saturating_add(*cost)) <= room {
        return;
    }
    let refers = keeps(input) && input.output.projection.include_raw_artifact_ref;
    let room = room.saturating_sub(seams + if refers { REFERENCE } else { 0 });
    let share = level(costs.clone(), room);
    for (piece, cost) in pieces.iter_mut().zip(costs) {
        if cost > share {
            piece.shorten(input, Tokens(share), warnings);
        }
    }
}

/// The largest share at which all costs, each held to the share, fit into `room`: small ones leave theirs to large ones.
pub(super) fn level(mut costs: Vec<u64>, mut room: u64) -> u64 {
    costs.sort_unstable();
    let mut left = u64::try_from(costs.len()).unwrap_or(u64::MAX);
    for cost in costs {
        let share = room / left.max(1);
        if cost > share {
            return share;
        }
        room -= cost;
        left -= 1;
    }
    u64::MAX
}

fn join(pieces: &[Piece<'_>]) -> String {
    let bytes: usize = pieces.iter().map(|piece| piece.text.len() + 1).sum();
    let mut body = String::with_capacity(bytes);
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            body.push('\n');
        }
        body.push_str(&piece.text);
    }
    body
}

fn staying(input: &ProjectionInput<'_>, output: &ToolOutput, pieces: &[Piece<'_>], body: &str) -> Vec<Citation> {
    let text = match pieces {
        [only] if only.same && input.output.trust == Trust::Trusted => Text::Same,
        all if all.iter().all(|piece| !piece.lossy) => Text::Whole,
        _ => Text::Cut(body),
    };
    let whole = |words: &str| pieces.iter().any(|piece| piece.whole_contains(words));
    cite::staying(&output.citations, text, &whole, input.redactor)
}

/// The lines that say where what is not shown lies, as many as fit into `room`.
fn references(input: &ProjectionInput<'_>, pieces: &[Piece<'_>], room: u64) -> String {
    if !keeps(input) {
        return String::new();
    }
    let most = usize::try_from(room / REFERENCE).unwrap_or(usize::MAX);
    let lossy = pieces.iter().filter(|piece| piece.needs_reference()).take(most.max(1));
    lossy
        .filter_map(Piece::artifact)
        .map(|artifact| {
            let whole = artifact.reference();
            format!(
                "\n[whole result: artifact {}, {} bytes, {}; read it with artifact.read]",
                whole.id, whole.bytes, whole.mime
            )
        })
        .collect()
}

/// Everything a projection is made of.
struct Made {
    body: String,
    notes: String,
    fenced: bool,
    citations: Vec<Citation>,
    artifacts: Vec<Artifact>,
    images: Vec<ArtifactId>,
    warnings: Vec<String>,
    injection_score: u16,
}

impl Made {
    /// Puts the parts together and holds the whole to the budget: estimates of parts may sum up to a little less.
    fn finish(mut self, input: &ProjectionInput<'_>) -> Projected {
        let budget = input.budget();
        let mut content = self.content(input);
        let mut tokens = cut::tokens(&content);
        let mut over = tokens.0.saturating_sub(budget.0);
        while over > 0 && !self.body.is_empty() {
            let room = cut::tokens(&self.body).0.saturating_sub(over);
            self.body = cut::to_tokens(&self.body, Tokens(room)).to_owned();
            self.warnings.push(format!("cut to {} bytes", self.body.len()));
            content = self.content(input);
            tokens = cut::tokens(&content);
            over = tokens.0.saturating_sub(budget.0);
        }
        let projection = Projection {
            kind: ProjectionKind::ToolResult,
            tool_call_id: input.call_id.clone(),
            content,
            citations: self.citations,
            artifact_refs: self.artifacts.iter().map(|artifact| artifact.reference().clone()).collect(),
            images: self.images,
            warnings: self.warnings,
        };
        Projected {
            projection,
            tokens,
            untrusted: self.fenced,
            injection_score: self.injection_score,
            artifacts: self.artifacts,
        }
    }

    fn content(&self, input: &ProjectionInput<'_>) -> String {
        let mut content = if self.fenced { fence::wrap(input.call_id, &self.body) } else { self.body.clone() };
        content.push_str(&self.notes);
        content
    }
}
