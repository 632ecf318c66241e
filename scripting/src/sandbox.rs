//! What scripts find: the globals that Redis allows and no others, all of them read-only.

use crate::context::Context;
use crate::ffi::{self, *};
use crate::library::{self, error_handler, unknown_global};
use crate::{call::lua_function, random::Random, struct_lib};
use std::ffi::{CStr, c_int};

/// What is left of Lua's own globals. `os` has only `clock`.
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

/// The tables that stay writable: they are made anew for each script.
const ARGUMENTS: &[&[u8]] = &[b"KEYS", b"ARGV"];

/// Fills the globals of a new state. `KEYS` and `ARGV` are the tables at the indices `keys` and `argv`.
///
/// # Safety
///
/// The state is new, its context in place, and the limit of memory suspended.
pub(crate) unsafe fn open(state: *mut lua_State, version: &str, keys: c_int, argv: c_int) {
    // SAFETY: as this function demands: no call can fail.
    unsafe {
        open_libraries(state);
        forbid(state);
        lua_createtable(state, 0, 32);
        add_functions(state, library::FUNCTIONS);
        for (name, number) in library::NUMBERS {
            add_number(state, name, *number);
        }
        ffi::push(state, version.as_bytes());
        set_field(state, c"REDIS_VERSION");
        add_number(state, c"REDIS_VERSION_NUM", version_number(version));
        lua_setglobal(state, c"redis".as_ptr());
        lua_createtable(state, 0, 3);
        add_functions(state, struct_lib::FUNCTIONS);
        lua_setglobal(state, c"struct".as_ptr());
        lua_pushcclosure(state, error_handler, 0);
        lua_setglobal(state, c"__redis__err__handler".as_ptr());
        lua_pushvalue(state, keys);
        lua_setglobal(state, c"KEYS".as_ptr());
        lua_pushvalue(state, argv);
        lua_setglobal(state, c"ARGV".as_ptr());
        protect(state);
    }
}

/// `7.2.4` as `0x00070204`.
pub(crate) fn version_number(version: &str) -> u32 {
    let parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    parts.chain(std::iter::repeat(0)).take(3).fold(0, |number, part| number << 8 | part)
}

/// # Safety
///
/// As for [`open`].
unsafe fn open_libraries(state: *mut lua_State) {
    let libraries: [(unsafe extern "C-unwind" fn(*mut lua_State) -> c_int, &CStr); 5] = [
        (luaopen_base, c""),
        (luaopen_table, c"table"),
        (luaopen_string, c"string"),
        (luaopen_math, c"math"),
        (luaopen_os, c"os"),
    ];
    // SAFETY: as this function demands.
    unsafe {
        for (open, name) in libraries {
            lua_pushcclosure(state, open, 0);
            lua_pushliteral(state, name);
            lua_call(state, 1, 0);
        }
    }
}

/// Takes away what scripts must not have, and replaces what depends on the machine.
///
/// # Safety
///
/// As for [`open`].
unsafe fn forbid(state: *mut lua_State) {
    // SAFETY: as this function demands. A field may be set to nil while a table is walked.
    unsafe {
        lua_pushnil(state);
        while lua_next(state, LUA_GLOBALSINDEX) != 0 {
            lua_pop(state, 1);
            if !ALLOWED.contains(&ffi::string(state, -1)) {
                lua_pushvalue(state, -1);
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
        lua_getglobal(state, c"math".as_ptr());
        add_functions(state, &[(c"random", random), (c"randomseed", randomseed)]);
        lua_pop(state, 1);
    }
}

/// Makes the globals, the libraries and the metatable of strings read-only.
///
/// # Safety
///
/// As for [`open`].
unsafe fn protect(state: *mut lua_State) {
    // SAFETY: as this function demands.
    unsafe {
        lua_pushnil(state);
        while lua_next(state, LUA_GLOBALSINDEX) != 0 {
            if lua_type(state, -1) == LUA_TTABLE && !ARGUMENTS.contains(&ffi::string(state, -2)) {
                lua_setreadonly(state, -1, 1);
            }
            lua_pop(state, 1);
        }
        lua_pushliteral(state, c"");
        lua_getmetatable(state, -1);
        lua_setreadonly(state, -1, 1);
        lua_pop(state, 2);
        lua_setreadonly(state, LUA_GLOBALSINDEX, 0);
        lua_createtable(state, 0, 1);
        lua_pushcclosure(state, unknown_global, 0);
        set_field(state, c"__index");
        lua_setreadonly(state, -1, 1);
        lua_setmetatable(state, LUA_GLOBALSINDEX);
        lua_setreadonly(state, LUA_GLOBALSINDEX, 1);
    }
}

/// # Safety
///
/// As for [`open`]; a table is on top.
unsafe fn add_functions(state: *mut lua_State, functions: &[(&CStr, lua_CFunction)]) {
    for (name, function) in functions {
        // SAFETY: as this function demands.
        unsafe {
            lua_pushcclosure(state, *function, 0);
            set_field(state, name);
        }
    }
}

/// # Safety
///
/// As for [`open`]; a table is on top.
unsafe fn add_number(state: *mut lua_State, name: &CStr, number: u32) {
    // SAFETY: as this function demands.
    unsafe {
        lua_pushnumber(state, f64::from(number));
        set_field(state, name);
    }
}

lua_function!(
    /// `math.random([[low,] high])`.
    random = next_random
);
lua_function!(
    /// `math.randomseed(seed)`.
    randomseed = |state| {
        let seed = luaL_checkinteger(state, 1) as i32;
        Context::of(state).random.set(Random::seeded(seed));
        0
    }
);

/// # Safety
///
/// As a function for scripts.
unsafe fn next_random(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state.
    unsafe {
        let context = Context::of(state);
        let mut random = context.random.get();
        let unit = random.unit();
        context.random.set(random);
        let (low, high, last) = match lua_gettop(state) {
            0 => {
                lua_pushnumber(state, unit);
                return 1;
            }
            1 => (1, luaL_checkinteger(state, 1) as i32, 1),
            2 => (luaL_checkinteger(state, 1) as i32, luaL_checkinteger(state, 2) as i32, 2),
            _ => return luaL_error(state, c"wrong number of arguments".as_ptr()),
        };
        if low > high {
            return luaL_argerror(state, last, c"interval is empty".as_ptr());
        }
        // The difference wraps, as in C.
        let span = f64::from(high.wrapping_sub(low).wrapping_add(1));
        lua_pushnumber(state, (unit * span).floor() + f64::from(low));
        1
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
