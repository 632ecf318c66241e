//! The entry that EVAL runs: a script, which reads its keys and arguments from globals.

use crate::cache::{Cache, ScriptId};
use crate::entry::{ARGV, Arguments, Chunk, Entry, KEYS, fill};
use crate::ffi::*;
use crate::sha::Sha;
use std::ffi::c_int;
use std::fmt::Display;

/// The number of arguments above which they are dropped as soon as the script ends.
const MANY_ARGUMENTS: usize = 256;

/// The text of a script.
pub(crate) const CHUNK: Chunk =
    Chunk { name: c"@user_script", compile_error: "ERR Error compiling script (new function): " };

/// A cached script.
pub(crate) struct Script<'c> {
    pub(crate) cache: &'c Cache,
    pub(crate) id: ScriptId,
}

impl Entry for Script<'_> {
    fn name(&self) -> impl Display {
        // The script is cached, so its digest is known.
        self.cache.sha(self.id).unwrap_or_else(|| Sha::of(b""))
    }

    /// Fills the globals.
    ///
    /// # Safety
    ///
    /// See [`Entry::pass`].
    #[inline]
    unsafe fn pass(&self, state: *mut lua_State, arguments: Arguments<'_>) -> c_int {
        // SAFETY: the two tables lie at the bottom of the stack, and the limit is suspended.
        unsafe {
            fill(state, KEYS, arguments.keys);
            fill(state, ARGV, arguments.args);
        }
        0
    }

    /// Empties the globals.
    ///
    /// # Safety
    ///
    /// See [`Entry::release`].
    #[inline]
    unsafe fn release(&self, state: *mut lua_State, arguments: Arguments<'_>) {
        for (index, strings) in [(KEYS, arguments.keys), (ARGV, arguments.args)] {
            if strings.len() > MANY_ARGUMENTS {
                // SAFETY: the table lies at the bottom of the stack, and the limit is suspended.
                unsafe { lua_renewtable(state, index, 0) };
            }
        }
    }
}
