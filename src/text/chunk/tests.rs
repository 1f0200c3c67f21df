use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn short(chunks: &[Chunk]) -> Vec<(u32, u32, &str)> {
    chunks.iter().map(|chunk| (chunk.first_line, chunk.last_line, chunk.heading.as_str())).collect()
}

#[test]
fn markdown_is_split_at_headings_and_knows_the_path_to_each_passage() {
    let text = "---\ntitle: x\n---\n# Turn\n\n## Limits\nSix iterations.\n\n```sh\n# no heading\n\n--help\n```\n## Time\n\nThirty seconds.\n";
    let chunks = chunk(text, Kind::Markdown);
    assert_eq!(short(&chunks), [(1, 3, ""), (4, 13, "Turn > Limits"), (14, 16, "Turn > Time")]);
    assert_eq!(chunks[2].text, "## Time\n\nThirty seconds.");
}

#[test]
fn underlined_headings_count_in_plain_text_and_rulers_do_not() {
    let text = "Refunds\n=======\n\nWithin seven days.\n\nShipping\n--------\nBy road.\nand rail\n---\n";
    assert_eq!(short(&chunk(text, Kind::Text)), [(1, 4, "Refunds"), (6, 10, "Refunds > Shipping")]);
}

#[test]
fn a_long_section_is_split_between_paragraphs() {
    let paragraph = "word ".repeat(100);
    let text = format!("# A\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n");
    assert_eq!(short(&chunk(&text, Kind::Markdown)), [(1, 3, "A"), (5, 5, "A"), (7, 7, "A")]);
}

#[test]
fn a_long_list_is_split_between_its_items() {
    let item = format!("- {}\n  {}\n", "word ".repeat(40), "more ".repeat(40));
    let chunks = chunk(&item.repeat(5), Kind::Markdown);
    assert_eq!(short(&chunks), [(1, 4, ""), (5, 8, ""), (9, 10, "")]);
}

#[test]
fn the_rows_of_a_table_carry_its_header() {
    let text = format!("id,name\n{}", "1,some rather long name here\n".repeat(60));
    let chunks = chunk(&text, Kind::Table);
    assert_eq!(chunks.len(), 2);
    assert!(chunks.iter().all(|chunk| chunk.heading == "id,name"));
}

#[test]
fn pages_count_lines_through_the_document() {
    let pages = ["first page\n\nmore".to_owned(), String::new(), "third page".to_owned()];
    let chunks = chunk_pages(&pages);
    let got: Vec<_> = chunks.iter().map(|chunk| (chunk.page, chunk.first_line, chunk.last_line)).collect();
    assert_eq!(got, [(Some(1), 1, 3), (Some(3), 4, 4)]);
}

#[test]
fn a_family_emoji_is_never_cut() {
    let family = "👨‍👩‍👧‍👦";
    let chunks = chunk(&family.repeat(2000), Kind::Text);
    assert!(chunks.len() > 1);
    assert!(chunks.iter().all(|chunk| chunk.text.replace(family, "").is_empty()));
}

fn kinds() -> impl Strategy<Value = Kind> {
    proptest::sample::select(vec![
        Kind::Markdown,
        Kind::Text,
        Kind::Html,
        Kind::Table,
        Kind::Json,
        Kind::JsonLines,
        Kind::Code,
    ])
}

proptest! {
    #[test]
    fn passages_hold_every_character_and_name_their_lines(
        text in "(#{1,3} [a-z]{1,9}\n|[a-z。，\u{4e00}-\u{4e10} ]{0,60}\n|\n|```\n|---\n|===\n|\r\n|[a-z]{1,40} ?){0,120}",
        long in 0usize..3000,
        kind in kinds(),
    ) {
        let text = format!("{text}{}", "字word ".repeat(long));
        let lines: Vec<&str> = text.lines().collect();
        let chunks = chunk(&text, kind);
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(bare(&chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>()), bare(&text));
        let mut before = 0;
        for chunk in &chunks {
            let of = lines[chunk.first_line as usize - 1..chunk.last_line as usize].join("\n");
            let part_of_one_line = chunk.first_line == chunk.last_line && of.contains(&chunk.text);
            prop_assert!(chunk.text == of || part_of_one_line, "{:?}", chunk);
            prop_assert!(chunk.first_line >= before && width(&chunk.text) <= MAX_WIDTH + TARGET_WIDTH);
            before = chunk.last_line;
        }
    }
}
