//! Budgets as the real program meets them: it stops before the money runs out, and says where it went.

use std::fs;

use agcore_testkit::{Delivery, FakeProvider, Script, answer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const CONFIG: &str = "
[quotas]
files = ['quotas.yaml']
[prices]
files = ['prices.yaml']
[principal]
tenant = 'acme'
user = 'ann'
";

/// A thousand tokens of output cost a cent, prompts cost nothing.
const PRICES: &str = "
compatible:
  as_of: '2026-12-01'
  source: a test
  models:
    - {model: 'm', rates: {input: 0, output: 10}}
";

const QUOTAS: &str = "
budgets:
  - {id: each-day, scope: user, window: day, usd: 0.5}
  - {id: research, scope: task, match: research, window: total, usd: 0.1}
";

async fn agcore(folder: &TempDir, provider: &FakeProvider, arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agcore"));
    command.env_clear().env("HOME", folder.path()).current_dir(folder.path()).kill_on_drop(true);
    command.args(["--json", "--quiet", "--state-dir", "state"]).args(arguments);
    if arguments.contains(&"ask") {
        command.args(["--provider", "compatible", "--model", "m", "--api", "chat", "--base-url"]);
        command.arg(provider.base_url());
    }
    let output = command.output().await.unwrap();
    let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    let value = serde_json::from_slice(text).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(text)));
    (output.status.code().unwrap(), value)
}

#[tokio::test]
async fn the_program_spends_within_its_budgets_and_shows_what_is_left() {
    let script = Script::new([answer().text("It is late."), answer().text("Still late.")]);
    let provider = FakeProvider::start(script.by_position().delivery(Delivery::default())).await;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("agcore.toml", CONFIG), ("prices.yaml", PRICES), ("quotas.yaml", QUOTAS)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let (code, answered) = agcore(&folder, &provider, &["ask", "Is A-1 late?"]).await;
    assert_eq!((code, &answered["answer"]), (0, &json!("It is late.")), "{answered}");
    let (code, shown) = agcore(&folder, &provider, &["budgets", "show", "each-day"]).await;
    let account = &shown["accounts"][0];
    assert_eq!((code, &account["subject"], &account["reserved_micro_usd"]), (0, &json!("acme/ann"), &json!(0)));
    let (spent, left) = (account["spent_micro_usd"].as_u64().unwrap(), account["left_micro_usd"].as_u64().unwrap());
    assert!(spent > 0 && spent + left == 500_000, "{account}");
    // At worst an answer has 16,384 tokens and costs sixteen cents: more than ten.
    let (code, refused) = agcore(&folder, &provider, &["ask", "--task", "research", "Is A-1 late?"]).await;
    assert_eq!((code, &refused["state"], &refused["shortfall"]["budget"]), (3, &json!("budget"), &json!("research")));
    let (code, listed) = agcore(&folder, &provider, &["budgets", "list"]).await;
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|budget| &budget["id"]).collect();
    assert_eq!((code, ids), (0, vec![&json!("each-day"), &json!("research")]));
    let (code, error) = agcore(&folder, &provider, &["budgets", "show", "reserch"]).await;
    assert_eq!((code, error["error"].as_str().unwrap().contains("there is no budget `reserch`")), (1, true));
}
