//! The kinds of entries that a client can run, and their differences.

use crate::ffi::*;
use std::ffi::{CStr, c_int};
use std::fmt::Display;

/// One kind of entry, compiled in the interpreter that runs it.
pub(crate) trait Entry {
    /// The entry's name in errors: `script: <name>, on @user_script:1.` Called only when an error is written.
    fn name(&self) -> impl Display;

    /// Passes keys and arguments to the function on top: as globals, or as parameters, which are pushed. Returns the
    /// number of parameters.
    ///
    /// # Safety
    ///
    /// The state must be live with four free slots, and the bottom of its stack as [`HANDLER`] and the next constants
    /// say. The limit of memory must be suspended.
    unsafe fn pass(&self, state: *mut lua_State, arguments: Arguments<'_>) -> c_int;

    /// Drops keys and arguments if they are many. The next call overwrites a few.
    ///
    /// # Safety
    ///
    /// See [`pass`](Entry::pass).
    unsafe fn release(&self, state: *mut lua_State, arguments: Arguments<'_>);
}

/// A kind of text that is compiled.
pub(crate) struct Chunk {
    /// The chunk's name, which errors show as the place where they happened.
    pub(crate) name: &'static CStr,
    /// The text before the reason why the chunk cannot be compiled.
    pub(crate) compile_error: &'static str,
}

/// The keys and arguments of a call.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) args: &'a [&'a [u8]],
}

/// The slot of the error handler, at the bottom of the interpreter's stack.
pub(crate) const HANDLER: c_int = 1;
/// The slot of the table `KEYS`.
pub(crate) const KEYS: c_int = 2;
/// The slot of the table `ARGV`.
pub(crate) const ARGV: c_int = 3;
/// The slot of the table of compiled functions.
pub(crate) const FUNCTIONS: c_int = 4;
/// The slot of the coroutine on whose stack results are walked. The slots above it are free.
pub(crate) const WALKER: c_int = 5;

/// Makes the table at `index` an array of strings, as if it were new.
///
/// # Safety
///
/// The state must be live, a table be at `index`, and the limit of memory be suspended.
pub(crate) unsafe fn fill(state: *mut lua_State, index: c_int, strings: &[&[u8]]) {
    // No client sends more arguments than an `int` can count.
    let len = c_int::try_from(strings.len()).unwrap_or(c_int::MAX);
    // SAFETY: there is a table and memory for it; then its array has a slot for each of the strings.
    unsafe {
        lua_renewtable(state, index, len);
        for (slot, string) in (0..len).zip(strings) {
            lua_setarraystring(state, index, slot, string.as_ptr().cast(), string.len());
        }
    }
}
