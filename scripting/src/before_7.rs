//! Error texts of scripts as before Redis 7.0: an error of a function of `redis` has the place of the call instead of a
//! code.

use crate::ffi::*;
use std::ffi::c_int;

/// Inserts the place of the caller before the text of the error table on top.
///
/// # Safety
///
/// The state must be that of a C function that Lua has just called, with two free slots, and the limit of memory be
/// suspended.
#[cold]
pub(crate) unsafe fn add_place(state: *mut lua_State) {
    // SAFETY: the table is on top, so its index is absolute and positive; the record is read only once it is filled.
    // Both texts are strings, which are joined in their two slots. With the limit suspended nothing is raised.
    unsafe {
        let table: c_int = lua_gettop(state);
        let mut record = std::mem::MaybeUninit::<lua_Debug>::zeroed();
        if lua_getstack(state, 1, record.as_mut_ptr()) == 0 {
            return;
        }
        lua_getinfo(state, c"nSl".as_ptr(), record.as_mut_ptr());
        let record = record.assume_init_ref();
        lua_pushfstring(state, c"%s: %d: ".as_ptr(), record.source, record.currentline);
        raw_field(state, table, b"err");
        lua_concat(state, 2);
        set_field(state, c"err");
    }
}
