//! The tools of a request as bytes: rendered once per definition, collected once per conversation.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use crate::types::ToolName;

use super::{
    ModelRequest, ToolDef,
    dialect::{Target, WireError},
    head::Choice,
    names::NameMap,
    profile::ApiProfile,
    schema::{self, SchemaDialect},
};

/// A tool definition as bytes, with the schema the provider gets.
#[derive(Debug, Clone)]
pub(super) enum Rendered {
    /// What is sent.
    Bytes(Arc<[u8]>),
    /// Why the tool is withheld: its schema cannot describe arguments.
    Withheld(Arc<str>),
}

/// How a dialect writes a function tool: name on the wire, description, converted schema, whether it is strict.
pub(super) type RenderFunction = fn(&str, &str, Value, bool) -> Vec<u8>;

/// Definitions that were rendered before, found by their address. Purely a memory: dropping it changes nothing.
#[derive(Debug, Default)]
pub(super) struct ToolCache {
    rendered: Mutex<HashMap<(usize, bool), Memo>>,
}

#[derive(Debug)]
struct Memo {
    /// Held so that the address stays taken by this very definition.
    def: Arc<ToolDef>,
    exposed: String,
    rendered: Rendered,
}

/// How many definitions are remembered before those no one else holds are dropped.
const REMEMBERED: usize = 4096;

impl ToolCache {
    fn get(&self, def: &Arc<ToolDef>, exposed: &str, strict: bool, render: RenderFunction) -> Rendered {
        let key = (Arc::as_ptr(def) as usize, strict);
        let mut memory = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memo) = memory.get(&key)
            && memo.exposed == exposed
        {
            return memo.rendered.clone();
        }
        drop(memory);
        let rendered = render_function(def, exposed, strict, render);
        memory = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= REMEMBERED {
            memory.retain(|_, memo| Arc::strong_count(&memo.def) > 1);
            if memory.len() >= REMEMBERED {
                memory.clear();
            }
        }
        let memo = Memo { def: Arc::clone(def), exposed: exposed.to_owned(), rendered: rendered.clone() };
        memory.insert(key, memo);
        rendered
    }
}

fn render_function(def: &ToolDef, exposed: &str, strict: bool, render: RenderFunction) -> Rendered {
    let dialect = if strict { SchemaDialect::OpenAiStrict } else { SchemaDialect::OpenAi };
    match schema::convert(&def.parameters, dialect) {
        Ok(converted) => Rendered::Bytes(render(exposed, &def.description, converted.schema, converted.strict).into()),
        Err(error) => Rendered::Withheld(format!("tool `{}` is withheld: {error}", def.name).into()),
    }
}

/// All tools of a request, serialised.
#[derive(Debug)]
pub(super) struct ToolBlock {
    defs: Vec<Arc<ToolDef>>,
    builtin: Option<Value>,
    /// The names on the wire and back.
    pub(super) names: Arc<NameMap>,
    /// The elements of the array, separated by commas; empty when there is no tool.
    pub(super) bytes: Vec<u8>,
    /// Which tools were skipped or withheld, and why.
    pub(super) notices: Vec<String>,
    /// The types of the raw provider tools in it.
    hosted: Vec<String>,
}

impl ToolBlock {
    /// The function tools of a request; raw provider tools are added with [`ToolBlock::add`].
    pub(super) fn functions(
        request: &ModelRequest,
        api: &ApiProfile,
        cache: &ToolCache,
        render: RenderFunction,
    ) -> Result<Self, WireError> {
        let defs = request.tools_defs.clone();
        let mut seen = HashSet::new();
        for (index, def) in defs.iter().enumerate() {
            if !seen.insert(def.name.as_str()) {
                let place = format!("`tools_defs[{index}]`");
                return Err(WireError::DuplicateTool { name: def.name.to_string(), place });
            }
        }
        let names = NameMap::new(defs.iter().map(|def| &def.name), ApiProfile::NAMES);
        let (mut bytes, mut notices) = (Vec::new(), Vec::new());
        for def in &defs {
            let exposed = names.exposed(&def.name);
            match cache.get(def, &exposed, def.strict && api.strict, render) {
                Rendered::Bytes(tool) => append(&mut bytes, &tool),
                Rendered::Withheld(why) => notices.push(why.to_string()),
            }
        }
        let builtin = request.extra.get("builtin_tools").cloned();
        Ok(Self { defs, builtin, names: Arc::new(names), bytes, notices, hosted: Vec::new() })
    }

    /// Appends a raw provider tool that is already checked.
    pub(super) fn add(&mut self, kind: &str, bytes: &[u8]) {
        append(&mut self.bytes, bytes);
        self.hosted.push(kind.to_owned());
    }

    /// Whether the block is what `request` would give.
    pub(super) fn is_for(&self, request: &ModelRequest) -> bool {
        self.builtin.as_ref() == request.extra.get("builtin_tools")
            && self.defs.len() == request.tools_defs.len()
            && self.defs.iter().zip(&request.tools_defs).all(|(own, other)| Arc::ptr_eq(own, other) || own == other)
    }

    /// Whether no tool is left.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The choice of the tool of this name: a function, or a hosted tool by its type.
    pub(super) fn named(&self, name: &ToolName) -> Result<Choice, WireError> {
        if self.defs.iter().any(|def| def.name == *name) {
            return Ok(Choice::Function(self.names.exposed(name).into_owned()));
        }
        let hosted = self.hosted.iter().find(|kind| kind.as_str() == name.as_str());
        hosted
            .map(|kind| Choice::Hosted(kind.clone()))
            .ok_or_else(|| WireError::UnknownChoice { name: name.to_string() })
    }
}

fn append(out: &mut Vec<u8>, tool: &[u8]) {
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(tool);
}

/// Refuses or drops raw provider tools where the target takes none.
pub(super) fn without_builtin(
    request: &ModelRequest,
    target: &Target,
    notices: &mut Vec<String>,
) -> Result<(), WireError> {
    let Some(builtin) = request.extra.get("builtin_tools") else { return Ok(()) };
    let single = std::slice::from_ref(builtin);
    for (index, tool) in builtin.as_array().map_or(single, Vec::as_slice).iter().enumerate() {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("none").to_owned();
        let (provider, api) = (target.origin.provider.clone(), target.origin.api);
        let error = WireError::UnsupportedTool { index, kind, provider, api };
        match request.on_unsupported {
            super::OnUnsupported::Error => return Err(error),
            super::OnUnsupported::Drop => notices.push(format!("{error}; it was dropped")),
        }
    }
    Ok(())
}
