//! Hashes: fields and values under one key.

pub(super) mod at_once;
pub(super) mod change;
pub(super) mod expiry;
mod fields;
pub(super) mod read;
#[cfg(test)]
mod tests;
