//! A folder and its index.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{StreamExt, stream};
use ignore::overrides::OverrideBuilder;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::{
    execute::Executor,
    store::{
        StoreError,
        passages::{FileRow, NewPassage, PassageStore, Stamp},
    },
    text::words,
    types::hex,
};

use super::{
    FileRead, FileSearch, Passage, PdfWorker, WorkerError,
    load::{self, Loaded, load},
    rank::{Query, rank},
    walk::{Found, relative, walk},
};

/// How many passages BM25 hands to ranking.
const CANDIDATES: u32 = 80;
/// A question is cut to this many terms.
const MAX_QUERY_TERMS: usize = 48;
/// A batch is written when it has this many files or passages.
const BATCH_FILES: usize = 256;
const BATCH_PASSAGES: usize = 4096;

/// Where the index is kept and how PDFs are read.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The state directory; the index lies in `files/` below it, one file a folder.
    pub state_dir: PathBuf,
    /// Reads PDFs; without it they are reported as skipped.
    pub pdf: Option<PdfWorker>,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Files read, of those that are new or changed.
    pub done: usize,
    /// How many are new or changed.
    pub total: usize,
    /// The one just read.
    pub current: &'a str,
}

/// A file that is not in the index, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file, below the folder.
    pub path: String,
    /// Why, as the end of a sentence.
    pub reason: String,
}

/// What opening a folder did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Files that can be searched.
    pub files: usize,
    /// Their passages.
    pub passages: usize,
    /// Files read now: new or changed ones.
    pub read: usize,
    /// Files that were known already and not read.
    pub unchanged: usize,
    /// Files that are gone and were removed from the index.
    pub removed: usize,
    /// Files without text for the index.
    pub skipped: Vec<Skipped>,
}

/// Why a folder cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// It is not there, or may not be read.
    #[error("the folder `{}` cannot be read", .path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a file.
    #[error("`{}` is no folder; name the folder that holds it", .0.display())]
    NotAFolder(PathBuf),
    /// It holds no file (hidden and ignored files do not count).
    #[error("the folder `{}` holds no files (hidden files and those named in .gitignore do not count)", .0.display())]
    Empty(PathBuf),
    /// It holds files, but none with text.
    #[error(
        "the folder `{}` holds no file with text; {} skipped{}", .path.display(), .skipped.len(),
        .skipped.first().map(|first| format!(", e.g. `{}`: {}", first.path, first.reason)).unwrap_or_default()
    )]
    NothingReadable {
        /// The folder.
        path: PathBuf,
        /// All files and why they were skipped.
        skipped: Vec<Skipped>,
    },
    /// The index failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// `path_glob` is no pattern.
    #[error("`{glob}` is no path pattern: {why}")]
    Glob {
        /// As given.
        glob: String,
        /// What is wrong.
        why: String,
    },
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    store: PassageStore,
    files: Vec<FileRow>,
    by_id: HashMap<i64, usize>,
    by_path: HashMap<String, usize>,
    passages: u64,
}

/// A folder whose files were read into an index. Cheap to clone. It shows the files as they were when it was opened.
#[derive(Debug, Clone)]
pub struct Workspace(Arc<Inner>);

impl Workspace {
    /// Reads what is new or changed below `root`, forgets what is gone, and opens the index. Files are known to be
    /// unchanged by size and times, then by their hash. What cannot be read is reported and hinders nothing.
    /// `progress` is called after each file read; what was read is kept when this is interrupted.
    ///
    /// # Errors
    /// [`FilesError`] when the folder is missing, empty or without any text, or the index cannot be written.
    pub async fn open(
        root: &Path,
        settings: &Settings,
        progress: &(dyn Fn(Progress<'_>) + Send + Sync),
    ) -> Result<(Self, IndexReport), FilesError> {
        let given = root.to_owned();
        let missing = |source| FilesError::Missing { path: given.clone(), source };
        let root = fs::canonicalize(root).map_err(missing)?;
        if !root.is_dir() {
            return Err(FilesError::NotAFolder(given));
        }
        fs::read_dir(&root).map_err(missing)?;
        let walked = root.clone();
        let walked = tokio::task::spawn_blocking(move || walk(&walked)).await;
        let (found, mut skipped) = walked.map_err(|error| missing(io::Error::other(error)))?;
        let store = PassageStore::open(&index_path(&settings.state_dir, &root)).await?;
        let known = store.files().await?;
        let plan = Plan::new(found, &known);
        let mut report = IndexReport {
            read: plan.read.len(),
            unchanged: plan.unchanged,
            removed: plan.gone.len(),
            ..IndexReport::default()
        };
        let files = if plan.is_empty() {
            known
        } else {
            plan.carry_out(&store, settings.pdf.as_ref(), progress).await?;
            store.files().await?
        };
        skipped.extend(
            files
                .iter()
                .filter_map(|file| file.reason.clone().map(|reason| Skipped { path: file.path.clone(), reason })),
        );
        let workspace = Self::new(root, store, files);
        report.files = workspace.0.files.iter().filter(|file| file.passages > 0).count();
        report.passages = usize::try_from(workspace.0.passages).unwrap_or(usize::MAX);
        if workspace.0.files.is_empty() && skipped.is_empty() {
            return Err(FilesError::Empty(given));
        }
        if report.files == 0 {
            return Err(FilesError::NothingReadable { path: given, skipped });
        }
        report.skipped = skipped;
        Ok((workspace, report))
    }

    fn new(root: PathBuf, store: PassageStore, files: Vec<FileRow>) -> Self {
        let passages = files.iter().map(|file| u64::from(file.passages)).sum();
        let by_id = files.iter().enumerate().map(|(at, file)| (file.id, at)).collect();
        let by_path = files.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect();
        Self(Arc::new(Inner { root, store, files, by_id, by_path, passages }))
    }

    /// The folder, with links resolved.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// The best `limit` passages for a question in English, Chinese or a mix, best first; empty when nothing fits.
    /// `glob` (as in `.gitignore`: `*.md`, `docs/**`) narrows the files.
    ///
    /// # Errors
    /// [`FilesError::Glob`] for a malformed pattern, [`FilesError::Store`] when the index fails.
    pub async fn search(&self, question: &str, limit: usize, glob: Option<&str>) -> Result<Vec<Passage>, FilesError> {
        let inner = &*self.0;
        let mut terms = words::query_terms(question);
        terms.truncate(MAX_QUERY_TERMS);
        let asked: Vec<String> = terms.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let frequencies = inner.store.frequencies(&asked).await?;
        let within = glob.map(|glob| self.matching(glob)).transpose()?;
        let sought = sought(&asked, &frequencies, inner.passages);
        if sought.is_empty() || within.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let wanted = CANDIDATES.max(u32::try_from(limit).unwrap_or(u32::MAX).saturating_mul(2));
        let rows = inner.store.search(&sought, within.as_deref(), wanted).await?;
        let query = Query::new(terms, &frequencies, inner.passages);
        let path_of = |id| inner.by_id.get(&id).and_then(|at| inner.files.get(*at)).map(|file| file.path.as_str());
        Ok(rank(&query, rows, path_of, limit))
    }

    /// The tools over this folder, by function name: `file_search` and `file_read`.
    pub fn executors(&self) -> Vec<(&'static str, Arc<dyn Executor>)> {
        vec![
            ("file_search", Arc::new(FileSearch::new(self.clone())) as Arc<dyn Executor>),
            ("file_read", Arc::new(FileRead::new(self.clone()))),
        ]
    }

    pub(super) fn store(&self) -> &PassageStore {
        &self.0.store
    }

    pub(super) fn file(&self, path: &str) -> Option<&FileRow> {
        self.0.by_path.get(path).and_then(|at| self.0.files.get(*at))
    }

    pub(super) fn files(&self) -> &[FileRow] {
        &self.0.files
    }

    fn matching(&self, glob: &str) -> Result<Vec<i64>, FilesError> {
        let bad = |error: ignore::Error| FilesError::Glob { glob: glob.to_owned(), why: error.to_string() };
        let mut builder = OverrideBuilder::new(&self.0.root);
        builder.add(glob.trim_start_matches('!')).map_err(bad)?;
        let pattern = builder.build().map_err(bad)?;
        let matches = |file: &&FileRow| pattern.matched(&file.path, false).is_whitelist();
        Ok(self.0.files.iter().filter(matches).map(|file| file.id).collect())
    }
}

/// The words to look up: those that stand somewhere. In a large index words that a quarter of all passages have are
/// left to ranking, as long as others remain.
fn sought(asked: &[String], frequencies: &HashMap<String, u64>, total: u64) -> Vec<String> {
    let common = |word: &&String| total > 5000 && frequencies.get(*word).is_some_and(|count| count * 4 > total);
    let standing = |word: &&String| frequencies.contains_key(*word);
    let rare: Vec<String> = asked.iter().filter(|word| standing(word) && !common(word)).cloned().collect();
    if rare.is_empty() { asked.iter().filter(standing).cloned().collect() } else { rare }
}

fn index_path(state_dir: &Path, root: &Path) -> PathBuf {
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name = hex(hash.get(..12).unwrap_or_default());
    state_dir.join("files").join(format!("{name}.sqlite"))
}

/// What has to be done to bring the index up to date.
struct Plan {
    read: Vec<(Found, Option<FileRow>)>,
    unchanged: usize,
    gone: Vec<i64>,
}

/// What became of one file.
enum Outcome {
    Same(i64, Stamp),
    New(FileRow, Vec<NewPassage>),
}

impl Plan {
    fn new(mut found: Vec<Found>, known: &[FileRow]) -> Self {
        found.dedup_by(|a, b| a.path == b.path);
        let by_path: HashMap<&str, &FileRow> = known.iter().map(|file| (file.path.as_str(), file)).collect();
        let here: HashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let gone = known.iter().filter(|file| !here.contains(file.path.as_str())).map(|file| file.id).collect();
        let all = found.len();
        let mut read = Vec::new();
        for file in found {
            let row = by_path.get(file.path.as_str()).copied();
            if row.is_none_or(|row| row.stamp != file.stamp || row.hash.is_empty()) {
                read.push((file, row.cloned()));
            }
        }
        let unchanged = all - read.len();
        Self { read, unchanged, gone }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }

    /// Reads on all cores and writes in batches meanwhile.
    async fn carry_out(
        self,
        store: &PassageStore,
        pdf: Option<&PdfWorker>,
        progress: &(dyn Fn(Progress<'_>) + Send + Sync),
    ) -> Result<(), FilesError> {
        store.remove(&self.gone).await?;
        let total = self.read.len();
        let parallel = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let (sender, receiver) = mpsc::channel(BATCH_FILES);
        let produce = async move {
            let mut outcomes = stream::iter(self.read).map(|(file, row)| prepare(file, row, pdf)).buffered(parallel);
            while let Some(outcome) = outcomes.next().await {
                if sender.send(outcome).await.is_err() {
                    break;
                }
            }
        };
        let (written, ()) = tokio::join!(write(store, receiver, total, progress), produce);
        Ok(written?)
    }
}

async fn write(
    store: &PassageStore,
    mut outcomes: mpsc::Receiver<(String, Outcome)>,
    total: usize,
    progress: &(dyn Fn(Progress<'_>) + Send + Sync),
) -> Result<(), StoreError> {
    let (mut batch, mut passages, mut same, mut done) = (Vec::new(), 0, Vec::new(), 0);
    while let Some((path, outcome)) = outcomes.recv().await {
        match outcome {
            Outcome::Same(id, stamp) => same.push((id, stamp)),
            Outcome::New(row, new) => {
                passages += new.len();
                batch.push((row, new));
            }
        }
        if batch.len() >= BATCH_FILES || passages >= BATCH_PASSAGES {
            store.put(&batch).await?;
            batch.clear();
            passages = 0;
        }
        done += 1;
        progress(Progress { done, total, current: &path });
    }
    store.put(&batch).await?;
    store.touch(&same).await
}

async fn prepare(file: Found, row: Option<FileRow>, pdf: Option<&PdfWorker>) -> (String, Outcome) {
    let path = file.path.clone();
    let (id, stamp) = (row.as_ref().map_or(0, |row| row.id), file.stamp);
    let failed = FileRow {
        id: 0,
        path: path.clone(),
        stamp,
        hash: Vec::new(),
        reason: Some("its reader failed".to_owned()),
        lines: 0,
        passages: 0,
    };
    let hash = row.map(|row| row.hash);
    let loaded = tokio::task::spawn_blocking(move || load(&file, hash.as_deref())).await;
    let outcome = match loaded {
        Ok(Loaded::Same) => Outcome::Same(id, stamp),
        Ok(Loaded::File(row, passages)) => Outcome::New(row, passages),
        Ok(Loaded::Pdf(row, bytes)) => read_pdf(row, &bytes, pdf).await.unwrap_or(Outcome::New(failed, Vec::new())),
        Err(_) => Outcome::New(failed, Vec::new()),
    };
    (path, outcome)
}

/// `None` when the passages could not be made. A PDF that no worker could look at has no hash: it is tried again.
async fn read_pdf(mut row: FileRow, bytes: &[u8], pdf: Option<&PdfWorker>) -> Option<Outcome> {
    let pages = match pdf {
        Some(pdf) => pdf.extract(bytes).await,
        None => {
            row.hash.clear();
            row.reason = Some("PDFs are read by a worker process, and none is configured".to_owned());
            return Some(Outcome::New(row, Vec::new()));
        }
    };
    if matches!(pages, Err(WorkerError::Start { .. })) {
        row.hash.clear();
    }
    let pages = pages.map_err(|error| error.to_string());
    let (row, passages) = tokio::task::spawn_blocking(move || load::pages(row, pages)).await.ok()?;
    Some(Outcome::New(row, passages))
}

/// What a path that a model wrote means below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// This path, with `/`, below the root.
    Inside(String),
    /// It leads out of the folder.
    Outside,
}

/// Resolves `.` and `..` in the text alone; an absolute path has to begin with the root.
pub(super) fn place(root: &Path, path: &str) -> Place {
    let path = path.trim();
    let full = Path::new(path);
    let inner = if full.is_absolute() {
        match full.strip_prefix(root) {
            Ok(_) => relative(root, full),
            Err(_) => return Place::Outside,
        }
    } else {
        path.replace('\\', "/")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in inner.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Place::Outside;
                }
            }
            name => parts.push(name),
        }
    }
    Place::Inside(parts.join("/"))
}
