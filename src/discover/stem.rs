//! Light English stemming: the forms of one word fall together, and so do most nouns and their verbs.
//!
//! Terms are compared with terms only, so a stem need not be a word.

/// Endings of derived words and what stands in their place, tried in order; four letters must be left.
const DERIVED: &[(&str, &str)] = &[
    ("ization", "ize"),
    ("isation", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("ement", "e"),
    ("ment", ""),
    ("fulness", "ful"),
    ("ness", ""),
    ("ability", "able"),
    ("ical", "ic"),
    ("ally", "al"),
    ("ly", ""),
    ("er", ""),
    ("or", ""),
    ("ion", ""),
    ("ive", ""),
    ("al", ""),
    ("ize", ""),
];

/// Cuts the ending of a lower-case word in place and returns what is left.
pub(super) fn stem(word: &mut String) -> &str {
    if word.len() > 3 && word.is_ascii() {
        cut_plural(word);
        if word.len() > 4 {
            cut_participle(word);
        }
        cut_derived(word);
        if word.len() > 3 && word.ends_with('y') {
            cut(word, 1);
            word.push('i');
        }
        if word.len() > 4 && word.ends_with('e') {
            cut(word, 1);
        }
    }
    word
}

fn cut(word: &mut String, bytes: usize) {
    word.truncate(word.len().saturating_sub(bytes));
}

fn cut_plural(word: &mut String) {
    let ends = |ending| word.ends_with(ending);
    if ends("sses") || ends("xes") || ends("ches") || ends("shes") || ends("ies") {
        cut(word, 2);
    } else if ends("s") && !ends("ss") && !ends("us") && !ends("is") {
        cut(word, 1);
    }
}

fn cut_participle(word: &mut String) {
    let Some(root) = ["ing", "ed"].into_iter().find_map(|ending| word.strip_suffix(ending)) else { return };
    if root.len() < 3 || !root.bytes().any(|letter| matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')) {
        return;
    }
    let left = root.len();
    word.truncate(left);
    if let [.., a, b] = word.as_bytes()
        && a == b
        && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o')
    {
        cut(word, 1);
    }
}

fn cut_derived(word: &mut String) {
    let fits = |(ending, _): &&(&str, &str)| word.len() >= ending.len() + 4 && word.ends_with(ending);
    if let Some((ending, instead)) = DERIVED.iter().find(fits) {
        cut(word, ending.len());
        word.push_str(instead);
    }
}
