//! Steps that may raise a Lua error. Each runs in a protected call of its own.

use super::Frame;
use crate::ffi::{self, *};
use crate::library::raise::Raise;
use std::ffi::c_int;

/// Returns the number that a text reads as, or nil.
///
/// # Safety
///
/// Only the interpreter may call this, with a string.
pub(super) unsafe extern "C-unwind" fn read_number(state: *mut lua_State) -> c_int {
    // SAFETY: the one argument exists, and nothing is owned here that an error could jump over.
    unsafe {
        if lua_isnumber(state, 1) == 0 {
            lua_pushnil(state);
        } else {
            lua_pushnumber(state, lua_tonumber(state, 1));
        }
    }
    1
}

/// Makes a string of bytes.
///
/// # Safety
///
/// Only the interpreter may call this, with the address of a slice that lives meanwhile.
pub(super) unsafe extern "C-unwind" fn make_string(state: *mut lua_State) -> c_int {
    // SAFETY: the address is that of a slice, and nothing is owned here that an error could jump over.
    unsafe { ffi::push(state, *lua_touserdata(state, 1).cast::<&[u8]>()) };
    1
}

/// Puts a value into a table.
///
/// # Safety
///
/// Only the interpreter may call this, with a table, a key and the value.
pub(super) unsafe extern "C-unwind" fn put_field(state: *mut lua_State) -> c_int {
    // SAFETY: the table is below the key and the value, and nothing is owned here that an error could jump over.
    unsafe { lua_rawset(state, 1) };
    0
}

impl Frame<'_> {
    /// Calls a C function with the values on top as arguments, with the limit of memory in force, and leaves its
    /// results. An error of the function becomes the result's error.
    ///
    /// # Safety
    ///
    /// There must be `arguments` values above the kept ones. The function must take them and return `results` results,
    /// and must own nothing while it may raise an error.
    #[cold]
    pub(super) unsafe fn protect(
        &self,
        function: lua_CFunction,
        arguments: c_int,
        results: c_int,
    ) -> Result<(), Raise> {
        self.reserve(1, "too many values")?;
        // SAFETY: the slot is free, and the values to take are there. An error is caught by the protected call, and
        // takes the place of the arguments.
        unsafe {
            lua_pushcclosure(self.state, function, 0);
            lua_insert(self.state, -1 - arguments);
            self.context.limit_memory();
            let status = lua_pcall(self.state, arguments, results, 0);
            self.context.free_memory();
            if status == LUA_OK { Ok(()) } else { Err(Raise::top()) }
        }
    }
}
