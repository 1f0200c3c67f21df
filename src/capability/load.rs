//! Catalogs in YAML: the flat form, where every key stands beside the others, and the full form with a section per layer.

use super::{
    contract::{Approval, Example, OutputFormat, ProjectionPolicy, ProviderMatch},
    draft::Draft,
    error::{CapabilityError, Place, Problem},
    intents::IntentDefault,
    schema,
    yaml::{Fields, Kind, Located, Node, nearest, wrong_type},
};
use crate::types::{
    CostClass, DataClass, DurationMs, ExecutionMode, Intent, ProviderName, Region, RiskClass, SideEffect, Trust,
};

/// The layers and the keys each may hold. The flat form takes all of them together.
const LAYERS: [(&str, &[&str]); 5] = [
    (
        "capability",
        &["id", "intent", "description", "use_when", "avoid_when", "namespace", "version", "priority", "deferred"],
    ),
    ("input", &["input_schema", "examples"]),
    (
        "execution",
        &[
            "mode",
            "provider",
            "model_patterns",
            "regions",
            "payload",
            "max_uses",
            "function_name",
            "http",
            "mcp_server",
            "mcp_tool",
            "sandbox",
            "timeout_ms",
            "retries",
            "side_effect",
            "parallel_group",
            "depends_on",
            "idempotency_key_required",
            "rate_limit",
            "concurrency",
            "polling",
            "lookup",
        ],
    ),
    ("output", &["format", "max_results", "supports_citations", "must_include_source_url", "projection", "trust"]),
    (
        "governance",
        &[
            "risk_class",
            "cost_class",
            "cost_usd",
            "max_calls_per_turn",
            "required_scopes",
            "data_classes",
            "facts",
            "pii_allowed",
            "allowed_domains",
            "arguments",
            "approval",
        ],
    ),
];

/// Other spellings that load too.
const ALIASES: [(&str, &str); 1] = [("approval_required", "approval")];

const FORMATS: [(&str, OutputFormat); 6] = [
    ("text", OutputFormat::Text),
    ("json", OutputFormat::Json),
    ("cited_snippets", OutputFormat::CitedSnippets),
    ("artifact", OutputFormat::Artifact),
    ("file_id", OutputFormat::FileId),
    ("image_id", OutputFormat::ImageId),
];

const APPROVALS: [(&str, Approval); 3] =
    [("by_policy", Approval::ByPolicy), ("always", Approval::Always), ("never", Approval::Never)];

/// What a catalog holds. An entry that cannot be used does not hide the others.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) entries: Vec<Result<Entry, CapabilityError>>,
    pub(super) intents: Vec<(Intent, IntentDefault)>,
}

/// One declared capability, not checked yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) draft: Draft,
    pub(super) place: Place,
}

/// Reads a catalog. `source` names the text in errors.
pub(super) fn catalog(text: &str, source: &str) -> Result<Catalog, CapabilityError> {
    let place = |at| Box::new(Place { source: Some(source.to_owned()), line: at, capability: None });
    let root = Node::parse(text).map_err(|(message, at)| CapabilityError::Yaml { place: place(at), message })?;
    let invalid =
        |located: Located| CapabilityError::Invalid { place: place(Some(located.at)), problem: located.problem };
    let keys = match &root.kind {
        Kind::Null => &[],
        Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
            root.map().ok_or_else(|| invalid(wrong_type("the catalog", "a mapping with `capabilities`", &root)))?
        }
    };
    let mut catalog = Catalog { entries: Vec::new(), intents: Vec::new() };
    for (key, node) in keys {
        match key.as_str() {
            "capabilities" => {
                let items = node.list().ok_or_else(|| invalid(wrong_type(key, "a list", node)))?;
                catalog.entries.extend(items.iter().map(|item| entry(item, source)));
            }
            "intents" => {
                let items = node.map().ok_or_else(|| invalid(wrong_type(key, "a mapping", node)))?;
                for (name, node) in items {
                    catalog.intents.push(intent(name, node).map_err(invalid)?);
                }
            }
            _ => return Err(invalid(unknown_key(key, node, "the catalog", &["capabilities", "intents"]))),
        }
    }
    Ok(catalog)
}

fn entry(node: &Node, source: &str) -> Result<Entry, CapabilityError> {
    let named = |at| Place { source: Some(source.to_owned()), line: Some(at), capability: written_id(node) };
    match fields_of(node).and_then(|fields| draft(&fields)) {
        Ok(draft) => Ok(Entry { draft, place: named(node.at) }),
        Err(located) => Err(CapabilityError::Invalid { place: Box::new(named(located.at)), problem: located.problem }),
    }
}

/// The id as it stands there, for messages about an entry that cannot be read.
fn written_id(node: &Node) -> Option<String> {
    let entries = node.map()?;
    let value =
        |entries: &[(String, Node)], key| entries.iter().find(|(name, _)| name == key).map(|(_, node)| node.clone());
    let id = value(entries, "id").or_else(|| value(value(entries, "capability")?.map()?, "id"));
    id?.text().map(str::to_owned)
}

/// The fields of an entry, whichever form it has. Every key is known afterwards.
fn fields_of(node: &Node) -> Result<Fields<'_>, Located> {
    let entries = node.map().ok_or_else(|| wrong_type("a capability", "a mapping", node))?;
    let layer = |key: &str| LAYERS.iter().find(|(name, _)| *name == key);
    let full = entries.iter().any(|(key, value)| layer(key).is_some() && value.map().is_some());
    let mut fields: Vec<(&str, &Node)> = Vec::new();
    let mut add = |key: &'static str, value| {
        if fields.iter().any(|(there, _)| *there == key) {
            let problem = Problem::new("duplicate_key", format!("`{key}` is given twice")).hint("keep one of them");
            return Err(Located::new(value, problem));
        }
        fields.push((key, value));
        Ok(())
    };
    for (key, value) in entries {
        match layer(key) {
            Some((name, keys)) => {
                let section = value.map().ok_or_else(|| wrong_type(name, "a mapping", value))?;
                for (key, value) in section {
                    let known =
                        known_key(key, keys).ok_or_else(|| unknown_key(key, value, &format!("`{name}`"), keys))?;
                    add(known, value)?;
                }
            }
            None => {
                let all: Vec<&'static str> = LAYERS.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
                let known = known_key(key, &all).filter(|_| !full);
                let known = known
                    .ok_or_else(|| unknown_key(key, value, "a capability", if full { &SECTIONS } else { &all }))?;
                add(known, value)?;
            }
        }
    }
    Ok(Fields::new(fields))
}

/// The keys of an entry in the full form.
const SECTIONS: [&str; 5] = [LAYERS[0].0, LAYERS[1].0, LAYERS[2].0, LAYERS[3].0, LAYERS[4].0];

fn known_key(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let key = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| name);
    known.iter().copied().find(|name| *name == key)
}

fn unknown_key(key: &str, node: &Node, within: &str, known: &[&str]) -> Located {
    let elsewhere = LAYERS.iter().find(|(_, keys)| known_key(key, keys).is_some());
    let hint = match (elsewhere, nearest(key, known.iter().copied())) {
        (Some((section, _)), _) => format!("it belongs into `{section}`"),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => format!("known are {}", known.join(", ")),
    };
    Located::new(node, Problem::new("unknown_key", format!("{within} has no key `{key}`")).hint(hint))
}

fn draft(fields: &Fields<'_>) -> Result<Draft, Located> {
    let mut draft = Draft {
        id: fields.text("id")?.unwrap_or_default(),
        intent: fields.text("intent")?.unwrap_or_default(),
        description: fields.text("description")?,
        use_when: fields.texts("use_when")?.unwrap_or_default(),
        avoid_when: fields.texts("avoid_when")?.unwrap_or_default(),
        namespace: fields.text("namespace")?,
        version: fields.label("version")?,
        priority: fields.whole("priority", 0..101)?,
        deferred: fields.flag("deferred")?.unwrap_or_default(),
        schema: fields.node("input_schema").map(schema::from_yaml).transpose()?,
        examples: examples(fields)?,
        ..Draft::default()
    };
    read_execution(fields, &mut draft)?;
    read_output(fields, &mut draft)?;
    read_governance(fields, &mut draft)?;
    Ok(draft)
}

fn examples(fields: &Fields<'_>) -> Result<Vec<Example>, Located> {
    let Some(node) = fields.node("examples") else { return Ok(Vec::new()) };
    let items = node.list().ok_or_else(|| wrong_type("examples", "a list", node))?;
    let example = |item: &Node| {
        let parts = Fields::new(item.map().into_iter().flatten().map(|(key, node)| (key.as_str(), node)).collect());
        let arguments = parts.node("arguments").filter(|node| node.map().is_some()).map(Node::to_json);
        match (parts.text("user")?, arguments) {
            (Some(user), Some(arguments)) => Ok(Example { user, arguments }),
            _ => Err(wrong_type("examples", "a list of `{user: text, arguments: {…}}`", item)),
        }
    };
    items.iter().map(example).collect()
}

fn read_execution(fields: &Fields<'_>, draft: &mut Draft) -> Result<(), Located> {
    draft.mode = fields.word("mode", &words(ExecutionMode::ALL, ExecutionMode::as_str))?;
    draft.provider = fields.parsed::<ProviderName>("provider")?.map(ProviderMatch::from);
    draft.model_patterns = fields.texts("model_patterns")?.unwrap_or_default();
    draft.regions = fields.words("regions", &words(Region::ALL, Region::as_str))?;
    draft.payload = fields.node("payload").map(Node::to_json);
    draft.max_uses = fields.whole("max_uses", 1..10_001)?;
    draft.function_name = fields.text("function_name")?;
    draft.http = fields.shaped("http")?;
    draft.mcp_server = fields.text("mcp_server")?;
    draft.mcp_tool = fields.text("mcp_tool")?;
    draft.sandbox = fields.shaped("sandbox")?;
    draft.timeout = fields.whole("timeout_ms", 1..86_400_001)?.map(DurationMs);
    draft.retries = fields.whole("retries", 0..11)?;
    draft.side_effect = fields.word("side_effect", &words(SideEffect::ALL, SideEffect::as_str))?;
    draft.parallel_group = fields.text("parallel_group")?;
    draft.depends_on = fields.parsed_list("depends_on")?;
    draft.idempotency_key_required = fields.flag("idempotency_key_required")?.unwrap_or_default();
    draft.rate_limit = fields.shaped("rate_limit")?;
    draft.concurrency = fields.whole("concurrency", 1..100_001)?;
    draft.polling = fields.flag("polling")?.unwrap_or_default();
    draft.lookup = fields.parsed("lookup")?;
    Ok(())
}

fn read_output(fields: &Fields<'_>, draft: &mut Draft) -> Result<(), Located> {
    draft.format = fields.word("format", &FORMATS)?;
    draft.max_results = fields.whole("max_results", 1..10_001)?;
    draft.supports_citations = fields.flag("supports_citations")?.unwrap_or_default();
    draft.must_include_source_url = fields.flag("must_include_source_url")?.unwrap_or_default();
    draft.projection = fields.shaped::<ProjectionPolicy>("projection")?;
    draft.trust = fields.word("trust", &words(Trust::ALL, Trust::as_str))?;
    Ok(())
}

fn read_governance(fields: &Fields<'_>, draft: &mut Draft) -> Result<(), Located> {
    let mut risks = words(RiskClass::ALL, RiskClass::as_str);
    risks.push(("write", RiskClass::BusinessWrite));
    draft.risk = fields.word("risk_class", &risks)?;
    draft.cost_class = fields.word("cost_class", &words(CostClass::ALL, CostClass::as_str))?;
    draft.cost = fields.dollars("cost_usd")?;
    draft.max_calls_per_turn = fields.whole("max_calls_per_turn", 1..10_001)?;
    draft.required_scopes = fields.parsed_list("required_scopes")?;
    draft.data_classes = fields.words("data_classes", &words(DataClass::ALL, DataClass::as_str))?;
    draft.facts = fields.parsed("facts")?;
    draft.pii_allowed = fields.flag("pii_allowed")?.unwrap_or_default();
    draft.allowed_domains = fields.texts("allowed_domains")?.unwrap_or_default();
    draft.arguments = fields.shaped("arguments")?.unwrap_or_default();
    draft.approval = match fields.node("approval").map(|node| &node.kind) {
        Some(Kind::Bool(true)) => Some(Approval::Always),
        Some(Kind::Bool(false)) => Some(Approval::Never),
        _ => fields.word("approval", &APPROVALS)?,
    };
    Ok(())
}

fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<(&'static str, T)> {
    all.iter().map(|value| (word(*value), *value)).collect()
}

fn intent(name: &str, node: &Node) -> Result<(Intent, IntentDefault), Located> {
    let problem = |message: String| Located::new(node, Problem::new("invalid_value", message));
    let intent = Intent::new(name).map_err(|error| problem(error.to_string()))?;
    let entries = node.map().ok_or_else(|| wrong_type(name, "a mapping", node))?;
    const KEYS: [&str; 2] = ["description", "input_schema"];
    if let Some((key, node)) = entries.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
        return Err(unknown_key(key, node, "an intent", &KEYS));
    }
    let fields = Fields::new(entries.iter().map(|(key, node)| (key.as_str(), node)).collect());
    let description =
        fields.text("description")?.ok_or_else(|| problem(format!("the intent `{name}` needs a `description`")))?;
    let schema = fields.node("input_schema").map(schema::from_yaml).transpose()?;
    Ok((intent, IntentDefault { description, schema }))
}
