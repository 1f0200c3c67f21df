//! `agcore halt`: stops everything, says who did and why, and lifts it again.

use agcore::{store::Order, turn::Operator};
use anyhow::{Result, bail};
use clap::Args;

use super::{Global, exit, screen, setup};

/// Stop everything, or lift that again.
#[derive(Debug, Args)]
pub(crate) struct Halt {
    /// Why, for whoever finds the turns put down
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Who halts (default: the user of the configuration)
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Let calls start again
    #[arg(long, conflicts_with = "why")]
    lift: bool,
    /// Only say whether everything is halted, by whom and why
    #[arg(long, conflicts_with_all = ["lift", "why", "by"])]
    status: bool,
}

pub(crate) async fn run(global: &Global, halt: Halt) -> Result<u8> {
    let made = setup::runtime(global, &setup::ModelArgs::default()).await?;
    let runtime = &made.runtime;
    if halt.status {
        let halts = runtime.halts().await?;
        show(global, "halted", &halts, "nothing is halted")?;
    } else if halt.lift {
        let by = made.actor(halt.by);
        let lifted = runtime.lift_halt(Operator { by: &by, why: "" }).await?;
        show(global, "lifted", &lifted, "nothing was halted")?;
        let paused = runtime.turns(10_000).await?;
        let paused = paused.iter().filter(|head| head.state == agcore::store::TurnState::Paused);
        for head in paused.filter(|_| !global.json) {
            screen::line(format!("put down: {}  {}; go on with `agcore turns resume {0}`", head.turn, head.title));
        }
    } else {
        let Some(why) = halt.why.filter(|why| !why.trim().is_empty()) else {
            bail!("say why with --why: whoever finds the turns put down wants to know");
        };
        let by = made.actor(halt.by);
        let order = runtime.halt(Operator { by: &by, why: &why }).await?;
        show(global, "halted", &[order], "")?;
    }
    Ok(exit::OK)
}

fn show(global: &Global, what: &str, orders: &[Order], none: &str) -> Result<()> {
    if global.json {
        return screen::json(&serde_json::json!({ what: orders }));
    }
    if orders.is_empty() {
        screen::line(none);
    }
    for order in orders {
        let why = if order.why.is_empty() { String::new() } else { format!(": {}", order.why) };
        screen::line(format!("{what}  by {} since {}{why}", order.by, order.at));
    }
    Ok(())
}
