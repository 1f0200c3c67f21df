//! The agcore program.

use std::{env, io, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["worker", kind] => {
            agcore::execute::files::worker_main(kind, &mut io::stdin().lock(), &mut io::stdout().lock())
        }
        _ => ExitCode::FAILURE,
    }
}
