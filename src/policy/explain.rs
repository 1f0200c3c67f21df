//! A decision in words.

use std::fmt::Write as _;

use super::{
    decision::{Decision, GateRequest, Obligation, Outcome, Stage},
    gate::Gate,
};
use crate::types::RuleId;

impl Gate {
    /// Says in a few lines what was decided, by which rule and why, which other rules matched, which were lifted, and
    /// what has to be done along with it. For people; models are told `because` only.
    pub fn explain(&self, decision: &Decision, request: &GateRequest<'_>) -> String {
        let mut text = String::new();
        self.write_explanation(&mut text, decision, request).unwrap_or_default();
        text
    }

    fn write_explanation(
        &self,
        out: &mut String,
        decision: &Decision,
        request: &GateRequest<'_>,
    ) -> Result<(), std::fmt::Error> {
        let GateRequest { capability, principal, turn, .. } = request;
        writeln!(
            out,
            "{}: {} ({}, {}) for {}/{}, {}{}",
            decision.outcome.as_str(),
            capability.id,
            capability.intent,
            capability.governance.risk_class,
            principal.tenant,
            principal.user,
            match request.stage {
                Stage::Expose => "to be shown",
                Stage::Dispatch => "to be called",
            },
            if turn.tainted { ", after untrusted content" } else { "" },
        )?;
        match &decision.rule {
            Some(rule) => writeln!(out, "  because {} (`{rule}`)", decision.because)?,
            None => writeln!(out, "  because {}", decision.because)?,
        }
        for id in &decision.matched {
            self.write_rule(out, "matched", id)?;
        }
        for id in &decision.lifted {
            self.write_rule(out, "lifted ", id)?;
        }
        for obligation in &decision.obligations {
            match obligation {
                Obligation::Redact(fields) => writeln!(out, "  must     mask {}", fields.join(", "))?,
                Obligation::RedactPersonal(kinds) => writeln!(out, "  must     mask personal data: {kinds}")?,
                Obligation::CapTokens(tokens) => writeln!(out, "  must     show at most {tokens} tokens")?,
                Obligation::CapCalls(calls) => writeln!(out, "  must     run at most {calls} times in the turn")?,
                Obligation::Approvers(who) => {
                    let roles: Vec<&str> = who.roles.iter().map(String::as_str).collect();
                    let roles = if roles.is_empty() {
                        "anybody".to_owned()
                    } else {
                        format!("the role {}", roles.join(" or "))
                    };
                    let other = if who.not_requester { ", never by the one who asked" } else { "" };
                    writeln!(out, "  must     be approved by {roles}{other}")?;
                }
            }
        }
        for (rule, outcome) in &decision.shadow {
            writeln!(out, "  shadow   `{rule}` would {}", outcome.as_str())?;
        }
        for error in &decision.errors {
            writeln!(out, "  failed   {error}")?;
        }
        Ok(())
    }

    fn write_rule(&self, out: &mut String, how: &str, id: &RuleId) -> Result<(), std::fmt::Error> {
        match self.rules.iter().find(|rule| rule.id == *id) {
            Some(rule) => writeln!(
                out,
                "  {how}  `{id}` ({}, {}{}): {}",
                rule.then.outcome.map_or("obliges", Outcome::as_str),
                rule.file,
                if rule.floor { ", floor" } else { "" },
                rule.because,
            ),
            None => writeln!(out, "  {how}  `{id}` (the capability's contract)"),
        }
    }
}
