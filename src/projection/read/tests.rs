use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::{
    projection::{Artifact, MemoryArtifacts},
    secret::Known,
    types::Content,
};

async fn reads(text: &str, redactor: &Redactor, arguments: serde_json::Value) -> Result<String, ToolError> {
    let (store, tenant) = (MemoryArtifacts::default(), TenantId::new("t").unwrap());
    let artifact = Artifact::new(text.to_owned(), "text/plain").unwrap();
    store.put(&tenant, &artifact).await.unwrap();
    let mut arguments = arguments;
    arguments["artifact"] = json!(artifact.reference().id.as_str());
    let output = read(&store, &tenant, redactor, &arguments).await?;
    match &output.content[..] {
        [Content::Text(text)] => Ok(text.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn pages_follow_each_other_and_together_are_the_whole() {
    let text = "日本語 text 👨\u{200d}👩\u{200d}👧 e\u{301} und 12345.\r\n".repeat(2_000);
    let (mut offset, mut whole) = (0, String::new());
    while offset < text.len() {
        let page = reads(&text, &Redactor::default(), json!({"offset": offset, "length": 5_001})).await.unwrap();
        let (head, body) = page.split_once('\n').unwrap();
        let end: usize = head.split(' ').nth(3).unwrap().parse().unwrap();
        assert_eq!(body, &text[offset..end]);
        assert!(end > offset);
        whole.push_str(body);
        offset = end;
    }
    assert_eq!(whole, text);
}

/// DEV-M03
#[tokio::test]
async fn a_secret_cannot_be_read_in_halves_or_asked_for() {
    let mut known = Known::new();
    known.add(&SecretString::from("correct-horse-battery".to_owned()));
    let redactor = Redactor::new(&known);
    let text = format!("{}correct-horse-battery{}", "a ".repeat(500), " b".repeat(500));
    for offset in 995..1_025 {
        let page = reads(&text, &redactor, json!({"offset": offset, "length": 9})).await.unwrap();
        assert!(!["corr", "hors", "batt", "tery"].iter().any(|part| page.contains(part)), "{page}");
    }
    let found = reads(&text, &redactor, json!({"query": "correct-horse"})).await.unwrap();
    assert_eq!(found, "[0 lines hold the query; 0 shown]\n");
}

#[tokio::test]
async fn lines_are_found_whatever_their_case() {
    let text = "one\nTwo refunds\nthree\n退款 refunds\n";
    let found = reads(text, &Redactor::default(), json!({"query": "REFUND"})).await.unwrap();
    assert_eq!(
        found,
        "[2 lines hold the query; 2 shown]\nline 2, byte 4: Two refunds\nline 4, byte 22: 退款 refunds\n"
    );
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let redactor = Redactor::default();
    let behind = reads("abc", &redactor, json!({"offset": 9})).await.unwrap_err();
    assert_eq!(behind.code, ErrorCode::SchemaValidation);
    let (store, tenant) = (MemoryArtifacts::default(), TenantId::new("t").unwrap());
    let image = Artifact::new(vec![0x89, b'P', 0xff, 0xfe], "image/png").unwrap();
    store.put(&tenant, &image).await.unwrap();
    let id = image.reference().id.as_str();
    for (arguments, code) in [
        (json!({"artifact": id}), ErrorCode::ToolFailed),
        (json!({"artifact": "sha256:0"}), ErrorCode::NotFound),
        (json!({"artifact": id, "lenght": 1}), ErrorCode::SchemaValidation),
        (json!({}), ErrorCode::SchemaValidation),
    ] {
        assert_eq!(read(&store, &tenant, &redactor, &arguments).await.unwrap_err().code, code, "{arguments}");
    }
    let other = TenantId::new("other").unwrap();
    assert_eq!(read(&store, &other, &redactor, &json!({"artifact": id})).await.unwrap_err().code, ErrorCode::NotFound);
}
