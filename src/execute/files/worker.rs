//! PDFs are read in a process of their own: `<program> worker pdf`, bytes in, pages out.
//!
//! The worker limits its own memory, CPU time and files before it reads a byte, and its parent limits time and
//! output. A crafted file can kill the worker, nothing else.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    process::{ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};

use crate::text::pdf::{self, PdfError};

/// What a worker may use of the machine, set by itself.
const MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
const CPU_SECONDS: u64 = 60;
const OPEN_FILES: u64 = 8;

/// What the parent allows a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLimits {
    /// How long it may take.
    pub time: Duration,
    /// How many bytes it may answer.
    pub output_bytes: u64,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), output_bytes: 64 * 1024 * 1024 }
    }
}

/// Why a worker gave no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// It could not be started.
    #[error("the PDF worker `{program}` cannot be started")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The file gave no text.
    #[error(transparent)]
    Pdf(#[from] PdfError),
    /// It was stopped by a limit of time.
    #[error("reading the PDF took longer than {} seconds and was stopped", .0.as_secs())]
    Time(Duration),
    /// It was stopped by the limit of output.
    #[error("the PDF holds more than {} MB of text", .0 / 1024 / 1024)]
    Output(u64),
    /// It died: out of memory or stack, or by a fault of the parser.
    #[error("reading the PDF failed: the worker ended with {0} (out of memory, or the file is malformed)")]
    Died(String),
}

/// Reads PDFs in worker processes.
#[derive(Debug, Clone)]
pub struct PdfWorker {
    program: PathBuf,
    limits: WorkerLimits,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Pages(Vec<String>),
    Encrypted,
    Damaged(String),
}

impl PdfWorker {
    /// A worker that starts `program` with the arguments `worker pdf`. The program has to call [`worker_main`] then,
    /// as `agcore` does; give an absolute path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), limits: WorkerLimits::default() }
    }

    /// The same worker with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: WorkerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The text of each page. The worker is killed when a limit is reached or the future is dropped.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn extract(&self, bytes: &[u8]) -> Result<Vec<String>, WorkerError> {
        let mut child = Command::new(&self.program)
            .args(["worker", "pdf"])
            .env_clear()
            // The program's allocator takes a GiB of address space at its start, more than the worker may have.
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| WorkerError::Start { program: self.program.display().to_string(), source })?;
        let limits = self.limits;
        let talked = tokio::time::timeout(limits.time, talk(&mut child, bytes, limits.output_bytes)).await;
        let Ok(talked) = talked else {
            let _ = child.kill().await;
            return Err(WorkerError::Time(limits.time));
        };
        let (status, output) = talked.map_err(|error| WorkerError::Died(error.to_string()))?;
        if u64::try_from(output.len()).unwrap_or(u64::MAX) > limits.output_bytes {
            return Err(WorkerError::Output(limits.output_bytes));
        }
        if !status.success() {
            return Err(WorkerError::Died(status.to_string()));
        }
        match serde_json::from_slice(&output) {
            Ok(Answer::Pages(pages)) => Ok(pages),
            Ok(Answer::Encrypted) => Err(PdfError::Encrypted.into()),
            Ok(Answer::Damaged(why)) => Err(PdfError::Damaged(why).into()),
            Err(error) => Err(WorkerError::Died(format!("an answer that is none: {error}"))),
        }
    }
}

/// Sends the bytes and reads the answer, up to one byte more than allowed, at the same time.
async fn talk(child: &mut Child, bytes: &[u8], max: u64) -> io::Result<(ExitStatus, Vec<u8>)> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let send = async move {
        if let Some(mut input) = input {
            // A worker that dies closes its end: its exit status says more than the broken pipe.
            let _ = input.write_all(bytes).await;
        }
    };
    let receive = async move {
        let mut answer = Vec::new();
        if let Some(output) = output {
            output.take(max.saturating_add(1)).read_to_end(&mut answer).await?;
        }
        Ok::<_, io::Error>(answer)
    };
    let ((), answer) = tokio::join!(send, receive);
    let answer = answer?;
    if u64::try_from(answer.len()).unwrap_or(u64::MAX) > max {
        child.kill().await?;
    }
    Ok((child.wait().await?, answer))
}

/// The whole life of a worker process of a kind (`pdf`): limits itself, reads `input` to its end, writes one answer.
pub fn worker_main(kind: &str, input: &mut dyn Read, output: &mut dyn Write) -> ExitCode {
    if kind != "pdf" || limit().is_err() {
        return ExitCode::FAILURE;
    }
    let mut bytes = Vec::new();
    if input.read_to_end(&mut bytes).is_err() {
        return ExitCode::FAILURE;
    }
    let answer = match pdf::extract(&bytes) {
        Ok(pages) => Answer::Pages(pages),
        Err(PdfError::Encrypted) => Answer::Encrypted,
        Err(PdfError::Damaged(why)) => Answer::Damaged(why),
    };
    let sent = serde_json::to_writer(&mut *output, &answer).is_ok() && output.flush().is_ok();
    if sent { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(unix)]
fn limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limits = [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn limit() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no way to limit a process here"))
}
