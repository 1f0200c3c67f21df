//! Pins in memory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use futures_util::future::{self, BoxFuture, FutureExt};

use crate::{
    store::{Pins, StoreError, audit::Acted},
    types::{CapabilityId, Pin},
};

#[derive(Debug, Default)]
pub(super) struct MemoryPins(Mutex<BTreeMap<CapabilityId, Pin>>);

impl MemoryPins {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<CapabilityId, Pin>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Pins for MemoryPins {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Pin>, StoreError>> {
        future::ready(Ok(self.with(|pins| pins.values().cloned().collect()))).boxed()
    }

    fn put(&self, pin: Pin) -> BoxFuture<'_, Result<(), StoreError>> {
        self.with(|pins| pins.insert(pin.capability.clone(), pin));
        future::ready(Ok(())).boxed()
    }

    fn remove<'a>(&'a self, capability: &'a CapabilityId, _: Acted) -> BoxFuture<'a, Result<bool, StoreError>> {
        future::ready(Ok(self.with(|pins| pins.remove(capability).is_some()))).boxed()
    }
}
