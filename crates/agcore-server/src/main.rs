//! The program `agcore`: a command line around the library.

mod cli;
mod telemetry;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    telemetry::log_to_stderr();
    cli::run()
}
