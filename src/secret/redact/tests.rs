use std::sync::LazyLock;

use proptest::prelude::*;
use secrecy::SecretString;

use super::*;

mod personal;

fn known(values: &[&str]) -> Redactor {
    let mut known = Known::new();
    known.extend(values.iter().map(|value| SecretString::from((*value).to_owned())));
    Redactor::new(&known)
}

fn masked(text: &str) -> String {
    Redactor::default().text(text).into_inner().into_owned()
}

/// DEV-M03
#[test]
fn ordinary_text_comes_out_as_it_went_in() {
    for text in [
        "ok 1",
        "<task-notification>",
        "pip install scikit-learn sk-learn",
        "sk-learn-0-24-0-documentation-examples and sk-learn-contrib-lightning",
        "commit 9042740c3ab1f0e1d2c3b4a5968778695a4b3c2d",
        "id 018f3a5b-7c1d-7e2f-8a9b-0c1d2e3f4a5b",
        r#"{"max_tokens":4000,"next_page_token":"CAEQAQ1234567890abc","token_type":"bearer","token":"the"}"#,
        r#"{"password":{"type":"string","minLength":8},"secret":true,"token":null}"#,
        "password: the word you chose when you signed up",
        "The password must have eight characters.",
        "let password = read_password(&mut input)?;",
        "api_key: Option<String>,",
        "token = parser.next_token()",
        "api_key: env:OPENAI_API_KEY",
        "export API_KEY=$OPENAI_API_KEY",
        "Authorization: Bearer tokens are required",
        "Bearer authentication",
        "PWD=/home/user/project2",
        "https://example.com:8080/a@b",
        "time 1700000000000, order 4111111111111112",
        "0.4111111111111111",
        "-----BEGIN PRIVATE KEY----- is how a private key begins",
        "eyJ is how a token begins",
        "密码：请输入您的密码",
        "SG.1 and AIza and ghp_short",
        "the secret: be kind",
    ] {
        assert_eq!(masked(text), text);
    }
}

/// DEV-M03
#[test]
fn secrets_are_masked_by_their_shape() {
    let hex = "0123456789abcdef0123456789abcdef";
    let alnum = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    for (text, expected) in [
        (format!("invalid key sk-test-{hex}."), "invalid key [redacted].".to_owned()),
        (format!("sk-{hex}"), MASK.to_owned()),
        (format!("sk-proj-{alnum}_x-{alnum}"), MASK.to_owned()),
        ("id AKIAIOSFODNN7EXAMPLE, x".to_owned(), "id [redacted], x".to_owned()),
        (format!("ghp_{alnum}"), MASK.to_owned()),
        (format!("(xoxb-{alnum})"), "([redacted])".to_owned()),
        ("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln t".to_owned(), "t [redacted] t".to_owned()),
        (format!("curl -H 'Authorization: Bearer {hex}'"), "curl -H 'Authorization: Bearer [redacted]'".to_owned()),
        ("postgres://app:s3cret@db/x".to_owned(), "postgres://app:[redacted]@db/x".to_owned()),
        ("redis://:pa55word@db".to_owned(), "redis://:[redacted]@db".to_owned()),
        ("pay 4111 1111 1111 1111 now".to_owned(), "pay [redacted] now".to_owned()),
        ("5555555555554444 378282246310005".to_owned(), "[redacted] [redacted]".to_owned()),
        (
            format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{alnum}\n{alnum}\nAb==\n-----END RSA PRIVATE KEY-----\nb"),
            "a\n[redacted]\nb".to_owned(),
        ),
    ] {
        assert_eq!(masked(&text), expected, "{text}");
    }
}

/// DEV-M03
#[test]
fn a_private_key_is_masked_whole_broken_or_escaped() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let whole = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\nAb==\n-----END PRIVATE KEY-----");
    assert_eq!(masked(&format!("k: {whole}.")), "k: [redacted].");
    let escaped = serde_json::json!({"key": whole, "next": "plain text"}).to_string();
    assert_eq!(masked(&escaped), r#"{"key":"[redacted]","next":"plain text"}"#);
    let encrypted = whole.replace("-----\nMII", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMII");
    assert_eq!(masked(&encrypted), MASK);
    assert_eq!(masked(&format!("-----BEGIN EC PRIVATE KEY-----\n{line}\n{line} and so on")), "[redacted] and so on");
    let public = whole.replace("PRIVATE", "PUBLIC");
    assert_eq!(masked(&public), public);
}

/// DEV-M03
#[test]
fn secrets_are_masked_by_the_name_of_their_field() {
    for (text, expected) in [
        (r#"{"password":"hunter2"}"#, r#"{"password":"[redacted]"}"#),
        (r#"{"user":"a","client_secret": "k9d8-f7g6-h5j4"}"#, r#"{"user":"a","client_secret": "[redacted]"}"#),
        (r#"{"body":"{\"password\":\"hunter2\"}"}"#, r#"{"body":"{\"password\":\"[redacted]\"}"}"#),
        ("DB_PASSWORD=hunter2 PORT=1", "DB_PASSWORD=[redacted] PORT=1"),
        ("password: hunter2\nuser: x", "password: [redacted]\nuser: x"),
        ("?a=1&access_token=abc123def456&b=2", "?a=1&access_token=[redacted]&b=2"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"),
        ("x-api-key: 01234567-89ab-cdef", "x-api-key: [redacted]"),
        ("Set-Cookie: sid=8f7e6d5c4b3a2910; Path=/", "Set-Cookie: [redacted]"),
        ("密码：hunter2，用户：x", "密码：[redacted]，用户：x"),
        ("API key: 8f7e6d5c4b3a2910", "API key: [redacted]"),
    ] {
        assert_eq!(masked(text), expected);
    }
}

/// DEV-M03
#[test]
fn a_known_secret_is_masked_by_value_in_every_form() {
    let redactor = known(&["plain-word/with \"marks\"", "plainword"]);
    let mask = |text: &str| redactor.text(text).into_inner().into_owned();
    assert_eq!(mask("MY_KEY is plainword!"), "MY_KEY is [redacted]!");
    assert_eq!(mask(r#"plain-word/with "marks""#), MASK);
    assert_eq!(mask(r#""plain-word\/with \"marks\"""#), "\"[redacted]\"");
    assert_eq!(mask("?q=plain-word%2Fwith%20%22marks%22&x"), "?q=[redacted]&x");
    // "plainword", "xplainword" and "xxplainword" in Base64: what depends on the secret alone is gone.
    assert_eq!(mask("cGxhaW53b3Jk"), MASK);
    assert_eq!(mask("eHBsYWlud29yZA=="), "eH[redacted]A==");
    assert_eq!(mask("eHhwbGFpbndvcmQ="), "eHh[redacted]Q=");
    assert_eq!(format!("{redactor:?}"), "Redactor(with known secrets)");
}

#[test]
fn masked_json_is_json() {
    let redactor = known(&["12345678"]);
    let text = r#"{"n":12345678,"m":-1123456789.5,"s":"a 12345678 b","card":4111111111111111,"password":123456,"e":"\u0073k-0123456789abcdef01"}"#;
    let json = redactor.json(text);
    assert_eq!(json.masked(), 6);
    assert_eq!(
        json.as_str(),
        r#"{"n":"[redacted]","m":"[redacted]","s":"a [redacted] b","card":"[redacted]","password":"[redacted]","e":"[redacted]"}"#
    );
}

#[test]
fn wanted_fields_are_masked_whatever_they_hold() {
    let text = Redactor::default().text_with_fields("name: Ann\nmail=a@b.example, age: 7", &["name", "user.mail"]);
    assert_eq!(text.as_str(), "name: [redacted]\nmail=[redacted], age: 7");
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("password".to_owned()),
        Just("token=".to_owned()),
        Just("Authorization: Basic ".to_owned()),
        Just("sk-0123456789abcdef".to_owned()),
        Just("plainword".to_owned()),
        Just("[redacted]".to_owned()),
        Just("4111 1111 1111 1111".to_owned()),
        Just("postgres://a:b@".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n".to_owned()),
        "[a-z0-9:=\"'\\\\ ,;@/{}-]{0,12}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Built once: in a debug build that takes longer than a case.
static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| known(&["plainword", "11111111"]));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn masking_twice_is_masking_once(text in texts()) {
        let once = REDACTOR.text(&text).into_inner().into_owned();
        let twice = REDACTOR.text(&once).into_inner().into_owned();
        prop_assert_eq!(&once, &twice);
        prop_assert!(!once.contains("plainword"));
    }

    #[test]
    fn any_json_stays_json(key in "(password|token|a)", value in texts(), number in 0u64..u64::MAX) {
        let json = serde_json::json!({ key: value, "n": number, "l": [value, {"secret": number}] }).to_string();
        let out = REDACTOR.json(&json);
        prop_assert!(serde_json::from_str::<serde_json::Value>(out.as_str()).is_ok(), "{}", out.as_str());
    }
}
