//! The C interface of Lua 5.1.5 as Lockwheel runs it: the part that it uses, and what its patches add. A function
//! that Lua has is described in [its manual](https://www.lua.org/manual/5.1/manual.html#3).

#![expect(non_camel_case_types, reason = "types have the names that they have in C")]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::marker::{PhantomData, PhantomPinned};

/// Whether Lua was built with the address sanitizer, by `LOCKWHEEL_LUA_SANITIZE=address`: then it helps to keep every
/// block apart.
pub const IS_SANITIZED: bool =
    matches!(option_env!("LOCKWHEEL_LUA_SANITIZE"), Some(name) if !name.is_empty());

/// An interpreter, or one of its threads.
#[repr(C)]
pub struct lua_State {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A number of Lua's.
pub type lua_Number = f64;
/// A function that Lua can call: takes its arguments from the stack, and says how many results it has left there.
pub type lua_CFunction = unsafe extern "C-unwind" fn(state: *mut lua_State) -> c_int;
/// Gives, resizes and frees memory: context, block, its size, the size it is to have.
pub type lua_Alloc =
    unsafe extern "C" fn(context: *mut c_void, block: *mut c_void, from: usize, to: usize) -> *mut c_void;
/// Asked by every loop once the interrupt's bits are set: 1 ends the run. It must not raise an error nor unwind.
pub type Interrupt = unsafe extern "C-unwind" fn(context: *mut c_void) -> c_int;

/// No error.
pub const LUA_OK: c_int = 0;
/// The pseudo-index of the registry, a table that no script can reach.
pub const LUA_REGISTRYINDEX: c_int = -10000;
/// The pseudo-index of the table of globals.
pub const LUA_GLOBALSINDEX: c_int = -10002;
/// The type of an index without a value.
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
/// Has [`lua_gc`] collect all garbage.
pub const LUA_GCCOLLECT: c_int = 2;

/// The information of [`lua_getinfo`] about a function.
#[repr(C)]
pub struct lua_Debug {
    /// The event of a hook.
    pub event: c_int,
    /// The function's name, or null.
    pub name: *const c_char,
    /// What kind of name that is.
    pub namewhat: *const c_char,
    /// `Lua`, `C`, `main` or `tail`.
    pub what: *const c_char,
    /// The chunk's name.
    pub source: *const c_char,
    /// The line that runs, or -1.
    pub currentline: c_int,
    /// The number of upvalues.
    pub nups: c_int,
    /// The first line of the function.
    pub linedefined: c_int,
    /// The last line of the function.
    pub lastlinedefined: c_int,
    /// The chunk's name, as it is shown.
    pub short_src: [c_char; 60],
    i_ci: c_int,
}

/// The bytes of a string that the interpreter owns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slice {
    /// The first byte; null for a number.
    pub text: *const c_char,
    /// How many bytes; not written for a number.
    pub len: usize,
}

/// A value as it lies in a table, whose type says which part of it is written.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct View {
    /// What it is, unless its type says all.
    pub content: Content,
    /// The bytes of a string.
    pub len: usize,
    /// Its type.
    pub kind: c_int,
}

/// What a [`View`] shows.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Content {
    /// The first byte of a string.
    pub text: *const c_char,
    /// A number.
    pub number: lua_Number,
    /// The address that a light userdata is.
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

// The interpreter.
functions! {
    /// Makes an interpreter; null when there is no memory.
    fn lua_newstate(alloc: lua_Alloc, context: *mut c_void) -> *mut lua_State;
    /// Ends an interpreter and frees all it has.
    fn lua_close(state: *mut lua_State);
    /// Pushes a new thread.
    fn lua_newthread(state: *mut lua_State) -> *mut lua_State;
    /// Sets what is called for an error that nothing catches.
    fn lua_atpanic(state: *mut lua_State, panic: lua_CFunction) -> Option<lua_CFunction>;
    /// The allocator, and its context.
    fn lua_getallocf(state: *mut lua_State, context: *mut *mut c_void) -> lua_Alloc;
    /// Tells the collector to do something.
    fn lua_gc(state: *mut lua_State, what: c_int, data: c_int) -> c_int;
}

// The stack.
functions! {
    /// The number of values on the stack.
    fn lua_gettop(state: *mut lua_State) -> c_int;
    /// Makes an index the top.
    fn lua_settop(state: *mut lua_State, index: c_int);
    /// Pushes a copy of a value.
    fn lua_pushvalue(state: *mut lua_State, index: c_int);
    /// Moves the value on top to an index, below those that are there.
    fn lua_insert(state: *mut lua_State, index: c_int);
    /// Pops a value into an index, in the place of what is there.
    fn lua_replace(state: *mut lua_State, index: c_int);
    /// Takes a value out.
    fn lua_remove(state: *mut lua_State, index: c_int);
    /// Makes room for so many values; 0 if there is none.
    fn lua_checkstack(state: *mut lua_State, count: c_int) -> c_int;
    /// Moves values from one thread to another.
    fn lua_xmove(from: *mut lua_State, to: *mut lua_State, count: c_int);
}

// Values that are on the stack.
functions! {
    /// The type of a value.
    fn lua_type(state: *mut lua_State, index: c_int) -> c_int;
    /// The name of a type.
    fn lua_typename(state: *mut lua_State, kind: c_int) -> *const c_char;
    /// Whether a value is a number or a string that reads as one.
    fn lua_isnumber(state: *mut lua_State, index: c_int) -> c_int;
    /// Whether a value is a string or a number.
    fn lua_isstring(state: *mut lua_State, index: c_int) -> c_int;
    /// A value as a boolean.
    fn lua_toboolean(state: *mut lua_State, index: c_int) -> c_int;
    /// A value as a number; 0 if it is none.
    fn lua_tonumber(state: *mut lua_State, index: c_int) -> lua_Number;
    /// A value as a string; null if it is none. A number on the stack becomes a string.
    fn lua_tolstring(state: *mut lua_State, index: c_int, len: *mut usize) -> *const c_char;
    /// The address that a light userdata is, or that of a userdata's bytes.
    fn lua_touserdata(state: *mut lua_State, index: c_int) -> *mut c_void;
    /// The length of a string or of a userdata, a border of a table.
    fn lua_objlen(state: *mut lua_State, index: c_int) -> usize;
    /// The address of a table, thread or function.
    fn lua_topointer(state: *mut lua_State, index: c_int) -> *const c_void;
}

// Values that come onto the stack.
functions! {
    /// Pushes nil.
    fn lua_pushnil(state: *mut lua_State);
    /// Pushes a boolean.
    fn lua_pushboolean(state: *mut lua_State, value: c_int);
    /// Pushes a number.
    fn lua_pushnumber(state: *mut lua_State, value: lua_Number);
    /// Pushes a copy of so many bytes.
    fn lua_pushlstring(state: *mut lua_State, text: *const c_char, len: usize);
    /// Pushes a copy of a text; nil for null.
    fn lua_pushstring(state: *mut lua_State, text: *const c_char);
    /// Pushes a formatted text.
    fn lua_pushfstring(state: *mut lua_State, format: *const c_char, ...) -> *const c_char;
    /// Pushes an address as a light userdata.
    fn lua_pushlightuserdata(state: *mut lua_State, address: *mut c_void);
    /// Pushes a new userdata of so many bytes, and gives its address.
    fn lua_newuserdata(state: *mut lua_State, len: usize) -> *mut c_void;
    /// Pushes a function with so many upvalues, which it pops.
    fn lua_pushcclosure(state: *mut lua_State, function: lua_CFunction, upvalues: c_int);
    /// Concatenates the values at the top.
    fn lua_concat(state: *mut lua_State, count: c_int);
}

// Tables.
functions! {
    /// Pushes a table with room for elements and fields.
    fn lua_createtable(state: *mut lua_State, elements: c_int, fields: c_int);
    /// Pushes a field.
    fn lua_getfield(state: *mut lua_State, index: c_int, name: *const c_char);
    /// Pops a value into a field.
    fn lua_setfield(state: *mut lua_State, index: c_int, name: *const c_char);
    /// Replaces a key by its value.
    fn lua_gettable(state: *mut lua_State, index: c_int);
    /// Replaces a key by its value, past metatables.
    fn lua_rawget(state: *mut lua_State, index: c_int);
    /// Pops a key and its value into a table, past metatables.
    fn lua_rawset(state: *mut lua_State, index: c_int);
    /// Pushes an element, past metatables.
    fn lua_rawgeti(state: *mut lua_State, index: c_int, element: c_int);
    /// Pops a value into an element, past metatables.
    fn lua_rawseti(state: *mut lua_State, index: c_int, element: c_int);
    /// Replaces a key by the next and its value; 0 and no value at the end.
    fn lua_next(state: *mut lua_State, index: c_int) -> c_int;
    /// Pushes a metatable; 0 and no value if there is none.
    fn lua_getmetatable(state: *mut lua_State, index: c_int) -> c_int;
    /// Pops a metatable.
    fn lua_setmetatable(state: *mut lua_State, index: c_int) -> c_int;
}

// Calls, errors and what is known of a function.
functions! {
    /// Calls a function, which is below its arguments.
    fn lua_call(state: *mut lua_State, arguments: c_int, results: c_int);
    /// The same, and catches errors.
    fn lua_pcall(state: *mut lua_State, arguments: c_int, results: c_int, handler: c_int) -> c_int;
    /// Raises the value at the top as an error: does not return.
    fn lua_error(state: *mut lua_State) -> c_int;
    /// Finds the function that runs at a level; 0 if there is none.
    fn lua_getstack(state: *mut lua_State, level: c_int, record: *mut lua_Debug) -> c_int;
    /// Fills a record.
    fn lua_getinfo(state: *mut lua_State, what: *const c_char, record: *mut lua_Debug) -> c_int;
}

// The auxiliary library.
functions! {
    /// Pushes a chunk as a function.
    fn luaL_loadbuffer(state: *mut lua_State, text: *const c_char, len: usize, name: *const c_char) -> c_int;
    /// Raises a formatted error: does not return.
    fn luaL_error(state: *mut lua_State, format: *const c_char, ...) -> c_int;
    /// Raises the error of an argument: does not return.
    fn luaL_argerror(state: *mut lua_State, argument: c_int, message: *const c_char) -> c_int;
}

// The libraries, as functions.
functions! {
    /// The basic library.
    fn luaopen_base(state: *mut lua_State) -> c_int;
    /// `table`.
    fn luaopen_table(state: *mut lua_State) -> c_int;
    /// `string`.
    fn luaopen_string(state: *mut lua_State) -> c_int;
    /// `math`.
    fn luaopen_math(state: *mut lua_State) -> c_int;
    /// `os`.
    fn luaopen_os(state: *mut lua_State) -> c_int;
}

// What the patches add.
functions! {
    /// Makes a table read-only, or writable again. Needs a table at `index`.
    fn lua_setreadonly(state: *mut lua_State, index: c_int, on: c_int);
    /// Whether the table at `index` is read-only. Needs a table there.
    fn lua_isreadonly(state: *mut lua_State, index: c_int) -> c_int;
    /// Makes the table at `index` as `lua_createtable(state, slots, 0)` would, but for values left in those slots.
    fn lua_renewtable(state: *mut lua_State, index: c_int, slots: c_int);
    /// Puts a string into a slot, counted from 0, of the array that `lua_renewtable` or `lua_createtable` made.
    fn lua_setarraystring(state: *mut lua_State, index: c_int, slot: c_int, text: *const c_char, len: usize);
    /// Writes the function's first `count` arguments to `out`: strings, and a null for a number. Says which of the
    /// three they are: something else among them (0; not all are written), strings (1), numbers too (2).
    fn lua_arguments(state: *mut lua_State, out: *mut Slice, count: c_int) -> c_int;
    /// Shows the first field of the table at `index` from a position on, the positions beginning with 0, and gives the
    /// position behind it; 0 at the end; and the negated position to go on from after many empty slots. The index
    /// counts from the bottom.
    fn lua_viewfield(state: *mut lua_State, index: c_int, at: c_int, key: *mut View, value: *mut View) -> c_int;
    /// Counts the fields of the table at `index`, and says whether their keys are the numbers from 1 to that count (1),
    /// or one is no number (2); 0, of a large table too, if neither is known. The index counts from the bottom.
    fn lua_countfields(state: *mut lua_State, index: c_int, count: *mut c_int) -> c_int;
    /// Shows an element of the table at `index`, past metatables. The index counts from the bottom.
    fn lua_viewelement(state: *mut lua_State, index: c_int, element: c_int, value: *mut View);
    /// Pushes key and value of the field before a position that `lua_viewfield` gave; 0 and nothing if the table has
    /// become smaller.
    fn lua_pushfield(state: *mut lua_State, index: c_int, at: c_int) -> c_int;
    /// Pops a value and its key below into the table below both, past metatables; 0, and nothing is done, if the key
    /// is not above the `kept` lowest slots, is none, or if there is no table that may be changed.
    fn lua_putfield(state: *mut lua_State, kept: c_int) -> c_int;
    /// The same with a value that has no key below it, but the number of an element.
    fn lua_putelement(state: *mut lua_State, kept: c_int, element: c_int) -> c_int;
    /// Has every loop call `ask(context)` while `*word & mask` is not 0; if it says 1 the run ends with an error that
    /// nothing catches.
    fn lua_setinterrupt(state: *mut lua_State, word: *const u32, mask: u32, ask: Interrupt, context: *mut c_void);
    /// Whether the run was ended so.
    fn lua_iskilled(state: *mut lua_State) -> c_int;
    /// Says that errors are to pass through everything that catches them, or no longer.
    fn lua_setkilled(state: *mut lua_State, on: c_int);
    /// Sets the collector's pace, and the limit of memory that it keeps below; starts it if it was stopped.
    fn lua_tunegc(state: *mut lua_State, pause: c_int, step_multiplier: c_int, memory_limit: usize);
}

/// The pseudo-index of an upvalue of the running function, counted from 1.
#[inline(always)]
pub const fn lua_upvalueindex(upvalue: c_int) -> c_int {
    LUA_GLOBALSINDEX - upvalue
}

/// Pops so many values.
///
/// # Safety
///
/// The state is live and has that many.
#[inline(always)]
pub unsafe fn lua_pop(state: *mut lua_State, count: c_int) {
    // SAFETY: there are that many values, so the new top is still on the stack.
    unsafe { lua_settop(state, -count - 1) }
}

/// Pushes a text.
///
/// # Safety
///
/// The state is live, with a free slot. May raise an error of memory.
#[inline(always)]
pub unsafe fn lua_pushliteral(state: *mut lua_State, text: &'static CStr) {
    // SAFETY: a slot is free, and the text ends with a zero as every `CStr`.
    unsafe { lua_pushstring(state, text.as_ptr()) }
}

/// Pushes a global.
///
/// # Safety
///
/// The state is live, with a free slot; the name ends with a zero. May raise an error.
#[inline(always)]
pub unsafe fn lua_getglobal(state: *mut lua_State, name: *const c_char) {
    // SAFETY: a slot is free, the index is that of a table, and the name ends with a zero.
    unsafe { lua_getfield(state, LUA_GLOBALSINDEX, name) }
}

/// Pops a value into a global.
///
/// # Safety
///
/// The state is live, with a value on the stack; the name ends with a zero. May raise an error.
#[inline(always)]
pub unsafe fn lua_setglobal(state: *mut lua_State, name: *const c_char) {
    // SAFETY: a value is on the stack, the index is that of a table, and the name ends with a zero.
    unsafe { lua_setfield(state, LUA_GLOBALSINDEX, name) }
}
