//! One part of a content, as it lies on the wire and read into neutral parts.

use serde::Deserialize;

use super::super::super::json::{Raw, Str};
use crate::types::{HostedKind, HostedOutput, HostedStatus};

/// The fields of all parts together; exactly one of them holds data.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub(super) text: Str<'a>,
    #[serde(borrow)]
    thought: Raw<'a>,
    #[serde(borrow)]
    pub(super) thought_signature: Str<'a>,
    #[serde(borrow)]
    pub(super) function_call: Raw<'a>,
    #[serde(borrow)]
    pub(super) executable_code: Raw<'a>,
    #[serde(borrow)]
    pub(super) code_execution_result: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_call: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_response: Raw<'a>,
    #[serde(borrow)]
    inline_data: Raw<'a>,
    #[serde(borrow)]
    file_data: Raw<'a>,
}

impl WirePart<'_> {
    pub(super) fn is_thought(&self) -> bool {
        self.thought.get() == Some("true")
    }

    /// What an unknown part, or one of data, is called.
    pub(super) fn kind(&self) -> &'static str {
        if self.inline_data.get().is_some() {
            "inlineData"
        } else if self.file_data.get().is_some() {
            "fileData"
        } else {
            "part"
        }
    }
}

/// A part of text and nothing else: pieces of it in one stream may be joined. A signature binds a part as it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainText {
    pub(super) text: String,
    #[serde(default)]
    pub(super) thought: bool,
}

/// A function call, whole or in pieces (Vertex).
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub(super) id: Str<'a>,
    #[serde(borrow)]
    pub(super) name: Str<'a>,
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
    #[serde(borrow)]
    pub(super) partial_args: Raw<'a>,
    #[serde(borrow)]
    will_continue: Raw<'a>,
}

impl WireCall<'_> {
    pub(super) fn continues(&self) -> bool {
        self.will_continue.get() == Some("true")
    }

    /// Whether more of the arguments come in later parts.
    pub(super) fn in_pieces(&self) -> bool {
        self.continues() || self.partial_args.get().is_some()
    }
}

/// `executableCode`, `codeExecutionResult`, `toolCall` and `toolResponse` together.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireHosted<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    code: Str<'a>,
    #[serde(borrow)]
    outcome: Str<'a>,
    #[serde(borrow)]
    output: Str<'a>,
    #[serde(borrow)]
    tool_type: Str<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Args<'a> {
    #[serde(borrow)]
    queries: Raw<'a>,
    #[serde(borrow)]
    query: Str<'a>,
    #[serde(borrow)]
    urls: Raw<'a>,
}

/// What a hosted part says: a call that began, or what one brought.
#[derive(Debug)]
pub(super) enum Hosted {
    Begun(HostedOutput),
    Ended(HostedOutput),
}

/// A hosted part; `None` when the part is none.
pub(super) fn hosted(part: &WirePart<'_>) -> Option<Hosted> {
    let read = |raw: Raw<'_>| raw.get().map(|_| raw.read::<WireHosted<'_>>().map(|wire| wire.id.text().to_owned()));
    let fresh = |kind, id: Option<&str>, status| HostedOutput {
        kind,
        id: id.map(str::to_owned),
        status,
        input: Vec::new(),
        output: None,
        sources: Vec::new(),
    };
    if read(part.executable_code).is_some() {
        let code: WireHosted<'_> = part.executable_code.read().unwrap_or_default();
        let mut begun = fresh(HostedKind::Code, code.id.some(), HostedStatus::Incomplete);
        begun.input.extend(code.code.some().map(str::to_owned));
        return Some(Hosted::Begun(begun));
    }
    if read(part.code_execution_result).is_some() {
        let result: WireHosted<'_> = part.code_execution_result.read().unwrap_or_default();
        let status = if result.outcome.text() == "OUTCOME_OK" { HostedStatus::Completed } else { HostedStatus::Failed };
        let mut ended = fresh(HostedKind::Code, result.id.some(), status);
        ended.output = result.output.some().map(str::to_owned);
        return Some(Hosted::Ended(ended));
    }
    if read(part.tool_call).is_some() {
        let call: WireHosted<'_> = part.tool_call.read().unwrap_or_default();
        let mut begun = fresh(tool_kind(call.tool_type.text()), call.id.some(), HostedStatus::Incomplete);
        begun.input = inputs(call.args);
        return Some(Hosted::Begun(begun));
    }
    if read(part.tool_response).is_some() {
        let result: WireHosted<'_> = part.tool_response.read().unwrap_or_default();
        let (output, failed) = response(result.response);
        let status = if failed { HostedStatus::Failed } else { HostedStatus::Completed };
        let mut ended = fresh(tool_kind(result.tool_type.text()), result.id.some(), status);
        ended.output = output;
        return Some(Hosted::Ended(ended));
    }
    None
}

/// The tool types of server-side invocations (google-genai 3.6.1).
fn tool_kind(kind: &str) -> HostedKind {
    match kind {
        "GOOGLE_SEARCH_WEB" => HostedKind::Search,
        "GOOGLE_SEARCH_IMAGE" => HostedKind::Image,
        "URL_CONTEXT" => HostedKind::Fetch,
        "GOOGLE_MAPS" => HostedKind::Maps,
        "FILE_SEARCH" => HostedKind::FileSearch,
        other => HostedKind::Other(other.to_owned()),
    }
}

/// What a server tool was asked: its queries or addresses, else its arguments as they are.
pub(in super::super) fn inputs(args: Raw<'_>) -> Vec<String> {
    let known: Args<'_> = args.read().unwrap_or_default();
    let listed = [known.queries, known.urls].into_iter().flat_map(Raw::list);
    let mut inputs: Vec<String> = listed.filter_map(|text| text.read::<String>()).collect();
    inputs.extend(known.query.some().map(str::to_owned));
    inputs.retain(|text| !text.is_empty());
    if inputs.is_empty() {
        inputs.extend(args.get().filter(|args| *args != "{}").map(str::to_owned));
    }
    inputs
}

/// The text of a server tool's response, without the markup for showing search suggestions, and whether it failed.
fn response(raw: Raw<'_>) -> (Option<String>, bool) {
    let Some(mut fields) = raw.read::<serde_json::Map<String, serde_json::Value>>() else {
        return (raw.text_or_json(), false);
    };
    fields.shift_remove("search_suggestions");
    let failed = fields.get("error").is_some_and(|error| !error.is_null());
    let left = (!fields.is_empty()).then(|| serde_json::Value::Object(fields).to_string());
    (left, failed)
}
