//! Settings that the functions of a library share, and that stay from script to script.

use super::Frame;
use crate::ffi::*;
use std::cell::Cell;
use std::ffi::c_int;

/// Pushes a block of settings that functions will share.
///
/// # Safety
///
/// The state must be live with a free slot, and the limit of memory be suspended.
pub(crate) unsafe fn push_settings(state: *mut lua_State, values: &[c_int]) {
    // SAFETY: the block is new, aligned for any type, and has room for each value. No script can get hold of the
    // userdata, as it is only a function's upvalue.
    unsafe {
        let block = lua_newuserdata(state, size_of_val(values)).cast::<c_int>();
        block.copy_from_nonoverlapping(values.as_ptr(), values.len());
    }
}

impl Frame<'_> {
    /// The settings that the function was made with. Empty if it was made without.
    pub(crate) fn settings(&self) -> &[Cell<c_int>] {
        // SAFETY: a function made with settings has its block as the second upvalue, and keeps it while it runs. Others
        // have none there. The frame's thread alone has the interpreter, and the settings are changed through cells.
        unsafe {
            let upvalue = lua_upvalueindex(2);
            let block = lua_touserdata(self.state, upvalue);
            if block.is_null() {
                return &[];
            }
            let len = lua_objlen(self.state, upvalue) / size_of::<c_int>();
            std::slice::from_raw_parts(block.cast(), len)
        }
    }
}
