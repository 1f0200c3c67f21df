//! `agcore wire`: the exact request for a provider, and what a body of a provider says.

use std::{
    io::{BufRead, Read, stdin},
    str::FromStr,
};

use agcore::{
    llm::{
        Profile,
        wire::{self, Answer, AnswerLine, Parsed},
    },
    net::{HeaderMap, HeaderName, HeaderValue},
    types::Api,
};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{exit, screen};

#[derive(Debug, Subcommand)]
pub(crate) enum Wire {
    /// Print the exact request that a provider would be sent for a neutral one (from standard input); secrets as references
    #[command(
        after_help = "The neutral form is JSON: the fields of a request (model, instructions, tools_defs, hosted, tool_choice,
parallel_tool_calls, max_output_tokens, temperature, reasoning_effort, response_schema, on_unsupported, extra) and
`conversation`, a list of entries. A small one:

  {\"instructions\": \"Be brief.\", \"conversation\": [{\"user\": \"What changed in Rust 1.95?\"}],
   \"hosted\": [{\"kind\": \"search\", \"params\": {\"allowed_domains\": [\"doc.rust-lang.org\"]}}],
   \"tools_defs\": [{\"name\": \"orders.get_by_id\", \"description\": \"One order\",
                   \"parameters\": {\"type\": \"object\", \"properties\": {\"id\": {\"type\": \"integer\"}}}}]}

A reply that `wire parse` printed as `reply` goes back as {\"reply\": …}; results as
{\"results\": [{\"provider_id\": \"call_1\", \"name\": \"orders.get_by_id\", \"content\": \"…\", \"is_error\": false}]}."
    )]
    Build(WireArgs),
    /// Print what a body of a provider (from standard input) says, in the neutral form
    #[command(
        after_help = "With --jsonl each line is {\"id\": …, \"body\": text or JSON, or \"sse\": text, and as needed \"status\", \"headers\",
\"stream\", \"provider\", \"api\"}; each line of output has the same id. The exit code is 1 when a line could not be read.
An error that the provider reports is a result (`error`), not a failure of this command."
    )]
    Parse {
        #[command(flatten)]
        wire: WireArgs,
        /// The HTTP status that came with the body
        #[arg(long)]
        status: Option<u16>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WireArgs {
    /// The provider's profile (see `agcore providers list`)
    #[arg(long, value_name = "NAME")]
    provider: String,
    /// The wire format: responses, chat, messages, generate_content, interactions, conversations, generation (default: the
    /// provider's)
    #[arg(long, value_name = "API")]
    api: Option<String>,
    /// Build a streamed request; read the body as an event stream
    #[arg(long)]
    stream: bool,
    /// Many inputs, one JSON object a line, each with an `id`
    #[arg(long)]
    jsonl: bool,
}

impl WireArgs {
    fn api(&self) -> Result<Option<Api>> {
        self.api.as_deref().map(api).transpose()
    }

    fn profile(&self) -> Result<&'static Profile> {
        Profile::by_name(&self.provider).ok_or_else(|| unknown(&self.provider))
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let known: Vec<&str> = Profile::shipped().iter().map(|profile| profile.name.as_str()).collect();
    anyhow!("there is no provider `{name}`; there are {}", known.join(", "))
}

fn api(word: &str) -> Result<Api> {
    let known = Api::ALL.iter().find(|api| api.as_str() == word).copied();
    known.with_context(|| {
        let words: Vec<&str> = Api::ALL.iter().map(|api| api.as_str()).collect();
        format!("`{word}` is no wire format; there are {}", words.join(", "))
    })
}

pub(crate) fn run(command: &Wire) -> Result<u8> {
    match command {
        Wire::Build(args) if args.jsonl => lines(|line| build_line(args, line)),
        Wire::Build(args) => {
            let form = input()?;
            screen::json(&build(args, &form)?)?;
            Ok(exit::OK)
        }
        Wire::Parse { wire, .. } if wire.jsonl => lines(|line| parse_line(wire, line)),
        Wire::Parse { wire, status } => {
            let mut body = Vec::new();
            stdin().read_to_end(&mut body).context("standard input cannot be read")?;
            let stream = wire.stream.then_some(true);
            let answer = Answer { body: &body, stream, status: *status, headers: None };
            screen::json(&parse(&wire.provider, wire.api()?, &answer)?)?;
            Ok(exit::OK)
        }
    }
}

fn input() -> Result<String> {
    let mut text = String::new();
    stdin().read_to_string(&mut text).context("standard input is no UTF-8 text")?;
    Ok(text)
}

/// Answers each line of standard input by one line; says in the exit code whether all could be.
fn lines(mut answer: impl FnMut(&str) -> (Value, Result<Value>)) -> Result<u8> {
    let mut code = exit::OK;
    for line in stdin().lock().lines() {
        let line = line.context("standard input cannot be read")?;
        if line.trim().is_empty() {
            continue;
        }
        let (id, result) = answer(&line);
        let text = match result {
            Ok(Value::Object(map)) => {
                let head = std::iter::once(("id".to_owned(), id));
                Value::Object(head.chain(map.into_iter().filter(|(key, _)| key != "id")).collect())
            }
            Ok(other) => json!({"id": id, "value": other}),
            Err(error) => {
                code = exit::FAILED;
                json!({"id": id, "failed": format!("{error:#}")})
            }
        };
        screen::line(text.to_string());
    }
    Ok(code)
}

fn build(args: &WireArgs, form: &str) -> Result<wire::BuiltRequest> {
    let form = if args.stream {
        let mut value: Value = serde_json::from_str(form).context("the request is no JSON")?;
        value.as_object_mut().context("the request must be an object")?.insert("stream".to_owned(), true.into());
        value.to_string()
    } else {
        form.to_owned()
    };
    Ok(wire::build(args.profile()?, args.api()?, &form)?)
}

fn build_line(args: &WireArgs, line: &str) -> (Value, Result<Value>) {
    let mut form: Value = match serde_json::from_str(line) {
        Ok(form) => form,
        Err(error) => return (Value::Null, Err(anyhow!("the line is no JSON: {error}"))),
    };
    let id = form.as_object_mut().and_then(|form| form.remove("id")).unwrap_or_default();
    // The request itself, or under `request`.
    let inner = form.as_object_mut().and_then(|form| form.remove("request")).unwrap_or(form);
    let built = build(args, &inner.to_string()).and_then(|built| Ok(serde_json::to_value(&built)?));
    (id, built)
}

fn parse(provider: &str, api: Option<Api>, answer: &Answer<'_>) -> Result<Parsed> {
    let profile = Profile::by_name(provider);
    let Some(api) = api.or_else(|| profile.map(|profile| profile.default_api)) else { return Err(unknown(provider)) };
    let model = profile.and_then(|profile| profile.default_model.as_ref()).map_or("model", |model| model.as_str());
    let origin = wire::origin(provider, api, model).map_err(|error| anyhow!(error))?;
    wire::parse(origin, answer).map_err(|error| anyhow!(error))
}

fn parse_line(args: &WireArgs, line: &str) -> (Value, Result<Value>) {
    let read: AnswerLine = match serde_json::from_str(line) {
        Ok(read) => read,
        Err(error) => return (Value::Null, Err(anyhow!("the line is no input of `wire parse`: {error}"))),
    };
    let id = read.id.clone();
    (id, parse_read(args, &read))
}

fn parse_read(args: &WireArgs, read: &AnswerLine) -> Result<Value> {
    let (body, stream) = read.bytes();
    if body.is_empty() {
        bail!("the line has no `body` and no `sse`");
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &read.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_str(name), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    let stream = stream.or(args.stream.then_some(true));
    let answer = Answer { body: &body, stream, status: read.status, headers: Some(&headers) };
    let provider = read.provider.as_deref().unwrap_or(&args.provider);
    let parsed = parse(provider, read.api.or(args.api()?), &answer)?;
    // Text first: raw items are kept as the text they are.
    Ok(serde_json::from_str(&serde_json::to_string(&parsed)?)?)
}
