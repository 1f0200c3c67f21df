//! Which tool a model meant by a name: only what is certain is corrected, the rest is answered with close names.

use crate::types::ToolName;

/// The most names [`closest`] returns.
const MAX_CLOSE: usize = 5;

/// Names less like the wanted one than this (0 to 1) are not worth showing.
const LIKE_ENOUGH: f64 = 0.6;

/// Finds the visible tool that `name` means.
///
/// A name that is visible is taken as it is. Blanks around it are dropped, and so is a prefix that ends in `:`, `/`
/// or `.` (models put `default_api:` or `functions.` before names), if exactly one visible tool is left then.
///
/// # Errors
/// Up to five visible names most like it, the most like first (for [`super::errors::unknown_tool`]).
pub fn recognise<'a>(
    name: &str,
    visible: impl Iterator<Item = &'a ToolName> + Clone,
) -> Result<&'a ToolName, Vec<ToolName>> {
    if let Some(found) = visible.clone().find(|tool| tool.as_str() == name) {
        return Ok(found);
    }
    let trimmed = name.trim();
    let bare = |tool: &&ToolName| {
        trimmed == tool.as_str()
            || trimmed.strip_suffix(tool.as_str()).is_some_and(|prefix| prefix.ends_with([':', '/', '.']))
    };
    let mut left = visible.clone().filter(bare);
    match (left.next(), left.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) | (None, _) => Err(closest(trimmed, visible)),
    }
}

/// Up to five visible names like `name`, the most like first, equal ones by name.
pub fn closest<'a>(name: &str, visible: impl Iterator<Item = &'a ToolName>) -> Vec<ToolName> {
    let name: String = name.chars().take(128).collect();
    let whole = plain(&name);
    let bare = name.rsplit([':', '/']).next().map_or_else(String::new, plain);
    let mut scored: Vec<(f64, &ToolName)> = visible
        .map(|tool| (plain(tool.as_str()), tool))
        .map(|(known, tool)| (likeness(&whole, &known).max(likeness(&bare, &known)), tool))
        .filter(|(score, _)| *score >= LIKE_ENOUGH)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(MAX_CLOSE).map(|(_, tool)| tool.clone()).collect()
}

/// A name without its case and with one separator, so that `filesSearch`, `files-search` and `files.search` are near.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// How alike two plain names are: by spelling, or by their words in any order.
fn likeness(a: &str, b: &str) -> f64 {
    let words = |name: &str| {
        let mut words: Vec<String> = name.split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        words.sort_unstable();
        words.join("_")
    };
    strsim::normalized_damerau_levenshtein(a, b).max(strsim::normalized_damerau_levenshtein(&words(a), &words(b)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn tools(names: &[&str]) -> Vec<ToolName> {
        names.iter().map(|name| ToolName::new(name).unwrap()).collect()
    }

    fn check(name: &str, visible: &[&str], expected: Result<&str, &[&str]>) {
        let visible = tools(visible);
        let found = recognise(name, visible.iter()).cloned();
        assert_eq!(found, expected.map(|name| ToolName::new(name).unwrap()).map_err(tools), "for `{name}`");
    }

    /// DEV-D08
    #[test]
    fn a_misspelt_name_is_answered_with_close_names_and_never_run() {
        check("serch_files", &["search_files", "view", "list"], Err(&["search_files"]));
        check("search.files", &["files.search", "view"], Err(&["files.search"]));
        check("frobnicate", &["search_files", "view"], Err(&[]));
    }

    /// DEV-D08
    #[test]
    fn blanks_and_a_prefix_are_dropped_when_one_tool_remains() {
        check("view", &["view", "x:view"], Ok("view"));
        check("view ", &["view", "list"], Ok("view"));
        check("creating:view", &["view", "list"], Ok("view"));
        check("default_api:files.search", &["files.search", "list"], Ok("files.search"));
        // Two tools end so: which of them is meant is not certain.
        check("default_api:files.search", &["files.search", "search"], Err(&["files.search"]));
        check("review", &["view"], Err(&["view"]));
    }

    /// DEV-D08
    #[test]
    fn at_most_five_names_come_back_the_closest_first() {
        let names = ["find_a", "find_b", "find_c", "find_d", "find_e", "find_f"];
        let visible = tools(&names);
        assert_eq!(closest("find_f", visible.iter()), tools(&["find_f", "find_a", "find_b", "find_c", "find_d"]));
    }
}
