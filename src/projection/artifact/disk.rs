//! Artifacts as files: `<dir>/<tenant>/ab/cdef…`, and the media type beside it in `cdef….mime`.
//!
//! Files are written under another name and renamed, so a reader sees a whole file or none. They are not synced: after
//! a power failure an artifact may be missing or damaged, and reading it says so.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use sha2::{Digest, Sha256};

use super::{Artifact, ArtifactError, ArtifactStore, Slice, clamp, digits};
use crate::types::{ArtifactId, TenantId, hex};

/// Keeps artifacts in a directory, readable by the owner of the process only.
#[derive(Debug, Clone)]
pub struct DiskArtifacts {
    dir: PathBuf,
}

impl DiskArtifacts {
    /// A store in `dir`, usually `artifacts` in the state directory. It is made when the first artifact comes.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Where an artifact lies. The tenant's name is hashed: a name never becomes a path.
    pub(super) fn path(&self, tenant: &TenantId, id: &ArtifactId) -> Option<PathBuf> {
        let (first, rest) = digits(id)?.split_at_checked(2)?;
        let owner = hex(Sha256::digest(tenant.as_str()).get(..8)?);
        Some(self.dir.join(owner).join(first).join(rest))
    }
}

impl ArtifactStore for DiskArtifacts {
    fn put<'a>(&'a self, tenant: &'a TenantId, artifact: &'a Artifact) -> BoxFuture<'a, Result<(), ArtifactError>> {
        let id = artifact.reference().id.clone();
        let path = self.path(tenant, &id);
        let artifact = artifact.clone();
        async move {
            let path = path.ok_or(ArtifactError::NotFound(id))?;
            blocking(path.clone(), move || write(&path, &artifact)).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ArtifactId,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Slice, ArtifactError>> {
        let path = self.path(tenant, id);
        async move {
            let missing = || ArtifactError::NotFound(id.clone());
            let path = path.ok_or_else(missing)?;
            let slice = match blocking(path.clone(), move || read(&path, &range)).await {
                Err(ArtifactError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Err(missing()),
                read => read,
            }?;
            let whole = slice.start == 0 && slice.total == u64::try_from(slice.bytes.len()).unwrap_or(u64::MAX);
            if whole && digits(id) != Some(&hex(&Sha256::digest(&slice.bytes))) {
                return Err(ArtifactError::Damaged(id.clone()));
            }
            Ok(slice)
        }
        .boxed()
    }
}

/// Runs file work where it blocks nobody.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ArtifactError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(io::Error::other);
    done.flatten().map_err(|source| ArtifactError::Io { path: path.display().to_string(), source })
}

fn mime_path(path: &Path) -> PathBuf {
    path.with_extension("mime")
}

fn write(path: &Path, artifact: &Artifact) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|held| held.len() == artifact.reference().bytes) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        make_dir(dir)?;
    }
    // The type first: where the bytes are, their type is too.
    replace(&mime_path(path), artifact.reference().mime.as_bytes())?;
    replace(path, artifact.bytes())
}

fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("new-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let fresh = path.with_extension(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written =
        options.open(&fresh).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // The first error is the one to report; a file left behind does no harm.
        let _ = fs::remove_file(&fresh);
    }
    written
}

fn read(path: &Path, range: &Range<u64>) -> io::Result<Slice> {
    let mut file = fs::File::open(path)?;
    let total = file.metadata()?.len();
    let range = clamp(range, total);
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::new();
    file.take(range.end - range.start).read_to_end(&mut bytes)?;
    let mime = fs::read_to_string(mime_path(path)).unwrap_or_else(|_| "application/octet-stream".to_owned());
    Ok(Slice { bytes: Bytes::from(bytes), start: range.start, total, mime })
}
