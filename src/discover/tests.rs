//! Tests of the index.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::{Document, Field, Index};
use crate::{
    capability::{Capability, Registry},
    types::RiskClass,
};

fn index(tools: &[(&str, &str)]) -> Index {
    Index::from_documents(
        tools.iter().map(|(name, text)| Document::new(*name, *name).with(Field::Text, *text)).collect(),
    )
}

fn found<'a>(index: &'a Index, query: &str) -> Vec<&'a str> {
    index.search(query, 10).into_iter().map(|hit| hit.key).collect()
}

const TOOLS: &[(&str, &str)] = &[
    ("weather.get_forecast", "Returns the weather forecast for a city."),
    ("orders.get_by_id", "Returns one order with its lines."),
    ("orders.cancel", "Cancels an order that was not shipped yet."),
    ("email.create_draft", "Writes an e-mail as a draft."),
    ("map.find_route", "查询两个地点之间的驾车路线"),
    ("github.create_issue", "Opens an issue in a GitHub repository."),
];

#[test]
fn the_tool_that_is_meant_comes_first() {
    let index = index(TOOLS);
    for (query, key) in [
        ("what will the weather be in Oslo", "weather.get_forecast"),
        ("cancel my orders", "orders.cancel"),
        ("draft a mail of apology", "email.create_draft"),
        ("开车的路线", "map.find_route"),
        ("open a github issue", "github.create_issue"),
    ] {
        assert_eq!(found(&index, query).first(), Some(&key), "{query}");
    }
}

#[test]
fn a_synonym_finds_what_the_word_itself_does_not_in_either_language() {
    let index = index(TOOLS);
    assert_eq!(found(&index, "天气"), ["weather.get_forecast"]);
    assert_eq!(found(&index, "directions"), ["map.find_route"]);
}

#[test]
fn a_query_for_two_tools_finds_both_before_more_of_the_first() {
    let index =
        index(&[("a1", "create invoice"), ("a2", "create invoice"), ("b1", "plan meeting"), ("b2", "plan meeting")]);
    assert_eq!(found(&index, "create an invoice and plan a meeting"), ["a1", "b1", "a2", "b2"]);
    assert_eq!(found(&index, "create an invoice"), ["a1", "a2"]);
}

#[test]
fn nothing_in_common_is_no_hit() {
    let index = index(TOOLS);
    for query in ["", "zzz", "the of and", "?!", "\u{0}"] {
        assert_eq!(found(&index, query), Vec::<&str>::new(), "{query:?}");
    }
    assert_eq!(found(&Index::default(), "weather"), Vec::<&str>::new());
}

#[test]
fn equal_hits_are_in_the_order_of_their_keys_whatever_the_order_of_adding() {
    let tools = [("c", "same words"), ("a", "same words"), ("b", "same words")];
    let mut back = tools;
    back.reverse();
    assert_eq!(found(&index(&tools), "words"), ["a", "b", "c"]);
    assert_eq!(index(&tools).search("same words", 3), index(&back).search("same words", 3));
}

#[test]
fn of_two_documents_with_one_key_the_first_is_kept() {
    let index = index(&[("a", "first"), ("a", "second")]);
    assert_eq!((index.len(), found(&index, "first"), found(&index, "second").len()), (1, vec!["a"], 0));
}

#[test]
fn what_may_not_be_seen_is_not_found() {
    let index = index(TOOLS);
    let hits = index.search_among("cancel an order", 10, |key| key != "orders.cancel");
    assert_eq!(hits.iter().map(|hit| hit.key).collect::<Vec<_>>(), ["orders.get_by_id"]);
}

#[test]
fn at_most_k_are_returned() {
    let many: Vec<(String, &str)> = (0..100).map(|n| (format!("tool_{n:03}"), "same words")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(key, text)| (key.as_str(), *text)).collect();
    let index = index(&many);
    for k in [0, 1, 24, 25, 60, 100, usize::MAX] {
        let hits = index.search("words", k);
        assert_eq!(hits.len(), k.min(100));
        assert!(hits.iter().map(|hit| hit.key).is_sorted());
    }
}

#[test]
fn parameters_and_their_values_are_searched() {
    let schema = json!({"type": "object", "properties": {
        "iban": {"type": "string", "description": "the account number"},
        "urgency": {"enum": ["overnight"]},
        "items": {"type": "array", "items": {"properties": {"sku": {"type": "string"}}}},
    }});
    let index =
        Index::from_documents(vec![Document::new("pay", "bank.pay").with_schema(&schema), Document::new("x", "x.y")]);
    for query in ["iban", "account number", "overnight", "sku"] {
        assert_eq!(found(&index, query), ["pay"], "{query}");
    }
}

#[test]
fn a_capability_is_found_by_everything_a_model_may_read_of_it() {
    let capability = Capability::builder("crm.lookup", "business.customer.query")
        .description("Returns the master data.")
        .use_when("a subscriber is mentioned")
        .runs_function("f")
        .input_schema(json!({"type": "object", "properties": {"tax_number": {"type": "string"}}}))
        .risk(RiskClass::InternalRead)
        .build()
        .unwrap();
    let index = Index::build([&capability]);
    for query in ["crm", "customer", "master data", "subscribers", "taxNumber"] {
        assert_eq!(found(&index, query), ["crm.lookup"], "{query}");
    }
}

#[test]
fn the_shipped_tools_are_found_in_english_and_chinese() {
    let registry = Registry::builder().embedded().build().unwrap();
    let index = Index::build(registry.iter().map(AsRef::as_ref));
    assert_eq!(found(&index, "look for a passage in my files").first(), Some(&"file.search"));
    assert_eq!(found(&index, "在我的文件里查找").first(), Some(&"file.search"));
    assert_eq!(found(&index, "run a python program").first(), Some(&"openai.code_interpreter"));
    assert!(found(&index, "search the public web")[0].ends_with(".web_search"));
}

#[test]
fn a_pasted_page_costs_no_more_than_its_most_telling_words() {
    let index = index(TOOLS);
    let page = format!("{} weather", "order lines draft city repository route ".repeat(2_000));
    assert!(!found(&index, &page).is_empty());
}

proptest! {
    #[test]
    fn searching_never_panics_and_hits_are_positive_and_distinct(query in any::<String>(), k in 0_usize..40) {
        let index = index(TOOLS);
        let hits = index.search(&query, k);
        prop_assert!(hits.len() <= k);
        prop_assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()));
        let mut keys: Vec<_> = hits.iter().map(|hit| hit.key).collect();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), hits.len());
    }

    #[test]
    fn indexing_any_text_never_panics_and_finds_it_again(texts in prop::collection::vec(any::<String>(), 0..6)) {
        let documents = texts.iter().enumerate().map(|(n, text)| Document::new(n.to_string(), text.clone())).collect();
        let index = Index::from_documents(documents);
        for text in &texts {
            let _ = index.search(text, 3);
        }
        prop_assert_eq!(index.len(), texts.len());
    }
}
