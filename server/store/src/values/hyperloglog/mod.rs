//! HyperLogLog: an estimate of the number of different elements that were added, in a string of at most 12 KiB.
//!
//! The string is the same as in Redis, byte for byte. It consists of `HYLL`, the encoding, three unused bytes, the
//! cached cardinality, and the registers. The cached cardinality takes eight bytes, little-endian; its highest bit
//! marks it as stale. The registers take six bits each, or are a sequence of runs.

mod dense;
mod element;
mod estimate;
mod header;
mod histogram;
mod sparse;
mod update;

pub use header::{Layout, Sketch};
pub use histogram::Histogram;
pub use sparse::{Run, Runs};
pub use update::SketchMut;

/// The bits of an element's hash that choose its register.
const INDEX_BITS: u32 = 14;
/// The number of registers.
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// The other bits of the hash, whose zeros a register counts. A register holds at most one more than that.
const COUNT_BITS: u32 = u64::BITS - INDEX_BITS;

/// The error of sparse registers whose runs do not add up to all registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted;

/// Registers of one byte each.
pub type Registers = Box<[u8; REGISTERS]>;

/// Registers that are all 0.
pub fn no_registers() -> Registers {
    vec![0; REGISTERS].into_boxed_slice().try_into().expect("it has so many")
}

#[cfg(test)]
mod tests;
