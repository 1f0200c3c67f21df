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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::execute::{function, testing::capability};

    fn named(name: &str) -> Arc<dyn Executor> {
        let name = name.to_owned();
        Arc::new(function(name.clone(), move |_: (), _| {
            let name = name.clone();
            async move { Ok(name) }
        }))
    }

    #[test]
    fn a_name_is_taken_once() {
        let mut executors = Executors::new();
        assert_eq!(executors.register("b", named("b")), Ok(()));
        assert_eq!(executors.register("a", named("a")), Ok(()));
        let twice = executors.register("a", named("other")).unwrap_err();
        assert_eq!(twice.to_string(), "an executor named `a` is registered already: give one of them another name");
        assert_eq!(executors.names().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_capability_is_run_by_its_function_else_by_the_executor_of_its_id() {
        let (mut executors, mut wanted) = (Executors::new(), capability("shop"));
        executors.register("shop", named("by id")).unwrap();
        executors.register("shop_fn", named("by function")).unwrap();
        let chosen = |wanted: &Capability| executors.executor_for(wanted).map(|found| format!("{found:?}"));

        wanted.execution.function_name = Some("shop_fn".into());
        assert_eq!(chosen(&wanted), Ok("FunctionTool { name: \"by function\", .. }".into()));
        wanted.execution.function_name = None;
        assert_eq!(chosen(&wanted), Ok("FunctionTool { name: \"by id\", .. }".into()));

        let mut absent = capability("absent");
        absent.execution.function_name = Some("missing".into());
        let error = errors::unavailable("`test.absent`", "no executor is registered as `missing`");
        assert_eq!(chosen(&absent), Err(error));
    }
}
