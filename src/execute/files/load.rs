//! One file becomes passages with their words.

use std::{fs::File, io::Read};

use sha2::{Digest, Sha256};

use crate::{
    store::passages::{FileRow, NewPassage},
    text::{
        charset,
        chunk::{Chunk, chunk, chunk_pages},
        html,
        kind::{Kind, sniff},
        words,
    },
};

use super::walk::Found;

/// Larger files are not read.
pub const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// What reading a file gave.
pub(super) enum Loaded {
    /// Its content is the one already in the index.
    Same,
    /// Its passages, or why there are none.
    File(FileRow, Vec<NewPassage>),
    /// A PDF, to be read by the worker.
    Pdf(FileRow, Vec<u8>),
}

/// Reads a file; `known` is the hash of the content in the index.
pub(super) fn load(found: &Found, known: Option<&[u8]>) -> Loaded {
    let row = |hash: Vec<u8>, reason: Option<String>| FileRow {
        id: 0,
        path: found.path.clone(),
        stamp: found.stamp,
        hash,
        reason,
        lines: 0,
        passages: 0,
    };
    let bytes = match read(found) {
        Ok(bytes) => bytes,
        Err(reason) => return Loaded::File(row(Vec::new(), Some(reason)), Vec::new()),
    };
    let hash = Sha256::digest(&bytes).to_vec();
    if known == Some(hash.as_slice()) {
        return Loaded::Same;
    }
    match sniff(&found.path, &bytes) {
        Kind::Pdf => Loaded::Pdf(row(hash, None), bytes),
        Kind::Binary(what) => Loaded::File(row(hash, Some(format!("it holds no text but {what}"))), Vec::new()),
        kind @ (Kind::Markdown | Kind::Text | Kind::Html | Kind::Table | Kind::Json | Kind::JsonLines | Kind::Code) => {
            let text = decode(&bytes, kind);
            let lines = text.lines().count();
            let (row, passages) = finish(row(hash, None), chunk(&text, kind), lines);
            Loaded::File(row, passages)
        }
    }
}

/// The passages of a PDF whose pages the worker has read, or the reason why there are none.
pub(super) fn pages(row: FileRow, pages: Result<Vec<String>, String>) -> (FileRow, Vec<NewPassage>) {
    let pages = match pages {
        Ok(pages) => pages,
        Err(reason) => return (FileRow { reason: Some(reason), ..row }, Vec::new()),
    };
    let chunks = chunk_pages(&pages);
    if chunks.is_empty() {
        let reason = "the PDF holds no text; its pages may be scanned pictures".to_owned();
        return (FileRow { reason: Some(reason), ..row }, Vec::new());
    }
    let lines = pages.iter().map(|page| page.lines().count()).sum();
    finish(row, chunks, lines)
}

fn read(found: &Found) -> Result<Vec<u8>, String> {
    let too_large = || format!("it is larger than {} MB", MAX_FILE_BYTES / 1024 / 1024);
    if found.stamp.size > MAX_FILE_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.stamp.size).unwrap_or(0) + 1);
    let file = File::open(&found.full).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_FILE_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn decode(bytes: &[u8], kind: Kind) -> String {
    if kind != Kind::Html {
        return charset::decode(bytes, None).text;
    }
    let declared = charset::declared_in_html(bytes);
    html::extract(&charset::decode(bytes, declared.as_deref()).text).text
}

fn finish(row: FileRow, chunks: Vec<Chunk>, lines: usize) -> (FileRow, Vec<NewPassage>) {
    let mut path_words = String::new();
    words::push_words(&row.path, &mut path_words);
    let passages: Vec<NewPassage> = chunks.into_iter().map(|chunk| passage(&path_words, chunk)).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    (FileRow { lines: count(lines), passages: count(passages.len()), ..row }, passages)
}

fn passage(path_words: &str, chunk: Chunk) -> NewPassage {
    let (mut head_words, mut body_words) = (path_words.to_owned(), String::with_capacity(chunk.text.len()));
    words::push_words(&chunk.heading, &mut head_words);
    words::push_words(&chunk.text, &mut body_words);
    NewPassage {
        first_line: chunk.first_line,
        last_line: chunk.last_line,
        page: chunk.page,
        heading: chunk.heading,
        text: chunk.text,
        head_words,
        body_words,
    }
}
