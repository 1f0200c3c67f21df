//! Passages inside the results of tools.

use crate::types::{CitationSource, ToolResult};

/// A piece of text with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) source: CitationSource,
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// The passages of a result. `[n] path:start-end` or `[n] https://…` on a line of its own begins a numbered one (what
/// file and web search project); text before the first, or without any, is one passage of the call itself. Fences that
/// mark untrusted text are left out, and sentences in brackets, in which a tool speaks of itself.
pub(super) fn read(result: &ToolResult) -> Vec<Passage> {
    let own = || Passage { source: CitationSource::Call(result.name.clone()), title: None, text: String::new() };
    let (mut passages, mut current) = (Vec::new(), own());
    for line in result.content.lines().take_while(|line| *line != "Sources:") {
        let of_the_tool = is_mark(line) || (is_note(line) && matches!(current.source, CitationSource::Call(_)));
        if let Some((source, title)) = header(line) {
            passages.push(std::mem::replace(&mut current, Passage { source, title, text: String::new() }));
        } else if !of_the_tool {
            current.text.push_str(line);
            current.text.push('\n');
        }
    }
    passages.push(current);
    passages.retain(|passage| !passage.text.trim().is_empty());
    passages
}

/// The source a header line names.
fn header(line: &str) -> Option<(CitationSource, Option<String>)> {
    let (number, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim();
    if let Some(at) = rest.find("https://").or_else(|| rest.find("http://")) {
        let (title, url) = rest.split_at(at);
        let url = url.split_whitespace().next()?.trim_end_matches(')');
        let title = title.trim_end_matches(['(', ' ', ':', '-', '—']).trim();
        return Some((CitationSource::Url(url.to_owned()), Some(title.to_owned()).filter(|title| !title.is_empty())));
    }
    let (path, place) = match rest.rsplit_once(':') {
        Some((path, place)) if lines(place).is_some() => (path, lines(place)),
        Some(_) | None => (rest, None),
    };
    let (path, title) = match path.rsplit_once(" p.") {
        Some((path, page)) if page.parse::<u32>().is_ok() => (path, Some(format!("page {page}"))),
        Some(_) | None => (path, None),
    };
    // A numbered line of prose is no header: paths end in a name without blanks, or lines are given.
    let is_path = place.is_some() || (!path.is_empty() && !path.contains(' ') && path.contains(['.', '/']));
    is_path.then(|| (CitationSource::File { path: path.to_owned(), lines: place }, title))
}

fn lines(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Lines that are the projector's, not the source's: fences around untrusted text, notes on what was left out.
fn is_mark(line: &str) -> bool {
    let line = line.trim();
    let fence = line.starts_with("<untrusted ") || line.starts_with("</untrusted ");
    fence || (line.ends_with(']') && (line.starts_with("[…") || line.starts_with("[whole result:")))
}

/// A line in which a tool speaks of itself, not of what it found.
fn is_note(line: &str) -> bool {
    line.starts_with('[') && line.trim_end().ends_with(".]")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn numbered_headers_begin_passages_and_marks_are_none() {
        let content = "<untrusted 7f>\n[1] docs/a b.md:3-9\nOne.\n[2] no header here\n[…]\n[2] report.pdf p.4:1-2\nTwo.\n\
            [3] Title (https://example.org/x)\nThree.\nSources:\n- docs/a b.md\n</untrusted 7f>\n\
            [whole result: artifact sha256:0, 9 bytes, text/plain; read it with artifact.read]";
        let result = ToolResult {
            provider_id: "c".to_owned(),
            name: "file.search".to_owned(),
            content: content.to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let file = |path: &str, lines| CitationSource::File { path: path.to_owned(), lines: Some(lines) };
        let passage = |source, title: Option<&str>, text: &str| Passage {
            source,
            title: title.map(str::to_owned),
            text: text.to_owned(),
        };
        let expected = [
            passage(file("docs/a b.md", (3, 9)), None, "One.\n[2] no header here\n"),
            passage(file("report.pdf", (1, 2)), Some("page 4"), "Two.\n"),
            passage(CitationSource::Url("https://example.org/x".to_owned()), Some("Title"), "Three.\n"),
        ];
        assert_eq!(read(&result), expected);
    }
}
