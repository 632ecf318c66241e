//! The library `struct`: conversion between bytes and numbers or strings, like the copy of the library in Redis.
//!
//! Formats: `>` and `<` are the byte order, `!n` the alignment. `b`, `B`, `h`, `H`, `i`, `In`, `l`, `L` and `T` are
//! integers of 1, 2, 4 or n, and 8 bytes. `f` and `d` are floats, `s` is a string that ends at a NUL. `cn` is a string
//! of n bytes; the length of `c0` is the number before it. `x` is a byte of padding. All error texts and corner cases
//! are those of a running server.

use super::buffer::Buffer;
use super::frame::Frame;
use super::raise::Raise;
use super::registration::Library;
use crate::convert::truncated;
use std::ffi::c_int;

/// The library.
pub(super) const LIBRARY: Library =
    Library::plain(c"struct", &[(c"pack", pack), (c"unpack", unpack), (c"size", size)], &[]);

/// The alignment of `!` without a number.
const MAX_ALIGN: c_int = 8;
/// The largest size of an integer.
const MAX_INT: usize = 32;

/// A format that is being read.
struct Format<'f> {
    frame: &'f Frame<'f>,
    /// The rest of the format. A NUL ends it.
    rest: &'f [u8],
    big_endian: bool,
    align: usize,
}

/// One item of a format.
#[derive(Clone, Copy)]
struct Item {
    option: u8,
    /// The size; 0 for a string whose length is not in the format.
    size: usize,
    /// The bytes of padding before the item.
    padding: usize,
}

impl<'f> Format<'f> {
    /// The format in the first argument.
    fn first_argument(frame: &'f Frame<'f>) -> Result<Format<'f>, Raise> {
        let rest = frame.bytes(1)?;
        Ok(Format { frame, rest, big_endian: cfg!(target_endian = "big"), align: 1 })
    }

    /// The next item, at a position of the data. Returns `None` at the end.
    #[inline]
    fn next(&mut self, position: usize) -> Result<Option<Item>, Raise> {
        self.frame.poll()?;
        let [option, rest @ ..] = self.rest else { return Ok(None) };
        if *option == 0 {
            return Ok(None);
        }
        self.rest = rest;
        let size = self.size_of(*option)?;
        Ok(Some(Item { option: *option, size, padding: self.padding(position, *option, size) }))
    }

    fn size_of(&mut self, option: u8) -> Result<usize, Raise> {
        Ok(match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'f' => 4,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'i' | b'I' => {
                let size = self.number(4)? as usize;
                if size > MAX_INT {
                    let text = format!("integral size {size} is larger than limit of {MAX_INT}");
                    return Err(Raise::error(text.into_bytes()));
                }
                size
            }
            b'c' => self.number(1)? as usize,
            _ => 0,
        })
    }

    /// Reads a number in the format. Returns `default` if there is none.
    fn number(&mut self, default: c_int) -> Result<c_int, Raise> {
        let mut value: Option<c_int> = None;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            let digit = c_int::from(digit - b'0');
            let longer = value.unwrap_or(0).checked_mul(10).and_then(|value| value.checked_add(digit));
            value = Some(longer.ok_or_else(|| Raise::error(b"integral size overflow".as_slice()))?);
            self.rest = rest;
        }
        Ok(value.unwrap_or(default))
    }

    fn padding(&self, position: usize, option: u8, size: usize) -> usize {
        if size == 0 || option == b'c' {
            return 0;
        }
        // Sizes that are not powers of two give odd results, the same as in Redis.
        let size = size.min(self.align);
        (size - (position & (size - 1))) & (size - 1)
    }

    /// Handles an item that is not a value: a space, the byte order, the alignment. Anything else is an error.
    fn control(&mut self, option: u8) -> Result<(), Raise> {
        match option {
            b' ' => {}
            b'>' => self.big_endian = true,
            b'<' => self.big_endian = false,
            b'!' => {
                let align = self.number(MAX_ALIGN)?;
                if align <= 0 || align & (align - 1) != 0 {
                    let text = format!("alignment {align} is not a power of 2");
                    return Err(Raise::error(text.into_bytes()));
                }
                self.align = align as usize;
            }
            _ => {
                let text = [b"invalid format option '", [option].as_slice(), b"'"].concat();
                return Err(Raise::argument(1, text));
            }
        }
        Ok(())
    }
}

/// `struct.pack(format, ...)`: returns the values as a string.
fn pack(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let mut format = Format::first_argument(frame)?;
    let mut argument = 2;
    // In Redis a nil is above the arguments, and shows in the error texts for missing ones.
    frame.push_nil()?;
    let mut output = Buffer::new(frame);
    while let Some(item) = format.next(output.len())? {
        if item.padding > 0 {
            output.append(zeros(item.padding))?;
        }
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let value = unsigned(frame.number(argument)?).to_le_bytes();
                let mut bytes = [0; MAX_INT];
                bytes[..value.len()].copy_from_slice(&value);
                output.append(in_order(&mut bytes[..item.size], format.big_endian))?;
            }
            b'f' => {
                let mut bytes = (frame.number(argument)? as f32).to_le_bytes();
                output.append(in_order(&mut bytes, format.big_endian))?;
            }
            b'd' => {
                let mut bytes = frame.number(argument)?.to_le_bytes();
                output.append(in_order(&mut bytes, format.big_endian))?;
            }
            b'c' | b's' => {
                output.append(string_argument(frame, argument, item.size)?)?;
                if item.option == b's' {
                    output.append(zeros(1))?;
                }
            }
            option => {
                if option == b'x' {
                    output.append(zeros(1))?;
                } else {
                    format.control(option)?;
                }
                continue;
            }
        }
        argument += 1;
    }
    frame.push_bytes(&output)?;
    Ok(1)
}

/// A slice of `count` zeros, which is at most the largest alignment.
fn zeros(count: usize) -> &'static [u8] {
    const ZEROS: [u8; MAX_INT] = [0; MAX_INT];
    &ZEROS[..count.min(MAX_INT)]
}

/// Returns bytes, given lowest first, in the order of the format.
fn in_order(bytes: &mut [u8], big_endian: bool) -> &[u8] {
    if big_endian {
        bytes.reverse();
    }
    bytes
}

/// A string argument, truncated to `size` if that is not 0.
fn string_argument<'f>(frame: &'f Frame<'_>, argument: c_int, size: usize) -> Result<&'f [u8], Raise> {
    let text = frame.bytes(argument)?;
    let size = if size == 0 { text.len() } else { size };
    // The argument's number is one too high, as in Redis.
    text.get(..size).ok_or_else(|| Raise::argument(argument + 1, b"string too short".as_slice()))
}

/// `struct.unpack(format, data [, position])`: returns the values, and the position behind them.
fn unpack(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let mut format = Format::first_argument(frame)?;
    let data = frame.bytes(2)?;
    let position = frame.optional_integer(3, 1)? as usize;
    if position == 0 {
        return Err(Raise::argument(3, b"offset must be 1 or greater".as_slice()));
    }
    let mut position = position - 1;
    let mut results = 0;
    while let Some(item) = format.next(position)? {
        position = position.wrapping_add(item.padding);
        let bytes = piece(data, position, item.size)?;
        frame.reserve(2, "too many results")?;
        position += item.size;
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let signed = item.option.is_ascii_lowercase();
                frame.push_number(integer(bytes, format.big_endian, signed))?;
            }
            b'x' => continue,
            b'f' => {
                frame.push_number(f64::from(f32::from_le_bytes(ordered(bytes, format.big_endian))))?;
            }
            b'd' => frame.push_number(f64::from_le_bytes(ordered(bytes, format.big_endian)))?,
            b'c' if item.size > 0 => frame.push_bytes(bytes)?,
            b'c' => {
                let bytes = counted(frame, data, position, results)?;
                position += bytes.len();
                // The string replaces its length.
                continue;
            }
            b's' => {
                let rest = &data[position..];
                let len = rest.iter().position(|byte| *byte == 0);
                let len = len.ok_or_else(|| Raise::error(b"unfinished string in data".as_slice()))?;
                frame.push_bytes(&rest[..len])?;
                position += len + 1;
            }
            option => {
                format.control(option)?;
                continue;
            }
        }
        results += 1;
    }
    frame.push_number(position.wrapping_add(1).cast_signed() as f64)?;
    Ok(results + 1)
}

/// A piece of the data, of `size` bytes.
fn piece(data: &[u8], position: usize, size: usize) -> Result<&[u8], Raise> {
    let piece = data.get(position..).and_then(|rest| rest.get(..size));
    piece.ok_or_else(|| Raise::argument(2, b"data string too short".as_slice()))
}

/// Reads a `c0`: the last result gives the number of bytes, which replace it.
fn counted<'d>(
    frame: &Frame<'_>,
    data: &'d [u8],
    position: usize,
    results: c_int,
) -> Result<&'d [u8], Raise> {
    let size = if results == 0 { None } else { frame.top_number()? };
    let size = size.ok_or_else(|| Raise::error(b"format 'c0' needs a previous size".as_slice()))?;
    frame.pop(1);
    let bytes = piece(data, position, unsigned(size) as usize)?;
    frame.push_bytes(bytes)?;
    Ok(bytes)
}

/// `struct.size(format)`: returns the bytes that the format takes.
fn size(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let mut format = Format::first_argument(frame)?;
    let mut total: usize = 0;
    while let Some(item) = format.next(total)? {
        total = total.wrapping_add(item.padding).wrapping_add(item.size);
        match item.option {
            b's' => return Err(Raise::argument(1, b"option 's' has no fixed size".as_slice())),
            b'c' if item.size == 0 => {
                return Err(Raise::argument(1, b"option 'c0' has no fixed size".as_slice()));
            }
            // Unknown letters have the size 0.
            option if !option.is_ascii_alphanumeric() => format.control(option)?,
            _ => {}
        }
    }
    frame.push_number(total.cast_signed() as f64)?;
    Ok(1)
}

/// Converts a number to an unsigned integer as C does on the machines that Redis runs on.
fn unsigned(value: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if value >= HALF {
        truncated(value - HALF).cast_unsigned() ^ 1 << 63
    } else {
        truncated(value).cast_unsigned()
    }
}

/// The integer in `bytes`, of which only the lowest eight count.
fn integer(bytes: &[u8], big_endian: bool, signed: bool) -> f64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) };
    if !signed {
        return value as f64;
    }
    let mask = u64::MAX.wrapping_shl((bytes.len() as u32).wrapping_mul(8).wrapping_sub(1));
    let value = if value & mask != 0 { value | mask } else { value };
    value.cast_signed() as f64
}

/// Returns the bytes lowest first. There must be `N` of them.
fn ordered<const N: usize>(bytes: &[u8], big_endian: bool) -> [u8; N] {
    let mut little = [0; N];
    little.copy_from_slice(bytes);
    if big_endian {
        little.reverse();
    }
    little
}
