//! Tests of the machine: examples of each transition, and properties over any sequence of events.

mod properties;
mod transitions;
mod world;
