//! Images that tools return: shown to the model as images, never as text, and only where nothing on them has to be masked.

use std::sync::Arc;

use agcore::{
    capability::Capability,
    runtime::Runtime,
    types::{Content, Entry, RiskClass, ToolOutput, ToolResult},
};
use agcore_testkit::{ScriptedModel, ScriptedTool, reply};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use serde_json::json;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";

fn media(mime: &str, bytes: impl Into<Bytes>) -> Content {
    Content::Media { mime: mime.to_owned(), bytes: bytes.into() }
}

/// The result of a camera as the model is shown it in the second request, and whether the turn is tainted.
async fn shown(content: Vec<Content>, rules: Option<&str>) -> (ToolResult, bool) {
    let camera = Arc::new(ScriptedTool::new().output(ToolOutput { content, ..ToolOutput::default() }));
    let capability = Capability::function("camera.take_picture").description("Takes a picture");
    let capability = capability.risk(RiskClass::ExternalRead).build().unwrap();
    let model = Arc::new(ScriptedModel::new([reply().call("camera.take_picture", json!({})), reply().text("A cat.")]));
    let name = capability.execution.function_name.clone().unwrap();
    let mut builder = Runtime::builder().model(model.clone()).capability(capability).executor(name, camera);
    if let Some(rules) = rules {
        builder = builder.policy(rules, "mine.yaml");
    }
    let outcome = builder.build().unwrap().turn("What does the camera see?").run().await.unwrap();
    let asked = model.asked().pop().unwrap();
    let Some(Entry::Results(results)) = asked.entries.last() else { panic!("{:?}", asked.entries) };
    (results.first().unwrap().clone(), outcome.turn.is_tainted())
}

/// DEV-F03
#[tokio::test]
async fn an_image_of_a_result_is_shown_as_an_image_and_never_as_text() {
    let pieces = vec![
        Content::Text("done".to_owned()),
        media("image/png", PNG),
        media("application/pdf", &b"%PDF-1.7"[..]),
        media("image/tiff", &b"II*\0"[..]),
    ];
    let (result, tainted) = shown(pieces, None).await;
    assert_eq!(result.images, [PNG_URL]);
    assert!(result.content.contains("done\n[image/png, 16 bytes, artifact sha256:"), "{}", result.content);
    assert!(result.content.contains("[application/pdf, 8 bytes, artifact sha256:"), "{}", result.content);
    assert!(!result.content.contains("base64") && !result.content.contains("iVBOR"), "{}", result.content);
    assert!(tainted, "who knows what is written on it");
}

/// DEV-F03: limits of their own, which cut no image.
#[tokio::test]
async fn at_most_four_images_of_a_result_are_shown_and_none_that_is_too_large() {
    let mut pieces = vec![media("image/png", vec![0; 4_000_000])];
    pieces.extend((1..=6).map(|nth| media("image/png", vec![nth; 4])));
    let (result, _) = shown(pieces, None).await;
    let whole = |nth: u8| {
        format!("data:image/png;base64,{}", ["AQEBAQ==", "AgICAg==", "AwMDAw==", "BAQEBA=="][usize::from(nth)])
    };
    assert_eq!(result.images, (0..4).map(whole).collect::<Vec<_>>());
    assert_eq!(result.content.matches("[image/png, ").count(), 7, "{}", result.content);
}

#[tokio::test]
async fn no_image_is_shown_where_personal_data_is_to_be_masked() {
    let rules = "rules: [{id: no_faces, match: {capability: camera.*}, then: {redact_personal: all}, because: not for a model}]";
    let (result, _) = shown(vec![media("image/png", PNG)], Some(rules)).await;
    assert_eq!(result.images, Vec::<String>::new());
}
