//! Values that are no tables.

use crate::ffi::{self, *};
use lockwheel_resp::{Protocol, Reply};
use std::ffi::c_int;

/// Writes the value on top, of a type that is no table's, and leaves it there. The length of its text.
///
/// # Safety
///
/// As for [`write_result`](super::write_result); a value of this type is on top.
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

/// A boolean, as the protocol that the script has chosen has it, whatever the client's.
fn boolean(value: bool, protocol: Protocol, reply: &mut dyn Reply) {
    match (protocol, value) {
        (Protocol::Resp3, value) => reply.boolean(value),
        (Protocol::Resp2, true) => reply.integer(1),
        (Protocol::Resp2, false) => reply.null(),
    }
}

/// As C converts it on the machines that Redis runs on: what is out of range becomes the least integer.
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
