//! Definitions from outside: what they are, what changed, and who agrees.

use agcore::{
    capability::{External, Origin, Registry, Standing, lint, visible},
    turn::Operator,
    types::CapabilityId,
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::super::{Global, exit, screen, setup};

/// Which definition, who agrees to it, and why.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The capabilities
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The hash that was shown: refuse when the definition is another one by now. For one capability only
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Who agrees (default: the user of the configuration)
    #[arg(long)]
    by: Option<String>,
    /// Why, for the record
    #[arg(long, default_value = "")]
    why: String,
}

/// Which definition, and who takes it back.
#[derive(Debug, Args)]
pub(crate) struct Withdraw {
    /// The capability
    id: String,
    /// Who takes it back (default: the user of the configuration)
    #[arg(long)]
    by: Option<String>,
    /// Why, for the record
    #[arg(long, default_value = "")]
    why: String,
}

pub(crate) fn list(global: &Global, registry: &Registry, id: Option<&str>) -> Result<u8> {
    let external = registry.external().iter();
    let found: Vec<&External> = external.filter(|one| id.is_none_or(|id| one.capability.id.as_str() == id)).collect();
    if let (Some(id), []) = (id, found.as_slice()) {
        bail!("`{id}` is no capability from outside; `agcore tools pins` lists those");
    }
    if global.json {
        screen::json(&found.iter().map(|external| document(external)).collect::<Vec<_>>())?;
        return Ok(exit::OK);
    }
    if found.is_empty() {
        screen::line("nothing comes from outside; see `catalog.external` in the configuration");
    }
    for one in found {
        let capability = &one.capability;
        screen::line(format!("{:<9} {:<32} {}  {}", one.standing.as_str(), capability.id, hash(one), one.source));
        for finding in suspicious(one) {
            screen::line(format!("  beware: {finding}"));
        }
        if id.is_some() {
            show(one)?;
        }
    }
    Ok(exit::OK)
}

fn hash(external: &External) -> String {
    external.capability.contract_hash()
}

/// What changed, or the whole contract where nobody has agreed to any.
fn show(external: &External) -> Result<()> {
    match &external.standing {
        Standing::Pinned => screen::line("it is as it was agreed to"),
        Standing::Damaged => screen::line("what was agreed to cannot be read any more: look at it as if it were new"),
        Standing::Changed(changes) => changes.iter().for_each(|change| screen::line(change.to_string())),
        Standing::New => {}
    }
    if matches!(external.standing, Standing::New | Standing::Damaged) {
        let Value::Object(contract) = serde_json::to_value(external.capability.as_ref())? else { return Ok(()) };
        contract.iter().for_each(|(key, value)| screen::line(format!("+ /{key}: {}", visible(value))));
    }
    screen::line(format!("agree with `agcore tools approve {} --hash {}`", external.capability.id, hash(external)));
    Ok(())
}

/// What a scan for planted instructions says of the texts that a model would read.
fn suspicious(external: &External) -> Vec<String> {
    let findings = lint(&external.capability, Origin::Foreign).into_iter();
    let planted = findings.filter(|finding| matches!(finding.code, "planted_instructions" | "hidden_characters"));
    planted.map(|finding| finding.message).collect()
}

fn document(external: &External) -> Value {
    json!({
        "capability": external.capability.id, "source": external.source, "hash": hash(external),
        "standing": external.standing, "beware": suspicious(external),
    })
}

pub(crate) async fn approve(global: &Global, approve: Approve) -> Result<u8> {
    if approve.hash.is_some() && approve.ids.len() > 1 {
        bail!("--hash is of one definition; agree to one at a time with it");
    }
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(approve.by), made.runtime);
    let mut pins = Vec::new();
    for id in &approve.ids {
        let operator = Operator { by: &by, why: &approve.why };
        pins.push(runtime.approve_definition(&CapabilityId::new(id)?, approve.hash.as_deref(), operator).await?);
    }
    if global.json {
        let document = |pin: &agcore::types::Pin| json!({"capability": pin.capability, "hash": pin.hash, "by": pin.by});
        screen::json(&pins.iter().map(document).collect::<Vec<_>>())?;
    } else {
        pins.iter().for_each(|pin| screen::line(format!("agreed to {} as {}", pin.capability, pin.hash)));
    }
    Ok(exit::OK)
}

pub(crate) async fn withdraw(global: &Global, withdraw: Withdraw) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let (by, runtime) = (made.actor(withdraw.by), made.runtime);
    let operator = Operator { by: &by, why: &withdraw.why };
    if !runtime.withdraw_definition(&CapabilityId::new(&withdraw.id)?, operator).await? {
        bail!("nobody had agreed to `{}`", withdraw.id);
    }
    if global.json {
        screen::json(&json!({"capability": withdraw.id, "withdrawn_by": by}))?;
    } else {
        screen::line(format!("{} is held back from now on", withdraw.id));
    }
    Ok(exit::OK)
}
