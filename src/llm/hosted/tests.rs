use serde_json::json;

use super::*;
use crate::{
    llm::Profile,
    types::{Api, ModelName, ToolName},
};

fn target(provider: &str, api: Api, model: &str) -> Target {
    Target::new(Profile::by_name(provider).unwrap(), api, ModelName::new(model).unwrap()).unwrap()
}

fn tool(value: Value) -> HostedTool {
    serde_json::from_value(value).unwrap()
}

fn request(tools: Vec<Value>) -> ModelRequest {
    ModelRequest { hosted: tools.into_iter().map(tool).collect(), ..ModelRequest::default() }
}

fn function() -> std::sync::Arc<super::super::ToolDef> {
    std::sync::Arc::new(super::super::ToolDef {
        name: ToolName::new("orders.get_by_id").unwrap(),
        description: String::new(),
        parameters: std::sync::Arc::new(json!({"type": "object"})),
        strict: false,
        deferred: false,
    })
}

#[test]
fn one_search_is_spelt_as_each_provider_wants_it() {
    let wanted = json!({"kind": "search", "params": {"allowed_domains": ["docs.rs"]}});
    let spelt = |provider, api, model| spell(&request(vec![wanted.clone()]), &target(provider, api, model)).unwrap();
    let openai = spelt("openai", Api::Responses, "gpt-5.6");
    assert_eq!(openai.tools, [json!({"type": "web_search", "filters": {"allowed_domains": ["docs.rs"]}})]);
    assert_eq!(json!(openai.body), json!({"include": ["web_search_call.action.sources"]}));
    let xai = spelt("xai", Api::Responses, "grok-4.7");
    assert_eq!(xai.tools, [json!({"type": "web_search", "filters": {"allowed_domains": ["docs.rs"]}})]);
    let zai = spelt("zai", Api::Chat, "glm-5.3");
    assert_eq!(
        zai.tools,
        [json!({"type": "web_search", "web_search": {"enable": true, "search_engine": "search-prime",
            "search_result": true, "search_domain_filter": "docs.rs"}})]
    );
}

#[test]
fn what_cannot_be_expressed_is_refused_and_says_what_can() {
    let refused = |provider, api, model, tool| {
        let error = spell(&request(vec![tool]), &target(provider, api, model)).unwrap_err().to_string();
        assert!(error.starts_with("unsupported_tool: "), "{error}");
        error
    };
    let blocked = json!({"kind": "search", "params": {"blocked_domains": ["x.org"]}});
    assert!(refused("aliyun", Api::Responses, "qwen3.8-max", blocked).contains("it takes no parameters"));
    let both = json!({"kind": "search", "params": {"blocked_domains": ["x.org"], "allowed_domains": ["y.org"]}});
    assert!(refused("xai", Api::Responses, "grok-4.7", both).contains("only one of"));
    let many = json!({"kind": "search", "params": {"allowed_domains": ["1", "2", "3", "4", "5", "6"]}});
    assert!(refused("xai", Api::Responses, "grok-4.7", many).contains("5 entries at most, not 6"));
    let no_store = json!({"kind": "file_search"});
    assert!(refused("openai", Api::Responses, "gpt-5.6", no_store).contains("needs the parameter `stores`"));
    let typo = json!({"kind": "search", "params": {"allowed_domain": ["x.org"]}});
    assert!(refused("openai", Api::Responses, "gpt-5.6", typo).contains("did you mean `allowed_domains`"));
    let maps = json!({"kind": "maps"});
    assert!(refused("openai", Api::Responses, "gpt-5.6", maps.clone()).contains("it offers search"));
    assert!(refused("openai", Api::Chat, "gpt-5.6", maps).contains("no hosted tools"));
    let old_model = json!({"kind": "tool_search"});
    assert!(refused("openai", Api::Responses, "gpt-4.1", old_model).contains("`gpt-4.1` does not have it"));
    let rumour = json!({"kind": "search"});
    assert!(refused("deepseek", Api::Responses, "deepseek-flash", rumour).contains("allow_unconfirmed"));
}

#[test]
fn what_may_be_dropped_is_dropped_with_a_word() {
    let mut wanted = request(vec![json!({"kind": "maps"}), json!({"kind": "search"})]);
    wanted.on_unsupported = OnUnsupported::Drop;
    let spelt = spell(&wanted, &target("xai", Api::Responses, "grok-4.7")).unwrap();
    assert_eq!(spelt.tools, [json!({"type": "web_search"})]);
    assert_eq!(spelt.notices.len(), 1);
    assert!(spelt.notices[0].ends_with("it was dropped"), "{:?}", spelt.notices);
}

#[test]
fn a_remote_server_goes_where_the_provider_looks_for_it() {
    let server = json!({"kind": "mcp", "params": {"server": {"label": "docs", "url": "https://m.example/mcp"}}});
    let spelt = spell(&request(vec![server.clone()]), &target("aliyun", Api::Responses, "qwen3.8-max")).unwrap();
    let expected = json!({"type": "mcp", "server_protocol": "sse", "server_label": "docs",
        "server_url": "https://m.example/mcp"});
    assert_eq!(spelt.tools, [expected]);
}

#[test]
fn places_in_tool_and_body_headers_and_mixing_come_from_the_spelling() {
    let yaml = "
tool: {type: toolset}
body: {servers: [{type: url}]}
params:
  server: {fields: {label: 'tool:/server_name body:/servers/0/name', url: 'body:/servers/0/url'}}
  location: {set: {'tool:/place/type': approximate}, fields: {city: 'tool:/place/city'}}
  freshness: {at: 'tool:/newer', words: {day: oneDay}}
headers: {beta: b-1}
alone: ['old-*']
beside_functions: {config: {both: true}}
";
    let spelling: Spelling = serde_saphyr::from_str(yaml).unwrap();
    let mut target = target("compatible", Api::Responses, "new-1");
    target.api.hosted.insert(HostedKind::Mcp, spelling);
    let one = |label: &str| {
        json!({"kind": "mcp", "params": {"server": {"label": label, "url": "https://s"},
            "location": {"city": "Oslo"}, "freshness": "day"}})
    };
    let mut wanted = request(vec![one("a"), one("b")]);
    wanted.tools_defs = vec![function()];
    let spelt = spell(&wanted, &target).unwrap();
    let tool = |label: &str| {
        json!({"type": "toolset", "place": {"type": "approximate", "city": "Oslo"}, "newer": "oneDay",
            "server_name": label})
    };
    assert_eq!(json!(spelt.tools), json!([tool("a"), tool("b")]));
    assert_eq!(
        json!(spelt.body),
        json!({"servers": [{"type": "url", "name": "a", "url": "https://s"}, {"type": "url", "name": "b",
            "url": "https://s"}], "config": {"both": true}})
    );
    assert_eq!(spelt.headers, BTreeMap::from([("beta".to_owned(), "b-1".to_owned())]));
    target.origin = std::sync::Arc::new(crate::types::Origin {
        model: ModelName::new("old-1").unwrap(),
        ..(*target.origin).clone()
    });
    assert!(spell(&wanted, &target).unwrap_err().to_string().contains("beside function tools"));
}

#[test]
fn a_raw_tool_brings_the_headers_its_spelling_has() {
    let mut target = target("compatible", Api::Responses, "m");
    let spelling: Spelling =
        serde_saphyr::from_str("{tool: {type: computer_2}, also: ['computer_*'], headers: {beta: c}}").unwrap();
    target.api.hosted.insert(HostedKind::Computer, spelling);
    let mut wanted = ModelRequest::default();
    wanted.extra.insert("builtin_tools".to_owned(), json!([{"type": "computer_1"}, {"type": "other"}]));
    let spelt = spell(&wanted, &target).unwrap();
    assert_eq!(spelt.headers, BTreeMap::from([("beta".to_owned(), "c".to_owned())]));
    assert_eq!(raw_kind(&json!({"google_search": {}})), Some("google_search"));
    assert_eq!(raw_kind(&json!({"a": {}, "b": {}})), None);
}

#[test]
fn every_shipped_spelling_names_known_parameters_and_usable_places() {
    for profile in Profile::shipped() {
        for (api, settings) in &profile.apis {
            for (kind, spelling) in &settings.hosted {
                let place = format!("{} {api} {kind}", profile.name);
                assert!(spelling.tool.is_some() || !spelling.body.is_empty(), "{place}");
                for (name, at) in &spelling.params {
                    assert!(PARAMETERS.iter().any(|(known, _)| known == name), "{place}: {name}");
                    let value = match at.fields.is_empty() {
                        false => json!(at.fields.keys().map(|key| (key, "x")).collect::<BTreeMap<_, _>>()),
                        true if !at.words.is_empty() => json!(at.words.keys().next()),
                        true => json!(["x"]),
                    };
                    Draft::of(spelling).set(name, &value, at).unwrap_or_else(|error| panic!("{place}: {error}"));
                }
                for name in spelling.required.iter().chain(spelling.exclusive.iter().flatten()) {
                    assert!(spelling.params.contains_key(name) || name == "options", "{place}: {name}");
                }
            }
        }
    }
}
