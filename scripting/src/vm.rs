//! One interpreter: its state, and the compilation and running of scripts in it.

mod load;

use crate::call::KILLED;
use crate::context::Context;
use crate::control::{EntryKind, SIGNAL_MASK, ScriptControl};
use crate::convert::{Written, is_counted, write_result};
use crate::entry::{Arguments, Chunk, Entry, FUNCTIONS, HANDLER, WALKER};
use crate::error::{Error, until_nul};
use crate::errors::Errors;
use crate::ffi::{self, *};
use crate::handler::error_handler;
use crate::host::Host;
use crate::options::Options;
use crate::random::SharedRandom;
use crate::sandbox;
use lockwheel_resp::{Reply, allocation};
use std::ffi::c_int;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// The collector waits until memory has grown to four times the used amount, and then collects at twice the usual pace.
/// A script's garbage is small compared to the libraries. This saves a twentieth of a lock script's time.
const GC_PAUSE: c_int = 400;
const GC_STEP_MULTIPLIER: c_int = 400;
/// The bytes of garbage above which a script's garbage is collected as soon as the script ends.
const LARGE: usize = 8 << 20;

pub(crate) struct Vm {
    state: *mut lua_State,
    walker: *mut lua_State,
    context: NonNull<Context>,
    memory_limit: usize,
    /// The memory in use, in bytes, at which the next full collection is due.
    collect_at: usize,
}

// SAFETY: the state and the context belong to this value alone, and hold nothing of the thread that made them. The host
// may hold such data, but is present only during `run`.
unsafe impl Send for Vm {}

impl Vm {
    /// Makes an interpreter with the globals of Redis.
    pub(crate) fn new(
        kind: EntryKind,
        options: Options,
        control: Arc<ScriptControl>,
        random: SharedRandom,
    ) -> Vm {
        let context = Context::new(options, control, random);
        let context = NonNull::from(Box::leak(Box::new(context)));
        // SAFETY: the context begins with the allocator, and lives as long as the state; the limit is suspended, so
        // nothing fails.
        unsafe {
            let pointer = context.as_ptr().cast();
            let state = lua_newstate(crate::alloc::Alloc::call, pointer);
            assert!(
                !state.is_null(),
                "an allocator without a limit ends the process sooner than it returns null"
            );
            lua_atpanic(state, panicked);
            lua_pushcclosure(state, error_handler, 0);
            lua_createtable(state, 0, 0);
            lua_createtable(state, 0, 0);
            lua_createtable(state, 0, 0);
            let walker = lua_newthread(state);
            sandbox::open(state, options, kind);
            if kind == EntryKind::Function {
                load::prepare(state);
            }
            debug_assert_eq!(lua_gettop(state), WALKER);
            let word = context.as_ref().control.word();
            lua_setinterrupt(state, word, SIGNAL_MASK, Context::interrupted, pointer);
            lua_tunegc(state, GC_PAUSE, GC_STEP_MULTIPLIER, options.memory_limit);
            lua_gc(state, LUA_GCCOLLECT, 0);
            Vm { state, walker, context, memory_limit: options.memory_limit, collect_at: LARGE }
        }
    }

    /// Adds a library to the globals of scripts.
    #[cfg(test)]
    pub(crate) fn open_library(&mut self, library: &crate::library::Library) {
        // SAFETY: the limit is suspended, and the globals are writable meanwhile.
        unsafe {
            lua_setreadonly(self.state, LUA_GLOBALSINDEX, 0);
            crate::library::open(self.state, library);
            lua_setreadonly(self.state, LUA_GLOBALSINDEX, 1);
        }
    }

    fn context(&self) -> &Context {
        // SAFETY: it lives until this is dropped, and is only ever shared.
        unsafe { self.context.as_ref() }
    }

    /// The bytes of memory in use.
    pub(crate) fn memory_used(&self) -> usize {
        self.context().memory_used()
    }

    /// Compiles a text into a slot. Returns Redis' error if that fails.
    pub(crate) fn compile(&mut self, chunk: &Chunk, text: &[u8], slot: u32) -> Result<(), Error> {
        self.push_compiled(chunk, text)?;
        // SAFETY: the function is on top, and the limit is suspended.
        unsafe { lua_rawseti(self.state, FUNCTIONS, slot as c_int + 1) };
        Ok(())
    }

    /// Compiles a text and leaves the function on the stack. Returns Redis' error if that fails.
    fn push_compiled(&mut self, chunk: &Chunk, text: &[u8]) -> Result<(), Error> {
        // SAFETY: with the limit in force only the protected parser runs, which gives its errors back as a string.
        unsafe {
            let state = self.state;
            self.context().limit_memory();
            let status = luaL_loadbuffer(state, text.as_ptr().cast(), text.len(), chunk.name.as_ptr());
            self.context().free_memory();
            if status == LUA_OK {
                return Ok(());
            }
            let error = Error::with(chunk.compile_error, until_nul(ffi::string(state, -1)));
            lua_settop(state, WALKER);
            self.tidy();
            Err(error)
        }
    }

    /// Drops a compiled script, or a function.
    pub(crate) fn forget(&mut self, slot: u32) {
        // SAFETY: the limit is suspended.
        unsafe {
            lua_pushnil(self.state);
            lua_rawseti(self.state, FUNCTIONS, slot as c_int + 1);
        }
    }

    /// Drops all compiled scripts, the settings that they have changed in libraries, and all garbage.
    pub(crate) fn clear(&mut self) {
        // SAFETY: the limit is suspended, and no script runs.
        unsafe {
            lua_renewtable(self.state, FUNCTIONS, 0);
            sandbox::reset(self.state);
        }
        self.collect();
    }

    /// Runs an entry, whose function is in a slot, and writes its result or its error.
    ///
    /// # Panics
    ///
    /// Resumes the host's panic, if the host panics.
    pub(crate) fn run<E: Entry>(
        &mut self,
        entry: &E,
        slot: u32,
        arguments: Arguments<'_>,
        host: &mut dyn Host,
        reply: &mut dyn Reply,
    ) {
        // SAFETY: the context leaves the host before this returns. With the limit in force only the protected call
        // runs; all else cannot fail.
        let (errors, panic) = unsafe {
            let state = self.state;
            let context = self.context();
            let before = reply.written();
            context.enter(host);
            lua_rawgeti(state, FUNCTIONS, slot as c_int + 1);
            let parameters = entry.pass(state, arguments);
            context.limit_memory();
            let status = lua_pcall(state, parameters, 1, HANDLER);
            context.free_memory();
            // If memory for a reply is short, writing it unwinds. The script ends like any other before the unwinding
            // goes on.
            let written = catch_unwind(AssertUnwindSafe(|| {
                if status == LUA_OK {
                    self.write(reply)
                } else {
                    Some(write_error(state, entry.name(), reply))
                }
            }));
            let (mut errors, unwritten) = match written {
                Ok(errors) => (errors, None),
                Err(panic) => (Some(Errors::default()), Some(panic)),
            };
            // A killed script must not reply its result, since the client of SCRIPT KILL was told that it was killed.
            if !context.control.finish() && lua_iskilled(state) == 0 {
                errors = None;
            }
            let errors = match errors {
                Some(errors) => errors,
                None if unwritten.is_some() => Errors::default(),
                None => write_killed(before, reply),
            };
            lua_setkilled(state, 0);
            lua_settop(state, WALKER);
            lua_tunegc(state, GC_PAUSE, GC_STEP_MULTIPLIER, self.memory_limit);
            entry.release(state, arguments);
            (errors, context.leave().or(unwritten))
        };
        self.tidy();
        match panic {
            None => errors.tell(host),
            Some(panic) => resume_unwind(panic),
        }
    }

    /// Writes the result on top of the stack. Returns `None` if the script was ended meanwhile.
    #[inline]
    fn write(&self, reply: &mut dyn Reply) -> Option<Errors> {
        // SAFETY: the states are live, and the limit is suspended.
        let written =
            unsafe { write_result(self.state, self.walker, self.context(), self.memory_limit / 4, reply) };
        match written {
            Written::Whole(errors) => Some(errors),
            Written::TooLarge => {
                let text = b"ERR script result is too large";
                reply.error(text);
                Some(Errors::one(text, true))
            }
            Written::Ended => None,
        }
    }

    /// Collects the garbage of a large script.
    fn tidy(&mut self) {
        if self.memory_used() > self.collect_at {
            self.collect();
        }
    }

    fn collect(&mut self) {
        // A collection halves the interpreter's own buffers, so it is repeated while that frees much.
        loop {
            let before = self.memory_used();
            // SAFETY: the limit is suspended.
            unsafe { lua_gc(self.state, LUA_GCCOLLECT, 0) };
            if self.memory_used() > before / 4 * 3 {
                break;
            }
        }
        self.context().trim_memory();
        self.collect_at = self.memory_used().saturating_mul(2).max(LARGE);
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // SAFETY: they are no longer used; the state goes first, as it needs the allocator.
        unsafe {
            lua_close(self.state);
            drop(Box::from_raw(self.context.as_ptr()));
        }
    }
}

/// Called by Lua for an error that nothing catches, which is a bug. Every call that may raise an error is protected, or
/// made with the limit of memory suspended.
extern "C-unwind" fn panicked(_: *mut lua_State) -> c_int {
    unprotected()
}

/// Ends the process. Lua's frames cannot be unwound, and a panic that would leave a function of the C ABI aborts.
extern "C" fn unprotected() -> ! {
    panic!("an error was raised in Lua outside a protected call")
}

/// Writes the error of a killed script in place of its result.
#[cold]
fn write_killed(before: usize, reply: &mut dyn Reply) -> Errors {
    let text = [b"ERR ", KILLED.to_bytes()].concat();
    reply.rewind(before);
    reply.error(&text);
    Errors::one(&text, true)
}

/// Writes the error on top of the stack: the handler's table, or a text if the handler could not run. Unwinds if memory
/// for the text is short.
///
/// # Safety
///
/// The limit of memory must be suspended, with some free slots.
#[cold]
unsafe fn write_error(state: *mut lua_State, name: impl Display, reply: &mut dyn Reply) -> Errors {
    let mut text = Vec::new();
    let mut is_new = true;
    // SAFETY: the error is on top, so there is a value at `error`; a field is read only of a table. The limit is
    // suspended, so neither converting a number to a string nor pushing a name raises an error. The texts are copied
    // before they are popped.
    unsafe {
        let error = lua_gettop(state);
        let is_table = lua_type(state, error) == LUA_TTABLE;
        if Context::of(state).before_7 {
            let text = error_before_7(state, error, name);
            let is_new = !is_table || !is_counted(state, error);
            reply.error(&text);
            return Errors::one(&text, is_new);
        }
        if lua_iskilled(state) != 0 {
            // Not taken from the error, which may have changed if the kill also ended handlers.
            text.extend_from_slice(b"ERR ");
            text.extend_from_slice(KILLED.to_bytes());
        } else if is_table {
            if append_field(state, error, b"err", "", &mut text).is_none() {
                text.extend_from_slice(b"ERR unknown error");
            }
            is_new = !is_counted(state, error);
        } else {
            text.extend(format!("ERR Error running script {name}, ").bytes());
            let reason = lua_tolstring(state, error, std::ptr::null_mut());
            let reason = if reason.is_null() {
                b"execution failure"
            } else {
                std::ffi::CStr::from_ptr(reason).to_bytes()
            };
            text.extend_from_slice(&reason[..reason.len().min(100)]);
        }
        if is_table {
            let message = text.len();
            allocation::append(&mut text, format!(" script: {name}, on ").as_bytes());
            let place = append_field(state, error, b"source", "", &mut text)
                .and_then(|()| append_field(state, error, b"line", ":", &mut text));
            match place {
                Some(()) => allocation::append(&mut text, b"."),
                None => text.truncate(message),
            }
        }
    }
    crate::error::one_line(&mut text);
    reply.error(&text);
    Errors::one(&text, is_new)
}

/// Returns the error text in the form before Redis 7.0, in which the place comes first.
///
/// # Safety
///
/// See [`write_error`]. The error must be at `error`.
#[cold]
unsafe fn error_before_7(state: *mut lua_State, error: c_int, name: impl Display) -> Vec<u8> {
    let mut text = format!("ERR Error running script (call to f_{name}): ").into_bytes();
    // SAFETY: as in `write_error`: a field is read only of a table, a text only of what is none.
    unsafe {
        let is_table = lua_type(state, error) == LUA_TTABLE;
        let is_killed = lua_iskilled(state) != 0;
        if is_table
            && append_field(state, error, b"source", "", &mut text).is_some()
            && append_field(state, error, b"line", ":", &mut text).is_some()
        {
            allocation::append(&mut text, b": ");
        }
        if is_killed {
            allocation::append(&mut text, KILLED.to_bytes());
        } else if is_table {
            append_field(state, error, b"err", "", &mut text);
        } else {
            let reason = lua_tolstring(state, error, std::ptr::null_mut());
            if !reason.is_null() {
                allocation::append(&mut text, std::ffi::CStr::from_ptr(reason).to_bytes());
            }
        }
    }
    crate::error::one_line(&mut text);
    text
}

/// Appends a field that is a string or a number. Unwinds if memory is short.
///
/// # Safety
///
/// See [`write_error`]. A table must be at `index`.
unsafe fn append_field(
    state: *mut lua_State,
    index: c_int,
    name: &[u8],
    before: &str,
    text: &mut Vec<u8>,
) -> Option<()> {
    // SAFETY: the field is popped again, so one slot is enough. It is read as a string only if it is one or was a
    // number, and copied before it goes. With the limit suspended nothing is raised.
    unsafe {
        raw_field(state, index, name);
        let found = lua_isstring(state, -1) != 0;
        if found {
            // Converts a number to a string.
            lua_tolstring(state, -1, std::ptr::null_mut());
            allocation::append(text, before.as_bytes());
            allocation::append(text, until_nul(ffi::string(state, -1)));
        }
        lua_pop(state, 1);
        found.then_some(())
    }
}
