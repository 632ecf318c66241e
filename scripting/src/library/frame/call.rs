//! Calls of library functions by Lua, and the raising of their errors.

use super::{Frame, Function};
use crate::context::Context;
use crate::ffi::*;
use crate::library::raise::{Ending, Raise};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The free slots of a function beyond its arguments.
const FREE_SLOTS: c_int = 20;

/// Pushes a library function that scripts can call, with the settings in a slot if it has any.
///
/// # Safety
///
/// The state must be live, have been made with a context, and have two free slots. The limit of memory must be
/// suspended. The slot must hold the value that [`push_settings`](super::push_settings) has pushed.
pub(crate) unsafe fn push_function(state: *mut lua_State, function: Function, settings: Option<c_int>) {
    // SAFETY: the two slots are this function's; nothing is raised. `call` finds a `Function` in the upvalue, which no
    // script can reach.
    unsafe {
        lua_pushlightuserdata(state, function as *mut c_void);
        if let Some(settings) = settings {
            lua_pushvalue(state, settings);
        }
        lua_pushcclosure(state, call, 1 + c_int::from(settings.is_some()));
    }
}

/// Runs a library function. Lua calls this for every library function.
///
/// # Safety
///
/// Only the interpreter may call this, as a closure that [`push_function`] made.
unsafe extern "C-unwind" fn call(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state. This frame owns nothing that needs to be dropped when an error jumps
    // over it. `run` has left the value to be raised on top; it is a string where a text is read.
    unsafe {
        match run(state) {
            Ending::Results(results) => results,
            Ending::RaiseTop => lua_error(state),
            Ending::RaiseText => {
                luaL_error(state, c"%s".as_ptr(), lua_tolstring(state, -1, std::ptr::null_mut()))
            }
            Ending::RaiseArgument(argument) => {
                luaL_argerror(state, argument, lua_tolstring(state, -1, std::ptr::null_mut()))
            }
        }
    }
}

/// Runs the closure's function, and drops everything that it owns.
///
/// # Safety
///
/// See [`call`].
unsafe fn run(state: *mut lua_State) -> Ending {
    // SAFETY: the state has a context, and the upvalue is what `push_function` has put there. The limit is suspended
    // before anything is owned, and in force again when nothing is.
    unsafe {
        let context = Context::of(state);
        let function = lua_touserdata(state, lua_upvalueindex(1));
        let function = std::mem::transmute::<*mut c_void, Function>(function);
        context.free_memory();
        let frame = Frame::new(state, context, FREE_SLOTS);
        let ending = match catch_unwind(AssertUnwindSafe(|| frame.ending_of(function))) {
            Ok(ending) => ending,
            Err(panic) => {
                context.keep_panic(panic);
                Raise::killed().push(state)
            }
        };
        if context.limit_memory() || !matches!(ending, Ending::Results(_)) {
            return ending;
        }
        context.free_memory();
        let ending = Raise::memory().push(state);
        context.limit_memory();
        ending
    }
}
