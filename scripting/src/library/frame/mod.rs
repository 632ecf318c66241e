//! A library function's view of the interpreter: its arguments, a stack for results, tables, and nothing unsafe.
//!
//! Lua raises an error by a jump over all frames up to the protected call, and what lies in them is never dropped. So
//! nothing is raised while a library function runs: the limit of memory is suspended, all calls made here are ones that
//! raise nothing else, and what may raise runs within a protected call of its own ([`Frame::protect`]). The function's
//! own error is a value, and raised when the function has returned. A panic ends the script as a panic of the host
//! does.

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
/// Arguments count from 1. They stay where they are until the call ends, so their texts may be kept as long.
pub(crate) struct Frame<'a> {
    state: *mut lua_State,
    context: &'a Context,
    arguments: c_int,
    /// The slots that must stay: the arguments', and the key and value that a walk shows.
    kept: Cell<c_int>,
    /// Slots above the top that are known to be free.
    free: Cell<c_int>,
    /// Walks in progress. A table that is walked must not change.
    walks: Cell<u32>,
    _state: PhantomData<&'a lua_State>,
}

/// A value of Lua's. `T` is what is known of a table: its slot on the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'v, T = c_int> {
    /// No value, as an argument that is not there.
    None,
    Nil,
    Boolean(bool),
    Number(f64),
    String(&'v [u8]),
    Table(T),
    /// What `cjson.null` is.
    Null,
    /// A function, a coroutine or a userdata, with the name of its type.
    Other(&'static str),
}

/// A value that lies in a table.
pub(crate) type View<'w> = Value<'w, ()>;

impl Frame<'_> {
    /// Whether errors are told as before Redis 7.0.
    pub(crate) fn is_before_7(&self) -> bool {
        self.context.before_7
    }
}

impl<'v> Value<'v> {
    /// The same, without the slot.
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
    /// The same; none for a table.
    #[inline]
    pub(crate) fn plain(self) -> Option<View<'v>> {
        if let View::Table(()) = self { None } else { Some(self) }
    }
}

impl<T> Value<'_, T> {
    /// The name of its type, as `type` gives it.
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
    /// A frame whose arguments are all values on the stack, with so many slots above them known to be free.
    ///
    /// # Safety
    ///
    /// The state is live and nothing else uses it meanwhile, `context` is its context, and the limit of memory is
    /// suspended until this is gone. Settings are asked for only in a function of a library.
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

    /// The interpreter, for what must be unsafe.
    pub(in crate::library) fn state(&self) -> *mut lua_State {
        self.state
    }

    /// What the functions of `redis` need besides the interpreter.
    pub(in crate::library) fn context(&self) -> &'a Context {
        self.context
    }

    /// Checks whether the script must end, and serves others if it is slow. For every step of a loop that a script can
    /// make long.
    #[inline]
    pub(crate) fn poll(&self) -> Result<(), Raise> {
        if self.context.control.is_signalled() && self.context.poll() { Err(Raise::killed()) } else { Ok(()) }
    }
}
