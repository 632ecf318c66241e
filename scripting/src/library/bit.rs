//! The library `bit`: operations on numbers as 32 bits, as LuaBitOp has them.

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
    // With 2⁵² + 2⁵¹ added the last bit of a double stands for 1. Beyond 2⁵¹ it no longer does, and what is there
    // then is what every copy of the library gives.
    const LAST_BIT_IS_ONE: f64 = 6_755_399_441_055_744.0;
    Ok((frame.number(argument)? + LAST_BIT_IS_ONE).to_bits() as u32)
}

/// The result is a signed number.
fn answer(frame: &Frame<'_>, bits: u32) -> Result<c_int, Raise> {
    frame.push_number(f64::from(bits.cast_signed()))?;
    Ok(1)
}

/// All arguments, one after the other; the first is looked at first, then the last, then that before.
fn fold(frame: &Frame<'_>, operation: fn(u32, u32) -> u32) -> Result<c_int, Raise> {
    let mut all = bits(frame, 1)?;
    for argument in (2..=frame.count()).rev() {
        all = operation(all, bits(frame, argument)?);
    }
    answer(frame, all)
}

/// The lowest five bits of the second argument say how far.
fn shift(frame: &Frame<'_>, operation: fn(u32, u32) -> u32) -> Result<c_int, Raise> {
    let (value, by) = (bits(frame, 1)?, bits(frame, 2)?);
    answer(frame, operation(value, by & 31))
}

/// `bit.tohex(number [, digits])`: upper case if the count is negative, never more than eight.
fn tohex(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let value = bits(frame, 1)?;
    let count = if frame.count() < 2 { 8 } else { bits(frame, 2)?.cast_signed() };
    let text = if count < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    frame.push_bytes(&text.as_bytes()[8 - count.unsigned_abs().min(8) as usize..])?;
    Ok(1)
}
