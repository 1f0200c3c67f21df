//! HTML becomes Markdown: the main content of a page, or the whole body where no main content stands out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};

/// How much HTML is read; the rest of a longer page is left out.
pub const MAX_HTML_BYTES: usize = 8 * 1024 * 1024;
/// Deeper pages than this are read as bare text: the parsers below recurse.
const MAX_DEPTH: usize = 400;
/// Main content that is shorter than this share of the body was guessed wrongly.
const MIN_SHARE: usize = 4;
/// Elements whose content is no text for a reader.
const SKIPPED: &[&str] = &["script", "style", "meta", "head", "noscript", "template", "svg", "iframe", "nav", "footer"];

/// What a page says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title.
    pub title: Option<String>,
    /// Its text as Markdown, headings kept, starting with the title.
    pub text: String,
}

/// Takes the text out of a page. Never fails: what cannot be understood as a page is returned as bare text.
pub fn extract(html: &str) -> Page {
    let html = head_of(html);
    let document = Document::from(html);
    if depth(&document) > MAX_DEPTH {
        return Page { title: None, text: bare_text(&document) };
    }
    let title = tidy(&document.select("title").text());
    let title = Some(title).filter(|title| !title.is_empty());
    let body = catch_unwind(AssertUnwindSafe(|| body_markdown(&document))).unwrap_or_else(|_| bare_text(&document));
    let main = catch_unwind(AssertUnwindSafe(|| main_markdown(document))).ok().flatten();
    let text = main.filter(|main| main.len() * MIN_SHARE >= body.len()).unwrap_or(body);
    Page { text: with_title(title.as_deref(), unescape(&text).trim()), title }
}

/// Takes back the escapes that a Markdown writer adds inside lines: `snake\_case` must be found and quoted as it reads.
fn unescape(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut fenced = false;
    for line in markdown.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            text.push_str(line);
            continue;
        }
        let (mut code, mut chars) = (false, line.chars().peekable());
        let mut blank = true;
        while let Some(c) = chars.next() {
            code ^= c == '`';
            let escape =
                c == '\\' && !code && !blank && chars.peek().is_some_and(|next| "_*[]()<>~.!&{}+-#".contains(*next));
            if !escape {
                text.push(c);
            }
            blank &= c.is_whitespace();
        }
    }
    text
}

fn head_of(html: &str) -> &str {
    let end = html.floor_char_boundary(MAX_HTML_BYTES);
    html.get(..end).unwrap_or(html)
}

fn main_markdown(document: Document) -> Option<String> {
    let config = Config { text_mode: TextMode::Markdown, disable_json_ld: true, ..Config::default() };
    let article = Readability::with_document(document, None, Some(config)).ok()?.parse().ok()?;
    Some(article.text_content.to_string())
}

fn body_markdown(document: &Document) -> String {
    let root = document.body().unwrap_or_else(|| document.root());
    root.md(Some(SKIPPED)).to_string()
}

/// The title becomes the first heading, unless the text already begins with it.
fn with_title(title: Option<&str>, text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    match title {
        Some(title) if !first.is_empty() && title.contains(first) => text.to_owned(),
        Some(title) => format!("# {title}\n\n{text}"),
        None => text.to_owned(),
    }
}

fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How deep the page nests, without recursion.
fn depth(document: &Document) -> usize {
    let (mut deepest, mut stack) = (0, vec![(document.root(), 0usize)]);
    while let Some((node, level)) = stack.pop() {
        deepest = deepest.max(level);
        if level > MAX_DEPTH {
            break;
        }
        stack.extend(node.next_sibling().map(|next| (next, level)));
        stack.extend(node.first_child().map(|child| (child, level + 1)));
    }
    deepest
}

/// The text nodes in order, one a line, without recursion.
fn bare_text(document: &Document) -> String {
    let (mut text, mut stack) = (String::new(), vec![document.root()]);
    while let Some(node) = stack.pop() {
        let skipped = node.node_name().is_some_and(|name| SKIPPED.contains(&name.as_ref()));
        stack.extend(node.next_sibling());
        if skipped {
            continue;
        }
        if node.is_text() {
            let piece = tidy(&node.text());
            if !piece.is_empty() {
                text.push_str(&piece);
                text.push('\n');
            }
        }
        stack.extend(node.first_child());
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_main_content_is_kept_with_its_headings_and_the_chrome_is_not() {
        let paragraph =
            "The gate decides whether a call may run, and says why. Every decision is kept in the journal. ";
        let html = format!(
            "<html><head><title>The gate</title><script>var x = 1;</script></head><body><nav><a href=/>Home</a></nav>\
             <article><h1>The gate</h1><p>{p}{p}</p><h2>Reasons for snake_case</h2><p>{p}{p}{p}</p></article>\
             <footer>Imprint</footer></body></html>",
            p = paragraph
        );
        let page = extract(&html);
        assert_eq!(page.title.as_deref(), Some("The gate"));
        assert!(page.text.starts_with("# The gate\n"), "{}", page.text);
        assert!(page.text.contains("\n## Reasons for snake_case\n"), "{}", page.text);
        assert_eq!(page.text.matches("kept in the journal").count(), 5);
        assert!(!page.text.contains("var x") && !page.text.contains("Imprint") && !page.text.contains("Home"));
    }

    #[test]
    fn a_page_without_an_article_gives_its_whole_body() {
        let page = extract("<title>List</title><ul><li>one</li><li>two</li></ul>");
        assert_eq!(page.text, "# List\n\n- one\n- two");
    }

    #[test]
    fn a_page_of_a_hundred_thousand_nested_elements_is_read_as_bare_text() {
        let html = format!("{}deep words{}", "<b><i>".repeat(50_000), "</i></b>".repeat(50_000));
        assert_eq!(extract(&html).text.trim(), "deep words");
    }

    proptest! {
        #[test]
        fn any_text_is_a_page(html in "(<[a-z]{1,6}( [a-z]+=\"?[^<]{0,8}\"?)?>|</[a-z]{1,6}>|[^<]{0,20}|<|&#x[0-9a-f]{0,9};?){0,40}") {
            let _ = extract(&html);
        }
    }
}
