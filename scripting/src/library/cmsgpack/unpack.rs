//! Decoding of MessagePack.

use crate::library::frame::{Frame, Value};
use crate::library::raise::Raise;
use std::ffi::c_int;

/// `cmsgpack.unpack(text)`: returns all values.
pub(super) fn unpack(frame: &Frame<'_>) -> Result<c_int, Raise> {
    values(frame, 0, 0)
}

/// `cmsgpack.unpack_one(text [, offset])`: returns the offset behind the value, and the value.
pub(super) fn unpack_one(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let offset = frame.optional_integer(2, 0)?;
    values(frame, 1, offset)
}

/// `cmsgpack.unpack_limit(text, count [, offset])`: returns the offset behind the values, and up to `count` values.
pub(super) fn unpack_limit(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let limit = frame.integer(2)?;
    let offset = frame.optional_integer(3, 0)?;
    values(frame, limit, offset)
}

/// Returns up to `limit` values from an offset on, and the offset behind them: -1 at the end. If both numbers are 0,
/// returns all values alone.
fn values(frame: &Frame<'_>, limit: i64, offset: i64) -> Result<c_int, Raise> {
    let text = frame.bytes(1)?;
    if offset < 0 || limit < 0 {
        // The text shows the length in place of the limit, as in Redis.
        let (offset, len) = (offset as c_int, text.len() as c_int);
        let text = format!("Invalid request to unpack with offset of {offset} and limit of {len}.");
        return Err(Raise::error(text.into_bytes()));
    }
    let Some(rest) = text.get(offset as usize..) else {
        let offset = offset as c_int;
        let text = format!("Start offset {offset} greater than input length {}.", text.len());
        return Err(Raise::error(text.into_bytes()));
    };
    let all = limit == 0 && offset == 0;
    let mut unpacker = Unpacker { frame, rest, levels: Vec::new() };
    let mut count = 0;
    while !unpacker.rest.is_empty() && (all || i64::from(count) < limit) {
        unpacker.value()?;
        count += 1;
    }
    if all {
        return Ok(count);
    }
    frame.reserve(1, "in function mp_unpack_full")?;
    let left = unpacker.rest.len();
    frame.push_number(if left == 0 { -1.0 } else { (text.len() - left) as f64 })?;
    frame.sink(count);
    Ok(count + 1)
}

struct Unpacker<'f> {
    frame: &'f Frame<'f>,
    rest: &'f [u8],
    levels: Vec<Level>,
}

/// A table on the stack that is being filled, and the number of items that have not come yet.
enum Level {
    /// An array. The index of the next element is above it.
    Array { next: u32, left: u32 },
    /// A map. Above it is the key of the next value, or nothing.
    Map { left: u32, has_key: bool },
}

/// An item of the encoded text.
enum Item {
    /// A value that has been pushed already.
    Plain,
    Array(u32),
    Map(u32),
}

impl<'f> Unpacker<'f> {
    /// Pushes one value; a table with all its content. Nothing is allocated for a count that is only announced.
    fn value(&mut self) -> Result<(), Raise> {
        loop {
            self.frame.poll()?;
            let mut is_whole = match self.item()? {
                Item::Plain => true,
                Item::Array(left) => {
                    self.frame.push_table(0, 0)?;
                    self.frame.ensure(1, "in function mp_decode_to_lua_array")?;
                    self.levels.push(Level::Array { next: 1, left });
                    false
                }
                Item::Map(left) => {
                    self.frame.push_table(0, 0)?;
                    self.levels.push(Level::Map { left, has_key: false });
                    false
                }
            };
            loop {
                if is_whole && !self.put()? {
                    return Ok(());
                }
                if self.is_more_to_come()? {
                    break;
                }
                self.levels.pop();
                is_whole = true;
            }
        }
    }

    /// Puts the value on top into its table. Returns false if the value belongs to no table.
    fn put(&mut self) -> Result<bool, Raise> {
        match self.levels.last_mut() {
            None => return Ok(false),
            Some(Level::Map { has_key: has_key @ false, .. }) => *has_key = true,
            Some(Level::Map { has_key, .. }) => {
                *has_key = false;
                match self.frame.pushed(1) {
                    Value::Nil => return Err(Raise::bare(b"table index is nil".as_slice())),
                    Value::Number(key) if key.is_nan() => {
                        return Err(Raise::bare(b"table index is NaN".as_slice()));
                    }
                    _ => self.frame.set()?,
                }
            }
            Some(Level::Array { .. }) => self.frame.set()?,
        }
        Ok(true)
    }

    /// Whether the innermost table lacks an item. If it is an array, pushes the index of the next element.
    fn is_more_to_come(&mut self) -> Result<bool, Raise> {
        match self.levels.last_mut() {
            None | Some(Level::Map { has_key: true, .. }) => {}
            Some(Level::Array { left: 0, .. } | Level::Map { left: 0, .. }) => return Ok(false),
            Some(Level::Map { left, .. }) => *left -= 1,
            Some(Level::Array { next, left }) => {
                self.frame.push_number(f64::from(*next))?;
                *next = next.wrapping_add(1);
                *left -= 1;
            }
        }
        Ok(true)
    }

    /// Reads the next item. A value other than a table is pushed.
    fn item(&mut self) -> Result<Item, Raise> {
        let [first] = self.take()?;
        let frame = self.frame;
        frame.ensure(1, "too many return values at once; use unpack_one or unpack_limit instead.")?;
        match first {
            0x00..=0x7F => frame.push_number(f64::from(first))?,
            0x80..=0x8F => return Ok(Item::Map(u32::from(first & 0xF))),
            0x90..=0x9F => return Ok(Item::Array(u32::from(first & 0xF))),
            0xA0..=0xBF => self.string(u32::from(first & 0x1F))?,
            0xC0 => frame.push_nil()?,
            0xC2 | 0xC3 => frame.push_boolean(first == 0xC3)?,
            0xCA => frame.push_number(f64::from(f32::from_be_bytes(self.take()?)))?,
            0xCB => frame.push_number(f64::from_be_bytes(self.take()?))?,
            0xCC => frame.push_number(f64::from(u8::from_be_bytes(self.take()?)))?,
            0xCD => frame.push_number(f64::from(u16::from_be_bytes(self.take()?)))?,
            0xCE => frame.push_number(f64::from(u32::from_be_bytes(self.take()?)))?,
            // The unsigned form is read as a signed one, as in Redis.
            0xCF | 0xD3 => frame.push_number(i64::from_be_bytes(self.take()?) as f64)?,
            0xD0 => frame.push_number(f64::from(i8::from_be_bytes(self.take()?)))?,
            0xD1 => frame.push_number(f64::from(i16::from_be_bytes(self.take()?)))?,
            0xD2 => frame.push_number(f64::from(i32::from_be_bytes(self.take()?)))?,
            0xD9 => {
                let len = u8::from_be_bytes(self.take()?);
                self.string(u32::from(len))?;
            }
            0xDA => {
                let len = self.short()?;
                self.string(len)?;
            }
            0xDB => {
                let len = u32::from_be_bytes(self.take()?);
                self.string(len)?;
            }
            0xDC => return Ok(Item::Array(self.short()?)),
            0xDD => return Ok(Item::Array(u32::from_be_bytes(self.take()?))),
            0xDE => return Ok(Item::Map(self.short()?)),
            0xDF => return Ok(Item::Map(u32::from_be_bytes(self.take()?))),
            0xE0..=0xFF => frame.push_number(f64::from(first.cast_signed()))?,
            // An unused code, binary strings, and extensions.
            0xC1 | 0xC4..=0xC9 | 0xD4..=0xD8 => {
                return Err(Raise::error(b"Bad data format in input.".as_slice()));
            }
        }
        Ok(Item::Plain)
    }

    /// Takes the next bytes.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Raise> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(missing)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn short(&mut self) -> Result<u32, Raise> {
        Ok(u32::from(u16::from_be_bytes(self.take()?)))
    }

    fn string(&mut self, len: u32) -> Result<(), Raise> {
        let (bytes, rest) = self.rest.split_at_checked(len as usize).ok_or_else(missing)?;
        self.rest = rest;
        self.frame.push_bytes(bytes)
    }
}

#[cold]
fn missing() -> Raise {
    Raise::error(b"Missing bytes in input.".as_slice())
}
