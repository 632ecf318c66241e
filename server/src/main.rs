//! The `lockwheel` binary.
fn main() {}
