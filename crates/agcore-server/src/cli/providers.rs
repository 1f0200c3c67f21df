//! `agcore providers`: what is known of each provider, and whether one answers.

use std::sync::Arc;

use agcore::{
    llm::{CallLimits, Conversation, HttpModel, HttpModelConfig, Model, ModelRequest, Profile},
    net::{HttpClient, HttpConfig},
    secret::SecretRef,
    types::{Api, DurationMs, Entry, ModelName, UserPart},
};
use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Global, exit, screen};

#[derive(Debug, Subcommand)]
pub(crate) enum Providers {
    /// List the providers: wire formats, default model, key, and whether its key is set
    List,
    /// Show one provider: addresses, wire formats, hosted tools with their parameters, prices, sources
    Show {
        /// Its name
        name: String,
    },
    /// Make one tiny call with the key from the environment and report what came back
    Check {
        /// Its name
        name: String,
        /// The model (default: the provider's)
        #[arg(long)]
        model: Option<String>,
        /// The wire format (default: the provider's)
        #[arg(long)]
        api: Option<String>,
        /// Another address
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
}

pub(crate) async fn run(global: &Global, command: Providers) -> Result<u8> {
    match command {
        Providers::List => list(global),
        Providers::Show { name } => show(global, &name),
        Providers::Check { name, model, api, base_url } => check(global, &name, model, api, base_url).await,
    }
}

fn by_name(name: &str) -> Result<&'static Profile> {
    let known = || Profile::shipped().iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ");
    Profile::by_name(name).ok_or_else(|| anyhow!("there is no provider `{name}`; there are {}", known()))
}

fn key_is_set(profile: &Profile) -> bool {
    profile.key_env.as_ref().is_some_and(|name| SecretRef::Env(name.clone()).resolve().is_ok())
}

fn list(global: &Global) -> Result<u8> {
    if global.json {
        let all: Vec<Value> = Profile::shipped().iter().map(summary).collect();
        screen::json(&all)?;
        return Ok(exit::OK);
    }
    for profile in Profile::shipped() {
        let apis: Vec<&str> = profile.apis.keys().map(|api| api.as_str()).collect();
        let key = profile.key_env.as_deref().unwrap_or("-");
        let set = if key_is_set(profile) { "set" } else { "not set" };
        let model = profile.default_model.as_ref().map_or("-", |model| model.as_str());
        screen::line(format!("{:<14} {model:<24} {key:<20} {set:<8} {}", profile.name, apis.join(", ")));
    }
    Ok(exit::OK)
}

fn summary(profile: &Profile) -> Value {
    json!({
        "name": profile.name, "as_of": profile.as_of, "default_model": profile.default_model,
        "default_api": profile.default_api, "apis": profile.apis.keys().collect::<Vec<_>>(),
        "key_env": profile.key_env, "key_is_set": key_is_set(profile),
    })
}

fn hosted(profile: &Profile, api: Api) -> Vec<Value> {
    let settings = profile.apis.get(&api);
    let spelt = settings.into_iter().flat_map(|settings| &settings.hosted);
    spelt
        .map(|(kind, spelling)| {
            json!({
                "kind": kind, "tool": spelling.tool, "body": spelling.body, "also": spelling.also,
                "params": spelling.params.keys().collect::<Vec<_>>(), "required": spelling.required,
                "headers": spelling.headers, "read_only": spelling.read_only,
                "unconfirmed": spelling.unconfirmed, "models": spelling.models,
                "not_beside_functions": spelling.alone, "note": spelling.note,
            })
        })
        .collect()
}

fn show(global: &Global, name: &str) -> Result<u8> {
    let profile = by_name(name)?;
    if global.json {
        let mut all = summary(profile);
        if let Some(all) = all.as_object_mut() {
            all.insert("sources".to_owned(), json!(profile.sources));
            all.insert("base_urls".to_owned(), json!(profile.base_urls));
            let tools = profile.apis.keys().map(|api| (api.as_str().to_owned(), json!(hosted(profile, *api))));
            all.insert("hosted".to_owned(), tools.collect::<serde_json::Map<_, _>>().into());
            all.insert("prices".to_owned(), serde_json::to_value(&profile.prices)?);
        }
        screen::json(&all)?;
        return Ok(exit::OK);
    }
    screen::line(format!("{} (checked {}; {})", profile.name, profile.as_of, profile.sources.join(", ")));
    for (region, url) in &profile.base_urls {
        screen::line(format!("  {region:<8} {url}"));
    }
    for (api, settings) in &profile.apis {
        screen::line(format!("{api}: POST …{}", settings.path));
        for (kind, spelling) in &settings.hosted {
            let params: Vec<&str> = spelling.params.keys().map(String::as_str).collect();
            let tool = spelling.tool.as_ref().map_or_else(|| json!(spelling.body), |tool| json!(tool));
            screen::line(format!("  {kind:<12} {tool}  {}", params.join(", ")));
            if let Some(note) = &spelling.note {
                screen::line(format!("  {:<12} {note}", ""));
            }
        }
    }
    if let Some(prices) = &profile.prices {
        screen::line(format!("prices of {} from {}", prices.as_of, prices.source));
    }
    Ok(exit::OK)
}

async fn check(
    global: &Global,
    name: &str,
    model: Option<String>,
    api: Option<String>,
    base_url: Option<String>,
) -> Result<u8> {
    let profile = by_name(name)?;
    let key = match &profile.key_env {
        Some(variable) if base_url.is_none() => Some(SecretRef::Env(variable.clone()).resolve()?),
        Some(variable) => SecretRef::Env(variable.clone()).resolve().ok(),
        None => None,
    };
    let api = api.map(|word| Api::ALL.iter().copied().find(|api| api.as_str() == word).context("no such wire format"));
    let base_url = base_url.map(|url| url.parse()).transpose().context("--base-url is no address")?;
    let limits = CallLimits::default();
    let model = model.map(ModelName::new).transpose()?;
    let config = HttpModelConfig { api: api.transpose()?, model, base_url, key, limits, ..HttpModelConfig::default() };
    let client = HttpClient::new(&HttpConfig::default())?;
    let model: Arc<dyn Model> = Arc::new(HttpModel::new(profile, config, client)?);
    let request = ModelRequest { max_output_tokens: Some(64), ..ModelRequest::default() };
    let mut conversation = Conversation::from(vec![Entry::User(vec![UserPart::Text("Say: ready".to_owned())])]);
    let begun = std::time::Instant::now();
    let result = model.call(&request, &mut conversation, &(), &CancellationToken::new()).await;
    let took = DurationMs::from(begun.elapsed());
    let origin = model.origin();
    match result {
        Ok(reply) => {
            let (text, _) = reply.text_and_citations();
            let cost = reply.usage.as_ref().and_then(|usage| model.price(usage));
            if global.json {
                screen::json(&json!({"ok": true, "model": origin.model, "api": origin.api, "took_ms": took,
                    "text": text, "usage": reply.usage, "cost_micro_usd": cost}))?;
            } else {
                let cost = cost.map_or("at an unknown price".to_owned(), |cost| format!("for {cost}"));
                screen::line(format!(
                    "{name} answers: {} through {} in {took}, {cost}: {}",
                    origin.model,
                    origin.api,
                    text.trim()
                ));
            }
            Ok(exit::OK)
        }
        Err(error) => {
            if global.json {
                screen::json(&json!({"ok": false, "model": origin.model, "api": origin.api, "error": error}))?;
            } else {
                screen::line(format!("{name} does not answer: {error}"));
            }
            Ok(exit::FAILED)
        }
    }
}
