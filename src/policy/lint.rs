//! What looks wrong with rules that load: rules that can speak of nothing, and shadows that cast none.

use serde::Serialize;

use super::{Gate, decision::Outcome, pattern::any_matches};
use crate::{capability::Registry, types::RuleId};

/// Something that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFinding {
    /// The rule.
    pub rule: RuleId,
    /// The file it stands in.
    pub file: String,
    /// What is the matter.
    pub problem: String,
}

impl Gate {
    /// Looks over rules that load.
    pub fn lint(&self, registry: &Registry) -> Vec<RuleFinding> {
        let mut findings = Vec::new();
        for rule in &self.rules {
            let mut find = |problem: String| {
                findings.push(RuleFinding { rule: rule.id.clone(), file: rule.file.clone(), problem });
            };
            let fits = |id: &str, intent: &str| {
                any_matches(&rule.matches.capability, id) && any_matches(&rule.matches.intent, intent)
            };
            let named = !rule.matches.capability.is_empty() || !rule.matches.intent.is_empty();
            let known = registry.iter().any(|capability| fits(capability.id.as_str(), capability.intent.as_str()));
            if named && !known {
                find("it speaks of no capability that is registered".to_owned());
            }
            if rule.shadow && rule.then.outcome.is_none() {
                find("a shadow without an outcome shows nothing".to_owned());
            }
            if rule.then.outcome == Some(Outcome::Allow) && !rule.then.obligations.is_empty() && rule.shadow {
                find("obligations of a shadow are not applied".to_owned());
            }
        }
        findings
    }
}
