//! The globals of scripts: exactly those that Redis allows, all of them read-only.

use crate::call;
use crate::context::Context;
use crate::control::EntryKind;
use crate::entry::{ARGV, KEYS};
use crate::ffi::{self, *};
use crate::handler::error_handler;
use crate::library::{self, Frame, Value, push_function, unknown_global};
use crate::options::Options;
use std::ffi::{CStr, c_int};

/// The permitted globals of Lua's own. `os` has only `clock`.
const ALLOWED: &[&[u8]] = &[
    b"_G",
    b"_VERSION",
    b"assert",
    b"collectgarbage",
    b"coroutine",
    b"error",
    b"gcinfo",
    b"getmetatable",
    b"ipairs",
    b"load",
    b"loadstring",
    b"math",
    b"next",
    b"os",
    b"pairs",
    b"pcall",
    b"rawequal",
    b"rawget",
    b"rawset",
    b"select",
    b"setmetatable",
    b"string",
    b"table",
    b"tonumber",
    b"tostring",
    b"type",
    b"unpack",
    b"xpcall",
];

/// The globals that Redis also allows while `lua-enable-deprecated-api` is set.
const DEPRECATED: &[&[u8]] = &[b"getfenv", b"newproxy", b"setfenv"];

/// The tables that stay writable, since they are renewed for each script.
const ARGUMENTS: &[&[u8]] = &[b"KEYS", b"ARGV"];

/// The fields of `redis` that scripts have and functions have not.
const FOR_SCRIPTS_ALONE: &[&CStr] = &[c"breakpoint", c"debug", c"replicate_commands"];

/// Fills the globals of a new state, for scripts or for functions.
///
/// # Safety
///
/// The state must be new, its context be in place, and the limit of memory be suspended.
pub(crate) unsafe fn open(state: *mut lua_State, options: Options, kind: EntryKind) {
    // SAFETY: the state is new, so six more slots are free. No call raises an error, as memory is not limited, and the
    // tables are writable and have no metatables yet.
    unsafe {
        open_libraries(state);
        forbid(state, options.deprecated_api);
        lua_createtable(state, 0, 32);
        for (name, function) in call::FUNCTIONS {
            lua_pushcclosure(state, *function, 0);
            set_field(state, name);
        }
        ffi::push(state, options.redis_version.as_bytes());
        set_field(state, c"REDIS_VERSION");
        lua_pushnumber(state, f64::from(version_number(options.redis_version)));
        set_field(state, c"REDIS_VERSION_NUM");
        lua_setglobal(state, c"redis".as_ptr());
        for library in library::LIBRARIES {
            library::open(state, library);
        }
        match kind {
            EntryKind::Script => add_for_scripts(state),
            EntryKind::Function => remove_for_functions(state),
        }
        protect(state);
    }
}

/// Adds the globals from which a script reads its keys and arguments.
///
/// # Safety
///
/// See [`open`].
unsafe fn add_for_scripts(state: *mut lua_State) {
    // SAFETY: a slot suffices; the two tables lie at the bottom of the stack.
    unsafe {
        lua_pushcclosure(state, error_handler, 0);
        lua_setglobal(state, c"__redis__err__handler".as_ptr());
        lua_pushvalue(state, KEYS);
        lua_setglobal(state, c"KEYS".as_ptr());
        lua_pushvalue(state, ARGV);
        lua_setglobal(state, c"ARGV".as_ptr());
    }
}

/// Removes the fields of `redis` that functions do not have.
///
/// # Safety
///
/// See [`open`]. `redis` must be a table.
unsafe fn remove_for_functions(state: *mut lua_State) {
    // SAFETY: two slots suffice; the table is writable and plain.
    unsafe {
        lua_getglobal(state, c"redis".as_ptr());
        for name in FOR_SCRIPTS_ALONE {
            lua_pushnil(state);
            set_field(state, name);
        }
        lua_pop(state, 1);
    }
}

/// Restores the initial settings of the libraries that have settings.
///
/// # Safety
///
/// The state must be one that was opened, no script may run in it, and the limit of memory must be suspended.
pub(crate) unsafe fn reset(state: *mut lua_State) {
    // SAFETY: the bottom of the stack leaves six slots free; each table was made read-only by `protect`, and is
    // writable only meanwhile.
    unsafe {
        for library in library::LIBRARIES.iter().filter(|library| !library.settings.is_empty()) {
            raw_field(state, LUA_GLOBALSINDEX, library.name.to_bytes());
            lua_setreadonly(state, -1, 0);
            library::open(state, library);
            lua_setreadonly(state, -1, 1);
            lua_pop(state, 1);
        }
    }
}

/// Converts a version such as `7.2.4` to `0x00070204`.
pub(crate) fn version_number(version: &str) -> u32 {
    let parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    parts.chain(std::iter::repeat(0)).take(3).fold(0, |number, part| number << 8 | part)
}

/// # Safety
///
/// See [`open`].
unsafe fn open_libraries(state: *mut lua_State) {
    let libraries: [(unsafe extern "C-unwind" fn(*mut lua_State) -> c_int, &CStr); 5] = [
        (luaopen_base, c""),
        (luaopen_table, c"table"),
        (luaopen_string, c"string"),
        (luaopen_math, c"math"),
        (luaopen_os, c"os"),
    ];
    // SAFETY: the functions open libraries of a new state, each with its name as the argument; there is memory for
    // them.
    unsafe {
        for (open, name) in libraries {
            lua_pushcclosure(state, open, 0);
            lua_pushliteral(state, name);
            lua_call(state, 1, 0);
        }
    }
}

/// Removes the globals that scripts must not have.
///
/// # Safety
///
/// See [`open`].
unsafe fn forbid(state: *mut lua_State, deprecated_api: bool) {
    // SAFETY: seven slots suffice, and there is memory. Nothing raises an error: the tables are writable and plain.
    unsafe {
        for name in global_names(state) {
            let is_allowed = ALLOWED.contains(&&*name) || (deprecated_api && DEPRECATED.contains(&&*name));
            if !is_allowed {
                ffi::push(state, &name);
                lua_pushnil(state);
                lua_rawset(state, LUA_GLOBALSINDEX);
            }
        }
        lua_createtable(state, 0, 1);
        lua_getglobal(state, c"os".as_ptr());
        raw_field(state, lua_gettop(state), b"clock");
        lua_remove(state, -2);
        set_field(state, c"clock");
        lua_setglobal(state, c"os".as_ptr());
    }
}

/// The names of all globals, in no particular order.
///
/// # Safety
///
/// See [`open`].
pub(crate) unsafe fn global_names(state: *mut lua_State) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    // SAFETY: a slot is free for the table, and the frame alone uses the state until it is gone.
    unsafe {
        lua_pushvalue(state, LUA_GLOBALSINDEX);
        let frame = Frame::new(state, Context::of(state), 0);
        let walked = frame.each(frame.count(), &mut |_, name, _| {
            if let Value::String(name) = name {
                names.push(name.to_vec());
            }
            Ok(())
        });
        assert!(walked.is_ok(), "no script runs that could be killed");
        lua_pop(state, 1);
    }
    names
}

/// Makes the globals, the libraries and the metatable of strings read-only.
///
/// # Safety
///
/// See [`open`].
unsafe fn protect(state: *mut lua_State) {
    // SAFETY: three slots suffice, and there is memory; only tables are made read-only.
    unsafe {
        for name in global_names(state) {
            raw_field(state, LUA_GLOBALSINDEX, &name);
            if lua_type(state, -1) == LUA_TTABLE && !ARGUMENTS.contains(&&*name) {
                lua_setreadonly(state, -1, 1);
            }
            lua_pop(state, 1);
        }
        lua_pushliteral(state, c"");
        lua_getmetatable(state, -1);
        lua_setreadonly(state, -1, 1);
        lua_pop(state, 2);
        lua_setreadonly(state, LUA_GLOBALSINDEX, 0);
        push_strict_metatable(state);
        lua_setmetatable(state, LUA_GLOBALSINDEX);
        lua_setreadonly(state, LUA_GLOBALSINDEX, 1);
    }
}

/// Pushes a metatable that refuses to read missing fields.
///
/// # Safety
///
/// See [`open`].
pub(crate) unsafe fn push_strict_metatable(state: *mut lua_State) {
    // SAFETY: three slots suffice, and there is memory.
    unsafe {
        lua_createtable(state, 0, 1);
        push_function(state, unknown_global, None);
        set_field(state, c"__index");
        lua_setreadonly(state, -1, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::version_number;

    #[test]
    fn versions_are_numbers_too() {
        assert_eq!(version_number("7.2.4"), 459_268);
        assert_eq!(version_number("7.0.15"), 458_767);
    }
}
