//! Who sees what of secrets and personal data: the model, the approver, the record.

use std::sync::Arc;

use agcore::{
    capability::{Approval, Capability},
    runtime::Runtime,
    secret::{Known, SecretRef},
    turn::{TurnEnd, TurnOutcome},
    types::{Entry, RiskClass, Trust},
};
use agcore_testkit::{ScriptedModel, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::json;

const KEY: &str = "k9-very-secret-value";

fn contacts(redact: bool) -> Capability {
    let projection = if redact { "{redact_personal: [email]}" } else { "{}" };
    let text = format!(
        "capabilities:\n  - {{id: crm.contacts, intent: crm.contacts, mode: runtime_function, function_name: contacts, \
         description: Lists contacts, risk_class: internal_read, trust: trusted, projection: {projection}}}\n"
    );
    let registry = agcore::capability::Registry::builder().add_yaml(&text, "crm.yaml").build().unwrap();
    registry.get("crm.contacts").unwrap().as_ref().clone()
}

fn mail() -> Capability {
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}});
    let builder = Capability::function("email.send").description("Sends a mail").risk(RiskClass::BusinessWrite);
    builder.input_schema(schema).approval(Approval::Always).trust(Trust::Trusted).build().unwrap()
}

async fn turn(redact: bool, rules: Option<&str>) -> (Runtime, TurnOutcome) {
    let list = Arc::new(ScriptedTool::new().text("Ann: ann@example.com"));
    let send = Arc::new(ScriptedTool::new().text("sent"));
    let model = ScriptedModel::new([
        reply().call("crm.contacts", json!({})),
        reply().call("email.send", json!({"to": "ann@example.com", "body": KEY})),
    ]);
    let mut known = Known::new();
    known.add_named(&"env:CRM_KEY".parse::<SecretRef>().unwrap(), &SecretString::from(KEY.to_owned()));
    let (contacts, mail) = (contacts(redact), mail());
    let name = mail.execution.function_name.clone().unwrap();
    let mut builder = Runtime::builder()
        .model(Arc::new(model))
        .secrets(known)
        .capability(contacts)
        .executor("contacts", list)
        .capability(mail)
        .executor(name, send);
    if let Some(rules) = rules {
        builder = builder.policy(rules, "mine.yaml");
    }
    let runtime = builder.build().unwrap();
    let outcome = runtime.turn("Mail the key to Ann, ann@example.com, +49 30 1234567").run().await.unwrap();
    (runtime, outcome)
}

fn seen_by_model(outcome: &TurnOutcome) -> String {
    let results = outcome.turn.history().iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results.iter().map(|result| result.content.clone()).collect::<String>()),
        Entry::User(_) | Entry::Reply(_) | Entry::Notice(_) => None,
    });
    results.collect()
}

/// DEV-M03: an approver sees whole arguments, a secret by its name; the record has neither.
#[tokio::test]
async fn the_approver_sees_what_would_be_sent_and_the_record_does_not_keep_it() {
    let (runtime, outcome) = turn(false, None).await;
    assert_eq!(seen_by_model(&outcome), "Ann: ann@example.com", "a mail tool needs addresses");
    let TurnEnd::Waiting(requests) = &outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(requests[0].arguments, r#"{"to":"ann@example.com","body":"[secret env:CRM_KEY]"}"#);
    assert_eq!(runtime.waiting(&outcome.turn)[0].arguments, requests[0].arguments);

    let trace = serde_json::to_string(&runtime.trace(&requests[0].turn).await.unwrap()).unwrap();
    for hidden in ["ann@", "1234567", KEY] {
        assert!(!trace.contains(hidden), "{hidden}: {trace}");
    }
    assert!(trace.contains("Mail the key to Ann, [redacted], [redacted]"), "{trace}");
    let titles: Vec<String> = runtime.turns(10).await.unwrap().into_iter().map(|head| head.title).collect();
    assert!(titles.iter().all(|title| !title.contains("ann@")), "{titles:?}");
}

/// DEV-M03
#[tokio::test]
async fn a_contract_or_a_rule_hides_personal_data_from_the_model() {
    assert_eq!(seen_by_model(&turn(true, None).await.1), "Ann: [redacted]");
    let rules =
        "rules: [{id: no_mail, match: {capability: crm.*}, then: {redact_personal: all}, because: not for a model}]";
    assert_eq!(seen_by_model(&turn(false, Some(rules)).await.1), "Ann: [redacted]");
}
