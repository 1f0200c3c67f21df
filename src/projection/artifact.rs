//! Whole raw results, outside of the context, under the hash of their bytes.
//!
//! A result is stored when the model does not see all of it: it was shortened, fields were dropped, or it holds media. What
//! fits is in the journal already. Artifacts belong to a tenant; nobody else's id opens them. They are stored as
//! they came, unmasked, and leave the store only through [`read`](super::read()) and the projector, which mask.

mod disk;
mod memory;

use std::{fmt, ops::Range};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::{
    error::{Error, ErrorKind},
    types::{ArtifactId, ArtifactRef, TenantId, sha256_name},
};

pub use disk::DiskArtifacts;
pub use memory::MemoryArtifacts;

/// A whole result on its way into the store.
#[derive(Clone, PartialEq, Eq)]
pub struct Artifact {
    reference: ArtifactRef,
    bytes: Bytes,
}

impl Artifact {
    /// Names `bytes` by their hash. `None` never happens for bytes of this world; it saves a panic.
    pub fn new(bytes: impl Into<Bytes>, mime: &str) -> Option<Self> {
        let bytes = bytes.into();
        let id = ArtifactId::new(sha256_name(&Sha256::digest(&bytes))).ok()?;
        let size = u64::try_from(bytes.len()).ok()?;
        Some(Self { reference: ArtifactRef { id, mime: mime.to_owned(), bytes: size }, bytes })
    }

    /// How others refer to it.
    pub const fn reference(&self) -> &ArtifactRef {
        &self.reference
    }

    /// The bytes.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reference.fmt(f)
    }
}

/// A part of an artifact.
#[derive(Clone, PartialEq, Eq)]
pub struct Slice {
    /// The bytes.
    pub bytes: Bytes,
    /// Where they begin in the artifact.
    pub start: u64,
    /// How many bytes the artifact has.
    pub total: u64,
    /// The artifact's media type.
    pub mime: String,
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slice({} bytes at {} of {}, {})", self.bytes.len(), self.start, self.total, self.mime)
    }
}

/// Why an artifact cannot be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// This tenant has no such artifact.
    #[error("there is no artifact `{0}`")]
    NotFound(ArtifactId),
    /// The bytes are not those that were stored.
    #[error("artifact `{0}` is damaged: its bytes do not match its hash")]
    Damaged(ArtifactId),
    /// The disk failed.
    #[error("the artifact store at `{path}` failed; check that it is writable and not full")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl From<ArtifactError> for Error {
    fn from(error: ArtifactError) -> Self {
        let kind = match &error {
            ArtifactError::NotFound(_) => ErrorKind::NotFound,
            ArtifactError::Damaged(_) | ArtifactError::Io { .. } => ErrorKind::Store,
        };
        Self::from_source(kind, error)
    }
}

/// Where artifacts are kept.
pub trait ArtifactStore: Send + Sync + fmt::Debug {
    /// Stores an artifact for a tenant. Storing the same bytes again changes nothing.
    fn put<'a>(&'a self, tenant: &'a TenantId, artifact: &'a Artifact) -> BoxFuture<'a, Result<(), ArtifactError>>;

    /// Reads a range of bytes, held to the size of the artifact.
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ArtifactId,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Slice, ArtifactError>>;
}

/// The hex digits of a well-formed id. Anything else names no artifact, and no file.
fn digits(id: &ArtifactId) -> Option<&str> {
    id.as_str()
        .strip_prefix("sha256:")
        .filter(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')))
}

/// `range` held to `total` bytes.
fn clamp(range: &Range<u64>, total: u64) -> Range<u64> {
    let end = range.end.min(total);
    range.start.min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    async fn holds_what_it_was_given(store: &dyn ArtifactStore) {
        let artifact = Artifact::new("0123456789", "text/plain").unwrap();
        let id = artifact.reference().id.clone();
        assert_eq!(id.as_str(), "sha256:84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882");
        store.put(&tenant("a"), &artifact).await.unwrap();
        store.put(&tenant("a"), &artifact).await.unwrap();
        let slice = |bytes: &'static str, start| Slice {
            bytes: Bytes::from(bytes),
            start,
            total: 10,
            mime: "text/plain".to_owned(),
        };
        assert_eq!(store.get(&tenant("a"), &id, 0..u64::MAX).await.unwrap(), slice("0123456789", 0));
        assert_eq!(store.get(&tenant("a"), &id, 3..5).await.unwrap(), slice("34", 3));
        assert_eq!(store.get(&tenant("a"), &id, 20..30).await.unwrap(), slice("", 10));
        for (who, what) in [("b", id.as_str()), ("a", "sha256:../../etc/passwd"), ("../a", id.as_str())] {
            let missing = store.get(&tenant(who), &ArtifactId::new(what).unwrap(), 0..9).await.unwrap_err();
            assert!(matches!(missing, ArtifactError::NotFound(_)), "{missing:?}");
        }
    }

    #[tokio::test]
    async fn an_artifact_is_its_tenants_only() {
        holds_what_it_was_given(&MemoryArtifacts::default()).await;
        let dir = tempfile::tempdir().unwrap();
        holds_what_it_was_given(&DiskArtifacts::new(dir.path().join("artifacts"))).await;
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn files_are_private_and_damage_is_noticed() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let store = DiskArtifacts::new(dir.path().to_owned());
        let artifact = Artifact::new("0123456789", "text/plain").unwrap();
        store.put(&tenant("a"), &artifact).await.unwrap();
        let path = store.path(&tenant("a"), &artifact.reference().id).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(&path, "012345678x").unwrap();
        let damaged = store.get(&tenant("a"), &artifact.reference().id, 0..u64::MAX).await.unwrap_err();
        assert!(matches!(damaged, ArtifactError::Damaged(_)));
    }
}
