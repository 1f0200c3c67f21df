//! What of a batch may run now: pure, without clock, I/O or executor.

use std::collections::{HashMap, VecDeque};

use crate::{
    capability::Capability,
    types::{CapabilityId, Intent, SideEffect},
};

/// How many calls of one batch run at once when nothing else is said.
pub const BATCH_CAP: usize = 16;

/// What the schedule must know of one call. Calls of one capability have equal plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned<'a> {
    /// Which capability it calls; only told apart where there is a `concurrency`.
    pub capability: &'a CapabilityId,
    /// What it serves.
    pub intent: &'a Intent,
    /// Reads run in parallel, writes one at a time in call order.
    pub side_effect: SideEffect,
    /// Calls of one group never run at the same time.
    pub group: Option<&'a str>,
    /// Intents whose calls in this batch must have finished first.
    pub depends_on: &'a [Intent],
    /// At most this many calls of the capability at once.
    pub concurrency: Option<u32>,
}

impl<'a> Planned<'a> {
    /// The plan of a call of `capability`.
    pub fn of(capability: &'a Capability) -> Self {
        let execution = &capability.execution;
        Self {
            capability: &capability.id,
            intent: &capability.intent,
            side_effect: execution.side_effect,
            group: execution.parallel_group.as_deref(),
            depends_on: &execution.depends_on,
            concurrency: execution.concurrency,
        }
    }
}

/// The schedule of one batch: which calls may start now, given which have finished.
///
/// - Reads run in parallel; writes run one at a time, in call order.
/// - Calls of one `parallel_group` never overlap.
/// - A call whose capability depends on an intent waits for all calls of that intent in the batch.
/// - At most `at_once` calls run at once, and of one capability at most its `concurrency`: a capability that is at
///   its bound does not hold up the others.
/// - Whatever may start, starts in call order.
///
/// Dependencies that go round in a circle cannot lock it: when nothing runs and nothing may start, the first call
/// that has not run yet starts. Plan only calls that will run (allowed and not waiting for a person).
#[derive(Debug)]
pub struct Schedule {
    lanes: Vec<Lane>,
    calls: Vec<Call>,
    /// The writes that have not finished, in call order.
    writes: VecDeque<usize>,
    /// Unfinished calls, per intent that others wait for.
    open: Vec<usize>,
    /// Whether a call of the group runs, per group.
    busy: Vec<bool>,
    running: usize,
    /// Calls that are not over.
    left: usize,
    at_once: usize,
}

/// Calls under the same constraints: they differ in nothing but their place, so only the first can be next.
#[derive(Debug)]
struct Lane {
    waiting: VecDeque<usize>,
    running: usize,
    writes: bool,
    /// The intent they serve, if calls of the batch wait for it.
    intent: Option<usize>,
    group: Option<usize>,
    needs: Vec<usize>,
    cap: usize,
}

/// What tells lanes apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Constraints<'a> {
    bounded: Option<&'a CapabilityId>,
    writes: bool,
    group: Option<&'a str>,
    depends_on: &'a [Intent],
    awaited: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Call {
    lane: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Over,
}

impl Schedule {
    /// A schedule of `calls` (in call order; a call is named by its index from now on), of which at most `at_once`
    /// (at least one) run at the same time.
    pub fn new(calls: &[Planned<'_>], at_once: usize) -> Self {
        let intents = number(calls.iter().flat_map(|call| call.depends_on));
        let groups = number(calls.iter().filter_map(|call| call.group));
        let mut schedule = Self {
            lanes: Vec::new(),
            calls: Vec::with_capacity(calls.len()),
            writes: VecDeque::new(),
            open: vec![0; intents.len()],
            busy: vec![false; groups.len()],
            running: 0,
            left: calls.len(),
            at_once: at_once.max(1),
        };
        let mut lanes: HashMap<Constraints<'_>, usize> = HashMap::new();
        let mut free = None;
        for (index, call) in calls.iter().enumerate() {
            let constraints = Constraints {
                bounded: call.concurrency.map(|_| call.capability),
                writes: call.side_effect.writes(),
                group: call.group,
                depends_on: call.depends_on,
                awaited: intents.get(call.intent).copied(),
            };
            let mut open_lane = || {
                schedule.lanes.push(Lane {
                    waiting: VecDeque::new(),
                    running: 0,
                    writes: constraints.writes,
                    intent: constraints.awaited,
                    group: call.group.and_then(|group| groups.get(group).copied()),
                    needs: call.depends_on.iter().filter_map(|intent| intents.get(intent).copied()).collect(),
                    cap: call.concurrency.map_or(usize::MAX, |cap| usize::try_from(cap).unwrap_or(usize::MAX).max(1)),
                });
                schedule.lanes.len() - 1
            };
            // Most calls are reads without any constraint: they need no look-up.
            let lane = if constraints == Constraints::default() {
                *free.get_or_insert_with(open_lane)
            } else {
                *lanes.entry(constraints).or_insert_with(&mut open_lane)
            };
            schedule.admit(index, lane);
        }
        schedule
    }

    fn admit(&mut self, index: usize, lane: usize) {
        self.calls.push(Call { lane, state: State::Waiting });
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        lane.waiting.push_back(index);
        if lane.writes {
            self.writes.push_back(index);
        }
        if let Some(open) = lane.intent.and_then(|intent| self.open.get_mut(intent)) {
            *open += 1;
        }
    }

    /// Starts all calls that may start now, in call order. They count as running until [`Schedule::finished`].
    pub fn ready(&mut self) -> Vec<usize> {
        let mut started = Vec::new();
        while self.running < self.at_once
            && let Some(index) = self.next_call()
        {
            self.start(index);
            started.push(index);
        }
        started
    }

    /// Says that a call is over, however it ended. A call that does not run is ignored.
    pub fn finished(&mut self, index: usize) {
        let Some(call) = self.calls.get_mut(index).filter(|call| call.state == State::Running) else { return };
        call.state = State::Over;
        let lane = call.lane;
        self.running -= 1;
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.running -= 1;
        }
        self.set_group(lane, false);
        self.settle(index, lane);
    }

    /// Takes all calls that have not started out of the schedule, in call order: they will not run.
    pub fn drain(&mut self) -> Vec<usize> {
        let waiting = self.calls.iter().enumerate().filter(|(_, call)| call.state == State::Waiting);
        let left: Vec<usize> = waiting.map(|(index, _)| index).collect();
        for &index in &left {
            if let Some(call) = self.calls.get_mut(index) {
                call.state = State::Over;
                let lane = call.lane;
                self.settle(index, lane);
            }
        }
        for lane in &mut self.lanes {
            lane.waiting.clear();
        }
        left
    }

    /// Whether every call is over.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The first call that may start; when nothing runs, the first that is left may.
    fn next_call(&self) -> Option<usize> {
        let heads = || self.lanes.iter().filter_map(|lane| Some((*lane.waiting.front()?, lane)));
        let free = heads().filter(|(index, lane)| self.may_start(*index, lane)).map(|(index, _)| index).min();
        let circle = || if self.running == 0 { heads().map(|(index, _)| index).min() } else { None };
        free.or_else(circle)
    }

    fn may_start(&self, index: usize, lane: &Lane) -> bool {
        lane.running < lane.cap
            && (!lane.writes || self.writes.front() == Some(&index))
            && lane.group.is_none_or(|group| self.busy.get(group) == Some(&false))
            && lane.needs.iter().all(|intent| self.open.get(*intent) == Some(&0))
    }

    fn start(&mut self, index: usize) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.state = State::Running;
        let lane = call.lane;
        self.running += 1;
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.waiting.pop_front();
            lane.running += 1;
        }
        self.set_group(lane, true);
    }

    fn set_group(&mut self, lane: usize, busy: bool) {
        let group = self.lanes.get(lane).and_then(|lane| lane.group);
        if let Some(held) = group.and_then(|group| self.busy.get_mut(group)) {
            *held = busy;
        }
    }

    /// Lets those go on that waited for this call to be over.
    fn settle(&mut self, index: usize, lane: usize) {
        self.left -= 1;
        let Some(lane) = self.lanes.get(lane) else { return };
        if lane.writes && self.writes.front() == Some(&index) {
            self.writes.pop_front();
        }
        if let Some(open) = lane.intent.and_then(|intent| self.open.get_mut(intent)) {
            *open -= 1;
        }
    }
}

/// Gives each distinct key a number, counted from 0.
fn number<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut numbers = HashMap::new();
    for key in keys {
        let next = numbers.len();
        numbers.entry(key).or_insert(next);
    }
    numbers
}

#[cfg(test)]
mod tests;
