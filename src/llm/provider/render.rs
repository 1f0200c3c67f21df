//! Parts of a reply as text, for a provider that did not issue them.

use std::borrow::Cow;

use crate::types::{Citation, CitationSource, HostedKind, HostedOutput, HostedStatus, ToolResult};

/// How much of a hosted tool's own output goes along, in characters.
const MAX_OUTPUT_CHARS: usize = 8_000;

/// What a hosted tool did, in words, with its sources.
pub(super) fn hosted_as_text(output: &HostedOutput) -> String {
    let what = match &output.kind {
        HostedKind::Search => "web search",
        HostedKind::Fetch => "page fetch",
        HostedKind::Code => "code run",
        HostedKind::FileSearch => "file search",
        HostedKind::Image => "image tool",
        HostedKind::Maps => "map look-up",
        HostedKind::Computer => "computer use",
        HostedKind::Mcp => "remote tool",
        HostedKind::McpApproval => "request for approval of a remote tool",
        HostedKind::ToolSearch => "tool search",
        HostedKind::Other(kind) => kind,
    };
    let how = match output.status {
        HostedStatus::Completed => "",
        HostedStatus::Failed => ", failed",
        HostedStatus::Incomplete => ", not finished",
    };
    let mut text = format!("[{what}{how}]");
    for input in &output.input {
        text.push_str("\n> ");
        text.push_str(input);
    }
    if let Some(result) = &output.output {
        text.push('\n');
        text.extend(result.chars().take(MAX_OUTPUT_CHARS));
    }
    for source in &output.sources {
        text.push_str("\n- ");
        text.push_str(&source_as_text(source));
    }
    text
}

fn source_as_text(citation: &Citation) -> String {
    let place = match &citation.source {
        CitationSource::Url(url) => url.clone(),
        CitationSource::File { path, lines: Some((first, last)) } => format!("{path}:{first}-{last}"),
        CitationSource::File { path, lines: None } => path.clone(),
        CitationSource::Call(call) => call.clone(),
    };
    match &citation.title {
        Some(title) => format!("{title}: {place}"),
        None => place,
    }
}

/// The text of a result for a provider that takes no images in it.
pub(super) fn without_images(result: &ToolResult) -> Cow<'_, str> {
    match result.images.len() {
        0 => Cow::Borrowed(&result.content),
        1 => Cow::Owned(format!("{}\n[an image that belongs to this result is not shown]", result.content)),
        count => Cow::Owned(format!("{}\n[{count} images that belong to this result are not shown]", result.content)),
    }
}
