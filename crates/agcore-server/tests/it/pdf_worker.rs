//! PDFs through the real worker process.

use std::{fmt::Write as _, fs, time::Duration};

use agcore::{
    execute::files::{PdfWorker, Settings, WorkerError, WorkerLimits, Workspace},
    text::pdf::PdfError,
};
use pretty_assertions::assert_eq;

fn worker() -> PdfWorker {
    PdfWorker::new(env!("CARGO_BIN_EXE_agcore"))
}

/// A PDF whose pages have the given content streams, with a filter entry such as `/Filter /RunLengthDecode`.
fn pdf(pages: &[(&[u8], &str)]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    for (number, (content, filter)) in pages.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * number
        );
        objects.push(page.into_bytes());
        let mut stream = format!("<< /Length {} {filter} >>\nstream\n", content.len()).into_bytes();
        stream.extend_from_slice(content);
        stream.extend_from_slice(b"\nendstream");
        objects.push(stream);
    }
    assemble(&objects)
}

fn assemble(objects: &[Vec<u8>]) -> Vec<u8> {
    let (mut bytes, mut table) = (b"%PDF-1.4\n".to_vec(), String::new());
    for (number, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", bytes.len()).unwrap();
        bytes.extend_from_slice(format!("{} 0 obj\n", number + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let start = bytes.len();
    let size = objects.len() + 1;
    let end = format!(
        "xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

fn line(text: &str) -> Vec<u8> {
    format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET").into_bytes()
}

fn two_pages() -> Vec<u8> {
    let (first, second) = (line("Refunds are paid within seven days."), line("Shipping takes three weeks."));
    pdf(&[(first.as_slice(), ""), (second.as_slice(), "")])
}

#[tokio::test]
async fn the_worker_returns_the_text_of_each_page() {
    let pages = worker().extract(&two_pages()).await.unwrap();
    let pages: Vec<&str> = pages.iter().map(|page| page.trim()).collect();
    assert_eq!(pages, ["Refunds are paid within seven days.", "Shipping takes three weeks."]);
}

#[tokio::test]
async fn a_pdf_in_a_folder_is_cited_by_its_page() {
    let dir = tempfile::tempdir().unwrap();
    let docs = dir.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("terms.pdf"), two_pages()).unwrap();
    fs::write(docs.join("broken.pdf"), b"%PDF-1.4\nnothing of the kind").unwrap();
    let settings = Settings { state_dir: dir.path().join("state"), pdf: Some(worker()) };
    let (workspace, report) = Workspace::open(&docs, &settings, &|_| {}).await.unwrap();
    assert_eq!((report.files, report.skipped.len()), (1, 1));
    assert!(report.skipped.first().unwrap().reason.starts_with("the PDF cannot be read"), "{report:?}");
    let found = workspace.search("How long does shipping take?", 1, None).await.unwrap();
    let first = found.first().unwrap();
    let got = (first.path.as_str(), first.page, first.quote.as_str());
    assert_eq!(got, ("terms.pdf", Some(2), "Shipping takes three weeks."));
    let (_, again) = Workspace::open(&docs, &settings, &|_| {}).await.unwrap();
    assert_eq!((again.read, again.unchanged), (0, 2));
}

#[tokio::test]
async fn hostile_pdfs_kill_at_most_the_worker() {
    let run_of_zeros: Vec<u8> = [129u8, 0].repeat(64 * 1024);
    let bomb = "/Filter [/RunLengthDecode /RunLengthDecode /RunLengthDecode /RunLengthDecode]";
    let bomb = pdf(&[(run_of_zeros.as_slice(), bomb)]);
    let mut nested = b"[".repeat(200_000);
    nested.extend(b"]".repeat(200_000));
    let nested = assemble(&[b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(), nested]);
    let circle = assemble(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>".to_vec(),
    ]);
    let mut cut = two_pages();
    cut.truncate(cut.len() / 2);
    for bytes in [bomb, nested, circle, cut, vec![0xff; 4096], b"%PDF-".to_vec(), Vec::new()] {
        match worker().extract(&bytes).await {
            Ok(_) | Err(WorkerError::Pdf(PdfError::Damaged(_)) | WorkerError::Died(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_worker_that_is_too_slow_is_stopped() {
    let limits = WorkerLimits { time: Duration::ZERO, ..WorkerLimits::default() };
    let result = worker().with_limits(limits).extract(&two_pages()).await;
    assert!(matches!(result, Err(WorkerError::Time(Duration::ZERO))));
}
