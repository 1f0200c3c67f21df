//! A whole interaction.

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
        ending::{ended, is_media, mark_incomplete, tell_calls_apart},
        errors,
        gemini::Generation,
    },
    step,
};
use crate::types::{HostedKind, HostedOutput, HostedStatus, Item, Part, Reply, Stop, Usage};

/// An interaction as it lies on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireInteraction<'a> {
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) status: Str<'a>,
    #[serde(borrow)]
    steps: Raw<'a>,
    /// What steps were called before `Api-Revision` 2026-05-20.
    #[serde(borrow)]
    outputs: Raw<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    #[serde(borrow)]
    continuation_token: Raw<'a>,
}

impl<'a> WireInteraction<'a> {
    pub(super) fn steps(&self) -> Vec<&'a RawValue> {
        let lists = [self.steps, self.outputs].into_iter().flat_map(Raw::list);
        lists.filter_map(Raw::read).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage<'a> {
    total_input_tokens: Int,
    total_cached_tokens: Int,
    total_output_tokens: Int,
    total_thought_tokens: Int,
    total_tool_use_tokens: Int,
    #[serde(borrow)]
    grounding_tool_count: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCount<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    count: Int,
}

/// Reads a whole body.
pub(super) fn parse(body: &[u8], reading: &Reading) -> Result<Reply, ModelError> {
    let interaction: WireInteraction<'_> = json::read(body).map_err(|error| {
        ModelError::new(ModelErrorKind::BadResponse, format!("the reply is no interaction: {error}"))
    })?;
    if let Some(error) = failure(&interaction, body) {
        return Err(error);
    }
    let steps = interaction.steps().into_iter().map(|raw| Step { raw: raw.to_owned(), arguments: None }).collect();
    Ok(assemble(&interaction, steps, reading))
}

/// The failure that an interaction with status 200 reports.
pub(super) fn failure(interaction: &WireInteraction<'_>, body: &[u8]) -> Option<ModelError> {
    let failed = interaction.error.get().is_some() || interaction.status.text() == "failed";
    let none = interaction.status.some().is_none() && interaction.id.some().is_none() && interaction.steps().is_empty();
    (failed || none).then(|| errors::inside_success(body))
}

/// A step, and its arguments where they came as text that is no JSON.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) raw: Box<RawValue>,
    pub(super) arguments: Option<String>,
}

/// The reply made of an interaction's head and its steps.
pub(super) fn assemble(interaction: &WireInteraction<'_>, steps: Vec<Step>, reading: &Reading) -> Reply {
    let mut items: Vec<Item> = Vec::with_capacity(steps.len());
    for step in steps {
        let mut read = step::read(step.raw.get(), reading);
        if let (Some(text), Some(Part::Call(call))) = (step.arguments, read.parts.first_mut()) {
            call.arguments = text;
        }
        if let Some(result) = read.result {
            read.parts.extend(attach(&mut items, result).map(Part::Hosted));
        }
        items.push(Item { raw: Some(Arc::from(step.raw)), parts: read.parts });
    }
    let mut notices = reading.notices.clone();
    notices.extend(unknown(&items));
    tell_calls_apart(&mut items, &mut notices, CallIdRule::PORTABLE);
    let usage = usage(interaction.usage, &items, reading);
    let mut reply = Reply {
        origin: (*reading.origin).clone(),
        id: interaction.id.some().map(str::to_owned),
        items,
        stop: Stop::End,
        usage,
        notices,
        carry: None,
    };
    if interaction.status.text() == "requires_continuation"
        && let Some(token) = interaction.continuation_token.read::<Box<RawValue>>()
    {
        reply.carry = Some(Arc::from(token));
        reply.stop = Stop::Paused;
        return reply;
    }
    reply.stop = stop(interaction.status.text(), &reply);
    if reply.stop == Stop::Length {
        mark_incomplete(&mut reply);
    }
    reply
}

/// A word about each step that is not known.
fn unknown(items: &[Item]) -> impl Iterator<Item = String> {
    items.iter().flat_map(|item| &item.parts).filter_map(|part| match part {
        Part::Unknown { kind } if is_media(kind) => None,
        Part::Unknown { kind } => Some(format!("a step of the unknown type `{kind}` was kept")),
        Part::Hosted(HostedOutput { kind: HostedKind::Other(kind), .. }) => {
            Some(format!("a call of the unknown type `{kind}` was kept; it was run by the provider"))
        }
        Part::Hosted(_) | Part::Text { .. } | Part::Call(_) | Part::Reasoning { .. } | Part::Refusal { .. } => None,
    })
}

/// Puts what a hosted tool brought to its call; gives it back when there is none.
fn attach(items: &mut [Item], result: HostedOutput) -> Option<HostedOutput> {
    let parts = items.iter_mut().flat_map(|item| &mut item.parts);
    let mut calls = parts.filter_map(|part| if let Part::Hosted(output) = part { Some(output) } else { None });
    let own = |call: &&mut HostedOutput| {
        call.status == HostedStatus::Incomplete
            && if result.id.is_some() { call.id == result.id } else { call.kind == result.kind }
    };
    let Some(call) = calls.find(own) else { return Some(result) };
    (call.status, call.output, call.sources) = (result.status, result.output, result.sources);
    None
}

fn stop(status: &str, reply: &Reply) -> Stop {
    match status {
        "requires_action" if reply.calls().next().is_none() => {
            Stop::Unknown("requires_action without a call".to_owned())
        }
        "completed" | "requires_action" | "" => ended(reply),
        "incomplete" => Stop::Length,
        "cancelled" => Stop::Failed("the provider cancelled the interaction".to_owned()),
        other => Stop::Unknown(other.chars().take(80).collect()),
    }
}

/// Disjoint counters. Cached tokens are part of the input, thoughts and tool use are counted beside.
fn usage(raw: Raw<'_>, items: &[Item], reading: &Reading) -> Option<Usage> {
    let wire: WireUsage<'_> = raw.read()?;
    wire.total_input_tokens.0.or(wire.total_output_tokens.0)?;
    let input = wire.total_input_tokens.or_zero();
    let cached = wire.total_cached_tokens.or_zero().min(input);
    let counts = wire.grounding_tool_count.list().into_iter().filter_map(|raw| raw.read::<ToolCount<'_>>());
    let counted: Vec<u64> = counts
        .filter(|count| count.kind.text().starts_with("google_search"))
        .map(|count| count.count.or_zero())
        .collect();
    let searches = || {
        let hosted = items.iter().flat_map(|item| &item.parts);
        let queries = hosted.filter_map(|part| if let Part::Hosted(output) = part { Some(output) } else { None });
        let queries =
            queries.filter(|output| output.kind == HostedKind::Search).map(|output| output.input.len() as u64);
        Generation::of(reading.origin.model.as_str()).billed_searches(queries.sum())
    };
    Some(Usage {
        input: input - cached,
        cached,
        output: wire.total_output_tokens.or_zero(),
        reasoning: wire.total_thought_tokens.or_zero(),
        tool_use: wire.total_tool_use_tokens.or_zero(),
        searches: if counted.is_empty() { searches() } else { counted.iter().sum() },
        ..Usage::default()
    })
}
