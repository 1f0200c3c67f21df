//! The closed lists of the vocabulary: risks, effects, modes, regions.

use serde::{Deserialize, Serialize};

macro_rules! word {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it is written in catalogs, journals and on the screen.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

word!(
    /// Who runs a capability.
    ExecutionMode {
        /// The provider runs it inside its own reply; agcore observes.
        ProviderHosted = "provider_hosted",
        /// A function of this process.
        RuntimeFunction = "runtime_function",
        /// A tool of an MCP server.
        McpRemote = "mcp_remote",
        /// Code inside the sandbox.
        Sandboxed = "sandboxed",
        /// A person does it.
        HumanApproval = "human_approval",
    }
);

word!(
    /// How a capability may be run and retried.
    SideEffect {
        /// Changes nothing: runs in parallel, may be retried.
        ReadOnly = "read_only",
        /// Changes something, but twice is the same as once, given the same idempotency key.
        IdempotentWrite = "idempotent_write",
        /// Changes something each time it runs.
        NonIdempotentWrite = "non_idempotent_write",
        /// Destroys something that cannot be brought back.
        Destructive = "destructive",
    }
);

impl SideEffect {
    /// Whether running it changes anything.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::ReadOnly)
    }
}

word!(
    /// How a capability is governed.
    RiskClass {
        /// Reads what is public or the user's own.
        ReadOnly = "read_only",
        /// Reads company data.
        InternalRead = "internal_read",
        /// Reads through somebody else's service: the question leaves the house.
        ExternalRead = "external_read",
        /// Writes a draft that nobody receives.
        DraftWrite = "draft_write",
        /// Writes with a key, so that twice is once.
        IdempotentWrite = "idempotent_write",
        /// Writes that others see or that cost money.
        #[serde(alias = "write")]
        BusinessWrite = "business_write",
        /// Deletes or destroys.
        Destructive = "destructive",
    }
);

impl RiskClass {
    /// Whether a person has to agree by default.
    pub const fn needs_person(self) -> bool {
        matches!(self, Self::BusinessWrite | Self::Destructive)
    }

    /// Whether it changes anything.
    pub const fn writes(self) -> bool {
        matches!(self, Self::DraftWrite | Self::IdempotentWrite | Self::BusinessWrite | Self::Destructive)
    }

    /// The side effect a capability of this risk has when it names none.
    pub const fn default_side_effect(self) -> SideEffect {
        match self {
            Self::ReadOnly | Self::InternalRead | Self::ExternalRead => SideEffect::ReadOnly,
            Self::IdempotentWrite => SideEffect::IdempotentWrite,
            Self::DraftWrite | Self::BusinessWrite => SideEffect::NonIdempotentWrite,
            Self::Destructive => SideEffect::Destructive,
        }
    }
}

word!(
    /// What one call costs, roughly.
    CostClass {
        /// Free or below a tenth of a cent.
        Low = "low",
        /// About a cent.
        Medium = "medium",
        /// More.
        High = "high",
    }
);

word!(
    /// What an operator demands of every route, beyond the context of one turn.
    Demand {
        /// Every call has to be auditable with its real arguments and results.
        StrictAudit = "strict_audit",
        /// Another engine must be able to step in when one fails.
        Failover = "failover",
        /// The quality of search is controlled by the house: its own pipeline serves.
        ControlledSearch = "controlled_search",
    }
);

word!(
    /// How secret data is.
    DataClass {
        /// Anyone may see it.
        Public = "public",
        /// Anyone in the house.
        Internal = "internal",
        /// Those who need it.
        Confidential = "confidential",
        /// Named people only.
        Restricted = "restricted",
    }
);

word!(
    /// Whether what a capability returns may be believed as instructions.
    Trust {
        /// Written by us or by an operator.
        Trusted = "trusted",
        /// Anybody may have written it: fenced, and it taints the turn.
        Untrusted = "untrusted",
    }
);

word!(
    /// Where a request is served.
    Region {
        /// Anywhere.
        Global = "global",
        /// Mainland China.
        Cn = "cn",
        /// European Union.
        Eu = "eu",
        /// United States.
        Us = "us",
    }
);

word!(
    /// What an argument is to its call, for rules about who named its value.
    ArgumentRole {
        /// Whom or what the call acts on: a recipient, an account, a channel, a path, a new value.
        Target = "target",
        /// A URL or host the call goes to.
        Host = "host",
        /// How much.
        Amount = "amount",
        /// On which day.
        Date = "date",
        /// A handle that a look-up returned (`event_id`).
        Reference = "reference",
        /// Free text: what is said, not to whom.
        Content = "content",
        /// A choice among a few words, or a detail that changes nothing for anybody.
        Option = "option",
    }
);

word!(
    /// Whether an answer must be looked up.
    Trigger {
        /// The model decides.
        Auto = "auto",
        /// Must search and cite.
        Required = "required",
        /// Must not search: the material is in the conversation already.
        Forbidden = "forbidden",
    }
);

word!(
    /// An API surface: one wire format of one or more providers.
    Api {
        /// OpenAI Responses and those who copied it.
        Responses = "responses",
        /// OpenAI Chat Completions and those who copied it.
        Chat = "chat",
        /// Anthropic Messages.
        Messages = "messages",
        /// Gemini generateContent.
        GenerateContent = "generate_content",
        /// Gemini Interactions.
        Interactions = "interactions",
        /// Mistral Conversations.
        Conversations = "conversations",
        /// DashScope's own generation format (Aliyun).
        Generation = "generation",
        /// No wire at all: a model inside this process (extractive, scripted).
        Local = "local",
    }
);
