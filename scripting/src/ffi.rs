//! The interpreter's C interface, and a few frequent combinations of its calls.

pub(crate) use lockwheel_lua_sys::*;

use std::ffi::{CStr, c_int};

/// The arguments include a value other than a string or number. Not all arguments are written.
pub(crate) const ARGUMENTS_NEITHER: c_int = 0;
/// The arguments include numbers.
pub(crate) const ARGUMENTS_NUMBERS: c_int = 2;

/// Pushes a copy of `text`.
///
/// # Safety
///
/// The state must be live, with a free slot. May raise an error of memory, unless the limit is suspended.
pub(crate) unsafe fn push(state: *mut lua_State, text: &[u8]) {
    // SAFETY: the bytes are copied before this returns, and the slot is free.
    unsafe { lua_pushlstring(state, text.as_ptr().cast(), text.len()) }
}

/// The string at `index`, valid as long as it stays on the stack.
///
/// # Safety
///
/// A string, not a number, must be at `index`, and stay there for `'a`.
pub(crate) unsafe fn string<'a>(state: *mut lua_State, index: c_int) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: the index holds a string: it is neither converted nor null.
    unsafe {
        let text = lua_tolstring(state, index, &mut len);
        std::slice::from_raw_parts(text.cast(), len)
    }
}

/// Pushes the field `name` of the table at `index`, ignoring its metatable.
///
/// # Safety
///
/// See [`push`]. A table must be at `index`, which must be absolute.
pub(crate) unsafe fn raw_field(state: *mut lua_State, index: c_int, name: &[u8]) {
    // SAFETY: the name takes the free slot and the value its place; the table's index is absolute, so it still means
    // the table.
    unsafe {
        push(state, name);
        lua_rawget(state, index);
    }
}

/// Pops a value into the field `name` of the table below it.
///
/// # Safety
///
/// See [`push`]. A writable table must be below the top.
pub(crate) unsafe fn set_field(state: *mut lua_State, name: &CStr) {
    // SAFETY: the value is on top of the table, and the name ends with a zero as every `CStr`.
    unsafe { lua_setfield(state, -2, name.as_ptr()) }
}

/// Whether a value can be a table's key: it is neither nil nor NaN.
///
/// # Safety
///
/// A value must be at `index`.
pub(crate) unsafe fn is_key(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: there is a value at the index; it is read as a number only if it is one.
    unsafe {
        match lua_type(state, index) {
            LUA_TNIL => false,
            LUA_TNUMBER => !lua_tonumber(state, index).is_nan(),
            _ => true,
        }
    }
}
