//! The registry.

use std::{fs, sync::Arc};

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    capability::{Capability, CapabilityError, Overridden, Registry, Standing, pin},
    types::{ExecutionMode, Intent, RiskClass, Timestamp, Trust},
};

fn capability(id: &str, intent: &str) -> Capability {
    Capability::builder(id, intent).runs_function("f").risk(RiskClass::ReadOnly).build().unwrap()
}

fn ids(registry: &Registry) -> Vec<&str> {
    registry.iter().map(|capability| capability.id.as_str()).collect()
}

/// DEV-D06
#[test]
fn the_order_is_by_id_whatever_the_order_of_loading() {
    let names = ["b.two", "a.one", "c.three", "a.zero", "B.upper"];
    let forward = names.iter().fold(Registry::builder(), |r, id| r.add(capability(id, "web.search"))).build().unwrap();
    let back =
        names.iter().rev().fold(Registry::builder(), |r, id| r.add(capability(id, "web.search"))).build().unwrap();
    assert_eq!(ids(&forward), ["B.upper", "a.one", "a.zero", "b.two", "c.three"]);
    assert_eq!(ids(&forward), ids(&back));
    let candidates: Vec<_> =
        back.candidates(&Intent::new("web.search").unwrap()).iter().map(|c| c.id.as_str()).collect();
    assert_eq!(candidates, ids(&forward));
}

#[test]
fn look_ups_find_by_id_and_by_intent() {
    let registry = Registry::builder()
        .add(capability("a.one", "web.search"))
        .add(capability("a.two", "url.fetch"))
        .build()
        .unwrap();
    let one = registry.get("a.one").unwrap();
    assert!(Arc::ptr_eq(one, registry.get(&one.id).unwrap()));
    assert!(registry.get("a.three").is_none());
    assert!(registry.candidates(&Intent::new("news.search").unwrap()).is_empty());
    assert_eq!(registry.candidates(&one.intent).len(), 1);
    assert_eq!((registry.len(), registry.is_empty(), registry.intents().count()), (2, false, 2));
}

#[test]
fn an_id_declared_twice_by_one_source_is_refused() {
    let twice =
        Registry::builder().add(capability("a.one", "web.search")).add(capability("a.one", "url.fetch")).build();
    assert!(matches!(twice, Err(CapabilityError::Duplicate { id, .. }) if id.as_str() == "a.one"));
}

const GOOD: &str = "capabilities:
  - {id: file.read, intent: file.read, mode: runtime_function, function_name: mine, risk_class: internal_read}
  - {id: my.wiki, intent: kb.search, mode: runtime_function, function_name: wiki, risk_class: internal_read}
";

const BAD: &str = "capabilities:
  - {id: tool.search, intent: tool.search, mode: runtime_function, function_name: x, risk_class: read_onely}
  - {id: my.fine, intent: kb.search, mode: runtime_function, function_name: fine, risk_class: internal_read}
  - {id: my.wiki, intent: kb.search, mode: runtime_function, function_name: wiki, risk_class: internal_read}
";

#[test]
fn a_folder_overrides_the_shipped_catalog_and_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), GOOD).unwrap();
    fs::write(folder.path().join("notes.txt"), "no catalog").unwrap();
    let registry = Registry::builder().embedded().add_dir(folder.path()).build().unwrap();
    assert_eq!(registry.get("file.read").unwrap().execution.function_name.as_deref(), Some("mine"));
    let expected = Overridden {
        id: "file.read".parse().unwrap(),
        by: folder.path().display().to_string(),
        of: "the shipped catalog".into(),
    };
    assert_eq!((registry.overridden(), registry.quarantined()), (&[expected][..], &[][..]));
}

/// DEV-D01: one bad tool is set aside, the others still load.
#[test]
fn a_bad_entry_of_a_folder_is_quarantined_and_the_others_load() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), GOOD).unwrap();
    fs::write(folder.path().join("b.yml"), BAD).unwrap();
    fs::write(folder.path().join("c.yaml"), "capabilities: [\n").unwrap();
    let registry = Registry::builder().embedded().add_dir(folder.path()).build().unwrap();
    assert!(registry.get("my.wiki").is_some() && registry.get("my.fine").is_some());
    let reasons: Vec<_> = registry.quarantined().iter().map(|q| (q.id.as_deref(), q.reason.kind())).collect();
    assert_eq!(reasons, [(Some("tool.search"), "invalid_value"), (Some("my.wiki"), "duplicate_id"), (None, "yaml")]);
    let first = registry.quarantined()[0].reason.to_string();
    assert!(first.contains("b.yml:2:") && first.ends_with("did you mean `read_only`?"), "{first}");
}

#[test]
fn an_override_that_cannot_be_used_withdraws_what_it_meant_to_replace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("b.yaml"), BAD).unwrap();
    let registry = Registry::builder().embedded().add_dir(folder.path()).build().unwrap();
    assert!(registry.get("tool.search").is_none());
}

#[test]
fn a_bad_entry_given_as_text_fails_the_build() {
    let error = Registry::builder().embedded().add_yaml(BAD, "bad.yaml").build().unwrap_err();
    assert_eq!((error.kind(), error.capability()), ("invalid_value", Some("tool.search")));
}

#[test]
fn a_folder_that_is_not_there_fails_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let error = Registry::builder().add_dir(folder.path().join("none")).build().unwrap_err();
    assert_eq!(error.kind(), "unreadable");
}

#[test]
fn the_shipped_catalog_is_complete_and_careful() {
    let registry = Registry::builder().embedded().build().unwrap();
    assert_eq!(
        ids(&registry),
        [
            "aliyun.web_search",
            "anthropic.web_search",
            "artifact.read",
            "file.read",
            "file.search",
            "gemini.google_search",
            "mistral.web_search",
            "openai.code_interpreter",
            "openai.file_search",
            "openai.web_search",
            "tool.search",
            "xai.web_search",
            "zai.web_search",
        ]
    );
    for capability in &registry {
        let trusted = capability.id.as_str() == "tool.search";
        assert_eq!(capability.output.trust == Trust::Trusted, trusted, "{}", capability.id);
        assert!(!capability.execution.side_effect.writes(), "{}", capability.id);
    }
    let functions: Vec<_> = registry.iter().filter_map(|c| c.execution.function_name.as_deref()).collect();
    assert_eq!(functions, ["artifact_read", "file_read", "file_search", "tool_search"]);
    let search = registry.get("file.search").unwrap();
    let names: Vec<_> = search.input.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["query", "max_results", "path_glob"]);
    assert_eq!(search.input.schema["required"], json!(["query"]));
    let hosted = registry.iter().filter(|c| c.execution.mode == ExecutionMode::ProviderHosted);
    for capability in hosted {
        assert_eq!(capability.governance.risk_class, RiskClass::ExternalRead, "{}", capability.id);
    }
}

/// DEV-M01: what comes from outside neither replaces nor changes what is there.
#[test]
fn what_comes_from_outside_never_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = "capabilities:
  - {id: my.wiki, intent: kb.search, mode: runtime_function, function_name: evil, risk_class: internal_read}
  - {id: their.wiki, intent: kb.search, mode: runtime_function, function_name: wiki, risk_class: internal_read}
";
    fs::write(folder.path().join("a.yaml"), theirs).unwrap();
    let own = capability("my.wiki", "kb.search");
    let registry = Registry::builder().embedded().add(own.clone()).add_external_dir(folder.path()).build().unwrap();
    assert_eq!(registry.get("my.wiki").map(AsRef::as_ref), Some(&own));
    let reasons: Vec<_> = registry.quarantined().iter().map(|one| (one.id.as_deref(), one.reason.kind())).collect();
    assert_eq!(reasons, [(Some("my.wiki"), "takes_over")]);
    let external: Vec<_> = registry.external().iter().map(|one| (one.capability.id.as_str(), &one.standing)).collect();
    assert_eq!((external, registry.get("their.wiki")), (vec![("their.wiki", &Standing::New)], None));

    let agreed = pin(&registry.external()[0].capability, "ann", "", Timestamp::from_ms(1));
    let builder = || Registry::builder().embedded().add(own.clone()).pins([agreed.clone()]);
    assert!(builder().add_external_dir(folder.path()).build().unwrap().get("their.wiki").is_some());
    // An own capability may take the place of one from outside, whichever is read first.
    let ours = capability("their.wiki", "kb.search");
    let registry = builder().add_external_dir(folder.path()).add(ours.clone()).build().unwrap();
    assert_eq!(registry.get("their.wiki").map(AsRef::as_ref), Some(&ours));
}
