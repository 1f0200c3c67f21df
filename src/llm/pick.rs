//! Which model answers when the user leaves it open.

use url::Url;

use super::Profile;
use crate::types::{Api, ModelName};

/// What the user said about the model. Empty means: decide for me.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `--provider`; `auto` is the same as nothing.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<ModelName>,
    /// `--base-url`.
    pub base_url: Option<Url>,
    /// `--api`.
    pub api: Option<Api>,
}

/// What was decided, and why.
#[derive(Debug, Clone)]
pub struct Picked {
    /// The model.
    pub choice: Choice,
    /// Why this one, for the user.
    pub because: String,
}

/// A decided model.
#[derive(Debug, Clone)]
pub enum Choice {
    /// No language model: quoted passages only.
    Extractive,
    /// A model behind HTTP.
    Http {
        /// Its provider.
        profile: &'static Profile,
        /// The model, when one was named.
        model: Option<ModelName>,
        /// The wire format, when one was named.
        api: Option<Api>,
        /// The address, when one was named.
        base_url: Option<Url>,
        /// The environment variable that holds the key, when it is set.
        key_env: Option<&'static str>,
    },
}

/// Why no model could be decided on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickError {
    /// There is no such provider.
    #[error("there is no provider `{name}`; known are {known}")]
    UnknownProvider {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// The key is missing.
    #[error("`{provider}` needs a key; set {variable}")]
    MissingKey {
        /// The provider.
        provider: String,
        /// The variable.
        variable: String,
    },
    /// A provider without an address of its own.
    #[error("`{provider}` is any compatible server; give its address with --base-url")]
    MissingAddress {
        /// The provider.
        provider: String,
    },
    /// A model that no profile knows.
    #[error("no known provider serves `{model}`; name one with --provider, or an address with --base-url")]
    UnknownModel {
        /// The model.
        model: String,
    },
}

/// The name of the provider without a language model.
pub const EXTRACTIVE: &str = "extractive";
/// The profile of compatible servers.
const COMPATIBLE: &str = "compatible";

/// Decides on a model: what was named explicitly, else the first provider whose key is set, else the extractive one.
/// `is_set` tells whether an environment variable holds something.
///
/// # Errors
/// [`PickError`] when what was named does not go together. It never falls back from something that was named.
pub fn pick(wanted: &Wanted, is_set: impl Fn(&str) -> bool) -> Result<Picked, PickError> {
    let key = |profile: &'static Profile| profile.key_env.as_deref().filter(|name| is_set(name));
    match wanted.provider.as_deref().filter(|name| *name != "auto") {
        Some(EXTRACTIVE) => Ok(extractive("it was named")),
        Some(name) => {
            let profile = Profile::by_name(name).ok_or_else(|| unknown_provider(name))?;
            named(wanted, profile, key(profile), "it was named".to_owned())
        }
        None if wanted.base_url.is_some() => {
            let profile = Profile::by_name(COMPATIBLE).ok_or_else(|| unknown_provider(COMPATIBLE))?;
            named(wanted, profile, key(profile), "an address was given".to_owned())
        }
        None => match &wanted.model {
            Some(model) if model.as_str() == EXTRACTIVE => Ok(extractive("it was named")),
            Some(model) => {
                let mut serving = Profile::shipped().iter().filter(|profile| profile.serves(model.as_str()));
                let profile = serving.next().ok_or_else(|| PickError::UnknownModel { model: model.to_string() })?;
                named(wanted, profile, key(profile), format!("it serves `{model}`"))
            }
            None => {
                let with_key = Profile::shipped().iter().filter(|profile| profile.default_model.is_some());
                match with_key.filter_map(|profile| Some((profile, key(profile)?))).next() {
                    Some((profile, variable)) => named(wanted, profile, Some(variable), format!("{variable} is set")),
                    None => Ok(extractive("no provider's key is set")),
                }
            }
        },
    }
}

fn extractive(because: &str) -> Picked {
    Picked { choice: Choice::Extractive, because: because.to_owned() }
}

fn named(
    wanted: &Wanted,
    profile: &'static Profile,
    key_env: Option<&'static str>,
    because: String,
) -> Result<Picked, PickError> {
    let provider = || profile.name.to_string();
    if profile.base_urls.is_empty() && wanted.base_url.is_none() {
        return Err(PickError::MissingAddress { provider: provider() });
    }
    // A server at an address of one's own may want no key; the provider itself always does.
    if key_env.is_none() && wanted.base_url.is_none() {
        let variable = profile.key_env.clone().unwrap_or_default();
        return Err(PickError::MissingKey { provider: provider(), variable });
    }
    let unnamed = || (profile.name.as_str() == COMPATIBLE).then(|| ModelName::new("default").ok()).flatten();
    let model = wanted.model.clone().or_else(unnamed);
    let choice = Choice::Http { profile, model, api: wanted.api, base_url: wanted.base_url.clone(), key_env };
    Ok(Picked { choice, because })
}

fn unknown_provider(name: &str) -> PickError {
    let mut known: Vec<&str> = Profile::shipped().iter().map(|profile| profile.name.as_str()).collect();
    known.push(EXTRACTIVE);
    PickError::UnknownProvider { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(wanted: &Wanted, set: &[&str]) -> Result<(String, Option<String>), PickError> {
        pick(wanted, |name| set.contains(&name)).map(|picked| match picked.choice {
            Choice::Extractive => (EXTRACTIVE.to_owned(), None),
            Choice::Http { profile, key_env, .. } => (profile.name.to_string(), key_env.map(str::to_owned)),
        })
    }

    fn named(provider: &str) -> Wanted {
        Wanted { provider: Some(provider.to_owned()), ..Wanted::default() }
    }

    #[test]
    fn auto_takes_the_first_provider_with_a_key_else_none_at_all() {
        let is = |name: &str, key: Option<&str>| Ok((name.to_owned(), key.map(str::to_owned)));
        for wanted in [Wanted::default(), named("auto")] {
            assert_eq!(provider(&wanted, &[]), is("extractive", None));
            assert_eq!(provider(&wanted, &["DEEPSEEK_API_KEY"]), is("deepseek", Some("DEEPSEEK_API_KEY")));
            let both = ["DEEPSEEK_API_KEY", "OPENAI_API_KEY", "AGCORE_API_KEY"];
            assert_eq!(provider(&wanted, &both), is("openai", Some("OPENAI_API_KEY")));
            assert_eq!(provider(&wanted, &["AGCORE_API_KEY"]), is("extractive", None));
        }
    }

    #[test]
    fn what_is_named_is_taken_or_refused_never_replaced() {
        let missing = PickError::MissingKey { provider: "xai".to_owned(), variable: "XAI_API_KEY".to_owned() };
        assert_eq!(provider(&named("xai"), &["OPENAI_API_KEY"]), Err(missing));
        let no_address = PickError::MissingAddress { provider: "compatible".to_owned() };
        assert_eq!(provider(&named("compatible"), &[]), Err(no_address));
        assert!(matches!(provider(&named("opnai"), &[]), Err(PickError::UnknownProvider { .. })));
        assert_eq!(provider(&named("extractive"), &["OPENAI_API_KEY"]), Ok(("extractive".to_owned(), None)));
        let model = |name: &str| Wanted { model: ModelName::new(name).ok(), ..Wanted::default() };
        assert!(matches!(provider(&model("grok-4.7"), &[]), Err(PickError::MissingKey { .. })));
        assert!(matches!(provider(&model("foo"), &["OPENAI_API_KEY"]), Err(PickError::UnknownModel { .. })));
    }

    #[test]
    fn the_key_of_a_provider_never_goes_to_another_address_by_itself() {
        let wanted = Wanted { base_url: Url::parse("http://127.0.0.1:8080/v1").ok(), ..Wanted::default() };
        assert_eq!(provider(&wanted, &["OPENAI_API_KEY"]), Ok(("compatible".to_owned(), None)));
    }
}
