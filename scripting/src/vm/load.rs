//! Loading of a library of functions: its text runs once, with hardly any globals, and registers functions.
//!
//! All functions of an interpreter share one table of globals. While a library is loaded, the table has other values:
//! only `redis`, with `register_function` and `log`.

use super::{GC_PAUSE, GC_STEP_MULTIPLIER, Vm, append_field};
use crate::entry::{Chunk, FUNCTIONS, HANDLER, WALKER};
use crate::error::Error;
use crate::ffi::{self, *};
use crate::functions::registered::{Loading, Slots};
use crate::host::Host;
use crate::library::{push_function, register_function};
use crate::registry::{LOADING, REGISTERED, RUNNING};
use crate::sandbox::{global_names, push_strict_metatable};
use lockwheel_resp::allocation;
use std::ffi::{CStr, c_int};
use std::panic::resume_unwind;

/// The text of a library.
const LIBRARY: Chunk = Chunk { name: c"@user_function", compile_error: "ERR Error compiling function: " };
/// The text before the error of a library that was compiled.
const LOAD_ERROR: &str = "ERR Error registering functions: ";
const NO_MEMORY: &[u8] = b"ERR not enough memory";
const TIMEOUT: &[u8] = b"ERR FUNCTION LOAD timeout";

/// The fields of `redis` while a library is loaded, besides `register_function`.
const KEPT: &[&CStr] = &[
    c"log",
    c"LOG_DEBUG",
    c"LOG_VERBOSE",
    c"LOG_NOTICE",
    c"LOG_WARNING",
    c"REDIS_VERSION",
    c"REDIS_VERSION_NUM",
];

/// Fills the registry of a new interpreter for functions, whose globals are complete.
///
/// # Safety
///
/// The state must be new, its stack be as [`WALKER`] and the other constants say, and the limit of memory be suspended.
pub(super) unsafe fn prepare(state: *mut lua_State) {
    // SAFETY: five slots suffice, and there is memory; the tables are plain, so nothing is raised.
    unsafe {
        lua_pushvalue(state, FUNCTIONS);
        lua_rawseti(state, LUA_REGISTRYINDEX, REGISTERED);
        lua_createtable(state, 0, 32);
        for name in global_names(state) {
            ffi::push(state, &name);
            raw_field(state, LUA_GLOBALSINDEX, &name);
            lua_rawset(state, -3);
        }
        lua_rawseti(state, LUA_REGISTRYINDEX, RUNNING);
        lua_getglobal(state, c"redis".as_ptr());
        lua_createtable(state, 0, KEPT.len() as c_int + 1);
        for name in KEPT {
            raw_field(state, lua_gettop(state) - 1, name.to_bytes());
            set_field(state, name);
        }
        push_function(state, register_function, None);
        set_field(state, c"register_function");
        push_strict_metatable(state);
        lua_setmetatable(state, -2);
        lua_setreadonly(state, -1, 1);
        lua_rawseti(state, LUA_REGISTRYINDEX, LOADING);
        lua_pop(state, 1);
    }
}

/// Replaces the globals for running by those for loading, or restores them.
///
/// # Safety
///
/// [`prepare`] must have prepared the state. Five slots must be free, and the limit of memory be suspended.
unsafe fn exchange_globals(state: *mut lua_State, loading: bool) {
    // SAFETY: five slots suffice; the copy does not change while it is walked. The globals are writable meanwhile, no
    // key is nil, and there is memory, so nothing is raised.
    unsafe {
        lua_setreadonly(state, LUA_GLOBALSINDEX, 0);
        lua_rawgeti(state, LUA_REGISTRYINDEX, RUNNING);
        lua_pushnil(state);
        while lua_next(state, -2) != 0 {
            if loading {
                lua_pop(state, 1);
                lua_pushnil(state);
            }
            lua_pushvalue(state, -2);
            lua_insert(state, -2);
            lua_rawset(state, LUA_GLOBALSINDEX);
        }
        lua_pop(state, 1);
        if loading {
            lua_rawgeti(state, LUA_REGISTRYINDEX, LOADING);
            lua_setglobal(state, c"redis".as_ptr());
        }
        lua_setreadonly(state, LUA_GLOBALSINDEX, 1);
    }
}

impl Vm {
    /// Runs the text of a library, and returns the functions that it has registered; none if it fails. The run ends at
    /// `until_us` of the host's clock. To be called while the control notes the loading.
    ///
    /// # Panics
    ///
    /// Resumes the host's panic, if the host panics.
    pub(crate) fn load(
        &mut self,
        text: &[u8],
        loading: Box<Loading>,
        until_us: u64,
        host: &mut dyn Host,
    ) -> (Box<Loading>, Result<(), Error>) {
        // SAFETY: the context leaves the host before this returns.
        let (mut loading, result, panic) = unsafe {
            self.context().enter(host);
            self.context().expire_at(until_us);
            let (loading, result) = match self.push_compiled(&LIBRARY, text) {
                Ok(()) => self.run_loading(loading),
                Err(error) => (loading, Err(error)),
            };
            let result =
                if self.context().has_expired() { Err(Error::with(LOAD_ERROR, TIMEOUT)) } else { result };
            lua_setkilled(self.state, 0);
            lua_tunegc(self.state, GC_PAUSE, GC_STEP_MULTIPLIER, self.memory_limit);
            (loading, result, self.context().leave())
        };
        // A failed library leaves garbage, perhaps up to the limit of memory.
        if result.is_err() {
            self.keep_registered(loading.undo());
            self.collect();
        } else {
            self.tidy();
        }
        match panic {
            None => (loading, result),
            Some(panic) => resume_unwind(panic),
        }
    }

    /// Replaces the table of compiled functions by one with the functions of these slots only. The table may have grown
    /// for a library that failed, and tables do not shrink. O(slots).
    fn keep_registered(&mut self, slots: &Slots) {
        // SAFETY: three slots are free, and the limit is suspended; the tables are plain, so nothing is raised.
        unsafe {
            let state = self.state;
            lua_createtable(state, slots.len as c_int, 0);
            for slot in 1..=slots.len as c_int {
                lua_rawgeti(state, FUNCTIONS, slot);
                lua_rawseti(state, -2, slot);
            }
            lua_pushvalue(state, -1);
            lua_rawseti(state, LUA_REGISTRYINDEX, REGISTERED);
            lua_replace(state, FUNCTIONS);
        }
        slots.vacant.iter().for_each(|&slot| self.forget(slot));
    }

    /// Runs the library whose function is on top of the stack.
    ///
    /// # Safety
    ///
    /// The context must have a host, the function be on top of an otherwise empty stack, and the limit of memory be
    /// suspended.
    unsafe fn run_loading(&self, loading: Box<Loading>) -> (Box<Loading>, Result<(), Error>) {
        // SAFETY: with the limit in force only the protected call runs; all else cannot fail.
        unsafe {
            let state = self.state;
            let context = self.context();
            context.loading.set(Some(loading));
            exchange_globals(state, true);
            context.limit_memory();
            let status = lua_pcall(state, 0, 0, HANDLER);
            context.free_memory();
            let result = if status == LUA_OK { Ok(()) } else { Err(self.load_error()) };
            lua_settop(state, WALKER);
            exchange_globals(state, false);
            (context.loading.take().unwrap_or_default(), result)
        }
    }

    /// The error on top of the stack, as an error of loading.
    ///
    /// # Safety
    ///
    /// The limit of memory must be suspended, with some free slots and a value on top.
    #[cold]
    unsafe fn load_error(&self) -> Error {
        let state = self.state;
        let text = allocation::contain(|| {
            let mut text = Vec::new();
            // SAFETY: a field is read only of a table. A string is copied before it is popped; one that finds no
            // memory stays on the stack, of which all is dropped.
            unsafe {
                if lua_type(state, -1) != LUA_TTABLE {
                    append_text(state, &mut text);
                } else if append_field(state, lua_gettop(state), b"err", "", &mut text).is_none() {
                    text.extend_from_slice(b"ERR unknown error");
                }
            }
            text
        });
        Error::with(LOAD_ERROR, text.as_deref().unwrap_or(NO_MEMORY))
    }
}

/// Appends the error on top of the stack, which the handler could not convert to a table. Unwinds if memory is short.
///
/// # Safety
///
/// See [`Vm::load_error`].
unsafe fn append_text(state: *mut lua_State, text: &mut Vec<u8>) {
    // SAFETY: it is read as a string only if it is one.
    unsafe {
        let reason =
            if lua_type(state, -1) == LUA_TSTRING { ffi::string(state, -1) } else { b"unknown error" };
        text.extend_from_slice(b"ERR ");
        allocation::append(text, crate::error::until_nul(reason));
    }
}
