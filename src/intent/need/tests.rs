use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn weather() -> (&'static str, &'static str, Value) {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city to get the weather forecast for."},
            "date": {"type": "string", "description": "The day, as YYYY-MM-DD.", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        },
        "required": ["city", "date"],
    });
    ("get_weather_forecast", "Get the weather forecast of a city for one day.", schema)
}

fn transfer() -> (&'static str, &'static str, Value) {
    let schema = json!({
        "type": "object",
        "properties": {
            "receiver": {"type": "string", "description": "The name of the contact who receives the money."},
            "amount": {"type": "number", "description": "The amount to transfer.", "minimum": 1, "maximum": 1000},
        },
        "required": ["receiver", "amount"],
    });
    ("transfer_money", "Transfer money from the account of the user to a contact.", schema)
}

fn water() -> (&'static str, &'static str, Value) {
    let schema = json!({
        "type": "object",
        "properties": {
            "地点": {"type": "string", "description": "查询水质的地点。"},
            "日期": {"type": "string", "description": "采样日期，格式为YYYY-MM-DD。", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
        },
        "required": ["地点", "日期"],
    });
    ("WaterQualityCheck", "查询一个地点的水质数据。", schema)
}

fn assess_all(query: &str) -> ToolNeed {
    let tools = [weather(), transfer(), water()];
    let briefs = tools.each_ref().map(|(name, description, schema)| ToolBrief { name, description, schema });
    assess(query, &briefs)
}

fn call(tool: &str) -> ToolNeed {
    ToolNeed::Call { tool: tool.to_owned() }
}

fn ask(tool: &str, missing: &[&str]) -> ToolNeed {
    ToolNeed::Ask { tool: tool.to_owned(), missing: missing.iter().map(|&name| name.to_owned()).collect() }
}

#[test]
fn a_tool_that_fits_and_can_be_filled_is_called() {
    assert_eq!(
        assess_all("What is the weather forecast for the city of Berlin on 2026-12-03?"),
        call("get_weather_forecast")
    );
    assert_eq!(assess_all("Please transfer 50 dollars of money to my contact Anna"), call("transfer_money"));
    assert_eq!(assess_all("查询武汉市2026-11-03的水质数据"), call("WaterQualityCheck"));
}

#[test]
fn what_is_required_and_nowhere_said_is_asked_for() {
    assert_eq!(
        assess_all("What is the weather forecast for the city of Berlin?"),
        ask("get_weather_forecast", &["date"])
    );
    assert_eq!(assess_all("Please transfer money to my contact Anna"), ask("transfer_money", &["amount"]));
    assert_eq!(assess_all("查询武汉市的水质数据"), ask("WaterQualityCheck", &["日期"]));
}

#[test]
fn a_value_that_the_schema_does_not_allow_is_asked_for_again() {
    let forecast = "What is the weather forecast for the city of Berlin on";
    assert_eq!(assess_all(&format!("{forecast} 2026/12/03?")), ask("get_weather_forecast", &["date"]));
    assert_eq!(assess_all(&format!("{forecast} 2026-02-30?")), ask("get_weather_forecast", &["date"]));
    assert_eq!(
        assess_all("Please transfer 5000 dollars of money to my contact Anna"),
        ask("transfer_money", &["amount"])
    );
    assert_eq!(assess_all("查询武汉市2026-02-30的水质数据"), ask("WaterQualityCheck", &["日期"]));
}

#[test]
fn a_question_that_no_tool_serves_needs_none() {
    for query in ["Who wrote Don Quixote?", "Write a poem about autumn", "讲个笑话", "hi", "", "bla bla bla"] {
        assert_eq!(assess_all(query), ToolNeed::NoTool, "{query}");
    }
    assert_eq!(assess("What is the weather forecast for Berlin?", &[]), ToolNeed::NoTool);
}

#[test]
fn a_parameter_with_a_default_is_never_missing() {
    let schema = json!({
        "properties": {"days": {"type": "integer", "default": 3, "description": "How many days."}},
        "required": ["days"],
    });
    let tool = ToolBrief { name: "get_weather_forecast", description: "Get the weather forecast.", schema: &schema };
    assert_eq!(assess("show me the weather forecast", &[tool]), call("get_weather_forecast"));
}

#[test]
fn required_parts_of_required_parameters_are_asked_for_by_name() {
    let schema = json!({
        "properties": {"trip": {"type": "object", "required": ["nights"], "properties": {
            "nights": {"type": "integer", "description": "How many nights."}, "pets": {"type": "integer"}}}},
        "required": ["trip"],
    });
    let tool = ToolBrief { name: "book_hotel", description: "Book a hotel in a city.", schema: &schema };
    assert_eq!(assess("book a hotel in the city of Rome", &[tool]), ask("book_hotel", &["nights"]));
}

#[test]
fn present_facts_and_actions_need_a_tool_and_writing_and_opinions_do_not() {
    let needed =
        ["What is the current weather at the airport in Denver right now?", "Can you retrieve the latest sales data?"];
    let not_needed = ["Write a short letter to my teacher.", "Why do people laugh?", "Explain what a sentence is."];
    assert!(needed.iter().all(|query| needs_tool(query) >= 0.5));
    assert!(not_needed.iter().all(|query| needs_tool(query) < 0.5));
}

#[test]
fn chinese_questions_are_judged_by_the_rules_of_the_detector() {
    assert!(needs_tool("今天上海的天气怎么样") >= 0.5);
    assert!(needs_tool("查一下支付服务的日志") >= 0.5);
    assert!(needs_tool("润色这段话：天气很好") < 0.5);
    assert!(needs_tool("讲个笑话") < 0.5);
}

#[test]
fn a_model_is_the_same_after_it_was_written_and_read() {
    let questions = [("what is the weather now", true), ("write a poem", false), ("show my orders", true)];
    let model = Model::train(&questions);
    assert_eq!(Model::from_text(&model.to_text()), model);
    assert!(questions.iter().all(|(text, needed)| (model.score(text) >= 0.5) == *needed));
}

/// Schemas as foreign servers write them: anything at all.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["object", "string", "number", "^(a+)+$", "[", "\\d{4}-\\d{2}"]).prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "properties",
            "required",
            "items",
            "type",
            "enum",
            "pattern",
            "minimum",
            "date",
            "email",
            "user_id"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_query_with_any_schema_gets_the_same_answer_twice(query: String, name: String, description: String, schema in any_json()) {
        let tools = [ToolBrief { name: &name, description: &description, schema: &schema }];
        prop_assert_eq!(assess(&query, &tools), assess(&query, &tools));
    }

    #[test]
    fn a_query_that_repeats_the_tool_is_read_without_harm(words in prop::collection::vec(
        prop::sample::select(vec!["weather", "'", "\"", "2026-13-40", "a@b@c", "http//x", "九", "1.2.3", ".", "-", "I'm", "ID#7"]), 0..20)) {
        let query = words.join(" ");
        let _ = assess_all(&query);
        prop_assert!((0.0..=1.0).contains(&needs_tool(&query)));
    }
}
