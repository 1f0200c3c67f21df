//! Text: cutting on grapheme boundaries, character sets, HTML, PDF.

pub mod cut;
