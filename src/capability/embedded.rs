//! The catalog shipped inside the binary.

use super::intents;

/// File names and texts.
pub(super) const CATALOGS: &[(&str, &str)] = &[
    ("catalog/capabilities/intents.yaml", intents::SHIPPED),
    ("catalog/capabilities/builtin.yaml", include_str!("../../catalog/capabilities/builtin.yaml")),
    ("catalog/capabilities/hosted.yaml", include_str!("../../catalog/capabilities/hosted.yaml")),
];
