//! Rates: how many calls start in a span of time, and how many run at once, for each subject.

use crate::{capability::Capability, policy::Glob, store::RateClaim, types::DurationMs};

use super::scope::{Asker, Subjects};

/// A bound on calls.
#[derive(Debug, Clone)]
pub struct Rate {
    /// Its id.
    pub id: String,
    pub(super) subjects: Subjects,
    /// Over capability id and intent; one has to match.
    pub(super) capabilities: Vec<Glob>,
    /// So many calls in a span.
    pub(super) calls: Option<(u32, DurationMs)>,
    /// So many at once, in this process.
    pub(super) at_once: Option<u32>,
}

impl Rate {
    pub(super) fn bind(&self, asker: &Asker<'_>, capability: &Capability, bounds: &mut Bounds) {
        let fits = |glob: &Glob| glob.matches(capability.id.as_str()) || glob.matches(capability.intent.as_str());
        if !self.capabilities.iter().any(fits) {
            return;
        }
        let Some(subject) = self.subjects.of(asker) else { return };
        let id = format!("{}/{subject}", self.id);
        if let Some(at_once) = self.at_once {
            bounds.at_once.push((id.clone(), at_once));
        }
        if let Some((calls, per)) = self.calls {
            bounds.rates.push(RateClaim { id, calls, per });
        }
    }
}

/// What bounds one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// What it counts against.
    pub rates: Vec<RateClaim>,
    /// The slots it shares with calls of other capabilities: name, and how many there are.
    pub at_once: Vec<(String, u32)>,
}

impl Bounds {
    pub(super) fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.at_once.is_empty()
    }
}
