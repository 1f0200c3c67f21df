//! Logs to standard error; traces to an OTLP endpoint, when one is configured.

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// Sends log lines to standard error. `AGCORE_LOG` says which (`debug`, `agcore=trace`); warnings are shown by default.
pub(crate) fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("AGCORE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time().with_target(false);
    // Fails only where a subscriber is set already, as in tests: then that one is fine.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}
