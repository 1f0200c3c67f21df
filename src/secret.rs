//! Secrets by reference (`env:NAME`, `file:PATH`), never printed.
