//! Sparse registers: a sequence of runs. `00xxxxxx` is a run of x + 1 zeros, `01xxxxxx yyyyyyyy` one of xy + 1 zeros.
//! `1vvvvvxx` is a run of x + 1 registers of the value v + 1.

use super::{Corrupted, REGISTERS};

/// The most zeros of a run of one byte.
const SHORT_ZEROS: usize = 64;
/// The largest value of a run.
pub(super) const MAX_VALUE: u8 = 32;
/// The most registers of a run of a value other than 0.
pub(super) const MAX_VALUES: usize = 4;

/// A run of registers with the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Registers of 0, in a run of one byte.
    Zeros(usize),
    /// Registers of 0, in a run of two bytes.
    ManyZeros(usize),
    /// Registers of a value from 1 to 32.
    Values {
        /// The value.
        value: u8,
        /// The number of registers.
        len: usize,
    },
}

impl Run {
    /// Reads the run that begins with this byte and, if it has two bytes, goes on with `next`.
    #[inline]
    fn read(first: u8, next: impl FnOnce() -> u8) -> Run {
        match first >> 6 {
            0 => Run::Zeros(usize::from(first) + 1),
            1 => Run::ManyZeros((usize::from(first & 0x3f) << 8 | usize::from(next())) + 1),
            _ => Run::Values { value: (first >> 2 & 0x1f) + 1, len: usize::from(first & 0x3) + 1 },
        }
    }

    /// The shortest encoding of a run of `len` zeros, at least 1.
    pub(super) fn zeros(len: usize) -> Run {
        if len > SHORT_ZEROS { Run::ManyZeros(len) } else { Run::Zeros(len) }
    }

    /// The number of registers of the run.
    pub fn registers(self) -> usize {
        match self {
            Run::Zeros(len) | Run::ManyZeros(len) | Run::Values { len, .. } => len,
        }
    }

    /// The value of its registers.
    pub fn value(self) -> u8 {
        match self {
            Run::Zeros(_) | Run::ManyZeros(_) => 0,
            Run::Values { value, .. } => value,
        }
    }

    /// The number of bytes of the run.
    pub(super) fn bytes(self) -> usize {
        if matches!(self, Run::ManyZeros(_)) { 2 } else { 1 }
    }

    /// Appends the bytes of the run.
    pub(super) fn write(self, out: &mut impl Extend<u8>) {
        match self {
            Run::Zeros(len) => out.extend([(len - 1) as u8]),
            Run::ManyZeros(len) => out.extend([0x40 | ((len - 1) >> 8) as u8, (len - 1) as u8]),
            Run::Values { value, len } => out.extend([0x80 | (value - 1) << 2 | (len - 1) as u8]),
        }
    }
}

/// A sequence of runs, as bytes.
#[derive(Clone, Debug)]
pub struct Runs<'a>(&'a [u8]);

impl<'a> Runs<'a> {
    /// The runs of these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Runs(bytes)
    }

    /// Calls `look` for each run with its first register, as long as it is within the registers. O(runs). Fails with
    /// [`Corrupted`] if the runs do not add up.
    pub(super) fn each(self, mut look: impl FnMut(Run, usize)) -> Result<(), Corrupted> {
        let mut first = 0;
        for run in self {
            if run.registers() > REGISTERS - first {
                return Err(Corrupted);
            }
            look(run, first);
            first += run.registers();
        }
        if first == REGISTERS { Ok(()) } else { Err(Corrupted) }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        let (first, rest) = self.0.split_first()?;
        // The byte after the last one reads as 0, as in a C string.
        let run = Run::read(*first, || rest.first().copied().unwrap_or(0));
        self.0 = self.0.get(run.bytes()..).unwrap_or(&[]);
        Some(run)
    }
}

/// The position of a register's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunPosition {
    /// The offset of the previous run. `None` for the first run.
    pub(super) before: Option<usize>,
    /// The offset of the run.
    pub(super) at: usize,
    /// The first register of the run.
    pub(super) first: usize,
    pub(super) run: Run,
}

/// Finds the run of a register. O(bytes), eight at a time if none begins a run of two bytes. Fails with [`Corrupted`]
/// if the runs end before.
pub(super) fn find(bytes: &[u8], register: usize) -> Result<RunPosition, Corrupted> {
    let (mut before, mut at, mut first) = (None, 0, 0);
    loop {
        if let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk)
            && let Some(registers) = registers_of(*eight)
            && first + registers <= register
        {
            before = Some(at + eight.len() - 1);
            at += eight.len();
            first += registers;
            continue;
        }
        // The run is among the next eight, or runs of two bytes require a search one by one.
        for _ in 0..8 {
            let byte = *bytes.get(at).ok_or(Corrupted)?;
            let mut is_cut = false;
            let run = Run::read(byte, || {
                is_cut = at + 1 == bytes.len();
                bytes.get(at + 1).copied().unwrap_or(0)
            });
            if register < first + run.registers() {
                return Ok(RunPosition { before, at, first, run });
            }
            if is_cut {
                return Err(Corrupted);
            }
            before = Some(at);
            at += run.bytes();
            first += run.registers();
        }
    }
}

/// The number of registers of eight runs of one byte. `None` if one of the runs has two bytes.
#[inline]
fn registers_of(runs: [u8; 8]) -> Option<usize> {
    /// A word of eight equal bytes.
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let word = u64::from_le_bytes(runs);
    if (!word >> 1) & word & each(0x40) != 0 {
        return None;
    }
    // The length is in the lowest two bits of a run of a value, and in the lowest six of a run of zeros.
    let values = word >> 7 & each(1);
    let lengths = (word & (each(0x3f) - values * 0x3c)) + each(1);
    let even = 0x00ff_00ff_00ff_00ff;
    let sums = (lengths & even) + (lengths >> 8 & even);
    Some((sums.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize)
}
