//! Hashes: fields and values under one key.

pub(super) mod change;
pub(super) mod read;
#[cfg(test)]
mod tests;
