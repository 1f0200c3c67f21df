//! `agcore ask` over a folder, as a user meets it: what it says, and with which exit code.

use std::{fs, path::Path, process::Command};

use pretty_assertions::assert_eq;
use serde_json::Value;
use tempfile::TempDir;

/// A folder of documents, and the state beside it.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let desk = Self { folder: TempDir::new().unwrap() };
        fs::create_dir(desk.docs()).unwrap();
        for (name, bytes) in files {
            fs::write(desk.docs().join(name), bytes).unwrap();
        }
        desk
    }

    fn docs(&self) -> std::path::PathBuf {
        self.folder.path().join("docs")
    }

    /// Exit code, standard output and standard error.
    fn ask(&self, files: &Path, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agcore"));
        command.current_dir(self.folder.path()).env_clear().arg("--state-dir").arg(self.folder.path().join("state"));
        let output = command.arg("ask").arg("--files").arg(files).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    fn json(&self, question: &str) -> (i32, Value) {
        let (code, out, _) = self.ask(&self.docs(), &["--json", question]);
        (code, serde_json::from_str(&out).unwrap())
    }
}

const GATE: &[u8] = b"# The gate\n\nThe gate closes at nine. Dogs stay outside.\n";
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
const GATE_ZH: &str = "# 大门\n\n大门晚上九点关闭。狗不能进入。\n";

#[test]
fn a_question_is_answered_with_the_place_it_is_answered_from() {
    let desk = Desk::new(&[("gate.md", GATE), ("门.md", GATE_ZH.as_bytes()), ("photo.bin", PICTURE)]);
    let (code, answer) = desk.json("When does the gate close?");
    assert_eq!(code, 0, "{answer}");
    let citation = &answer["citations"][0];
    assert_eq!(citation["quote"], "The gate closes at nine.");
    assert_eq!(citation["source"]["file"]["path"], "gate.md", "{citation}");
    let (code, answer) = desk.json("大门几点关闭？");
    assert_eq!((code, answer["citations"][0]["quote"].as_str()), (0, Some("大门晚上九点关闭。")), "{answer}");
}

/// The words of the question, come back in "nothing matches …", are no find.
#[test]
fn what_is_nowhere_in_the_folder_is_not_answered() {
    let desk = Desk::new(&[("gate.md", GATE)]);
    for question in ["zebra quantum flux capacitor?", "预算是什么？", "Which passage of the folder matches zebra?"]
    {
        let (code, answer) = desk.json(question);
        assert_eq!((code, answer["citations"].as_array().map(Vec::len)), (3, Some(0)), "{question}: {answer}");
    }
}

#[test]
fn a_folder_that_cannot_be_asked_is_an_error_that_says_why() {
    let desk = Desk::new(&[]);
    let binary = Desk::new(&[("photo.bin", PICTURE)]);
    let file = Desk::new(&[("gate.md", GATE)]);
    let gone = desk.folder.path().join("gone");
    let cases = [
        (desk.docs(), "holds no files"),
        (binary.docs(), "holds no file with text; 1 skipped, e.g. `photo.bin`: it holds no text but a PNG image"),
        (file.docs().join("gate.md"), "is no folder"),
        (gone, "cannot be read: No such file or directory (os error 2)\n"),
    ];
    for (folder, why) in cases {
        let (code, out, error) = desk.ask(&folder, &["When does the gate close?"]);
        assert_eq!((code, out.as_str()), (1, ""), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let desk = Desk::new(&[("gate.md", GATE), ("dogs.md", b"Dogs are animals.\n")]);
    let (_, _, first) = desk.ask(&desk.docs(), &["When does the gate close?"]);
    assert!(first.contains("2 files, 2 passages (2 read, 0 unchanged, 0 gone)"), "{first}");
    fs::write(desk.docs().join("gate.md"), "The gate closes at ten.\n").unwrap();
    fs::remove_file(desk.docs().join("dogs.md")).unwrap();
    let (code, out, second) = desk.ask(&desk.docs(), &["When does the gate close?"]);
    assert!(second.contains("1 files, 1 passages (1 read, 0 unchanged, 1 gone)"), "{second}");
    assert!(code == 0 && out.contains("The gate closes at ten."), "{out}");
}
