//! What is written to the terminal: documents to standard output, progress and errors to standard error.
#![expect(clippy::print_stderr, reason = "this is the one module that writes to the terminal")]

use std::io::{IsTerminal, Write};

use serde::Serialize;

/// Prints a line of the document.
pub(crate) fn line(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.as_ref());
}

/// Prints one JSON document.
pub(crate) fn json(document: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
    Ok(())
}

/// Prints an error with its causes.
pub(crate) fn error(error: &anyhow::Error, json: bool) {
    if json {
        let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        eprintln!("{}", serde_json::json!({"error": error.to_string(), "causes": causes}));
    } else {
        eprintln!("error: {error:#}");
    }
}

/// Progress on standard error: replaced in place on a terminal, sparse elsewhere, nothing when it is not wanted.
#[derive(Debug)]
pub(crate) struct Progress {
    wanted: bool,
    terminal: bool,
    drawn: std::sync::Mutex<Drawn>,
}

#[derive(Debug, Default)]
struct Drawn {
    width: usize,
    tenth: usize,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { wanted: !quiet, terminal, drawn: std::sync::Mutex::default() }
    }

    /// `done` of `total` things; shown at most for each percent, off a terminal for each tenth.
    pub(crate) fn step(&self, what: &str, done: usize, total: usize) {
        if !self.wanted || total == 0 {
            return;
        }
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if self.terminal {
            let step = (total / 100).max(1);
            if done.is_multiple_of(step) || done == total {
                self.draw(&mut drawn, &format!("{what} {done}/{total}"));
            }
        } else if total >= 200 && done * 10 / total > drawn.tenth {
            drawn.tenth = done * 10 / total;
            eprintln!("{what} {done}/{total}");
        }
    }

    /// A line about what happens now.
    pub(crate) fn note(&self, text: &str) {
        if !self.wanted {
            return;
        }
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if self.terminal {
            self.draw(&mut drawn, text);
        }
    }

    /// A line that stays.
    pub(crate) fn keep(&self, text: &str) {
        if self.wanted {
            self.clear();
            eprintln!("{text}");
        }
    }

    /// Removes what is drawn in place.
    pub(crate) fn clear(&self) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if self.wanted && self.terminal && drawn.width > 0 {
            eprint!("\r{:width$}\r", "", width = drawn.width);
            drawn.width = 0;
        }
    }

    #[expect(clippy::unused_self, reason = "drawing belongs to the progress, whose lock is held")]
    fn draw(&self, drawn: &mut Drawn, text: &str) {
        let text: String = text.chars().take(100).collect();
        eprint!("\r{text:width$}", width = drawn.width);
        let _ = std::io::stderr().flush();
        drawn.width = text.chars().count();
    }
}

/// Asks yes or no at the terminal. `None` when there is none: nobody can answer.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    let input = std::io::stdin();
    if !input.is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    eprint!("\n{question}");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    input.read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
