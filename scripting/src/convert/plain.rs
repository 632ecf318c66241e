//! Values other than tables.

use crate::ffi::{self, *};
use lockwheel_resp::{Protocol, Reply};
use std::ffi::c_int;

/// Writes the value on top, which must not be a table, and leaves it there. Returns the length of its text.
///
/// # Safety
///
/// See [`write_result`](super::write_result). A value of this type must be on top.
pub(super) unsafe fn write_plain(
    state: *mut lua_State,
    kind: c_int,
    protocol: Protocol,
    reply: &mut dyn Reply,
) -> usize {
    // SAFETY: a value of this type is on top, and is read as what it is; the text stays there while it is written.
    unsafe {
        match kind {
            LUA_TSTRING => {
                let text = ffi::string(state, -1);
                reply.bulk(text);
                return text.len();
            }
            LUA_TNUMBER => reply.integer(truncated(lua_tonumber(state, -1))),
            LUA_TBOOLEAN => boolean(lua_toboolean(state, -1) != 0, protocol, reply),
            _ => reply.null(),
        }
    }
    0
}

/// Writes a boolean in the form of the protocol that the script has chosen, even if the client uses another one.
fn boolean(value: bool, protocol: Protocol, reply: &mut dyn Reply) {
    match (protocol, value) {
        (Protocol::Resp3, value) => reply.boolean(value),
        (Protocol::Resp2, true) => reply.integer(1),
        (Protocol::Resp2, false) => reply.null(),
    }
}

/// Converts a number as C does on the machines that Redis runs on: a number out of range becomes the least integer.
pub(crate) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::truncated;

    #[test]
    fn numbers_are_cut_as_c_does() {
        for (value, integer) in [
            (3.99, 3),
            (-3.99, -3),
            (1e300, i64::MIN),
            (-1e300, i64::MIN),
            (f64::NAN, i64::MIN),
            (9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784),
            (-9_223_372_036_854_775_808.0, i64::MIN),
        ] {
            assert_eq!(truncated(value), integer);
        }
    }
}
