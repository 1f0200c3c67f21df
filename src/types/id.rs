//! Newtypes for every id, so that a call id can never be passed where a turn id is wanted.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no valid {what}: {why}")]
pub struct IdError {
    what: &'static str,
    text: String,
    why: &'static str,
}

/// The longest id in bytes; provider ids seen so far stay below 512.
const MAX_ID_BYTES: usize = 1024;

fn check_opaque(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_ID_BYTES {
        return Err("it is longer than 1024 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("it holds a control character");
    }
    Ok(())
}

/// Ids of our own vocabulary: letters, digits, `_`, `-`, `.`, `:`, `/`, without a blank.
fn check_name(text: &str) -> Result<(), &'static str> {
    check_opaque(text)?;
    if text.chars().any(char::is_whitespace) {
        return Err("it holds white space");
    }
    Ok(())
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:ident) => {
        $(#[$doc])*
        ///
        /// Cheap to clone; the constructor is the check.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Checks `text` and makes it a ", $what, ".")]
            ///
            /// # Errors
            /// [`IdError`] when the text is empty, too long (1024 bytes) or holds characters no id may have.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                match $check(text) {
                    Ok(()) => Ok(Self(Arc::from(text))),
                    Err(why) => Err(IdError { what: $what, text: text.chars().take(80).collect(), why }),
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), &self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                Self::new(&text).map_err(de::Error::custom)
            }
        }
    };
}

text_id!(
    /// One user input taken to one final answer.
    TurnId, "turn id", check_name
);
text_id!(
    /// The trace of a turn (W3C: 32 hex digits).
    TraceId, "trace id", check_name
);
text_id!(
    /// One tool call inside a turn: ours, unique in the turn, never a provider's.
    CallId, "call id", check_name
);
text_id!(
    /// A declared capability, e.g. `runtime.tavily_search`.
    CapabilityId, "capability id", check_name
);
text_id!(
    /// What is wanted, dotted, e.g. `web.search`.
    Intent, "intent", check_name
);
text_id!(
    /// A tool name as the model sees it.
    ToolName, "tool name", check_opaque
);
text_id!(
    /// A model, as its provider spells it.
    ModelName, "model name", check_opaque
);
text_id!(
    /// A provider profile, e.g. `openai`.
    ProviderName, "provider name", check_name
);
text_id!(
    /// A policy rule.
    RuleId, "rule id", check_name
);
text_id!(
    /// A tenant.
    TenantId, "tenant id", check_name
);
text_id!(
    /// A user of a tenant.
    UserId, "user id", check_name
);
text_id!(
    /// A kind of work that turns do, in the operator's words, e.g. `research`: budgets, limits and rules go by it.
    TaskType, "task type", check_name
);
text_id!(
    /// What a principal may do, e.g. `customer.read`.
    Scope, "scope", check_name
);
text_id!(
    /// A whole raw result under the hash of its bytes: `sha256:<64 hex digits>`.
    ArtifactId, "artifact id", check_name
);
