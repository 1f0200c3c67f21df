//! A tool that answers from a list.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use agcore::{
    execute::{CallContext, Executor},
    policy::Principal,
    types::{CallId, TenantId, ToolError, ToolOutput, TurnId, UserId},
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Gate;

/// The context of call `call-1` of turn `turn-1`, its first attempt, with this idempotency key: for tests that run an
/// executor by hand.
#[expect(clippy::expect_used, reason = "constants that are valid ids")]
pub fn call_context(key: &str) -> CallContext {
    CallContext {
        turn: TurnId::new("turn-1").expect("valid"),
        call: CallId::new("call-1").expect("valid"),
        principal: Arc::new(Principal {
            tenant: TenantId::new("local").expect("valid"),
            user: UserId::new("me").expect("valid"),
            roles: BTreeSet::new(),
            scopes: BTreeSet::new(),
        }),
        idempotency_key: key.to_owned(),
        cancel: CancellationToken::new(),
        attempt: 1,
    }
}

/// An executor that gives its answers one after the other (the last for ever), counts and records.
///
/// Without answers it returns the text `ok`.
#[derive(Debug, Default)]
pub struct ScriptedTool {
    answers: Vec<Result<ToolOutput, ToolError>>,
    gate: Option<Gate>,
    honours_keys: bool,
    seen: Mutex<Seen>,
    running: AtomicUsize,
    peak: AtomicUsize,
}

#[derive(Debug, Default)]
struct Seen {
    arguments: Vec<Value>,
    keys: Vec<String>,
    receipts: HashMap<String, ToolOutput>,
    effects: usize,
    finished: usize,
}

impl ScriptedTool {
    /// A tool that returns the text `ok`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Next, it returns this text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.output(ToolOutput::text(text))
    }

    /// Next, it returns this JSON.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.output(ToolOutput::json(value))
    }

    /// Next, it returns this.
    #[must_use]
    pub fn output(mut self, output: ToolOutput) -> Self {
        self.answers.push(Ok(output));
        self
    }

    /// Next, it fails with this.
    #[must_use]
    pub fn fails(mut self, error: ToolError) -> Self {
        self.answers.push(Err(error));
        self
    }

    /// Every run waits at the gate, after it was counted and before its effect.
    #[must_use]
    pub fn gated(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// A run whose idempotency key had its effect already has no second one and succeeds with the output of the
    /// first answer that was an output (`ok` when there was none). So a first answer that fails is a tool that
    /// takes effect and then loses its connection.
    #[must_use]
    pub fn honours_keys(mut self) -> Self {
        self.honours_keys = true;
        self
    }

    /// How often it was run.
    pub fn runs(&self) -> usize {
        self.lock().arguments.len()
    }

    /// How many runs came to their end (the others were dropped or still wait).
    pub fn finished(&self) -> usize {
        self.lock().finished
    }

    /// How often it took effect: once per run that got past the gate, or once per key when it honours keys.
    pub fn effects(&self) -> usize {
        self.lock().effects
    }

    /// The arguments of each run, in the order they started.
    pub fn arguments(&self) -> Vec<Value> {
        self.lock().arguments.clone()
    }

    /// The idempotency key of each run.
    pub fn keys(&self) -> Vec<String> {
        self.lock().keys.clone()
    }

    /// The most runs at the same time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, arguments: &Value, key: &str) -> usize {
        let mut seen = self.lock();
        seen.arguments.push(arguments.clone());
        seen.keys.push(key.to_owned());
        seen.arguments.len() - 1
    }

    fn take_effect(&self, nth: usize, key: &str) -> Result<ToolOutput, ToolError> {
        let mut seen = self.lock();
        seen.finished += 1;
        if let Some(receipt) = seen.receipts.get(key) {
            return Ok(receipt.clone());
        }
        seen.effects += 1;
        if self.honours_keys {
            let receipt = self.answers.iter().find_map(|answer| answer.clone().ok());
            seen.receipts.insert(key.to_owned(), receipt.unwrap_or_else(|| ToolOutput::text("ok")));
        }
        let answer = self.answers.get(nth).or(self.answers.last());
        answer.cloned().unwrap_or_else(|| Ok(ToolOutput::text("ok")))
    }
}

/// Counts a run as running until it is dropped.
struct Running<'a>(&'a ScriptedTool);

impl<'a> Running<'a> {
    fn start(tool: &'a ScriptedTool) -> Self {
        let now = tool.running.fetch_add(1, Ordering::SeqCst) + 1;
        tool.peak.fetch_max(now, Ordering::SeqCst);
        Self(tool)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Executor for ScriptedTool {
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let _running = Running::start(self);
            let nth = self.begin(arguments, &context.idempotency_key);
            if let Some(gate) = &self.gate {
                gate.pass().await;
            }
            self.take_effect(nth, &context.idempotency_key)
        })
    }
}

#[cfg(test)]
mod tests {
    use agcore::types::ErrorCode;
    use futures_util::future::join_all;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn it_answers_in_order_the_last_for_ever_and_records() {
        let error = ToolError::new(ErrorCode::NotFound, "no", "Stop.");
        let tool = ScriptedTool::new().text("one").fails(error.clone());
        let mut got = Vec::new();
        for i in 0..3 {
            got.push(tool.run(&json!({"i": i}), &call_context("k")).await);
        }
        assert_eq!(got, [Ok(ToolOutput::text("one")), Err(error.clone()), Err(error)]);
        assert_eq!((tool.runs(), tool.effects(), tool.finished(), tool.peak()), (3, 3, 3, 1));
        assert_eq!(tool.arguments(), [json!({"i": 0}), json!({"i": 1}), json!({"i": 2})]);
    }

    #[tokio::test]
    async fn a_tool_that_honours_keys_takes_effect_once_and_returns_its_receipt() {
        let lost = ToolError::new(ErrorCode::Interrupted, "lost", "Look.");
        let tool = ScriptedTool::new().fails(lost.clone()).text("receipt").honours_keys();
        let (first, second) = (call_context("a"), call_context("a"));
        assert_eq!(tool.run(&json!({}), &first).await, Err(lost));
        assert_eq!(tool.run(&json!({}), &second).await, Ok(ToolOutput::text("receipt")));
        assert_eq!((tool.runs(), tool.effects(), tool.keys()), (2, 1, vec!["a".to_owned(), "a".to_owned()]));
    }

    #[tokio::test]
    async fn a_gate_holds_runs_up_and_the_peak_is_seen() {
        let gate = Gate::closed();
        let tool = ScriptedTool::new().gated(&gate);
        let (arguments, contexts) = (json!({}), [call_context("a"), call_context("b"), call_context("c")]);
        let runs = join_all(contexts.iter().map(|context| tool.run(&arguments, context)));
        let (results, ()) = tokio::join!(runs, async {
            gate.arrived(3).await;
            assert_eq!((tool.runs(), tool.finished(), tool.effects()), (3, 0, 0));
            gate.let_through(1);
            gate.open();
        });
        assert_eq!((results.len(), tool.finished(), tool.peak()), (3, 3, 3));
    }
}
