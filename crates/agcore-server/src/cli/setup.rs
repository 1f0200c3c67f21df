//! From configuration and flags to a runtime.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use agcore::{
    capability::Registry,
    config::Config,
    llm::{CallLimits, Choice, Extractive, HttpModel, HttpModelConfig, Model, PriceTable, Wanted, pick},
    net::{HttpClient, HttpConfig},
    policy::{DEFAULT_RULES, Principal},
    projection::DiskArtifacts,
    runtime::{Runtime, RuntimeBuilder},
    secret::{Known, Redactor, SecretRef},
    store::{Journal, SqliteJournal},
    types::{Api, Region},
};
use anyhow::{Context, Result, bail};
use clap::Args;

use super::Global;
use crate::telemetry;

/// Which model answers.
#[derive(Debug, Default, Args)]
pub(crate) struct ModelArgs {
    /// The provider: auto (the first whose key is in the environment), extractive (no language model), or a profile
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model, as its provider spells it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The address of any OpenAI-compatible server, e.g. http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The wire format of that server: chat or responses
    #[arg(long, value_name = "API")]
    pub(crate) api: Option<String>,
}

/// A runtime, why its model answers, and what it was made from.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) runtime: Runtime,
    pub(crate) because: String,
    pub(crate) config: Config,
}

impl Made {
    /// Who acts: the one that was named, or the user of the configuration.
    pub(crate) fn actor(&self, named: Option<String>) -> String {
        named.unwrap_or_else(|| self.config.principal.user.to_string())
    }
}

/// Reads the configuration: file, environment, flags.
pub(crate) fn config(global: &Global, model: &ModelArgs) -> Result<Config> {
    let mut flags = Vec::new();
    let mut set = |key: &str, value: Option<String>| flags.extend(value.map(|value| (key.to_owned(), value)));
    set("paths.state_dir", global.state_dir.as_ref().map(|path| path.display().to_string()));
    set("model.provider", model.provider.clone());
    set("model.model", model.model.clone());
    set("model.base_url", model.base_url.clone());
    set("model.api", model.api.clone());
    let config = Config::load(global.config.as_deref(), flags)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}

/// A runtime with the journal, the artifacts, the catalogs and the rules the configuration names.
pub(crate) async fn runtime(global: &Global, model: &ModelArgs) -> Result<Made> {
    let config = config(global, model)?;
    let builder = builder(global, &config).await?;
    finish(builder, config)
}

/// Everything but the model.
pub(crate) async fn builder(global: &Global, config: &Config) -> Result<RuntimeBuilder> {
    let state = &config.paths.state_dir;
    let journal = SqliteJournal::open(&state.join("agcore.db")).await?;
    let external = external_catalogs(global, config);
    let pins = if external.is_empty() { Vec::new() } else { journal.pins().all().await? };
    let mut builder = Runtime::builder()
        .pins(pins)
        .journal(Arc::new(journal))
        .artifacts(Arc::new(DiskArtifacts::new(state.join("artifacts"))))
        .limits(config.limits.clone())
        .redaction(config.redaction)
        .principal(principal(config));
    for demand in &config.route.demands {
        builder = builder.demand(*demand);
    }
    for folder in catalogs(global, config) {
        builder = builder.catalog_dir(folder);
    }
    for folder in external {
        builder = builder.external_catalog_dir(folder);
    }
    for (name, text) in policies(global, config)? {
        builder = builder.policy(&text, &name);
    }
    for (name, text) in quotas(config)? {
        builder = builder.quotas(&text, &name);
    }
    Ok(builder)
}

/// The files of budgets, rates and tenants: name and text.
pub(crate) fn quotas(config: &Config) -> Result<Vec<(String, String)>> {
    let read = |path: &PathBuf| {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read the quotas in `{}`", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    config.quotas.files.iter().map(read).collect()
}

/// Adds the model and what it needs.
pub(crate) fn finish(builder: RuntimeBuilder, config: Config) -> Result<Made> {
    let mut secrets = Known::new();
    let (model, because) = model(&config, &mut secrets)?;
    let stream = model.origin().api != Api::Local;
    telemetry::mask_with(Redactor::new(&secrets).personal(config.redaction.records));
    let runtime = builder.model(model).secrets(secrets).stream(stream).build()?;
    Ok(Made { runtime, because, config })
}

fn model(config: &Config, secrets: &mut Known) -> Result<(Arc<dyn Model>, String)> {
    let wanted = Wanted {
        provider: config.model.provider.as_ref().map(ToString::to_string),
        model: config.model.model.clone(),
        base_url: config.model.base_url.clone(),
        api: config.model.api,
    };
    let named_key = config.model.api_key.clone();
    let picked = pick(&wanted, |name| named_key.is_some() || SecretRef::Env(name.to_owned()).resolve().is_ok())?;
    match picked.choice {
        Choice::Extractive => Ok((Arc::new(Extractive::default()), picked.because)),
        Choice::Http { profile, model, api, base_url, key_env } => {
            let reference = named_key.or_else(|| key_env.map(|name| SecretRef::Env(name.to_owned())));
            let key = reference.as_ref().map(SecretRef::resolve).transpose()?;
            if let Some(key) = &key {
                match &reference {
                    Some(reference) => secrets.add_named(reference, key),
                    None => secrets.add(key),
                };
            }
            let client = HttpClient::new(&HttpConfig::default())?;
            let region = Region::Global;
            let prices = prices(&config.prices.files, profile.name.as_str())?;
            let limits = CallLimits::default();
            let wire = HttpModelConfig { model, api, base_url, region, key, prices, limits };
            Ok((Arc::new(HttpModel::new(profile, wire, client)?), picked.because))
        }
    }
}

/// The prices of a provider from the configured files; a later file wins.
fn prices(files: &[PathBuf], provider: &str) -> Result<Option<PriceTable>> {
    let mut found = None;
    for file in files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read the prices in `{}`", file.display()))?;
        let mut tables = PriceTable::parse_many(&text).with_context(|| format!("`{}`", file.display()))?;
        found = tables.remove(provider).or(found);
    }
    Ok(found)
}

fn principal(config: &Config) -> Principal {
    Principal {
        tenant: config.principal.tenant.clone(),
        user: config.principal.user.clone(),
        roles: config.principal.roles.clone(),
        scopes: config.principal.scopes.clone(),
    }
}

fn catalogs(global: &Global, config: &Config) -> Vec<PathBuf> {
    config.catalog.dirs.iter().chain(&global.catalog).cloned().collect()
}

fn external_catalogs(global: &Global, config: &Config) -> Vec<PathBuf> {
    config.catalog.external.iter().chain(&global.external_catalog).cloned().collect()
}

/// The capabilities alone, for commands that need no model.
pub(crate) async fn registry(global: &Global, config: &Config) -> Result<Registry> {
    let mut builder = Registry::builder().embedded();
    let external = external_catalogs(global, config);
    if !external.is_empty() {
        let journal = SqliteJournal::open(&config.paths.state_dir.join("agcore.db")).await?;
        builder = builder.pins(journal.pins().all().await?);
    }
    for folder in external {
        builder = builder.add_external_dir(folder);
    }
    for folder in catalogs(global, config) {
        if !folder.is_dir() {
            bail!("the catalog folder `{}` is not there", folder.display());
        }
        builder = builder.add_dir(folder);
    }
    Ok(builder.build()?)
}

/// The user's rule files: name and text.
pub(crate) fn policies(global: &Global, config: &Config) -> Result<Vec<(String, String)>> {
    let mut files = BTreeSet::new();
    for path in config.policy.files.iter().chain(&global.policy) {
        if path.is_dir() {
            let entries = fs::read_dir(path).with_context(|| format!("cannot read `{}`", path.display()))?;
            let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
            files.extend(paths.filter(|path| is_yaml(path)));
        } else {
            files.insert(path.clone());
        }
    }
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    files.iter().map(read).collect()
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The shipped rules and the user's.
pub(crate) fn rule_files(global: &Global, config: &Config) -> Result<Vec<(String, String)>> {
    let (name, text) = DEFAULT_RULES;
    let mut files = vec![(name.to_owned(), text.to_owned())];
    files.extend(policies(global, config)?);
    Ok(files)
}
