use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    execute::testing::context,
    types::{CitationSource, Content, ErrorCode, ToolError, ToolOutput},
};

use super::*;

mod answers;

/// A folder and a state directory that go away with the test.
struct House {
    dir: TempDir,
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        Self { dir }
    }

    fn with(files: &[(&str, &[u8])]) -> Self {
        let house = Self::new();
        for (path, bytes) in files {
            house.write(path, bytes);
        }
        house
    }

    fn docs(&self) -> PathBuf {
        self.dir.path().join("docs")
    }

    fn settings(&self) -> Settings {
        Settings { state_dir: self.dir.path().join("state"), pdf: None }
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let full = self.docs().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, bytes).unwrap();
    }

    async fn open(&self) -> (Workspace, IndexReport) {
        Workspace::open(&self.docs(), &self.settings(), &|_| {}).await.unwrap()
    }

    async fn refused(&self) -> FilesError {
        Workspace::open(&self.docs(), &self.settings(), &|_| {}).await.unwrap_err()
    }
}

async fn call(workspace: &Workspace, name: &str, arguments: serde_json::Value) -> Result<ToolOutput, ToolError> {
    let (_, executor) = workspace.executors().into_iter().find(|(known, _)| *known == name).unwrap();
    executor.run(&arguments, &context()).await
}

fn texts(output: &ToolOutput) -> Vec<&str> {
    output
        .content
        .iter()
        .filter_map(|piece| if let Content::Text(text) = piece { Some(text.as_str()) } else { None })
        .collect()
}

fn report(files: usize, passages: usize, read: usize, unchanged: usize, removed: usize) -> IndexReport {
    IndexReport { files, passages, read, unchanged, removed, skipped: Vec::new() }
}

#[tokio::test]
async fn an_unchanged_file_is_not_read_again_a_changed_one_is_and_a_deleted_one_is_forgotten() {
    let house = House::with(&[("a.md", b"# Alpha\nApples are red."), ("b.txt", b"Bananas are yellow.")]);
    assert_eq!(house.open().await.1, report(2, 2, 2, 0, 0));
    assert_eq!(house.open().await.1, report(2, 2, 0, 2, 0));

    house.write("b.txt", b"Blueberries are blue.");
    let (workspace, second) = house.open().await;
    assert_eq!(second, report(2, 2, 1, 1, 0));
    assert_eq!(workspace.search("bananas", 5, None).await.unwrap(), []);
    assert_eq!(workspace.search("blueberries", 5, None).await.unwrap().len(), 1);

    fs::remove_file(house.docs().join("a.md")).unwrap();
    let (workspace, third) = house.open().await;
    assert_eq!(third, report(1, 1, 0, 1, 1));
    assert_eq!(workspace.search("apples", 5, None).await.unwrap(), []);
}

#[tokio::test]
async fn a_touched_file_is_read_once_and_then_known() {
    let house = House::with(&[("a.md", b"same words")]);
    house.open().await;
    let file = fs::File::options().write(true).open(house.docs().join("a.md")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(house.open().await.1, report(1, 1, 1, 0, 0));
    assert_eq!(house.open().await.1, report(1, 1, 0, 1, 0));
}

#[tokio::test]
async fn two_thousand_files_are_indexed_with_progress_and_known_afterwards() {
    let house = House::new();
    for number in 0..2000 {
        let text = format!("# Note {number}\n\nThe keyword of this note is marker{number:05}.\n");
        house.write(&format!("part{}/note{number}.md", number % 20), text.as_bytes());
    }
    let seen = Mutex::new(Vec::new());
    let progress = |at: Progress<'_>| seen.lock().unwrap().push((at.done, at.total));
    let (workspace, first) = Workspace::open(&house.docs(), &house.settings(), &progress).await.unwrap();
    assert_eq!(first, report(2000, 2000, 2000, 0, 0));
    assert_eq!(*seen.lock().unwrap(), (1..=2000).map(|done| (done, 2000)).collect::<Vec<_>>());
    let found = workspace.search("Which note has marker01234?", 3, None).await.unwrap();
    assert_eq!(found[0].path, "part14/note1234.md");
    assert_eq!(house.open().await.1, report(2000, 2000, 0, 2000, 0));
}

#[cfg(unix)]
#[tokio::test]
async fn what_cannot_be_read_is_reported_and_hinders_nothing() {
    let house = House::with(&[
        ("good.md", b"Readable words."),
        ("picture.md", b"\x89PNG\r\n\x1a\n\0\0\0"),
        ("report.pdf", b"%PDF-1.7\n"),
    ]);
    fs::File::create(house.docs().join("huge.txt")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
    fs::write(house.dir.path().join("secret.txt"), "outside").unwrap();
    std::os::unix::fs::symlink("nowhere", house.docs().join("dangling.md")).unwrap();
    std::os::unix::fs::symlink("../secret.txt", house.docs().join("escape.md")).unwrap();
    std::os::unix::fs::symlink("good.md", house.docs().join("alias.md")).unwrap();
    let (workspace, mut report) = house.open().await;
    report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    let skipped: Vec<_> = report.skipped.iter().map(|one| (one.path.as_str(), one.reason.as_str())).collect();
    assert_eq!(
        skipped,
        [
            ("dangling.md", "it is a link that leads nowhere"),
            ("escape.md", "it is a link that leads out of the folder"),
            ("huge.txt", "it is larger than 20 MB"),
            ("picture.md", "it holds no text but a PNG image"),
            ("report.pdf", "PDFs are read by a worker process, and none is configured"),
        ]
    );
    assert_eq!(report.files, 1);
    let error = call(&workspace, "file_read", json!({"path": "escape.md"})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let error = call(&workspace, "file_read", json!({"path": "picture.md"})).await.unwrap_err();
    assert_eq!(error.safe_message, "`picture.md` gives no text: it holds no text but a PNG image");
}

#[tokio::test]
async fn hidden_ignored_and_built_files_are_left_out() {
    let house = House::with(&[
        ("kept.md", b"kept words"),
        (".env", b"SECRET=words"),
        (".git/config", b"words"),
        ("node_modules/x/readme.md", b"words"),
        ("target/doc/index.md", b"words"),
        ("drafts/old.md", b"words"),
        (".gitignore", b"drafts/\n"),
    ]);
    let (workspace, got) = house.open().await;
    assert_eq!(got, report(1, 1, 1, 0, 0));
    assert_eq!(workspace.search("words", 9, None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_folder_that_cannot_be_asked_says_why() {
    let house = House::new();
    assert!(matches!(house.refused().await, FilesError::Empty(_)));
    house.write("photo.jpg", b"\xff\xd8\xff\xe0\0\0");
    let error = house.refused().await;
    assert!(matches!(&error, FilesError::NothingReadable { skipped, .. } if skipped.len() == 1));
    assert!(error.to_string().ends_with("e.g. `photo.jpg`: it holds no text but a JPEG image"), "{error}");
    let settings = house.settings();
    let missing = Workspace::open(&house.docs().join("no"), &settings, &|_| {}).await.unwrap_err();
    assert!(matches!(missing, FilesError::Missing { .. }));
    let file = Workspace::open(&house.docs().join("photo.jpg"), &settings, &|_| {}).await.unwrap_err();
    assert!(matches!(file, FilesError::NotAFolder(_)));
}

#[tokio::test]
async fn a_damaged_index_is_built_anew() {
    let house = House::with(&[("a.md", b"apples")]);
    house.open().await;
    let index = fs::read_dir(house.dir.path().join("state/files")).unwrap();
    let paths: Vec<PathBuf> = index.map(|entry| entry.unwrap().path()).collect();
    for path in paths {
        fs::write(path, "this is no database at all, but a text that somebody put there".repeat(100)).unwrap();
    }
    let (workspace, got) = house.open().await;
    assert_eq!(got, report(1, 1, 1, 0, 0));
    assert_eq!(workspace.search("apples", 1, None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn chinese_in_gbk_is_found_and_quoted() {
    let (bytes, _, _) = encoding_rs::GBK.encode("退货政策\n\n商品签收后七天内可以无理由退货。运费由买家承担。\n");
    let house = House::with(&[("政策.txt", &bytes), ("other.md", "发货时间为工作日。".as_bytes())]);
    let (workspace, _) = house.open().await;
    let found = workspace.search("签收之后几天内能退货？", 3, None).await.unwrap();
    assert_eq!((found[0].path.as_str(), found[0].quote.as_str()), ("政策.txt", "商品签收后七天内可以无理由退货。"));
}

#[tokio::test]
async fn file_search_returns_numbered_blocks_each_with_its_citation() {
    let house = House::with(&[
        ("guide/limits.md", b"# Turn\n\n## Limits\n\nA turn may call six tools. Then it ends.\n"),
        ("guide/other.md", b"# Other\n\nNothing to see.\n"),
    ]);
    let (workspace, _) = house.open().await;
    let output =
        call(&workspace, "file_search", json!({"query": "How many tools may a turn call?", "max_results": 3})).await;
    let output = output.unwrap();
    let block = "[1] guide/limits.md:1-5\n# Turn\n\n## Limits\n\nA turn may call six tools. Then it ends.\n";
    assert_eq!(texts(&output), [block]);
    let citation = &output.citations[0];
    let source = CitationSource::File { path: "guide/limits.md".to_owned(), lines: Some((1, 5)) };
    assert_eq!((&citation.source, citation.title.as_deref()), (&source, Some("Turn > Limits")));
    assert_eq!(citation.quote.as_deref(), Some("A turn may call six tools."));

    let nothing = call(&workspace, "file_search", json!({"query": "zebra crossings"})).await.unwrap();
    assert_eq!((nothing.citations.len(), texts(&nothing)), (0, vec!["[No passage of the folder matches.]"]));
    let narrowed = call(&workspace, "file_search", json!({"query": "tools", "path_glob": "other*"})).await.unwrap();
    assert_eq!(narrowed.citations.len(), 0);
    let empty = call(&workspace, "file_search", json!({"query": " "})).await.unwrap_err();
    assert_eq!(empty.code, ErrorCode::SchemaValidation);
}

#[tokio::test]
async fn file_read_gives_the_lines_of_the_file_and_nothing_outside() {
    let text = "one\n\n\nfour\nfive\n\nseven\n";
    let house = House::with(&[("sub/notes.txt", text.as_bytes())]);
    fs::write(house.dir.path().join("secret.txt"), "secret").unwrap();
    let (workspace, _) = house.open().await;
    let whole = call(&workspace, "file_read", json!({"path": "sub/notes.txt"})).await.unwrap();
    assert_eq!(texts(&whole), [format!("[1] sub/notes.txt:1-7\n{text}")]);
    let part = call(&workspace, "file_read", json!({"path": "./sub//notes.txt", "start_line": 4, "end_line": 5})).await;
    assert_eq!(
        texts(&part.unwrap()),
        ["[1] sub/notes.txt:4-5\nfour\nfive\n", "The file goes on to line 7; read on with start_line 6.\n"]
    );
    let absolute = fs::canonicalize(house.docs()).unwrap().join("sub/notes.txt");
    assert!(call(&workspace, "file_read", json!({"path": absolute})).await.is_ok());
    for path in ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "..\\secret.txt", ".."] {
        let error = call(&workspace, "file_read", json!({"path": path})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::PermissionDenied, "{path}");
    }
    let error = call(&workspace, "file_read", json!({"path": "sub/note.txt"})).await.unwrap_err();
    assert_eq!((error.code, error.next_action_hint.as_str()), (ErrorCode::NotFound, "Did you mean `sub/notes.txt`?"));
    let error = call(&workspace, "file_read", json!({"path": "sub/notes.txt", "start_line": 9})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_line_too_long_for_one_passage_is_read_whole() {
    let long = "word ".repeat(2000);
    let house = House::with(&[("long.txt", format!("first\n{long}\nlast\n").as_bytes())]);
    let (workspace, _) = house.open().await;
    let output = call(&workspace, "file_read", json!({"path": "long.txt"})).await.unwrap();
    assert_eq!(texts(&output), [format!("[1] long.txt:1-3\nfirst\n{long}\nlast\n")]);
}

#[tokio::test]
async fn an_output_beyond_its_limit_stops_the_worker() {
    let Some(program) = ["/usr/bin/yes", "/bin/yes"].into_iter().find(|path| Path::new(path).exists()) else {
        println!("skipped: there is no `yes` here");
        return;
    };
    let limits = WorkerLimits { output_bytes: 1000, ..WorkerLimits::default() };
    let worker = PdfWorker::new(program).with_limits(limits);
    assert!(matches!(worker.extract(b"x").await, Err(WorkerError::Output(1000))));
    let missing = PdfWorker::new("/no/such/program").extract(b"x").await;
    assert!(matches!(missing, Err(WorkerError::Start { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_bytes_under_any_name_are_read_or_skipped(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        name in "[a-z]{1,4}\\.(md|txt|html|csv|json|jsonl|rs|bin)",
    ) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(&name), &bytes).unwrap();
        let (found, skipped) = walk::walk(dir.path());
        prop_assert_eq!((found.len(), skipped.len()), (1, 0));
        match load::load(&found[0], None) {
            load::Loaded::File(row, passages) => prop_assert_eq!(row.passages as usize, passages.len()),
            load::Loaded::Pdf(row, _) => prop_assert_eq!(row.passages, 0),
            load::Loaded::Same => prop_assert!(false, "nothing was known"),
        }
    }
}
