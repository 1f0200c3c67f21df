//! A small world that answers every step of the machine, the same way each time for the same seed.

use std::sync::Arc;

use serde_json::Map;

use crate::{
    config::Limits,
    intent::IntentReport,
    llm::{ModelError, ModelErrorKind, ToolChoice},
    policy::Principal,
    turn::*,
    types::*,
};

pub(super) fn started(limits: Limits) -> Started {
    Started {
        turn: TurnId::new("t1").unwrap(),
        trace: TraceId::new("0123456789abcdef0123456789abcdef").unwrap(),
        input: vec![UserPart::Text("how many?".into())],
        instructions: String::new(),
        history: vec![],
        declared: vec![],
        past_intents: vec![],
        parent: None,
        task: None,
        principal: Arc::new(Principal {
            tenant: TenantId::new("local").unwrap(),
            user: UserId::new("me").unwrap(),
            roles: Default::default(),
            scopes: Default::default(),
        }),
        model: ModelOptions {
            on_unsupported: crate::llm::OnUnsupported::default(),
            provider: ProviderName::new("test").unwrap(),
            model: ModelName::new("test-1").unwrap(),
            max_output_tokens: None,
            temperature: None,
            reasoning_effort: None,
            stream: false,
            extra: Map::new(),
        },
        policy: Arc::default(),
        limits: Arc::new(limits),
        data_class: DataClass::Public,
        region: Region::Global,
        tool_choice: ToolChoice::Auto,
        force_every_step: false,
        on_reject: OnReject::Stop,
        tainted: false,
        data_classes: vec![],
    }
}

pub(super) fn prepared() -> Prepared {
    Prepared {
        report: IntentReport {
            intents: vec![],
            trigger: Trigger::Auto,
            trigger_because: String::new(),
            require_citations: false,
        },
        routes: vec![],
        unrouted: vec![],
        exposed: vec![],
        withheld: vec![],
        tool_choice: ToolChoice::Auto,
        builtin_tools: vec![],
    }
}

pub(super) fn reply(calls: &[&str], text: &str, stop: Stop) -> Arc<Reply> {
    let mut items = Vec::new();
    if !text.is_empty() {
        items.push(Item::local(Part::Text { text: text.into(), citations: vec![] }));
    }
    for (number, name) in calls.iter().enumerate() {
        items.push(Item::local(Part::Call(FunctionCall {
            provider_id: format!("p{number}"),
            name: (*name).into(),
            arguments: "{}".into(),
            complete: true,
        })));
    }
    Arc::new(Reply {
        origin: Origin {
            provider: ProviderName::new("test").unwrap(),
            api: Api::Local,
            model: ModelName::new("test-1").unwrap(),
            family: "test".into(),
        },
        id: None,
        items,
        stop,
        usage: None,
        notices: vec![],
        carry: None,
    })
}

pub(super) fn outcome(call: &CallId, status: CallStatus, content: &str) -> CallOutcome {
    let mut outcome = CallOutcome::not_run(call, status, "scripted");
    outcome.projection.content = content.into();
    outcome.result_digest = content.into();
    if status == CallStatus::Ok {
        outcome.error = None;
    }
    outcome
}

pub(super) fn decided(call: &CallId, side_effect: SideEffect, keyed: bool, verdict: Verdict) -> Arc<CallDecided> {
    Arc::new(CallDecided {
        call: call.clone(),
        capability: Some(CapabilityId::new("test.tool").unwrap()),
        contract: Arc::default(),
        arguments: None,
        repairs: vec![],
        digest: format!("digest of {call}"),
        risk_class: RiskClass::ReadOnly,
        side_effect,
        keyed,
        polling: false,
        resource: None,
        decision: None,
        remembered: None,
        verdict,
    })
}

/// Drives a turn: every answer follows from the seed and from what is asked, never from how often it was asked.
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) journal: Vec<Recorded>,
    pub(super) turn: Turn,
    /// How often each call really ran.
    pub(super) effects: std::collections::BTreeMap<String, u32>,
}

impl World {
    pub(super) fn new(seed: u64, limits: Limits) -> Self {
        let mut start = started(limits);
        start.on_reject = if seed.is_multiple_of(2) { OnReject::Stop } else { OnReject::Continue };
        let first = Recorded { seq: 0, at: Timestamp::from_ms(0), event: Event::Started(Arc::new(start)) };
        let turn = Turn::open(&first).unwrap();
        Self { seed, journal: vec![first], turn, effects: Default::default() }
    }

    pub(super) fn resume(seed: u64, journal: &[Recorded]) -> Self {
        let turn = Turn::fold(journal).unwrap();
        Self { seed, journal: journal.to_vec(), turn, effects: Default::default() }
    }

    /// A number below `n` that follows from the seed and `what` only.
    fn roll(&self, what: &str, n: u64) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed;
        for byte in what.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        (hash >> 17) % n
    }

    pub(super) fn record(&mut self, event: Event) {
        let seq = self.turn.next_seq();
        let at = Timestamp::from_ms(i64::try_from(seq).unwrap() * 10);
        let recorded = Recorded { seq, at, event };
        let before = self.turn.phase();
        self.turn.apply(&recorded).unwrap();
        let mut from = before;
        for phase in self.turn.trail() {
            assert!(from.may_become().contains(phase), "{from:?} may not become {phase:?}");
            from = *phase;
        }
        self.journal.push(recorded);
    }

    fn effect_of(&self, call: &CallId) -> (SideEffect, bool) {
        match self.roll(&format!("effect {call}"), 4) {
            0 => (SideEffect::NonIdempotentWrite, false),
            1 => (SideEffect::IdempotentWrite, true),
            _ => (SideEffect::ReadOnly, false),
        }
    }

    /// Performs one step. Returns false when there is none left.
    pub(super) fn step(&mut self) -> bool {
        match self.turn.next() {
            Step::Prepare => self.record(Event::Prepared(Arc::new(prepared()))),
            Step::CallModel(step) => self.call_model(&step),
            Step::Decide(calls) => self.decide(&calls),
            Step::Execute(calls) => self.execute(&calls),
            Step::AwaitApproval(calls) => self.approve(&calls[0].clone()),
            Step::Finish(reason) => {
                let (answer, citations) =
                    self.turn.last_reply().map(|reply| reply.text_and_citations()).unwrap_or_default();
                self.record(Event::Ended(Arc::new(Ended { reason, answer, citations, notices: vec![] })));
            }
            Step::Paused => self.record(Event::Operated(Box::new(Operated {
                by: "ann".into(),
                why: String::new(),
                act: Act::Unpaused,
            }))),
            Step::Done => return false,
        }
        true
    }

    fn call_model(&mut self, step: &ModelStep) {
        let number = step.number;
        if !step.started {
            let choice = step.choice.clone();
            let reserved = MicroUsd::new(10);
            return self.record(Event::ModelCallStarted(ModelCallStarted {
                number,
                choice,
                reserved,
                hosted_write: false,
            }));
        }
        let latency = DurationMs(1);
        if self.roll(&format!("fails {number}"), 40) == 0 {
            let error = ModelError::new(ModelErrorKind::Unavailable, "down");
            return self.record(Event::ModelCallFailed(ModelCallFailed { number, error, latency }));
        }
        let count = self.roll(&format!("calls {number}"), 4);
        let names = vec!["test.tool"; usize::try_from(count).unwrap()];
        let stop = if count > 0 { Stop::ToolCalls } else { Stop::End };
        let reply = reply(&names, &format!("text {number}"), stop);
        let (cost, injection_score) = (Some(MicroUsd::new(3)), 0);
        self.record(Event::ModelReplied(ModelReplied { number, reply, cost, latency, injection_score }));
    }

    fn decide(&mut self, calls: &[CallId]) {
        let limit = self.turn.started().limits.max_tool_calls_per_turn;
        let mut room = limit.saturating_sub(self.turn.tool_calls());
        let mut decisions = Vec::new();
        for call in calls {
            let (side_effect, keyed) = self.effect_of(call);
            let verdict = match self.roll(&format!("verdict {call}"), 6) {
                0 => Verdict::Refuse(Arc::new(outcome(call, CallStatus::Denied, "no"))),
                _ if room == 0 => Verdict::Refuse(Arc::new(outcome(call, CallStatus::Refused, "limit"))),
                1 => Verdict::Ask,
                _ => Verdict::Run,
            };
            room -= u32::from(!matches!(verdict, Verdict::Refuse(_)));
            decisions.push(decided(call, side_effect, keyed, verdict));
        }
        self.record(Event::CallsDecided(decisions));
    }

    fn execute(&mut self, ready: &[CallId]) {
        let running = self.turn.calls().iter().find(|call| matches!(call.stage, CallStage::Running { .. }));
        let Some(call) = running.map(|call| call.id.clone()) else {
            let call = ready[0].clone();
            let key = format!("t1/{call}");
            return self.record(Event::CallStarted(CallStarted { call, key, reserved: MicroUsd::ZERO }));
        };
        *self.effects.entry(call.to_string()).or_default() += 1;
        let status = if self.roll(&format!("ok {call}"), 5) == 0 { CallStatus::Error } else { CallStatus::Ok };
        let outcome = outcome(&call, status, &format!("result of {call}"));
        self.record(Event::CallFinished(CallFinished { call, outcome: Arc::new(outcome), settled_by: None }));
    }

    fn approve(&mut self, call: &CallId) {
        let digest = self.turn.call(call).unwrap().digest().to_owned();
        let approved = self.roll(&format!("approve {call}"), 3) > 0;
        self.record(Event::ApprovalDecided(Box::new(ApprovalDecided {
            call: call.clone(),
            digest,
            approved,
            by: "me".into(),
            reason: None,
            edit: None,
            rejection: None,
        })));
    }

    pub(super) fn run(&mut self) {
        for _ in 0..10_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the turn does not end");
    }
}
