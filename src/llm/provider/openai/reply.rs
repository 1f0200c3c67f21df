//! A whole completion object.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{
        super::{
            ModelError, ModelErrorKind,
            dialect::Reading,
            json::{self, Int, Raw, Str},
            names::CallIdRule,
        },
        ending::{ended, mark_incomplete, tell_calls_apart},
        errors, usage,
    },
    fold::MoreFields,
    hosted,
    message::{Message, WireMessage},
};
use crate::types::{Citation, Item, Reply, Stop, Usage};

/// A completion or a chunk of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct WireCompletion<'a> {
    #[serde(borrow)]
    pub(in super::super) id: Str<'a>,
    #[serde(borrow)]
    pub(in super::super) choices: Raw<'a>,
    #[serde(borrow)]
    pub(in super::super) usage: Raw<'a>,
    #[serde(borrow)]
    pub(in super::super) error: Raw<'a>,
    /// Of an error body that has no `error` in it (Mistral, flat forms).
    #[serde(borrow)]
    object: Str<'a>,
    #[serde(borrow)]
    code: Raw<'a>,
    #[serde(borrow)]
    message: Raw<'a>,
    /// Z.AI: what its search found.
    #[serde(borrow)]
    web_search: Raw<'a>,
    /// Perplexity: what its search found.
    #[serde(borrow)]
    search_results: Raw<'a>,
    /// Aliyun: what its search found.
    #[serde(borrow)]
    search_info: Raw<'a>,
    /// Perplexity, xAI: the addresses the text rests on.
    #[serde(borrow)]
    citations: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchInfo<'a> {
    #[serde(borrow)]
    search_results: Raw<'a>,
}

impl WireCompletion<'_> {
    /// Whether it reports a failure, although the status was 200.
    pub(in super::super) fn failed(&self) -> bool {
        let flat = self.choices.get().is_none() && self.code.get().is_some() && self.message.get().is_some();
        self.error.get().is_some() || self.object.text() == "error" || flat
    }

    /// Whether anything of it belongs to the format.
    pub(in super::super) fn is_known(&self) -> bool {
        let listed = [self.choices, self.usage, self.web_search, self.search_results, self.search_info, self.citations];
        listed.iter().any(|raw| raw.get().is_some()) || self.id.some().is_some()
    }

    /// Hands the sources listed beside the message to it.
    pub(in super::super) fn give_sources(&self, message: &mut Message) {
        let found = [self.search_results, self.web_search].map(hosted::sources).into_iter().flatten();
        let found: Vec<Citation> = found.chain(searched(self.search_info)).collect();
        let mut cited = hosted::sources(self.citations);
        for citation in &mut cited {
            let same = found.iter().find(|found| found.source == citation.source);
            citation.title = same.and_then(|found| found.title.clone());
        }
        message.cite(if cited.is_empty() { found.clone() } else { cited });
        message.found(found);
    }
}

/// What a search of Aliyun found.
pub(in super::super) fn searched(search_info: Raw<'_>) -> Vec<Citation> {
    let info: SearchInfo<'_> = search_info.read().unwrap_or_default();
    hosted::sources(info.search_results)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct WireChoice<'a> {
    pub(in super::super) index: Int,
    #[serde(borrow)]
    pub(in super::super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in super::super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in super::super) finish_reason: Str<'a>,
    /// Moonshot counts here.
    #[serde(borrow)]
    pub(in super::super) usage: Raw<'a>,
}

/// What is said when an event is unknown or no JSON.
pub(in super::super) const UNREAD: &str = "an event of an unknown type was left out";

/// What is said when there are several choices.
pub(in super::super) const MORE_CHOICES: &str = "further choices were left unread";

/// Reads a whole body.
pub(in super::super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let bad = |why: String| ModelError::new(ModelErrorKind::BadResponse, why);
    // Blank lines may precede the body while DeepSeek has it queued; JSON does not mind them.
    let completion: WireCompletion<'_> =
        json::read(body).map_err(|error| bad(format!("the reply is no completion: {error}")))?;
    let choices = completion.choices.list();
    if completion.failed() || choices.is_empty() {
        return Err(errors::inside_success(body));
    }
    let more_choices = choices.len() > 1;
    let choice: WireChoice<'_> = choices.into_iter().next().and_then(Raw::read).unwrap_or_default();
    let raw = choice.message.ok_or_else(|| bad("the first choice has no message".to_owned()))?;
    let wire: WireMessage<'_> =
        serde_json::from_str(raw.get()).map_err(|error| bad(format!("the message cannot be read: {error}")))?;
    let mut message = Message::new(reading);
    message.take_whole(&wire, reading);
    completion.give_sources(&mut message);
    let mut notices = reading.notices.clone();
    let mut more = MoreFields::default();
    more.take(raw);
    notices.extend(more.notices());
    if more_choices {
        notices.push(MORE_CHOICES.to_owned());
    }
    let head = Head {
        id: completion.id.some().map(str::to_owned),
        usage: usage::read(completion.usage).or_else(|| usage::read(choice.usage)),
        finish: finish_reason(&choice.finish_reason),
    };
    Ok(assemble(head, message, Some(raw.to_owned()), reading, notices))
}

/// The reason a choice ended, once there is one: Aliyun sends the word `null` as a text until then.
pub(in super::super) fn finish_reason(raw: &Str<'_>) -> Option<String> {
    raw.some().filter(|reason| *reason != "null").map(str::to_owned)
}

/// What surrounds a message.
#[derive(Debug, Default)]
pub(in super::super) struct Head {
    pub(in super::super) id: Option<String>,
    pub(in super::super) usage: Option<Usage>,
    pub(in super::super) finish: Option<String>,
}

/// The reply made of a message and what surrounds it.
pub(in super::super) fn assemble(
    head: Head,
    mut message: Message,
    raw: Option<Box<RawValue>>,
    reading: &Reading,
    mut notices: Vec<String>,
) -> Reply {
    // A message that came with a call in its text is replayed as the call it is.
    let raw = if message.end_text(reading, &(), &mut notices) { None } else { raw };
    message.name_calls(head.id.as_deref().unwrap_or_default());
    let parts = message.parts(reading, &mut notices);
    let mut items = vec![Item { raw: raw.map(Arc::from), parts }];
    tell_calls_apart(&mut items, &mut notices, CallIdRule::PORTABLE);
    let mut reply = Reply {
        origin: (*reading.origin).clone(),
        id: head.id,
        items,
        stop: Stop::End,
        usage: head.usage,
        notices,
        carry: None,
    };
    reply.stop = stop(head.finish.as_deref(), &reply);
    if matches!(reply.stop, Stop::Length | Stop::Failed(_)) {
        mark_incomplete(&mut reply);
    }
    reply
}

fn stop(finish: Option<&str>, reply: &Reply) -> Stop {
    match finish {
        // Some servers say `stop` beside calls, or `tool_calls` beside none.
        Some("stop" | "tool_calls" | "function_call" | "eos" | "end_turn") => ended(reply),
        Some("length" | "model_length" | "max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("content_filter" | "sensitive") => Stop::Filtered,
        Some(reason @ ("error" | "network_error" | "insufficient_system_resource")) => {
            Stop::Failed(format!("the provider stopped with `{reason}`"))
        }
        Some(other) => Stop::Unknown(other.to_owned()),
        None => Stop::Unknown("no finish reason".to_owned()),
    }
}
