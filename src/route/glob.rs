//! Anchored globs over model names.

/// Whether `text` as a whole matches `pattern`, where `*` stands for any run of characters (also none) and `?` for
/// exactly one. Everything else stands for itself: the dot in `gpt-5.*` is a dot. Letters match exactly.
///
/// Time is at most the product of both lengths; there is no exponential case.
///
/// ```
/// use agcore::route::glob_matches;
/// assert!(glob_matches("gpt-5.*", "gpt-5.4-mini"));
/// assert!(!glob_matches("gpt-5.*", "gpt-5"));
/// assert!(!glob_matches("gpt-5.*", "my-gpt-5.4"));
/// ```
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut wanted = pattern.chars();
    let mut left = text.chars();
    // Where to go on when the part after the last `*` does not fit: one character later.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before = left.clone();
        match (wanted.next(), left.next()) {
            (Some('*'), _) => {
                left = before;
                retry = Some((wanted.clone(), left.clone()));
            }
            (Some('?'), Some(_)) => {}
            (Some(one), Some(other)) if one == other => {}
            (None, None) => return true,
            (Some(_) | None, _) => {
                let Some((after_star, mut from)) = retry.take() else { return false };
                if from.next().is_none() {
                    return false;
                }
                (wanted, left) = (after_star.clone(), from.clone());
                retry = Some((after_star, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::glob_matches;

    /// The definition, written the slow way.
    fn slow(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), None) => slow(rest, text),
            (Some(('*', rest)), Some((_, later))) => slow(rest, text) || slow(pattern, later),
            (Some(('?', rest)), Some((_, later))) => slow(rest, later),
            (Some((one, rest)), Some((other, later))) => one == other && slow(rest, later),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    #[test]
    fn a_glob_is_anchored_at_both_ends_and_its_dot_is_a_dot() {
        let matching = ["gpt-5.*", "gpt-5.?", "*", "gpt-5.4", "*5.4", "g*t*4"];
        assert!(matching.iter().all(|pattern| glob_matches(pattern, "gpt-5.4")));
        let others = ["", "gpt-5", "pt-5.4", "gpt-5.4?", "gpt-5x*", "GPT-5.*", "gpt.5.4"];
        assert!(others.iter().all(|pattern| !glob_matches(pattern, "gpt-5.4")));
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        assert!(!glob_matches(&"*a".repeat(2000), &"a".repeat(1999)));
        assert!(!glob_matches(&format!("{}b", "*a".repeat(50)), &"a".repeat(5000)));
    }

    proptest! {
        #[test]
        fn a_glob_means_what_its_definition_says(pattern in "[ab*?模]{0,7}", text in "[ab模]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(glob_matches(&pattern, &text), slow(&chars(&pattern), &chars(&text)));
        }
    }
}
