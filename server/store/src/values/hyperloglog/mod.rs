//! HyperLogLog: how many different elements were added, about, in a string of at most 12 KiB.
//!
//! The string is the one that Redis keeps, byte for byte: `HYLL`, the encoding, three bytes that mean nothing, the
//! cardinality when last counted (eight bytes, little-endian; the highest bit says that it no longer holds), and the
//! registers, of six bits each or as a sequence of runs.

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

/// Bits of an element's hash that choose its register.
const INDEX_BITS: u32 = 14;
/// How many registers there are.
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of the hash that are left, in which a register counts zeros: it holds at most one more.
const COUNT_BITS: u32 = u64::BITS - INDEX_BITS;

/// The sparse registers do not make up all registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted;

/// Registers of a byte each.
pub type Registers = Box<[u8; REGISTERS]>;

/// Registers that are all 0.
pub fn no_registers() -> Registers {
    vec![0; REGISTERS].into_boxed_slice().try_into().expect("it has so many")
}

#[cfg(test)]
mod tests;
