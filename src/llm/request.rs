//! The neutral request: what every dialect renders.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{ModelName, ToolName};

use super::HostedTool;

/// A function tool as a model may see it. The name is the capability's; the dialect maps it to what the
/// provider accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDef {
    /// Its name, e.g. `orders.get_by_id`.
    pub name: ToolName,
    /// What it does, with when to use it.
    pub description: String,
    /// The original JSON Schema of its arguments. Dialects send a converted one; calls are checked against this.
    pub parameters: Arc<Value>,
    /// Whether the provider should be told to keep strictly to the schema, where the schema converts without loss.
    #[serde(default)]
    pub strict: bool,
    /// Whether the provider should load it only when its own tool search finds it, where it has one; elsewhere it is
    /// sent like any other tool.
    #[serde(default)]
    pub deferred: bool,
}

/// What the model may or must do with the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must not call any.
    None,
    /// It must call one or more.
    Required,
    /// It must call this one.
    Named(ToolName),
    /// It may use some of the tools only. The others stay in the request where the provider can be told so, which keeps
    /// its prompt cache warm; elsewhere they are left out of it.
    Allowed(AllowedTools),
}

/// A choice among some of the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedTools {
    /// The names of functions, and the types or names of hosted tools. None at all means that no tool may be used.
    pub tools: Vec<ToolName>,
    /// Whether the model must use one of them.
    #[serde(default)]
    pub required: bool,
}

/// What to do with a raw provider tool or a choice of tools that the target cannot express.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnsupported {
    /// Refuse before anything is sent; the error names what it was.
    #[default]
    Error,
    /// Let another candidate for the same intent serve, and say so in what was prepared. Only a turn can do that; what
    /// is still there when a request is built is refused like with `error`.
    Reroute,
    /// Leave it out and say so in the reply's notices.
    Drop,
}

/// What a model is asked, beside the conversation itself ([`super::Conversation`]). Made once per turn and kept:
/// from call to call only the choice of tools and added tools change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The model, as its provider spells it.
    pub model: Option<ModelName>,
    /// The system prompt.
    pub instructions: String,
    /// The function tools. Shared, because the same definitions go out with every call of many turns.
    pub tools_defs: Vec<Arc<ToolDef>>,
    /// Tools that the provider runs itself, in neutral terms; the target's profile spells them.
    pub hosted: Vec<HostedTool>,
    /// What the model may do with them.
    pub tool_choice: ToolChoice,
    /// Whether it may ask for several calls at once; `None` leaves the provider's default.
    pub parallel_tool_calls: Option<bool>,
    /// At most this many tokens of output.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; sent only when given.
    pub temperature: Option<f64>,
    /// Reasoning effort in the provider's words (`low`, `high`); sent only when given.
    pub reasoning_effort: Option<String>,
    /// A JSON schema the answer must have: name and schema.
    pub response_schema: Option<(String, Value)>,
    /// Whether to stream.
    pub stream: bool,
    /// What to do with tools or choices that the target cannot express.
    pub on_unsupported: OnUnsupported,
    /// Provider-specific extras. `builtin_tools`: an array of raw provider tools, sent after the function tools
    /// (specification S0). Everything else goes to the top level of the body as it is.
    pub extra: Map<String, Value>,
}
