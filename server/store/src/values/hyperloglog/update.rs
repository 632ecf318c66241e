//! Changes in place of a string that is a HyperLogLog.

use super::dense::{self, BYTES};
use super::header::{CACHE, ENCODING, HEADER, Kept, MAGIC, stale};
use super::sparse::{self, MAX_VALUE, MAX_VALUES, Run, RunPosition};
use super::{Corrupted, Layout, REGISTERS, Sketch, element};
use smallvec::SmallVec;

/// The number of runs that are checked for neighbours to merge, from the run before a change on.
const MERGED: usize = 5;

/// A string that is a HyperLogLog, to be changed.
#[derive(Debug)]
pub struct SketchMut<'a> {
    bytes: &'a mut Vec<u8>,
    layout: Layout,
    /// The length, in bytes, above which sparse registers become dense.
    sparse_max: usize,
}

impl<'a> SketchMut<'a> {
    /// The string as a HyperLogLog, or `None` if it is not one. Sparse registers may still be corrupted. O(1).
    pub fn of(bytes: &'a mut Vec<u8>, sparse_max: usize) -> Option<Self> {
        Layout::of(bytes).map(|layout| SketchMut { bytes, layout, sparse_max })
    }

    /// The string of a HyperLogLog without elements.
    pub fn empty() -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[ENCODING] = Layout::Sparse.code();
        Run::zeros(REGISTERS).write(&mut bytes);
        bytes
    }

    /// The layout of the registers.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Adds an element; returns whether a register has changed. O(1), O(bytes) while sparse.
    ///
    /// # Errors
    /// Returns [`Corrupted`] if the registers are corrupted; nothing has changed then.
    #[inline]
    pub fn add(&mut self, element: &[u8]) -> Result<bool, Corrupted> {
        let (register, value) = element::place(element);
        self.raise(register, value)
    }

    /// Raises a register to a value, unless it is as large already; returns whether it has changed. If a sparse
    /// register has changed, the cached cardinality is marked as stale. For a dense one the caller calls
    /// [`SketchMut::forget`]. O(1), O(bytes) while sparse.
    ///
    /// # Errors
    /// Returns [`Corrupted`] if the registers are corrupted; nothing has changed then.
    pub fn raise(&mut self, register: usize, value: u8) -> Result<bool, Corrupted> {
        match self.layout {
            Layout::Dense => Ok(self.raise_dense(register, value)),
            Layout::Sparse => self.raise_sparse(register, value),
        }
    }

    /// Makes the registers dense; returns whether they were sparse. Keeps the cached cardinality. O(registers).
    ///
    /// # Errors
    /// Returns [`Corrupted`] if the registers are corrupted; nothing has changed then.
    pub fn make_dense(&mut self) -> Result<bool, Corrupted> {
        let sketch = Sketch::of(self.bytes).ok_or(Corrupted)?;
        let Kept::Sparse(runs) = sketch.kept() else { return Ok(false) };
        let mut bytes = vec![0; HEADER + BYTES];
        let (header, registers) = bytes.split_at_mut(HEADER);
        let registers: &mut [u8; BYTES] = registers.try_into().expect("it is made so");
        runs.each(|run, first| {
            if run.value() > 0 {
                (first..first + run.registers()).for_each(|index| dense::set(registers, index, run.value()));
            }
        })?;
        header.copy_from_slice(&self.bytes[..HEADER]);
        header[ENCODING] = Layout::Dense.code();
        (*self.bytes, self.layout) = (bytes, Layout::Dense);
        Ok(true)
    }

    /// Marks the cached cardinality as stale.
    pub fn forget(&mut self) {
        let cache = self.bytes[CACHE..HEADER].first_chunk_mut().expect("these are eight bytes");
        *cache = stale(*cache);
    }

    /// Caches the cardinality.
    pub fn remember(&mut self, cardinality: u64) {
        self.bytes[CACHE..HEADER].copy_from_slice(&cardinality.to_le_bytes());
    }

    fn raise_dense(&mut self, register: usize, value: u8) -> bool {
        let registers: &mut [u8; BYTES] =
            (&mut self.bytes[HEADER..]).try_into().expect("a dense one has its length");
        let is_larger = dense::get(registers, register) < value;
        if is_larger {
            dense::set(registers, register, value);
        }
        is_larger
    }

    fn promote(&mut self, register: usize, value: u8) -> Result<bool, Corrupted> {
        self.make_dense()?;
        Ok(self.raise_dense(register, value))
    }

    fn raise_sparse(&mut self, register: usize, value: u8) -> Result<bool, Corrupted> {
        if value > MAX_VALUE {
            return self.promote(register, value);
        }
        let place = sparse::find(&self.bytes[HEADER..], register)?;
        if place.run.value() >= value {
            return Ok(false);
        }
        let new = split(&place, register, value);
        let old_len = place.run.bytes();
        if new.len() > old_len && self.bytes.len() + new.len() - old_len > self.sparse_max {
            return self.promote(register, value);
        }
        let at = HEADER + place.at;
        replace(self.bytes, at, old_len, &new);
        self.merge(HEADER + place.before.unwrap_or(0));
        self.forget();
        Ok(true)
    }

    /// Merges a few runs of the same value from the byte `at` on, as many as Redis, if the result is short enough.
    fn merge(&mut self, mut at: usize) {
        for _ in 0..MERGED {
            let mut runs = sparse::Runs::new(self.bytes.get(at..).unwrap_or(&[]));
            let Some(run) = runs.next() else { return };
            let Run::Values { value, len } = run else {
                at += run.bytes();
                continue;
            };
            match runs.next() {
                Some(Run::Values { value: next, len: more }) if next == value && len + more <= MAX_VALUES => {
                    let both = Run::Values { value, len: len + more };
                    self.bytes.remove(at);
                    let mut written: SmallVec<[u8; 2]> = SmallVec::new();
                    both.write(&mut written);
                    self.bytes[at] = written[0];
                }
                _ => at += 1,
            }
        }
    }
}

/// The runs that replace a run when one of its registers gets another value.
fn split(place: &RunPosition, register: usize, value: u8) -> SmallVec<[u8; 8]> {
    let (before, behind) = (register - place.first, place.first + place.run.registers() - 1 - register);
    let same = |len| match place.run {
        Run::Values { value, .. } => Run::Values { value, len },
        Run::Zeros(_) | Run::ManyZeros(_) => Run::zeros(len),
    };
    let mut new = SmallVec::new();
    if before > 0 {
        same(before).write(&mut new);
    }
    Run::Values { value, len: 1 }.write(&mut new);
    if behind > 0 {
        same(behind).write(&mut new);
    }
    new
}

/// Replaces `old_len` bytes by `new`. O(bytes behind them). If the string ends in a run of two bytes, the second is the
/// 0 behind the end. As in Redis it is replaced too, and the last new byte is lost.
fn replace(bytes: &mut Vec<u8>, at: usize, old_len: usize, new: &[u8]) {
    let (len, end) = (bytes.len(), at + old_len);
    if end > len {
        bytes.truncate(at);
        return bytes.extend(&new[..new.len() - (end - len)]);
    }
    if new.len() > old_len {
        bytes.resize(len + new.len() - old_len, 0);
    }
    bytes.copy_within(end..len, at + new.len());
    bytes.truncate(len + new.len() - old_len);
    bytes[at..at + new.len()].copy_from_slice(new);
}
