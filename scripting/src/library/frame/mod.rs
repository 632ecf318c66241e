//! A library function's view of the interpreter: its arguments, a stack for results, and tables, without unsafe code.
//!
//! Lua raises an error by a jump over all frames up to the protected call, and never drops their content. So nothing is
//! raised while a library function runs. The limit of memory is suspended, and the calls made here raise nothing else.
//! Calls that may raise an error run within a protected call of their own ([`Frame::protect`]). The function's own
//! error is a value, which is raised after the function has returned. A panic ends the script, like a panic of the
//! host.

mod arguments;
mod call;
mod protected;
mod settings;
mod stack;
mod tables;
mod walk;

pub(crate) use call::push_function;
pub(crate) use settings::push_settings;
pub(crate) use walk::{Keys, Place, Walk};

use super::raise::{Ending, Raise};
use crate::context::Context;
use crate::ffi::*;
use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;

/// A function of a library: returns the number of results, which are on top of the stack.
pub(crate) type Function = fn(&Frame<'_>) -> Result<c_int, Raise>;

/// One call of a library function.
///
/// Arguments count from 1. They stay on the stack until the call ends, so their texts may be used until then.
pub(crate) struct Frame<'a> {
    state: *mut lua_State,
    context: &'a Context,
    arguments: c_int,
    /// The number of slots that must stay: those of the arguments, and of the key and value that a walk shows.
    kept: Cell<c_int>,
    /// The number of slots above the top that are known to be free.
    free: Cell<c_int>,
    /// The number of walks in progress. A table must not change while it is walked.
    walks: Cell<u32>,
    _state: PhantomData<&'a lua_State>,
}

/// A value of Lua. `T` is the information about a table: its slot on the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'v, T = c_int> {
    /// No value: a missing argument.
    None,
    Nil,
    Boolean(bool),
    Number(f64),
    String(&'v [u8]),
    Table(T),
    /// The value of `cjson.null`.
    Null,
    /// A function, a coroutine or a userdata, with the name of its type.
    Other(&'static str),
}

/// A value in a table.
pub(crate) type View<'w> = Value<'w, ()>;

impl Frame<'_> {
    /// Whether error texts are those before Redis 7.0.
    pub(crate) fn is_before_7(&self) -> bool {
        self.context.before_7
    }
}

impl<'v> Value<'v> {
    /// The value without a table's slot.
    pub(crate) fn in_table(self) -> View<'v> {
        match self {
            Value::None => View::None,
            Value::Nil => View::Nil,
            Value::Boolean(value) => View::Boolean(value),
            Value::Number(value) => View::Number(value),
            Value::String(value) => View::String(value),
            Value::Table(_) => View::Table(()),
            Value::Null => View::Null,
            Value::Other(name) => View::Other(name),
        }
    }
}

impl<'v> View<'v> {
    /// The value, or `None` for a table.
    #[inline]
    pub(crate) fn plain(self) -> Option<View<'v>> {
        if let View::Table(()) = self { None } else { Some(self) }
    }
}

impl<T> Value<'_, T> {
    /// The name of the value's type, as `type` returns it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::None => "no value",
            Value::Nil => "nil",
            Value::Boolean(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Table(_) => "table",
            Value::Null => "userdata",
            Value::Other(name) => name,
        }
    }
}

impl<'a> Frame<'a> {
    /// Makes a frame whose arguments are all values on the stack. `free` slots above them must be free.
    ///
    /// # Safety
    ///
    /// The state must be live, `context` must be its context, and nothing else may use the state meanwhile. The limit
    /// of memory must be suspended until the frame is dropped. Settings may be requested only in a function of a
    /// library.
    pub(crate) unsafe fn new(state: *mut lua_State, context: &'a Context, free: c_int) -> Frame<'a> {
        // SAFETY: the state is live.
        let arguments = unsafe { lua_gettop(state) };
        let (kept, free) = (Cell::new(arguments), Cell::new(free));
        Frame { state, context, arguments, kept, free, walks: Cell::new(0), _state: PhantomData }
    }

    fn ending_of(&self, function: Function) -> Ending {
        match function(self) {
            Ok(results) => {
                // SAFETY: the state is live while the frame is.
                let top = unsafe { lua_gettop(self.state) };
                assert!((0..=top).contains(&results), "results lie on the stack");
                Ending::Results(results)
            }
            // SAFETY: the function has returned, and with it all that used the stack; for `Cause::Top` a protected
            // call has left its error there.
            Err(raise) => unsafe { raise.push(self.state) },
        }
    }

    /// The interpreter, for code that must be unsafe.
    pub(in crate::library) fn state(&self) -> *mut lua_State {
        self.state
    }

    /// The data of the functions of `redis` besides the interpreter.
    pub(in crate::library) fn context(&self) -> &'a Context {
        self.context
    }

    /// Checks whether the script must end, and serves others if it is slow. To be called in every step of a loop that a
    /// script can make long.
    #[inline]
    pub(crate) fn poll(&self) -> Result<(), Raise> {
        if self.context.control.is_signalled() && self.context.poll() { Err(Raise::killed()) } else { Ok(()) }
    }
}
