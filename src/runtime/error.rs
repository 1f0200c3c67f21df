//! What can be wrong with the parts a runtime is built from.

use crate::{
    capability::CapabilityError,
    execute::{DuplicateExecutor, HttpToolError},
    net::NetError,
    policy::PolicyError,
    quota::QuotaError,
    store::StoreError,
    types::{CapabilityId, IdError},
};

/// Why a runtime could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A capability or a catalog is wrong.
    #[error(transparent)]
    Capability(#[from] CapabilityError),
    /// A rule file is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Two functions have one name.
    #[error(transparent)]
    Function(#[from] DuplicateExecutor),
    /// A declared HTTP call is wrong.
    #[error(transparent)]
    Http(#[from] HttpToolError),
    /// HTTP cannot be spoken at all (no certificates).
    #[error(transparent)]
    Net(#[from] NetError),
    /// What was allotted is wrong.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// A name is no valid id.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// Why a definition from outside was not agreed to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// Nothing from outside has that id.
    #[error("`{0}` is no capability from outside; `agcore tools pins` lists those")]
    NotExternal(CapabilityId),
    /// It is another one than the one that was shown.
    #[error(
        "`{capability}` is not what was shown: it is {hash} by now; look at it again with `agcore tools pins {capability}`"
    )]
    Changed {
        /// Which capability.
        capability: CapabilityId,
        /// Its hash now.
        hash: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
