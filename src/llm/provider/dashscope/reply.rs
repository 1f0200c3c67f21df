//! A whole generation object.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    super::{
        ModelError, ModelErrorKind,
        dialect::Reading,
        json::{self, Int, Raw, Str},
    },
    errors,
    openai::{
        message::{Message, WireMessage},
        reply::{self, Head},
    },
    usage,
};
use crate::types::Reply;

/// A generation, or the next event of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireGeneration<'a> {
    #[serde(borrow)]
    pub(super) request_id: Str<'a>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    /// Of a failure, which may come with status 200.
    #[serde(borrow)]
    pub(super) code: Str<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

impl WireGeneration<'_> {
    /// Whether it reports a failure, although the status was 200.
    pub(super) fn failed(&self) -> bool {
        self.code.some().is_some() || self.error.get().is_some()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireOutput<'a> {
    #[serde(borrow)]
    pub(super) choices: Raw<'a>,
    /// In place of the choices when `result_format` is `text`.
    #[serde(borrow)]
    text: Str<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: Str<'a>,
    #[serde(borrow)]
    search_info: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireChoice<'a> {
    index: Int,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Str<'a>,
}

/// The first choice of an output.
pub(super) struct First<'a> {
    /// Its message, or the next piece of it.
    pub(super) message: Option<Cow<'a, RawValue>>,
    pub(super) finish: Option<String>,
    /// Whether there are others.
    pub(super) others: bool,
}

impl<'a> WireOutput<'a> {
    pub(super) fn first(&self) -> First<'a> {
        let choices: Vec<WireChoice<'a>> = self.choices.list().into_iter().filter_map(Raw::read).collect();
        let others = choices.iter().any(|choice| choice.index.or_zero() > 0);
        if let Some(choice) = choices.into_iter().find(|choice| choice.index.or_zero() == 0) {
            let finish = reply::finish_reason(&choice.finish_reason);
            return First { message: choice.message.map(Cow::Borrowed), finish, others };
        }
        let plain = self.text.0.as_deref().map(|text| serde_json::json!({"role": "assistant", "content": text}));
        let message = plain.and_then(|message| serde_json::value::to_raw_value(&message).ok()).map(Cow::Owned);
        First { message, finish: reply::finish_reason(&self.finish_reason), others }
    }

    /// What a search of the provider found.
    pub(super) fn sources(&self) -> Vec<crate::types::Citation> {
        reply::searched(self.search_info)
    }
}

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let bad = |why: String| ModelError::new(ModelErrorKind::BadResponse, why);
    let generation: WireGeneration<'_> =
        json::read(body).map_err(|error| bad(format!("the reply is no generation: {error}")))?;
    let output: Option<WireOutput<'_>> = generation.output.read();
    let Some(output) = output.filter(|_| !generation.failed()) else {
        return Err(errors::inside_success(body));
    };
    let first = output.first();
    let raw = first.message.ok_or_else(|| errors::inside_success(body))?;
    let wire: WireMessage<'_> =
        serde_json::from_str(raw.get()).map_err(|error| bad(format!("the message cannot be read: {error}")))?;
    let mut message = Message::new(reading);
    message.take_whole(&wire, reading);
    message.found(output.sources());
    let mut notices = reading.notices.clone();
    if first.others {
        notices.push(reply::MORE_CHOICES.to_owned());
    }
    let head = Head {
        id: generation.request_id.some().map(str::to_owned),
        usage: usage::read(generation.usage),
        finish: first.finish,
    };
    let raw = raw.clone().into_owned();
    Ok(reply::assemble(head, message, Some(raw), reading, notices))
}
