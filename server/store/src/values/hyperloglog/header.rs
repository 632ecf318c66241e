//! Reading of a string that is a HyperLogLog.

use super::dense::{self, BYTES};
use super::{Corrupted, Histogram, REGISTERS, Run, Runs};

/// The first bytes of such a string.
pub(super) const MAGIC: &[u8; 4] = b"HYLL";
/// The bytes before the registers.
pub(super) const HEADER: usize = 16;
pub(super) const ENCODING: usize = 4;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// The offset of the cached cardinality.
pub(super) const CACHE: usize = 8;
/// The bit of the cached cardinality that marks it as stale.
const STALE: u64 = 1 << 63;

/// The layout of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Six bits a register.
    Dense,
    /// Runs of equal registers.
    Sparse,
}

impl Layout {
    /// The name that PFDEBUG gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::Dense => "dense",
            Layout::Sparse => "sparse",
        }
    }

    /// The layout of a string that begins as a HyperLogLog does. A dense one must have the exact length.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
            return None;
        }
        match bytes[ENCODING] {
            DENSE => (bytes.len() == HEADER + BYTES).then_some(Layout::Dense),
            SPARSE => Some(Layout::Sparse),
            _ => None,
        }
    }

    /// The byte that encodes the layout.
    pub(super) const fn code(self) -> u8 {
        match self {
            Layout::Dense => DENSE,
            Layout::Sparse => SPARSE,
        }
    }
}

/// Marks the bytes of a cached cardinality as stale.
pub(super) fn stale(bytes: [u8; 8]) -> [u8; 8] {
    (u64::from_le_bytes(bytes) | STALE).to_le_bytes()
}

/// A string that is a HyperLogLog, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Sketch<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

/// The registers in their layout.
pub(super) enum Kept<'a> {
    Dense(&'a [u8; BYTES]),
    Sparse(Runs<'a>),
}

impl<'a> Sketch<'a> {
    /// The string as a HyperLogLog, or `None` if it is not one. Sparse registers may still be corrupted. O(1).
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        Layout::of(bytes).map(|layout| Sketch { bytes, layout })
    }

    /// The layout of the registers.
    pub fn layout(self) -> Layout {
        self.layout
    }

    /// The cached cardinality, if nothing was added since it was counted. O(1).
    pub fn cached(self) -> Option<u64> {
        let cache = self.bytes[CACHE..HEADER].try_into().expect("these are eight bytes");
        Some(u64::from_le_bytes(cache)).filter(|cached| cached & STALE == 0)
    }

    /// The registers in their layout.
    pub(super) fn kept(self) -> Kept<'a> {
        let registers = &self.bytes[HEADER..];
        match self.layout {
            Layout::Sparse => Kept::Sparse(Runs::new(registers)),
            Layout::Dense => Kept::Dense(registers.try_into().expect("a dense one has its length")),
        }
    }

    /// The sparse registers, or `None` if they are dense.
    pub fn runs(self) -> Option<Runs<'a>> {
        match self.kept() {
            Kept::Sparse(runs) => Some(runs),
            Kept::Dense(_) => None,
        }
    }

    /// The number of registers with each value. O(registers).
    ///
    /// # Errors
    /// Returns [`Corrupted`] if the registers are corrupted.
    pub fn histogram(self) -> Result<Histogram, Corrupted> {
        match self.kept() {
            Kept::Dense(registers) => Ok(dense::histogram(registers)),
            Kept::Sparse(runs) => {
                let mut histogram = Histogram::EMPTY;
                runs.each(|run, _| histogram.add(run.value(), run.registers()))?;
                Ok(histogram)
            }
        }
    }

    /// Raises each of `registers` to the value of this sketch's register if that is larger. O(registers).
    ///
    /// # Errors
    /// Returns [`Corrupted`] if the sketch's registers are corrupted. Some of `registers` may have been raised then.
    pub fn raise(self, registers: &mut [u8; REGISTERS]) -> Result<(), Corrupted> {
        match self.kept() {
            Kept::Dense(kept) => {
                registers.iter_mut().zip(dense::iter(kept)).for_each(|(max, value)| *max = value.max(*max));
                Ok(())
            }
            Kept::Sparse(runs) => runs.each(|run, first| {
                if let Run::Values { value, len } = run {
                    registers[first..first + len].iter_mut().for_each(|max| *max = value.max(*max));
                }
            }),
        }
    }
}
