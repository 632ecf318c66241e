//! Bitmaps: strings as bits. The highest bit of the first byte comes first.

pub(super) mod combine;
pub(super) mod fields;
mod offset;
pub(super) mod ranges;
pub(super) mod single;
#[cfg(test)]
mod tests;
