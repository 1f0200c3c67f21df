//! One turn, repeated: what a turn costs with everything on that a user gets by default (gate, router, journal,
//! projector, budgets, trace).
//!
//! `cargo run --release --example turn_bench -- --base http://127.0.0.1:9100 --model mock-k4-r1 --n 2000 --conc 64`
//!
//! `--tools N` registers N functions (`noop`, `tool_1`, …) of one integer parameter `i`; `--toolms MS` makes them sleep,
//! `--out BYTES` makes them answer that many bytes instead of `ok I`; `--store memory|sqlite` says where journals go.
//! Prints one JSON line.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use agcore::{
    capability::Capability,
    config::Limits,
    llm::{CallLimits, HttpModel, HttpModelConfig, Profile},
    net::{HttpClient, HttpConfig},
    runtime::Runtime,
    store::SqliteJournal,
    turn::TurnEnd,
    types::{Api, DurationMs, Intent, ModelName, Region, RiskClass, Tokens, ToolError},
};
use anyhow::{Context, Result, bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

// As the program `agcore` has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Clone)]
struct Options {
    base: String,
    model: String,
    n: usize,
    conc: usize,
    warm: usize,
    tools: usize,
    toolms: u64,
    out: usize,
    store: String,
}

fn options() -> Result<Options> {
    let mut options = Options {
        base: "http://127.0.0.1:9100".to_owned(),
        model: "mock-k4-r1".to_owned(),
        n: 200,
        conc: 1,
        warm: 20,
        tools: 4,
        toolms: 0,
        out: 0,
        store: "memory".to_owned(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().with_context(|| format!("`{flag}` needs a value"))?;
        match flag.as_str() {
            "--base" => options.base = value,
            "--model" => options.model = value,
            "--store" => options.store = value,
            "--n" => options.n = value.parse()?,
            "--conc" => options.conc = value.parse()?,
            "--warm" => options.warm = value.parse()?,
            "--tools" => options.tools = value.parse()?,
            "--toolms" => options.toolms = value.parse()?,
            "--out" => options.out = value.parse()?,
            other => bail!("unknown flag `{other}`"),
        }
    }
    Ok(options)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Index {
    /// index
    i: i64,
}

async fn runtime(options: &Options, folder: &std::path::Path) -> Result<Runtime> {
    let profile = Profile::by_name("compatible").context("no profile for compatible servers")?;
    let config = HttpModelConfig {
        model: Some(ModelName::new(&options.model)?),
        api: Some(Api::Responses),
        base_url: Some(format!("{}/v1", options.base).parse()?),
        region: Region::Global,
        key: None,
        prices: None,
        limits: CallLimits::default(),
    };
    let model = HttpModel::new(profile, config, HttpClient::new(&HttpConfig::default())?)?;
    // A long loop asks for as many rounds as the script of the model has; everything else is as shipped.
    let limits = Limits {
        max_tool_iterations: 1000,
        max_tool_calls_per_turn: 10_000,
        max_context_tokens_from_tools: Tokens(10_000_000),
        max_wall_time: DurationMs(600_000),
        ..Limits::default()
    };
    let mut builder = Runtime::builder().model(Arc::new(model)).limits(limits);
    if options.store == "sqlite" {
        builder = builder.journal(Arc::new(SqliteJournal::open(&folder.join("bench.db")).await?));
    }
    for number in 0..options.tools {
        let name = if number == 0 { "noop".to_owned() } else { format!("tool_{number}") };
        let (toolms, out) = (options.toolms, options.out);
        // The scripted model asks for the same call again and again on purpose.
        let contract = Capability::function(name)
            .description("Does the thing: looks up a record and returns it.")
            .risk(RiskClass::ReadOnly)
            .polling();
        builder = builder.function_as(contract, move |index: Index, _| async move {
            if toolms > 0 {
                tokio::time::sleep(Duration::from_millis(toolms)).await;
            }
            Ok::<_, ToolError>(if out > 0 { "x".repeat(out) } else { format!("ok {}", index.i) })
        });
    }
    Ok(builder.build()?)
}

async fn one(runtime: &Runtime, wanted: &Intent) -> Result<()> {
    let outcome = runtime.turn("Do the thing please").intents([wanted.clone()]).run().await?;
    match outcome.end {
        TurnEnd::Ended(ended) => {
            ensure!(ended.answer.starts_with("lorem"), "unexpected answer: {} {:?}", ended.answer, ended.notices);
            Ok(())
        }
        TurnEnd::Waiting(_) | TurnEnd::Paused(_) => bail!("a turn waits for a person"),
    }
}

/// Runs `n` turns, `conc` at a time; the time each took in microseconds, sorted.
async fn batch(runtime: &Runtime, wanted: &Intent, n: usize, conc: usize) -> Result<Vec<u64>> {
    let left = Arc::new(AtomicI64::new(i64::try_from(n)?));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..conc.max(1) {
        let (runtime, wanted, left) = (runtime.clone(), wanted.clone(), left.clone());
        workers.spawn(async move {
            let mut took = Vec::new();
            while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                let begun = Instant::now();
                one(&runtime, &wanted).await?;
                took.push(u64::try_from(begun.elapsed().as_micros())?);
            }
            anyhow::Ok(took)
        });
    }
    let mut all = Vec::with_capacity(n);
    while let Some(took) = workers.join_next().await {
        all.extend(took??);
    }
    all.sort_unstable();
    Ok(all)
}

/// CPU time of this process, all its living threads, in microseconds.
fn cpu_us() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanos = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.filter_map(|task| nanos(task.ok()?)).sum::<f64>() / 1e3
}

fn status_mb(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    let kb: f64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    (kb / 102.4).round() / 10.0
}

fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0)
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the result line is what the program is for")]
async fn main() -> Result<()> {
    let options = options()?;
    let folder = tempfile::tempdir()?;
    let runtime = runtime(&options, folder.path()).await?;
    let wanted = Intent::new("noop")?;
    let idle_mb = status_mb("VmRSS:");
    if options.warm > 0 {
        batch(&runtime, &wanted, options.warm, options.conc.min(options.warm)).await?;
    }
    let (cpu, begun) = (cpu_us(), Instant::now());
    let took = batch(&runtime, &wanted, options.n, options.conc).await?;
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_us() - cpu);
    let turns = options.n as f64;
    println!(
        "{}",
        serde_json::json!({
            "label": format!("agcore-{}", options.store),
            "n": options.n,
            "conc": options.conc,
            "model": options.model,
            "tools": options.tools,
            "wall_s": (wall * 1e4).round() / 1e4,
            "turns_per_s": (turns / wall * 10.0).round() / 10.0,
            "cpu_us_per_turn": (cpu / turns * 10.0).round() / 10.0,
            "p50_us": percentile(&took, 50),
            "p99_us": percentile(&took, 99),
            "idle_mb": idle_mb,
            "rss_mb": status_mb("VmRSS:"),
            "hwm_mb": status_mb("VmHWM:"),
        })
    );
    Ok(())
}
