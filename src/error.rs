//! The error of the library boundary.
