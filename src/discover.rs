//! Tool search: an index over all capabilities, used by `tool.search` and by routing.
//!
//! Lexical by design: BM25 over weighted fields (name, description, parameters), light English stemming, Chinese as
//! characters and pairs, a small table of synonyms in both languages. It is pure: no file, no clock, no network.
//! Finding a tool is no permission to use it: callers pass what may be seen as the filter of
//! [`Index::search_among`].
//!
//! Why not a crate: generic BM25 crates score one text per document through hash maps. Weighted fields, name coverage
//! and a finished weight per posting are what makes 10,000 tools searchable in microseconds.

mod document;
mod index;
mod stem;
mod synonyms;
mod token;

#[cfg(test)]
mod tests;

pub use document::{Document, Field};
pub use index::{Hit, Index};
