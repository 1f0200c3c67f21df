//! A tool that answers from a list.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use agcore::{
    execute::{CallContext, Executor},
    types::{ToolError, ToolOutput},
};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::Gate;

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
