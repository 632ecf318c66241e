//! Sums of decimal texts as INCRBYFLOAT makes them: in x87 extended precision, a mantissa of 64 bits.

/// Why two decimal texts cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalError {
    /// One of them is no number: Redis' `value is not a valid float`.
    NotAFloat,
    /// The sum is no finite number: Redis' `increment would produce NaN or Infinity`.
    NotFinite,
}
