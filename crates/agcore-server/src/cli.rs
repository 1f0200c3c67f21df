//! The command line: what can be typed, and which function answers it.

mod approvals;
mod ask;
mod audit;
mod budgets;
mod config;
mod halt;
mod intent;
mod policy;
mod providers;
mod route;
mod screen;
mod setup;
mod tools;
mod traces;
mod turns;
mod wire;
mod worker;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

/// Exit codes, as `--help` lists them.
pub(crate) mod exit {
    /// The command did what it was asked.
    pub(crate) const OK: u8 = 0;
    /// Something is wrong: configuration, a file, the database.
    pub(crate) const FAILED: u8 = 1;
    /// The turn ended without an answer: nothing was found, a limit, a failed model.
    pub(crate) const NO_ANSWER: u8 = 3;
    /// The turn waits for a person: to decide a call, or to let it go on.
    pub(crate) const WAITING: u8 = 4;
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done; for `ask`: answered
  1  something is wrong (configuration, a file, the database); the message says what and where
  2  the command line cannot be understood
  3  the turn ended without an answer (nothing found, a limit, the model failed)
  4  the turn waits for a person (see `agcore approvals list`), or was paused (see `agcore turns list`)";

/// agcore: the tool runtime for agents.
#[derive(Debug, Parser)]
#[command(name = "agcore", version, about = "The tool runtime for agents", after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The configuration file (default: ./agcore.toml, then ~/.config/agcore/config.toml)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where journals, indexes and whole results are kept (default: ~/.local/state/agcore)
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// A folder of capability catalogs in YAML; may override shipped capabilities
    #[arg(long, global = true, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    /// A folder of capability catalogs that somebody outside writes; see `agcore tools pins`
    #[arg(long, global = true, value_name = "DIR")]
    external_catalog: Vec<PathBuf>,
    /// A file, or a folder of files, with policy rules in YAML
    #[arg(long, global = true, value_name = "PATH")]
    policy: Vec<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Ask a question, over a folder of files or with the tools of the catalog
    Ask(Box<ask::Ask>),
    /// List, show and check capabilities; agree to those from outside
    #[command(subcommand)]
    Tools(tools::Tools),
    /// Show which intents a text has, and whether it must be looked up
    Intent(intent::IntentArgs),
    /// Test, explain, look over and try the policy rules
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Explain which capability would serve an intent, and why
    #[command(subcommand)]
    Route(route::RouteCommand),
    /// List and decide the calls that wait for a person
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// List what was decided and done, and check that the record is as it was written
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Stop everything: no model or tool call of any process on this state starts until it is lifted
    Halt(halt::Halt),
    /// List and show budgets: what is spent, set aside and left
    #[command(subcommand)]
    Budgets(budgets::Budgets),
    /// List, show, resume, pause and cancel turns, and change their limits
    #[command(subcommand)]
    Turns(turns::Turns),
    /// List and show traces: what was decided, what ran, what it cost
    #[command(subcommand)]
    Traces(traces::Traces),
    /// List and show the providers, and check whether one answers
    #[command(subcommand)]
    Providers(providers::Providers),
    /// Build the exact request for a provider, or read what a provider sent
    #[command(subcommand)]
    Wire(wire::Wire),
    /// Show every setting with its value and where it came from
    Config,
    /// Run a parser of untrusted bytes, contained (used by agcore itself)
    #[command(hide = true)]
    Worker {
        /// Which parser
        kind: String,
    },
}

/// Runs what was typed.
pub(crate) fn run() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    if let Command::Worker { kind } = &command {
        return worker::run(kind);
    }
    let json = global.json;
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => finish(runtime.block_on(dispatch(&global, command)), json),
        Err(error) => finish(Err(error.into()), json),
    }
}

async fn dispatch(global: &Global, command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Ask(ask) => ask::run(global, *ask).await,
        Command::Tools(tools) => tools::run(global, tools).await,
        Command::Intent(args) => intent::run(global, args),
        Command::Policy(policy) => policy::run(global, policy).await,
        Command::Route(route) => route::run(global, route).await,
        Command::Approvals(approvals) => approvals::run(global, approvals).await,
        Command::Audit(audit) => audit::run(global, audit).await,
        Command::Budgets(budgets) => budgets::run(global, budgets).await,
        Command::Halt(halt) => halt::run(global, halt).await,
        Command::Turns(turns) => turns::run(global, turns).await,
        Command::Traces(traces) => traces::run(global, traces).await,
        Command::Providers(providers) => providers::run(global, providers).await,
        Command::Wire(wire) => wire::run(&wire),
        Command::Config => config::run(global),
        Command::Worker { kind } => anyhow::bail!("worker `{kind}` runs by itself"),
    }
}

/// An error goes to standard error, as text or as the JSON that was asked for.
fn finish(result: anyhow::Result<u8>, json: bool) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            screen::error(&error, json);
            ExitCode::from(exit::FAILED)
        }
    }
}
