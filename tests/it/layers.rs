//! Holds the code to the layer table: which module may use which.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The modules in the order a turn meets them, each with what it may use besides the base.
const TABLE: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("error", &["*"]),
    ("clock", &[]),
    ("secret", &[]),
    ("config", &[]),
    ("text", &[]),
    ("scan", &["text"]),
    ("net", &["text"]),
    ("store", &[]),
    ("capability", &["scan"]),
    ("llm", &["net", "text", "capability"]),
    ("discover", &["capability", "text"]),
    ("intent", &["capability", "discover", "llm", "text"]),
    ("policy", &["capability"]),
    ("quota", &["capability", "policy", "store"]),
    ("route", &["capability", "discover", "intent", "policy", "llm"]),
    ("projection", &["capability", "policy", "scan", "text"]),
    ("execute", &["capability", "policy", "net", "text", "store", "discover", "projection"]),
    (
        "turn",
        &[
            "text",
            "net",
            "store",
            "capability",
            "llm",
            "discover",
            "intent",
            "policy",
            "quota",
            "route",
            "projection",
            "execute",
        ],
    ),
    ("trace", &["policy", "text", "turn"]),
    ("audit", &["store", "policy", "turn"]),
    ("runtime", &["*"]),
];

const BASE: &[&str] = &["types", "error", "clock", "secret", "config"];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without its tests: tests may use what they need.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ").map_or(text, |at| &text[..at])
}

/// Every module named after `crate::`, also inside braces.
fn used_modules(text: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for line_start in text.match_indices("crate::").map(|(at, _)| at) {
        let inside_comment =
            text[..line_start].rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with("//"));
        if inside_comment {
            continue;
        }
        let rest = &text[line_start + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => used.extend(first_words(group)),
            None => used.extend(word(rest)),
        }
    }
    used
}

fn word(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The first path segment of each member of a `use` group.
fn first_words(group: &str) -> Vec<String> {
    let (mut depth, mut words, mut at_start) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            c if at_start && !c.is_whitespace() => {
                words.extend(word(&group[at..]));
                at_start = false;
            }
            _ => {}
        }
    }
    words
}

#[test]
fn no_module_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table: BTreeMap<&str, &[&str]> = TABLE.iter().copied().collect();
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let mut broken = Vec::new();
    for path in &files {
        let relative = path.strip_prefix(&root).unwrap();
        let is_test = relative.components().any(|part| part.as_os_str() == "tests") || relative.ends_with("tests.rs");
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" || is_test {
            continue;
        }
        let Some(allowed) = table.get(module) else {
            broken.push(format!("{}: module `{module}` is not in the table", relative.display()));
            continue;
        };
        let text = fs::read_to_string(path).unwrap();
        for used in used_modules(without_tests(&text)) {
            let fine = used == module
                || allowed.contains(&"*")
                || allowed.contains(&used.as_str())
                || BASE.contains(&used.as_str());
            if !fine {
                broken.push(format!("{}: `{module}` may not use `{used}`", relative.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Crates whose majors change often are named in exactly one module.
#[test]
fn wrapped_crates_are_named_in_one_place_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    for (name, homes) in [
        ("sqlx::", &["store", "execute/files"][..]),
        ("cel::", &["policy"]),
        ("jsonschema::", &["llm/arguments", "llm/schema"]),
        ("dom_smoothie::", &["text/html"]),
        ("unpdf::", &["text/pdf"]),
        ("hyper_util::", &["net"]),
    ] {
        for path in files.iter().filter(|path| !path.components().any(|part| part.as_os_str() == "tests")) {
            let text = fs::read_to_string(path).unwrap();
            let relative = path.strip_prefix(&root).unwrap().to_str().unwrap();
            let named =
                without_tests(&text).lines().any(|line| !line.trim_start().starts_with("//") && names(line, name));
            let at_home = homes.iter().any(|home| relative.starts_with(home));
            assert!(!named || at_home, "`{name}` is named in {relative}; its place is {homes:?}");
        }
    }
}

/// Whether a line names a crate's path, and not the tail of another name.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}
