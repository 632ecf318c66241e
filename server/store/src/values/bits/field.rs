//! Integers of any width in the bits of a string.

/// The treatment of a result that does not fit in its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Keep the lowest bits.
    #[default]
    Wrap,
    /// Store the nearest value that fits.
    Saturate,
    /// Store nothing.
    Fail,
}

/// The new content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// This value, to be stored as its lowest bits and shown in a reply as a number.
    Value(i64),
    /// No value: the result does not fit, and the field must not change.
    Failed,
}

/// A kind of integer: unsigned of 1 to 63 bits, or signed of 1 to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    is_signed: bool,
    bits: u32,
}

/// The most bytes that a field spans, if the other bits of its first byte are included.
const SPAN: usize = 9;

impl BitField {
    /// The kind with this width. Returns `None` if there is no such kind.
    pub fn new(is_signed: bool, bits: i64) -> Option<Self> {
        let widest = if is_signed { 64 } else { 63 };
        (1..=widest).contains(&bits).then_some(BitField { is_signed, bits: bits as u32 })
    }

    /// The width, in bits.
    pub fn bits(self) -> u64 {
        self.bits.into()
    }

    /// Reads the field at `offset`. Bits beyond the end are 0. O(1).
    pub fn get(self, bytes: &[u8], offset: u64) -> i64 {
        let here = usize::try_from(offset / 8).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        let raw = (load(here) << (offset % 8)) >> (u128::BITS - self.bits);
        self.extend(raw as u64)
    }

    /// Writes the lowest bits of `value` to the field at `offset`, which must be within the bytes. O(1).
    pub fn set(self, bytes: &mut [u8], offset: u64, value: i64) {
        let here = &mut bytes[(offset / 8) as usize..];
        let shift = u128::BITS - self.bits - (offset % 8) as u32;
        let mask = u128::from(self.low_bits()) << shift;
        let whole = load(here) & !mask | (u128::from(value as u64) << shift) & mask;
        let len = here.len().min(SPAN);
        here[..len].copy_from_slice(&whole.to_be_bytes()[..len]);
    }

    /// The content of a field of this kind after it is set to `value`.
    pub fn fit_value(self, value: i64, overflow: Overflow) -> Fit {
        if self.is_signed && self.bits < i64::BITS && overflow == Overflow::Saturate {
            let most = (1_i64 << (self.bits - 1)) - 1;
            // A value so far below that the distance overflows counts as a value above, as in redis-server 7.0.15.
            if most.wrapping_sub(value) < 0 {
                return Fit::Value(most);
            }
        }
        // An unsigned field takes a negative number as the large number with the same bits.
        self.fit(if self.is_signed { value.into() } else { i128::from(value as u64) }, overflow)
    }

    /// The content of a field of this kind that holds `value`, after an increment.
    pub fn fit_sum(self, value: i64, increment: i64, overflow: Overflow) -> Fit {
        self.fit(i128::from(value) + i128::from(increment), overflow)
    }

    fn fit(self, exact: i128, overflow: Overflow) -> Fit {
        let half = 1_i128 << (self.bits - 1);
        let (least, most) = if self.is_signed { (-half, half - 1) } else { (0, 2 * half - 1) };
        let fitting = exact.clamp(least, most);
        match overflow {
            _ if fitting == exact => Fit::Value(exact as i64),
            Overflow::Wrap => Fit::Value(self.extend(exact as u64 & self.low_bits())),
            Overflow::Saturate => Fit::Value(fitting as i64),
            Overflow::Fail => Fit::Failed,
        }
    }

    fn low_bits(self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits)
    }

    /// The number that these lowest bits represent.
    fn extend(self, raw: u64) -> i64 {
        let unused = u64::BITS - self.bits;
        if self.is_signed { (raw << unused) as i64 >> unused } else { raw as i64 }
    }
}

/// The first bytes as the highest bytes of a number.
fn load(bytes: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    let len = bytes.len().min(SPAN);
    first[..len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::bits::{bit, set_bit};
    use proptest::prelude::*;

    fn kind() -> impl Strategy<Value = BitField> {
        (any::<bool>(), 1_i64..=64)
            .prop_filter_map("a width", |(is_signed, bits)| BitField::new(is_signed, bits))
    }

    fn read(kind: BitField, bytes: &[u8], offset: u64) -> i64 {
        let raw = (0..kind.bits()).fold(0_u128, |raw, at| raw << 1 | u128::from(bit(bytes, offset + at)));
        let is_negative = kind.is_signed && raw >> (kind.bits() - 1) == 1;
        if is_negative { (raw as i128 - (1 << kind.bits())) as i64 } else { raw as i64 }
    }

    proptest! {
        #[test]
        fn a_field_is_its_bits(
            kind in kind(), mut bytes in prop::collection::vec(any::<u8>(), 0..24), offset in 0_u64..300, value: i64,
        ) {
            prop_assert_eq!(kind.get(&bytes, offset), read(kind, &bytes, offset));
            bytes.resize(bytes.len().max(((offset + kind.bits()) as usize).div_ceil(8)), 0);
            let mut by_hand = bytes.clone();
            for at in 0..kind.bits() {
                set_bit(&mut by_hand, offset + at, value >> (kind.bits() - 1 - at) & 1 == 1);
            }
            kind.set(&mut bytes, offset, value);
            prop_assert_eq!(bytes, by_hand);
        }

        #[test]
        fn overflowing_values_wrap_saturate_or_fail(
            kind in kind(), raw: i64, increment in prop_oneof![any::<i64>(), -300_i64..300],
        ) {
            let mut bytes = [0; 8];
            kind.set(&mut bytes, 0, raw);
            let value = kind.get(&bytes, 0);
            let exact = i128::from(value) + i128::from(increment);
            let wrapped = kind.fit_sum(value, increment, Overflow::Wrap);
            kind.set(&mut bytes, 0, exact as i64);
            prop_assert_eq!(wrapped, Fit::Value(kind.get(&bytes, 0)));
            let Fit::Value(saturated) = kind.fit_sum(value, increment, Overflow::Saturate) else { unreachable!() };
            let fits = i128::from(saturated) == exact;
            prop_assert_eq!(fits, wrapped == Fit::Value(exact as i64) && i128::from(exact as i64) == exact);
            let failed = kind.fit_sum(value, increment, Overflow::Fail);
            prop_assert_eq!(failed, if fits { wrapped } else { Fit::Failed });
        }
    }

    #[test]
    fn the_least_values_saturate_as_they_do_in_redis() {
        for (bits, value, saturated) in [
            (1, i64::MIN, 0),
            (1, i64::MIN + 1, -1),
            (2, i64::MIN + 1, 1),
            (8, i64::MIN + 127, 127),
            (8, i64::MIN + 128, -128),
            (8, i64::MAX, 127),
            (63, i64::MIN, i64::MAX / 2),
            (64, i64::MIN, i64::MIN),
        ] {
            let field = BitField::new(true, bits).unwrap();
            assert_eq!(field.fit_value(value, Overflow::Saturate), Fit::Value(saturated), "i{bits} {value}");
        }
    }

    #[test]
    fn an_unsigned_field_takes_a_negative_value_for_a_large_one() {
        let byte = BitField::new(false, 8).unwrap();
        assert_eq!(byte.fit_value(-1, Overflow::Saturate), Fit::Value(255));
        assert_eq!(byte.fit_value(-2, Overflow::Wrap), Fit::Value(254));
        assert_eq!(byte.fit_value(-1, Overflow::Fail), Fit::Failed);
        assert_eq!(byte.fit_sum(1, -2, Overflow::Saturate), Fit::Value(0));
        assert_eq!(
            (BitField::new(false, 64), BitField::new(true, 65), BitField::new(true, 0)),
            (None, None, None)
        );
    }
}
