//! What the registry of an interpreter for functions holds: tables that no script can reach.

use crate::ffi::*;
use std::ffi::c_int;

/// The compiled functions, which lie on the stack too.
pub(crate) const REGISTERED: c_int = 1;
/// A copy of the globals that functions have when they run.
pub(crate) const RUNNING: c_int = 2;
/// The table `redis` that there is while a library is loaded.
pub(crate) const LOADING: c_int = 3;

/// Pops a function into a slot of the compiled functions.
///
/// # Safety
///
/// The state belongs to an interpreter for functions, a function is on top with a free slot above it, and the limit of
/// memory is suspended.
pub(crate) unsafe fn keep_function(state: *mut lua_State, slot: u32) {
    // SAFETY: the slot is free for the table, which goes below the function; there is memory, so nothing is raised.
    unsafe {
        lua_rawgeti(state, LUA_REGISTRYINDEX, REGISTERED);
        lua_insert(state, -2);
        lua_rawseti(state, -2, slot as c_int + 1);
        lua_pop(state, 1);
    }
}
