//! What a file is: by its first bytes, then by its name.

/// What kind of content a file has, which decides how it is read and split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Markdown and reStructuredText: headings and paragraphs.
    Markdown,
    /// Plain text.
    Text,
    /// HTML: the main content is taken out of it.
    Html,
    /// Comma or tab separated values.
    Table,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    JsonLines,
    /// Source code and configuration.
    Code,
    /// PDF: read by the worker process only.
    Pdf,
    /// No text; with what it seems to be.
    Binary(&'static str),
}

/// How many bytes are looked at.
const HEAD_BYTES: usize = 8192;

/// First bytes that tell a binary format, and what it is.
const MAGIC: [(&[u8], &str); 26] = [
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"BM\x00", "a bitmap image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"RIFF", "a RIFF container (WebP, WAV, AVI)"),
    (b"PK\x03\x04", "a ZIP archive (also .docx, .xlsx, .jar)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ\x90\0", "a Windows program"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O file"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 sound"),
    (b"fLaC", "FLAC sound"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"wOF2", "a font"),
];

const MARKDOWN: &[&str] = &["md", "markdown", "mdown", "mkd", "mdx", "rst", "adoc", "asciidoc", "org"];
const HTML: &[&str] = &["html", "htm", "xhtml"];
const TABLE: &[&str] = &["csv", "tsv", "tab"];
const JSON_LINES: &[&str] = &["jsonl", "ndjson"];
const JSON: &[&str] = &["json", "geojson", "ipynb", "json5", "jsonc"];
const CODE: &[&str] = &[
    "rs",
    "py",
    "js",
    "mjs",
    "cjs",
    "ts",
    "tsx",
    "jsx",
    "go",
    "java",
    "kt",
    "kts",
    "scala",
    "c",
    "h",
    "cc",
    "cpp",
    "cxx",
    "hpp",
    "hh",
    "cs",
    "rb",
    "php",
    "swift",
    "m",
    "mm",
    "lua",
    "pl",
    "pm",
    "r",
    "jl",
    "ex",
    "exs",
    "erl",
    "hs",
    "ml",
    "clj",
    "dart",
    "zig",
    "nim",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "bat",
    "sql",
    "proto",
    "graphql",
    "toml",
    "yaml",
    "yml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "xml",
    "svg",
    "css",
    "scss",
    "less",
    "vue",
    "svelte",
    "tf",
    "hcl",
    "nix",
    "cmake",
    "mk",
    "gradle",
    "dockerfile",
    "makefile",
    "lock",
    "patch",
    "diff",
    "vim",
    "el",
];

impl Kind {
    /// A short word for messages and the index.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Html => "html",
            Self::Table => "table",
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Code => "code",
            Self::Pdf => "pdf",
            Self::Binary(what) => what,
        }
    }
}

/// What a file named `name` that starts with `bytes` is. The bytes win over the name: a picture called `page.html`
/// is a picture.
pub fn sniff(name: &str, bytes: &[u8]) -> Kind {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if is_pdf(head) {
        return Kind::Pdf;
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Kind::Binary(what);
    }
    if !is_text(head) {
        return Kind::Binary("binary data");
    }
    by_name(name).unwrap_or_else(|| if starts_as_html(head) { Kind::Html } else { Kind::Text })
}

/// A PDF may have up to 1024 bytes of something else before its header (ISO 32000-1, annex H).
fn is_pdf(head: &[u8]) -> bool {
    let start = head.get(..1024).unwrap_or(head);
    start.starts_with(b"%PDF-")
        || (start.windows(5).any(|window| window == b"%PDF-") && start.contains(&0))
        || start.strip_prefix(b"\xef\xbb\xbf").is_some_and(|rest| rest.starts_with(b"%PDF-"))
}

fn is_text(head: &[u8]) -> bool {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return true;
    }
    let zeros = head.iter().filter(|byte| **byte == 0).count();
    if zeros > 0 {
        let sided = |side: usize| head.iter().skip(side).step_by(2).filter(|byte| **byte == 0).count() == zeros;
        return zeros * 6 > head.len() && (sided(0) || sided(1));
    }
    let odd = |byte: &u8| matches!(*byte, 1..=6 | 14..=26 | 28..=31 | 127);
    head.iter().filter(|byte| odd(byte)).count() * 20 <= head.len()
}

fn by_name(name: &str) -> Option<Kind> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let extension = file.rsplit('.').next().unwrap_or(&file);
    let is = |list: &[&str]| list.contains(&extension);
    if is(MARKDOWN) {
        Some(Kind::Markdown)
    } else if is(HTML) {
        Some(Kind::Html)
    } else if is(TABLE) {
        Some(Kind::Table)
    } else if is(JSON_LINES) {
        Some(Kind::JsonLines)
    } else if is(JSON) {
        Some(Kind::Json)
    } else if is(CODE) {
        Some(Kind::Code)
    } else if is(&["txt", "text", "log"]) {
        Some(Kind::Text)
    } else {
        None
    }
}

fn starts_as_html(head: &[u8]) -> bool {
    let start = String::from_utf8_lossy(head.get(..512).unwrap_or(head)).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn content_wins_over_the_name() {
        assert_eq!(sniff("page.html", b"\x89PNG\r\n\x1a\n...."), Kind::Binary("a PNG image"));
        assert_eq!(sniff("notes.txt", b"%PDF-1.7\n"), Kind::Pdf);
        assert_eq!(sniff("readme", b"  <!DOCTYPE html><html>"), Kind::Html);
        assert_eq!(sniff("a.md", b"words\0and zeros\0"), Kind::Binary("binary data"));
    }

    #[test]
    fn names_decide_among_texts() {
        let kinds = ["a.MD", "b.csv", "c.jsonl", "d.json", "src/e.rs", "Makefile", "g.txt", "LICENSE", "x.html"]
            .map(|name| sniff(name, b"words"));
        assert_eq!(
            kinds,
            [
                Kind::Markdown,
                Kind::Table,
                Kind::JsonLines,
                Kind::Json,
                Kind::Code,
                Kind::Code,
                Kind::Text,
                Kind::Text,
                Kind::Html
            ]
        );
    }

    #[test]
    fn text_of_other_character_sets_is_text() {
        let (gbk, _, _) = encoding_rs::GBK.encode("价格：￥99，本产品支持七天无理由退货。");
        assert_eq!(sniff("a.txt", &gbk), Kind::Text);
        let utf16: Vec<u8> = "plain words".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(sniff("a.txt", &utf16), Kind::Text);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_kind(name in ".{0,20}", bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = sniff(&name, &bytes);
        }
    }
}
