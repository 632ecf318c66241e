//! The entry that FCALL runs: a function, which receives its keys and arguments as parameters.

use crate::entry::{Arguments, Entry, fill};
use crate::ffi::*;
use std::ffi::c_int;
use std::fmt::Display;

/// A function of a library.
pub(crate) struct Function<'f> {
    pub(crate) name: &'f [u8],
}

impl Entry for Function<'_> {
    fn name(&self) -> impl Display {
        String::from_utf8_lossy(self.name)
    }

    /// Pushes two new tables, because a function may keep those of an earlier call.
    ///
    /// # Safety
    ///
    /// See [`Entry::pass`].
    #[inline]
    unsafe fn pass(&self, state: *mut lua_State, arguments: Arguments<'_>) -> c_int {
        for strings in [arguments.keys, arguments.args] {
            // SAFETY: two slots are free for the two tables, and the limit is suspended.
            unsafe {
                lua_createtable(state, 0, 0);
                fill(state, lua_gettop(state), strings);
            }
        }
        2
    }

    /// Does nothing: the tables are garbage.
    ///
    /// # Safety
    ///
    /// See [`Entry::release`].
    #[inline]
    unsafe fn release(&self, _: *mut lua_State, _: Arguments<'_>) {}
}
