//! Where pins of definitions from outside are kept.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::types::{CapabilityId, Pin};

use super::{StoreError, audit::Acted};

/// The pins. Each change is a line on the audit log, in the same transaction.
pub trait Pins: Send + Sync + fmt::Debug {
    /// All of them, by capability.
    fn all(&self) -> BoxFuture<'_, Result<Vec<Pin>, StoreError>>;

    /// Pins a definition, in place of the one that was pinned.
    fn put(&self, pin: Pin) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Takes a pin away: the capability is held back until somebody agrees to it again. False when there was none.
    fn remove<'a>(&'a self, capability: &'a CapabilityId, acted: Acted) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// What a new pin says on the audit log.
pub(super) fn agreed(pin: &Pin, before: Option<&str>) -> Acted {
    let mut about = serde_json::Map::new();
    about.insert("capability".to_owned(), pin.capability.as_str().into());
    about.extend(before.map(|hash| ("from".to_owned(), hash.into())));
    about.insert("to".to_owned(), pin.hash.as_str().into());
    Acted { act: "approve_definition".to_owned(), by: pin.by.clone(), why: pin.why.clone(), at: pin.at, about }
}
