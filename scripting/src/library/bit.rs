//! The library `bit`: operations on numbers as 32 bits, as in LuaBitOp.

use super::frame::Frame;
use super::raise::Raise;
use super::registration::Library;
use std::ffi::c_int;

/// The library.
pub(super) const LIBRARY: Library = Library::plain(
    c"bit",
    &[
        (c"tobit", |frame| answer(frame, bits(frame, 1)?)),
        (c"bnot", |frame| answer(frame, !bits(frame, 1)?)),
        (c"band", |frame| fold(frame, |all, bits| all & bits)),
        (c"bor", |frame| fold(frame, |all, bits| all | bits)),
        (c"bxor", |frame| fold(frame, |all, bits| all ^ bits)),
        (c"lshift", |frame| shift(frame, |bits, by| bits << by)),
        (c"rshift", |frame| shift(frame, |bits, by| bits >> by)),
        (c"arshift", |frame| shift(frame, |bits, by| (bits.cast_signed() >> by).cast_unsigned())),
        (c"rol", |frame| shift(frame, u32::rotate_left)),
        (c"ror", |frame| shift(frame, u32::rotate_right)),
        (c"bswap", |frame| answer(frame, bits(frame, 1)?.swap_bytes())),
        (c"tohex", tohex),
    ],
    &[],
);

/// The lowest 32 bits of an argument, rounded to the nearest integer, ties to even.
fn bits(frame: &Frame<'_>, argument: c_int) -> Result<u32, Raise> {
    // With 2⁵² + 2⁵¹ added, the last bit of a double has the weight 1. Beyond 2⁵¹ it no longer has, and the result is
    // that of every copy of the library.
    const LAST_BIT_IS_ONE: f64 = 6_755_399_441_055_744.0;
    Ok((frame.number(argument)? + LAST_BIT_IS_ONE).to_bits() as u32)
}

/// Returns the bits as a signed number.
fn answer(frame: &Frame<'_>, bits: u32) -> Result<c_int, Raise> {
    frame.push_number(f64::from(bits.cast_signed()))?;
    Ok(1)
}

/// Combines all arguments. The first is read first, then the last, then the one before it, and so on.
fn fold(frame: &Frame<'_>, operation: fn(u32, u32) -> u32) -> Result<c_int, Raise> {
    let mut all = bits(frame, 1)?;
    for argument in (2..=frame.count()).rev() {
        all = operation(all, bits(frame, argument)?);
    }
    answer(frame, all)
}

/// Shifts the first argument by the lowest five bits of the second.
fn shift(frame: &Frame<'_>, operation: fn(u32, u32) -> u32) -> Result<c_int, Raise> {
    let (value, by) = (bits(frame, 1)?, bits(frame, 2)?);
    answer(frame, operation(value, by & 31))
}

/// `bit.tohex(number [, digits])`: upper case if the count is negative, at most eight digits.
fn tohex(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let value = bits(frame, 1)?;
    let count = if frame.count() < 2 { 8 } else { bits(frame, 2)?.cast_signed() };
    let text = if count < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    frame.push_bytes(&text.as_bytes()[8 - count.unsigned_abs().min(8) as usize..])?;
    Ok(1)
}
