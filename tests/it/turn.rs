//! Whole turns over scripted models and tools: what holds between the gate, the scheduler, the projector and the journal.

use std::sync::Arc;

use agcore::{
    capability::{Approval, Capability, CapabilityBuilder},
    config::Limits,
    execute::errors,
    llm::{OnUnsupported, ToolChoice},
    runtime::{Runtime, RuntimeBuilder},
    trace::PolicyDecision,
    turn::{Company, EndReason, Ended, OnReject, TurnEnd, TurnOutcome},
    types::{Entry, MicroUsd, RiskClass, Scope, Tokens, ToolResult},
};
use agcore_testkit::{Gate, Hosted, ScriptedModel, ScriptedReply, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn tool(name: &str, risk: RiskClass) -> CapabilityBuilder {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}});
    Capability::function(name).description("Does a thing").risk(risk).input_schema(schema)
}

struct Stage {
    builder: RuntimeBuilder,
    model: Arc<ScriptedModel>,
}

fn stage(replies: impl IntoIterator<Item = ScriptedReply>) -> Stage {
    staged(ScriptedModel::new(replies))
}

fn staged(model: ScriptedModel) -> Stage {
    let model = Arc::new(model);
    Stage { builder: Runtime::builder().model(model.clone()), model }
}

impl Stage {
    fn with(mut self, contract: CapabilityBuilder, tool: &Arc<ScriptedTool>) -> Self {
        let capability = contract.build().unwrap();
        let name = capability.execution.function_name.clone().unwrap();
        self.builder = self.builder.capability(capability).executor(name, tool.clone());
        self
    }

    fn limits(mut self, limits: Limits) -> Self {
        self.builder = self.builder.limits(limits);
        self
    }

    async fn run(self) -> (Runtime, TurnOutcome, Arc<ScriptedModel>) {
        let runtime = self.builder.build().unwrap();
        let outcome = runtime.turn("do the thing").run().await.unwrap();
        (runtime, outcome, self.model)
    }
}

fn ended(outcome: &TurnOutcome) -> &Ended {
    match &outcome.end {
        TurnEnd::Ended(ended) => ended,
        TurnEnd::Waiting(requests) => panic!("it waits for {requests:?}"),
        TurnEnd::Paused(paused) => panic!("it is paused: {paused:?}"),
    }
}

/// The results of the nth round, as the model got them.
fn results(outcome: &TurnOutcome, round: usize) -> Vec<ToolResult> {
    let rounds = outcome.turn.history().iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results.clone()),
        Entry::User(_) | Entry::Reply(_) | Entry::Notice(_) => None,
    });
    rounds.collect::<Vec<_>>().swap_remove(round)
}

fn code(result: &ToolResult) -> String {
    let value: Value = serde_json::from_str(&result.content).unwrap_or_default();
    value.pointer("/error/code").and_then(Value::as_str).unwrap_or("none").to_owned()
}

/// DEV-L01: a tool the principal may not see does not run when the model names it all the same.
#[tokio::test]
async fn a_hidden_tool_does_not_run_when_its_name_is_guessed() {
    let hidden = Arc::new(ScriptedTool::new());
    let contract = tool("repos.delete", RiskClass::ReadOnly).required_scope(Scope::new("repos.admin").unwrap());
    let stage = stage([reply().call("repos.delete", json!({})), reply().text("I cannot")]).with(contract, &hidden);
    let (_, outcome, model) = stage.run().await;
    assert_eq!((hidden.runs(), code(&results(&outcome, 0)[0])), (0, "UNKNOWN_TOOL".to_owned()));
    assert!(model.asked()[0].request.tools_defs.is_empty());
}

/// DEV-D08: an invented name gets the close ones, a near miss is resolved, and the turn lives on.
#[tokio::test]
async fn an_invented_tool_name_is_answered_with_the_close_ones() {
    let files = Arc::new(ScriptedTool::new().text("found"));
    let stage = stage([
        reply().call("serch_files", json!({})),
        reply().call("default_api:search_files", json!({})),
        reply().text("done"),
    ]);
    let (_, outcome, _) = stage.with(tool("search_files", RiskClass::ReadOnly), &files).run().await;
    let unknown = &results(&outcome, 0)[0];
    assert_eq!(code(unknown), "UNKNOWN_TOOL");
    assert!(unknown.content.contains("search_files"), "{}", unknown.content);
    assert_eq!((files.runs(), ended(&outcome).reason), (1, EndReason::Answered));
}

/// DEV-B02, DEV-B01: broken arguments never run the tool, blank ones are the empty object.
#[tokio::test]
async fn broken_arguments_never_reach_a_tool_and_blank_ones_are_empty() {
    let seen = Arc::new(ScriptedTool::new());
    let stage = stage([
        reply()
            .call("things.get", json!("file_path=foo"))
            .call("things.get", json!("{\"n\":1}}"))
            .call("things.get", json!("  ")),
        reply().text("done"),
    ]);
    let (_, outcome, _) = stage.with(tool("things.get", RiskClass::ReadOnly), &seen).run().await;
    let codes: Vec<String> = results(&outcome, 0).iter().map(code).collect();
    assert_eq!(codes, ["INVALID_ARGUMENTS", "INVALID_ARGUMENTS", "none"]);
    assert_eq!(seen.arguments(), [json!({})]);
}

/// DEV-B06: a number beyond 2^53 reaches the tool as it was written.
#[tokio::test]
async fn big_numbers_reach_the_tool_unrounded() {
    let seen = Arc::new(ScriptedTool::new());
    let raw = json!("{\"n\":2512292042121000001}");
    let stage = stage([reply().call("orders.get_by_id", raw), reply().text("done")]);
    stage.with(tool("orders.get_by_id", RiskClass::ReadOnly), &seen).run().await;
    assert_eq!(seen.arguments()[0]["n"].to_string(), "2512292042121000001");
}

/// DEV-C01: results go back in call order, whatever finished first.
#[tokio::test]
async fn results_go_back_in_call_order_whatever_finishes_first() {
    let gate = Gate::closed();
    let slow = Arc::new(ScriptedTool::new().text("slow").gated(&gate));
    let fast = Arc::new(ScriptedTool::new().text("fast"));
    let stage = stage([reply().call("slow.get", json!({})).call("fast.get", json!({})), reply().text("done")])
        .with(tool("slow.get", RiskClass::ReadOnly), &slow)
        .with(tool("fast.get", RiskClass::ReadOnly), &fast);
    let model = stage.model.clone();
    let turn = tokio::spawn(async move { stage.run().await });
    gate.arrived(1).await;
    gate.open();
    let (_, outcome, _) = turn.await.unwrap();
    let contents: Vec<bool> = results(&outcome, 0).iter().map(|result| result.content.contains("slow")).collect();
    assert_eq!((contents, model.calls()), (vec![true, false], 2));
}

/// DEV-J03, DEV-J02: cancelling keeps what finished, tells the interrupted read from the call that never started, and
/// the next message is accepted.
#[tokio::test]
async fn cancelling_keeps_finished_results_and_tells_the_others_apart() {
    let gate = Gate::closed();
    let done = Arc::new(ScriptedTool::new().text("done"));
    let stuck = Arc::new(ScriptedTool::new().gated(&gate));
    let write = Arc::new(ScriptedTool::new());
    let replies = [reply()
        .call("a.get", json!({}))
        .call("b.get", json!({}))
        .call("c.put", json!({}))
        .call("c.put", json!({"q": "2"}))];
    let model = Arc::new(ScriptedModel::new(replies));
    let stage = Stage { builder: Runtime::builder().model(model.clone()), model }
        .with(tool("a.get", RiskClass::ReadOnly), &done)
        .with(tool("b.get", RiskClass::ReadOnly), &stuck)
        .with(tool("c.put", RiskClass::DraftWrite).depends_on("b.get".parse().unwrap()), &write);
    let runtime = stage.builder.build().unwrap();
    let company = Company::default();
    let cancel = company.cancel.clone();
    let running = runtime.clone();
    let turn = tokio::spawn(async move { running.turn("do it").company(company).run().await.unwrap() });
    gate.arrived(1).await;
    cancel.cancel();
    let outcome = turn.await.unwrap();
    let trace = runtime.trace(&outcome.turn.started().turn).await.unwrap();
    let status: Vec<&str> = trace.tool_calls.iter().map(|call| call.status.as_str()).collect();
    assert_eq!(status, ["ok", "interrupted", "decided", "decided"]);
    let codes: Vec<String> = results(&outcome, 0).iter().map(code).collect();
    assert_eq!(codes, ["none", "INTERRUPTED", "CANCELLED", "CANCELLED"]);
    assert_eq!((ended(&outcome).reason, write.runs()), (EndReason::Cancelled, 0));
    let next = Runtime::builder().model(Arc::new(ScriptedModel::new([reply().text("hello")]))).build().unwrap();
    let again = next.turn("and now?").history(outcome.turn.history().to_vec()).run().await.unwrap();
    assert_eq!(ended(&again).answer, "hello");
}

/// DEV-K04: the forced choice holds for the first call only.
#[tokio::test]
async fn a_forced_choice_is_over_after_the_first_call() {
    let noop = Arc::new(ScriptedTool::new());
    let stage = stage([reply().call("things.get", json!({})), reply().text("done")])
        .with(tool("things.get", RiskClass::ReadOnly), &noop);
    let runtime = stage.builder.build().unwrap();
    runtime.turn("do it").tool_choice(ToolChoice::Required).run().await.unwrap();
    let choices: Vec<ToolChoice> = stage.model.asked().iter().map(|asked| asked.request.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

/// DEV-K03: the same empty result again and again is hinted at, withheld, and ends the turn.
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_and_says_so() {
    let empty = Arc::new(ScriptedTool::new().json(&json!([])));
    let mut replies: Vec<ScriptedReply> = (0..6).map(|_| reply().call("users.list", json!({}))).collect();
    replies.push(reply().text("nobody is there"));
    let model = ScriptedModel::new(replies);
    let limits = Limits { max_tool_iterations: 20, max_tool_calls_per_turn: 50, ..Limits::default() };
    let stage = staged(model).with(tool("users.list", RiskClass::ReadOnly), &empty).limits(limits);
    let (_, outcome, _) = stage.run().await;
    assert_eq!((ended(&outcome).reason, empty.runs()), (EndReason::NoProgress, 3));
    assert!(results(&outcome, 1)[0].content.contains("same result as before"));
    assert_eq!(code(&results(&outcome, 3)[0]), "NO_PROGRESS");
}

#[tokio::test]
async fn a_turn_never_starts_more_calls_than_its_limit_and_still_answers() {
    let noop = Arc::new(ScriptedTool::new());
    let five = (0..5).fold(reply(), |reply, n| reply.call("things.get", json!({"n": n})));
    let stage = stage([five, reply().text("from what I know")])
        .with(tool("things.get", RiskClass::ReadOnly), &noop)
        .limits(Limits { max_tool_calls_per_turn: 3, ..Limits::default() });
    let (_, outcome, model) = stage.run().await;
    assert_eq!((noop.runs(), ended(&outcome).reason), (3, EndReason::Limit));
    assert_eq!(ended(&outcome).answer, "from what I know");
    assert_eq!(model.asked()[1].request.tool_choice, ToolChoice::None);
}

/// The worst case is set aside before a call: a turn whose money does not buy its answer as well does not begin one.
#[tokio::test]
async fn money_is_reserved_before_a_call_and_the_last_answer_is_kept_back() {
    let noop = Arc::new(ScriptedTool::new());
    let replies = [reply().call("things.get", json!({})), reply().text("this is all")];
    let limits = Limits { max_tool_cost: MicroUsd::new(1_000), ..Limits::default() };
    let stage = staged(ScriptedModel::new(replies).priced(Some(MicroUsd::new(400))))
        .with(tool("things.get", RiskClass::ReadOnly).cost(MicroUsd::new(300)), &noop)
        .limits(limits);
    let (_, outcome, _) = stage.run().await;
    assert_eq!((noop.runs(), code(&results(&outcome, 0)[0])), (0, "LIMIT_REACHED".to_owned()));
    let ledger = outcome.turn.ledger();
    assert_eq!((ledger.spent(), ledger.reserved), (MicroUsd::new(800), MicroUsd::ZERO));
}

#[tokio::test]
async fn a_rejected_call_never_runs_and_the_model_may_be_told() {
    let refund = Arc::new(ScriptedTool::new());
    let stage = stage([reply().call("orders.refund", json!({})), reply().text("then not")])
        .with(tool("orders.refund", RiskClass::BusinessWrite), &refund);
    let runtime = stage.builder.build().unwrap();
    let waiting = runtime.turn("refund it").on_reject(OnReject::Continue).run().await.unwrap();
    let TurnEnd::Waiting(requests) = &waiting.end else { panic!("{:?}", waiting.end) };
    let no = agcore::turn::ApprovalAnswer::no("me", "too much");
    let turn = &waiting.turn.started().turn;
    runtime.approve(turn, requests[0].call.as_str(), None, &no).await.unwrap();
    let outcome = runtime.resume(turn, Company::default()).await.unwrap();
    assert_eq!((refund.runs(), ended(&outcome).answer.as_str()), (0, "then not"));
    assert_eq!(code(&results(&outcome, 0)[0]), "APPROVAL_REJECTED");
    let trace = runtime.trace(turn).await.unwrap();
    assert_eq!(trace.tool_calls[0].policy_decision, PolicyDecision::Asked);
}

/// DEV-M03: a secret of ours is masked in results, in the trace and in exported spans, whatever printed it.
#[tokio::test]
async fn a_known_secret_reaches_neither_model_nor_trace() {
    let secret = "k-1234567890-abcdef";
    let leak = Arc::new(ScriptedTool::new().text(format!("TOKEN={secret}")).fails(errors::tool_failed("x")));
    let mut known = agcore::secret::Known::new();
    known.add(&secrecy::SecretString::from(secret));
    let mut stage = stage([reply().call("env.get", json!({"q": secret})), reply().text(format!("it is {secret}"))])
        .with(tool("env.get", RiskClass::ReadOnly), &leak);
    stage.builder = stage.builder.secrets(known);
    let (runtime, outcome, _) = stage.run().await;
    assert!(!results(&outcome, 0)[0].content.contains(secret));
    let trace = runtime.trace(&outcome.turn.started().turn).await.unwrap();
    assert!(!serde_json::to_string(&trace).unwrap().contains(secret));
    assert!(!agcore::trace::otlp(&trace).to_string().contains(secret));
}

/// DEV-F02: a result larger than what the context still takes is cut, kept whole, and can be read on.
#[tokio::test]
async fn a_huge_result_is_cut_and_can_be_read_on() {
    let long: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
    let dump = Arc::new(ScriptedTool::new().text(long));
    let stage = stage([reply().call("logs.get", json!({})), reply().text("done")])
        .with(tool("logs.get", RiskClass::ReadOnly), &dump)
        .limits(Limits { max_context_tokens_from_tools: Tokens(2_000), ..Limits::default() });
    let (_, outcome, model) = stage.run().await;
    let result = &results(&outcome, 0)[0];
    assert!(result.content.len() < 10_000 && result.content.contains("artifact sha256:"), "{}", result.content.len());
    let tools: Vec<String> = model.asked()[1].request.tools_defs.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(tools, ["logs.get", "artifact.read"]);
}

#[tokio::test]
async fn always_asking_is_the_contract_s_right_even_for_a_read() {
    let read = Arc::new(ScriptedTool::new());
    let contract = tool("salaries.get", RiskClass::InternalRead).approval(Approval::Always);
    let (_, outcome, _) = stage([reply().call("salaries.get", json!({}))]).with(contract, &read).run().await;
    assert!(matches!(outcome.end, TurnEnd::Waiting(_)));
    assert_eq!(read.runs(), 0);
}

/// An export tells the whole turn: one span for it, one for each model call, one for each tool call.
#[tokio::test]
async fn an_otlp_export_holds_a_span_for_each_call() {
    let noop = Arc::new(ScriptedTool::new());
    let stage = stage([reply().call("things.get", json!({})), reply().text("done")])
        .with(tool("things.get", RiskClass::ReadOnly), &noop);
    let (runtime, outcome, _) = stage.run().await;
    let trace = runtime.trace(&outcome.turn.started().turn).await.unwrap();
    let export = agcore::trace::otlp(&trace);
    let spans = export.pointer("/resourceSpans/0/scopeSpans/0/spans").and_then(Value::as_array).unwrap();
    let names: Vec<&str> = spans.iter().filter_map(|span| span["name"].as_str()).collect();
    assert_eq!(names, ["invoke_agent agcore", "chat scripted-1", "chat scripted-1", "execute_tool things.get"]);
    let root = &spans[0]["spanId"];
    assert!(spans.iter().skip(1).all(|span| span["parentSpanId"] == *root));
}

/// A hosted search, a function that searches too, and another function; and the builtin tools and functions that the
/// model was offered.
async fn offered(
    hosted: Hosted,
    on_unsupported: OnUnsupported,
    raw: Option<Value>,
) -> (TurnOutcome, Value, Vec<String>) {
    let tool_run = Arc::new(ScriptedTool::new());
    let search = Capability::builder("scripted.web_search", "web.search")
        .description("Searches the web")
        .hosted("scripted".parse().unwrap(), json!({"type": "web_search"}))
        .risk(RiskClass::ExternalRead)
        .priority(95)
        .build()
        .unwrap();
    let own = Capability::builder("runtime.search", "web.search")
        .description("Searches the web")
        .runs_function("runtime.search")
        .risk(RiskClass::ExternalRead)
        .priority(40);
    let mut stage = staged(ScriptedModel::new([reply().text("done")]).hosts(hosted))
        .with(own, &tool_run)
        .with(tool("dice.roll", RiskClass::ReadOnly), &tool_run);
    let raw_given = raw.is_some();
    if !raw_given {
        stage.builder = stage.builder.capability(search);
    }
    let runtime = stage.builder.build().unwrap();
    let mut extra = serde_json::Map::new();
    extra.extend(raw.map(|raw| ("builtin_tools".to_owned(), raw)));
    let mut turn = runtime.turn("roll the dice").extra(extra).on_unsupported(on_unsupported);
    if !raw_given {
        turn = turn.intents(["web.search".parse().unwrap()]);
    }
    let outcome = turn.intents(["dice.roll".parse().unwrap()]).run().await.unwrap();
    let request = stage.model.asked().swap_remove(0).request;
    let names = request.tools_defs.iter().map(|def| def.name.to_string()).collect();
    (outcome, request.extra.get("builtin_tools").cloned().unwrap_or_default(), names)
}

/// DEV-A01: where a model does not take a hosted tool beside functions, another candidate serves the intent.
#[tokio::test]
async fn a_hosted_tool_that_cannot_be_mixed_makes_way_for_a_function() {
    let (_, builtin, names) = offered(Hosted::Always, OnUnsupported::Error, None).await;
    assert_eq!((builtin, names), (json!([{"type": "web_search"}]), vec!["dice.roll".to_owned()]));
    let (outcome, builtin, mut names) = offered(Hosted::Alone, OnUnsupported::Error, None).await;
    names.sort();
    assert_eq!((builtin, names), (Value::Null, vec!["dice.roll".to_owned(), "web.search".to_owned()]));
    let withheld = &outcome.turn.prepared().unwrap().withheld;
    assert!(withheld.iter().any(|tool| tool.reason.starts_with("capability_conflict")), "{withheld:?}");
}

/// DEV-A02: a raw tool that the wire cannot carry is replaced by a candidate for its intent when the caller says so,
/// and that is in the result.
#[tokio::test]
async fn a_raw_tool_the_wire_cannot_carry_is_rerouted_aloud() {
    let raw = Some(json!([{"type": "web_search_preview"}]));
    let (outcome, builtin, mut names) = offered(Hosted::Never, OnUnsupported::Reroute, raw.clone()).await;
    names.sort();
    assert_eq!((builtin, names), (Value::Null, vec!["dice.roll".to_owned(), "web.search".to_owned()]));
    let withheld = &outcome.turn.prepared().unwrap().withheld;
    assert!(withheld.iter().any(|tool| tool.reason.contains("another candidate for `web.search`")), "{withheld:?}");
    let (_, builtin, _) = offered(Hosted::Never, OnUnsupported::Error, raw.clone()).await;
    assert_eq!(Some(builtin), raw, "left to the adapter, which refuses it");
}
