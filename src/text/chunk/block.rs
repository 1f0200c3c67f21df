//! Where a text may be split: its blocks of lines, by kind.

use crate::text::{kind::Kind, sentence::starts_item};

/// Lines that belong together, `first..=last`, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The level and title, when the block is a heading.
    pub(super) heading: Option<(u8, String)>,
}

impl Block {
    fn lines(first: usize, last: usize) -> Self {
        Self { first, last, heading: None }
    }
}

/// The blocks of a text, in order; blank lines between them belong to none.
pub(super) fn blocks(lines: &[&str], kind: Kind) -> Vec<Block> {
    match kind {
        Kind::Markdown | Kind::Html => marked(lines, true),
        Kind::Text | Kind::Pdf | Kind::Binary(_) => marked(lines, false),
        Kind::Code => paragraphs(lines),
        Kind::Table | Kind::Json | Kind::JsonLines => each_line(lines),
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn each_line(lines: &[&str]) -> Vec<Block> {
    let filled = lines.iter().enumerate().filter(|(_, line)| !is_blank(line));
    filled.map(|(number, _)| Block::lines(number, number)).collect()
}

fn paragraphs(lines: &[&str]) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    for (number, _) in lines.iter().enumerate().filter(|(_, line)| !is_blank(line)) {
        match found.last_mut() {
            Some(block) if block.last + 1 == number => block.last = number,
            Some(_) | None => found.push(Block::lines(number, number)),
        }
    }
    found
}

/// Paragraphs, underlined headings and, in Markdown, `#` headings and fenced code.
fn marked(lines: &[&str], markdown: bool) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut number = if markdown { front_matter(lines, &mut found) } else { 0 };
    let mut in_paragraph = false;
    while let Some(line) = lines.get(number) {
        if is_blank(line) {
            in_paragraph = false;
            number += 1;
            continue;
        }
        let next = lines.get(number + 1).copied().unwrap_or_default();
        let underlined = if in_paragraph { None } else { underline_level(line, next) };
        let (last, heading) = if let Some(level) = underlined {
            (number + 1, Some((level, line.trim().to_owned())))
        } else if let Some(heading) = hash_heading(line).filter(|_| markdown) {
            (number, Some(heading))
        } else if let Some(last) = fence_end(lines, number).filter(|_| markdown) {
            (last, None)
        } else {
            (number, None)
        };
        let plain = heading.is_none() && last == number;
        match found.last_mut() {
            Some(block) if plain && in_paragraph && !(markdown && starts_item(line)) => block.last = number,
            Some(_) | None => found.push(Block { first: number, last, heading }),
        }
        in_paragraph = plain;
        number = last + 1;
    }
    found
}

/// A YAML header between two `---` lines is one block.
fn front_matter(lines: &[&str], found: &mut Vec<Block>) -> usize {
    if lines.first().map(|line| line.trim_end()) != Some("---") {
        return 0;
    }
    let end = lines.iter().take(200).skip(1).position(|line| line.trim_end() == "---");
    end.map_or(0, |end| {
        found.push(Block::lines(0, end + 1));
        end + 2
    })
}

fn hash_heading(line: &str) -> Option<(u8, String)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let spaced = rest.starts_with([' ', '\t']) || (!rest.is_empty() && !rest.is_ascii());
    let title = rest.trim().trim_end_matches('#').trim();
    let level = u8::try_from(level).ok().filter(|level| (1..=6).contains(level))?;
    (spaced && !title.is_empty()).then(|| (level, title.to_owned()))
}

/// The level of a heading that is underlined by `===`, `---` or, in reStructuredText, `~~~` and the like.
fn underline_level(title: &str, line: &str) -> Option<u8> {
    let line = line.trim_end();
    let mark = line.chars().next()?;
    let level = match mark {
        '=' => 1,
        '-' => 2,
        '~' | '^' | '"' => 3,
        _ => return None,
    };
    let length = line.chars().count();
    let fits = length >= 3 && line.chars().all(|c| c == mark) && length + 4 >= title.trim().chars().count();
    let is_title = title.chars().any(char::is_alphanumeric) && !title.starts_with([' ', '|', '-', '*', '>', '#']);
    (fits && is_title && title.chars().count() <= 120).then_some(level)
}

/// The last line of fenced code that begins at `first`.
fn fence_end(lines: &[&str], first: usize) -> Option<usize> {
    let opening = lines.get(first)?.trim_start();
    let mark = opening.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = opening.chars().take_while(|c| *c == mark).count();
    if length < 3 {
        return None;
    }
    let closes = |line: &&str| {
        let line = line.trim();
        line.chars().all(|c| c == mark) && line.chars().count() >= length
    };
    let inner = lines.get(first + 1..)?.iter().position(closes);
    Some(inner.map_or(lines.len() - 1, |at| first + 1 + at))
}
