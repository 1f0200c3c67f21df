//! The tools of a request as bytes: rendered once per definition, collected once per conversation.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};

use crate::types::{Origin, ToolName};

use super::{
    HostedTool, ModelRequest, ToolDef,
    dialect::{Target, WireError},
    head::Choice,
    hosted, json,
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

/// A function tool ready to be written.
#[derive(Debug)]
pub(super) struct FunctionTool<'a> {
    /// Its name on the wire.
    pub(super) name: &'a str,
    /// What it does.
    pub(super) description: &'a str,
    /// Its converted schema.
    pub(super) parameters: Value,
    /// Whether the provider is to keep strictly to the schema.
    pub(super) strict: bool,
    /// Whether the provider loads it only when its own search finds it.
    pub(super) deferred: bool,
}

/// How a dialect writes function tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct RenderFunction {
    /// The schema it takes when it is not to be strict, and when it is.
    pub(super) schemas: (SchemaDialect, SchemaDialect),
    /// Writes one.
    pub(super) write: fn(FunctionTool<'_>) -> Vec<u8>,
}

/// Definitions that were rendered before, found by their address. Purely a memory: dropping it changes nothing.
#[derive(Debug, Default)]
pub(super) struct ToolCache {
    rendered: Mutex<HashMap<(usize, bool), Memo>>,
    /// The latest blocks of function tools, each with whom it was made for.
    blocks: Mutex<VecDeque<(Arc<Origin>, Arc<ToolBlock>)>>,
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

/// How many blocks are remembered: one for each set of tools that turns usually see.
const BLOCKS: usize = 16;

impl ToolCache {
    /// The block that another conversation had made of the same function tools, for the same target.
    pub(super) fn block(&self, request: &ModelRequest, target: &Arc<Origin>) -> Option<Arc<ToolBlock>> {
        if !request.hosted.is_empty() || request.extra.contains_key("builtin_tools") {
            return None;
        }
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(whose, block): &&(Arc<Origin>, Arc<ToolBlock>)| {
            Arc::ptr_eq(whose, target) && block.defs.len() == request.tools_defs.len() && {
                block.defs.iter().zip(&request.tools_defs).all(|(own, other)| Arc::ptr_eq(own, other))
            }
        };
        blocks.iter().rev().find(fits).map(|(_, block)| Arc::clone(block))
    }

    /// Remembers a block if it holds function tools only: what else there is may depend on more than its definition.
    pub(super) fn keep(&self, block: Arc<ToolBlock>, target: Option<&Arc<Origin>>) -> Arc<ToolBlock> {
        if let Some(target) = target.filter(|_| block.wanted.is_empty() && block.builtin.is_none()) {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            if blocks.len() == BLOCKS {
                blocks.pop_front();
            }
            blocks.push_back((Arc::clone(target), Arc::clone(&block)));
        }
        block
    }

    fn get(&self, def: &Arc<ToolDef>, exposed: &str, api: &ApiProfile, render: RenderFunction) -> Rendered {
        let strict = wants_strict(def, api);
        let key = (Arc::as_ptr(def) as usize, strict);
        let mut memory = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memo) = memory.get(&key)
            && memo.exposed == exposed
        {
            return memo.rendered.clone();
        }
        drop(memory);
        let rendered = render_function(def, exposed, api, render);
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

fn wants_strict(def: &ToolDef, api: &ApiProfile) -> bool {
    api.strict && (def.strict || api.strict_only)
}

fn render_function(def: &ToolDef, exposed: &str, api: &ApiProfile, render: RenderFunction) -> Rendered {
    let (plain, strict) = render.schemas;
    let dialect = if wants_strict(def, api) { strict } else { plain };
    match schema::convert(&def.parameters, dialect) {
        Ok(converted) if api.strict_only && !converted.strict => {
            let why = converted.log.last().map_or("its schema loses something", |change| change.note.as_str());
            Rendered::Withheld(format!("tool `{}` is withheld: it cannot be strict: {why}", def.name).into())
        }
        Ok(converted) => {
            let tool = FunctionTool {
                name: exposed,
                description: &def.description,
                parameters: converted.schema,
                strict: converted.strict,
                deferred: def.deferred && api.deferred,
            };
            Rendered::Bytes((render.write)(tool).into())
        }
        Err(error) => Rendered::Withheld(format!("tool `{}` is withheld: {error}", def.name).into()),
    }
}

/// All tools of a request, serialised.
#[derive(Debug)]
pub(super) struct ToolBlock {
    defs: Vec<Arc<ToolDef>>,
    wanted: Vec<HostedTool>,
    builtin: Option<Value>,
    /// The names on the wire and back.
    pub(super) names: Arc<NameMap>,
    /// The elements of the array, separated by commas; empty when there is no tool.
    pub(super) bytes: Vec<u8>,
    /// Which tools were skipped or withheld, and why.
    pub(super) notices: Vec<String>,
    /// Body fields that go with the hosted tools.
    pub(super) body: Map<String, Value>,
    /// Headers that go with the hosted tools.
    pub(super) headers: BTreeMap<String, String>,
    /// How many of the bytes are function tools; they come first.
    pub(super) functions: usize,
    /// The neutral words of the hosted tools, each with the type it has there.
    spelt: Vec<(String, String)>,
    /// The types of the provider tools in it, and their names where they have one.
    hosted: Vec<(String, Option<String>)>,
    /// Their names.
    raw_names: HashSet<String>,
}

impl ToolBlock {
    /// The function tools of a request, and its hosted tools as the target spells them. Raw provider tools are added
    /// with [`ToolBlock::add`].
    pub(super) fn of(
        request: &ModelRequest,
        target: &Target,
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
        let spelt = hosted::spell(request, target)?;
        let mut block = Self {
            wanted: request.hosted.clone(),
            builtin: request.extra.get("builtin_tools").cloned(),
            names: Arc::new(names),
            bytes: Vec::new(),
            notices: spelt.notices,
            body: spelt.body,
            headers: spelt.headers,
            functions: 0,
            spelt: spelt_kinds(&request.hosted, target),
            hosted: Vec::new(),
            raw_names: HashSet::new(),
            defs,
        };
        for def in &block.defs {
            let exposed = block.names.exposed(&def.name);
            match cache.get(def, &exposed, &target.api, render) {
                Rendered::Bytes(tool) => append(&mut block.bytes, &tool),
                Rendered::Withheld(why) => block.notices.push(why.to_string()),
            }
        }
        block.functions = block.bytes.len();
        for tool in &spelt.tools {
            block.add_raw(tool, "in `hosted`")?;
        }
        Ok(block)
    }

    /// Appends a provider tool that is already checked.
    ///
    /// # Errors
    /// [`WireError::DuplicateTool`] when its name is taken.
    pub(super) fn add_raw(&mut self, tool: &Value, place: &str) -> Result<(), WireError> {
        if let Some(name) = tool.get("name").and_then(Value::as_str)
            && (self.names.original(name).is_some() || !self.raw_names.insert(name.to_owned()))
        {
            return Err(WireError::DuplicateTool { name: name.to_owned(), place: place.to_owned() });
        }
        let mut bytes = Vec::new();
        json::value(&mut bytes, tool);
        let name = tool.get("name").and_then(Value::as_str);
        self.add(hosted::raw_kind(tool).unwrap_or_default(), name, &bytes);
        Ok(())
    }

    /// Appends a provider tool that is already written.
    pub(super) fn add(&mut self, kind: &str, name: Option<&str>, bytes: &[u8]) {
        append(&mut self.bytes, bytes);
        self.hosted.push((kind.to_owned(), name.map(str::to_owned)));
    }

    /// Whether the block is what `request` would give.
    pub(super) fn is_for(&self, request: &ModelRequest) -> bool {
        self.builtin.as_ref() == request.extra.get("builtin_tools")
            && self.wanted == request.hosted
            && self.defs.len() == request.tools_defs.len()
            && self.defs.iter().zip(&request.tools_defs).all(|(own, other)| Arc::ptr_eq(own, other) || own == other)
    }

    /// Whether no tool is left.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the provider's own tools are among them.
    pub(super) fn has_hosted(&self) -> bool {
        !self.hosted.is_empty()
    }

    /// The choice of the tool of this name: a function, or a hosted tool by its neutral word, its type or its own name.
    pub(super) fn named(&self, name: &ToolName) -> Result<Choice, WireError> {
        if self.defs.iter().any(|def| def.name == *name) {
            return Ok(Choice::Function(self.names.exposed(name).into_owned()));
        }
        let is =
            |(kind, own): &&(String, Option<String>)| kind == name.as_str() || own.as_deref() == Some(name.as_str());
        let spelt = self.spelt.iter().find(|(neutral, _)| neutral == name.as_str());
        let of_kind = || self.hosted.iter().find(|(kind, _)| spelt.is_some_and(|(_, spelt)| spelt == kind));
        let hosted = self.hosted.iter().find(is).or_else(of_kind);
        hosted
            .map(|(kind, _)| Choice::Hosted(kind.clone()))
            .ok_or_else(|| WireError::UnknownChoice { name: name.to_string() })
    }
}

/// The neutral word of each hosted tool with the type it has with the target, where it is a tool object there.
fn spelt_kinds(hosted: &[HostedTool], target: &Target) -> Vec<(String, String)> {
    let kind = |tool: &HostedTool| {
        let object = target.api.hosted.get(&tool.kind)?.tool.clone().map(Value::Object)?;
        Some((tool.kind.to_string(), hosted::raw_kind(&object)?.to_owned()))
    };
    hosted.iter().filter_map(kind).collect()
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
            super::OnUnsupported::Error | super::OnUnsupported::Reroute => return Err(error),
            super::OnUnsupported::Drop => notices.push(format!("{error}; it was dropped")),
        }
    }
    Ok(())
}
