//! The bits of a string: bit 0 is the highest bit of the first byte.

mod combine;
mod field;
mod range;

pub use combine::{BitOperation, combine, invert};
pub use field::{BitField, Fit, Overflow};
pub use range::{count_ones, first_bit};

/// The bit at `offset`. Bits beyond the end are 0. O(1).
#[inline]
pub fn bit(bytes: &[u8], offset: u64) -> bool {
    let byte = usize::try_from(offset / 8).ok().and_then(|at| bytes.get(at));
    byte.is_some_and(|byte| byte & mask(offset) != 0)
}

/// Sets the bit at `offset`, which must be within the bytes; returns the previous bit. O(1).
#[inline]
pub fn set_bit(bytes: &mut [u8], offset: u64, on: bool) -> bool {
    let byte = &mut bytes[(offset / 8) as usize];
    let was_on = *byte & mask(offset) != 0;
    if was_on != on {
        *byte ^= mask(offset);
    }
    was_on
}

/// The number of bytes that hold the bits up to and including `last`.
pub const fn bytes_up_to(last: u64) -> u64 {
    last / 8 + 1
}

const fn mask(offset: u64) -> u8 {
    0x80 >> (offset % 8)
}
