//! HTTP, spoken in one place.
