//! The number of registers with each value, which is all that an estimate needs.

use super::REGISTERS;

/// The number of values that six bits can hold.
const VALUES: usize = 64;

/// The number of registers with each value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram(pub(super) [u32; VALUES]);

impl Histogram {
    pub(super) const EMPTY: Histogram = Histogram([0; VALUES]);

    /// The histogram of registers of one byte each, none of them above 63. O(registers).
    pub fn of(registers: &[u8; REGISTERS]) -> Self {
        let mut histogram = Self::EMPTY;
        registers.iter().for_each(|value| histogram.add(*value, 1));
        histogram
    }

    /// Adds registers with a value.
    #[inline]
    pub(super) fn add(&mut self, value: u8, registers: usize) {
        self.0[usize::from(value) % VALUES] += registers as u32;
    }

    /// The number of registers with this value.
    #[inline]
    pub(super) fn get(&self, value: u32) -> f64 {
        self.0[value as usize].into()
    }
}
