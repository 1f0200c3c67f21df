//! Which executor runs which capability.

use std::{collections::BTreeMap, sync::Arc};

use crate::{capability::Capability, types::ToolError};

use super::{Executor, errors};

/// The executors of a process, by function name.
#[derive(Debug, Clone, Default)]
pub struct Executors {
    by_name: BTreeMap<String, Arc<dyn Executor>>,
}

/// Two executors of one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an executor named `{name}` is registered already: give one of them another name")]
pub struct DuplicateExecutor {
    name: String,
}

impl Executors {
    /// No executors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers an executor under the name that capabilities give as `function_name`. An executor of one capability
    /// (a declarative HTTP call) is registered under the capability's id.
    ///
    /// # Errors
    /// [`DuplicateExecutor`] when the name is taken.
    pub fn register(&mut self, name: impl Into<String>, executor: Arc<dyn Executor>) -> Result<(), DuplicateExecutor> {
        let name = name.into();
        if self.by_name.contains_key(&name) {
            return Err(DuplicateExecutor { name });
        }
        self.by_name.insert(name, executor);
        Ok(())
    }

    /// The executor of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Executor>> {
        self.by_name.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The executor that runs `capability`: the one of its `function_name`, else the one of its id.
    ///
    /// # Errors
    /// `EXECUTOR_UNAVAILABLE` when there is none.
    pub fn executor_for(&self, capability: &Capability) -> Result<&Arc<dyn Executor>, ToolError> {
        let name = capability.execution.function_name.as_deref();
        name.and_then(|name| self.get(name)).or_else(|| self.get(capability.id.as_str())).ok_or_else(|| {
            let why = format!("no executor is registered as `{}`", name.unwrap_or(capability.id.as_str()));
            errors::unavailable(&format!("`{}`", capability.intent), why)
        })
    }
}
