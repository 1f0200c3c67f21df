//! The tool `file_search`: passages of the folder for a question.

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::{
    execute::{CallContext, Executor},
    types::{Citation, CitationSource, Content, ErrorCode, ToolError, ToolOutput},
};

use super::{FilesError, Passage, Workspace};

const DEFAULT_RESULTS: u64 = 6;
const MAX_RESULTS: u64 = 20;

/// What is said when nothing matches. The query is not repeated: what its words stand in would look like a find.
const NOTHING: &str = "[No passage of the folder matches.]";

/// Searches the passages of a [`Workspace`].
///
/// Arguments: `query` (text), `max_results` (1 to 20, 6 when absent), `path_glob` (as in `.gitignore`). One text block and one
/// citation per passage, in the same order: `[n] path:first-last`, for a PDF `[n] path p.page:first-last`, then the
/// passage. No match is a result without citations, not an error.
#[derive(Debug, Clone)]
pub struct FileSearch {
    workspace: Workspace,
}

impl FileSearch {
    /// Searches `workspace`.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    async fn search(&self, arguments: &Value) -> Result<ToolOutput, ToolError> {
        let query = text_argument(arguments, "query")?;
        let most = arguments.get("max_results").and_then(Value::as_u64).unwrap_or(DEFAULT_RESULTS);
        let most = usize::try_from(most.clamp(1, MAX_RESULTS)).unwrap_or(1);
        let glob = arguments.get("path_glob").and_then(Value::as_str).filter(|glob| !glob.trim().is_empty());
        let found = self.workspace.search(query, most, glob).await.map_err(|error| failed(&error))?;
        if found.is_empty() {
            return Ok(ToolOutput::text(NOTHING));
        }
        Ok(ToolOutput {
            content: (1..).zip(&found).map(|(number, passage)| Content::Text(block(number, passage))).collect(),
            citations: found.iter().map(citation).collect(),
            receipt: None,
        })
    }
}

impl Executor for FileSearch {
    fn run<'a>(&'a self, arguments: &'a Value, _: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.search(arguments).boxed()
    }
}

pub(super) fn text_argument<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).ok_or_else(|| {
        ToolError::new(
            ErrorCode::SchemaValidation,
            format!("`{name}` is missing or empty"),
            format!("Call again with a text in `{name}`."),
        )
    })
}

pub(super) fn failed(error: &FilesError) -> ToolError {
    if matches!(error, FilesError::Glob { .. }) {
        let hint = "Use a pattern such as `*.md` or `docs/**`, or leave `path_glob` out.";
        return ToolError::new(ErrorCode::SchemaValidation, error.to_string(), hint);
    }
    let hint = "Answer without the files, and say that they could not be searched.";
    ToolError::new(ErrorCode::ToolFailed, "the index of the folder failed", hint).developer(error.to_string())
}

pub(super) fn place_line(number: usize, path: &str, page: Option<u32>, lines: (u32, u32)) -> String {
    let page = page.map(|page| format!(" p.{page}")).unwrap_or_default();
    format!("[{number}] {path}{page}:{}-{}", lines.0, lines.1)
}

fn block(number: usize, passage: &Passage) -> String {
    let place = place_line(number, &passage.path, passage.page, passage.lines);
    format!("{place}\n{}\n", passage.text.trim_end())
}

fn citation(passage: &Passage) -> Citation {
    let page = passage.page.map(|page| format!("page {page}"));
    let title = match (passage.heading.clone(), page) {
        (Some(heading), Some(page)) => Some(format!("{heading}, {page}")),
        (heading, page) => heading.or(page),
    };
    Citation {
        source: CitationSource::File { path: passage.path.clone(), lines: Some(passage.lines) },
        title,
        quote: Some(passage.quote.clone()),
        start: None,
        end: None,
    }
}
