//! Registers of six bits each, the lowest bits first.

use super::{Histogram, REGISTERS};

const BITS: usize = 6;
/// The bytes of all registers.
pub(super) const BYTES: usize = REGISTERS * BITS / 8;
const MAX: u8 = (1 << BITS) - 1;

/// The position of a register: its first byte, and the bit in that byte at which it begins.
fn place(index: usize) -> (usize, usize) {
    (index * BITS / 8, index * BITS % 8)
}

/// The two bytes that hold a register. The byte after the last one reads as 0.
fn pair(bytes: &[u8; BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes.get(at + 1).copied().unwrap_or(0)])
}

/// The value of a register. O(1).
pub(super) fn get(bytes: &[u8; BYTES], index: usize) -> u8 {
    let (at, shift) = place(index);
    (pair(bytes, at) >> shift) as u8 & MAX
}

/// Sets the value of a register. O(1).
pub(super) fn set(bytes: &mut [u8; BYTES], index: usize, value: u8) {
    let (at, shift) = place(index);
    let others = pair(bytes, at) & !(u16::from(MAX) << shift);
    let [low, high] = (others | u16::from(value) << shift).to_le_bytes();
    bytes[at] = low;
    if let Some(next) = bytes.get_mut(at + 1) {
        *next = high;
    }
}

/// All registers in order. Three bytes hold four of them. O(registers).
pub(super) fn iter(bytes: &[u8; BYTES]) -> impl Iterator<Item = u8> {
    bytes.as_chunks().0.iter().flat_map(|[a, b, c]: &[u8; 3]| {
        let four = u32::from_le_bytes([*a, *b, *c, 0]);
        [four, four >> BITS, four >> (2 * BITS), four >> (3 * BITS)].map(|value| value as u8 & MAX)
    })
}

/// The number of registers with each value. O(registers).
pub(super) fn histogram(bytes: &[u8; BYTES]) -> Histogram {
    // Four histograms in turn, so that equal neighbours do not wait for each other.
    let mut parts = [const { Histogram::EMPTY }; 4];
    for [a, b, c] in bytes.as_chunks().0 {
        let four = u32::from_le_bytes([*a, *b, *c, 0]);
        for (at, part) in parts.iter_mut().enumerate() {
            part.add((four >> (at * BITS)) as u8 & MAX, 1);
        }
    }
    let mut sum = Histogram::EMPTY;
    for part in &parts {
        sum.0.iter_mut().zip(part.0).for_each(|(sum, count)| *sum += count);
    }
    sum
}
