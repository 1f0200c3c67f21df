#![no_main]

use agcore::llm::arguments::{repair, replayable};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _mended = repair(&text);
    // What goes back to a provider is always an object.
    let sent: serde_json::Value = serde_json::from_str(&replayable(&text)).unwrap();
    assert!(sent.is_object());
});
