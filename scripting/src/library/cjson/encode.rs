//! Encoding of values as JSON: tables that are arrays, and tables that are objects.

use super::settings::{Encoding, Invalid};
use crate::library::buffer::Buffer;
use crate::library::frame::{Frame, Keys, Place, Value, View, Walk};
use crate::library::numeral::{MAX_LEN, write_general};
use crate::library::raise::Raise;
use crate::library::search::{Word, position};
use std::ffi::c_int;

/// The slots that must be free at the beginning of a table.
const SLOTS: c_int = 3;

/// `cjson.encode(value)`: returns the text.
pub(super) fn encode(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() != 1 {
        return Err(Raise::argument(1, b"expected 1 argument".as_slice()));
    }
    let mut encoder = Encoder {
        frame,
        settings: Encoding::of(frame),
        out: Buffer::new(frame),
        walk: Walk::new(frame),
        levels: Vec::new(),
    };
    match frame.value(1).in_table() {
        View::Table(()) => {
            encoder.begin(1)?;
            encoder.run()?;
        }
        plain => append_plain(&mut encoder.out, &encoder.settings, plain)?,
    }
    let Encoder { out, walk, .. } = encoder;
    drop(walk);
    frame.push_bytes(&out)?;
    Ok(1)
}

struct Encoder<'f> {
    frame: &'f Frame<'f>,
    settings: Encoding,
    out: Buffer<'f>,
    walk: Walk<'f>,
    levels: Vec<Level>,
}

/// A table that is being written: its slot, and the position reached.
enum Level {
    Array { slot: c_int, next: c_int, len: c_int },
    Object { slot: c_int, place: Place },
}

impl Encoder<'_> {
    /// Begins the table in a slot.
    fn begin(&mut self, slot: c_int) -> Result<(), Raise> {
        let depth = self.levels.len() + 1;
        if depth > self.settings.max_depth as usize || !self.frame.has_slots(SLOTS) {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(Raise::error(text.into_bytes()));
        }
        let len = array_len(&mut self.walk, &self.settings, slot)?;
        let level = if len > 0 {
            self.out.append(b"[")?;
            Level::Array { slot, next: 1, len }
        } else {
            self.out.append(b"{")?;
            Level::Object { slot, place: Place::default() }
        };
        self.levels.push(level);
        Ok(())
    }

    /// Writes the tables that have been begun.
    fn run(&mut self) -> Result<(), Raise> {
        while let Some(level) = self.levels.last_mut() {
            let inner = match level {
                Level::Array { slot, next, len } => {
                    write_elements(&mut self.walk, &mut self.out, &self.settings, *slot, next, *len)?
                }
                Level::Object { slot, place } => {
                    write_fields(&mut self.walk, &mut self.out, &self.settings, *slot, place)?
                }
            };
            match inner {
                Some(inner) => self.begin(inner)?,
                None => self.end(),
            }
        }
        Ok(())
    }

    /// Ends the innermost table, which has been written.
    fn end(&mut self) {
        self.levels.pop();
        match self.levels.last() {
            Some(Level::Array { .. }) => self.walk.leave(1),
            Some(Level::Object { .. }) => self.walk.leave(2),
            None => {}
        }
    }
}

/// Writes elements up to one that is a table, which is pushed; returns its slot. Returns `None` after the last element.
fn write_elements(
    walk: &mut Walk<'_>,
    out: &mut Buffer<'_>,
    settings: &Encoding,
    slot: c_int,
    next: &mut c_int,
    len: c_int,
) -> Result<Option<c_int>, Raise> {
    while *next <= len {
        if *next > 1 {
            out.append(b",")?;
        }
        let element = *next;
        // The last element may be the largest integer.
        *next = element.wrapping_add(1);
        match walk.element(slot, element) {
            View::Table(()) => return walk.push_element(slot, element).map(Some),
            plain => append_plain(out, settings, plain)?,
        }
        if *next < 0 {
            break;
        }
    }
    out.append(b"]")?;
    Ok(None)
}

/// Writes fields up to one that is a table, which is pushed; returns its slot. Returns `None` after the last field.
fn write_fields(
    walk: &mut Walk<'_>,
    out: &mut Buffer<'_>,
    settings: &Encoding,
    slot: c_int,
    place: &mut Place,
) -> Result<Option<c_int>, Raise> {
    while let Some((key, value)) = {
        let is_first = place.is_start();
        let field = walk.field(slot, place)?;
        if field.is_some() && !is_first {
            out.append(b",")?;
        }
        field
    } {
        match key {
            View::Number(number) => {
                out.append(b"\"")?;
                append_number(out, settings, number)?;
                out.append(b"\":")?;
            }
            View::String(text) => {
                append_string(out, text, b"\":")?;
            }
            other => return Err(refused(&other, "table key must be a number or string")),
        }
        match value {
            View::Table(()) => return walk.push_field(slot, *place).map(Some),
            plain => append_plain(out, settings, plain)?,
        }
    }
    out.append(b"}")?;
    Ok(None)
}

/// The length of a table as an array. Not above zero if the table is an object.
fn array_len(walk: &mut Walk<'_>, settings: &Encoding, slot: c_int) -> Result<c_int, Raise> {
    let (max, count) = match walk.keys(slot)? {
        Keys::List(len) => (len, len),
        Keys::Named(_) => return Ok(-1),
        Keys::Unknown => match elements(walk, slot)? {
            Some(elements) => elements,
            None => return Ok(-1),
        },
    };
    let is_sparse = settings.sparse_ratio > 0
        && max > count.wrapping_mul(settings.sparse_ratio)
        && max > settings.sparse_safe;
    if !is_sparse {
        return Ok(max);
    }
    if settings.sparse_convert {
        return Ok(-1);
    }
    Err(refused(&View::Table(()), "excessively sparse array"))
}

/// The largest key of a table, and the number of keys. Returns `None` if a key is not an index.
fn elements(walk: &mut Walk<'_>, slot: c_int) -> Result<Option<(c_int, c_int)>, Raise> {
    let (mut max, mut count): (c_int, c_int) = (0, 0);
    let mut place = Place::default();
    while let Some((key, _)) = walk.field(slot, &mut place)? {
        match key {
            View::Number(key) if key >= 1.0 && key.floor() == key => {
                if key > f64::from(max) {
                    max = to_int(key);
                }
                count = count.wrapping_add(1);
            }
            _ => return Ok(None),
        }
    }
    Ok(Some((max, count)))
}

/// Converts a number to an `int` as C does on the machines that Redis runs on.
fn to_int(value: f64) -> c_int {
    if value < 2_147_483_648.0 { value as c_int } else { c_int::MIN }
}

#[cold]
fn refused(value: &View<'_>, reason: &str) -> Raise {
    Raise::error(format!("Cannot serialise {}: {reason}", value.type_name()).into_bytes())
}

/// Writes a value other than a table.
#[inline]
fn append_plain(out: &mut Buffer<'_>, settings: &Encoding, value: View<'_>) -> Result<(), Raise> {
    match value {
        Value::String(text) => append_string(out, text, b"\""),
        Value::Number(number) => append_number(out, settings, number),
        Value::Boolean(true) => out.append(b"true"),
        Value::Boolean(false) => out.append(b"false"),
        Value::Nil | Value::Null => out.append(b"null"),
        Value::None | Value::Table(()) | Value::Other(_) => Err(refused(&value, "type not supported")),
    }
}

fn append_number(out: &mut Buffer<'_>, settings: &Encoding, number: f64) -> Result<(), Raise> {
    if !number.is_finite() {
        match settings.invalid {
            Invalid::Refused => return Err(refused(&View::Number(number), "must not be NaN or Inf")),
            Invalid::Null => return out.append(b"null"),
            Invalid::Written if number.is_nan() => return out.append(b"nan"),
            Invalid::Written => {}
        }
    }
    let mut text = [0; MAX_LEN];
    let len = write_general(number, settings.precision, &mut text);
    out.append(&text[..len])
}

/// The form of each byte: itself (0), a letter after a backslash, or its number (1).
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 32 {
        escapes[control] = 1;
        control += 1;
    }
    escapes[127] = 1;
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes[b'/' as usize] = b'/';
    escapes[8] = b'b';
    escapes[9] = b't';
    escapes[10] = b'n';
    escapes[12] = b'f';
    escapes[13] = b'r';
    escapes
};

/// The position of the first byte that must be escaped.
#[inline(always)]
fn escape(text: &[u8]) -> Option<usize> {
    let may_have =
        |word: Word| word.has_below(32) | word.has(b'"') | word.has(b'\\') | word.has(b'/') | word.has(127);
    position(text, may_have, |byte| ESCAPES[usize::from(byte)] != 0)
}

/// Writes a string of any bytes, and `end`: a quote, and the text behind it. O(length).
fn append_string(out: &mut Buffer<'_>, text: &[u8], end: &[u8]) -> Result<(), Raise> {
    match escape(text) {
        None => out.append_all([b"\"", text, end]),
        Some(_) => append_escaped(out, text, end),
    }
}

fn append_escaped(out: &mut Buffer<'_>, mut text: &[u8], end: &[u8]) -> Result<(), Raise> {
    out.append(b"\"")?;
    while let Some(at) = escape(text) {
        out.append(&text[..at])?;
        let byte = text[at];
        match ESCAPES[usize::from(byte)] {
            1 => out.append(format!("\\u{byte:04x}").as_bytes())?,
            letter => out.append(&[b'\\', letter])?,
        }
        text = &text[at + 1..];
    }
    out.append_all([text, end])
}
