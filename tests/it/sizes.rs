//! A file holds one noun: none grows past 800 lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

const HARD_STOP: usize = 800;

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            rust_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_file_is_longer_than_eight_hundred_lines() {
    let mut files = Vec::new();
    rust_files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    assert!(files.len() > 50, "the walk found only {} files", files.len());
    let long = files.iter().map(|path| (fs::read_to_string(path).unwrap().lines().count(), path));
    let long: Vec<_> = long.filter(|(lines, _)| *lines > HARD_STOP).collect();
    assert!(long.is_empty(), "these want another noun: {long:?}");
}
