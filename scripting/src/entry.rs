//! Kinds of entry: what a client can run, and how one kind differs from another.

use crate::ffi::*;
use std::ffi::{CStr, c_int};
use std::fmt::Display;

/// One kind of entry, compiled in the interpreter that runs it.
pub(crate) trait Entry {
    /// Its name in errors: `script: <name>, on @user_script:1.` Called only when an error is written.
    fn name(&self) -> impl Display;

    /// Passes keys and arguments to the function on top: as globals, or as parameters, which are pushed. The number of
    /// those.
    ///
    /// # Safety
    ///
    /// The state is live with four free slots, its bottom as [`HANDLER`] and the next say, and the limit of memory is
    /// suspended.
    unsafe fn pass(&self, state: *mut lua_State, arguments: Arguments<'_>) -> c_int;

    /// Drops keys and arguments if they are many; the next call overwrites a few.
    ///
    /// # Safety
    ///
    /// As for [`pass`](Entry::pass).
    unsafe fn release(&self, state: *mut lua_State, arguments: Arguments<'_>);
}

/// A kind of text that is compiled.
pub(crate) struct Chunk {
    /// Its name: errors show it as the place where they happened.
    pub(crate) name: &'static CStr,
    /// What stands before the reason why a text cannot be compiled.
    pub(crate) compile_error: &'static str,
}

/// What an entry is called with.
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
/// The slot of the coroutine on whose stack results are walked; what is above it is free.
pub(crate) const WALKER: c_int = 5;

/// Makes the table at `index` an array of strings, as if it were new.
///
/// # Safety
///
/// The state is live, there is a table at `index`, and the limit of memory is suspended.
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
