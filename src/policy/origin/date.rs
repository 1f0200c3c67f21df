//! Days in text: `2024-05-15`, `May 15th, 2024`, `the 13th to the 17th of May`, `5月15日`.

/// A day; the year where one was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) year: Option<u16>,
    pub(super) month: u8,
    pub(super) day: u8,
}

/// The days a text speaks of.
#[derive(Debug, Clone, Default)]
pub(super) struct Days {
    days: Vec<Day>,
    /// Every year it names.
    years: Vec<u16>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What may stand between a month and its days: `the 13th to the 17th of May`.
const BETWEEN: [&str; 12] = ["the", "of", "to", "and", "until", "till", "through", "thru", "or", "from", "st", "th"];

impl Days {
    /// Reads the days of a text that is normalised (`words::normalise`).
    pub(super) fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut found = Self::default();
        for (at, word) in words.iter().enumerate() {
            let after = words.get(at + 1..).unwrap_or_default();
            let before = words.get(..at).unwrap_or_default();
            if let Some(year) = year(word) {
                found.years.push(year);
                found.numeric(Some(year), after);
            } else if let Some(month) = month(word) {
                found.around(month, before.iter().rev().copied());
                found.around(month, after.iter().copied());
            } else if after.first() == Some(&"月")
                && let Some(day) = after.get(1).and_then(|word| number(word))
            {
                found.add(None, number(word), Some(day));
            }
        }
        found
    }

    /// Whether the text speaks of the day a value stands for: the same day and month, and the same year where the
    /// text names any.
    pub(super) fn has(&self, day: Day) -> bool {
        let year = day.year.is_none_or(|year| self.years.is_empty() || self.years.contains(&year));
        year && self.days.iter().any(|said| (said.month, said.day) == (day.month, day.day))
    }

    /// `2024 05 15`, the blanks having been any signs.
    fn numeric(&mut self, year: Option<u16>, after: &[&str]) {
        if let [month, day, ..] = after {
            self.add(year, number(month), number(day));
        }
        // The signs for year, month and day are words of their own.
        if let ["年", month, "月", day, ..] = after {
            self.add(year, number(month), number(day));
        }
    }

    /// The days beside the name of a month, on one side of it.
    fn around<'w>(&mut self, month: u8, words: impl Iterator<Item = &'w str>) {
        for word in words.take(8) {
            match ordinal(word) {
                Some(day) => self.add(None, Some(month), Some(day)),
                None if BETWEEN.contains(&word) => {}
                None => break,
            }
        }
    }

    fn add(&mut self, year: Option<u16>, month: Option<u8>, day: Option<u8>) {
        if let (Some(month @ 1..=12), Some(day @ 1..=31)) = (month, day) {
            self.days.push(Day { year, month, day });
        }
    }
}

/// A value that is a day or a time on one: `2024-05-20`, `2024-05-20 10:00`, `2024-05-20T10:00:00Z`.
pub(super) fn read(value: &str) -> Option<Day> {
    let value = value.trim();
    let (date, rest) = value.split_at_checked(10)?;
    let ends = rest.is_empty() || rest.starts_with([' ', 'T', 't']);
    let mut parts = date.split(['-', '/', '.']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let day = Day { year: Some(self::year(year)?), month: number(month)?, day: number(day)? };
    let fits = ends && parts.next().is_none() && (1..=12).contains(&day.month) && (1..=31).contains(&day.day);
    fits.then_some(day)
}

fn month(word: &str) -> Option<u8> {
    let at = MONTHS.iter().position(|name| {
        let short = name.get(..3).unwrap_or(name);
        word == *name || word == short || (word == "sept" && short == "sep")
    })?;
    u8::try_from(at + 1).ok()
}

fn year(word: &str) -> Option<u16> {
    let number: u16 = (word.len() == 4).then(|| word.parse().ok())??;
    (1900..2200).contains(&number).then_some(number)
}

fn number(word: &str) -> Option<u8> {
    (word.len() <= 2).then(|| word.parse().ok())?
}

/// `15`, `15th`, `1st`.
fn ordinal(word: &str) -> Option<u8> {
    let plain = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    number(plain).filter(|day| (1..=31).contains(day))
}
