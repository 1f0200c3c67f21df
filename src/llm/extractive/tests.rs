use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::types::ToolName;

fn tool(name: &str, parameters: Value) -> Arc<ToolDef> {
    let name = ToolName::new(name).unwrap();
    Arc::new(ToolDef {
        name,
        description: String::new(),
        parameters: Arc::new(parameters),
        strict: false,
        deferred: false,
    })
}

fn search() -> Arc<ToolDef> {
    let parameters = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": ["integer", "null"]}},
        "required": ["query"],
    });
    tool("file.search", parameters)
}

fn request(tools: Vec<Arc<ToolDef>>) -> ModelRequest {
    ModelRequest { tools_defs: tools, ..ModelRequest::default() }
}

fn user(text: &str) -> Entry {
    Entry::User(vec![UserPart::Text(text.to_owned())])
}

fn results(content: &str) -> Entry {
    let (provider_id, name) = ("extract_1".to_owned(), "file.search".to_owned());
    Entry::Results(vec![ToolResult {
        provider_id,
        name,
        content: content.to_owned(),
        is_error: false,
        images: Vec::new(),
    }])
}

const FOUND: &str = "[1] docs/spec.md:12-19
`Deserialize` fails for a value that is no valid tool; such a value is skipped with
a warning that shows a redacted summary of it. The valid ones stay; nothing panics.
[2] docs/other.md:1-3
Tools are things. A carpenter owns many of them.
";

#[test]
fn it_first_calls_the_tools_that_the_question_alone_can_fill() {
    let fetch =
        tool("url.fetch", json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}));
    let order = tool(
        "orders.find",
        json!({"type": "object", "properties": {"query": {"type": "string"}, "id": {"type": "integer"}}, "required": ["query", "id"]}),
    );
    let tools = tool("tool.search", json!({"type": "object", "properties": {"query": {"type": "string"}}}));
    let request = request(vec![search(), fetch, order, tools]);
    let calls = |question: &str| -> Vec<(String, String)> {
        let reply = Extractive::new().reply(&request, &[user(question)]);
        assert_eq!(reply.stop, Stop::ToolCalls);
        reply.calls().map(|call| (call.name.clone(), call.arguments.clone())).collect()
    };
    let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
    assert_eq!(calls("What is it?"), [call("file.search", r#"{"query":"What is it?"}"#)]);
    let asked = "Read https://example.org/a?b=1.";
    let searched = call("file.search", r#"{"query":"Read https://example.org/a?b=1."}"#);
    assert_eq!(calls(asked), [searched, call("url.fetch", r#"{"url":"https://example.org/a?b=1"}"#)]);
}

#[test]
fn it_quotes_what_fits_with_its_source_and_says_what_it_is() {
    let question = "What happens to a built-in tool value that is not a valid tool?";
    let reply = Extractive::new().reply(&request(vec![search()]), &[user(question), results(FOUND)]);
    assert_eq!(reply.stop, Stop::End);
    let (text, citations) = reply.text_and_citations();
    assert!(text.starts_with("No language model was used."), "{text}");
    let source = CitationSource::File { path: "docs/spec.md".to_owned(), lines: Some((12, 19)) };
    assert_eq!(citations[0].source, source);
    let quote = citations[0].quote.clone().unwrap();
    assert!(quote.contains("such a value is skipped"), "{quote}");
    assert!(!text.contains("carpenter"), "{text}");
    let (start, end) = (citations[0].start.unwrap(), citations[0].end.unwrap());
    let cited: String = text.chars().skip(start).take(end - start).collect();
    assert_eq!(cited, quote);
    assert!(text.contains("— docs/spec.md:12-19"), "{text}");
}

#[test]
fn a_heading_or_a_block_of_code_is_quoted_only_where_nothing_says_more() {
    let content = "[1] budgets.md:1-9\n# What a budget is\n\nA budget bounds what turns may spend together.\n\n```sh\nagcore budgets list # every budget\n```\n";
    let quotes = |content: &str| -> Vec<String> {
        let entries = [user("What is a budget?"), results(content)];
        let reply = Extractive::new().reply(&request(vec![search()]), &entries);
        reply.text_and_citations().1.into_iter().filter_map(|citation| citation.quote).collect()
    };
    assert_eq!(quotes(content), ["A budget bounds what turns may spend together."]);
    assert_eq!(quotes("[1] budgets.md:1-1\n# What a budget is\n"), ["# What a budget is"]);
}

#[test]
fn it_answers_chinese_in_chinese() {
    let content = "[1] 手册.md:5-6\n退款申请需要在七天内提交。审批由财务部门完成，通常需要三个工作日。\n[2] 其他.md:1-1\n天气很好。\n";
    let reply =
        Extractive::new().reply(&request(vec![search()]), &[user("退款申请要在几天内提交？"), results(content)]);
    let (text, citations) = reply.text_and_citations();
    assert!(text.starts_with("未使用语言模型"), "{text}");
    assert_eq!(citations[0].quote.as_deref(), Some("退款申请需要在七天内提交。"));
    assert!(!text.contains("天气"), "{text}");
}

#[test]
fn it_says_so_when_nothing_fits_or_nothing_can_be_looked_up() {
    let text =
        |request: &ModelRequest, entries: &[Entry]| Extractive::new().reply(request, entries).text_and_citations().0;
    let nothing = text(&request(vec![search()]), &[user("Who won the cup?"), results(FOUND)]);
    assert_eq!(nothing, "No language model was used. Nothing that was found fits the question.");
    let no_tool = text(&request(Vec::new()), &[user("Who won the cup?")]);
    assert_eq!(no_tool, "No language model was used, and no tool could look this up, so there is no answer.");
    let none = ModelRequest { tool_choice: ToolChoice::None, ..request(vec![search()]) };
    assert_eq!(text(&none, &[user("谁赢了？")]), "未使用语言模型，也没有可用于查找该问题的工具，因此无法回答。");
}

#[test]
fn a_failed_tool_is_named_and_never_quoted() {
    let failed = Entry::Results(vec![ToolResult {
        provider_id: "extract_1".to_owned(),
        name: "file.search".to_owned(),
        content: "the cup was won by nobody".to_owned(),
        is_error: true,
        images: Vec::new(),
    }]);
    let reply = Extractive::new().reply(&request(vec![search()]), &[user("Who won the cup?"), failed]);
    let (text, _) = reply.text_and_citations();
    assert_eq!(
        text,
        "No language model was used. Nothing that was found fits the question. Failed tools: file.search."
    );
}

#[test]
fn an_earlier_question_is_not_answered_again() {
    let entries = [user("Who won the cup?"), results(FOUND), user("What is skipped with a warning?")];
    let reply = Extractive::new().reply(&request(vec![search()]), &entries);
    assert_eq!(reply.stop, Stop::ToolCalls);
}
