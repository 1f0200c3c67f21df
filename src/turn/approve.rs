//! What a person may say about a call that waits: yes, no, or yes with other arguments. Three records stay in the
//! journal: what was proposed (`CallsDecided`), what was decided (`ApprovalDecided`) and, where it was edited, what is
//! in effect (`ApprovalDecided.edit`). An approval holds for exactly what was shown.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    ApprovalAnswer, ApprovalDecided, ApprovalEdit, ApprovalRequest, Call, CallStage, CallStatus, Event, Parts, Phase,
    Step, Turn, TurnError, decide, log::Log, outcome, resource,
};
use crate::{
    capability::Capability,
    execute::errors,
    llm::arguments,
    policy::{Approvers, Outcome},
    store::Remembered,
    types::{CallId, Timestamp, TurnId},
};

/// What a turn waits for.
pub fn requests(turn: &Turn) -> Vec<ApprovalRequest> {
    if turn.phase() != Phase::AwaitHumanApproval || turn.ended().is_some() {
        return Vec::new();
    }
    let waiting = turn.calls().iter().filter(|call| matches!(call.stage, CallStage::Waiting));
    waiting.filter_map(|call| request(turn, call)).collect()
}

/// The same, as people see it: whole, but for secrets, which stand there by name.
pub(crate) fn shown(parts: &Parts, turn: &Turn) -> Vec<ApprovalRequest> {
    let mut all = requests(turn);
    for request in &mut all {
        if let Cow::Owned(arguments) = parts.redactor.for_approver(&request.arguments) {
            request.arguments = arguments;
        }
    }
    all
}

fn request(turn: &Turn, call: &Call) -> Option<ApprovalRequest> {
    let decided = call.decided.as_ref()?;
    Some(ApprovalRequest {
        turn: turn.started().turn.clone(),
        call: call.id.clone(),
        capability: call.capability()?.clone(),
        principal: Arc::clone(&turn.started().principal),
        arguments: call.effective_arguments().to_owned(),
        digest: call.digest().to_owned(),
        asked_at: call.decided_at,
        expires_at: call.decided_at.map(|at| at.plus(turn.limits().approval_ttl)),
        decision: decided.decision.clone(),
    })
}

/// Records a person's decision on a call of a turn that waits. The turn goes on with [`super::resume`].
///
/// Of two people who decide at once one wins; the other gets [`TurnError::Store`] (a conflict) or
/// [`TurnError::NotWaiting`].
///
/// # Errors
/// [`TurnError::NotWaiting`] when the turn does not wait for this call, [`TurnError::Approval`] when this person may not
/// decide, comes too late, was shown something else, or edits into something that cannot run.
pub async fn decide_approval(
    parts: &Parts,
    id: &TurnId,
    call: &str,
    digest: Option<&str>,
    answer: &ApprovalAnswer,
) -> Result<(), TurnError> {
    let mut log = Log::read(id, parts.clock.clone(), parts.journal.clone(), Arc::new(())).await?;
    let waiting = requests(log.turn());
    let request = waiting.iter().find(|request| request.call.as_str() == call);
    let request = request.ok_or_else(|| TurnError::NotWaiting { turn: id.clone(), call: call.to_owned() })?;
    if digest.is_some_and(|shown| shown != request.digest) {
        return Err(TurnError::Approval("the call has other arguments by now than those that were shown".to_owned()));
    }
    if let Some(event) = expired(parts, log.turn(), request, log.now()) {
        log.record(event)?;
        log.commit(None).await?;
        return Err(TurnError::Approval(format!(
            "nobody decided in time: the question expired, `{call}` does not run"
        )));
    }
    let event = event(parts, log.turn(), request, answer).await?;
    let remembered = remembered(parts, request, &event, answer);
    log.record(event)?;
    log.commit(None).await?;
    if let Some(remembered) = remembered {
        parts.journal.remember(remembered).await?;
    }
    Ok(())
}

/// The event of an answer, checked.
pub(super) async fn event(
    parts: &Parts,
    turn: &Turn,
    request: &ApprovalRequest,
    answer: &ApprovalAnswer,
) -> Result<Event, TurnError> {
    let refuse = |why: String| Err(TurnError::Approval(why));
    let approvers = request.decision.as_ref().map(|decision| decision.approvers()).unwrap_or_default();
    if let Some(why) = may_not_decide(&approvers, request, answer) {
        return refuse(why);
    }
    let Some(call) = turn.call(&request.call) else { return refuse("the call is gone".to_owned()) };
    let edit = match &answer.edited {
        Some(_) if !answer.approved => {
            return refuse("arguments are edited to approve a call, not to reject it".to_owned());
        }
        Some(edited) => Some(edit(parts, turn, call, edited).await?),
        None => None,
    };
    let rejection = (!answer.approved).then(|| {
        let error = errors::rejected(answer.reason.as_deref());
        Arc::new(outcome::refused(parts, call, CallStatus::Rejected, error))
    });
    Ok(Event::ApprovalDecided(Box::new(ApprovalDecided {
        call: request.call.clone(),
        digest: request.digest.clone(),
        approved: answer.approved,
        by: answer.by.clone(),
        reason: answer.reason.clone(),
        rejection,
        edit,
    })))
}

/// The rejection of a question that nobody answered in time.
pub(super) fn expired(parts: &Parts, turn: &Turn, request: &ApprovalRequest, now: Timestamp) -> Option<Event> {
    let late = request.expires_at.is_some_and(|at| now >= at);
    let call = turn.call(&request.call).filter(|_| late)?;
    let reason = "nobody decided in time".to_owned();
    let error = errors::rejected(Some(&reason));
    Some(Event::ApprovalDecided(Box::new(ApprovalDecided {
        call: request.call.clone(),
        digest: request.digest.clone(),
        approved: false,
        by: "expiry".to_owned(),
        reason: Some(reason),
        rejection: Some(Arc::new(outcome::refused(parts, call, CallStatus::Rejected, error))),
        edit: None,
    })))
}

fn may_not_decide(approvers: &Approvers, request: &ApprovalRequest, answer: &ApprovalAnswer) -> Option<String> {
    if !answer.approved {
        return None;
    }
    let wanted = &approvers.roles;
    if !wanted.is_empty() && !wanted.iter().any(|role| answer.roles.contains(role)) {
        let roles: Vec<&str> = wanted.iter().map(String::as_str).collect();
        return Some(format!("`{}` may not approve this: it takes the role {}", answer.by, roles.join(" or ")));
    }
    let same = approvers.not_requester && answer.by == request.principal.user.as_str();
    same.then(|| format!("`{}` asked for this call, so somebody else has to approve it", answer.by))
}

/// Edited arguments pass the same checks as those of the model.
async fn edit(parts: &Parts, turn: &Turn, call: &Call, edited: &str) -> Result<ApprovalEdit, TurnError> {
    let refuse = |why: String| TurnError::Approval(why);
    let id = call.capability().ok_or_else(|| refuse("the call has no capability".to_owned()))?;
    let capability = parts.registry.get(id).ok_or_else(|| refuse(format!("`{id}` is not registered any more")))?;
    let tool = parts.toolbox.get(capability).map_err(refuse)?;
    if edited.contains("[secret ") {
        return Err(refuse(
            "the edit holds the name of a secret, which is not its value; leave the call as it is, or deny it"
                .to_owned(),
        ));
    }
    let value: Value = serde_json::from_str(edited).map_err(|error| refuse(format!("the edit is no JSON: {error}")))?;
    if let Err(violations) = tool.validator.check(&value) {
        return Err(refuse(format!("the edited arguments do not fit the schema: {}", arguments::told(&violations))));
    }
    let looked_up = resource::of(parts, turn, &call.id, capability, &value, &CancellationToken::new()).await;
    let resource = looked_up.map_err(|error| refuse(error.safe_message))?;
    let facts = decide::facts(turn);
    let decision = decide::ask_gate(parts, turn, &facts, capability, Some(&value), resource.as_deref());
    if decision.outcome == Outcome::Deny {
        return Err(refuse(format!("the rules deny the edited call: {}", decision.because)));
    }
    let digest = decide::binding(turn, &tool, capability, &value);
    Ok(ApprovalEdit { arguments: value.to_string(), digest, decision })
}

/// What is kept for calls to come, where the answer says so.
fn remembered(parts: &Parts, request: &ApprovalRequest, event: &Event, answer: &ApprovalAnswer) -> Option<Remembered> {
    let Event::ApprovalDecided(decided) = event else { return None };
    let capability = parts.registry.get(&request.capability)?;
    let definition = parts.toolbox.get(capability).ok()?.hash.to_string();
    let pattern = match &answer.remember {
        super::Remember::No => return None,
        super::Remember::Exactly => None,
        super::Remember::Pattern(pattern) => Some(pattern.clone()),
    };
    answer.approved.then(|| Remembered {
        digest: decided.edit.as_ref().map_or(&decided.digest, |edit| &edit.digest).clone(),
        capability: request.capability.clone(),
        definition,
        tenant: request.principal.tenant.clone(),
        user: request.principal.user.clone(),
        pattern,
        by: answer.by.clone(),
        at: parts.clock.now(),
    })
}

/// Whether an approval that was remembered covers a call.
pub(super) fn covers(
    known: &Remembered,
    turn: &Turn,
    capability: &Capability,
    definition: &str,
    digest: &str,
    arguments: &Value,
) -> bool {
    let principal = &turn.started().principal;
    let same = known.tenant == principal.tenant
        && known.user == principal.user
        && known.capability == capability.id
        && known.definition == definition;
    same && match &known.pattern {
        None => known.digest == digest,
        Some(pattern) => {
            pattern.iter().all(|(key, value)| arguments.get(key).is_some_and(|given| super::digest::same(given, value)))
        }
    }
}

impl super::Driver<'_> {
    /// Lets calls run that a person approved before, exactly so or by a pattern that was shown.
    pub(super) async fn recall(&self, decisions: &mut [super::CallDecided]) -> Result<(), TurnError> {
        for decided in decisions.iter_mut().filter(|decided| matches!(decided.verdict, super::Verdict::Ask)) {
            let turn = self.log.turn();
            let capability = decided.capability.as_ref().and_then(|id| self.parts.registry.get(id));
            let (Some(capability), Some(call)) = (capability, turn.call(&decided.call)) else { continue };
            let Ok(tool) = self.parts.toolbox.get(capability) else { continue };
            // Who has to be another person, or to have a role, is asked each time.
            if decided.decision.as_ref().is_some_and(|decision| decision.approvers() != Approvers::default()) {
                continue;
            }
            let text = decided.arguments.as_deref().unwrap_or(&call.arguments);
            let (arguments, _) = arguments::parse(text, arguments::RepairLevel::Certain).unwrap_or_default();
            let known = self.parts.journal.remembered(&capability.id).await?;
            let found =
                known.iter().find(|known| covers(known, turn, capability, &tool.hash, &decided.digest, &arguments));
            if let Some(found) = found {
                decided.remembered = Some(found.by.clone());
                decided.verdict = super::Verdict::Run;
            }
        }
        Ok(())
    }

    /// Asks people about the calls that wait. False when nobody is there to answer: the turn is left waiting, durably.
    pub(super) async fn ask_people(&mut self) -> Result<bool, TurnError> {
        self.commit().await?;
        for request in shown(self.parts, self.log.turn()) {
            if !self.still_waits(&request.call) {
                continue;
            }
            if let Some(event) = expired(self.parts, self.log.turn(), &request, self.log.now()) {
                self.log.record(event)?;
                self.commit().await?;
                continue;
            }
            let Some(approver) = self.approver.clone() else { continue };
            let Some(answer) = self.cancel.run_until_cancelled(approver.ask(&request)).await else {
                self.note_cancel()?;
                return Ok(true);
            };
            let Some(answer) = answer else { return Ok(false) };
            if self.still_waits(&request.call) {
                let event = event(self.parts, self.log.turn(), &request, &answer).await?;
                let remembered = remembered(self.parts, &request, &event, &answer);
                self.log.record(event)?;
                self.commit().await?;
                if let Some(remembered) = remembered {
                    self.parts.journal.remember(remembered).await?;
                }
            }
        }
        Ok(!matches!(self.log.turn().next(), Step::AwaitApproval(_)))
    }

    fn still_waits(&self, call: &CallId) -> bool {
        self.log.turn().call(call).is_some_and(|call| matches!(call.stage, CallStage::Waiting))
            && self.log.turn().next() != Step::Done
    }
}
