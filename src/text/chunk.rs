//! A text becomes passages that can be found, quoted and pointed at by their lines.

use unicode_segmentation::UnicodeSegmentation;

use super::{kind::Kind, words::is_unspaced};

mod block;

use block::{Block, blocks};

/// A passage is closed before it gets wider than this. Width counts characters, those of unspaced scripts twice.
const TARGET_WIDTH: usize = 900;
/// A paragraph up to this width stays whole.
const MAX_WIDTH: usize = 1300;
/// The longest heading path kept, in bytes.
const MAX_HEADING_BYTES: usize = 240;

/// A passage of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its first line, from 1.
    pub first_line: u32,
    /// Its last line (inclusive).
    pub last_line: u32,
    /// Its page, from 1, where the text has pages.
    pub page: Option<u32>,
    /// The headings above it, outermost first, joined by ` > `; the header row of a table; empty where there is none.
    pub heading: String,
    /// The lines, joined by line feeds. A line too long for one passage is spread over several with the same number.
    pub text: String,
}

/// Splits a text into passages, in order. Together they hold every character of it but blank lines.
pub fn chunk(text: &str, kind: Kind) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let mut packer = Packer { lines: &lines, done: Vec::new(), open: None, headings: Vec::new() };
    if kind == Kind::Table
        && let Some(header) = lines.first()
    {
        packer.headings.push((1, header.trim().to_owned()));
    }
    for block in blocks(&lines, kind) {
        packer.add(block);
    }
    packer.close();
    packer.done
}

/// Splits the pages of a document. Lines are counted through all pages, as if each page began on a new line.
pub fn chunk_pages(pages: &[String]) -> Vec<Chunk> {
    let (mut all, mut before) = (Vec::new(), 0u32);
    for (number, page) in (1u32..).zip(pages) {
        all.extend(chunk(page, Kind::Text).into_iter().map(|mut chunk| {
            chunk.first_line += before;
            chunk.last_line += before;
            chunk.page = Some(number);
            chunk
        }));
        before = before.saturating_add(count(page.lines().count()));
    }
    all
}

/// The width of a text: its characters, those of unspaced scripts counted twice.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if is_unspaced(c) { 2 } else { 1 }).sum()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The passage being filled: lines `first..=last`.
struct Open {
    first: usize,
    last: usize,
    width: usize,
    only_headings: bool,
}

struct Packer<'t> {
    lines: &'t [&'t str],
    done: Vec<Chunk>,
    open: Option<Open>,
    headings: Vec<(u8, String)>,
}

impl Packer<'_> {
    fn add(&mut self, block: Block) {
        let wide =
            self.lines.get(block.first..=block.last).unwrap_or_default().iter().map(|line| width(line) + 1).sum();
        let is_heading = block.heading.is_some();
        if self
            .open
            .as_ref()
            .is_some_and(|open| !open.only_headings && (is_heading || open.width + wide > TARGET_WIDTH))
        {
            self.close();
        }
        if let Some((level, title)) = block.heading {
            self.headings.retain(|(other, _)| *other < level);
            self.headings.push((level, title));
        }
        if wide > MAX_WIDTH {
            self.add_by_lines(block.first, block.last);
        } else {
            self.extend(block.first, block.last, wide, is_heading);
        }
    }

    fn extend(&mut self, first: usize, last: usize, wide: usize, is_heading: bool) {
        match &mut self.open {
            Some(open) => {
                open.last = last;
                open.width += wide;
                open.only_headings &= is_heading;
            }
            None => self.open = Some(Open { first, last, width: wide, only_headings: is_heading }),
        }
    }

    fn add_by_lines(&mut self, first: usize, last: usize) {
        for number in first..=last {
            let line = self.lines.get(number).copied().unwrap_or_default();
            let wide = width(line) + 1;
            if self.open.as_ref().is_some_and(|open| open.width + wide > TARGET_WIDTH) {
                self.close();
            }
            if wide <= MAX_WIDTH {
                self.extend(number, number, wide, false);
                continue;
            }
            for piece in pieces(line) {
                self.push(number, number, piece.to_owned());
            }
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let text = self.lines.get(open.first..=open.last).unwrap_or_default().join("\n");
            self.push(open.first, open.last, text);
        }
    }

    fn push(&mut self, first: usize, last: usize, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let heading = self.heading();
        self.done.push(Chunk { first_line: count(first + 1), last_line: count(last + 1), page: None, heading, text });
    }

    fn heading(&self) -> String {
        let mut path = self.headings.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
        path.truncate(path.floor_char_boundary(MAX_HEADING_BYTES));
        path
    }
}

/// Pieces of a line that is too long, cut between graphemes, after white space or punctuation where there is some.
fn pieces(line: &str) -> Vec<&str> {
    let (mut found, mut start, mut good, mut wide, mut wide_at_good) = (Vec::new(), 0, 0, 0, 0);
    for (at, grapheme) in line.grapheme_indices(true) {
        wide += width(grapheme);
        if wide > TARGET_WIDTH && at > start {
            let cut = if good > start && wide_at_good > TARGET_WIDTH / 2 { good } else { at };
            found.extend(line.get(start..cut));
            wide = line.get(cut..at + grapheme.len()).map_or(0, width);
            (start, good, wide_at_good) = (cut, cut, 0);
        }
        if grapheme.ends_with(|c: char| c.is_whitespace() || ",;，。；！？、}>".contains(c)) {
            (good, wide_at_good) = (at + grapheme.len(), wide);
        }
    }
    found.extend(line.get(start..));
    found
}

#[cfg(test)]
mod tests;
