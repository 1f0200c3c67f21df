//! A query and a tool as words.

use std::collections::HashSet;

use super::super::words::is_cjk;

/// Words that say nothing about what is wanted.
const STOP: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "another", "any", "are", "as", "assist", "at", "based", "be",
    "been", "being", "both", "but", "by", "can", "could", "did", "do", "does", "done", "down", "each", "every", "for",
    "from", "give", "had", "has", "have", "having", "he", "help", "her", "here", "his", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "know", "let", "lets", "like", "ll", "may", "me", "might", "mine", "more", "most",
    "must", "my", "need", "no", "nor", "not", "of", "off", "ok", "on", "onto", "or", "other", "our", "out", "over",
    "per", "please", "provide", "re", "she", "should", "so", "some", "such", "tell", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "under", "up", "us", "use", "used", "using", "ve",
    "via", "want", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will",
    "with", "would", "yes", "you", "your",
];

/// Words that every second tool has in its name.
const GENERIC: &[&str] = &[
    "add",
    "api",
    "calculate",
    "check",
    "compute",
    "create",
    "data",
    "default",
    "details",
    "example",
    "fetch",
    "find",
    "format",
    "function",
    "get",
    "id",
    "include",
    "including",
    "info",
    "information",
    "list",
    "name",
    "number",
    "optional",
    "perform",
    "provides",
    "retrieve",
    "return",
    "search",
    "set",
    "show",
    "specific",
    "specified",
    "string",
    "tool",
    "type",
    "update",
    "user",
    "users",
    "value",
    "values",
];

const NUMBER_WORDS: &[&str] = &[
    "dozen", "double", "eight", "fifty", "five", "four", "half", "hundred", "nine", "one", "pair", "seven", "single",
    "six", "ten", "thousand", "three", "twelve", "twenty", "two",
];

const DATE_WORDS: &[&str] = &[
    "afternoon",
    "april",
    "august",
    "current",
    "december",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "may",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "noon",
    "november",
    "now",
    "october",
    "past",
    "saturday",
    "september",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "year",
    "years",
    "yesterday",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "am",
    "pm",
];

const QUOTES: &[(char, char)] =
    &[('\'', '\''), ('"', '"'), ('“', '”'), ('‘', '’'), ('「', '」'), ('《', '》'), ('`', '`')];

/// Queries are cut here: what is wanted is said within 4,000 characters.
const MAX_CHARS: usize = 4_000;

/// A query with all that is asked of it.
pub(super) struct Query {
    /// Cut, in its own case.
    pub(super) text: String,
    /// Lower-cased.
    pub(super) lower: String,
    /// Its content words, stemmed, in order, each once.
    pub(super) words: Vec<String>,
    /// The same as a set.
    pub(super) set: HashSet<String>,
    /// Numbers in digits or words.
    pub(super) numbers: usize,
    /// Capitalised words that do not begin a sentence.
    pub(super) names: usize,
    /// Quoted pieces.
    pub(super) quotes: usize,
    /// Words of letters and digits.
    pub(super) codes: usize,
    /// Whether a time or date is named.
    pub(super) dated: bool,
    /// Whether there is an e-mail address.
    pub(super) mail: bool,
    /// Whether there is a web address.
    pub(super) url: bool,
    /// Whether it holds Chinese, Japanese or Korean.
    pub(super) cjk: bool,
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        let text: String = text.chars().take(MAX_CHARS).collect();
        let lower = text.to_lowercase();
        let all = split(&text);
        let mut set = HashSet::new();
        let words: Vec<String> = content_of(&all).filter(|word| set.insert(word.clone())).collect();
        let is = |list: &[&str], word: &String| list.contains(&word.as_str());
        let in_words = all.iter().filter(|word| is(NUMBER_WORDS, word)).count();
        let in_chinese = text.chars().filter(|c| "一二两三四五六七八九十百千万".contains(*c)).count() / 2;
        let numbers = number_runs(&text).len() + in_words + in_chinese;
        let dated = all.iter().any(|word| is(DATE_WORDS, word))
            || number_runs(&text).iter().any(|run| is_year(run))
            || lower.chars().any(|c| "今明昨周月日年早晚".contains(c))
            || has_clock_or_ordinal(&lower);
        Self {
            numbers,
            names: names(&text),
            quotes: quoted(&text).len(),
            codes: text
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
                .filter(|t| is_code(t))
                .count(),
            dated,
            mail: lower.split_whitespace().any(is_mail),
            url: ["http://", "https://", "www.", ".com", ".org", ".net", ".io"].iter().any(|mark| lower.contains(mark)),
            cjk: text.chars().any(is_cjk),
            words,
            set,
            text,
            lower,
        }
    }

    /// The share of this query's words, by weight, that `vocabulary` holds.
    pub(super) fn covered_by(&self, vocabulary: &HashSet<String>) -> f32 {
        coverage(&self.words, vocabulary)
    }
}

/// The share of `words`, by weight, that `vocabulary` holds: long words weigh more, for they say more.
pub(super) fn coverage(words: &[String], vocabulary: &HashSet<String>) -> f32 {
    let weight = |word: &String| if word.starts_with(is_cjk) { 1.0 } else { word.len().min(8) as f32 / 8.0 + 0.2 };
    let total: f32 = words.iter().map(weight).sum();
    let held: f32 = words.iter().filter(|word| vocabulary.contains(*word)).map(weight).sum();
    if total > 0.0 { held / total } else { 0.0 }
}

/// The content words of a text: stemmed, without stop words and numbers.
pub(super) fn content(text: &str) -> Vec<String> {
    content_of(&split(text)).collect()
}

fn content_of(words: &[String]) -> impl Iterator<Item = String> {
    let telling = |word: &&String| {
        !STOP.contains(&word.as_str())
            && !word.bytes().all(|byte| byte.is_ascii_digit())
            && word.chars().nth(1).is_some()
    };
    words.iter().filter(telling).map(|word| stem(word).to_owned())
}

/// The words of a tool's name that tell it from others.
pub(super) fn telling_name(name: &str) -> Vec<String> {
    let all = content(name);
    let generic = |word: &String| GENERIC.iter().any(|one| stem(one) == word || one == word);
    let telling: Vec<String> = all.iter().filter(|word| !generic(word)).cloned().collect();
    if telling.is_empty() { all } else { telling }
}

/// Cuts the commonest English endings, so that `prices` meets `price` and `booking` meets `book`.
fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] =
        &["ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "s", "er", "ly", "e", "y"];
    let cut = |ending: &&str| word.strip_suffix(*ending).filter(|stem| stem.len() >= 3 && word.is_ascii());
    ENDINGS.iter().find_map(cut).unwrap_or(word)
}

/// Lower-cased words of a text or of a name in any spelling (`getUserId`, `get_user_id`); Chinese as pairs.
fn split(text: &str) -> Vec<String> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Letters,
        Digits,
        Cjk,
        Other,
    }
    let kind = |c: char| match c {
        c if is_cjk(c) => Kind::Cjk,
        c if c.is_numeric() => Kind::Digits,
        c if c.is_alphabetic() => Kind::Letters,
        _ => Kind::Other,
    };
    let chars: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut run = String::new();
    for (at, &c) in chars.iter().enumerate() {
        if kind(c) != Kind::Other {
            run.push(c);
        }
        let next = chars.get(at + 1).copied();
        let after = chars.get(at + 2).copied();
        let hump = next.is_some_and(char::is_uppercase)
            && (c.is_lowercase() || (c.is_uppercase() && after.is_some_and(char::is_lowercase)));
        let ends = next.is_none_or(|next| kind(next) != kind(c)) || hump;
        if !ends || run.is_empty() {
            continue;
        }
        if kind(c) == Kind::Cjk {
            push_pairs(&run, &mut words);
        } else {
            words.push(run.to_lowercase());
        }
        run.clear();
    }
    words
}

fn push_pairs(run: &str, words: &mut Vec<String>) {
    let before = words.len();
    words.extend(run.chars().zip(run.chars().skip(1)).map(|(one, other)| String::from_iter([one, other])));
    if words.len() == before {
        words.push(run.to_owned());
    }
}

/// Runs of digits, with their decimals.
pub(super) fn number_runs(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    parts.map(|part| part.trim_matches('.')).filter(|part| !part.is_empty()).collect()
}

fn is_year(run: &str) -> bool {
    run.len() == 4 && (run.starts_with("19") || run.starts_with("20"))
}

fn has_clock_or_ordinal(lower: &str) -> bool {
    let word = |word: &str| {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let rest = word.get(digits..).unwrap_or_default().trim_end_matches([',', '.', '?', '!']);
        digits > 0 && (["st", "nd", "rd", "th", "am", "pm"].contains(&rest) || rest.starts_with(':'))
    };
    lower.split_whitespace().any(word)
}

/// Capitalised words that do not begin a sentence, a line or a quotation.
fn names(text: &str) -> usize {
    let mut count = 0;
    let mut fresh = true;
    for word in text.split_inclusive(|c: char| c.is_whitespace()) {
        let opens = word.starts_with(['\'', '"']);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let own = bare == "I" || bare.starts_with("I'");
        if !fresh && !opens && !own && bare.starts_with(|c: char| c.is_ascii_uppercase()) {
            count += 1;
        }
        if !bare.is_empty() || word.contains('\n') {
            fresh = word.contains('\n') || word.trim_end().ends_with(['.', '?', '!', ':']);
        }
    }
    count
}

/// The quoted pieces of a text, up to 200 characters each.
pub(super) fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let close = QUOTES.iter().find(|(open, _)| *open == c && !(c == '\'' && before.is_alphanumeric()));
        let inner = close.and_then(|(_, close)| after.split_once(*close)).map(|(inner, _)| inner);
        before = c;
        rest = after;
        if let Some(inner) = inner.filter(|inner| !inner.is_empty() && inner.chars().nth(200).is_none()) {
            found.push(inner);
            rest = after.get(inner.len()..).unwrap_or_default();
            let closing = rest.chars().next().map_or(0, char::len_utf8);
            rest = rest.get(closing..).unwrap_or_default();
        }
    }
    found
}

fn is_code(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit()) && token.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a word is an e-mail address.
pub(super) fn is_mail(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !host.contains('@')
            && host.split_once('.').is_some_and(|(one, two)| !one.is_empty() && !two.is_empty())
    })
}
