//! The table of all settings.

/// What kind of value a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A whole number.
    Count,
    /// An amount of dollars.
    Usd,
    /// True or false.
    Switch,
    /// A list of strings; separated by commas in the environment and on the command line.
    List,
    /// A path. In the file it is relative to the file; `~/` is the home directory.
    Path,
    /// A list of paths.
    Paths,
    /// A reference to a secret: `env:NAME` or `file:PATH`.
    Secret,
}

impl Kind {
    /// What to write.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Count => "a whole number, zero or more",
            Self::Usd => "an amount of dollars, e.g. 0.50",
            Self::Switch => "true or false",
            Self::List => "a list of strings",
            Self::Path => "a path",
            Self::Paths => "a list of paths",
            Self::Secret => "a reference to a secret, `env:NAME` or `file:PATH`",
        }
    }
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// `section.name`, as in the file and for the command line.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
}

impl Key {
    /// The environment variable that sets it: `limits.tier` is `AGCORE_LIMITS_TIER`.
    pub fn env(&self) -> String {
        format!("AGCORE_{}", self.path.replace('.', "_").to_ascii_uppercase())
    }
}

const fn key(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, doc }
}

/// The one key that is no field of its own: it gives another its default.
pub(super) const TIER: &str = "limits.tier";

/// Every setting there is.
pub const KEYS: &[Key] = &[
    key("model.provider", Kind::Text, "provider profile, or auto"),
    key("model.model", Kind::Text, "model name, as the provider spells it"),
    key("model.base_url", Kind::Text, "address of a server that speaks one of the wire formats"),
    key(
        "model.api",
        Kind::Text,
        "wire format: responses, chat, messages, generate_content, interactions, conversations",
    ),
    key("model.api_key", Kind::Secret, "where the provider's key lies"),
    key(TIER, Kind::Text, "quick, standard or long: the default of max_wall_time_ms"),
    key("limits.max_tool_iterations", Kind::Count, "rounds of model call and tools in a turn"),
    key("limits.max_tool_calls_per_turn", Kind::Count, "tool calls in a turn"),
    key("limits.max_wall_time_ms", Kind::Count, "wall time of a turn, without waiting for people"),
    key("limits.max_tool_cost_usd", Kind::Usd, "money for models and tools in a turn"),
    key("limits.max_context_tokens_from_tools", Kind::Count, "tokens of tool results in the context"),
    key("limits.max_same_tool_retries", Kind::Count, "retries of one tool after failures"),
    key(
        "limits.requires_approval_for_write",
        Kind::Switch,
        "whether business writes that the user did not name in full wait for a person",
    ),
    key("limits.tool_timeout_ms", Kind::Count, "time for one tool call"),
    key("limits.approval_ttl_ms", Kind::Count, "how long a question to a person stands"),
    key("principal.tenant", Kind::Text, "tenant"),
    key("principal.user", Kind::Text, "user"),
    key("principal.roles", Kind::List, "roles, for policy rules"),
    key("principal.scopes", Kind::List, "what the user may do, e.g. customer.read"),
    key("paths.state_dir", Kind::Path, "journal, artifacts and index"),
    key("catalog.dirs", Kind::Paths, "folders of capability files"),
    key("catalog.external", Kind::Paths, "folders of capability files from outside: each capability needs an approval"),
    key("policy.files", Kind::Paths, "policy rule files"),
    key("quotas.files", Kind::Paths, "files with budgets, rates and what tenants may see and use"),
    key("route.demands", Kind::List, "what every route has to honour: strict_audit, failover, controlled_search"),
    key("prices.files", Kind::Paths, "price files"),
    key("telemetry.otlp_endpoint", Kind::Text, "OTLP/HTTP endpoint for traces"),
    key(
        "redaction.results",
        Kind::List,
        "personal data masked in what a model sees: email, phone, card, id_number, iban, all",
    ),
    key("redaction.records", Kind::List, "personal data masked in logs, traces, lists and exports"),
    key("files.roots", Kind::Paths, "folders that file.search and file.read may open"),
];

/// The setting with this path.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The known key that is most like `written`, if one is like it at all.
pub(super) fn nearest(written: &str) -> Option<&'static str> {
    let leaf = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let distance = |key: &Key| {
        let whole = strsim::osa_distance(key.path, written);
        // A key in the wrong section, or without one.
        let name = strsim::osa_distance(&leaf(key.path), &leaf(written)) + 1;
        whole.min(name)
    };
    let best = KEYS.iter().min_by_key(|key| distance(key))?;
    (distance(best) <= 1 + leaf(best.path).len().max(3) / 3).then_some(best.path)
}

/// Whether some key is in this section.
pub(super) fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.path.split_once('.').is_some_and(|(section, _)| section == name))
}
