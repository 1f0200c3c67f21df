//! Tests of the capability module, by topic.

mod building;
mod linting;
mod loading;
mod registering;
mod schemas;
