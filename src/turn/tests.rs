//! Tests of the machine: examples of each transition, and properties over any sequence of events.

#[expect(clippy::wildcard_enum_match_arm, reason = "a test looks at the events it is about")]
mod properties;
mod transitions;
mod world;
