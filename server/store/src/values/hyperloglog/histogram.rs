//! How many registers have each value: all that an estimate needs.

use super::REGISTERS;

/// Values that six bits can hold.
const VALUES: usize = 64;

/// How many registers have each value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram(pub(super) [u32; VALUES]);

impl Histogram {
    /// Of no registers.
    pub(super) const EMPTY: Histogram = Histogram([0; VALUES]);

    /// Of registers of a byte each, none of which is above 63. O(registers).
    pub fn of(registers: &[u8; REGISTERS]) -> Self {
        let mut histogram = Self::EMPTY;
        registers.iter().for_each(|value| histogram.add(*value, 1));
        histogram
    }

    /// Adds registers of a value.
    #[inline]
    pub(super) fn add(&mut self, value: u8, registers: usize) {
        self.0[usize::from(value) % VALUES] += registers as u32;
    }

    /// How many have this value.
    #[inline]
    pub(super) fn get(&self, value: u32) -> f64 {
        self.0[value as usize].into()
    }
}
