//! The fake provider as a process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use agcore::net::{Bytes, HeaderMap, HttpClient, HttpConfig, HttpRequest, Method};
use serde_json::json;
use tokio::time::Instant;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_process_says_where_it_listens_plays_the_script_and_writes_effects_to_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("script.json"), json!({"by": "position", "answers": [{"text": "hello"}]}).to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fake-provider"))
        .args(["--script".as_ref(), path("script.json").as_os_str()])
        .args(["--port-file".as_ref(), path("port").as_os_str()])
        .args(["--effects".as_ref(), path("effects.jsonl").as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut base = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut base).unwrap();
    let _child = Killed(child);
    let base = base.trim();
    let port = std::fs::read_to_string(path("port")).unwrap();
    assert_eq!(base, format!("http://127.0.0.1:{port}/v1"));

    let client = HttpClient::new(&HttpConfig::default()).unwrap();
    let post = async |url: String, body: serde_json::Value| {
        let limit = Duration::from_secs(60);
        let request = HttpRequest {
            method: Method::POST,
            url: url.parse().unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_string()),
            idle_timeout: limit,
            deadline: Instant::now() + limit,
        };
        client.send(request).await.unwrap().bytes(1 << 20).await.unwrap()
    };
    let reply = post(format!("{base}/responses"), json!({"input": "hi"})).await;
    assert!(String::from_utf8_lossy(&reply).contains("\"text\":\"hello\""));
    post(format!("{base}/../effects/order"), json!({"n": 1})).await;
    let effects = std::fs::read_to_string(path("effects.jsonl")).unwrap();
    assert_eq!(effects, "{\"name\":\"order\",\"key\":null,\"body\":{\"n\":1}}\n");
}
