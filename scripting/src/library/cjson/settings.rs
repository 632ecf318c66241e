//! The settings that scripts can change.

use crate::error::{joined, until_nul};
use crate::library::frame::{Frame, Value};
use crate::library::raise::Raise;
use std::cell::Cell;
use std::ffi::c_int;

/// The indexes of the settings.
const SPARSE_CONVERT: usize = 0;
const SPARSE_RATIO: usize = 1;
const SPARSE_SAFE: usize = 2;
const ENCODE_DEPTH: usize = 3;
const DECODE_DEPTH: usize = 4;
const PRECISION: usize = 5;
const KEEP_BUFFER: usize = 6;
const ENCODE_INVALID: usize = 7;
const DECODE_INVALID: usize = 8;

/// The initial settings.
pub(super) const DEFAULTS: [c_int; 9] = [0, 2, 10, 1000, 1000, 14, 1, 0, 1];

/// The treatment of a number that JSON cannot represent.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Invalid {
    Refused,
    Written,
    Null,
}

/// The settings of encoding.
#[derive(Clone, Copy)]
pub(super) struct Encoding {
    /// Whether an array with many holes becomes an object.
    pub(super) sparse_convert: bool,
    /// The most times that the length of an array may exceed its number of elements. 0: no limit.
    pub(super) sparse_ratio: c_int,
    /// The length up to which an array may be sparse in any case.
    pub(super) sparse_safe: c_int,
    pub(super) max_depth: c_int,
    /// The digits of a number, 1 to 14.
    pub(super) precision: usize,
    pub(super) invalid: Invalid,
}

/// The settings of decoding.
#[derive(Clone, Copy)]
pub(super) struct Decoding {
    pub(super) max_depth: c_int,
    /// Whether numbers that JSON does not have are accepted.
    pub(super) invalid: bool,
}

impl Encoding {
    pub(super) fn of(frame: &Frame<'_>) -> Encoding {
        let get = |place: usize| frame.settings()[place].get();
        Encoding {
            sparse_convert: get(SPARSE_CONVERT) != 0,
            sparse_ratio: get(SPARSE_RATIO),
            sparse_safe: get(SPARSE_SAFE),
            max_depth: get(ENCODE_DEPTH),
            precision: get(PRECISION) as usize,
            invalid: match get(ENCODE_INVALID) {
                0 => Invalid::Refused,
                1 => Invalid::Written,
                _ => Invalid::Null,
            },
        }
    }
}

impl Decoding {
    pub(super) fn of(frame: &Frame<'_>) -> Decoding {
        let settings = frame.settings();
        Decoding { max_depth: settings[DECODE_DEPTH].get(), invalid: settings[DECODE_INVALID].get() != 0 }
    }
}

/// `cjson.encode_sparse_array([convert [, ratio [, safe]]])`.
pub(super) fn encode_sparse_array(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 3)?;
    choice(frame, 1, SPARSE_CONVERT, SWITCH)?;
    integer(frame, 2, SPARSE_RATIO, 0, c_int::MAX)?;
    integer(frame, 3, SPARSE_SAFE, 0, c_int::MAX)?;
    Ok(3)
}

/// `cjson.encode_max_depth([depth])`.
pub(super) fn encode_max_depth(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    integer(frame, 1, ENCODE_DEPTH, 1, c_int::MAX)
}

/// `cjson.decode_max_depth([depth])`.
pub(super) fn decode_max_depth(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    integer(frame, 1, DECODE_DEPTH, 1, c_int::MAX)
}

/// `cjson.encode_number_precision([digits])`.
pub(super) fn encode_number_precision(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    integer(frame, 1, PRECISION, 1, 14)
}

/// `cjson.encode_keep_buffer([keep])`: stored, but without effect. The space for a text is kept as long as a script
/// runs.
pub(super) fn encode_keep_buffer(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    choice(frame, 1, KEEP_BUFFER, SWITCH)
}

/// `cjson.encode_invalid_numbers([which])`.
pub(super) fn encode_invalid_numbers(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    choice(frame, 1, ENCODE_INVALID, &["off", "on", "null"])
}

/// `cjson.decode_invalid_numbers([which])`.
pub(super) fn decode_invalid_numbers(frame: &Frame<'_>) -> Result<c_int, Raise> {
    at_most(frame, 1)?;
    choice(frame, 1, DECODE_INVALID, SWITCH)
}

/// The names of a setting that is on or off.
const SWITCH: &[&str] = &["off", "on"];

fn at_most(frame: &Frame<'_>, count: c_int) -> Result<(), Raise> {
    if frame.count() > count {
        return Err(Raise::argument(count + 1, b"found too many arguments".as_slice()));
    }
    Ok(())
}

fn setting<'f>(frame: &'f Frame<'_>, place: usize) -> &'f Cell<c_int> {
    &frame.settings()[place]
}

/// Sets an integer if there is an argument, and returns the present value.
fn integer(frame: &Frame<'_>, argument: c_int, place: usize, min: c_int, max: c_int) -> Result<c_int, Raise> {
    if !matches!(frame.value(argument), Value::None | Value::Nil) {
        let value = frame.integer(argument)? as c_int;
        if !(min..=max).contains(&value) {
            // Always the first argument, as in Redis.
            let text = format!("expected integer between {min} and {max}");
            return Err(Raise::argument(1, text.into_bytes()));
        }
        setting(frame, place).set(value);
    }
    frame.push_number(f64::from(setting(frame, place).get()))?;
    Ok(1)
}

/// Sets one of several names if there is an argument, and returns the present value. Booleans stand for the first two
/// names.
fn choice(frame: &Frame<'_>, argument: c_int, place: usize, names: &[&str]) -> Result<c_int, Raise> {
    match frame.value(argument) {
        Value::None | Value::Nil => {}
        Value::Boolean(value) => setting(frame, place).set(c_int::from(value)),
        _ => {
            let name = until_nul(frame.bytes(argument)?);
            let Some(value) = names.iter().position(|known| known.as_bytes() == name) else {
                let text = joined(&[b"invalid option '", name, b"'"]);
                return Err(text.map_or_else(|_| Raise::memory(), |text| Raise::argument(argument, text)));
            };
            setting(frame, place).set(value as c_int);
        }
    }
    match setting(frame, place).get() {
        value @ 0..=1 => frame.push_boolean(value == 1)?,
        value => frame.push_bytes(names[value as usize].as_bytes())?,
    }
    Ok(1)
}
