//! Artifacts in memory, for tests and for runs that leave no trace.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Artifact, ArtifactError, ArtifactStore, Slice, clamp};
use crate::types::{ArtifactId, TenantId};

/// Keeps artifacts as long as the process lives. Without a bound: use [`DiskArtifacts`](super::DiskArtifacts) for long runs.
#[derive(Default)]
pub struct MemoryArtifacts {
    held: Mutex<HashMap<(TenantId, ArtifactId), Artifact>>,
}

impl fmt::Debug for MemoryArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "MemoryArtifacts({} artifacts)", held.len())
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn put<'a>(&'a self, tenant: &'a TenantId, artifact: &'a Artifact) -> BoxFuture<'a, Result<(), ArtifactError>> {
        let key = (tenant.clone(), artifact.reference().id.clone());
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(key, artifact.clone());
        std::future::ready(Ok(())).boxed()
    }

    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ArtifactId,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Slice, ArtifactError>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held.get(&(tenant.clone(), id.clone())).map(|artifact| slice(artifact, &range));
        std::future::ready(found.ok_or_else(|| ArtifactError::NotFound(id.clone()))).boxed()
    }
}

fn slice(artifact: &Artifact, range: &Range<u64>) -> Slice {
    let total = artifact.reference().bytes;
    let range = clamp(range, total);
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(artifact.bytes().len());
    Slice {
        bytes: artifact.bytes().slice(at(range.start)..at(range.end)),
        start: range.start,
        total,
        mime: artifact.reference().mime.clone(),
    }
}
