//! A model without a language model: it looks things up and quotes what it found.
//!
//! It plans calls of the offered tools, then answers with the sentences of the results that share most with the
//! question, each with its source. It invents nothing: what it cannot quote it does not say. The same question over
//! the same results gives the same answer.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    Conversation, Model, ModelError, ModelErrorKind, ModelRequest, ReplyEvent, ReplySink, ToolChoice, ToolDef,
};
use crate::types::{
    Api, Citation, CitationSource, Entry, FunctionCall, Item, MicroUsd, ModelName, Origin, Part, ProviderName, Reply,
    Stop, ToolResult, Usage, UserPart,
};

mod passage;
mod score;

use passage::Passage;

/// How many sentences an answer quotes at the most.
const MAX_QUOTES: usize = 5;
/// How many tools are called before answering.
const MAX_CALLS: usize = 4;

/// The extractive model.
#[derive(Debug, Clone)]
pub struct Extractive {
    origin: Origin,
}

impl Default for Extractive {
    fn default() -> Self {
        Self::new()
    }
}

impl Extractive {
    /// The model. It has no settings.
    pub fn new() -> Self {
        // The texts are ids by their looks; a change that breaks this fails every test of this module.
        #[expect(clippy::expect_used, reason = "constant texts that are valid ids")]
        let origin = Origin {
            provider: ProviderName::new("extractive").expect("a valid name"),
            api: Api::Local,
            model: ModelName::new("extractive").expect("a valid name"),
            family: "extractive".to_owned(),
        };
        Self { origin }
    }

    /// The reply to a conversation: calls while there is nothing to quote from, then quotes.
    pub fn reply(&self, request: &ModelRequest, entries: &[Entry]) -> Reply {
        let question = question(entries);
        let results = results_since_question(entries);
        let may_call = results.is_empty() && request.tool_choice != ToolChoice::None;
        let calls = if may_call { plan(request, &question) } else { Vec::new() };
        let (items, stop) = if calls.is_empty() {
            let (text, citations) = answer(&question, &results);
            (vec![Item::local(Part::Text { text, citations })], Stop::End)
        } else {
            (calls.into_iter().map(|call| Item::local(Part::Call(call))).collect(), Stop::ToolCalls)
        };
        Reply {
            origin: self.origin.clone(),
            id: None,
            items,
            stop,
            usage: Some(Usage::default()),
            notices: Vec::new(),
            carry: None,
        }
    }
}

impl Model for Extractive {
    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        conversation: &'a mut Conversation,
        sink: &'a dyn ReplySink,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        async move {
            if cancel.is_cancelled() {
                return Err(ModelError::new(ModelErrorKind::Cancelled, "the model call was cancelled"));
            }
            let reply = self.reply(request, conversation.entries());
            for call in reply.calls() {
                let (provider_id, name) = (call.provider_id.clone(), call.name.clone());
                sink.on(ReplyEvent::CallStarted { provider_id, name });
            }
            let (text, _) = reply.text_and_citations();
            if !text.is_empty() {
                sink.on(ReplyEvent::Text(text));
            }
            Ok(reply)
        }
        .boxed()
    }

    fn price(&self, _: &Usage) -> Option<MicroUsd> {
        Some(MicroUsd::ZERO)
    }

    fn worst_case(&self, _: &ModelRequest, _: &Conversation) -> Option<MicroUsd> {
        Some(MicroUsd::ZERO)
    }
}

/// The last words of the user.
fn question(entries: &[Entry]) -> String {
    let texts = |parts: &[UserPart]| {
        let text = |part: &UserPart| match part {
            UserPart::Text(text) => Some(text.clone()),
            UserPart::Image { .. } => None,
        };
        parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    };
    let last = entries.iter().rev().find_map(|entry| match entry {
        Entry::User(parts) => Some(texts(parts)),
        Entry::Reply(_) | Entry::Results(_) | Entry::Notice(_) => None,
    });
    last.unwrap_or_default().trim().to_owned()
}

/// All results since the user spoke last, in order.
fn results_since_question(entries: &[Entry]) -> Vec<&ToolResult> {
    let start = entries.iter().rposition(|entry| matches!(entry, Entry::User(_))).map_or(0, |at| at + 1);
    let results = entries.iter().skip(start).filter_map(|entry| match entry {
        Entry::Results(list) => Some(list),
        Entry::User(_) | Entry::Reply(_) | Entry::Notice(_) => None,
    });
    results.flatten().collect()
}

/// The calls of the offered tools that can be filled from the question alone. Tools whose arguments would have to be
/// made up are left out.
fn plan(request: &ModelRequest, question: &str) -> Vec<FunctionCall> {
    if question.is_empty() {
        return Vec::new();
    }
    let named = |def: &&Arc<ToolDef>| match &request.tool_choice {
        ToolChoice::Named(name) => def.name == *name,
        ToolChoice::Allowed(allowed) => allowed.tools.contains(&def.name),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => true,
    };
    let offered = request.tools_defs.iter().filter(named).filter(|def| looks_at_the_world(def));
    let filled = offered.filter_map(|def| Some((def, arguments(def, question)?)));
    let call = |(at, (def, arguments)): (usize, (&Arc<ToolDef>, Map<String, Value>))| FunctionCall {
        provider_id: format!("extract_{}", at + 1),
        name: def.name.to_string(),
        arguments: Value::Object(arguments).to_string(),
        complete: true,
    };
    filled.take(MAX_CALLS).enumerate().map(call).collect()
}

/// Whether a tool finds things, rather than tools or earlier results.
fn looks_at_the_world(def: &ToolDef) -> bool {
    !["tool.", "artifact."].iter().any(|prefix| def.name.as_str().starts_with(prefix))
}

/// Parameters that take what the user asked, by the names tools give them.
const QUESTION_PARAMETERS: &[&str] = &["query", "question", "q", "search_query", "search", "text"];
/// Parameters that take an address out of the question.
const ADDRESS_PARAMETERS: &[&str] = &["url", "uri", "link"];

/// Arguments for a tool that needs nothing beyond the question; `None` for any other.
fn arguments(def: &ToolDef, question: &str) -> Option<Map<String, Value>> {
    let properties = def.parameters.get("properties")?.as_object()?;
    let required: Vec<&str> = match def.parameters.get("required").and_then(Value::as_array) {
        Some(list) => list.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let is_text = |name: &str| properties.get(name).is_some_and(takes_text);
    let mut arguments = Map::new();
    if let Some(name) = QUESTION_PARAMETERS.iter().find(|name| is_text(name)) {
        arguments.insert((*name).to_owned(), question.into());
    } else if let Some(name) = ADDRESS_PARAMETERS.iter().find(|name| is_text(name)) {
        arguments.insert((*name).to_owned(), address(question)?.into());
    }
    let complete = !arguments.is_empty() && required.iter().all(|name| arguments.contains_key(*name));
    complete.then_some(arguments)
}

fn takes_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        Some(_) | None => false,
    }
}

/// The first address in a text.
fn address(text: &str) -> Option<&str> {
    let start = text.find("https://").or_else(|| text.find("http://"))?;
    let rest = text.get(start..)?;
    let end = rest.find(|c: char| c.is_whitespace() || "<>\"'，。）)".contains(c)).unwrap_or(rest.len());
    Some(rest.get(..end)?.trim_end_matches(['.', ',', ';', '?', '!']))
}

/// The answer: quotes of what fits the question, each with its source.
fn answer(question: &str, results: &[&ToolResult]) -> (String, Vec<Citation>) {
    let chinese = question.chars().any(score::is_cjk);
    let passages: Vec<Passage> =
        results.iter().filter(|result| !result.is_error).flat_map(|result| passage::read(result)).collect();
    let best = score::best_sentences(question, &passages, MAX_QUOTES);
    if best.is_empty() {
        return (nothing(chinese, results), Vec::new());
    }
    let mut text = String::from(if chinese {
        "未使用语言模型；以下是与问题最相关的原文摘录：\n"
    } else {
        "No language model was used. The passages that fit the question best:\n"
    });
    let mut citations = Vec::new();
    for sentence in best {
        let Some(passage) = passages.get(sentence.passage) else { continue };
        text.push_str("\n> ");
        let start = text.chars().count();
        text.push_str(&sentence.text);
        let end = text.chars().count();
        text.push_str(&format!("\n> — {}\n", passage.label()));
        citations.push(Citation {
            source: passage.source.clone(),
            title: passage.title.clone(),
            quote: Some(sentence.text),
            start: Some(start),
            end: Some(end),
        });
    }
    (text, citations)
}

fn nothing(chinese: bool, results: &[&ToolResult]) -> String {
    let failed: Vec<&str> =
        results.iter().filter(|result| result.is_error).map(|result| result.name.as_str()).collect();
    let mut text = match (chinese, results.is_empty()) {
        (true, true) => "未使用语言模型，也没有可用于查找该问题的工具，因此无法回答。".to_owned(),
        (true, false) => "未使用语言模型。在找到的内容中没有与问题相符的段落。".to_owned(),
        (false, true) => {
            "No language model was used, and no tool could look this up, so there is no answer.".to_owned()
        }
        (false, false) => "No language model was used. Nothing that was found fits the question.".to_owned(),
    };
    if !failed.is_empty() {
        let names = failed.join(", ");
        text.push_str(&if chinese {
            format!(" 失败的工具：{names}。")
        } else {
            format!(" Failed tools: {names}.")
        });
    }
    text
}

impl Passage {
    /// Where it stands, for people.
    fn label(&self) -> String {
        match &self.source {
            CitationSource::File { path, lines: Some((first, last)) } if first == last => format!("{path}:{first}"),
            CitationSource::File { path, lines: Some((first, last)) } => format!("{path}:{first}-{last}"),
            CitationSource::File { path, lines: None } => path.clone(),
            CitationSource::Url(url) => url.clone(),
            CitationSource::Call(call) => call.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
