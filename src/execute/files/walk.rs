//! Which files a folder has.

use std::{
    fs::{self, FileType, Metadata},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use ignore::{DirEntry, WalkBuilder};

use crate::store::passages::Stamp;

use super::Skipped;

/// Folders that hold what can be made again and is never what a question is about.
const SKIPPED_FOLDERS: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// A file to be read.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Below the root, with `/`.
    pub(super) path: String,
    /// Where it is.
    pub(super) full: PathBuf,
    pub(super) stamp: Stamp,
}

/// The regular files below `root`, sorted by path, and what cannot be read. Hidden files, the folders above and what
/// `.gitignore` and `.ignore` files inside the folder name are left out without a word. Links are not followed; one
/// that leads out of the folder or to nothing is reported.
pub(super) fn walk(root: &Path) -> (Vec<Found>, Vec<Skipped>) {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let walker = WalkBuilder::new(root)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(|entry| !is_skipped_folder(entry))
        .build();
    for entry in walker {
        match entry {
            Ok(entry) => sort(root, &entry, &mut found, &mut skipped),
            Err(error) => skipped.push(Skipped { path: root.display().to_string(), reason: error.to_string() }),
        }
    }
    found.sort_unstable_by(|a: &Found, b| a.path.cmp(&b.path));
    (found, skipped)
}

fn is_skipped_folder(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_folder && entry.depth() > 0 && SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name)
}

fn sort(root: &Path, entry: &DirEntry, found: &mut Vec<Found>, skipped: &mut Vec<Skipped>) {
    let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { return };
    let path = relative(root, entry.path());
    if kind.is_file() {
        match entry.metadata() {
            Ok(metadata) => found.push(Found { path, full: entry.path().to_owned(), stamp: stamp(&metadata) }),
            Err(error) => skipped.push(Skipped { path, reason: error.to_string() }),
        }
    } else if let Some(reason) = why_not(root, entry.path(), kind) {
        skipped.push(Skipped { path, reason: reason.to_owned() });
    }
}

/// Why something that is no regular file is not read; `None` for a link to what is found under its own name.
fn why_not(root: &Path, path: &Path, kind: FileType) -> Option<&'static str> {
    if !kind.is_symlink() {
        return Some("it is no regular file");
    }
    match fs::canonicalize(path) {
        Ok(target) if target.starts_with(root) => None,
        Ok(_) => Some("it is a link that leads out of the folder"),
        Err(_) => Some("it is a link that leads nowhere"),
    }
}

/// The path below `root`, with `/`.
pub(super) fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn stamp(metadata: &Metadata) -> Stamp {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    Stamp { size: metadata.len(), modified, changed: changed(metadata) }
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> i64 {
    0
}
