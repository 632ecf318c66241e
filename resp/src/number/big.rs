//! Natural numbers of any size, with just the operations to read and write long decimal texts exactly.

use std::cmp::Ordering;

const CHUNK: u32 = 1_000_000_000;
const CHUNK_DIGITS: usize = 9;

/// A natural number, 32 bits a limb, lowest limb first, without a zero limb at the top.
#[derive(Clone, Debug)]
pub(super) struct Big {
    limbs: Vec<u32>,
}

impl Big {
    /// The number with these ASCII digits. O(n²) in their count.
    pub(super) fn from_digits(digits: &[u8]) -> Self {
        let mut big = Self { limbs: Vec::with_capacity(digits.len() / CHUNK_DIGITS + 1) };
        for chunk in digits.chunks(CHUNK_DIGITS) {
            let value = chunk.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
            big.multiply(10_u32.pow(chunk.len() as u32), value);
        }
        big
    }

    /// `mantissa` · 2^`shift`.
    pub(super) fn shifted(mantissa: u64, shift: u32) -> Self {
        let mut big = Self { limbs: vec![mantissa as u32, (mantissa >> 32) as u32] };
        big.trim();
        big.shift_left(shift);
        big
    }

    /// Multiplies by 10^`power`. O(n²) in the digits of the result.
    pub(super) fn multiply_by_power_of_ten(&mut self, power: u32) {
        for _ in 0..power / CHUNK_DIGITS as u32 {
            self.multiply(CHUNK, 0);
        }
        self.multiply(10_u32.pow(power % CHUNK_DIGITS as u32), 0);
    }

    /// `self` · `factor` + `addend`.
    fn multiply(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.limbs {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.limbs.push(carry as u32);
        }
    }

    /// The number of bits up to the highest set bit.
    pub(super) fn bits(&self) -> u32 {
        self.limbs.last().map_or(0, |top| self.limbs.len() as u32 * 32 - top.leading_zeros())
    }

    pub(super) fn shift_left(&mut self, shift: u32) {
        let bits = shift % 32;
        if bits > 0 {
            self.multiply(1 << bits, 0);
        }
        self.limbs.splice(0..0, std::iter::repeat_n(0, shift as usize / 32));
    }

    /// The highest bits, at most 128, the number of bits below them, and whether any of the latter is set.
    pub(super) fn top(&self) -> (u128, u32, bool) {
        let below = self.limbs.len().saturating_sub(4);
        let top = self.limbs[below..].iter().rev().fold(0, |top, &limb| top << 32 | u128::from(limb));
        (top, below as u32 * 32, self.limbs[..below].iter().any(|&limb| limb != 0))
    }

    /// Computes `self` · 2^k / `divisor` for the k that gives the quotient 80 or 81 bits. Returns the quotient, k, and
    /// whether there is a remainder. Neither number may be zero. O(size).
    pub(super) fn divide(mut self, mut divisor: Self) -> (u128, i64, bool) {
        const BITS: u32 = 80;
        let shift = i64::from(divisor.bits()) - i64::from(self.bits());
        if shift > 0 {
            self.shift_left(shift as u32);
        } else {
            divisor.shift_left(-shift as u32);
        }
        let mut quotient = 0;
        for _ in 0..=BITS {
            quotient <<= 1;
            if self.compare(&divisor) != Ordering::Less {
                self.subtract(&divisor);
                quotient |= 1;
            }
            self.multiply(2, 0);
        }
        (quotient, shift + i64::from(BITS), !self.limbs.is_empty())
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_size = self.limbs.len().cmp(&other.limbs.len());
        by_size.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }

    /// Subtracts a number, which must not be larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, limb) in self.limbs.iter_mut().enumerate() {
            let (difference, under) = limb.overflowing_sub(other.limbs.get(at).copied().unwrap_or(0));
            let (difference, under_again) = difference.overflowing_sub(u32::from(borrow));
            *limb = difference;
            borrow = under || under_again;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.limbs.last() == Some(&0) {
            self.limbs.pop();
        }
    }

    /// Appends the decimal digits. O(n²) in their count.
    pub(super) fn write(mut self, out: &mut Vec<u8>) {
        let mut chunks = Vec::with_capacity(self.limbs.len() * 32 / 29 + 1);
        while !self.limbs.is_empty() {
            let mut rest = 0_u64;
            for limb in self.limbs.iter_mut().rev() {
                let value = rest << 32 | u64::from(*limb);
                *limb = (value / u64::from(CHUNK)) as u32;
                rest = value % u64::from(CHUNK);
            }
            chunks.push(rest);
            self.trim();
        }
        super::write_to(out, format_args!("{}", chunks.pop().unwrap_or(0)));
        for chunk in chunks.iter().rev() {
            super::write_to(out, format_args!("{chunk:09}"));
        }
    }
}
