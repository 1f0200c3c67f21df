//! The registry: an immutable snapshot of all capabilities, in a defined order.

use std::{collections::BTreeMap, fmt, fs, path::Path, sync::Arc};

use super::{
    contract::Capability,
    draft::{FunctionDefaults, Functions},
    embedded,
    error::{CapabilityError, Place, Problem},
    intents,
    lint::{Origin, Severity, name_problem, planted_problems},
    load::{self, Catalog, Entry},
    pin::{Standing, standing},
};
use crate::types::{CapabilityId, FastMap, Intent, Pin};

/// All capabilities. Cheap to clone; a change makes a new one.
///
/// Iteration is in the order of ids, whatever the order of loading was: equal contents give equal requests.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By id.
    all: Vec<Arc<Capability>>,
    by_id: FastMap<CapabilityId, usize>,
    by_intent: FastMap<Intent, Vec<Arc<Capability>>>,
    quarantined: Vec<Quarantined>,
    overridden: Vec<Overridden>,
    external: Vec<External>,
}

/// A capability whose definition comes from outside, and how it stands to what a person agreed to. Unless it is as it was
/// agreed to, it is held back: the registry does not have it.
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    /// The capability as it is defined now.
    pub capability: Arc<Capability>,
    /// Where it comes from.
    pub source: String,
    /// How it stands to its pin.
    pub standing: Standing,
}

/// A catalog entry that was set aside so that the others could load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Its id as it was written, where one could be read.
    pub id: Option<String>,
    /// Why it cannot be used, and where it stands.
    pub reason: CapabilityError,
}

impl fmt::Display for Quarantined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id.as_deref().unwrap_or("an entry without an id"), self.reason)
    }
}

/// A capability that a later source replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overridden {
    /// The id.
    pub id: CapabilityId,
    /// The source that counts.
    pub by: String,
    /// The source that was replaced.
    pub of: String,
}

impl Registry {
    /// Starts an empty registry.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// The capability of an id (a [`CapabilityId`] or a text).
    pub fn get<Id: AsRef<str> + ?Sized>(&self, id: &Id) -> Option<&Arc<Capability>> {
        self.inner.by_id.get(id.as_ref()).and_then(|place| self.inner.all.get(*place))
    }

    /// The capabilities that serve an intent, by id.
    pub fn candidates(&self, intent: &Intent) -> &[Arc<Capability>] {
        self.inner.by_intent.get(intent).map_or(&[], Vec::as_slice)
    }

    /// All capabilities, by id.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Capability>> {
        self.inner.all.iter()
    }

    /// All intents that some capability serves, in no defined order.
    pub fn intents(&self) -> impl Iterator<Item = &Intent> {
        self.inner.by_intent.keys()
    }

    /// How many capabilities there are.
    pub fn len(&self) -> usize {
        self.inner.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.inner.all.is_empty()
    }

    /// Entries of folders that could not be used, in the order they were met.
    pub fn quarantined(&self) -> &[Quarantined] {
        &self.inner.quarantined
    }

    /// Capabilities from outside, by id, those that are held back among them.
    pub fn external(&self) -> &[External] {
        &self.inner.external
    }

    /// Capabilities that a later source replaced, in the order it happened.
    pub fn overridden(&self) -> &[Overridden] {
        &self.inner.overridden
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a Arc<Capability>;
    type IntoIter = std::slice::Iter<'a, Arc<Capability>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// What happens to an entry that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    /// The whole registry is refused.
    Refuse,
    /// It is set aside with the reason.
    Quarantine,
}

/// One source of capabilities, in the order it was added.
#[derive(Debug)]
enum Source {
    /// Built in Rust, and the index among those.
    Code(Box<Capability>),
    /// From outside: a tool of a server, an operation of a description.
    External(Box<Capability>, String),
    Catalog {
        name: String,
        on_error: OnError,
        whose: Whose,
        read: Result<Catalog, CapabilityError>,
    },
}

/// Who wrote a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// It is shipped with agcore.
    Shipped,
    /// The operator.
    Own,
    /// Somebody outside.
    External,
}

impl Whose {
    fn origin(self, capability: &Capability) -> Origin {
        match self {
            Self::Shipped | Self::Own => Origin::of(capability),
            Self::External => Origin::Foreign,
        }
    }
}

/// Gathers capabilities and makes a [`Registry`] of them. A later source overrides an earlier one of the same id; twice
/// the same id in one source is an error.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct RegistryBuilder {
    sources: Vec<Source>,
    functions: Functions,
    pins: Vec<Pin>,
    failed: Option<CapabilityError>,
}

/// How capabilities added in Rust are called in messages.
const IN_CODE: &str = "code";
/// How the shipped catalog is called in messages; its files are one source.
const EMBEDDED: &str = "the shipped catalog";

impl RegistryBuilder {
    /// Adds the catalog shipped with agcore.
    pub fn embedded(mut self) -> Self {
        for (name, text) in embedded::CATALOGS {
            self = self.catalog(EMBEDDED.to_owned(), load::catalog(text, name), OnError::Refuse, Whose::Shipped);
        }
        self
    }

    /// Adds a capability built in Rust.
    #[expect(clippy::should_implement_trait, reason = "it adds to a collection, as a builder does")]
    pub fn add(mut self, capability: Capability) -> Self {
        self.sources.push(Source::Code(Box::new(capability)));
        self
    }

    /// Adds a catalog; `source_name` names it in messages. An entry that cannot be used fails the build.
    pub fn add_yaml(self, text: &str, source_name: &str) -> Self {
        self.catalog(source_name.to_owned(), load::catalog(text, source_name), OnError::Refuse, Whose::Own)
    }

    /// Adds all `.yaml` and `.yml` files directly in a folder, by name. An entry, or a file, that cannot be used is
    /// quarantined with its reason, and so is the capability it would have overridden; only a folder that cannot be read
    /// fails the build.
    pub fn add_dir(self, folder: impl AsRef<Path>) -> Self {
        self.add_files(folder.as_ref(), Whose::Own)
    }

    /// Adds a folder of catalogs that somebody outside writes. Each of its capabilities is held back until it is as a
    /// person agreed to it ([`pins`](Self::pins)), and none may take the id of one that is not from outside.
    pub fn add_external_dir(self, folder: impl AsRef<Path>) -> Self {
        self.add_files(folder.as_ref(), Whose::External)
    }

    /// Adds a capability that somebody outside describes, e.g. a tool of an MCP server. As with
    /// [`add_external_dir`](Self::add_external_dir), it is held back until a person has agreed to it.
    pub fn add_external(mut self, capability: Capability, source_name: &str) -> Self {
        self.sources.push(Source::External(Box::new(capability), source_name.to_owned()));
        self
    }

    /// What people agreed to. Without it, everything from outside is held back.
    pub fn pins(mut self, pins: impl IntoIterator<Item = Pin>) -> Self {
        self.pins.extend(pins);
        self
    }

    fn add_files(mut self, folder: &Path, whose: Whose) -> Self {
        match catalog_files(folder) {
            Ok(files) => files.into_iter().fold(self, |builder, path| builder.add_file(folder, &path, whose)),
            Err(error) => {
                self.failed.get_or_insert_with(|| unreadable(folder, &error));
                self
            }
        }
    }

    fn add_file(self, folder: &Path, path: &Path, whose: Whose) -> Self {
        let read = fs::read_to_string(path).map_err(|error| unreadable(path, &error));
        let read = read.and_then(|text| load::catalog(&text, &path.display().to_string()));
        self.catalog(folder.display().to_string(), read, OnError::Quarantine, whose)
    }

    /// Says what a registered function does and takes, for catalog entries that leave it out.
    pub fn describe_function(mut self, name: impl Into<String>, defaults: FunctionDefaults) -> Self {
        self.functions.insert(name.into(), Arc::new(defaults));
        self
    }

    fn catalog(
        mut self,
        name: String,
        read: Result<Catalog, CapabilityError>,
        on_error: OnError,
        whose: Whose,
    ) -> Self {
        self.sources.push(Source::Catalog { name, on_error, whose, read });
        self
    }

    /// Fills in defaults, checks everything and freezes it.
    ///
    /// # Errors
    /// The first error of the shipped catalog, of [`add_yaml`](Self::add_yaml), or of an unreadable folder; an id
    /// declared twice by one source.
    pub fn build(mut self) -> Result<Registry, CapabilityError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut intents = intents::shipped().clone();
        for source in &mut self.sources {
            // What somebody outside says of an intent is not taken over: it would change the capabilities of others.
            if let Source::Catalog { read: Ok(catalog), whose: Whose::Shipped | Whose::Own, .. } = source {
                intents.extend(std::mem::take(&mut catalog.intents));
            }
        }
        let mut assembly = Assembly::default();
        for source in self.sources {
            match source {
                Source::Code(capability) => assembly.admit(*capability, IN_CODE, Place::default(), Whose::Own)?,
                Source::External(capability, name) => {
                    let admitted = assembly.admit(*capability, &name, Place::default(), Whose::External);
                    assembly.settle(admitted, OnError::Quarantine, Whose::External)?;
                }
                Source::Catalog { name, on_error, whose, read } => {
                    let entries = match read {
                        Ok(catalog) => catalog.entries,
                        Err(error) => vec![Err(error)],
                    };
                    for entry in entries {
                        let admitted = entry
                            .and_then(|entry| finish(entry, whose, &intents, &self.functions))
                            .and_then(|(capability, place)| assembly.admit(capability, &name, place, whose));
                        assembly.settle(admitted, on_error, whose)?;
                    }
                }
            }
        }
        Ok(assembly.freeze(&self.pins))
    }
}

fn finish(
    entry: Entry,
    whose: Whose,
    intents: &intents::IntentDefaults,
    functions: &Functions,
) -> Result<(Capability, Place), CapabilityError> {
    let Entry { mut draft, place } = entry;
    draft.built_in = whose == Whose::Shipped;
    let function = draft.function_name.as_ref().and_then(|name| functions.get(name)).cloned();
    let refuse = |problem| CapabilityError::Invalid { place: Box::new(place.clone()), problem };
    let capability = draft.finish(intents, function.as_deref()).map_err(refuse)?;
    match name_problem(&capability, whose.origin(&capability)) {
        Some(finding) if finding.severity == Severity::Error => {
            Err(refuse(Problem { code: finding.code, message: finding.message, hint: finding.hint }))
        }
        Some(_) | None => Ok((capability, place)),
    }
}

struct Held {
    capability: Arc<Capability>,
    source: String,
    whose: Whose,
}

/// The registry while it is put together.
#[derive(Default)]
struct Assembly {
    /// By id, each with the source that declared it.
    held: BTreeMap<CapabilityId, Held>,
    quarantined: Vec<Quarantined>,
    overridden: Vec<Overridden>,
}

impl Assembly {
    fn admit(
        &mut self,
        capability: Capability,
        source: &str,
        place: Place,
        whose: Whose,
    ) -> Result<(), CapabilityError> {
        let id = capability.id.clone();
        let taken = self.held.get(&id);
        if taken.is_some_and(|held| held.source == source) {
            return Err(CapabilityError::Duplicate { place: Box::new(place), id });
        }
        if whose == Whose::External && taken.is_some() {
            return Err(CapabilityError::TakesOver { place: Box::new(place), id });
        }
        let held = Held { capability: Arc::new(capability), source: source.to_owned(), whose };
        if let Some(of) = self.held.insert(id.clone(), held) {
            self.overridden.push(Overridden { id, by: source.to_owned(), of: of.source });
        }
        Ok(())
    }

    fn settle(
        &mut self,
        admitted: Result<(), CapabilityError>,
        on_error: OnError,
        whose: Whose,
    ) -> Result<(), CapabilityError> {
        match (admitted, on_error) {
            (Ok(()), _) => Ok(()),
            (Err(error), OnError::Refuse) => Err(error),
            (Err(reason), OnError::Quarantine) => {
                tracing::warn!(%reason, "a catalog entry is set aside");
                let id = reason.capability().map(str::to_owned);
                let duplicate = matches!(reason, CapabilityError::Duplicate { .. });
                // An override that cannot be read may have been meant to restrict: nothing looser stands in for it. Who is
                // outside may not override, and so not withdraw.
                if let Some(id) = id.as_deref().filter(|_| !duplicate && whose != Whose::External) {
                    self.held.remove(id);
                }
                self.quarantined.push(Quarantined { id, reason });
                Ok(())
            }
        }
    }

    fn freeze(self, pins: &[Pin]) -> Registry {
        let (mut all, mut external) = (Vec::with_capacity(self.held.len()), Vec::new());
        let pins: BTreeMap<&CapabilityId, &Pin> = pins.iter().map(|pin| (&pin.capability, pin)).collect();
        for Held { capability, source, whose } in self.held.into_values() {
            for problem in planted_problems(&capability, whose.origin(&capability)) {
                tracing::warn!(capability = %capability.id, code = problem.code, "{}", problem.message);
            }
            if whose == Whose::External {
                let standing = standing(&capability, pins.get(&capability.id).copied());
                let holds = standing.holds();
                if !holds {
                    tracing::warn!(capability = %capability.id, standing = standing.as_str(), "a definition from outside is held back");
                }
                external.push(External { capability: Arc::clone(&capability), source, standing });
                if !holds {
                    continue;
                }
            }
            all.push(capability);
        }
        let by_id = all.iter().enumerate().map(|(place, capability)| (capability.id.clone(), place)).collect();
        let mut by_intent: FastMap<Intent, Vec<Arc<Capability>>> = FastMap::default();
        for capability in &all {
            by_intent.entry(capability.intent.clone()).or_default().push(Arc::clone(capability));
        }
        let inner =
            Inner { all, by_id, by_intent, quarantined: self.quarantined, overridden: self.overridden, external };
        Registry { inner: Arc::new(inner) }
    }
}

fn catalog_files(folder: &Path) -> std::io::Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> CapabilityError {
    CapabilityError::Unreadable { path: path.display().to_string(), reason: error.to_string() }
}
