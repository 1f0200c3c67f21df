//! Operators and the real program: one process runs a turn, another one says what becomes of it.

use std::{
    fs,
    process::{Output, Stdio},
};

use agcore_testkit::{Delivery, FakeProvider, Script, answer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

struct World {
    provider: FakeProvider,
    folder: TempDir,
}

impl World {
    /// The service holds its answer back until the provider's gate is opened.
    async fn new() -> Self {
        let answers = [answer().call("orders.get_by_id", json!({"order": "A-1"})), answer().text("It is late.")];
        let script = Script::new(answers).by_position().delivery(Delivery::default());
        let provider = FakeProvider::start(script).await;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("catalog")).unwrap();
        let catalog = format!(
            "capabilities:
  - id: shop.order
    intent: orders.get_by_id
    description: Looks up an order by its number
    input_schema: {{ order: string }}
    mode: runtime_function
    risk_class: internal_read
    http: {{ method: POST, url: \"{}/effects/read?fault=stall\" }}
",
            provider.root_url()
        );
        fs::write(folder.path().join("catalog/shop.yaml"), catalog).unwrap();
        Self { provider, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agcore"));
        command.env_clear().env("HOME", self.folder.path()).current_dir(self.folder.path()).kill_on_drop(true);
        command.args(["--json", "--quiet", "--state-dir", "state", "--catalog", "catalog"]).args(arguments);
        if matches!(arguments, ["ask" | "turns", "resume" | "Is A-1 late?", ..]) {
            command.args(["--provider", "compatible", "--model", "m", "--api", "chat", "--base-url"]);
            command.arg(self.provider.base_url());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &[&str]) -> (i32, Value) {
        read(&self.command(arguments).output().await.unwrap())
    }

    /// Starts a turn, and comes back when its service works.
    async fn asked(&self) -> (tokio::process::Child, String) {
        let child = self.command(&["ask", "Is A-1 late?"]).spawn().unwrap();
        self.provider.release().arrived(1).await;
        let (_, turns) = self.run(&["turns", "list"]).await;
        (child, turns[0]["turn"].as_str().unwrap().to_owned())
    }
}

fn read(output: &Output) -> (i32, Value) {
    let document = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), document.unwrap_or_else(|_| json!(String::from_utf8_lossy(&output.stderr))))
}

#[tokio::test]
async fn another_process_pauses_a_turn_and_lets_it_go_on() {
    let world = World::new().await;
    let (child, turn) = world.asked().await;
    let (code, refused) = world.run(&["turns", "resume", &turn]).await;
    assert!(code == 1 && refused.to_string().contains("is driven by process"), "{refused}");
    let (_, paused) = world.run(&["turns", "pause", &turn, "--by", "ann", "--why", "wait"]).await;
    assert_eq!(paused["done"], json!(false));
    world.provider.release().open();
    let (code, document) = read(&child.wait_with_output().await.unwrap());
    assert_eq!((code, &document["state"], &document["paused"]["by"]), (4, &json!("paused"), &json!("ann")));
    let (code, document) = world.run(&["turns", "resume", &turn]).await;
    assert_eq!((code, &document["answer"], world.provider.effects().requests("read")), (0, &json!("It is late."), 1));
}

#[tokio::test]
async fn a_halt_holds_every_process_until_it_is_lifted() {
    let world = World::new().await;
    let (child, turn) = world.asked().await;
    let (code, _) = world.run(&["halt", "--by", "ann", "--why", "a leak"]).await;
    assert_eq!(code, 0);
    world.provider.release().open();
    let (code, _) = read(&child.wait_with_output().await.unwrap());
    assert_eq!((code, world.provider.requests().len()), (4, 1));
    let (code, held) = world.run(&["ask", "Is A-1 late?"]).await;
    assert_eq!((code, &held["state"], world.provider.requests().len()), (4, &json!("paused"), 1));
    let (_, status) = world.run(&["halt", "--status"]).await;
    assert_eq!((&status["halted"][0]["by"], &status["halted"][0]["why"]), (&json!("ann"), &json!("a leak")));
    world.run(&["halt", "--lift"]).await;
    let (code, document) = world.run(&["turns", "resume", &turn]).await;
    assert_eq!((code, &document["answer"]), (0, &json!("It is late.")));
}
