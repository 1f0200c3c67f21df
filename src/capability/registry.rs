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
};
use crate::types::{CapabilityId, FastMap, Intent};

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
    Catalog {
        name: String,
        on_error: OnError,
        built_in: bool,
        read: Result<Catalog, CapabilityError>,
    },
}

/// Gathers capabilities and makes a [`Registry`] of them. A later source overrides an earlier one of the same id; twice
/// the same id in one source is an error.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct RegistryBuilder {
    sources: Vec<Source>,
    functions: Functions,
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
            self = self.catalog(EMBEDDED.to_owned(), load::catalog(text, name), OnError::Refuse, true);
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
        self.catalog(source_name.to_owned(), load::catalog(text, source_name), OnError::Refuse, false)
    }

    /// Adds all `.yaml` and `.yml` files directly in a folder, by name. An entry, or a file, that cannot be used is
    /// quarantined with its reason, and so is the capability it would have overridden; only a folder that cannot be read
    /// fails the build.
    pub fn add_dir(mut self, folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        match catalog_files(folder) {
            Ok(files) => files.into_iter().fold(self, |builder, path| builder.add_file(folder, &path)),
            Err(error) => {
                self.failed.get_or_insert_with(|| unreadable(folder, &error));
                self
            }
        }
    }

    fn add_file(self, folder: &Path, path: &Path) -> Self {
        let read = fs::read_to_string(path).map_err(|error| unreadable(path, &error));
        let read = read.and_then(|text| load::catalog(&text, &path.display().to_string()));
        self.catalog(folder.display().to_string(), read, OnError::Quarantine, false)
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
        built_in: bool,
    ) -> Self {
        self.sources.push(Source::Catalog { name, on_error, built_in, read });
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
            if let Source::Catalog { read: Ok(catalog), .. } = source {
                intents.extend(std::mem::take(&mut catalog.intents));
            }
        }
        let mut assembly = Assembly::default();
        for source in self.sources {
            match source {
                Source::Code(capability) => assembly.admit(*capability, IN_CODE, Place::default())?,
                Source::Catalog { name, on_error, built_in, read } => {
                    let entries = match read {
                        Ok(catalog) => catalog.entries,
                        Err(error) => vec![Err(error)],
                    };
                    for entry in entries {
                        let admitted = entry
                            .and_then(|entry| finish(entry, built_in, &intents, &self.functions))
                            .and_then(|(capability, place)| assembly.admit(capability, &name, place));
                        assembly.settle(admitted, on_error)?;
                    }
                }
            }
        }
        Ok(assembly.freeze())
    }
}

fn finish(
    entry: Entry,
    built_in: bool,
    intents: &intents::IntentDefaults,
    functions: &Functions,
) -> Result<(Capability, Place), CapabilityError> {
    let Entry { mut draft, place } = entry;
    draft.built_in = built_in;
    let function = draft.function_name.as_ref().and_then(|name| functions.get(name)).cloned();
    let refuse = |problem| CapabilityError::Invalid { place: Box::new(place.clone()), problem };
    let capability = draft.finish(intents, function.as_deref()).map_err(refuse)?;
    match name_problem(&capability, Origin::of(&capability)) {
        Some(finding) if finding.severity == Severity::Error => {
            Err(refuse(Problem { code: finding.code, message: finding.message, hint: finding.hint }))
        }
        Some(_) | None => Ok((capability, place)),
    }
}

/// The registry while it is put together.
#[derive(Default)]
struct Assembly {
    /// By id, each with the source that declared it.
    held: BTreeMap<CapabilityId, (Arc<Capability>, String)>,
    quarantined: Vec<Quarantined>,
    overridden: Vec<Overridden>,
}

impl Assembly {
    fn admit(&mut self, capability: Capability, source: &str, place: Place) -> Result<(), CapabilityError> {
        let id = capability.id.clone();
        if self.held.get(&id).is_some_and(|(_, of)| of == source) {
            return Err(CapabilityError::Duplicate { place: Box::new(place), id });
        }
        if let Some((_, of)) = self.held.insert(id.clone(), (Arc::new(capability), source.to_owned())) {
            self.overridden.push(Overridden { id, by: source.to_owned(), of });
        }
        Ok(())
    }

    fn settle(&mut self, admitted: Result<(), CapabilityError>, on_error: OnError) -> Result<(), CapabilityError> {
        match (admitted, on_error) {
            (Ok(()), _) => Ok(()),
            (Err(error), OnError::Refuse) => Err(error),
            (Err(reason), OnError::Quarantine) => {
                tracing::warn!(%reason, "a catalog entry is set aside");
                let id = reason.capability().map(str::to_owned);
                let duplicate = matches!(reason, CapabilityError::Duplicate { .. });
                // An override that cannot be read may have been meant to restrict: nothing looser stands in for it.
                if let Some(id) = id.as_deref().filter(|_| !duplicate) {
                    self.held.remove(id);
                }
                self.quarantined.push(Quarantined { id, reason });
                Ok(())
            }
        }
    }

    fn freeze(self) -> Registry {
        let all: Vec<Arc<Capability>> = self.held.into_values().map(|(capability, _)| capability).collect();
        for capability in &all {
            for problem in planted_problems(capability, Origin::of(capability)) {
                tracing::warn!(capability = %capability.id, code = problem.code, "{}", problem.message);
            }
        }
        let by_id = all.iter().enumerate().map(|(place, capability)| (capability.id.clone(), place)).collect();
        let mut by_intent: FastMap<Intent, Vec<Arc<Capability>>> = FastMap::default();
        for capability in &all {
            by_intent.entry(capability.intent.clone()).or_default().push(Arc::clone(capability));
        }
        let inner = Inner { all, by_id, by_intent, quarantined: self.quarantined, overridden: self.overridden };
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
