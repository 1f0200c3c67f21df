//! The program `agcore`: a command line around the library.

mod cli;
mod telemetry;

fn main() -> std::process::ExitCode {
    telemetry::log_to_stderr();
    cli::run()
}
