//! Finds the few rules that can speak of a request without looking at all of them.

use super::{
    decision::GateRequest,
    pattern::Glob,
    rule::{Match, Rule},
};
use crate::types::{FastMap, RiskClass};

/// About how many rules are found by name or risk.
const USUAL_FINDS: usize = 12;

/// Rules by the most selective thing their `match` fixes. Each rule stands under one kind of key.
#[derive(Default)]
pub(super) struct Index {
    capability: Names,
    intent: Names,
    tenant: Names,
    risk: FastMap<RiskClass, Vec<usize>>,
    /// Rules that fix nothing an index can use.
    rest: Vec<usize>,
}

impl Index {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            index.add(at, &rule.matches);
        }
        index
    }

    fn add(&mut self, at: usize, matches: &Match) {
        let names = [
            (&mut self.capability, &matches.capability),
            (&mut self.intent, &matches.intent),
            (&mut self.tenant, &matches.tenant),
        ];
        for (names, globs) in names {
            if Names::can_hold(globs) {
                names.add(at, globs);
                return;
            }
        }
        if matches.risk.is_empty() {
            self.rest.push(at);
        }
        for risk in &matches.risk {
            self.risk.entry(*risk).or_default().push(at);
        }
    }

    /// The positions of all rules that may fit, in order, each once.
    pub(super) fn candidates(&self, request: &GateRequest<'_>) -> Vec<usize> {
        let mut found = Vec::with_capacity(self.rest.len() + USUAL_FINDS);
        found.extend(&self.rest);
        self.capability.find(request.capability.id.as_str(), &mut found);
        self.intent.find(request.capability.intent.as_str(), &mut found);
        self.tenant.find(request.principal.tenant.as_str(), &mut found);
        if let Some(rules) = self.risk.get(&request.capability.governance.risk_class) {
            found.extend(rules);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Rules by exact name, and by what stands before the first dot.
#[derive(Default)]
struct Names {
    exact: FastMap<Box<str>, Vec<usize>>,
    segment: FastMap<Box<str>, Vec<usize>>,
}

impl Names {
    /// Whether every pattern fixes a name or a first segment.
    fn can_hold(globs: &[Glob]) -> bool {
        !globs.is_empty() && globs.iter().all(|glob| glob.exact().is_some() || glob.first_segment().is_some())
    }

    fn add(&mut self, at: usize, globs: &[Glob]) {
        for glob in globs {
            let (map, key) = match (glob.exact(), glob.first_segment()) {
                (Some(name), _) => (&mut self.exact, name),
                (None, Some(segment)) => (&mut self.segment, segment),
                (None, None) => continue,
            };
            map.entry(key.into()).or_default().push(at);
        }
    }

    fn find(&self, name: &str, found: &mut Vec<usize>) {
        if let Some(rules) = self.exact.get(name) {
            found.extend(rules);
        }
        if let Some(rules) = name.split_once('.').and_then(|(segment, _)| self.segment.get(segment)) {
            found.extend(rules);
        }
    }
}
