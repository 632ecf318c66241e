//! What a library is, and how it becomes a global variable.

use super::frame::{Function, push_function};
use crate::ffi::*;
use std::ffi::CStr;

/// A table of functions and numbers.
pub(crate) struct Library {
    /// The global variable that holds the table. What it already holds stays, unless it is replaced.
    pub(crate) name: &'static CStr,
    pub(crate) functions: &'static [(&'static CStr, Function)],
    pub(crate) numbers: &'static [(&'static CStr, u32)],
}

/// Makes a library a global variable.
///
/// # Safety
///
/// The state is live and was made with a context, has six free slots, the limit of memory is suspended, and the globals
/// are writable.
pub(crate) unsafe fn open(state: *mut lua_State, library: &Library) {
    // SAFETY: six slots suffice, and nothing is raised: there is memory, and the tables are writable and plain.
    unsafe {
        raw_field(state, LUA_GLOBALSINDEX, library.name.to_bytes());
        if lua_type(state, -1) != LUA_TTABLE {
            lua_pop(state, 1);
            lua_createtable(state, 0, library.functions.len() as i32);
            lua_pushvalue(state, -1);
            lua_setglobal(state, library.name.as_ptr());
        }
        for (name, function) in library.functions {
            push_function(state, *function);
            set_field(state, name);
        }
        for (name, number) in library.numbers {
            lua_pushnumber(state, f64::from(*number));
            set_field(state, name);
        }
        lua_pop(state, 1);
    }
}
