//! Text: cutting on grapheme boundaries, character sets, HTML, PDF.
