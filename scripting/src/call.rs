//! `redis.call` and `redis.pcall`.

use crate::before_7;
use crate::context::{Argument, Context};
use crate::error::{one_line, until_nul};
use crate::ffi::{self, *};
use crate::number::{self, MAX_LEN};
use crate::sink::StackSink;
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;

/// The result of a function that scripts call if the value on top is to be raised as an error. Otherwise the result is
/// a count.
const RAISE: c_int = -1;

const NO_ARGUMENTS: &[u8] = b"Please specify at least one argument for this redis lib call";
const BAD_ARGUMENT: &[u8] = b"Lua redis lib command arguments must be strings or integers";
/// The texts of these two errors before Redis 7.0.
const NO_ARGUMENTS_BEFORE_7: &[u8] = b"Please specify at least one argument for redis.call()";
const BAD_ARGUMENT_BEFORE_7: &[u8] = b"Lua redis() command arguments must be strings or integers";

/// Defines a function for scripts from one that does the work, and returns a count of results or [`RAISE`]. When the
/// error is raised, the frame owns nothing that needs to be dropped.
macro_rules! lua_function {
    ($(#[$doc:meta])* $name:ident = $work:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// Only the interpreter may call this.
        pub(crate) unsafe extern "C-unwind" fn $name(state: *mut lua_State) -> c_int {
            // SAFETY: the interpreter gives a live state, with the arguments and 20 free slots.
            unsafe {
                let results: c_int = $work(state);
                if results == $crate::call::RAISE_ERROR { lua_error(state) } else { results }
            }
        }
    };
}
pub(crate) use lua_function;
/// [`RAISE`], for the macro.
pub(crate) const RAISE_ERROR: c_int = RAISE;

/// The functions of the table `redis` that call commands or ask about them. They do without the library layer, since
/// every command of a script passes through them.
pub(crate) const FUNCTIONS: &[(&CStr, lua_CFunction)] =
    &[(c"call", redis_call), (c"pcall", redis_pcall), (c"acl_check_cmd", acl_check_cmd)];

lua_function!(
    /// `redis.call`: an error reply is raised.
    redis_call = |state| run_command(state, true)
);
lua_function!(
    /// `redis.pcall`: an error reply is returned.
    redis_pcall = |state| run_command(state, false)
);
lua_function!(
    /// `redis.acl_check_cmd`: whether the user may run a command.
    acl_check_cmd = check_command
);

/// Pushes the error table that a failing function of `redis` raises: its field `err` is the [`error_line`] of `text`.
///
/// # Safety
///
/// The state must be live, with three free slots.
#[cold]
pub(crate) unsafe fn push_error(state: *mut lua_State, text: &[u8]) {
    // SAFETY: three slots are enough; nothing raises an error while the limit of memory is suspended, so the line is
    // dropped.
    unsafe {
        let context = Context::of(state);
        context.free_memory();
        lua_createtable(state, 0, 1);
        if context.before_7 {
            ffi::push(state, &plain_line(text));
            set_field(state, c"err");
            before_7::add_place(state);
        } else {
            ffi::push(state, &error_line(text));
            set_field(state, c"err");
        }
        context.limit_memory();
    }
}

/// The error line with this text and without a code.
pub(crate) fn plain_line(text: &[u8]) -> Vec<u8> {
    let mut line = trim_lines(until_nul(text)).to_vec();
    one_line(&mut line);
    line
}

/// The error line with this text. The code `ERR` is added, unless the text begins with `-` and a code of its own and
/// has more than one word. Line ends become spaces; trailing ones are removed, as is everything from a NUL on.
pub(crate) fn error_line(text: &[u8]) -> Vec<u8> {
    let text = trim_lines(until_nul(text));
    let mut line = match text.strip_prefix(b"-") {
        Some(text) if text.contains(&b' ') => text.to_vec(),
        text_of_one_word => [b"ERR ", text_of_one_word.unwrap_or(text)].concat(),
    };
    one_line(&mut line);
    line
}

/// Pushes an error. Returns the result that raises it, or that returns it.
///
/// # Safety
///
/// See [`push_error`].
#[cold]
unsafe fn fail(state: *mut lua_State, text: &[u8], raise: bool) -> c_int {
    // SAFETY: three slots are free, which is what pushing an error takes.
    unsafe { push_error(state, text) };
    if raise { RAISE } else { 1 }
}

/// The number of arguments up to which their slots are on the stack while a command runs.
const FEW: usize = 16;

/// One argument: first in the interpreter's form, then as bytes.
#[repr(C)]
union Slot<'a> {
    raw: Argument,
    bytes: &'a [u8],
}

/// Calls `command` with the function's arguments. Returns `None` if one of them is neither a string nor a number.
///
/// # Safety
///
/// The state must be that of a function with `count` arguments, which stay on the stack meanwhile.
unsafe fn with_arguments<T>(
    state: *mut lua_State,
    context: &Context,
    count: c_int,
    command: impl FnOnce(&[&[u8]]) -> T,
) -> Option<T> {
    let len = count.max(0) as usize;
    let mut few = [const { MaybeUninit::<Slot<'_>>::uninit() }; FEW];
    let mut many = Vec::new();
    let slots = if len <= FEW {
        &mut few[..len]
    } else {
        many.resize_with(len, MaybeUninit::uninit);
        &mut many[..]
    };
    // SAFETY: there are as many arguments as slots, and all are written unless the call says that one cannot be.
    unsafe {
        let kinds = lua_arguments(state, slots.as_mut_ptr().cast(), count);
        if kinds == ARGUMENTS_NEITHER {
            return None;
        }
        let mut text = Vec::new();
        if kinds == ARGUMENTS_NUMBERS {
            text = context.text.take();
            write_numbers(state, slots, &mut text);
        }
        for slot in &mut *slots {
            let bytes = slot.assume_init_ref().raw.bytes();
            slot.write(Slot { bytes });
        }
        // A slot that holds bytes is laid out as they are.
        let result = command(std::slice::from_raw_parts(slots.as_ptr().cast(), len));
        if kinds == ARGUMENTS_NUMBERS {
            context.text.set(text);
        }
        Some(result)
    }
}

/// Writes the arguments that are numbers to `text`, whose buffer does not move meanwhile.
///
/// # Safety
///
/// See [`with_arguments`]. The slots must hold the arguments in the interpreter's form.
unsafe fn write_numbers(state: *mut lua_State, slots: &mut [MaybeUninit<Slot<'_>>], text: &mut Vec<u8>) {
    text.clear();
    text.reserve(MAX_LEN * slots.len());
    for (index, slot) in (1..).zip(slots) {
        // SAFETY: the slots are as many as the arguments, and `lua_arguments` has written each; a null start is a
        // number, at that index. The text was reserved, so it does not move while slices of it are made.
        unsafe {
            if slot.assume_init_ref().raw.is_number() {
                let start = text.len();
                number::write_argument(lua_tonumber(state, index), text);
                slot.write(Slot { raw: Argument::of(&text[start..]) });
            }
        }
    }
}

/// # Safety
///
/// `state` must be that of a C function that Lua has just called.
unsafe fn run_command(state: *mut lua_State, raise: bool) -> c_int {
    // SAFETY: the interpreter gives a live state.
    unsafe {
        let context = Context::of(state);
        let count = lua_gettop(state);
        if count == 0 {
            let text = if context.before_7 { NO_ARGUMENTS_BEFORE_7 } else { NO_ARGUMENTS };
            return fail(state, text, raise);
        }
        context.free_memory();
        let called = call_host(state, context, count);
        if context.before_7 && is_refusal(context, called) {
            before_7::add_place(state);
        }
        let within_limit = context.limit_memory();
        if context.control.is_signalled() && is_ended(context, called) {
            return kill(state);
        }
        match called {
            Called::BadArgument if context.before_7 => fail(state, BAD_ARGUMENT_BEFORE_7, raise),
            Called::BadArgument => fail(state, BAD_ARGUMENT, raise),
            Called::NoRoom => fail(state, b"reached lua stack limit", raise),
            Called::Panic => kill(state),
            _ if !within_limit => {
                lua_pushliteral(state, c"not enough memory");
                RAISE
            }
            Called::Error if raise => RAISE,
            Called::Error | Called::Value => 1,
        }
    }
}

/// Whether the script must end after a call. True also if the host has refused a write because a kill came first.
#[cold]
fn is_ended(context: &Context, called: Called) -> bool {
    // After a panic the host must not be called.
    matches!(called, Called::Panic) || context.look()
}

/// Whether the reply of a call means that its command was not run.
#[cold]
fn is_refusal(context: &Context, called: Called) -> bool {
    matches!(called, Called::Error) && context.with_host(|host| host.was_refused()) == Some(true)
}

/// The outcome of a call of the host.
#[derive(Clone, Copy)]
enum Called {
    /// The reply is on the stack.
    Value,
    /// The reply is on the stack, and is an error.
    Error,
    /// An argument was neither a string nor a number.
    BadArgument,
    /// The stack has no room for the reply.
    NoRoom,
    Panic,
}

/// Runs the command given by the function's arguments, and pushes its reply.
///
/// # Safety
///
/// The state must be that of a function with `count` arguments, and the limit of memory be suspended.
unsafe fn call_host(state: *mut lua_State, context: &Context, count: c_int) -> Called {
    // SAFETY: the limit is suspended, so nothing is raised. The arguments stay on the stack below the reply, and the
    // interpreter keeps 20 slots free above them.
    unsafe {
        let mut sink = StackSink::new(state, count, context.protocol.get());
        let called = with_arguments(state, context, count, |argv| {
            context.with_host(|host| host.call(argv, &mut sink))
        });
        let is_error = sink.is_error;
        match called {
            None => Called::BadArgument,
            Some(None) => Called::Panic,
            Some(Some(())) if !sink.finish() => Called::NoRoom,
            Some(Some(())) if is_error => Called::Error,
            Some(Some(())) => Called::Value,
        }
    }
}

/// The text of a kill, which the patched interpreter uses too.
pub(crate) const KILLED: &CStr = c"Script killed by user with SCRIPT KILL...";

/// Ends the script by an error that nothing catches.
///
/// # Safety
///
/// `state` must be that of a C function that Lua has just called.
#[cold]
unsafe fn kill(state: *mut lua_State) -> c_int {
    // SAFETY: the state is live, with a free slot.
    unsafe {
        lua_setkilled(state, 1);
        lua_pushliteral(state, KILLED);
        RAISE
    }
}

/// # Safety
///
/// `state` must be that of a C function that Lua has just called.
unsafe fn check_command(state: *mut lua_State) -> c_int {
    // SAFETY: the state is live and has a context. The limit is suspended while the host is asked, so nothing is raised
    // over the host's frames. The boolean takes a slot of the 20 that are free.
    unsafe {
        let context = Context::of(state);
        let count = lua_gettop(state);
        if count == 0 {
            return fail(state, NO_ARGUMENTS, true);
        }
        context.free_memory();
        let may = with_arguments(state, context, count, |argv| context.with_host(|host| host.may_run(argv)));
        context.limit_memory();
        match may {
            None => fail(state, BAD_ARGUMENT, true),
            Some(None) => kill(state),
            Some(Some(None)) => fail(state, b"Invalid command passed to redis.acl_check_cmd()", true),
            Some(Some(Some(may))) => {
                lua_pushboolean(state, c_int::from(may));
                1
            }
        }
    }
}

/// The text without trailing line ends.
pub(crate) fn trim_lines(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r' | b'\n'] = text {
        text = rest;
    }
    text
}
