//! Replacements for functions of `math` that depend on the machine.

use super::frame::Frame;
use super::raise::Raise;
use super::registration::Library;
use crate::random::Random;
use std::ffi::c_int;

/// The functions that replace Lua's own.
pub(super) const LIBRARY: Library =
    Library::plain(c"math", &[(c"random", random), (c"randomseed", randomseed)], &[]);

/// `math.random([[low,] high])`.
fn random(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let context = frame.context();
    let mut random = context.random.get();
    let unit = random.unit();
    context.random.set(random);
    let (low, high, last) = match frame.count() {
        0 => {
            frame.push_number(unit)?;
            return Ok(1);
        }
        1 => (1, frame.integer(1)? as i32, 1),
        2 => (frame.integer(1)? as i32, frame.integer(2)? as i32, 2),
        _ => return Err(Raise::error(b"wrong number of arguments".as_slice())),
    };
    if low > high {
        return Err(Raise::argument(last, b"interval is empty".as_slice()));
    }
    // The difference wraps, as in C.
    let span = f64::from(high.wrapping_sub(low).wrapping_add(1));
    frame.push_number((unit * span).floor() + f64::from(low))?;
    Ok(1)
}

/// `math.randomseed(seed)`.
fn randomseed(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let seed = frame.integer(1)? as i32;
    frame.context().random.set(Random::seeded(seed));
    Ok(0)
}
