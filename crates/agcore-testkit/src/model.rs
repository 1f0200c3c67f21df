//! A model that replies from a list.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agcore::{
    llm::{Conversation, Model, ModelError, ModelErrorKind, ModelRequest, ReplyEvent, ReplySink},
    types::{
        Api, Entry, FunctionCall, HostedOutput, Item, MicroUsd, ModelName, Origin, Part, ProviderName, Reply, Stop,
        Usage,
    },
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Gate, check_history};

/// One scripted reply; start it with [`reply`].
#[derive(Debug, Clone)]
pub struct ScriptedReply {
    parts: Vec<Part>,
    stop: Option<Stop>,
    usage: Usage,
    error: Option<ModelError>,
    gate: Option<Gate>,
}

/// An empty reply, to be filled.
pub fn reply() -> ScriptedReply {
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    ScriptedReply { parts: Vec::new(), stop: None, usage, error: None, gate: None }
}

impl ScriptedReply {
    /// Says something.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text { text: text.into(), citations: Vec::new() })
    }

    /// Calls a tool with these arguments; a JSON string is taken as the raw argument text, broken or not.
    #[must_use]
    pub fn call(self, name: &str, arguments: Value) -> Self {
        let arguments = if let Value::String(raw) = arguments { raw } else { arguments.to_string() };
        self.part(Part::Call(FunctionCall { provider_id: String::new(), name: name.into(), arguments, complete: true }))
    }

    /// Reports what a provider-hosted tool did.
    #[must_use]
    pub fn hosted(self, output: HostedOutput) -> Self {
        self.part(Part::Hosted(output))
    }

    /// Adds any part. The id of a call is given when the reply is made, if it is empty.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Stops for this reason; without it the reason follows from the parts.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Consumed this.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Fails instead of replying.
    #[must_use]
    pub fn fails(mut self, error: ModelError) -> Self {
        self.error = Some(error);
        self
    }

    /// Waits at the gate before it replies.
    #[must_use]
    pub fn gated(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// The reply as the `nth` (from 0) of its model: its calls get the ids `call_<nth>_<place>`.
    ///
    /// # Errors
    /// The scripted one.
    pub fn build(&self, nth: usize) -> Result<Reply, ModelError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut parts = self.parts.clone();
        let calls = parts.iter_mut().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None });
        let mut called = false;
        for (place, call) in calls.enumerate() {
            called = true;
            if call.provider_id.is_empty() {
                call.provider_id = format!("call_{nth}_{place}");
            }
        }
        Ok(Reply {
            origin: origin(),
            id: Some(format!("reply_{nth}")),
            items: parts.into_iter().map(Item::local).collect(),
            stop: self.stop.clone().unwrap_or(if called { Stop::ToolCalls } else { Stop::End }),
            usage: Some(self.usage),
            notices: Vec::new(),
            carry: None,
        })
    }
}

/// What a scripted model was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request.
    pub request: ModelRequest,
    /// The conversation at that time.
    pub entries: Vec<Entry>,
}

/// A model that gives its replies one after the other and keeps what it was asked.
///
/// Each request is checked with [`check_history`]; one that breaks the rules, or comes after the last reply, panics
/// with the reason and so fails the test.
pub struct ScriptedModel {
    replies: Vec<ScriptedReply>,
    asked: Mutex<Vec<Asked>>,
    price: Option<MicroUsd>,
    hosted: Hosted,
}

/// What a scripted model does with hosted tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hosted {
    /// It has none.
    #[default]
    Never,
    /// It takes them when there is no function beside them.
    Alone,
    /// It takes them.
    Always,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("replies", &self.replies.len()).finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// A model with these replies. A call costs nothing.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let replies = replies.into_iter().collect();
        Self { replies, asked: Mutex::new(Vec::new()), price: Some(MicroUsd::ZERO), hosted: Hosted::Never }
    }

    /// The same with a price per call; `None` when it is not known.
    #[must_use]
    pub fn priced(mut self, price: Option<MicroUsd>) -> Self {
        self.price = price;
        self
    }

    /// The same with hosted tools.
    #[must_use]
    pub fn hosts(mut self, hosted: Hosted) -> Self {
        self.hosted = hosted;
        self
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.lock().clone()
    }

    /// How often it was asked.
    pub fn calls(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the request and finds the reply to it.
    #[expect(clippy::panic, reason = "a broken request must fail the test that made it")]
    fn next(&self, request: &ModelRequest, entries: &[Entry]) -> (usize, &ScriptedReply) {
        let nth = {
            let mut asked = self.lock();
            asked.push(Asked { request: request.clone(), entries: entries.to_vec() });
            asked.len() - 1
        };
        if let Err(why) = check_history(entries) {
            panic!("model request {nth} breaks the protocol: {why}");
        }
        match self.replies.get(nth) {
            Some(reply) => (nth, reply),
            None => panic!("the script has {} replies, but request {nth} (from 0) came", self.replies.len()),
        }
    }
}

impl Model for ScriptedModel {
    fn origin(&self) -> Origin {
        origin()
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        conversation: &'a mut Conversation,
        sink: &'a dyn ReplySink,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let (nth, script) = self.next(request, conversation.entries());
            if let Some(gate) = &script.gate
                && cancel.run_until_cancelled(gate.pass()).await.is_none()
            {
                return Err(ModelError::new(ModelErrorKind::Cancelled, "the call was cancelled"));
            }
            let reply = script.build(nth)?;
            if request.stream {
                reply.parts().for_each(|part| stream(part, sink));
            }
            Ok(reply)
        })
    }

    fn takes_hosted(&self, _: &Value, beside_functions: bool) -> Result<(), String> {
        match self.hosted {
            Hosted::Never => Err("a scripted model has no hosted tools".to_owned()),
            Hosted::Alone if beside_functions => Err("capability_conflict: not beside functions".to_owned()),
            Hosted::Alone | Hosted::Always => Ok(()),
        }
    }

    fn price(&self, _: &Usage) -> Option<MicroUsd> {
        self.price
    }

    fn worst_case(&self, _: &ModelRequest, _: &Conversation) -> Option<MicroUsd> {
        self.price
    }
}

#[expect(clippy::expect_used, reason = "constants that are valid names")]
fn origin() -> Origin {
    Origin {
        provider: ProviderName::new("scripted").expect("valid"),
        api: Api::Local,
        model: ModelName::new("scripted-1").expect("valid"),
        family: "scripted".into(),
    }
}

fn stream(part: &Part, sink: &dyn ReplySink) {
    match part {
        Part::Text { text, .. } => text.split_inclusive(' ').for_each(|word| sink.on(ReplyEvent::Text(word.into()))),
        Part::Call(call) => {
            sink.on(ReplyEvent::CallStarted { provider_id: call.provider_id.clone(), name: call.name.clone() });
            sink.on(ReplyEvent::Arguments { provider_id: call.provider_id.clone(), delta: call.arguments.clone() });
        }
        Part::Hosted(output) => sink.on(ReplyEvent::Hosted(format!("{:?}", output.kind).to_lowercase())),
        Part::Reasoning { summary: Some(summary) } => sink.on(ReplyEvent::Reasoning(summary.clone())),
        Part::Reasoning { summary: None } | Part::Refusal { .. } | Part::Unknown { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use agcore::types::UserPart;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn it_replies_in_order_and_keeps_what_it_was_asked() {
        let model = ScriptedModel::new([reply().call("a", json!({"i": 1}))]);
        let mut conversation = Conversation::from(vec![Entry::User(vec![UserPart::Text("hi".into())])]);
        let (request, cancel) = (ModelRequest::default(), CancellationToken::new());
        let got = model.call(&request, &mut conversation, &(), &cancel).await.unwrap();
        let calls: Vec<_> = got.calls().cloned().collect();
        let expected = FunctionCall {
            provider_id: "call_0_0".into(),
            name: "a".into(),
            arguments: "{\"i\":1}".into(),
            complete: true,
        };
        assert_eq!((calls, got.stop, model.calls()), (vec![expected], Stop::ToolCalls, 1));
    }

    #[tokio::test]
    #[should_panic = "have no results"]
    async fn a_request_without_the_results_of_its_calls_fails_the_test() {
        let model = ScriptedModel::new([reply().text("never")]);
        let calls = reply().call("a", json!({})).build(0).unwrap();
        let mut conversation =
            Conversation::from(vec![Entry::User(vec![UserPart::Text("hi".into())]), Entry::Reply(calls.into())]);
        let _ = model.call(&ModelRequest::default(), &mut conversation, &(), &CancellationToken::new()).await;
    }
}
