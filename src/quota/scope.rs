//! Whose money and whose calls are counted together.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    policy::{Glob, Principal},
    types::{TaskType, TurnId},
};

/// Who is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A turn with all that were begun for it.
    TurnTree,
    /// Everybody.
    All,
    /// A tenant.
    Tenant,
    /// A user of a tenant, written `tenant/user`.
    User,
    /// A task type: over all tenants, or each tenant's (`tenant/task`) where the row names a tenant.
    Task,
}

impl Scope {
    /// The word as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TurnTree => "turn_tree",
            Self::All => "all",
            Self::Tenant => "tenant",
            Self::User => "user",
            Self::Task => "task",
        }
    }
}

/// Who asks, for what kind of work, in which tree of turns.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// On whose behalf.
    pub principal: &'a Principal,
    /// What kind of work.
    pub task: Option<&'a TaskType>,
    /// The root of the tree.
    pub root: &'a TurnId,
}

/// Which subjects a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subjects {
    pub(super) scope: Scope,
    /// Over the subject as it is written; each subject that fits is counted by itself.
    pub(super) pattern: Glob,
    /// Only for these tenants.
    pub(super) tenant: Option<Glob>,
}

impl Subjects {
    /// The subject of this row that `asker` is, if any.
    pub(super) fn of<'a>(&self, asker: &Asker<'a>) -> Option<Cow<'a, str>> {
        let tenant = asker.principal.tenant.as_str();
        if self.tenant.as_ref().is_some_and(|wanted| !wanted.matches(tenant)) {
            return None;
        }
        let below = |name: &str| Cow::Owned(format!("{}/{name}", escaped(tenant)));
        let subject = match self.scope {
            Scope::TurnTree => return Some(Cow::Borrowed(asker.root.as_str())),
            Scope::All => return Some(Cow::Borrowed("all")),
            Scope::Tenant => Cow::Borrowed(tenant),
            Scope::User => below(asker.principal.user.as_str()),
            Scope::Task if self.tenant.is_some() => below(asker.task?.as_str()),
            Scope::Task => Cow::Borrowed(asker.task?.as_str()),
        };
        self.pattern.matches(&subject).then_some(subject)
    }
}

/// A tenant in front of a slash: its own slashes must not look like that one.
fn escaped(tenant: &str) -> Cow<'_, str> {
    if tenant.contains(['%', '/']) {
        Cow::Owned(tenant.replace('%', "%25").replace('/', "%2F"))
    } else {
        Cow::Borrowed(tenant)
    }
}
