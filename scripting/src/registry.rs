//! The registry of an interpreter for functions: tables that no script can reach.

use crate::ffi::*;
use std::ffi::c_int;

/// The compiled functions, whose table is on the stack too.
pub(crate) const REGISTERED: c_int = 1;
/// A copy of the globals that running functions have.
pub(crate) const RUNNING: c_int = 2;
/// The table `redis` during the loading of a library.
pub(crate) const LOADING: c_int = 3;

/// Pops a function into a slot of the compiled functions.
///
/// # Safety
///
/// The state must belong to an interpreter for functions. A function must be on top with a free slot above it, and the
/// limit of memory be suspended.
pub(crate) unsafe fn keep_function(state: *mut lua_State, slot: u32) {
    // SAFETY: the slot is free for the table, which goes below the function; there is memory, so nothing is raised.
    unsafe {
        lua_rawgeti(state, LUA_REGISTRYINDEX, REGISTERED);
        lua_insert(state, -2);
        lua_rawseti(state, -2, slot as c_int + 1);
        lua_pop(state, 1);
    }
}
