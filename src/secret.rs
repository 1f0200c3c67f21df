//! Secrets: named in files by reference, fetched where they are used, and masked wherever they turn up.

mod personal;
mod redact;

use std::{ffi::OsString, fmt, path::PathBuf, str::FromStr};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, ErrorKind};

pub use personal::{Personal, PersonalKinds, UnknownKind};
pub use redact::{MASK, Redacted, Redactor};

/// Where a secret lies: `env:NAME` or `file:PATH`. The reference may be shown and journalled; the value may not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SecretRef {
    /// In an environment variable of this process.
    Env(String),
    /// In a file, without its final line end. At most 64 KiB.
    File(PathBuf),
}

/// Why a secret cannot be had. No variant holds what was read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The text is no reference. It is not shown: it may be the secret itself.
    #[error("a secret is given by reference, `env:NAME` or `file:PATH`, never as the value itself")]
    NotAReference,
    /// The environment variable is not set, is empty or is no UTF-8.
    #[error("the environment variable `{0}` is not set, is empty or is no UTF-8; set it, or change the reference")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the secret file `{}` cannot be read; check the path and its mode", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is empty, too large or no UTF-8.
    #[error("the secret file `{}` {why}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl From<SecretError> for Error {
    fn from(error: SecretError) -> Self {
        Self::from_source(ErrorKind::Secret, error)
    }
}

/// The largest secret file.
const MAX_FILE_BYTES: usize = 64 * 1024;

impl SecretRef {
    /// Fetches the secret from this process's environment or from the file.
    ///
    /// # Errors
    /// [`SecretError`] when it is not there or cannot be a secret.
    pub fn resolve(&self) -> Result<SecretString, SecretError> {
        self.resolve_in(|name| std::env::var_os(name))
    }

    /// Like [`SecretRef::resolve`], with the environment given.
    ///
    /// # Errors
    /// The same.
    pub fn resolve_in(&self, env: impl Fn(&str) -> Option<OsString>) -> Result<SecretString, SecretError> {
        match self {
            Self::Env(name) => env(name)
                .and_then(|value| value.into_string().ok())
                .filter(|value| !value.trim().is_empty())
                .map(|value| SecretString::from(value.trim().to_owned()))
                .ok_or_else(|| SecretError::NoVariable(name.clone())),
            Self::File(path) => {
                let bytes = std::fs::read(path).map_err(|source| SecretError::NoFile { path: path.clone(), source })?;
                from_bytes(bytes).map_err(|why| SecretError::BadFile { path: path.clone(), why })
            }
        }
    }
}

fn from_bytes(bytes: Vec<u8>) -> Result<SecretString, &'static str> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err("is larger than 64 KiB");
    }
    let text = String::from_utf8(bytes).map_err(|_| "is no UTF-8")?;
    match text.trim() {
        "" => Err("is empty"),
        value => Ok(SecretString::from(value.to_owned())),
    }
}

impl FromStr for SecretRef {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            Some(_) | None => Err(SecretError::NotAReference),
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl Serialize for SecretRef {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

/// The secrets this process holds, so that the redactor can mask them by value.
///
/// Every part that resolves a [`SecretRef`] adds the value here before the redactor is built.
#[derive(Clone, Default)]
pub struct Known {
    values: Vec<(SecretString, Option<SecretRef>)>,
}

impl Known {
    /// Shorter values are not masked by value: they would turn up by chance.
    pub const MIN_BYTES: usize = 8;

    /// No secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret without a name. False when it is shorter than [`Known::MIN_BYTES`] or known already.
    pub fn add(&mut self, secret: &SecretString) -> bool {
        self.insert(secret, None)
    }

    /// Adds a secret under the reference it came from: an approver sees that in its place. False as for [`Known::add`].
    pub fn add_named(&mut self, reference: &SecretRef, secret: &SecretString) -> bool {
        self.insert(secret, Some(reference.clone()))
    }

    fn insert(&mut self, secret: &SecretString, name: Option<SecretRef>) -> bool {
        let value = secret.expose_secret();
        let new = value.len() >= Self::MIN_BYTES && self.values().all(|(known, _)| known != value);
        if new {
            self.values.push((secret.clone(), name));
        }
        new
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values and their names, for the redactor only.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, Option<&SecretRef>)> {
        self.values.iter().map(|(secret, name)| (secret.expose_secret(), name.as_ref()))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({} secrets)", self.values.len())
    }
}

impl Extend<SecretString> for Known {
    fn extend<I: IntoIterator<Item = SecretString>>(&mut self, secrets: I) {
        for secret in secrets {
            self.add(&secret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_as_it_is_written() {
        for text in ["env:OPENAI_API_KEY", "file:/run/secrets/key"] {
            let reference: SecretRef = text.parse().unwrap();
            assert_eq!(reference.to_string(), text);
            let json = serde_json::to_string(&reference).unwrap();
            assert_eq!(serde_json::from_str::<SecretRef>(&json).unwrap(), reference);
        }
    }

    #[test]
    fn a_value_in_place_of_a_reference_is_refused_and_not_shown() {
        for text in ["sk-live-0123456789abcdef", "env:", "env:1X", "env:A B", "file:", "vault:x", ""] {
            let shown = text.parse::<SecretRef>().unwrap_err().to_string();
            assert!(shown.contains("`env:NAME`") && (text.len() < 10 || !shown.contains(text)), "{shown}");
        }
    }

    #[test]
    fn a_secret_comes_from_the_environment_or_a_file() {
        let env = |name: &str| (name == "KEY").then(|| OsString::from(" k-12345678\n"));
        let value = |reference: SecretRef| reference.resolve_in(env).map(|secret| secret.expose_secret().to_owned());
        assert_eq!(value(SecretRef::Env("KEY".into())).unwrap(), "k-12345678");
        assert!(matches!(value(SecretRef::Env("NONE".into())), Err(SecretError::NoVariable(name)) if name == "NONE"));

        let dir = tempfile::tempdir().unwrap();
        let file = |bytes: &[u8]| {
            let path = dir.path().join("key");
            std::fs::write(&path, bytes).unwrap();
            value(SecretRef::File(path))
        };
        assert_eq!(file(b"f-12345678\r\n").unwrap(), "f-12345678");
        assert!(file(b"\n").unwrap_err().to_string().ends_with("is empty"));
        assert!(file(b"\xff").unwrap_err().to_string().ends_with("is no UTF-8"));
        assert!(file(&[b'a'; 70_000]).unwrap_err().to_string().ends_with("is larger than 64 KiB"));
        assert!(matches!(value(SecretRef::File(dir.path().join("none"))), Err(SecretError::NoFile { .. })));
    }

    #[test]
    fn nothing_that_holds_a_secret_prints_it() {
        let secret = SecretString::from("k-12345678".to_owned());
        let mut known = Known::new();
        assert!(known.add(&secret));
        assert!(!known.add(&secret), "once is enough");
        assert!(!known.add(&SecretString::from("short".to_owned())));
        assert_eq!(format!("{known:?}"), "Known(1 secrets)");
        assert_eq!(known.len(), 1);
    }
}
