//! Logs to standard error; traces to an OTLP endpoint, when one is configured.

use std::time::Duration;

use agcore::{
    config::Config,
    net::{HeaderMap, HeaderValue, HttpClient, HttpConfig, HttpRequest, Method},
    trace::{Trace, otlp},
};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// How long an exporter may take: a command does not wait longer for its collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends log lines to standard error. `AGCORE_LOG` says which (`debug`, `agcore=trace`); warnings are shown by default.
pub(crate) fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("AGCORE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time().with_target(false);
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
