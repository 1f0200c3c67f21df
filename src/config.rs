//! The configuration: what a user may set, with defaults, allowed ranges and the origin of every value.
//!
//! Three layers, the later wins: a TOML file, the environment (`AGCORE_<SECTION>_<KEY>`), the command line. The file is the
//! one named on the command line or by `AGCORE_CONFIG`, else `agcore.toml` in the working directory, else
//! `$XDG_CONFIG_HOME/agcore/config.toml`. One table, [`KEYS`], says which keys there are; an unknown one is refused with the
//! nearest known one. Secrets are given by reference only.

mod error;
mod keys;
mod limits;
mod merge;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    secret::{Personal, PersonalKinds, SecretRef},
    types::{Api, Demand, ModelName, ProviderName, Scope, TenantId, UserId},
};

pub use error::{ConfigError, Origin};
pub use keys::{KEYS, Key, Kind};
pub use limits::{LimitError, LimitRange, Limits, Tier};
pub use merge::Sources;

/// The whole configuration, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which model answers.
    #[serde(default)]
    pub model: ModelConfig,
    /// The hard limits of a turn.
    #[serde(default)]
    pub limits: Limits,
    /// On whose behalf the command line works.
    pub principal: PrincipalConfig,
    /// Where agcore keeps its state.
    pub paths: PathsConfig,
    /// Capabilities beside the shipped ones.
    #[serde(default)]
    pub catalog: CatalogConfig,
    /// Policy rules beside the shipped ones.
    #[serde(default)]
    pub policy: PolicyConfig,
    /// Budgets, rates and tenants.
    #[serde(default)]
    pub quotas: QuotasConfig,
    /// How who serves an intent is chosen.
    #[serde(default)]
    pub route: RouteConfig,
    /// Prices beside the shipped ones.
    #[serde(default)]
    pub prices: PricesConfig,
    /// Where traces go.
    #[serde(default)]
    pub telemetry: TelemetryConfig,
    /// Which personal data is masked where.
    #[serde(default)]
    pub redaction: RedactionConfig,
    /// The user's own documents.
    #[serde(default)]
    pub files: FilesConfig,
    /// The tier that gave the wall time, where no other was set. Written as `limits.tier`.
    #[serde(skip)]
    pub tier: Tier,
    /// What is allowed but unusual, and settings that look mistyped.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Where each value that is no default came from.
    #[serde(skip)]
    origins: BTreeMap<&'static str, Origin>,
}

/// Section `model`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The provider profile; unset or `auto` takes the first one whose key is in the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// The model; the profile's default when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The address of a server that speaks one of the wire formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<url::Url>,
    /// Its wire format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    /// Where its key lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretRef>,
}

/// Section `principal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalConfig {
    /// The tenant; `local`.
    pub tenant: TenantId,
    /// The user; `local`.
    pub user: UserId,
    /// Roles, for rules.
    #[serde(default)]
    pub roles: BTreeSet<String>,
    /// What the user may do.
    #[serde(default)]
    pub scopes: BTreeSet<Scope>,
}

/// Section `paths`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathsConfig {
    /// Journal, artifacts and index; `$XDG_STATE_HOME/agcore` or `~/.local/state/agcore`.
    pub state_dir: PathBuf,
}

/// Section `catalog`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogConfig {
    /// Folders of capability files; a later one overrides an earlier one, and all override what is shipped.
    pub dirs: Vec<PathBuf>,
    /// Folders of capability files that somebody outside writes: each capability is held back until a person agrees to it.
    pub external: Vec<PathBuf>,
}

/// Section `policy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Rule files.
    pub files: Vec<PathBuf>,
}

/// Section `quotas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotasConfig {
    /// Files with budgets, rates and what tenants may see and use.
    pub files: Vec<PathBuf>,
}

/// Section `route`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteConfig {
    /// What every route has to honour: hosted tools then serve only where nothing else can.
    pub demands: BTreeSet<Demand>,
}

/// Section `prices`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PricesConfig {
    /// Price files; they override the shipped table.
    pub files: Vec<PathBuf>,
}

/// Section `telemetry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// An OTLP/HTTP endpoint; nothing is exported when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<url::Url>,
}

/// Section `redaction`. Secrets are masked everywhere, whatever stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedactionConfig {
    /// In every result a model sees: `card`. A mail tool whose addresses are masked is of no use, so the other kinds are
    /// masked where a contract (`redact_personal`) or a rule asks for it.
    pub results: PersonalKinds,
    /// In what is kept for people: logs, traces, lists of turns, exports. `all`.
    pub records: PersonalKinds,
}

impl Default for RedactionConfig {
    fn default() -> Self {
        Self { results: PersonalKinds::of(&[Personal::Card]), records: PersonalKinds::ALL }
    }
}

/// Section `files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilesConfig {
    /// Folders that `file.search` and `file.read` may open.
    pub roots: Vec<PathBuf>,
}

/// One setting as `agcore config explain` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The key, e.g. `limits.max_tool_iterations`.
    pub key: &'static str,
    /// Its value as TOML; empty when it is not set. A secret is shown by its reference.
    pub value: String,
    /// Where the value came from.
    pub origin: String,
    /// What it means.
    pub doc: &'static str,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.value.is_empty() { "(not set)" } else { &self.value };
        write!(f, "{} = {value}  # {}", self.key, self.origin)
    }
}

impl Config {
    /// Reads the file, the environment of this process and the settings of the command line (`key`, `value`).
    ///
    /// `file` is the file named on the command line: it has to exist. Other files are looked for and may be missing.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that cannot be read and for every setting that is unknown or has a wrong value.
    pub fn load(file: Option<&Path>, flags: Vec<(String, String)>) -> Result<Self, ConfigError> {
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let file = merge::find_file(file, &env, Path::is_file)
            .map(|path| match std::fs::read_to_string(&path) {
                Ok(text) => Ok((path, text)),
                Err(source) => Err(ConfigError::Read { path, source }),
            })
            .transpose()?;
        Self::merge(Sources { file, env, flags })
    }

    /// Merges the layers into one checked configuration. Pure: the environment is an argument.
    ///
    /// # Errors
    /// [`ConfigError`] for every setting that is unknown or has a wrong value.
    pub fn merge(sources: Sources) -> Result<Self, ConfigError> {
        merge::merge(sources)
    }

    /// Where the value of `key` came from.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Every setting with its value and where that came from, in the order of [`KEYS`].
    pub fn explain(&self) -> Vec<Explained> {
        let values = toml::Value::try_from(self).ok();
        let value = |key: &Key| {
            if key.path == keys::TIER {
                return Some(format!("\"{}\"", self.tier));
            }
            let (section, name) = key.path.split_once('.')?;
            let value = values.as_ref()?.get(section)?.get(name)?;
            Some(value.to_string())
        };
        KEYS.iter()
            .map(|key| Explained {
                key: key.path,
                value: value(key).unwrap_or_default(),
                origin: self.origin(key.path).to_string(),
                doc: key.doc,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
