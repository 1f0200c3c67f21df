//! The decisions of a turn, one entry each.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use crate::{
    policy::Outcome,
    turn::{ApprovalDecided, CallDecided, CallFinished, Event, Operated, Recorded, Started, Verdict},
    types::{CallId, CapabilityId, RuleId, TenantId, Timestamp, TurnId, UserId, is_default},
};

/// One thing that was decided or done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The turn.
    pub turn: TurnId,
    /// Its place in the turn's journal.
    pub event: u64,
    /// When.
    pub at: Timestamp,
    /// On whose behalf.
    pub tenant: TenantId,
    /// On whose behalf.
    pub user: UserId,
    /// What: `started`, `allowed`, `asked`, `refused`, `approved`, `edited`, `rejected`, `running`, `paused`, `cancelled`, the
    /// word of an outcome, …
    pub what: String,
    /// Who did it, where that was not the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Called>,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// All rules that matched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
    /// The hash of the rules in force.
    #[serde(skip_serializing_if = "is_default")]
    pub policy: Arc<str>,
    /// The receipt of a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

/// A call, without its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Called {
    /// The call.
    pub id: CallId,
    /// What it runs.
    pub capability: Option<CapabilityId>,
    /// The hash of that capability's contract.
    #[serde(skip_serializing_if = "is_default")]
    pub contract: Arc<str>,
    /// The digest of principal, contract and arguments: what an approval is bound to.
    pub digest: String,
}

/// What was decided and done in a turn, in order. Free text is not redacted.
pub fn entries(journal: &[Recorded]) -> Vec<Entry> {
    let Some(Event::Started(started)) = journal.first().map(|first| &first.event) else { return Vec::new() };
    let mut reader = Reader { started, policy: started.policy.clone(), calls: BTreeMap::new(), entries: Vec::new() };
    for recorded in journal {
        reader.read(recorded);
    }
    reader.entries
}

struct Reader<'a> {
    started: &'a Started,
    policy: Arc<str>,
    calls: BTreeMap<CallId, Called>,
    entries: Vec<Entry>,
}

impl Reader<'_> {
    fn read(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::Started(_) => self.add(recorded, "started"),
            Event::Resumed(resumed) => {
                self.policy = resumed.policy.clone();
                self.add(recorded, "resumed");
                resumed.looked_up.iter().for_each(|finished| self.finished(recorded, finished));
            }
            Event::CallsDecided(decisions) => decisions.iter().for_each(|decided| self.decided(recorded, decided)),
            Event::ApprovalDecided(approval) => self.approval(recorded, approval),
            Event::CallStarted(started) => {
                self.add(recorded, "running");
                self.about(&started.call);
            }
            Event::CallFinished(finished) => self.finished(recorded, finished),
            Event::Cancelled { by } => {
                self.add(recorded, "cancelled");
                self.said(by, "");
            }
            Event::BudgetShort(short) => {
                self.add(recorded, "budget_short");
                if let Some(entry) = self.entries.last_mut() {
                    entry.why = short.to_string();
                }
            }
            Event::Operated(operated) => self.operated(recorded, operated),
            Event::Resolved(resolved) => {
                self.add(recorded, if resolved.took_effect { "took_effect" } else { "took_no_effect" });
                self.about(&resolved.call);
                self.said(&resolved.by, &resolved.why);
                if let Some(entry) = self.entries.last_mut() {
                    entry.receipt.clone_from(&resolved.receipt);
                }
            }
            Event::Ended(ended) => {
                self.add(recorded, "ended");
                if let Some(entry) = self.entries.last_mut() {
                    ended.reason.as_str().clone_into(&mut entry.why);
                }
            }
            Event::Prepared(_)
            | Event::ToolsAdded(_)
            | Event::ToolsRemoved(_)
            | Event::ModelCallStarted(_)
            | Event::ModelReplied(_)
            | Event::ModelCallFailed(_)
            | Event::LimitReached(_) => {}
        }
    }

    fn add(&mut self, recorded: &Recorded, what: &str) {
        let principal = &self.started.principal;
        self.entries.push(Entry {
            turn: self.started.turn.clone(),
            event: recorded.seq,
            at: recorded.at,
            tenant: principal.tenant.clone(),
            user: principal.user.clone(),
            what: what.to_owned(),
            by: None,
            why: String::new(),
            call: None,
            rule: None,
            rules: Vec::new(),
            policy: self.policy.clone(),
            receipt: None,
        });
    }

    fn about(&mut self, call: &CallId) {
        if let Some(entry) = self.entries.last_mut() {
            entry.call = self.calls.get(call).cloned();
        }
    }

    fn said(&mut self, by: &str, why: &str) {
        if let Some(entry) = self.entries.last_mut() {
            entry.by = Some(by.to_owned());
            why.clone_into(&mut entry.why);
        }
    }

    fn finished(&mut self, recorded: &Recorded, finished: &CallFinished) {
        self.add(recorded, finished.outcome.status.as_str());
        self.about(&finished.call);
        if let Some(entry) = self.entries.last_mut() {
            entry.receipt.clone_from(&finished.outcome.receipt);
            entry.by.clone_from(&finished.settled_by);
        }
    }

    fn decided(&mut self, recorded: &Recorded, decided: &CallDecided) {
        let what = match (&decided.verdict, decided.decision.as_ref().map(|decision| decision.outcome)) {
            (Verdict::Run, _) => "allowed",
            (Verdict::Ask, _) => "asked",
            (Verdict::Refuse(_), Some(Outcome::Deny)) => "denied",
            (Verdict::Refuse(_), Some(Outcome::Allow | Outcome::Ask) | None) => "refused",
        };
        self.add(recorded, what);
        let called = Called {
            id: decided.call.clone(),
            capability: decided.capability.clone(),
            contract: decided.contract.clone(),
            digest: decided.digest.clone(),
        };
        self.calls.insert(decided.call.clone(), called);
        self.about(&decided.call);
        let Some(entry) = self.entries.last_mut() else { return };
        if let Some(decision) = &decided.decision {
            entry.rule.clone_from(&decision.rule);
            entry.rules.clone_from(&decision.matched);
            entry.why.clone_from(&decision.because);
        }
        if let Some(by) = &decided.remembered {
            entry.by = Some(by.clone());
            "approved before, in a way that covers this call".clone_into(&mut entry.why);
        }
    }

    fn approval(&mut self, recorded: &Recorded, approval: &ApprovalDecided) {
        let what = match (&approval.edit, approval.approved) {
            (Some(_), true) => "edited",
            (None, true) => "approved",
            (_, false) => "rejected",
        };
        self.add(recorded, what);
        if let (Some(edit), Some(called)) = (&approval.edit, self.calls.get_mut(&approval.call)) {
            called.digest.clone_from(&edit.digest);
        }
        self.about(&approval.call);
        self.said(&approval.by, approval.reason.as_deref().unwrap_or(""));
    }

    fn operated(&mut self, recorded: &Recorded, operated: &Operated) {
        self.add(recorded, operated.act.kind());
        let why = match operated.act.limits_set() {
            None => operated.why.clone(),
            Some(set) => format!("{set} {}", operated.why).trim_end().to_owned(),
        };
        self.said(&operated.by, &why);
    }
}
