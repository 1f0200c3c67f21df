//! Sentences, as a quotation wants them.

/// The sentences of `text` in order, trimmed: ended by `.`, `!`, `?` before white space, by `。！？；`, or by a blank line, a list
/// item or a heading. No character but white space is lost.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        let mut start = 0;
        let mut rest = paragraph.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            if ends(c, next, paragraph.get(start..at).unwrap_or_default()) {
                let end = at + c.len_utf8();
                push(&mut found, paragraph.get(start..end));
                start = end;
            }
        }
        push(&mut found, paragraph.get(start..));
    }
    found
}

fn push<'a>(found: &mut Vec<&'a str>, piece: Option<&'a str>) {
    if let Some(piece) = piece.map(str::trim).filter(|piece| !piece.is_empty()) {
        found.push(piece);
    }
}

/// Paragraphs: cut at blank lines and before list items, headings, table rows.
fn paragraphs(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if starts_item(line) || line.starts_with('#') || line.trim().is_empty() {
            push(&mut found, text.get(start..at));
            start = at;
        }
        at += line.len();
        if line.starts_with('#') {
            push(&mut found, text.get(start..at));
            start = at;
        }
    }
    push(&mut found, text.get(start..));
    found
}

/// Whether a line begins a list item or a table row.
pub(super) fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = unnumbered.len() < line.len() && (unnumbered.starts_with(". ") || unnumbered.starts_with(") "));
    numbered || ["- ", "* ", "+ ", "|"].iter().any(|mark| line.starts_with(mark))
}

fn ends(c: char, next: Option<char>, before: &str) -> bool {
    match c {
        '。' | '！' | '？' | '；' | '…' => !matches!(next, Some('”' | '」' | '』' | '’' | '）' | '。' | '…')),
        '”' | '」' | '』' => before.ends_with(['。', '！', '？']),
        '.' | '!' | '?' => next.is_none_or(char::is_whitespace) && !is_abbreviation(before),
        _ => false,
    }
}

/// Whether a dot after `before` belongs to an abbreviation, an initial or a list number.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let known = ["e.g", "i.e", "etc", "vs", "cf", "Dr", "Mr", "Mrs", "Ms", "Prof", "St", "No", "Fig", "Eq", "approx"];
    known.contains(&word)
        || (word.chars().count() == 1 && word.chars().all(|c| c.is_uppercase()))
        || (word.len() == before.trim_start().len() && !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn english_and_chinese_sentences_end_where_a_reader_ends_them() {
        let text = "# The gate\nIt decides, e.g. for version 5.2, whether a call\nmay run. It says why! Does it? Yes\n\n- one item. two\n- next";
        assert_eq!(
            sentences(text),
            [
                "# The gate",
                "It decides, e.g. for version 5.2, whether a call\nmay run.",
                "It says why!",
                "Does it?",
                "Yes",
                "- one item.",
                "two",
                "- next"
            ]
        );
        assert_eq!(
            sentences("他说：“不行。”然后走了。为什么？不知道"),
            ["他说：“不行。”", "然后走了。", "为什么？", "不知道"]
        );
    }

    proptest! {
        #[test]
        fn only_white_space_is_lost(text in "([a-zA-Z。！？.!?” \n#|-]|[0-9]\\. |\\PC){0,120}") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&sentences(&text).concat()), bare(&text));
        }
    }
}
