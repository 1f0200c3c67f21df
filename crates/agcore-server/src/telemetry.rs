//! Logs to standard error; traces to an OTLP endpoint, when one is configured.

use std::{
    io::{self, Write},
    sync::{PoisonError, RwLock},
    time::Duration,
};

use agcore::{
    config::Config,
    net::{HeaderMap, HeaderValue, HttpClient, HttpConfig, HttpRequest, Method},
    secret::{PersonalKinds, Redactor},
    trace::{Trace, otlp},
};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// How long an exporter may take: a command does not wait longer for its collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// What masks log lines; until the configuration is read, all that it knows without it.
static MASK: RwLock<Option<Redactor>> = RwLock::new(None);

/// From here on log lines are masked with this.
pub(crate) fn mask_with(redactor: Redactor) {
    *MASK.write().unwrap_or_else(PoisonError::into_inner) = Some(redactor);
}

fn masked(line: &str) -> String {
    let mask = MASK.read().unwrap_or_else(PoisonError::into_inner);
    let shown = match mask.as_ref() {
        Some(redactor) => redactor.text(line).into_owned(),
        None => Redactor::default().personal(PersonalKinds::ALL).text(line).into_owned(),
    };
    shown.into_inner()
}

/// Standard error, each line masked. A line comes in one piece.
struct MaskedLines;

impl Write for MaskedLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(masked(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Sends log lines to standard error, without secrets and personal data. `AGCORE_LOG` says which (`debug`, `agcore=trace`); warnings are shown by default.
pub(crate) fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("AGCORE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt::layer().with_writer(|| MaskedLines).without_time().with_target(false);
    // Fails only where a subscriber is set already, as in tests: then that one is fine.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

/// Sends a trace to the configured endpoint (`telemetry.otlp_endpoint`). A collector that is down is a warning: the
/// answer is there all the same, and the trace can be shown at any time.
pub(crate) async fn export(config: &Config, trace: &Trace) {
    let Some(endpoint) = &config.telemetry.otlp_endpoint else { return };
    if let Err(error) = send(endpoint.as_str(), trace).await {
        tracing::warn!("the trace was not exported to {endpoint}: {error:#}");
    }
}

async fn send(endpoint: &str, trace: &Trace) -> anyhow::Result<()> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let request = HttpRequest {
        method: Method::POST,
        url: format!("{}/v1/traces", endpoint.trim_end_matches('/')).parse()?,
        headers,
        body: serde_json::to_vec(&otlp(trace))?.into(),
        idle_timeout: EXPORT_TIMEOUT,
        deadline: tokio::time::Instant::now() + EXPORT_TIMEOUT,
    };
    let response = HttpClient::new(&HttpConfig::default())?.send(request).await?;
    anyhow::ensure!(response.status.is_success(), "the collector answered {}", response.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DEV-M03
    #[test]
    fn log_lines_hold_neither_secrets_nor_personal_data() {
        let line = "WARN the mail to ann@example.com failed: invalid key sk-test-0123456789abcdef";
        assert_eq!(masked(line), "WARN the mail to [redacted] failed: invalid key [redacted]");
    }
}
