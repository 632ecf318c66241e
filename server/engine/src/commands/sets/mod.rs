//! Sets: distinct members under one key.

pub(super) mod algebra;
pub(super) mod change;
pub(super) mod read;
#[cfg(test)]
mod tests;
