//! How much a sentence looks like an instruction planted in its text.
//!
//! A text about attacks, a recipe and a prompt bear the same words as an attack. What tells them apart is who is spoken to,
//! and whether the sentence belongs to what stands around it: one command in a table, a mailbox, a log does not.

use super::{lexicon::Class, sentence::Sentence};

/// What all sentences start from; zero is the threshold.
const BASE: f32 = -3.0;
/// Words about attacks take no more than this off what speaks for an attack.
const MOST_DOUBT: f32 = 2.4;

/// What the whole text says about each of its sentences.
pub(super) struct Context {
    sentences: usize,
    imperatives: usize,
    questions: usize,
    /// More than half of it is fields, rows or data.
    tabular: bool,
    code: bool,
    /// It speaks about attacks somewhere.
    about_attacks: bool,
    /// It is itself something said to an assistant.
    prompt: bool,
}

impl Context {
    pub(super) fn of(raw: &str, sentences: &[Sentence]) -> Self {
        let (tabular, code) = shape(raw);
        let count = sentences.len();
        let personal = sentences.iter().filter(|one| one.personal()).count();
        Self {
            sentences: count,
            imperatives: sentences.iter().filter(|one| one.imperative()).count(),
            questions: sentences.iter().filter(|one| one.question).count(),
            tabular: tabular > 0.5,
            code: code > 0.2,
            about_attacks: sentences.iter().any(|one| one.has(Class::Meta)),
            prompt: count >= 3 && tabular < 0.3 && code < 0.2 && personal * 2 >= count,
        }
    }

    /// The score of the sentence with this number; it is an instruction from zero on.
    pub(super) fn score(&self, number: usize, one: &Sentence) -> f32 {
        BASE + self.words(one) + self.register(number, one) + self.question(number, one)
    }

    fn words(&self, one: &Sentence) -> f32 {
        let (mut sum, mut doubt) = (0.0, 0.0);
        for (signal, _) in &one.signals {
            sum += signal.weight;
            if signal.doubtful && signal.weight > 1.0 {
                doubt += if one.has(Class::Meta) { 1.3 } else { 0.0 } + if one.question { 0.9 } else { 0.0 };
            }
        }
        let steers = one.has(Class::Yours) || one.has(Class::Harm);
        let prompt = if !self.prompt {
            0.0
        } else if steers {
            1.4
        } else {
            0.7
        };
        let about = if self.about_attacks { 0.4 } else { 0.0 };
        sum - f32::min(doubt, MOST_DOUBT) - prompt - about
    }

    /// Whether it tells its reader to do something, and whether that fits here.
    fn register(&self, number: usize, one: &Sentence) -> f32 {
        let mut sum = 0.0;
        let mut add = |holds: bool, weight: f32| sum += if holds { weight } else { 0.0 };
        let harm = one.has(Class::Harm) && one.starts_with(Class::Out);
        add(one.imperative(), 0.5);
        add(one.starts_with(Class::Out), 0.3);
        add(one.starts_with(Class::Act), 0.3);
        add(one.starts_with(Class::Forget), 0.5);
        add(one.starts_with(Class::YouAre), 1.0);
        add(one.please, 0.2);
        add(harm && !one.please, 1.3);
        add(one.imperative() && one.has(Class::Mode), 1.0);
        add(one.labelled, 1.8);
        add(one.alerts, 0.5);
        add(one.role, 1.2);
        if one.imperative() || one.please {
            let many = self.sentences > 3;
            add(self.sentences == 1, -0.7);
            add(many && number == 0, 0.3);
            add(many && number + 2 >= self.sentences, 0.4);
            add(many && self.imperatives == 1, 0.6);
            add(self.imperatives > 4, -0.8);
            add(many && self.tabular && one.wordy, 1.1);
            add(many && self.code, 0.5);
        }
        sum
    }

    fn question(&self, number: usize, one: &Sentence) -> f32 {
        let mut sum = 0.0;
        if one.starts_with(Class::Wh) {
            sum -= 0.5;
        }
        if one.starts_with(Class::CanYou) {
            sum -= 0.6;
        }
        if !one.question {
            return sum;
        }
        let alone = self.sentences > 3 && self.questions == 1;
        if self.sentences == 1 {
            sum -= 0.5;
        }
        if alone && self.tabular && one.wordy {
            sum += 1.5;
        }
        if alone && (number == 0 || number + 2 >= self.sentences) {
            sum += 0.3;
        }
        sum
    }
}

/// Which share of the lines is data, and which is code.
fn shape(raw: &str) -> (f32, f32) {
    let (mut lines, mut data, mut code) = (0u32, 0u32, 0u32);
    for line in raw.lines().map(str::trim).filter(|line| !line.is_empty()) {
        lines += 1;
        data += u32::from(is_data(line));
        code += u32::from(is_code(line));
    }
    let share = |part: u32| part as f32 / lines.max(1) as f32;
    (share(data), share(code))
}

fn is_data(line: &str) -> bool {
    if line.starts_with(['|', '{', '}', '[', ']']) {
        return true;
    }
    let end = line.char_indices().take(25).find(|(_, c)| !c.is_alphanumeric() && !"-_ ".contains(*c));
    end.is_some_and(|(at, c)| {
        c == ':' && at > 0 && line.get(at + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

fn is_code(line: &str) -> bool {
    let words = ["import ", "from ", "def ", "class ", "return ", "for ", "if ", "print", "#include"];
    line.ends_with([';', '{', '}'])
        || line.contains("()")
        || words.iter().any(|word| line.starts_with(word))
        || assigns(line)
}

fn assigns(line: &str) -> bool {
    line.split_once(" = ")
        .is_some_and(|(name, _)| name.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ')'))
}
