//! The five-layer contract of a capability, and the registry that holds them.
//!
//! A capability comes from Rust ([`Capability::builder`], [`Capability::function`]) or from a YAML catalog
//! ([`RegistryBuilder::add_yaml`], [`RegistryBuilder::add_dir`]), in the flat or the five-layer form. Whichever way it
//! came, it passed the same check. [`lint`] says what could be better.

mod builder;
mod check;
mod contract;
mod draft;
mod embedded;
mod error;
mod intents;
mod lint;
mod load;
mod pin;
mod references;
mod registry;
mod schema;
mod yaml;

#[cfg(test)]
mod tests;

pub use builder::CapabilityBuilder;
pub use contract::{
    Approval, Capability, Example, Execution, Governance, HostedTool, HttpCall, InputSpec, OutputFormat, OutputSpec,
    ProjectionPolicy, ProviderMatch, RateLimit, SandboxSpec,
};
pub use draft::FunctionDefaults;
pub use error::{CapabilityError, Place, Problem};
pub use lint::{Finding, Origin, Severity, lint};
pub use pin::{Change, Standing, pin, standing, visible};
pub(crate) use references::asked;
pub use references::{lint_references, lookup_problem};
pub use registry::{External, Overridden, Quarantined, Registry, RegistryBuilder};
pub use schema::schema_of;
