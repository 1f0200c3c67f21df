//! agcore
fn main() {}
