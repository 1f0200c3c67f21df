//! What the redactor and the projector cost: small results are the usual case, and hostile ones must stay linear.

use std::hint::black_box;

use agcore::{
    capability::{OutputFormat, OutputSpec, ProjectionPolicy},
    projection::{Projected, ProjectionInput, project},
    scan::Scanner,
    secret::{Known, PersonalKinds, Redactor},
    text::cut,
    types::{CallId, Tokens, ToolOutput, Trust},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use secrecy::SecretString;

fn redactor() -> Redactor {
    let mut known = Known::new();
    known.extend((0..5).map(|n| SecretString::from(format!("s3cr3t-value-{n}-xyz"))));
    Redactor::new(&known)
}

fn prose() -> String {
    "The quick brown fox said: nothing is ever lost, and no token = no entry (see https://example.org/a). ".repeat(100)
}

fn redact(c: &mut Criterion) {
    let redactor = redactor();
    let (prose, chinese) = (prose(), "今天天气很好，我们去公园散步吧。".repeat(200));
    let json = serde_json::json!(
        (0..1000)
            .map(|n| serde_json::json!({"id": n, "title": "A title", "url": "https://example.org/x"}))
            .collect::<Vec<_>>()
    )
    .to_string();
    let mut group = c.benchmark_group("redact");
    group.bench_function("10 bytes", |b| b.iter(|| redactor.text(black_box("ok 1234567")).masked()));
    group.bench_function("10 kB of English", |b| b.iter(|| redactor.text(black_box(&prose)).masked()));
    group.bench_function("10 kB of Chinese", |b| b.iter(|| redactor.text(black_box(&chinese)).masked()));
    group.bench_function("60 kB of JSON", |b| b.iter(|| redactor.json(black_box(&json)).masked()));
    for piece in ["sk-", "token:", "-----BEGIN PRIVATE KEY-----", "\"token\":\""] {
        let text = piece.repeat(100_000 / piece.len());
        group.bench_function(format!("100 kB of {piece}"), |b| b.iter(|| redactor.text(black_box(&text)).masked()));
    }
    group.finish();
}

/// MB/s over ordinary text, and over text full of what is masked.
fn redaction(c: &mut Criterion) {
    let people =
        "Ann Lee, ann.lee@example.com, +49 30 1234567, order 20261201-17, DE89 3704 0044 0532 0130 00, 12.50 EUR\n";
    let row = |n: u64| serde_json::json!({"id": 1_733_049_600_000 + n, "order": n * 7_919, "phone": "13812345678", "total": 12.5});
    let texts = [
        ("prose", prose().repeat(10)),
        ("Chinese", "今天天气很好，我们去公园散步吧。".repeat(2_000)),
        ("people", people.repeat(1_000)),
        ("JSON rows", serde_json::json!((0..1_000).map(row).collect::<Vec<_>>()).to_string()),
        ("digits", "4155552671 ".repeat(10_000)),
        ("@", "a@".repeat(50_000)),
    ];
    let usual = redactor();
    let all = usual.clone().personal(PersonalKinds::ALL);
    let mut group = c.benchmark_group("redaction");
    for (name, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("{name}, secrets and cards"), |b| b.iter(|| usual.text(black_box(text)).masked()));
        group.bench_function(format!("{name}, all personal data"), |b| b.iter(|| all.text(black_box(text)).masked()));
    }
    group.finish();
}

/// MB/s of the search for planted instructions.
fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("scan");
    for (name, text) in [("ok 1", "ok 1".to_owned()), ("10 kB of English", prose())] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| Scanner::scan(black_box(&text)).thousandths()));
    }
    group.finish();
}

fn projected(redactor: &Redactor, spec: &OutputSpec, output: &ToolOutput) -> Option<Projected> {
    let call_id = CallId::new("call_1").ok()?;
    let input = ProjectionInput {
        call_id: &call_id,
        output: spec,
        obligations: &[],
        remaining: Tokens(32_000),
        query: "what is ever lost",
        redactor,
        keep_artifacts: true,
    };
    Some(project(&input, Ok(output)))
}

fn projection(c: &mut Criterion) {
    let redactor = redactor();
    let spec = |trust| OutputSpec {
        format: OutputFormat::Text,
        max_results: None,
        supports_citations: false,
        must_include_source_url: false,
        projection: ProjectionPolicy::default(),
        trust,
    };
    let (trusted, untrusted) = (spec(Trust::Trusted), spec(Trust::Untrusted));
    let (small, large) = (ToolOutput::text("ok 1"), ToolOutput::text(prose().repeat(100)));
    let mut group = c.benchmark_group("project");
    group.bench_function("ok 1", |b| b.iter(|| projected(&redactor, &trusted, black_box(&small))));
    group.bench_function("ok 1, untrusted", |b| b.iter(|| projected(&redactor, &untrusted, black_box(&small))));
    group.bench_function("1 MB, untrusted", |b| b.iter(|| projected(&redactor, &untrusted, black_box(&large))));
    group.finish();
}

fn tokens(c: &mut Criterion) {
    let prose = prose();
    c.bench_function("count the tokens of 10 kB", |b| b.iter(|| cut::tokens(black_box(&prose))));
}

criterion_group!(benches, redact, redaction, scan, projection, tokens);
criterion_main!(benches);
