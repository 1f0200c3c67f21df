//! `agcore worker`: a parser of untrusted bytes in a process of its own.

use std::process::ExitCode;

/// Reads bytes from standard input, writes text to standard output, under limits it sets itself.
pub(crate) fn run(kind: &str) -> ExitCode {
    agcore::execute::files::worker_main(kind, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
