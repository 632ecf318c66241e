//! The error handler: turns errors into tables before the stack is unwound.

use crate::call::lua_function;
use crate::context::Context;
use crate::ffi::*;
use std::ffi::{CStr, c_int};

lua_function!(
    /// Converts an error to a table and adds the place where it happened. The interpreter calls it before the stack is
    /// unwound. Scripts know it as `__redis__err__handler`.
    error_handler = handle_error
);

/// # Safety
///
/// `state` must be that of a C function that Lua has just called.
unsafe fn handle_error(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state; `lua_getinfo` fills what is read of the record.
    unsafe {
        lua_settop(state, 1);
        if lua_type(state, 1) != LUA_TTABLE {
            lua_createtable(state, 0, 3);
            let before_7 = Context::of(state).before_7;
            lua_pushliteral(state, if before_7 { c"" } else { c"ERR " });
            push_description(state, 1);
            lua_concat(state, 2);
            set_field(state, c"err");
        }
        let mut record = std::mem::MaybeUninit::<lua_Debug>::zeroed();
        let mut level = 1;
        while lua_getstack(state, level, record.as_mut_ptr()) != 0 {
            lua_getinfo(state, c"nSl".as_ptr(), record.as_mut_ptr());
            let record = record.assume_init_ref();
            // The second level is used in any case: a function of the script calls `error` and the like.
            if level == 1 && CStr::from_ptr(record.what) == c"C" {
                level = 2;
                continue;
            }
            lua_pushstring(state, record.source);
            set_field(state, c"source");
            lua_pushnumber(state, f64::from(record.currentline));
            set_field(state, c"line");
            break;
        }
        1
    }
}

/// Pushes the text that `tostring` returns for a value other than a table.
///
/// # Safety
///
/// See [`ffi::push`]. A value must be at `index`.
unsafe fn push_description(state: *mut lua_State, index: c_int) {
    // SAFETY: there is a value at the index, read according to its type. The value pushed for it takes the slots that a
    // C function has.
    unsafe {
        match lua_type(state, index) {
            LUA_TNUMBER | LUA_TSTRING => {
                lua_pushvalue(state, index);
                // Converts a number to a string.
                lua_tolstring(state, -1, std::ptr::null_mut());
            }
            LUA_TBOOLEAN if lua_toboolean(state, index) != 0 => lua_pushliteral(state, c"true"),
            LUA_TBOOLEAN => lua_pushliteral(state, c"false"),
            LUA_TNIL | LUA_TNONE => lua_pushliteral(state, c"nil"),
            kind => {
                let address = lua_topointer(state, index);
                lua_pushfstring(state, c"%s: %p".as_ptr(), lua_typename(state, kind), address);
            }
        }
    }
}
