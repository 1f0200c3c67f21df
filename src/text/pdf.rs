//! The text of a PDF, page by page.
//!
//! Parsers of this format can be made to exhaust memory or stack by a crafted file, which no code around them can
//! catch. Call this inside the worker process only (`execute::files`); the rest of agcore talks to that.

use unpdf::{Error, ParseOptions};

/// Why a PDF gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PdfError {
    /// It is encrypted and the empty password does not open it.
    #[error("the PDF is encrypted and needs a password")]
    Encrypted,
    /// It is no PDF, or too damaged to be read.
    #[error("the PDF cannot be read: {0}")]
    Damaged(String),
}

/// The text of each page, in order. A page without text (a scan) is an empty string.
///
/// # Errors
/// [`PdfError`] when the file cannot be opened at all; a single unreadable page only comes back empty.
pub fn extract(bytes: &[u8]) -> Result<Vec<String>, PdfError> {
    let options = ParseOptions::new().lenient().sequential().with_resources(false);
    let document = unpdf::parse_bytes_with_options(bytes, options).map_err(|error| sort(&error))?;
    let mut pages = Vec::with_capacity(document.pages.len());
    for page in &document.pages {
        let number = usize::try_from(page.number).unwrap_or(0);
        while pages.len() + 1 < number && pages.len() < document.pages.len() {
            pages.push(String::new());
        }
        pages.push(page.plain_text());
    }
    Ok(pages)
}

fn sort(error: &Error) -> PdfError {
    if matches!(error, Error::Encrypted | Error::InvalidPassword) {
        PdfError::Encrypted
    } else {
        PdfError::Damaged(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pdf_is_an_error() {
        assert!(matches!(extract(b"<html>"), Err(PdfError::Damaged(_))));
        assert!(matches!(extract(b""), Err(PdfError::Damaged(_))));
    }
}
