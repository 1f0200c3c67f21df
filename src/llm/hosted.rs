//! Hosted tools in neutral terms, and how a provider spells them.
//!
//! A request names what it wants (`search` with these domains); the profile of the target says, as data, which tool
//! object that is, where each parameter goes and what it cannot express. What cannot be expressed is an error, or is
//! dropped with a word about it when the request allows that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::types::HostedKind;

use super::{
    ModelRequest, OnUnsupported,
    dialect::{Target, WireError},
    profile::glob,
};

mod draft;

use draft::Draft;

/// A provider-hosted tool that a request wants, in neutral terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostedTool {
    /// What it is: `search`, `fetch`, `code`, `file_search`, `image`, `maps`, `computer`, `mcp`, `tool_search`, or
    /// a word of one provider (`x_search`).
    pub kind: HostedKind,
    /// Its parameters by their neutral names ([`PARAMETERS`]).
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Whether it may be sent although its shapes are not confirmed by the provider's own documents.
    #[serde(default)]
    pub allow_unconfirmed: bool,
}

impl HostedTool {
    /// A tool without parameters.
    pub fn new(kind: HostedKind) -> Self {
        Self { kind, params: Map::new(), allow_unconfirmed: false }
    }
}

/// The neutral parameters and what they hold.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("allowed_domains", "list of hosts: only these are searched or fetched"),
    ("blocked_domains", "list of hosts: these are not"),
    ("location", "object of city, region, country (ISO 3166, two letters), timezone (IANA)"),
    ("freshness", "day, week, month or year: nothing older"),
    ("max_uses", "whole number: at most so many uses in one reply"),
    ("max_results", "whole number: at most so many hits"),
    ("context_size", "low, medium or high: how much of what was found is read"),
    ("stores", "list of file, vector or collection store ids"),
    ("server", "object of label, url, and as needed description, authorization, headers, allowed_tools, approval"),
    ("display", "object of width, height, environment"),
    ("options", "object of further fields of the provider's tool, as they are"),
];

/// How a provider spells a hosted tool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spelling {
    /// The tool object; absent when the tool is asked for by fields of the body alone.
    pub tool: Option<Map<String, Value>>,
    /// Fields of the body that go with it. Lists of several tools are joined.
    pub body: Map<String, Value>,
    /// Other types under which the same tool is or was known (dated, legacy), for raw provider tools.
    pub also: Vec<String>,
    /// Where each neutral parameter goes. One that is not here cannot be expressed.
    pub params: BTreeMap<String, Place>,
    /// Parameters of which only one may be given.
    pub exclusive: Vec<Vec<String>>,
    /// Parameters that must be given.
    pub required: Vec<String>,
    /// Only models that match one of these patterns have it; empty: all.
    pub models: Vec<String>,
    /// Models that match one of these cannot have it beside function tools.
    pub alone: Vec<String>,
    /// Further body fields when function tools are sent too.
    pub beside_functions: Map<String, Value>,
    /// Headers it needs, e.g. a beta header. Values of one name are joined by commas.
    pub headers: BTreeMap<String, String>,
    /// Whether using it changes nothing anywhere: then a broken request may be sent again.
    pub read_only: bool,
    /// Whether its shapes are known from weak sources only: then a request must allow it expressly.
    pub unconfirmed: bool,
    /// A fact that people should know.
    pub note: Option<String>,
}

/// Where a parameter goes. A place is `tool:` or `body:` and a JSON pointer: `tool:/filters/allowed_domains`; several
/// are separated by blanks.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Place {
    /// The places of the value.
    pub at: String,
    /// For an object: the places of each of its fields. One that is not here cannot be expressed.
    pub fields: BTreeMap<String, String>,
    /// What else is put somewhere when the parameter is given.
    pub set: BTreeMap<String, Value>,
    /// Other words for enumerated values.
    pub words: BTreeMap<String, Value>,
    /// At most this many entries of a list.
    pub max: Option<usize>,
    /// Whether a list of one goes out as its only entry.
    pub single: bool,
}

/// The hosted tools of a request, as the target spells them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Spelt {
    /// Tool objects, in the order asked for.
    pub(super) tools: Vec<Value>,
    /// Body fields.
    pub(super) body: Map<String, Value>,
    /// Headers.
    pub(super) headers: BTreeMap<String, String>,
    /// What was dropped.
    pub(super) notices: Vec<String>,
}

/// Spells the hosted tools of `request` for `target`.
///
/// # Errors
/// [`WireError::UnsupportedHosted`] for what cannot be expressed, unless the request lets it be dropped.
pub(super) fn spell(request: &ModelRequest, target: &Target) -> Result<Spelt, WireError> {
    let mut spelt = Spelt::default();
    for tool in &request.hosted {
        if let Err(why) = one(tool, request, target, &mut spelt) {
            let error = WireError::UnsupportedHosted {
                kind: tool.kind.to_string(),
                why,
                provider: target.origin.provider.clone(),
                api: target.origin.api,
            };
            match request.on_unsupported {
                OnUnsupported::Error | OnUnsupported::Reroute => return Err(error),
                OnUnsupported::Drop => spelt.notices.push(format!("{error}; it was dropped")),
            }
        }
    }
    raw_headers(request, target, &mut spelt);
    Ok(spelt)
}

/// Headers and body fields that raw provider tools need, found by their type.
fn raw_headers(request: &ModelRequest, target: &Target, spelt: &mut Spelt) {
    let raw = request.extra.get("builtin_tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for tool in raw {
        if let Some(spelling) = target.api.spelling_of(tool) {
            add_headers(&mut spelt.headers, &spelling.headers);
            if !request.tools_defs.is_empty() {
                merge(&mut spelt.body, &spelling.beside_functions);
            }
        }
    }
}

fn one(tool: &HostedTool, request: &ModelRequest, target: &Target, spelt: &mut Spelt) -> Result<(), String> {
    let model = target.origin.model.as_str();
    let spelling = target.api.hosted.get(&tool.kind).ok_or_else(|| match target.api.hosted.is_empty() {
        true => "it has no hosted tools there".to_owned(),
        false => {
            let known: Vec<&str> = target.api.hosted.keys().map(HostedKind::as_str).collect();
            format!("it offers {}", known.join(", "))
        }
    })?;
    spelling.fits(model, !request.tools_defs.is_empty())?;
    if spelling.unconfirmed && !tool.allow_unconfirmed {
        return Err("its shapes there are not confirmed; set `allow_unconfirmed` to send it all the same".to_owned());
    }
    let written = write(tool, spelling)?;
    spelt.tools.extend(written.0.map(Value::Object));
    merge(&mut spelt.body, &written.1);
    if !request.tools_defs.is_empty() {
        merge(&mut spelt.body, &spelling.beside_functions);
    }
    add_headers(&mut spelt.headers, &spelling.headers);
    Ok(())
}

/// A tool object and body fields.
type Written = (Option<Map<String, Value>>, Map<String, Value>);

/// The tool object and the body fields of one tool.
fn write(tool: &HostedTool, spelling: &Spelling) -> Result<Written, String> {
    if let Some(missing) = spelling.required.iter().find(|name| !tool.params.contains_key(*name)) {
        return Err(format!("it needs the parameter `{missing}`"));
    }
    for group in &spelling.exclusive {
        let given: Vec<&str> =
            group.iter().filter(|name| tool.params.contains_key(*name)).map(String::as_str).collect();
        if given.len() > 1 {
            return Err(format!("only one of `{}` may be given", given.join("`, `")));
        }
    }
    let mut draft = Draft::of(spelling);
    for (name, value) in &tool.params {
        if name == "options" {
            draft.options(value)?;
            continue;
        }
        let place = spelling.params.get(name).ok_or_else(|| unknown(name, spelling))?;
        draft.set(name, value, place)?;
    }
    Ok(draft.finish())
}

fn unknown(name: &str, spelling: &Spelling) -> String {
    if PARAMETERS.iter().any(|(known, _)| *known == name) {
        let can: Vec<&str> = spelling.params.keys().map(String::as_str).collect();
        let can =
            if can.is_empty() { "it takes no parameters".to_owned() } else { format!("it takes {}", can.join(", ")) };
        return format!("the parameter `{name}` cannot be expressed ({can})");
    }
    let nearest = PARAMETERS
        .iter()
        .map(|(known, _)| *known)
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    format!("`{name}` is no parameter of hosted tools; did you mean `{}`?", nearest.unwrap_or_default())
}

/// Adds fields; lists are joined, objects merged, anything else replaced.
pub(super) fn merge(into: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (into.get_mut(name), value) {
            (Some(Value::Array(own)), Value::Array(other)) => {
                for entry in other {
                    if !own.contains(entry) {
                        own.push(entry.clone());
                    }
                }
            }
            (Some(Value::Object(own)), Value::Object(other)) => merge(own, other),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

fn add_headers(into: &mut BTreeMap<String, String>, more: &BTreeMap<String, String>) {
    for (name, value) in more {
        let own = into.entry(name.clone()).or_default();
        if own.split(',').any(|known| known == value) {
            continue;
        }
        if !own.is_empty() {
            own.push(',');
        }
        own.push_str(value);
    }
}

/// What the type of a raw provider tool is: its `type`, or the only key of an object without one (Gemini).
pub(super) fn raw_kind(tool: &Value) -> Option<&str> {
    let tool = tool.as_object()?;
    match tool.get("type") {
        Some(kind) => kind.as_str(),
        None => tool.keys().next().filter(|_| tool.len() == 1).map(String::as_str),
    }
}

impl Spelling {
    /// Whether a model has the tool, and takes it beside function tools where there are some.
    pub(super) fn fits(&self, model: &str, beside_functions: bool) -> Result<(), String> {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, model));
        if !self.models.is_empty() && !fits(&self.models) {
            return Err(format!("the model `{model}` does not have it"));
        }
        if beside_functions && fits(&self.alone) {
            return Err(format!("capability_conflict: the model `{model}` does not take it beside function tools"));
        }
        Ok(())
    }

    /// Whether a raw provider tool of this type is this tool.
    pub(super) fn is(&self, kind: &str) -> bool {
        let own = self.tool.as_ref().map(|tool| json!(tool));
        own.as_ref().and_then(raw_kind) == Some(kind) || self.also.iter().any(|pattern| glob(pattern, kind))
    }
}

#[cfg(test)]
mod tests;
