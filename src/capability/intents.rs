//! What agcore knows of an intent without any capability: a description and an input schema.
//!
//! A capability that leaves them out takes them from here, so that all tools that serve `web.search` look alike to a
//! model. The table is data, shipped in `catalog/capabilities/intents.yaml`; a catalog may add to it.

use std::{collections::HashMap, sync::OnceLock};

use serde_json::Value;

use super::load;
use crate::types::Intent;

/// The shipped table.
pub(super) const SHIPPED: &str = include_str!("../../catalog/capabilities/intents.yaml");

/// What is known of one intent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IntentDefault {
    pub(super) description: String,
    pub(super) schema: Option<Value>,
}

/// What is known of intents.
#[derive(Debug, Clone, Default)]
pub(super) struct IntentDefaults(HashMap<Intent, IntentDefault>);

impl IntentDefaults {
    pub(super) fn get(&self, intent: &Intent) -> Option<&IntentDefault> {
        self.0.get(intent)
    }

    /// Adds what another source says; it overrides what was known.
    pub(super) fn extend(&mut self, more: Vec<(Intent, IntentDefault)>) {
        self.0.extend(more);
    }
}

/// The shipped table, read when it is first needed. That it can be read is held by a test.
pub(super) fn shipped() -> &'static IntentDefaults {
    static TABLE: OnceLock<IntentDefaults> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = IntentDefaults::default();
        if let Ok(catalog) = load::catalog(SHIPPED, "catalog/capabilities/intents.yaml") {
            table.extend(catalog.intents);
        }
        table
    })
}
