//! The tool `file_read`: lines of one file of the folder.

use std::fs;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::{
    execute::{CallContext, Executor},
    store::passages::{FileRow, PassageRow},
    types::{Citation, CitationSource, Content, ErrorCode, ToolError, ToolOutput},
};

use super::{
    FilesError, Workspace,
    search::{failed, place_line, text_argument},
    workspace::{Place, place},
};

/// Lines returned when none are asked for, and at most.
const DEFAULT_LINES: u32 = 400;
const MAX_LINES: u32 = 2000;

/// Reads lines of a file of a [`Workspace`], as they are in its index: line numbers are those that `file_search`
/// gives, also for HTML and PDF.
///
/// Arguments: `path` below the folder, `start_line` and `end_line` (from 1, inclusive). A path out of the folder is
/// refused, an unknown one answered with near names, one without text with the reason.
#[derive(Debug, Clone)]
pub struct FileRead {
    workspace: Workspace,
}

impl FileRead {
    /// Reads from `workspace`.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    async fn read(&self, arguments: &Value) -> Result<ToolOutput, ToolError> {
        let file = self.find(text_argument(arguments, "path")?)?;
        let line =
            |name: &str| arguments.get(name).and_then(Value::as_u64).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let first = line("start_line").unwrap_or(1).max(1);
        let last = line("end_line").unwrap_or_else(|| first.saturating_add(DEFAULT_LINES - 1));
        let last = last.min(first.saturating_add(MAX_LINES - 1)).min(file.lines);
        if first > last {
            return Err(ToolError::new(
                ErrorCode::NotFound,
                format!("`{}` has {} lines; {first} to {last} is no part of it", file.path, file.lines),
                "Call again with lines that the file has.",
            ));
        }
        let rows = self.workspace.store().read(file.id, first, last).await;
        let rows = rows.map_err(|error| failed(&FilesError::Store(error)))?;
        Ok(output(file, &rows, (first, last)))
    }

    fn find(&self, path: &str) -> Result<&FileRow, ToolError> {
        let refused = || {
            let message = format!("`{path}` lies outside of the folder");
            ToolError::new(ErrorCode::PermissionDenied, message, "Only files of the folder can be read.")
        };
        let root = self.workspace.root();
        let Place::Inside(inner) = place(root, path) else { return Err(refused()) };
        match self.workspace.file(&inner) {
            Some(file) if file.passages > 0 => Ok(file),
            Some(file) => {
                let why = file.reason.as_deref().unwrap_or("it is empty");
                let message = format!("`{inner}` gives no text: {why}");
                Err(ToolError::new(ErrorCode::ToolFailed, message, "Use another file."))
            }
            None => match fs::canonicalize(root.join(&inner)) {
                Ok(target) if !target.starts_with(root) => Err(refused()),
                Ok(_) | Err(_) => Err(self.unknown(&inner)),
            },
        }
    }

    fn unknown(&self, path: &str) -> ToolError {
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let wanted = name(path);
        let readable = self.workspace.files().iter().filter(|file| file.passages > 0);
        let mut near: Vec<(f64, &str)> =
            readable.map(|file| (strsim::jaro_winkler(&wanted, &name(&file.path)), file.path.as_str())).collect();
        near.retain(|(likeness, _)| *likeness > 0.75);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = near.iter().take(3).map(|(_, path)| format!("`{path}`")).collect();
        let hint = if names.is_empty() {
            "Use file_search to find the file.".to_owned()
        } else {
            format!("Did you mean {}?", names.join(", "))
        };
        ToolError::new(ErrorCode::NotFound, format!("there is no file `{path}` in the index of the folder"), hint)
    }
}

impl Executor for FileRead {
    fn run<'a>(&'a self, arguments: &'a Value, _: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.read(arguments).boxed()
    }
}

fn output(file: &FileRow, rows: &[PassageRow], lines: (u32, u32)) -> ToolOutput {
    let page = rows.first().and_then(|row| row.page);
    let text = lines_of(rows, lines);
    let mut content = vec![Content::Text(format!("{}\n{text}\n", place_line(1, &file.path, page, lines)))];
    if lines.1 < file.lines {
        let next = lines.1 + 1;
        let more = format!("The file goes on to line {}; read on with start_line {next}.\n", file.lines);
        content.push(Content::Text(more));
    }
    let citation = Citation {
        source: CitationSource::File { path: file.path.clone(), lines: Some(lines) },
        title: page.map(|page| format!("page {page}")),
        quote: None,
        start: None,
        end: None,
    };
    ToolOutput { content, citations: vec![citation], receipt: None }
}

/// The lines `first..=last` put together again: passages hold all but blank lines.
fn lines_of(rows: &[PassageRow], (first, last): (u32, u32)) -> String {
    let (mut text, mut at) = (String::new(), first);
    for row in rows {
        for (number, line) in (row.first_line..).zip(row.text.split('\n')) {
            if number < first || number > last {
                continue;
            }
            while at < number {
                text.push('\n');
                at += 1;
            }
            text.push_str(line.trim_end_matches('\r'));
        }
    }
    text
}
