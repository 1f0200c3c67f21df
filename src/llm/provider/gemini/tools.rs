//! The tools of a request: one list of function declarations, then the provider's own tools.

use serde_json::{Map, Value, json};

use super::super::{
    super::{
        ModelRequest, OnUnsupported,
        dialect::{Target, WireError},
        hosted, json as wire,
        profile::glob,
        schema::SchemaDialect,
        tools::{self, FunctionTool, RenderFunction, ToolBlock, ToolCache},
    },
    openai_response::summary,
};

/// How function tools are written. Gemini has no word for a strict one; the mode `VALIDATED` stands for all of them.
const FUNCTIONS: RenderFunction =
    RenderFunction { schemas: (SchemaDialect::Gemini, SchemaDialect::Gemini), write: write_function };

fn write_function(tool: FunctionTool<'_>) -> Vec<u8> {
    let FunctionTool { name, description, parameters, strict: _, deferred: _ } = tool;
    let mut out = Vec::new();
    wire::value(&mut out, &json!({"name": name, "description": description, "parameters": parameters}));
    out
}

/// All tools of a request.
pub(super) fn block(request: &ModelRequest, target: &Target, cache: &ToolCache) -> Result<ToolBlock, WireError> {
    let mut block = ToolBlock::of(request, target, cache, FUNCTIONS)?;
    if block.functions > 0 {
        let hosted = block.bytes.split_off(block.functions);
        let declarations = std::mem::take(&mut block.bytes);
        wire::put(&mut block.bytes, "{\"functionDeclarations\":[");
        block.bytes.extend_from_slice(&declarations);
        wire::put(&mut block.bytes, "]}");
        block.functions = block.bytes.len();
        block.bytes.extend_from_slice(&hosted);
    }
    if !target.api.builtin_tools {
        tools::without_builtin(request, target, &mut block.notices)?;
        return Ok(block);
    }
    let (builtin, skipped) = builtin_tools(request);
    block.notices.extend(skipped);
    let mut taken: Vec<String> = Vec::new();
    for tool in builtin {
        if !may_stand(&tool.wire, request, target, &mut block)? {
            continue;
        }
        for name in tool.function_names() {
            if block.names.original(name).is_some() || taken.iter().any(|known| known == name) {
                let place = "in `extra.builtin_tools`".to_owned();
                return Err(WireError::DuplicateTool { name: name.to_owned(), place });
            }
            taken.push(name.to_owned());
        }
        let mut bytes = Vec::new();
        wire::value(&mut bytes, &tool.wire);
        block.add(&tool.kind, None, &bytes);
    }
    if !block.has_hosted() {
        // The switch that goes with a tool that was dropped would be refused as well.
        block.body = Map::new();
    }
    Ok(block)
}

/// Whether a raw provider tool may stand beside the functions of a block, if there are any.
///
/// # Errors
/// [`WireError::UnsupportedHosted`] when it may not, by the target's profile, and must not be dropped.
pub(in super::super) fn may_stand(
    tool: &Value,
    request: &ModelRequest,
    target: &Target,
    block: &mut ToolBlock,
) -> Result<bool, WireError> {
    let model = target.origin.model.as_str();
    let alone = target.api.spelling_of(tool).is_some_and(|own| own.alone.iter().any(|pattern| glob(pattern, model)));
    if block.functions == 0 || !alone {
        return Ok(true);
    }
    let why = format!("the model `{model}` does not take it beside function tools");
    let kind = hosted::raw_kind(tool).unwrap_or_default().to_owned();
    let (provider, api) = (target.origin.provider.clone(), target.origin.api);
    let error = WireError::UnsupportedHosted { kind, why, provider, api };
    match request.on_unsupported {
        OnUnsupported::Error | OnUnsupported::Reroute => Err(error),
        OnUnsupported::Drop => {
            block.notices.push(format!("{error}; it was dropped"));
            Ok(false)
        }
    }
}

/// A raw provider tool.
#[derive(Debug, Clone, PartialEq)]
struct RawTool {
    /// Its only key.
    kind: String,
    /// What is sent.
    wire: Value,
}

impl RawTool {
    /// `{"googleSearch": {…}}`, in either case; or with a `type`, as Interactions and catalogs write it.
    fn read(value: &Value) -> Result<Self, String> {
        let Some(tool) = value.as_object() else { return Err("a tool must be an object".to_owned()) };
        if let Some(kind) = tool.get("type") {
            let Some(kind) = kind.as_str().filter(|kind| !kind.is_empty()) else {
                return Err("the `type` of a tool must be a text that is not empty".to_owned());
            };
            let fields: Map<String, Value> = tool
                .iter()
                .filter(|(name, _)| *name != "type")
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            return Ok(Self { kind: kind.to_owned(), wire: json!({kind: fields}) });
        }
        let mut entries = tool.iter();
        match (entries.next(), entries.next()) {
            (Some((kind, options)), None) if !kind.is_empty() => match options {
                Value::Object(_) => Ok(Self { kind: kind.clone(), wire: value.clone() }),
                Value::Array(_) if is_functions(kind) => Ok(Self { kind: kind.clone(), wire: value.clone() }),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    Err(format!("`{kind}` must be an object"))
                }
            },
            _ => Err("a tool must have exactly one key, its name, such as `googleSearch`".to_owned()),
        }
    }

    fn function_names(&self) -> Vec<&str> {
        let list = self.wire.get(&self.kind).filter(|_| is_functions(&self.kind)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|function| function.get("name").and_then(Value::as_str)).collect()
    }
}

fn is_functions(kind: &str) -> bool {
    matches!(kind, "functionDeclarations" | "function_declarations" | "mcpServers" | "mcp_servers")
}

/// The raw provider tools of a request that are valid, and a word about each that was skipped.
fn builtin_tools(request: &ModelRequest) -> (Vec<RawTool>, Vec<String>) {
    let list = match request.extra.get("builtin_tools") {
        None | Some(Value::Null) => return (Vec::new(), Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => {
            let tool = summary(other);
            tracing::warn!(%tool, error = "`builtin_tools` must be an array", "skipping built-in tools");
            return (Vec::new(), vec![format!("`builtin_tools` was skipped: it must be an array, found {tool}")]);
        }
    };
    let (mut valid, mut skipped) = (Vec::new(), Vec::new());
    for (index, value) in list.iter().enumerate() {
        match RawTool::read(value) {
            Ok(tool) => valid.push(tool),
            Err(error) => {
                let tool = summary(value);
                tracing::warn!(index, %tool, %error, "skipping an invalid built-in tool");
                skipped.push(format!("`builtin_tools[{index}]` was skipped: {error}, found {tool}"));
            }
        }
    }
    (valid, skipped)
}
