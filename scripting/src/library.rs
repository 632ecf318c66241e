//! The rest of the table `redis`, and the error handler.

use crate::call::{acl_check_cmd, fail, kill, lua_function, push_error, redis_call, redis_pcall};
use crate::context::Context;
use crate::ffi::{self, *};
use crate::sha::Sha;
use lockwheel_resp::Protocol;
use std::ffi::{CStr, c_int};

/// The functions of the table `redis`.
pub(crate) const FUNCTIONS: &[(&CStr, lua_CFunction)] = &[
    (c"call", redis_call),
    (c"pcall", redis_pcall),
    (c"acl_check_cmd", acl_check_cmd),
    (c"error_reply", error_reply),
    (c"status_reply", status_reply),
    (c"sha1hex", sha1hex),
    (c"log", log),
    (c"setresp", setresp),
    (c"set_repl", set_repl),
    (c"replicate_commands", replicate_commands),
    (c"breakpoint", breakpoint),
    (c"debug", debug),
];

/// The numbers of the table `redis`.
pub(crate) const NUMBERS: &[(&CStr, u32)] = &[
    (c"LOG_DEBUG", 0),
    (c"LOG_VERBOSE", 1),
    (c"LOG_NOTICE", 2),
    (c"LOG_WARNING", 3),
    (c"REPL_NONE", 0),
    (c"REPL_AOF", 1),
    (c"REPL_SLAVE", 2),
    (c"REPL_REPLICA", 2),
    (c"REPL_ALL", 3),
];

lua_function!(
    /// `redis.error_reply(text)`: a table that becomes an error.
    error_reply = |state| {
        if lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING {
            return_error(state)
        } else {
            push_error_reply(state, ffi::string(state, 1));
            1
        }
    }
);
lua_function!(
    /// `redis.status_reply(text)`: a table that becomes a status.
    status_reply = |state| {
        if lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING {
            return_error(state)
        } else {
            lua_createtable(state, 0, 1);
            lua_pushvalue(state, 1);
            set_field(state, c"ok");
            1
        }
    }
);
lua_function!(
    /// `redis.sha1hex(text)`: a number counts as its text, anything else as no text.
    sha1hex = |state| {
        if lua_gettop(state) != 1 {
            fail(state, b"wrong number of arguments", true)
        } else {
            let sha = Sha::of_long(text_or_empty(state, 1), || lua_poll(state));
            ffi::push(state, sha.as_bytes());
            1
        }
    }
);
lua_function!(
    /// `redis.log(level, text, ...)`: the texts, with a space between, go to the server's log.
    log = write_log
);
lua_function!(
    /// `redis.setresp(version)`: the protocol in which commands answer the script.
    setresp = |state| {
        if lua_gettop(state) != 1 {
            fail(state, b"redis.setresp() requires one argument.", true)
        } else {
            choose_protocol(state, lua_tonumber(state, 1) as i64)
        }
    }
);
lua_function!(
    /// `redis.set_repl(flags)`: nothing is replicated, so only the argument is checked.
    set_repl = |state| {
        if lua_gettop(state) != 1 {
            fail(state, b"redis.set_repl() requires two arguments.", true)
        } else if lua_tonumber(state, 1) as i64 & !3 != 0 {
            fail(state, b"Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.", true)
        } else {
            0
        }
    }
);
lua_function!(
    /// `redis.replicate_commands()`: always true, as in Redis 7.
    replicate_commands = |state| {
        lua_pushboolean(state, 1);
        1
    }
);
lua_function!(
    /// `redis.breakpoint()`: false, as there is no debugger.
    breakpoint = |state| {
        lua_pushboolean(state, 0);
        1
    }
);
lua_function!(
    /// `redis.debug(...)`: nothing, as there is no debugger.
    debug = no_results
);
lua_function!(
    /// What the interpreter calls with an error before the stack is unwound, and scripts know as
    /// `__redis__err__handler`: makes a table of it and adds where it happened.
    error_handler = handle_error
);
lua_function!(
    /// What reads of unknown global variables call.
    unknown_global = |state| {
        // Numbers and strings only, as in Redis.
        let name = lua_tolstring(state, 2, std::ptr::null_mut());
        if name.is_null() {
            let text = c"Second argument to luaProtectedTableError must be a string or number";
            luaL_error(state, text.as_ptr())
        } else {
            let text = c"Script attempted to access nonexistent global variable '%s'";
            luaL_error(state, text.as_ptr(), name)
        }
    }
);

fn no_results(_: *mut lua_State) -> c_int {
    0
}

/// A bad call of `error_reply` and its like is answered, not raised.
///
/// # Safety
///
/// As for [`push_error`].
unsafe fn return_error(state: *mut lua_State) -> c_int {
    // SAFETY: as this function demands.
    unsafe { fail(state, b"wrong number or type of arguments", false) }
}

/// Pushes an error whose code, if the text has several words, is the first of them.
///
/// # Safety
///
/// As for [`push_error`].
unsafe fn push_error_reply(state: *mut lua_State, text: &[u8]) {
    // SAFETY: as this function demands; the output is not used elsewhere in between.
    unsafe {
        let line = Context::of(state).output();
        line.clear();
        if text.first() != Some(&b'-') {
            line.push(b'-');
        }
        line.extend_from_slice(text);
        push_error(state, line);
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn choose_protocol(state: *mut lua_State, version: i64) -> c_int {
    let protocol = match version {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        // SAFETY: as this function demands.
        _ => return unsafe { fail(state, b"RESP version must be 2 or 3.", true) },
    };
    // SAFETY: as this function demands.
    unsafe { Context::of(state) }.protocol.set(protocol);
    0
}

/// A string or a number as text; anything else is empty.
///
/// # Safety
///
/// There is a value at `index`, which stays for `'a`. May raise an error of memory, for a number.
unsafe fn text_or_empty<'a>(state: *mut lua_State, index: c_int) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: as this function demands.
    unsafe {
        let text = lua_tolstring(state, index, &mut len);
        if text.is_null() { b"" } else { std::slice::from_raw_parts(text.cast(), len) }
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn write_log(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state; nothing raises an error while the limit of memory is suspended.
    unsafe {
        let count = lua_gettop(state);
        if count < 2 {
            return fail(state, b"redis.log() requires two arguments or more.", true);
        }
        if lua_isnumber(state, 1) == 0 {
            return fail(state, b"First argument must be a number (log level).", true);
        }
        let level = lua_tonumber(state, 1).trunc();
        if !(0.0..=3.0).contains(&level) {
            return fail(state, b"Invalid debug level.", true);
        }
        let context = Context::of(state);
        context.free_memory();
        let mut text = context.text.take();
        text.clear();
        for index in 2..=count {
            let part = text_or_empty(state, index);
            if index > 2 {
                text.push(b' ');
            }
            text.extend_from_slice(&part[..part.len().min(MAX_LOG - text.len().min(MAX_LOG))]);
        }
        let logged = context.with_host(|host| host.log(level as u8, &text));
        context.text.set(text);
        context.limit_memory();
        if logged.is_none() { kill(state) } else { 0 }
    }
}

/// A longer message is cut.
const MAX_LOG: usize = 1 << 16;

/// # Safety
///
/// As a function for scripts.
unsafe fn handle_error(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state; `lua_getinfo` fills what is read of the record.
    unsafe {
        lua_settop(state, 1);
        if lua_type(state, 1) != LUA_TTABLE {
            lua_createtable(state, 0, 3);
            lua_pushliteral(state, c"ERR ");
            push_description(state, 1);
            lua_concat(state, 2);
            set_field(state, c"err");
        }
        let mut record = std::mem::MaybeUninit::<lua_Debug>::zeroed();
        let mut level = 1;
        while lua_getstack(state, level, record.as_mut_ptr()) != 0 {
            lua_getinfo(state, c"nSl".as_ptr(), record.as_mut_ptr());
            let record = record.assume_init_ref();
            // The second level is taken as it is: `error` and its like are called by a function of the script's.
            if level == 1 && CStr::from_ptr(record.what) == c"C" {
                level = 2;
                continue;
            }
            lua_pushstring(state, record.source);
            set_field(state, c"source");
            lua_pushnumber(state, f64::from(record.currentline));
            set_field(state, c"line");
            break;
        }
        1
    }
}

/// Pushes what `tostring` gives for a value that is no table.
///
/// # Safety
///
/// As for [`ffi::push`]; there is a value at `index`.
unsafe fn push_description(state: *mut lua_State, index: c_int) {
    // SAFETY: as this function demands.
    unsafe {
        match lua_type(state, index) {
            LUA_TNUMBER | LUA_TSTRING => {
                lua_pushvalue(state, index);
                // Makes a string of a number.
                lua_tolstring(state, -1, std::ptr::null_mut());
            }
            LUA_TBOOLEAN if lua_toboolean(state, index) != 0 => lua_pushliteral(state, c"true"),
            LUA_TBOOLEAN => lua_pushliteral(state, c"false"),
            LUA_TNIL | LUA_TNONE => lua_pushliteral(state, c"nil"),
            kind => {
                let address = lua_topointer(state, index);
                lua_pushfstring(state, c"%s: %p".as_ptr(), lua_typename(state, kind), address);
            }
        }
    }
}
