//! A definition that a person agreed to.

use serde::{Deserialize, Serialize};

use super::{CapabilityId, Timestamp};

/// What a capability from outside was when a person agreed to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Which capability.
    pub capability: CapabilityId,
    /// The hash of its contract.
    pub hash: String,
    /// The contract, as it was hashed.
    pub contract: String,
    /// Who agreed.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// When.
    pub at: Timestamp,
}
