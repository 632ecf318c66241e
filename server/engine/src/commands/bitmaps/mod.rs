//! Bitmaps: strings as bits, the highest of the first byte first.

pub(super) mod combine;
pub(super) mod fields;
mod offset;
pub(super) mod ranges;
pub(super) mod single;
#[cfg(test)]
mod tests;
