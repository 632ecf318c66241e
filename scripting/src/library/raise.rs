//! The errors of library functions. They are values until no Rust frame is left over which Lua would jump.

use crate::call::{KILLED, push_error};
use crate::ffi::{self, *};
use std::borrow::Cow;
use std::ffi::c_int;

/// The error with which a library function ends.
#[must_use]
pub(crate) struct Raise(Box<Cause>);

/// A text, shown up to its first NUL.
type Text = Cow<'static, [u8]>;

enum Cause {
    /// A text, preceded by the place in the script.
    Text(Text),
    /// A text alone.
    Bare(Text),
    /// The fault of an argument.
    Argument(c_int, Text),
    /// An error table of the kind that the functions of `redis` raise.
    Reply(Text),
    /// The value on top of the stack: an error that a protected call has returned.
    Top,
    /// The limit of memory is exceeded.
    Memory,
    /// The script must end.
    Killed,
}

/// The step that is left once a library function has returned. It owns nothing, so Lua may jump over it.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    /// Return this number of values on top as the results.
    Results(c_int),
    /// Raise the value on top.
    RaiseTop,
    /// Raise the text on top, preceded by the place in the script.
    RaiseText,
    /// Raise the text on top as the error of this argument.
    RaiseArgument(c_int),
}

impl Raise {
    /// An error as `luaL_error` raises it: the place in the script, then the text.
    #[cold]
    pub(crate) fn error(text: impl Into<Text>) -> Raise {
        Raise(Box::new(Cause::Text(text.into())))
    }

    /// An error as the interpreter raises it in a C function: the text alone.
    #[cold]
    pub(crate) fn bare(text: impl Into<Text>) -> Raise {
        Raise(Box::new(Cause::Bare(text.into())))
    }

    /// An error as `luaL_argerror` raises it, with the function's name and the argument's number, which counts from 1.
    #[cold]
    pub(crate) fn argument(argument: c_int, text: impl Into<Text>) -> Raise {
        Raise(Box::new(Cause::Argument(argument, text.into())))
    }

    /// An error table as the functions of `redis` raise it. The text is as for [`push_error`].
    #[cold]
    pub(crate) fn reply(text: impl Into<Text>) -> Raise {
        Raise(Box::new(Cause::Reply(text.into())))
    }

    /// An error that nothing catches, since the script must end.
    #[cold]
    pub(crate) fn killed() -> Raise {
        Raise(Box::new(Cause::Killed))
    }

    #[cold]
    pub(super) fn memory() -> Raise {
        Raise(Box::new(Cause::Memory))
    }

    #[cold]
    pub(super) fn top() -> Raise {
        Raise(Box::new(Cause::Top))
    }

    /// Puts the value to be raised on top of the stack; returns the step that raises it.
    ///
    /// # Safety
    ///
    /// The state must be that of a function which ends with this error: its arguments are no longer read. The limit of
    /// memory must be suspended. For [`Cause::Top`] a value must be on top.
    #[cold]
    pub(super) unsafe fn push(self, state: *mut lua_State) -> Ending {
        // SAFETY: a function has 20 slots, all of them free once its stack is emptied. With the limit suspended
        // nothing is raised here, where the text is still owned.
        unsafe {
            if !matches!(*self.0, Cause::Top) {
                lua_settop(state, 0);
            }
            match *self.0 {
                Cause::Top => Ending::RaiseTop,
                Cause::Text(text) => {
                    ffi::push(state, &text);
                    Ending::RaiseText
                }
                Cause::Bare(text) => {
                    ffi::push(state, &text);
                    Ending::RaiseTop
                }
                Cause::Argument(argument, text) => {
                    ffi::push(state, &text);
                    Ending::RaiseArgument(argument)
                }
                Cause::Reply(text) => {
                    push_error(state, &text);
                    Ending::RaiseTop
                }
                Cause::Memory => {
                    lua_pushliteral(state, c"not enough memory");
                    Ending::RaiseTop
                }
                Cause::Killed => {
                    lua_setkilled(state, 1);
                    lua_pushliteral(state, KILLED);
                    Ending::RaiseTop
                }
            }
        }
    }
}
