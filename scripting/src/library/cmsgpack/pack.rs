//! Encoding of values as MessagePack, each in its shortest form.

use crate::library::buffer::Buffer;
use crate::library::frame::{Frame, Keys, Place, View, Walk};
use crate::library::raise::Raise;
use std::ffi::c_int;

/// The depth at which a nested table is written as nil, because a table may contain itself.
const MAX_DEPTH: usize = 16;

/// `cmsgpack.pack(value, ...)`: returns the encoded values in turn.
pub(super) fn pack(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let count = frame.count();
    if count == 0 {
        return Err(Raise::argument(0, b"MessagePack pack needs input.".as_slice()));
    }
    if !frame.has_slots(count) {
        return Err(Raise::argument(0, b"Too many arguments for MessagePack pack.".as_slice()));
    }
    let mut packer =
        Packer { frame, out: Buffer::new(frame), walk: Walk::new(frame), levels: Vec::new(), above: 0 };
    for argument in 1..=count {
        frame.reserve(argument, "in function mp_check")?;
        packer.above = argument;
        match frame.value(argument).in_table() {
            View::Table(()) => {
                packer.begin(argument)?;
                packer.run()?;
            }
            plain => append_plain(&mut packer.out, plain)?,
        }
    }
    let Packer { out, walk, .. } = packer;
    drop(walk);
    frame.push_bytes(&out)?;
    Ok(1)
}

struct Packer<'f> {
    frame: &'f Frame<'f>,
    out: Buffer<'f>,
    walk: Walk<'f>,
    levels: Vec<Level>,
    /// The additional slots that Redis uses: for the texts of arguments, and for a copy of a key that is a table.
    above: c_int,
}

/// A table that is being written, and its slot.
enum Level {
    Array { slot: c_int, next: usize, len: usize },
    Map { slot: c_int, place: Place, pushed: Pushed },
}

/// The parts of a field that are above its table on the stack.
#[derive(Clone, Copy)]
enum Pushed {
    Nothing,
    /// The key and the value. The value, in this slot, has not been written yet.
    Value(c_int),
    /// The key and the value, which have both been written.
    Written,
}

impl Packer<'_> {
    /// Begins the table in a slot, or writes nil if it is too deep; returns whether it has begun.
    fn begin(&mut self, slot: c_int) -> Result<bool, Raise> {
        if self.levels.len() == MAX_DEPTH {
            self.out.append(&[NIL])?;
            return Ok(false);
        }
        self.frame.reserve(self.above + 2, "in function table_is_an_array")?;
        let keys = self.walk.keys(slot)?;
        let is_array = match keys {
            Keys::List(_) => true,
            Keys::Named(_) => false,
            Keys::Unknown => is_array(&mut self.walk, slot)?,
        };
        let level = if is_array {
            let len = self.walk.border(slot);
            append_len(&mut self.out, len, &ARRAY)?;
            self.frame.reserve(self.above + 1, "in function mp_encode_lua_table_as_array")?;
            Level::Array { slot, next: 1, len }
        } else {
            self.frame.reserve(self.above + 3, "in function mp_encode_lua_table_as_map")?;
            let len = match keys {
                Keys::Named(count) => count as usize,
                _ => count_fields(&mut self.walk, slot)?,
            };
            append_len(&mut self.out, len, &MAP)?;
            Level::Map { slot, place: Place::default(), pushed: Pushed::Nothing }
        };
        self.levels.push(level);
        Ok(true)
    }

    /// Writes the tables that have been begun.
    fn run(&mut self) -> Result<(), Raise> {
        while let Some(level) = self.levels.pop() {
            match level {
                Level::Array { slot, next, len } => self.array(slot, next, len)?,
                Level::Map { slot, place, pushed } => self.map(slot, place, pushed)?,
            }
        }
        Ok(())
    }

    /// Writes elements, to the end or up to a table that is begun.
    fn array(&mut self, slot: c_int, mut next: usize, len: usize) -> Result<(), Raise> {
        while next <= len {
            let element = next as c_int;
            next += 1;
            if let Some(plain) = self.walk.element(slot, element).plain() {
                append_plain(&mut self.out, plain)?;
                continue;
            }
            let inner = self.walk.push_element(slot, element)?;
            self.levels.push(Level::Array { slot, next, len });
            if self.begin(inner)? {
                return Ok(());
            }
            self.levels.pop();
            self.walk.leave(1);
        }
        self.end();
        Ok(())
    }

    /// Writes fields, to the end or up to a table that is begun.
    fn map(&mut self, slot: c_int, mut place: Place, mut pushed: Pushed) -> Result<(), Raise> {
        loop {
            let table = match pushed {
                Pushed::Nothing => match self.walk.field(slot, &mut place)? {
                    None => break,
                    Some((View::Table(()), _)) => {
                        let value = self.walk.push_field(slot, place)?;
                        pushed = Pushed::Value(value);
                        self.above += 1;
                        value - 1
                    }
                    Some((key, value)) => {
                        append_plain(&mut self.out, key)?;
                        if let Some(plain) = value.plain() {
                            append_plain(&mut self.out, plain)?;
                            continue;
                        }
                        pushed = Pushed::Written;
                        self.walk.push_field(slot, place)?
                    }
                },
                Pushed::Value(value) => {
                    pushed = Pushed::Written;
                    self.above -= 1;
                    match self.walk.pushed(value).plain() {
                        None => value,
                        Some(plain) => {
                            append_plain(&mut self.out, plain)?;
                            continue;
                        }
                    }
                }
                Pushed::Written => {
                    self.walk.leave(2);
                    pushed = Pushed::Nothing;
                    continue;
                }
            };
            self.levels.push(Level::Map { slot, place, pushed });
            if self.begin(table)? {
                return Ok(());
            }
            self.levels.pop();
        }
        self.end();
        Ok(())
    }

    /// Ends a table, which has been written. If it is an element, removes it from the stack.
    fn end(&mut self) {
        if let Some(Level::Array { .. }) = self.levels.last() {
            self.walk.leave(1);
        }
    }
}

fn count_fields(walk: &mut Walk<'_>, slot: c_int) -> Result<usize, Raise> {
    let (mut place, mut count) = (Place::default(), 0);
    while walk.field(slot, &mut place)?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Whether a table is written as an array: its keys are the numbers from 1 to their count.
fn is_array(walk: &mut Walk<'_>, slot: c_int) -> Result<bool, Raise> {
    let (mut max, mut count) = (0.0_f64, 0.0);
    let mut place = Place::default();
    while let Some((key, _)) = walk.field(slot, &mut place)? {
        match key {
            View::Number(key) if key > 0.0 && key.trunc() == key && key <= f64::from(c_int::MAX) => {
                max = max.max(key);
                count += 1.0;
            }
            _ => return Ok(false),
        }
    }
    Ok(max == count)
}

const NIL: u8 = 0xC0;

/// The encoding of a length: the first byte and the limit of a short one, then the first bytes before 1, 2 and 4 bytes.
struct Lengths {
    short: (u8, usize),
    byte: Option<u8>,
    two: u8,
    four: u8,
}

const STRING: Lengths = Lengths { short: (0xA0, 32), byte: Some(0xD9), two: 0xDA, four: 0xDB };
const ARRAY: Lengths = Lengths { short: (0x90, 16), byte: None, two: 0xDC, four: 0xDD };
const MAP: Lengths = Lengths { short: (0x80, 16), byte: None, two: 0xDE, four: 0xDF };

fn append_len(out: &mut Buffer<'_>, len: usize, lengths: &Lengths) -> Result<(), Raise> {
    if len < lengths.short.1 {
        return out.append(&[lengths.short.0 | len as u8]);
    }
    match (u8::try_from(len), u16::try_from(len), lengths.byte) {
        (Ok(len), _, Some(first)) => out.append(&[first, len]),
        (_, Ok(len), _) => append_number(out, lengths.two, len.to_be_bytes()),
        // No string or table is longer than the limit of memory.
        _ => append_number(out, lengths.four, (len as u32).to_be_bytes()),
    }
}

/// Appends a type byte, and a number from its highest byte on.
fn append_number<const N: usize>(out: &mut Buffer<'_>, first: u8, bytes: [u8; N]) -> Result<(), Raise> {
    let mut text = [first; 9];
    text[1..=N].copy_from_slice(&bytes);
    out.append(&text[..=N])
}

/// Writes a value other than a table; nil if the value has no encoding.
#[inline]
fn append_plain(out: &mut Buffer<'_>, value: View<'_>) -> Result<(), Raise> {
    match value {
        View::String(text) => {
            append_len(out, text.len(), &STRING)?;
            out.append(text)
        }
        View::Number(number) => append_lua_number(out, number),
        View::Boolean(value) => out.append(&[0xC2 | u8::from(value)]),
        View::None | View::Nil | View::Null | View::Table(()) | View::Other(_) => out.append(&[NIL]),
    }
}

/// Writes an integer in the fewest bytes, or another number in four bytes if that loses nothing.
fn append_lua_number(out: &mut Buffer<'_>, number: f64) -> Result<(), Raise> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.trunc() == number && (-LIMIT..LIMIT).contains(&number) {
        return append_integer(out, number as i64);
    }
    let narrow = number as f32;
    if f64::from(narrow) == number {
        append_number(out, 0xCA, narrow.to_be_bytes())
    } else {
        append_number(out, 0xCB, number.to_be_bytes())
    }
}

fn append_integer(out: &mut Buffer<'_>, number: i64) -> Result<(), Raise> {
    match number {
        0..=0x7F => out.append(&[number as u8]),
        0x80..=0xFF => out.append(&[0xCC, number as u8]),
        0x100..=0xFFFF => append_number(out, 0xCD, (number as u16).to_be_bytes()),
        0x1_0000..=0xFFFF_FFFF => append_number(out, 0xCE, (number as u32).to_be_bytes()),
        0x1_0000_0000.. => append_number(out, 0xCF, number.to_be_bytes()),
        -32..0 => out.append(&[number as u8]),
        -0x80..-32 => out.append(&[0xD0, number as u8]),
        -0x8000..-0x80 => append_number(out, 0xD1, (number as i16).to_be_bytes()),
        -0x8000_0000..-0x8000 => append_number(out, 0xD2, (number as i32).to_be_bytes()),
        ..-0x8000_0000 => append_number(out, 0xD3, number.to_be_bytes()),
    }
}
