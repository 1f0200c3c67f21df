//! The rules a request has to keep. Each function returns what is wrong, nothing when all is well.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// The calls a provider made so far: id to name and arguments.
pub(super) type Issued = HashMap<String, (String, String)>;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Follows the calls and results of one conversation.
#[derive(Default)]
struct Ledger<'a> {
    called: HashSet<&'a str>,
    open: Vec<&'a str>,
    wrong: Vec<String>,
}

impl<'a> Ledger<'a> {
    fn call(&mut self, id: &'a str, name: &str, arguments: Option<&str>, issued: &Issued) {
        if id.is_empty() || id.chars().count() > 64 {
            self.wrong.push(format!("the call id `{id}` does not have 1 to 64 characters"));
        }
        if !self.called.insert(id) {
            self.wrong.push(format!("the call `{id}` appears twice"));
        }
        self.open.push(id);
        let Some(arguments) = arguments else {
            self.wrong.push(format!("the arguments of call `{id}` are no text"));
            return;
        };
        if let Some((own_name, own_arguments)) = issued.get(id)
            && (own_name != name || own_arguments != arguments)
        {
            self.wrong.push(format!(
                "the call `{id}` was made as `{own_name}({own_arguments})` and came back as `{name}({arguments})`"
            ));
        }
    }

    fn result(&mut self, id: &'a str) {
        match self.open.iter().position(|open| *open == id) {
            Some(at) => {
                self.open.remove(at);
            }
            None if self.called.contains(id) => self.wrong.push(format!("the call `{id}` has two results")),
            None => self.wrong.push(format!("No tool call found for function call output with call_id {id}.")),
        }
    }

    /// Something came before which all calls need their results.
    fn settle(&mut self) {
        for id in self.open.drain(..) {
            self.wrong.push(format!("No tool output found for function call {id}."));
        }
    }
}

/// Checks a request of the Responses API.
pub(super) fn check_responses(body: &Value, issued: &Issued) -> Vec<String> {
    let mut ledger = Ledger::default();
    let mut user_spoke = body.get("input").is_some_and(Value::is_string);
    for item in list(body, "input") {
        match text(item, "type") {
            "function_call" => {
                let arguments = item.get("arguments").and_then(Value::as_str);
                ledger.call(text(item, "call_id"), text(item, "name"), arguments, issued);
            }
            "function_call_output" => {
                if !item.get("output").is_some_and(|output| output.is_string() || output.is_array()) {
                    ledger.wrong.push("an `output` is neither a text nor a list of parts".to_owned());
                }
                ledger.result(text(item, "call_id"));
            }
            "" | "message" => match text(item, "role") {
                "user" => {
                    ledger.settle();
                    user_spoke = true;
                }
                "assistant" | "system" | "developer" => {}
                other => ledger.wrong.push(format!("a message has the role `{other}`")),
            },
            _ => {}
        }
    }
    ledger.settle();
    if !user_spoke {
        ledger.wrong.push("the input has no user message".to_owned());
    }
    ledger.wrong.extend(check_tools(body, |tool| tool));
    ledger.wrong
}

/// Checks a request of the Chat Completions API.
pub(super) fn check_chat(body: &Value, issued: &Issued) -> Vec<String> {
    let mut ledger = Ledger::default();
    let mut user_spoke = false;
    for message in list(body, "messages") {
        let role = text(message, "role");
        if role == "tool" {
            if !message.get("content").is_some_and(|content| content.is_string() || content.is_array()) {
                ledger.wrong.push("a tool message has no content".to_owned());
            }
            ledger.result(text(message, "tool_call_id"));
            continue;
        }
        ledger.settle();
        match role {
            "user" => user_spoke = true,
            "assistant" if !user_spoke => ledger.wrong.push("an assistant message comes before any user".to_owned()),
            "assistant" | "system" | "developer" => {}
            other => ledger.wrong.push(format!("a message has the role `{other}`")),
        }
        for call in list(message, "tool_calls") {
            let function = call.get("function").unwrap_or(&Value::Null);
            let arguments = function.get("arguments").and_then(Value::as_str);
            ledger.call(text(call, "id"), text(function, "name"), arguments, issued);
        }
    }
    ledger.settle();
    if !user_spoke {
        ledger.wrong.push("there is no user message".to_owned());
    }
    ledger.wrong.extend(check_tools(body, |tool| tool.get("function").unwrap_or(&Value::Null)));
    ledger.wrong
}

/// Function tools have names a provider accepts, each once, and object schemas with properties.
fn check_tools<'a>(body: &'a Value, function: impl Fn(&'a Value) -> &'a Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if body.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        wrong.push("`tools` is there but is no list with something in it".to_owned());
    }
    let mut names = HashSet::new();
    for tool in list(body, "tools").iter().filter(|tool| text(tool, "type") == "function") {
        let tool = function(tool);
        let name = text(tool, "name");
        let fits = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if !fits {
            wrong.push(format!("the tool name `{name}` does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
        if !names.insert(name) {
            wrong.push(format!("two tools are named `{name}`"));
        }
        let schema = tool.get("parameters").unwrap_or(&Value::Null);
        if text(schema, "type") != "object" || !schema.get("properties").is_some_and(Value::is_object) {
            wrong.push(format!("the parameters of `{name}` are no object schema with properties"));
        }
    }
    wrong
}

/// How many replies the conversation holds: runs of items that a model wrote.
pub(super) fn replies_so_far(body: &Value) -> usize {
    let wrote = |item: &Value| match text(item, "type") {
        "" | "message" => text(item, "role") == "assistant",
        kind => !kind.ends_with("_output") && !kind.ends_with("_response"),
    };
    let chat = list(body, "messages").iter().filter(|message| text(message, "role") == "assistant").count();
    let input: Vec<bool> = list(body, "input").iter().map(wrote).collect();
    let starts = input.iter().enumerate().filter(|(at, own)| **own && (*at == 0 || input.get(at - 1) == Some(&false)));
    chat + starts.count()
}

/// The spelling of a tool's name in the request.
pub(super) fn spelled(name: &str, body: &Value) -> String {
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let names: Vec<&str> = list(body, "tools")
        .iter()
        .map(|tool| text(tool.get("function").unwrap_or(tool), "name"))
        .filter(|name| !name.is_empty())
        .collect();
    let exact = names.iter().find(|known| **known == name);
    exact.or_else(|| names.iter().find(|known| plain(known) == plain(name))).unwrap_or(&name).to_string()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "ok"})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "hi"})
    }

    fn responses(input: &[Value]) -> Vec<String> {
        check_responses(&json!({"input": input}), &Issued::new())
    }

    #[test]
    fn a_whole_conversation_passes() {
        assert_eq!(responses(&[user(), call("a"), call("b"), output("b"), output("a"), user()]), [""; 0]);
        let chat = json!({"messages": [
            {"role": "system", "content": "s"}, user(),
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]});
        assert_eq!(check_chat(&chat, &Issued::new()), [""; 0]);
        assert_eq!(replies_so_far(&chat), 1);
    }

    #[test]
    fn a_call_without_its_result_a_result_without_its_call_and_doubles_are_named() {
        assert_eq!(responses(&[user(), call("a")]), ["No tool output found for function call a."]);
        assert_eq!(
            responses(&[user(), call("a"), user(), output("a")]),
            ["No tool output found for function call a.", "the call `a` has two results"]
        );
        assert_eq!(responses(&[user(), output("x")]), ["No tool call found for function call output with call_id x."]);
        assert_eq!(responses(&[user(), call("a"), output("a"), output("a")]), ["the call `a` has two results"]);
        assert_eq!(
            responses(&[user(), call("a"), output("a"), call("a"), output("a")]),
            ["the call `a` appears twice"]
        );
        assert_eq!(responses(&[]), ["the input has no user message"]);
    }

    #[test]
    fn a_call_that_comes_back_changed_is_named() {
        let issued = Issued::from([("a".to_owned(), ("f".to_owned(), "{ }".to_owned()))]);
        let wrong = check_responses(&json!({"input": [user(), call("a"), output("a")]}), &issued);
        assert_eq!(wrong, ["the call `a` was made as `f({ })` and came back as `f({})`"]);
    }

    #[test]
    fn bad_tools_are_named() {
        let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
        let body = json!({"input": "hi", "tools": [tool("a.b")]});
        assert_eq!(
            check_responses(&body, &Issued::new()),
            [
                "the tool name `a.b` does not match ^[a-zA-Z0-9_-]{1,64}$",
                "the parameters of `a.b` are no object schema with properties",
            ]
        );
        let empty = json!({"input": "hi", "tools": []});
        assert_eq!(check_responses(&empty, &Issued::new()), ["`tools` is there but is no list with something in it"]);
    }

    #[test]
    fn a_reply_counts_once_however_many_items_it_has() {
        let reasoning = json!({"type": "reasoning"});
        let body = json!({"input": [user(), reasoning, call("a"), output("a"), {"role": "assistant"}, user()]});
        assert_eq!(replies_so_far(&body), 2);
    }

    #[test]
    fn names_are_sent_as_the_request_spells_them() {
        let body = json!({"tools": [{"type": "function", "name": "files_search"}]});
        assert_eq!(
            (spelled("files.search", &body).as_str(), spelled("nope", &body).as_str()),
            ("files_search", "nope")
        );
    }
}
