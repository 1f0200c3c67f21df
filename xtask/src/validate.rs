//! Every request of a matrix of providers, tools and histories, checked by the providers' own SDK types.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use agcore::{
    llm::{
        Profile,
        wire::{self, BuildError, BuiltRequest},
    },
    types::Api,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

mod matrix;

/// Which validator reads the requests of a provider's wire format, and as what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Checker {
    /// The types of the `openai` package, with a vendor's known deviations.
    OpenAi { kind: &'static str, dialect: &'static str },
    /// The types of the other packages.
    Other(&'static str),
}

fn checker(provider: &str, api: Api, built: &BuiltRequest) -> Option<Checker> {
    let vendor = match provider {
        "xai" => "xai",
        "aliyun" => "aliyun",
        _ => "openai",
    };
    match (provider, api) {
        ("deepseek", Api::Chat) => Some(Checker::Other("deepseek.chat_request")),
        ("deepseek-beta", Api::Chat) => Some(Checker::Other("deepseek.beta_chat_request")),
        ("zai", Api::Chat) => Some(Checker::Other("zai.chat_request")),
        ("mistral", Api::Chat) => Some(Checker::Other("mistral.chat_request")),
        (_, Api::Conversations) => Some(Checker::Other("mistral.conversation_request")),
        (_, Api::Responses) => Some(Checker::OpenAi { kind: "responses-request", dialect: vendor }),
        (_, Api::Chat) => Some(Checker::OpenAi { kind: "chat-request", dialect: vendor }),
        // A tool that only DeepSeek has.
        (_, Api::Messages) if built.body.get().contains("\"deepseek_read_url\"") => None,
        (_, Api::Messages) if built.headers.contains_key("anthropic-beta") => {
            Some(Checker::Other("anthropic.beta_request"))
        }
        (_, Api::Messages) => Some(Checker::Other("anthropic.request")),
        (_, Api::GenerateContent) => Some(Checker::Other("gemini.request")),
        (_, Api::Interactions) => Some(Checker::Other("gemini.interaction_request")),
        _ => None,
    }
}

/// Recorded replies that go back byte for byte and that the SDK's types refuse all the same: fields of a backend of its
/// own, item shapes of xAI's first generation, and a patch that only a client could apply.
const KNOWN: [&str; 6] = [
    "openai-codex-v0",
    "openai-apply-patch-tool",
    "fixtures-xai-web-search-tool",
    "fixtures-xai-x-search-tool",
    "xai-code-execution-tool",
    "fixtures-xai-code-execution-tool",
];

/// One request of the matrix.
struct Case {
    name: String,
    body: String,
}

/// The requests by who checks them.
#[derive(Default)]
struct Built {
    groups: BTreeMap<Checker, Vec<Case>>,
    refused: Vec<String>,
    unchecked: u32,
}

impl Built {
    fn add(&mut self, profile: &Profile, api: Api, name: &str, form: &Value) -> Result<()> {
        let name = format!("{} {api} {name}", profile.name);
        match wire::build(profile, Some(api), &form.to_string()) {
            Ok(built) => match checker(profile.name.as_str(), api, &built) {
                Some(checker) => {
                    let body = built.body.get().to_owned();
                    self.groups.entry(checker).or_default().push(Case { name, body });
                }
                None => self.unchecked += 1,
            },
            Err(BuildError::Wire(error)) => self.refused.push(format!("{name}: {error}")),
            Err(error) => return Err(error).with_context(|| name),
        }
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the count is what the command is for")]
pub(crate) fn run(validators: &Path, python: &Path, traffic: &Path, keep: Option<PathBuf>) -> Result<()> {
    ensure!(validators.is_dir(), "`{}` is no folder with the validators", validators.display());
    let mut built = Built::default();
    for profile in Profile::shipped() {
        for api in profile.apis.keys().copied() {
            for (name, form) in matrix::requests(profile, api)? {
                built.add(profile, api, &name, &form)?;
            }
        }
    }
    if traffic.is_dir() {
        for (profile, api, name, form) in matrix::recorded(traffic)? {
            built.add(profile, api, &name, &form)?;
        }
    } else {
        println!("skipped: no recordings at `{}`", traffic.display());
    }
    let Built { groups, refused, unchecked } = built;
    let scratch = tempfile::tempdir()?;
    let folder = keep.unwrap_or_else(|| scratch.path().to_owned());
    let (mut total, mut excused, mut invalid) = (0, 0, Vec::new());
    for (checker, cases) in &groups {
        let wrong = check(checker, cases, validators, python, &folder)?;
        println!("{checker:?}: {} requests, {} invalid", cases.len(), wrong.len());
        total += cases.len();
        let (known, new): (Vec<String>, Vec<String>) =
            wrong.into_iter().partition(|line| KNOWN.iter().any(|name| line.contains(name)));
        excused += known.len();
        invalid.extend(new);
    }
    for line in &invalid {
        println!("INVALID {line}");
    }
    println!(
        "{total} requests checked, {} invalid; {excused} recorded items known to differ from the SDK's types; {} refused \
         before sending; {unchecked} without a validator",
        invalid.len(),
        refused.len()
    );
    if std::env::var_os("VERBOSE").is_some() {
        refused.iter().for_each(|line| println!("refused {line}"));
    }
    ensure!(total > 300, "the matrix is too small: something is missing");
    ensure!(invalid.is_empty(), "{} requests are invalid", invalid.len());
    Ok(())
}

fn check(checker: &Checker, cases: &[Case], validators: &Path, python: &Path, folder: &Path) -> Result<Vec<String>> {
    match checker {
        Checker::Other(kind) => {
            let file = folder.join(format!("{kind}.jsonl"));
            let bodies: Vec<String> = cases.iter().map(|case| case.body.replace(['\n', '\r'], " ")).collect();
            fs::write(&file, bodies.join("\n"))?;
            let mut command = Command::new(python);
            command.arg(validators.join("others_validate.py")).arg(kind).arg(&file).arg("--jsonl");
            verdicts(command, cases, |verdict| (verdict["ok"] == true, verdict["issues"].to_string()))
        }
        Checker::OpenAi { kind, dialect } => {
            let mut command = Command::new(python);
            command.arg(validators.join("openai_validate.py")).args(["--json", "--dialect", dialect, kind]);
            for (at, case) in cases.iter().enumerate() {
                let file = folder.join(format!("{kind}-{dialect}-{at}.json"));
                fs::write(&file, &case.body)?;
                command.arg(file);
            }
            verdicts(command, cases, |verdict| (verdict["valid"] == true, verdict["findings"].to_string()))
        }
    }
}

/// Runs a validator that prints one line a case, and names the cases it refuses.
fn verdicts(mut command: Command, cases: &[Case], read: impl Fn(&Value) -> (bool, String)) -> Result<Vec<String>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    ensure!(
        lines.len() == cases.len(),
        "the validator gave {} verdicts for {} requests: {}",
        lines.len(),
        cases.len(),
        String::from_utf8_lossy(&output.stderr)
    );
    let mut wrong = Vec::new();
    for (case, verdict) in cases.iter().zip(&lines) {
        let (valid, why) = read(verdict);
        if !valid {
            wrong.push(format!("{}: {why}\n  {}", case.name, case.body));
        }
    }
    Ok(wrong)
}
