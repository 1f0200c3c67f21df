//! Tests of the real program.

mod pdf_worker;
