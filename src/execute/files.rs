//! Asking questions over a folder: its files are read once, kept as passages in an index, searched and quoted.
//!
//! A [`Workspace`] is the folder and its index. What is not in the index cannot be read through it: the index is the
//! list of what a tool may see, so no path that a model makes up can leave the folder.

mod load;
mod rank;
mod read;
mod search;
mod walk;
mod worker;
mod workspace;

pub use load::MAX_FILE_BYTES;
pub use rank::Passage;
pub use read::FileRead;
pub use search::FileSearch;
pub use worker::{PdfWorker, WorkerError, WorkerLimits, worker_main};
pub use workspace::{FilesError, IndexReport, Progress, Settings, Skipped, Workspace};

#[cfg(test)]
mod tests;
