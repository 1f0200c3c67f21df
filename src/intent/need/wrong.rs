//! Values in a query that the schema of the tool does not allow.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::lexis::{Query, is_mail, number_runs, quoted};

/// Schemas deeper than this are not looked into.
const MAX_DEPTH: usize = 8;
/// Characters that no plain name has.
const ODD: &str = "#@!$%&*/:\\_^";

/// The parameters for which the query gives a value that their schema does not allow: one that breaks the `pattern`, a
/// number out of range, a day that is not in the calendar, a malformed address. Only where no other value in the query
/// fits, so that what is meant for another parameter raises no question.
pub(super) fn values(query: &Query, schema: &Value) -> Vec<String> {
    let given = Given::in_text(&query.text);
    let mut parameters = Vec::new();
    collect(schema, 0, &mut parameters);
    let wrong = |parameter: &&Parameter<'_>| given.breaks(parameter, &parameters);
    let mut names: Vec<String> = parameters.iter().filter(wrong).map(|one| one.name.to_owned()).collect();
    names.dedup();
    names
}

struct Parameter<'a> {
    name: &'a str,
    spec: &'a Value,
    pattern: Option<(&'a str, Regex)>,
}

fn collect<'a>(schema: &'a Value, depth: usize, parameters: &mut Vec<Parameter<'a>>) {
    if depth > MAX_DEPTH {
        return;
    }
    for (name, spec) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        parameters.push(Parameter { name, spec, pattern: pattern(spec) });
        collect(spec, depth + 1, parameters);
        if let Some(items) = spec.get("items") {
            collect(items, depth + 1, parameters);
        }
    }
}

/// The pattern of a parameter; what this regular expression engine does not know (look-around) is left out.
fn pattern(spec: &Value) -> Option<(&str, Regex)> {
    let text = spec.get("pattern").and_then(Value::as_str)?;
    Some((text, RegexBuilder::new(text).size_limit(1 << 18).build().ok()?))
}

/// What looks like a value.
struct Given<'a> {
    /// Quoted pieces, and words with digits or odd characters.
    values: Vec<&'a str>,
    /// Numbers that stand alone.
    numbers: Vec<f64>,
    /// A day that is not in the calendar.
    no_such_day: bool,
}

impl<'a> Given<'a> {
    fn in_text(text: &'a str) -> Self {
        let mut values = quoted(text);
        let part = |c: char| c.is_ascii_alphanumeric() || "_#@!$%&*+./:\\-".contains(c);
        let words = text.split(|c: char| !part(c)).map(|word| word.trim_matches(['.', ',', ':', ';', '!', '?']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        values.extend(words.iter().filter(|word| word.contains(|c: char| c.is_ascii_digit() || ODD.contains(c))));
        let numbers = words.iter().filter_map(|word| word.parse::<f64>().ok()).filter(|number| number.is_finite());
        let no_such_day = words.iter().any(|word| is_impossible_day(word));
        Self { numbers: numbers.collect(), no_such_day, values }
    }

    fn breaks(&self, parameter: &Parameter<'_>, all: &[Parameter<'_>]) -> bool {
        let name = parameter.name.to_lowercase();
        let kind = parameter.spec.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "integer" || kind == "number" {
            return self.out_of_range(parameter.spec);
        }
        let dated = ["date", "day", "日期"].iter().any(|part| name.contains(part));
        if self.no_such_day && dated {
            return true;
        }
        if name.contains("mail") && self.malformed(&is_like_mail, &|value| is_mail(value)) {
            return true;
        }
        let missing_colon = |value: &&str| value.starts_with("http//") || value.starts_with("https//");
        if name.contains("url") && self.values.iter().any(missing_colon) {
            return true;
        }
        kind == "string"
            && parameter.pattern.as_ref().is_some_and(|(text, pattern)| {
                let elsewhere = |value: &str| {
                    all.iter()
                        .filter(|other| other.name != parameter.name)
                        .any(|other| other.pattern.as_ref().is_some_and(|(_, pattern)| pattern.is_match(value)))
                };
                self.breaks_pattern(text, pattern, &elsewhere)
            })
    }

    /// Whether the values of the kind that a pattern describes are there, but none of them matches.
    fn breaks_pattern(&self, text: &str, pattern: &Regex, elsewhere: &dyn Fn(&str) -> bool) -> bool {
        let fits = |value: &str| pattern.is_match(value);
        let has_digit = |value: &str| value.contains(|c: char| c.is_ascii_digit());
        let digits = text.contains(r"\d") || text.contains("0-9");
        if text.contains(r"\d{4}") && text.contains(r"\d{2}") {
            self.malformed(&|value| has_year(value) && value.contains(['-', '/', '.', ':', '年']), &fits)
        } else if text.contains('@') {
            self.malformed(&is_like_mail, &fits)
        } else if text.contains("http") {
            self.malformed(&|value| value.contains("www") || value.contains("http") || has_ending(value), &fits)
        } else if digits {
            self.malformed(&has_digit, &fits)
        } else if text.to_lowercase().contains("a-z") {
            let odd = |value: &str| {
                value.contains(char::is_alphabetic) && value.contains(|c: char| c.is_ascii_digit() || ODD.contains(c))
            };
            self.malformed(&|value| odd(value) && !elsewhere(value), &|_| false)
        } else {
            false
        }
    }

    fn malformed(&self, concerns: &dyn Fn(&str) -> bool, fits: &dyn Fn(&str) -> bool) -> bool {
        let mut concerned = self.values.iter().filter(|value| concerns(value)).peekable();
        concerned.peek().is_some() && !concerned.any(|value| fits(value))
    }

    fn out_of_range(&self, spec: &Value) -> bool {
        let bound = |key: &str| spec.get(key).and_then(Value::as_f64);
        let (low, high) = (bound("minimum"), bound("maximum"));
        let within = |number: &f64| low.is_none_or(|low| *number >= low) && high.is_none_or(|high| *number <= high);
        (low.is_some() || high.is_some()) && !self.numbers.is_empty() && !self.numbers.iter().any(within)
    }
}

fn has_year(value: &str) -> bool {
    number_runs(value).iter().any(|run| run.split('.').any(|part| part.len() >= 4))
}

fn has_ending(value: &str) -> bool {
    value.rsplit_once('.').is_some_and(|(_, end)| {
        let letters = end.chars().take_while(char::is_ascii_alphabetic).count();
        (2..=4).contains(&letters)
    })
}

/// Whether a value was meant as an e-mail address.
fn is_like_mail(value: &str) -> bool {
    let host = [".com", ".org", ".net", ".cn"].iter().any(|end| value.contains(end)) || value.matches('@').count() > 1;
    host && !value.contains("://") && !value.starts_with("www") && value.contains(['@', '!', '#'])
}

/// Whether a word is written as a day (`2023-02-30`) that the calendar does not have.
fn is_impossible_day(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |text: &str, most: usize| {
        (text.len() <= most && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<i16>().ok())
            .flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return false };
    year >= 1000 && jiff::civil::Date::new(year, month, day).is_err()
}
