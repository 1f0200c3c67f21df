use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn tool(text: &str) -> ToolName {
    ToolName::new(text).unwrap()
}

fn exposed(map: &NameMap, name: &str) -> String {
    map.exposed(&tool(name)).into_owned()
}

/// DEV-D05
#[test]
fn every_name_fits_the_strictest_target_and_finds_its_way_back() {
    let (long, left, right) = ("n".repeat(128), "x".repeat(89) + "a", "x".repeat(89) + "b");
    let names = ["issues.search", "ns:act", "a/b/c", &long, &left, &right, "查询", "9lives", "-dash", "plain"];
    let tools: Vec<ToolName> = names.iter().map(|name| tool(name)).collect();
    let map = NameMap::new(&tools, NameRule::PORTABLE);
    let sent: Vec<String> = names.iter().map(|name| exposed(&map, name)).collect();
    assert_eq!(sent[0], "issues_search");
    assert_eq!(sent[1], "ns_act");
    assert_eq!(sent[2], "a_b_c");
    assert_eq!(sent[9], "plain");
    assert_ne!(sent[4], sent[5]);
    for (name, text) in names.iter().zip(&sent) {
        assert!(NameRule::PORTABLE.accepts(text), "{name} became {text}");
        assert_eq!(map.original(text), Some(&tool(name)));
    }
}

/// DEV-D05
#[test]
fn names_that_clean_to_the_same_text_get_a_hash_whatever_their_order() {
    let (dot, slash, plain) = (tool("a.b"), tool("a/b"), tool("a_b"));
    let map = NameMap::new([&dot, &slash, &plain], NameRule::PORTABLE);
    let turned = NameMap::new([&plain, &slash, &dot], NameRule::PORTABLE);
    assert_eq!(map, turned);
    assert_eq!(exposed(&map, "a_b"), "a_b");
    assert!(exposed(&map, "a.b").starts_with("a_b_"));
    assert_ne!(exposed(&map, "a.b"), exposed(&map, "a/b"));
}

#[test]
fn adding_an_unrelated_tool_changes_no_name() {
    let tools = [tool("issues.search"), tool(&"long.".repeat(30)), tool("a.b"), tool("a/b")];
    let before = NameMap::new(&tools, NameRule::PORTABLE);
    let more: Vec<ToolName> = tools.iter().cloned().chain([tool("aaa.first"), tool("zzz.last")]).collect();
    let after = NameMap::new(&more, NameRule::PORTABLE);
    for name in &tools {
        assert_eq!(before.exposed(name), after.exposed(name));
    }
}

#[test]
fn a_name_the_provider_keeps_for_itself_gets_a_hash() {
    let name = tool("web_search");
    let map = NameMap::new([&name, &tool("web.search")], NameRule::ANTHROPIC);
    let sent = map.exposed(&name).into_owned();
    assert!(sent.starts_with("web_search_") && NameRule::ANTHROPIC.accepts(&sent));
    assert_eq!(map.original(&sent), Some(&name));
}

/// DEV-C02
#[test]
fn foreign_call_ids_meet_the_pattern_and_stay_the_same_for_call_and_result() {
    let mut map = CallIdMap::new(CallIdRule::MISTRAL);
    for id in ["call_0fyPS1hVXaBcDeF", "toolu_01ABC", "functions.read:0", "turn1_0", "abcDEF123"] {
        let id = CallId::new(id).unwrap();
        let sent = map.map(&id).to_owned();
        assert!(CallIdRule::MISTRAL.accepts(&sent), "{id} became {sent}");
        assert_eq!(map.map(&id), sent);
        assert_eq!(map.original(&sent), Some(id.as_str()));
        assert_eq!(call_id(id.as_str(), CallIdRule::MISTRAL), sent);
        assert!(CallIdRule::PORTABLE.accepts(&call_id(id.as_str(), CallIdRule::PORTABLE)));
    }
    assert_eq!(call_id("abcDEF123", CallIdRule::MISTRAL), "abcDEF123");
}

/// DEV-C02
#[test]
fn ten_thousand_ids_do_not_collide() {
    for rule in [CallIdRule::MISTRAL, CallIdRule::PORTABLE] {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let sent: HashSet<String> = (0..10_000)
            .map(|number| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
                call_id(&format!("call_{state:016x}.{number}"), rule)
            })
            .collect();
        assert_eq!(sent.len(), 10_000);
    }
}

#[test]
fn a_collision_of_call_ids_is_told_apart() {
    let rule = CallIdRule::MISTRAL;
    let foreign = CallId::new("call_foreign").unwrap();
    let same = CallId::new(call_id("call_foreign", rule)).unwrap();
    let mut map = CallIdMap::new(rule);
    let first = map.map(&foreign).to_owned();
    let second = map.map(&same).to_owned();
    assert_eq!(first, same.as_str());
    assert_ne!(first, second);
    assert!(rule.accepts(&second));
}

/// DEV-D08
#[test]
fn an_invented_name_is_resolved_only_when_one_tool_remains() {
    let visible = [tool("search_files"), tool("view"), tool("orders.get")];
    assert_eq!(resolve("view ", &visible), Some(&visible[1]));
    assert_eq!(resolve("default_api:view", &visible), Some(&visible[1]));
    assert_eq!(resolve("creating:view", &visible), Some(&visible[1]));
    assert_eq!(resolve("functions.search_files", &visible), Some(&visible[0]));
    assert_eq!(resolve("serch_files", &visible), None);
    assert_eq!(resolve("default_api:gone", &visible), None);
    let two = [tool("tools.a:b"), tool("b"), tool("a:b")];
    assert_eq!(resolve("tools.a:b ", &two), Some(&two[0]));
    assert_eq!(resolve("functions.a:b", &two), None, "`b` and `a:b` both remain");
}

/// DEV-D08
#[test]
fn close_names_are_offered_the_nearest_first_and_never_more_than_five() {
    let visible: Vec<ToolName> = ["search_files", "search_file", "read_file", "send_email", "search_logs"]
        .iter()
        .map(|name| tool(name))
        .collect();
    let near = closest("serch_files", &visible);
    assert_eq!(near.first(), Some(&tool("search_files")));
    assert!(!near.contains(&tool("send_email")));
    let many: Vec<ToolName> = (0..20).map(|n| tool(&format!("search_{n}"))).collect();
    assert_eq!(closest("search_x", &many).len(), 5);
    assert_eq!(closest("quux", &visible), []);
}

proptest! {
    #[test]
    fn any_set_of_names_maps_to_accepted_names_and_back(names in proptest::collection::hash_set("[\\PC]{1,80}", 1..20)) {
        let tools: Vec<ToolName> = names.iter().filter_map(|name| ToolName::new(name).ok()).collect();
        for rule in [NameRule::PORTABLE, NameRule::OPENAI, NameRule::ANTHROPIC] {
            let map = NameMap::new(&tools, rule);
            for name in &tools {
                let sent = map.exposed(name);
                prop_assert!(rule.accepts(&sent));
                prop_assert_eq!(map.original(&sent), Some(name));
            }
        }
    }
}
