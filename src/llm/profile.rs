//! A provider as data: where it is, what it offers, how it spells things, what it costs.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::types::{Api, HostedKind, Intent, ModelName, Origin, ProviderName, Region};

use super::{
    AllowedTools, PriceTable, Spelling, ToolChoice, hosted,
    names::{CallIdRule, NameRule},
};

/// A provider: dated data, no code. A new compatible provider is a new file in `catalog/providers/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name, e.g. `openai`.
    pub name: ProviderName,
    /// The day the facts were checked.
    pub as_of: String,
    /// Where the facts come from.
    pub sources: Vec<String>,
    /// What binds the opaque parts of its replies (encrypted reasoning); the model's own name when not given.
    pub family: Option<String>,
    /// The environment variable its key is usually kept in.
    pub key_env: Option<String>,
    /// Its addresses by region.
    pub base_urls: BTreeMap<Region, String>,
    /// The model to take when none is named.
    pub default_model: Option<ModelName>,
    /// Patterns of the models it serves, so that a model's name alone says where it is.
    #[serde(default)]
    pub models: Vec<String>,
    /// The wire format to take when none is named.
    pub default_api: Api,
    /// What it offers.
    pub apis: BTreeMap<Api, ApiProfile>,
    /// Its prices.
    #[serde(default)]
    pub prices: Option<PriceTable>,
}

/// How a provider speaks one wire format.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiProfile {
    /// Appended to the base address, e.g. `/responses`. `{model}` stands for the model's name.
    pub path: String,
    /// The path of a streamed call, where it is another one.
    #[serde(default)]
    pub stream_path: Option<String>,
    /// In place of the provider's base addresses, for an API that lives elsewhere.
    #[serde(default)]
    pub base_urls: BTreeMap<Region, String>,
    /// How the key is sent.
    #[serde(default)]
    pub auth: Auth,
    /// Headers of every call, e.g. the version of the API.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of streamed calls.
    #[serde(default)]
    pub stream_headers: BTreeMap<String, String>,
    /// The hosted tools and how they are spelt.
    #[serde(default)]
    pub hosted: BTreeMap<HostedKind, Spelling>,
    /// Whether function tools can be deferred to the provider's own tool search.
    #[serde(default)]
    pub deferred: bool,
    /// Whether raw provider tools (`builtin_tools`) may be sent.
    #[serde(default)]
    pub builtin_tools: bool,
    /// Top-level fields that are sent unless the request names the same ones.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// Further fields for models that match one of the patterns.
    #[serde(default)]
    pub model_bodies: Vec<ModelBody>,
    /// The role of the system prompt and of notices.
    #[serde(default)]
    pub roles: Roles,
    /// What the output limit is called.
    pub max_tokens: String,
    /// Which choices of tools it can express.
    pub tool_choice: Vec<ChoiceWord>,
    /// What `parallel_tool_calls` is set to when the request does not say; absent leaves it out.
    pub parallel_tool_calls: Option<bool>,
    /// Whether it takes `parallel_tool_calls` at all.
    #[serde(default = "yes")]
    pub takes_parallel: bool,
    /// Whether it takes a sampling temperature.
    #[serde(default = "yes")]
    pub takes_temperature: bool,
    /// Whether `strict: true` on a function means something. Schemas of strict tools are converted to OpenAI's strict
    /// subset then, where they convert without loss.
    #[serde(default)]
    pub strict: bool,
    /// Whether every function must be strict: one whose schema cannot be is withheld.
    #[serde(default)]
    pub strict_only: bool,
    /// Whether its strict subset is DeepSeek's instead of OpenAI's (Chat).
    #[serde(default)]
    pub deepseek_strict: bool,
    /// Which of its own assistant messages go back with their reasoning text (Chat).
    #[serde(default)]
    pub echo_reasoning: Echo,
    /// Fields of a message that only replies have, and that do not go back (Chat).
    #[serde(default)]
    pub reply_only: Vec<String>,
    /// Whether reasoning items without encrypted content are left out of a replay, because nothing is stored (Responses).
    #[serde(default)]
    pub stateless: bool,
    /// What call ids look like.
    #[serde(default)]
    pub call_ids: CallIds,
    /// Whether the result of a tool may hold images.
    #[serde(default)]
    pub result_images: bool,
    /// Whether a tool message carries the tool's name.
    #[serde(default)]
    pub name_in_result: bool,
    /// Whether usage in a stream has to be asked for.
    #[serde(default)]
    pub stream_usage: bool,
    /// How an answer's schema is asked for.
    #[serde(default)]
    pub answer_schema: AnswerSchema,
    /// Whether servers behind it may ignore a forced choice of tools: then a call is had through an answer's schema.
    #[serde(default)]
    pub constrained_calls: bool,
    /// Whether its models may print calls as tagged text that has to be read as calls.
    #[serde(default)]
    pub tagged_calls: bool,
}

fn yes() -> bool {
    true
}

/// Fields for some models only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelBody {
    /// Anchored patterns; `*` stands for any text.
    pub models: Vec<String>,
    /// The fields.
    pub body: Map<String, Value>,
}

/// How a key is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// In a header of its own, as it is.
    Header(String),
}

/// Role names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// Of the system prompt.
    pub system: String,
    /// Of what agcore tells the model in the middle of a conversation.
    pub notice: String,
}

impl Default for Roles {
    fn default() -> Self {
        Self { system: "system".to_owned(), notice: "user".to_owned() }
    }
}

/// A choice of tools that a provider can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceWord {
    /// The model decides.
    Auto,
    /// No call.
    None,
    /// At least one call, spelt `required`.
    Required,
    /// This one.
    Named,
    /// Some of them.
    Allowed,
}

/// Which assistant messages go back with their reasoning text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Echo {
    /// As they came.
    #[default]
    AsSent,
    /// Those with tool calls keep it, even an empty one; others lose it.
    ToolCalls,
    /// None.
    Never,
}

/// What call ids look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Up to 64 letters, digits, dashes and underscores.
    #[default]
    Portable,
    /// Nine letters and digits.
    Alnum9,
}

impl CallIds {
    pub(super) const fn rule(self) -> CallIdRule {
        match self {
            Self::Portable => CallIdRule::PORTABLE,
            Self::Alnum9 => CallIdRule::MISTRAL,
        }
    }
}

/// How an answer's schema is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSchema {
    /// With the schema itself.
    #[default]
    JsonSchema,
    /// Only as "some JSON object".
    JsonObject,
}

impl ApiProfile {
    /// Whether the choice can be expressed. `None` always can: the tools are left out where there is no word for it.
    pub fn supports(&self, choice: &ToolChoice) -> bool {
        self.tool_choice.contains(&match choice {
            // Without a word for it, the other tools are left out of the request.
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Allowed(AllowedTools { required: false, .. }) => {
                return true;
            }
            ToolChoice::Required | ToolChoice::Allowed(AllowedTools { required: true, .. }) => ChoiceWord::Required,
            ToolChoice::Named(_) => ChoiceWord::Named,
        })
    }

    /// The spelling of a raw provider tool, found by its type.
    pub(super) fn spelling_of(&self, tool: &Value) -> Option<&Spelling> {
        let kind = hosted::raw_kind(tool)?;
        self.hosted.values().find(|spelling| spelling.is(kind))
    }

    /// The path of a call.
    pub fn path_for(&self, model: &str, stream: bool) -> String {
        let path = self.stream_path.as_ref().filter(|_| stream).unwrap_or(&self.path);
        path.replace("{model}", &segment(model))
    }

    /// The strictest rule of all, so that a conversation can move to another provider with its names.
    pub(super) const NAMES: NameRule = NameRule::PORTABLE;

    /// The top-level fields for a model, the later ones in place of earlier ones of the same name.
    pub(super) fn body_for(&self, model: &str) -> Map<String, Value> {
        let mut body = self.body.clone();
        for more in self.model_bodies.iter().filter(|more| more.models.iter().any(|pattern| glob(pattern, model))) {
            body.extend(more.body.clone());
        }
        body
    }
}

macro_rules! shipped {
    ($($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../catalog/providers/", $file)))),+]
    };
}

const SHIPPED: &[(&str, &str)] = shipped![
    "openai.yaml",
    "anthropic.yaml",
    "xai.yaml",
    "deepseek.yaml",
    "deepseek-beta.yaml",
    "mistral.yaml",
    "zai.yaml",
    "aliyun.yaml",
    "gemini.yaml",
    "compatible.yaml",
];

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let read = |(file, text): &(&str, &str)| {
        Profile::parse(text).inspect_err(|error| tracing::error!(file, %error, "a shipped profile does not load")).ok()
    };
    SHIPPED.iter().filter_map(read).collect()
});

impl Profile {
    /// Reads a profile from YAML.
    ///
    /// # Errors
    /// [`ProfileError`] with the place in the text.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = serde_saphyr::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        if !profile.apis.contains_key(&profile.default_api) {
            let (name, api) = (&profile.name, profile.default_api);
            return Err(ProfileError(format!("`{name}` has no api `{api}`, which is its default")));
        }
        Ok(profile)
    }

    /// The profiles that are shipped, in the order in which `auto` looks for their keys.
    pub fn shipped() -> &'static [Self] {
        &PROFILES
    }

    /// A shipped profile by its name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::shipped().iter().find(|profile| profile.name.as_str() == name)
    }

    /// Whether a model of this name is one of its own.
    pub fn serves(&self, model: &str) -> bool {
        self.models.iter().any(|pattern| glob(pattern, model))
    }

    /// Who answers when `model` is asked through `api`.
    pub fn origin(&self, api: Api, model: ModelName) -> Origin {
        let family = self.family.clone().unwrap_or_else(|| model.as_str().to_owned());
        Origin { provider: self.name.clone(), api, model, family }
    }

    /// The address of an API in a region; the global one's, else the first region's, when it has none of its own.
    pub fn base_url(&self, api: Api, region: Region) -> Option<&str> {
        let own = self.apis.get(&api).map(|api| &api.base_urls).filter(|own| !own.is_empty());
        let bases = own.unwrap_or(&self.base_urls);
        let base = bases.get(&region).or_else(|| bases.get(&Region::Global)).or_else(|| bases.values().next());
        base.map(String::as_str)
    }
}

/// The intent that a raw provider tool of this type serves, whoever's type it is.
pub fn intent_of_hosted(kind: &str) -> Option<Intent> {
    let spelt = Profile::shipped().iter().flat_map(|profile| profile.apis.values()).flat_map(|api| &api.hosted);
    let (found, _) = spelt.into_iter().find(|(_, spelling)| spelling.is(kind))?;
    let intent = match found {
        HostedKind::Search => "web.search",
        HostedKind::Fetch => "url.fetch",
        HostedKind::Code => "code.exec",
        HostedKind::FileSearch => "kb.search",
        HostedKind::Image => "image.generate",
        HostedKind::ToolSearch => "tool.search",
        HostedKind::Maps | HostedKind::Computer | HostedKind::Mcp | HostedKind::McpApproval | HostedKind::Other(_) => {
            return None;
        }
    };
    Intent::new(intent).ok()
}

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider profile cannot be used: {0}")]
pub struct ProfileError(String);

impl ProfileError {
    pub(super) fn new(error: &impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A model's name as one segment of a path: it can neither leave it nor end the path. Google's own prefix is dropped,
/// since the path has it.
fn segment(model: &str) -> String {
    let plain = model.strip_prefix("models/").unwrap_or(model);
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' | b':' | b'@' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    plain.bytes().map(encode).collect()
}

/// Whether `text` as a whole matches `pattern`, in which `*` stands for any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut rest = rest;
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            match rest.find(middle) {
                Some(at) => rest = rest.get(at + middle.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |end| rest.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_loads_and_names_its_sources() {
        let names: Vec<&str> = Profile::shipped().iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "openai",
                "anthropic",
                "xai",
                "deepseek",
                "deepseek-beta",
                "mistral",
                "zai",
                "aliyun",
                "gemini",
                "compatible"
            ]
        );
        for (file, text) in SHIPPED {
            let profile = Profile::parse(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(!profile.sources.is_empty() && profile.as_of.len() == 10, "{file}");
            let (Some(model), Some(prices)) = (&profile.default_model, &profile.prices) else { continue };
            assert!(
                prices.price(model.as_str(), &crate::types::Usage::default()).is_some(),
                "{file}: no price for {model}"
            );
        }
    }

    #[test]
    fn a_model_in_a_path_stays_in_its_segment() {
        let gemini = &Profile::by_name("gemini").unwrap().apis[&Api::GenerateContent];
        for (model, expected) in [
            ("gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent"),
            ("models/gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent"),
            ("../files?x=1#y", "/models/..%2Ffiles%3Fx%3D1%23y:generateContent"),
        ] {
            assert_eq!(gemini.path_for(model, false), expected);
        }
        assert_eq!(gemini.path_for("m", true), "/models/m:streamGenerateContent?alt=sse");
    }

    #[test]
    fn globs_are_anchored() {
        for (pattern, text, matches) in [
            ("gpt-5.*", "gpt-5.6", true),
            ("gpt-5.*", "my-gpt-5.6", false),
            ("gpt-5", "gpt-5.6", false),
            ("gpt-5", "gpt-5", true),
            ("*-mini*", "gpt-5-mini-2026", true),
            ("a*b*c", "abbc", true),
            ("a*b*c", "ac", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let error = Profile::parse("name: x\nbase: y").unwrap_err().to_string();
        assert!(error.contains("base"), "{error}");
    }
}
