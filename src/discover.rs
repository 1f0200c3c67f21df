//! Tool search: an index over all capabilities.
