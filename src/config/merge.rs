//! Puts the layers on top of each other.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml::{Table, Value, de::DeTable};

use super::{Config, ConfigError, Key, Kind, LimitError, Origin, Tier, keys};

/// What a configuration is made of.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file and its text.
    pub file: Option<(PathBuf, String)>,
    /// The environment: `AGCORE_…`, `HOME` and the XDG variables are looked at.
    pub env: BTreeMap<String, String>,
    /// Settings of the command line: key and value, e.g. `limits.tier` and `long`.
    pub flags: Vec<(String, String)>,
}

/// The variable that names the file. It is no setting.
const FILE_VARIABLE: &str = "AGCORE_CONFIG";

/// A value that was set, and where.
struct Set {
    value: Value,
    origin: Origin,
}

type Layers = BTreeMap<&'static str, Set>;

/// The file to read: the one that was named, or the first of the usual ones that is there.
pub(super) fn find_file(
    named: Option<&Path>,
    env: &BTreeMap<String, String>,
    is_file: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    if let Some(path) = named {
        return Some(path.to_owned());
    }
    if let Some(path) = variable(env, FILE_VARIABLE) {
        return Some(PathBuf::from(path));
    }
    let local = PathBuf::from("agcore.toml");
    let user = base_dir(env, "XDG_CONFIG_HOME", ".config").map(|dir| dir.join("agcore").join("config.toml"));
    [Some(local), user].into_iter().flatten().find(|path| is_file(path))
}

/// A variable that is set to something.
fn variable<'a>(env: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// A base directory of the XDG specification 0.8. Relative values are to be ignored, it says.
fn base_dir(env: &BTreeMap<String, String>, name: &str, under_home: &str) -> Option<PathBuf> {
    let set = variable(env, name).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| variable(env, "HOME").map(|home| Path::new(home).join(under_home)))
}

pub(super) fn merge(sources: Sources) -> Result<Config, ConfigError> {
    let Sources { file, env, flags } = sources;
    let mut layers = Layers::new();
    if let Some((path, text)) = &file {
        from_file(path, text, &env, &mut layers)?;
    }
    for key in keys::KEYS {
        let name = key.env();
        if let Some(text) = variable(&env, &name) {
            let value = parse(key, text, &env, &Origin::Env(name.clone()))?;
            layers.insert(key.path, Set { value, origin: Origin::Env(name) });
        }
    }
    for (written, text) in &flags {
        let key = keys::find(written).ok_or_else(|| unknown(written, Origin::Flag))?;
        layers.insert(key.path, Set { value: parse(key, text, &env, &Origin::Flag)?, origin: Origin::Flag });
    }
    let mut config = build(layers, &env)?;
    config.warnings.extend(mistyped(&env));
    Ok(config)
}

fn unknown(key: &str, origin: Origin) -> ConfigError {
    ConfigError::UnknownKey { key: key.to_owned(), origin, nearest: keys::nearest(key).map(str::to_owned) }
}

/// Reads the file's text into the layers. Errors name the line, never its text: it may hold a secret.
fn from_file(path: &Path, text: &str, env: &BTreeMap<String, String>, layers: &mut Layers) -> Result<(), ConfigError> {
    let line = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
    let origin = |at: usize| Origin::File { path: path.to_owned(), line: line(at) };
    let syntax = |error: toml::de::Error| ConfigError::Syntax {
        origin: origin(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    };
    let spans = DeTable::parse(text).map_err(syntax)?;
    let values: Table = toml::from_str(text).map_err(syntax)?;
    for (section, fields) in spans.get_ref() {
        let name: &str = section.get_ref();
        let Some(fields) = fields.get_ref().as_table().filter(|_| keys::is_section(name)) else {
            return Err(unknown(name, origin(section.span().start)));
        };
        for field in fields.keys() {
            let written = format!("{name}.{}", field.get_ref());
            let at = origin(field.span().start);
            let key = keys::find(&written).ok_or_else(|| unknown(&written, at.clone()))?;
            let value = values.get(name).and_then(|section| section.get(field.get_ref().as_ref()));
            let value = value.and_then(|value| typed(key, value)).map(|value| located(key, value, path.parent(), env));
            let value = value.ok_or_else(|| ConfigError::WrongType {
                key: key.path,
                origin: at.clone(),
                expected: key.kind.expected(),
            })?;
            layers.insert(key.path, Set { value, origin: at });
        }
    }
    Ok(())
}

/// The value if it is of the key's kind.
fn typed(key: &Key, value: &Value) -> Option<Value> {
    let fits = match key.kind {
        Kind::Text | Kind::Path | Kind::Secret => value.is_str(),
        Kind::Count => value.as_integer().is_some_and(|count| count >= 0),
        Kind::Usd => value.is_float() || value.is_integer(),
        Kind::Switch => value.is_bool(),
        Kind::List | Kind::Paths => value.as_array().is_some_and(|items| items.iter().all(Value::is_str)),
    };
    fits.then(|| value.clone())
}

/// Reads a value from the environment or the command line.
fn parse(key: &Key, text: &str, env: &BTreeMap<String, String>, origin: &Origin) -> Result<Value, ConfigError> {
    let text = text.trim();
    let value = match key.kind {
        Kind::Text | Kind::Path | Kind::Secret => Some(Value::from(text)),
        Kind::Count => text.replace('_', "").parse::<i64>().ok().filter(|count| *count >= 0).map(Value::from),
        Kind::Usd => text.parse::<f64>().ok().map(Value::from),
        Kind::Switch => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(Value::from(true)),
            "false" | "0" | "no" | "off" => Some(Value::from(false)),
            _ => None,
        },
        Kind::List | Kind::Paths => {
            let items: Vec<&str> = text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
            Some(Value::from(items))
        }
    };
    let wrong = || ConfigError::WrongType { key: key.path, origin: origin.clone(), expected: key.kind.expected() };
    value.map(|value| located(key, value, None, env)).ok_or_else(wrong)
}

/// A path made absolute where it can be: `~/` is the home directory, all else is relative to `base`.
fn located(key: &Key, value: Value, base: Option<&Path>, env: &BTreeMap<String, String>) -> Value {
    let locate = |text: &str| {
        let path = match (text.strip_prefix("~/"), variable(env, "HOME")) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            (Some(_) | None, _) => base.map_or_else(|| PathBuf::from(text), |base| base.join(text)),
        };
        Value::from(path.to_string_lossy().into_owned())
    };
    match (key.kind, value) {
        (Kind::Path, Value::String(text)) => locate(&text),
        (Kind::Paths, Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(locate).collect::<Vec<_>>().into()
        }
        (_, value) => value,
    }
}

/// Fills in the defaults and checks the whole.
fn build(mut layers: Layers, env: &BTreeMap<String, String>) -> Result<Config, ConfigError> {
    fill(&mut layers, "principal.tenant", Value::from("local"));
    fill(&mut layers, "principal.user", Value::from("local"));
    let state = base_dir(env, "XDG_STATE_HOME", ".local/state")
        .map_or_else(|| PathBuf::from(".agcore"), |dir| dir.join("agcore"));
    fill(&mut layers, "paths.state_dir", Value::from(state.to_string_lossy().into_owned()));
    let tier = apply_tier(&mut layers)?;
    let mut config = deserialize(&layers)?;
    config.tier = tier;
    config.warnings =
        config.limits.check().map_err(|limit| ConfigError::Limit { origin: limit_origin(&layers, &limit), limit })?;
    check_urls(&config, &layers)?;
    config.origins = layers.into_iter().map(|(path, set)| (path, set.origin)).collect();
    Ok(config)
}

fn fill(layers: &mut Layers, key: &'static str, value: Value) {
    layers.entry(key).or_insert(Set { value, origin: Origin::Default });
}

/// The tier is a word for a wall time: it becomes one, unless the time itself is set.
fn apply_tier(layers: &mut Layers) -> Result<Tier, ConfigError> {
    let Some(set) = layers.get(keys::TIER) else { return Ok(Tier::default()) };
    let tier = Tier::deserialize(set.value.clone()).map_err(|error| bad(keys::TIER, set, &error))?;
    let origin = set.origin.clone();
    let time = i64::try_from(tier.wall_time().0).unwrap_or(i64::MAX);
    layers.entry("limits.max_wall_time_ms").or_insert(Set { value: Value::from(time), origin });
    Ok(tier)
}

fn bad(key: &'static str, set: &Set, error: &toml::de::Error) -> ConfigError {
    ConfigError::BadValue { key, origin: set.origin.clone(), why: error.message().to_owned() }
}

fn deserialize(layers: &Layers) -> Result<Config, ConfigError> {
    let table = |wanted: &dyn Fn(&str) -> bool| {
        let mut table = Table::new();
        for (path, set) in layers.iter().filter(|(path, _)| wanted(path)) {
            if let Some((section, name)) = path.split_once('.') {
                let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
                if let Value::Table(section) = section {
                    section.insert(name.to_owned(), set.value.clone());
                }
            }
        }
        table
    };
    let read = |wanted: &dyn Fn(&str) -> bool| Config::deserialize(Value::Table(table(wanted)));
    read(&|path| path != keys::TIER).map_err(|error| {
        // Which one was it? The first that fails beside nothing but what is always there.
        let always = |path: &str| matches!(path, "principal.tenant" | "principal.user" | "paths.state_dir");
        let found = layers.iter().find_map(|(path, set)| {
            let alone = *path != keys::TIER && set.origin != Origin::Default;
            let error = if alone { read(&|other| other == *path || always(other)).err()? } else { return None };
            Some(bad(path, set, &error))
        });
        found.unwrap_or_else(|| ConfigError::Syntax { origin: Origin::Default, message: error.message().to_owned() })
    })
}

fn limit_origin(layers: &Layers, limit: &LimitError) -> Origin {
    let found = layers.iter().find(|(path, _)| path.strip_prefix("limits.") == Some(limit.key));
    found.map_or(Origin::Default, |(_, set)| set.origin.clone())
}

fn check_urls(config: &Config, layers: &Layers) -> Result<(), ConfigError> {
    for (key, url) in
        [("model.base_url", &config.model.base_url), ("telemetry.otlp_endpoint", &config.telemetry.otlp_endpoint)]
    {
        let Some(url) = url else { continue };
        let origin = layers.get(key).map_or(Origin::Default, |set| set.origin.clone());
        let bad = |why: &str| Err(ConfigError::BadValue { key, origin: origin.clone(), why: why.to_owned() });
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return bad("it must begin with `http://` or `https://` and name a host");
        }
        if url.password().is_some() {
            return bad("it holds a password; give secrets by reference");
        }
    }
    Ok(())
}

/// Variables that look like settings and are none. They may be secrets that a reference names, so they are no error.
fn mistyped(env: &BTreeMap<String, String>) -> Vec<String> {
    let known: Vec<String> = keys::KEYS.iter().map(Key::env).collect();
    env.keys()
        .filter(|name| name.starts_with("AGCORE_") && *name != FILE_VARIABLE && !known.contains(name))
        .filter_map(|name| {
            let near = known.iter().min_by_key(|known| strsim::osa_distance(known, name))?;
            let close = strsim::osa_distance(near, name) <= 3;
            close.then(|| format!("the environment variable {name} is no setting; did you mean {near}?"))
        })
        .collect()
}
