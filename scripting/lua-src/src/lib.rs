//! The C interface of Lua 5.1.5 as Lockwheel runs it: the functions in use, and the additions of the patches. Lua's own
//! functions are described in [its manual](https://www.lua.org/manual/5.1/manual.html#3).

#![expect(non_camel_case_types, reason = "types have the names that they have in C")]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::marker::{PhantomData, PhantomPinned};

/// Whether Lua was built with the address sanitizer, by `LOCKWHEEL_LUA_SANITIZE=address`. In that case, it helps to
/// allocate every block separately.
pub const IS_SANITIZED: bool =
    matches!(option_env!("LOCKWHEEL_LUA_SANITIZE"), Some(name) if !name.is_empty());

/// An interpreter, or one of its threads.
#[repr(C)]
pub struct lua_State {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A Lua number.
pub type lua_Number = f64;
/// A function that Lua can call. It takes its arguments from the stack, and returns the number of results on the stack.
pub type lua_CFunction = unsafe extern "C-unwind" fn(state: *mut lua_State) -> c_int;
/// An allocator: it allocates, resizes and frees memory. Parameters: context, block, present size, new size.
pub type lua_Alloc =
    unsafe extern "C" fn(context: *mut c_void, block: *mut c_void, from: usize, to: usize) -> *mut c_void;
/// The callback that every loop calls once the interrupt's bits are set. If it returns 1, the run ends. It must not
/// raise an error or unwind.
pub type Interrupt = unsafe extern "C-unwind" fn(context: *mut c_void) -> c_int;

/// No error.
pub const LUA_OK: c_int = 0;
/// The pseudo-index of the registry, a table that no script can reach.
pub const LUA_REGISTRYINDEX: c_int = -10000;
/// The pseudo-index of the table of globals.
pub const LUA_GLOBALSINDEX: c_int = -10002;
/// The type of an index that has no value.
pub const LUA_TNONE: c_int = -1;
/// The type of nil.
pub const LUA_TNIL: c_int = 0;
/// The type of booleans.
pub const LUA_TBOOLEAN: c_int = 1;
/// The type of light userdata.
pub const LUA_TLIGHTUSERDATA: c_int = 2;
/// The type of numbers.
pub const LUA_TNUMBER: c_int = 3;
/// The type of strings.
pub const LUA_TSTRING: c_int = 4;
/// The type of tables.
pub const LUA_TTABLE: c_int = 5;
/// The type of functions.
pub const LUA_TFUNCTION: c_int = 6;
/// The operation of [`lua_gc`] that collects all garbage.
pub const LUA_GCCOLLECT: c_int = 2;

/// Information about a function from [`lua_getinfo`].
#[repr(C)]
pub struct lua_Debug {
    /// The event of a hook.
    pub event: c_int,
    /// The function's name, or null.
    pub name: *const c_char,
    /// The kind of that name.
    pub namewhat: *const c_char,
    /// `Lua`, `C`, `main` or `tail`.
    pub what: *const c_char,
    /// The chunk's name.
    pub source: *const c_char,
    /// The current line, or -1.
    pub currentline: c_int,
    /// The number of upvalues.
    pub nups: c_int,
    /// The first line of the function.
    pub linedefined: c_int,
    /// The last line of the function.
    pub lastlinedefined: c_int,
    /// The chunk's name in the form for messages.
    pub short_src: [c_char; 60],
    i_ci: c_int,
}

/// The bytes of a string that the interpreter owns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slice {
    /// The first byte; null for a number.
    pub text: *const c_char,
    /// The number of bytes; not written for a number.
    pub len: usize,
}

/// A value as stored in a table. Its type says which part of the content is written.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct View {
    /// The content, unless the type alone determines the value.
    pub content: Content,
    /// The length of a string, in bytes.
    pub len: usize,
    /// The type.
    pub kind: c_int,
}

/// The content of a [`View`].
#[derive(Clone, Copy)]
#[repr(C)]
pub union Content {
    /// The first byte of a string.
    pub text: *const c_char,
    /// A number.
    pub number: lua_Number,
    /// The address of a light userdata.
    pub address: *const c_void,
    /// A boolean.
    pub boolean: c_long,
}

/// Declares functions under the names that `build/names.rs` gives them.
macro_rules! functions {
    ($($(#[$about:meta])* fn $name:ident($($rest:tt)*) $(-> $result:ty)?;)*) => {
        // SAFETY: parameters and results are those of lua.h, lauxlib.h, lualib.h and of the functions in the patches.
        unsafe extern "C-unwind" {
            $(
                $(#[$about])*
                #[link_name = concat!("lockwheel_", stringify!($name))]
                pub fn $name($($rest)*) $(-> $result)?;
            )*
        }
    };
}

// Interpreters.
functions! {
    /// Creates an interpreter. Returns null if there is no memory.
    fn lua_newstate(alloc: lua_Alloc, context: *mut c_void) -> *mut lua_State;
    /// Closes an interpreter and frees its memory.
    fn lua_close(state: *mut lua_State);
    /// Pushes a new thread.
    fn lua_newthread(state: *mut lua_State) -> *mut lua_State;
    /// Sets the function that is called for an error that nothing catches.
    fn lua_atpanic(state: *mut lua_State, panic: lua_CFunction) -> Option<lua_CFunction>;
    /// Returns the allocator, and writes its context.
    fn lua_getallocf(state: *mut lua_State, context: *mut *mut c_void) -> lua_Alloc;
    /// Controls the garbage collector.
    fn lua_gc(state: *mut lua_State, what: c_int, data: c_int) -> c_int;
}

// The stack.
functions! {
    /// Returns the number of values on the stack.
    fn lua_gettop(state: *mut lua_State) -> c_int;
    /// Sets the top of the stack to an index.
    fn lua_settop(state: *mut lua_State, index: c_int);
    /// Pushes a copy of a value.
    fn lua_pushvalue(state: *mut lua_State, index: c_int);
    /// Moves the value at the top to an index, and shifts the values above that index.
    fn lua_insert(state: *mut lua_State, index: c_int);
    /// Pops a value and stores it at an index.
    fn lua_replace(state: *mut lua_State, index: c_int);
    /// Removes a value.
    fn lua_remove(state: *mut lua_State, index: c_int);
    /// Makes room for this many values. Returns 0 if that is not possible.
    fn lua_checkstack(state: *mut lua_State, count: c_int) -> c_int;
    /// Moves values from one thread to another.
    fn lua_xmove(from: *mut lua_State, to: *mut lua_State, count: c_int);
}

// Access to values on the stack.
functions! {
    /// Returns the type of a value.
    fn lua_type(state: *mut lua_State, index: c_int) -> c_int;
    /// Returns the name of a type.
    fn lua_typename(state: *mut lua_State, kind: c_int) -> *const c_char;
    /// Whether a value is a number or a string that reads as one.
    fn lua_isnumber(state: *mut lua_State, index: c_int) -> c_int;
    /// Whether a value is a string or a number.
    fn lua_isstring(state: *mut lua_State, index: c_int) -> c_int;
    /// Converts a value to a boolean.
    fn lua_toboolean(state: *mut lua_State, index: c_int) -> c_int;
    /// Converts a value to a number; 0 if that is not possible.
    fn lua_tonumber(state: *mut lua_State, index: c_int) -> lua_Number;
    /// Converts a value to a string; null if that is not possible. A number on the stack is replaced by its string.
    fn lua_tolstring(state: *mut lua_State, index: c_int, len: *mut usize) -> *const c_char;
    /// Returns the address of a light userdata, or that of a userdata's bytes.
    fn lua_touserdata(state: *mut lua_State, index: c_int) -> *mut c_void;
    /// Returns the length of a string or of a userdata, or a border of a table.
    fn lua_objlen(state: *mut lua_State, index: c_int) -> usize;
    /// Returns the address of a table, thread or function.
    fn lua_topointer(state: *mut lua_State, index: c_int) -> *const c_void;
}

// Pushing values.
functions! {
    /// Pushes nil.
    fn lua_pushnil(state: *mut lua_State);
    /// Pushes a boolean.
    fn lua_pushboolean(state: *mut lua_State, value: c_int);
    /// Pushes a number.
    fn lua_pushnumber(state: *mut lua_State, value: lua_Number);
    /// Pushes a copy of `len` bytes.
    fn lua_pushlstring(state: *mut lua_State, text: *const c_char, len: usize);
    /// Pushes a copy of a text. Pushes nil if the pointer is null.
    fn lua_pushstring(state: *mut lua_State, text: *const c_char);
    /// Pushes a formatted text.
    fn lua_pushfstring(state: *mut lua_State, format: *const c_char, ...) -> *const c_char;
    /// Pushes an address as a light userdata.
    fn lua_pushlightuserdata(state: *mut lua_State, address: *mut c_void);
    /// Pushes a new userdata of `len` bytes, and returns its address.
    fn lua_newuserdata(state: *mut lua_State, len: usize) -> *mut c_void;
    /// Pops upvalues, and pushes a function that has them.
    fn lua_pushcclosure(state: *mut lua_State, function: lua_CFunction, upvalues: c_int);
    /// Replaces the values at the top by their concatenation.
    fn lua_concat(state: *mut lua_State, count: c_int);
}

// Tables.
functions! {
    /// Pushes a table with room for elements and fields.
    fn lua_createtable(state: *mut lua_State, elements: c_int, fields: c_int);
    /// Pushes the value of a field.
    fn lua_getfield(state: *mut lua_State, index: c_int, name: *const c_char);
    /// Pops a value and stores it in a field.
    fn lua_setfield(state: *mut lua_State, index: c_int, name: *const c_char);
    /// Replaces the key at the top by its value.
    fn lua_gettable(state: *mut lua_State, index: c_int);
    /// Replaces the key at the top by its value, without metamethods.
    fn lua_rawget(state: *mut lua_State, index: c_int);
    /// Pops a value and its key and stores them in a table, without metamethods.
    fn lua_rawset(state: *mut lua_State, index: c_int);
    /// Pushes an element, without metamethods.
    fn lua_rawgeti(state: *mut lua_State, index: c_int, element: c_int);
    /// Pops a value and stores it as an element, without metamethods.
    fn lua_rawseti(state: *mut lua_State, index: c_int, element: c_int);
    /// Replaces a key by the next key and its value. At the end, pushes nothing and returns 0.
    fn lua_next(state: *mut lua_State, index: c_int) -> c_int;
    /// Pushes the metatable of a value. Without one, pushes nothing and returns 0.
    fn lua_getmetatable(state: *mut lua_State, index: c_int) -> c_int;
    /// Pops a table and sets it as a metatable.
    fn lua_setmetatable(state: *mut lua_State, index: c_int) -> c_int;
}

// Calls, errors and information about functions.
functions! {
    /// Calls a function, which is below its arguments.
    fn lua_call(state: *mut lua_State, arguments: c_int, results: c_int);
    /// Calls a function in protected mode, which catches errors.
    fn lua_pcall(state: *mut lua_State, arguments: c_int, results: c_int, handler: c_int) -> c_int;
    /// Raises the value at the top as an error. Does not return.
    fn lua_error(state: *mut lua_State) -> c_int;
    /// Finds the function that runs at a level. Returns 0 if there is none.
    fn lua_getstack(state: *mut lua_State, level: c_int, record: *mut lua_Debug) -> c_int;
    /// Fills a record with information about a function.
    fn lua_getinfo(state: *mut lua_State, what: *const c_char, record: *mut lua_Debug) -> c_int;
}

// The auxiliary library.
functions! {
    /// Loads a chunk and pushes it as a function.
    fn luaL_loadbuffer(state: *mut lua_State, text: *const c_char, len: usize, name: *const c_char) -> c_int;
    /// Raises a formatted error. Does not return.
    fn luaL_error(state: *mut lua_State, format: *const c_char, ...) -> c_int;
    /// Raises an error about an argument. Does not return.
    fn luaL_argerror(state: *mut lua_State, argument: c_int, message: *const c_char) -> c_int;
}

// The opening functions of the libraries.
functions! {
    /// Opens the basic library.
    fn luaopen_base(state: *mut lua_State) -> c_int;
    /// Opens `table`.
    fn luaopen_table(state: *mut lua_State) -> c_int;
    /// Opens `string`.
    fn luaopen_string(state: *mut lua_State) -> c_int;
    /// Opens `math`.
    fn luaopen_math(state: *mut lua_State) -> c_int;
    /// Opens `os`.
    fn luaopen_os(state: *mut lua_State) -> c_int;
}

// Functions that the patches add.
functions! {
    /// Makes a table read-only, or writable again. Needs a table at `index`.
    fn lua_setreadonly(state: *mut lua_State, index: c_int, on: c_int);
    /// Whether the table at `index` is read-only. Needs a table there.
    fn lua_isreadonly(state: *mut lua_State, index: c_int) -> c_int;
    /// Resets the table at `index` to the state after `lua_createtable(state, slots, 0)`, except that values in those
    /// slots remain.
    fn lua_renewtable(state: *mut lua_State, index: c_int, slots: c_int);
    /// Stores a string in a slot, counted from 0, of the array that `lua_renewtable` or `lua_createtable` made.
    fn lua_setarraystring(state: *mut lua_State, index: c_int, slot: c_int, text: *const c_char, len: usize);
    /// Writes the function's first `count` arguments to `out`: strings, and a null for a number. Returns 1 if all are
    /// strings, and 2 if there are numbers too. Returns 0 if there is anything else; then not all are written.
    fn lua_arguments(state: *mut lua_State, out: *mut Slice, count: c_int) -> c_int;
    /// Writes the first field of the table at `index` from the position `at` on. Positions begin with 0. Returns the
    /// position after the field, and 0 at the end. After many empty slots, returns the negated position from which to
    /// continue. The index counts from the bottom.
    fn lua_viewfield(state: *mut lua_State, index: c_int, at: c_int, key: *mut View, value: *mut View) -> c_int;
    /// Counts the fields of the table at `index`. Returns 1 if their keys are the numbers from 1 to that count, and 2
    /// if a key is not a number. Returns 0 if neither is known, which includes large tables. The index counts from the
    /// bottom.
    fn lua_countfields(state: *mut lua_State, index: c_int, count: *mut c_int) -> c_int;
    /// Writes an element of the table at `index`, without metamethods. The index counts from the bottom.
    fn lua_viewelement(state: *mut lua_State, index: c_int, element: c_int, value: *mut View);
    /// Pushes the key and the value of the field before a position that `lua_viewfield` returned. If the table has
    /// become smaller, pushes nothing and returns 0.
    fn lua_pushfield(state: *mut lua_State, index: c_int, at: c_int) -> c_int;
    /// Pops a value and the key below it, and stores them in the table below both, without metamethods. Does nothing
    /// and returns 0 if that is not possible. The key must be above the `kept` lowest slots and neither nil nor NaN,
    /// and the table must exist and be writable.
    fn lua_putfield(state: *mut lua_State, kept: c_int) -> c_int;
    /// Does so with a value that has no key below it and becomes the element with this number; see `lua_putfield`.
    fn lua_putelement(state: *mut lua_State, kept: c_int, element: c_int) -> c_int;
    /// Makes every loop call `ask(context)` while `*word & mask` is not 0. If the callback returns 1, the run ends with
    /// an error that nothing catches.
    fn lua_setinterrupt(state: *mut lua_State, word: *const u32, mask: u32, ask: Interrupt, context: *mut c_void);
    /// Whether the run was ended by an interruption.
    fn lua_iskilled(state: *mut lua_State) -> c_int;
    /// Sets whether errors pass through everything that catches them.
    fn lua_setkilled(state: *mut lua_State, on: c_int);
    /// Sets the pace of the collector, and the memory limit that it respects. Starts the collector if it was stopped.
    fn lua_tunegc(state: *mut lua_State, pause: c_int, step_multiplier: c_int, memory_limit: usize);
}

/// Returns the pseudo-index of an upvalue of the running function, counted from 1.
#[inline(always)]
pub const fn lua_upvalueindex(upvalue: c_int) -> c_int {
    LUA_GLOBALSINDEX - upvalue
}

/// Pops `count` values.
///
/// # Safety
///
/// The state must be live and have that many values.
#[inline(always)]
pub unsafe fn lua_pop(state: *mut lua_State, count: c_int) {
    // SAFETY: there are that many values, so the new top is still on the stack.
    unsafe { lua_settop(state, -count - 1) }
}

/// Pushes a text.
///
/// # Safety
///
/// The state must be live and have a free slot. The call may raise a memory error.
#[inline(always)]
pub unsafe fn lua_pushliteral(state: *mut lua_State, text: &'static CStr) {
    // SAFETY: a slot is free, and the text ends with a zero as every `CStr`.
    unsafe { lua_pushstring(state, text.as_ptr()) }
}

/// Pushes a global.
///
/// # Safety
///
/// The state must be live and have a free slot. The name must end with a zero byte. The call may raise an error.
#[inline(always)]
pub unsafe fn lua_getglobal(state: *mut lua_State, name: *const c_char) {
    // SAFETY: a slot is free, the index is that of a table, and the name ends with a zero.
    unsafe { lua_getfield(state, LUA_GLOBALSINDEX, name) }
}

/// Pops a value into a global.
///
/// # Safety
///
/// The state must be live and have a value on the stack. The name must end with a zero byte. The call may raise an
/// error.
#[inline(always)]
pub unsafe fn lua_setglobal(state: *mut lua_State, name: *const c_char) {
    // SAFETY: a value is on the stack, the index is that of a table, and the name ends with a zero.
    unsafe { lua_setfield(state, LUA_GLOBALSINDEX, name) }
}
