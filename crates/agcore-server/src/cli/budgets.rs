//! `agcore budgets`: what is spent, set aside and left.

use agcore::{
    clock::{Clock, SystemClock},
    quota::{Budget, Quotas, UnknownPrice},
    store::{Accounts, Balance, SqliteJournal},
    types::{MicroUsd, Timestamp},
};
use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Budgets {
    /// List the budgets, each with the accounts that spent most in its window
    List {
        /// At most this many accounts of each budget
        #[arg(long, default_value_t = 10)]
        limit: u32,
    },
    /// Show one budget with its accounts
    Show {
        /// Its id
        id: String,
        /// At most this many accounts
        #[arg(long, default_value_t = 1000)]
        limit: u32,
    },
}

pub(crate) async fn run(global: &Global, command: Budgets) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let files = setup::quotas(&config)?;
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let quotas = Quotas::load(&files)?;
    let store = SqliteJournal::open(&config.paths.state_dir.join("agcore.db")).await?;
    let now = SystemClock.now();
    match command {
        Budgets::List { limit } => list(global, &quotas, &store, now, limit).await,
        Budgets::Show { id, limit } => show(global, &quotas, &store, now, &id, limit).await,
    }
}

async fn list(global: &Global, quotas: &Quotas, store: &dyn Accounts, now: Timestamp, limit: u32) -> Result<u8> {
    let mut documents = Vec::new();
    for budget in quotas.budgets() {
        let accounts = store.balances(&budget.id, budget.window.start(now), now, limit).await?;
        if global.json {
            documents.push(document(budget, &accounts, now));
        } else {
            print(budget, &accounts, now);
        }
    }
    if global.json {
        screen::json(&documents)?;
    } else if quotas.budgets().is_empty() {
        screen::line("there are no budgets; `quotas.files` names the files with them (docs/budgets.md)");
    }
    Ok(exit::OK)
}

async fn show(
    global: &Global,
    quotas: &Quotas,
    store: &dyn Accounts,
    now: Timestamp,
    id: &str,
    limit: u32,
) -> Result<u8> {
    let Some(budget) = quotas.budgets().iter().find(|budget| budget.id == id) else {
        bail!("there is no budget `{id}`; `agcore budgets list` shows those there are");
    };
    let accounts = store.balances(&budget.id, budget.window.start(now), now, limit).await?;
    if global.json {
        screen::json(&document(budget, &accounts, now))?;
    } else {
        print(budget, &accounts, now);
    }
    Ok(exit::OK)
}

/// What neither is spent nor set aside.
fn left(budget: &Budget, balance: &Balance) -> MicroUsd {
    budget.amount.saturating_sub(balance.spent + balance.reserved)
}

fn document(budget: &Budget, accounts: &[Balance], now: Timestamp) -> Value {
    let accounts: Vec<Value> = accounts
        .iter()
        .map(|balance| {
            json!({
                "subject": balance.account.subject,
                "spent_micro_usd": balance.spent,
                "reserved_micro_usd": balance.reserved,
                "left_micro_usd": left(budget, balance),
            })
        })
        .collect();
    json!({
        "id": budget.id,
        "scope": budget.scope,
        "match": budget.pattern,
        "window": budget.window,
        "window_start": budget.window.start(now).to_string(),
        "turns_at": budget.window.end(now).map(|end| end.to_string()),
        "limit_micro_usd": budget.amount,
        "unknown_price": budget.unknown_price,
        "accounts": accounts,
    })
}

fn print(budget: &Budget, accounts: &[Balance], now: Timestamp) {
    let until = budget.window.end(now).map_or_else(|| "for good".to_owned(), |end| format!("until {end}"));
    let price = match budget.unknown_price {
        UnknownPrice::Refuse => "",
        UnknownPrice::Flag => "  (models without a known price are let through)",
    };
    let Budget { id, scope, window, amount, pattern, .. } = budget;
    let (scope, window) = (scope.as_str(), window.as_str());
    screen::line(format!("{id}  {amount} per {window} for {scope} {pattern}, {until}{price}"));
    for balance in accounts {
        let Balance { account, spent, reserved } = balance;
        let left = left(budget, balance);
        screen::line(format!("    {:<32}  spent {spent}  reserved {reserved}  left {left}", account.subject));
    }
    if accounts.is_empty() {
        screen::line("    nothing spent yet");
    }
}
