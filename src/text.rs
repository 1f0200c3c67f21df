//! Text: cutting on grapheme boundaries, character sets, HTML, PDF, splitting into passages, words for search.
//!
//! Everything in here is pure: bytes or text in, text out. Nothing panics on what it is given.

pub mod charset;
pub mod chunk;
pub mod cut;
pub mod html;
pub mod kind;
pub mod pdf;
pub mod sentence;
pub mod words;
