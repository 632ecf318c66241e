//! The interpreter's C interface: mlua's, and what our patches add to it.

pub(crate) use mlua::ffi::*;

use crate::context::Argument;

use std::ffi::{CStr, c_char, c_int, c_void};

// SAFETY: the parameters and results are those of the functions that the patches in scripting/lua-src append to lapi.c;
// `Argument` is laid out as their `Slice` is.
unsafe extern "C-unwind" {
    /// Makes a table read-only, or writable again. Needs a table at `index`.
    pub(crate) fn lua_setreadonly(state: *mut lua_State, index: c_int, on: c_int);
    /// Makes the table at `index` as `lua_createtable(state, slots, 0)` would, but for values left in those slots.
    pub(crate) fn lua_renewtable(state: *mut lua_State, index: c_int, slots: c_int);
    /// Puts a string into a slot, counted from 0, of the array that `lua_renewtable` or `lua_createtable` made.
    pub(crate) fn lua_setarraystring(
        state: *mut lua_State,
        index: c_int,
        slot: c_int,
        text: *const c_char,
        len: usize,
    );
    /// Writes the function's first `count` arguments to `out`: strings, and a null for a number. Says which of the
    /// three below they are.
    pub(crate) fn lua_arguments(state: *mut lua_State, out: *mut Argument, count: c_int) -> c_int;
    /// Has every loop call `ask(context)` while `*word & mask` is not 0; if it says 1 the run ends with an error that
    /// nothing catches. `ask` must not raise an error nor unwind.
    pub(crate) fn lua_setinterrupt(
        state: *mut lua_State,
        word: *const u32,
        mask: u32,
        ask: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
        context: *mut c_void,
    );
    /// Does once what every loop does. May raise the error.
    pub(crate) fn lua_poll(state: *mut lua_State);
    /// Whether the run was ended so.
    pub(crate) fn lua_iskilled(state: *mut lua_State) -> c_int;
    /// Says that errors are to pass through everything that catches them, or no longer.
    pub(crate) fn lua_setkilled(state: *mut lua_State, on: c_int);
    /// Sets the collector's pace, and the limit of memory that it keeps below; starts it if it was stopped.
    pub(crate) fn lua_tunegc(
        state: *mut lua_State,
        pause: c_int,
        step_multiplier: c_int,
        memory_limit: usize,
    );
}

/// There is something else than strings and numbers among a function's arguments; not all are written.
pub(crate) const ARGUMENTS_NEITHER: c_int = 0;
/// There are numbers among them.
pub(crate) const ARGUMENTS_NUMBERS: c_int = 2;

/// Pushes a copy of `text`.
///
/// # Safety
///
/// The state is live, with a free slot. May raise an error of memory, unless the limit is suspended.
pub(crate) unsafe fn push(state: *mut lua_State, text: &[u8]) {
    // SAFETY: as this function demands.
    unsafe { lua_pushlstring_(state, text.as_ptr().cast(), text.len()) }
}

/// The string at `index`, for as long as it stays on the stack.
///
/// # Safety
///
/// There is a string, not a number, at `index`, and it stays there for `'a`.
pub(crate) unsafe fn string<'a>(state: *mut lua_State, index: c_int) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: the index holds a string: it is neither converted nor null.
    unsafe {
        let text = lua_tolstring(state, index, &mut len);
        std::slice::from_raw_parts(text.cast(), len)
    }
}

/// Pushes the field `name` of the table at `index`, past its metatable.
///
/// # Safety
///
/// As for [`push`]; there is a table at `index`, which is absolute.
pub(crate) unsafe fn raw_field(state: *mut lua_State, index: c_int, name: &[u8]) {
    // SAFETY: as this function demands.
    unsafe {
        push(state, name);
        lua_rawget_(state, index);
    }
}

/// Pops a value into the field `name` of the table below it.
///
/// # Safety
///
/// As for [`push`]; there is a writable table below the top.
pub(crate) unsafe fn set_field(state: *mut lua_State, name: &CStr) {
    // SAFETY: as this function demands.
    unsafe { lua_setfield(state, -2, name.as_ptr()) }
}
