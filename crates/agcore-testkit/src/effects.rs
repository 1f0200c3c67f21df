//! Counts side effects where a crash of the program under test cannot lose them.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use serde_json::{Value, json};

/// One side effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Of which tool.
    pub name: String,
    /// The idempotency key it came with.
    pub key: Option<String>,
    /// What was sent.
    pub body: Value,
}

/// All side effects so far. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    done: Vec<Effect>,
    requests: HashMap<String, usize>,
    receipts: HashMap<(String, String), usize>,
    file: Option<File>,
}

impl Effects {
    /// Also appends each effect to a file, one JSON document per line.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn in_file(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { inner: Arc::new(Mutex::new(Inner { file: Some(file), ..Inner::default() })) })
    }

    /// All effects, in order.
    pub fn all(&self) -> Vec<Effect> {
        self.with(|inner| inner.done.clone())
    }

    /// How many effects `name` had.
    pub fn count(&self, name: &str) -> usize {
        self.with(|inner| inner.done.iter().filter(|effect| effect.name == name).count())
    }

    /// How many requests came for `name`, those that had no new effect included.
    pub fn requests(&self, name: &str) -> usize {
        self.with(|inner| inner.requests.get(name).copied().unwrap_or(0))
    }

    /// Effects and requests per name, as `GET /effects` returns them.
    pub fn summary(&self) -> Value {
        let names: std::collections::BTreeSet<String> = self.with(|inner| inner.requests.keys().cloned().collect());
        let counts = |name: &str| json!({"effects": self.count(name), "requests": self.requests(name)});
        names.into_iter().map(|name| (name.clone(), counts(&name))).collect::<serde_json::Map<_, _>>().into()
    }

    /// The receipt of the effect with this key.
    pub fn receipt(&self, name: &str, key: &str) -> Option<Value> {
        self.with(|inner| inner.receipts.get(&(name.to_owned(), key.to_owned())).map(|nth| receipt(name, *nth)))
    }

    /// Counts a request that changes nothing.
    pub(crate) fn read(&self, name: &str) {
        self.with(|inner| *inner.requests.entry(name.to_owned()).or_default() += 1);
    }

    /// Takes effect, unless the key had its effect already. Returns the receipt and whether the effect is new.
    ///
    /// # Errors
    /// When the file cannot be written; there was no effect then.
    pub(crate) fn commit(&self, name: &str, key: Option<&str>, body: Value) -> io::Result<(Value, bool)> {
        self.with(|inner| {
            *inner.requests.entry(name.to_owned()).or_default() += 1;
            let known = key.map(|key| (name.to_owned(), key.to_owned()));
            if let Some(nth) = known.as_ref().and_then(|known| inner.receipts.get(known)) {
                return Ok((receipt(name, *nth), false));
            }
            let effect = Effect { name: name.to_owned(), key: key.map(str::to_owned), body };
            if let Some(file) = &mut inner.file {
                writeln!(file, "{}", serde_json::to_string(&effect)?)?;
            }
            let nth = inner.done.len();
            inner.done.push(effect);
            if let Some(known) = known {
                inner.receipts.insert(known, nth);
            }
            Ok((receipt(name, nth), true))
        })
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Inner) -> T) -> T {
        use_it(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn receipt(name: &str, nth: usize) -> Value {
    json!({"receipt": format!("{name}-{nth}")})
}
