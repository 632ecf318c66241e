//! The library `struct`: numbers and strings to and from bytes, as the copy of it in Redis does.
//!
//! Formats: `>` `<` order of bytes, `!n` alignment, `b` `B` `h` `H` `i` `In` `l` `L` `T` integers of 1, 2, 4 or n, and
//! 8 bytes, `f` `d` floats, `s` string to a NUL, `cn` string of n bytes, `c0` of as many as the number before says, `x`
//! a byte of padding. All texts of errors and all corner cases were read off a running server.

use crate::call::lua_function;
use crate::context::Context;
use crate::convert::truncated;
use crate::ffi::{self, *};
use std::ffi::{CStr, c_char, c_int};

/// The library's functions.
pub(crate) const FUNCTIONS: &[(&CStr, lua_CFunction)] =
    &[(c"pack", pack), (c"unpack", unpack), (c"size", size)];

/// The alignment that `!` without a number means.
const MAX_ALIGN: usize = 8;
/// The largest size of an integer.
const MAX_INT: c_int = 32;

lua_function!(
    /// `struct.pack(format, ...)`: the values as a string.
    pack = pack_values
);
lua_function!(
    /// `struct.unpack(format, data [, position])`: the values, and the position after them.
    unpack = unpack_values
);
lua_function!(
    /// `struct.size(format)`: bytes that the format takes.
    size = format_size
);

/// A format that is being read. Holds nothing that needs to be dropped, as errors jump over it.
#[derive(Clone, Copy)]
struct Format {
    /// In a string that ends with a NUL, where the format ends.
    at: *const u8,
    big_endian: bool,
    align: usize,
}

/// One item of a format.
#[derive(Clone, Copy)]
struct Item {
    option: u8,
    /// 0 for a string whose length is not in the format.
    size: usize,
    /// Bytes before it.
    padding: usize,
}

impl Format {
    /// The format in the first argument.
    ///
    /// # Safety
    ///
    /// As a function for scripts; the argument stays on the stack.
    unsafe fn first_argument(state: *mut lua_State) -> Format {
        // SAFETY: as this function demands.
        let at = unsafe { luaL_checklstring(state, 1, std::ptr::null_mut()) };
        Format { at: at.cast(), big_endian: cfg!(target_endian = "big"), align: 1 }
    }

    /// # Safety
    ///
    /// The format's string is alive.
    unsafe fn peek(&self) -> u8 {
        // SAFETY: `at` never goes beyond the NUL.
        unsafe { *self.at }
    }

    /// The next item; none at the end. May raise an error.
    ///
    /// # Safety
    ///
    /// The format's string is alive, and the state is that of the function.
    unsafe fn next(&mut self, state: *mut lua_State, position: usize) -> Option<Item> {
        // SAFETY: as this function demands; nothing here would have to be dropped.
        unsafe {
            lua_poll(state);
            let option = self.peek();
            if option == 0 {
                return None;
            }
            self.at = self.at.add(1);
            let size = self.size_of(state, option);
            Some(Item { option, size, padding: self.padding(position, option, size) })
        }
    }

    /// # Safety
    ///
    /// As for [`next`](Format::next).
    unsafe fn size_of(&mut self, state: *mut lua_State, option: u8) -> usize {
        match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'f' => 4,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'i' | b'I' => {
                // SAFETY: as this function demands.
                let size = unsafe { self.number(state, 4) };
                if size > MAX_INT {
                    let text = c"integral size %d is larger than limit of %d";
                    // SAFETY: as this function demands; the arguments are what the text asks for.
                    unsafe { luaL_error(state, text.as_ptr(), size, MAX_INT) };
                }
                size as usize
            }
            // SAFETY: as this function demands.
            b'c' => (unsafe { self.number(state, 1) }) as usize,
            _ => 0,
        }
    }

    /// A number in the format, or `default`.
    ///
    /// # Safety
    ///
    /// As for [`next`](Format::next).
    unsafe fn number(&mut self, state: *mut lua_State, default: c_int) -> c_int {
        let mut value: Option<c_int> = None;
        // SAFETY: as this function demands.
        unsafe {
            while self.peek().is_ascii_digit() {
                let digit = c_int::from(self.peek() - b'0');
                let longer = value.unwrap_or(0).checked_mul(10).and_then(|value| value.checked_add(digit));
                if longer.is_none() {
                    luaL_error(state, c"integral size overflow".as_ptr());
                }
                value = longer;
                self.at = self.at.add(1);
            }
        }
        value.unwrap_or(default)
    }

    fn padding(&self, position: usize, option: u8, size: usize) -> usize {
        if size == 0 || option == b'c' {
            return 0;
        }
        // Sizes that are no power of two give odd results, and the same as in Redis.
        let size = size.min(self.align);
        (size - (position & (size - 1))) & (size - 1)
    }

    /// An item that is no value: a space, the order of bytes, the alignment. Anything else is an error.
    ///
    /// # Safety
    ///
    /// As for [`next`](Format::next).
    unsafe fn control(&mut self, state: *mut lua_State, option: u8) {
        match option {
            b' ' => {}
            b'>' => self.big_endian = true,
            b'<' => self.big_endian = false,
            b'!' => {
                // SAFETY: as this function demands.
                let align = unsafe { self.number(state, MAX_ALIGN as c_int) };
                if align <= 0 || align & (align - 1) != 0 {
                    // SAFETY: as this function demands.
                    unsafe { luaL_error(state, c"alignment %d is not a power of 2".as_ptr(), align) };
                }
                self.align = align as usize;
            }
            _ => {
                // SAFETY: as this function demands.
                unsafe {
                    let text =
                        lua_pushfstring(state, c"invalid format option '%c'".as_ptr(), c_int::from(option));
                    luaL_argerror(state, 1, text);
                }
            }
        }
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn pack_values(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state. The output lies in the context, as an error may be raised at any
    // time, and each reference to it ends at once.
    unsafe {
        let context = Context::of(state);
        let mut format = Format::first_argument(state);
        let mut argument = 2;
        // In Redis a nil lies above the arguments, which the texts of errors for missing ones show.
        lua_pushnil(state);
        context.output().clear();
        while let Some(item) = format.next(state, context.output().len()) {
            append_zeros(state, context, item.padding);
            match item.option {
                b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                    let value = unsigned(luaL_checknumber(state, argument));
                    append_integer(state, context, value, item.size, format.big_endian);
                    argument += 1;
                }
                b'x' => append_zeros(state, context, 1),
                b'f' => {
                    let bytes = (luaL_checknumber(state, argument) as f32).to_le_bytes();
                    append_ordered(state, context, bytes, format.big_endian);
                    argument += 1;
                }
                b'd' => {
                    let bytes = luaL_checknumber(state, argument).to_le_bytes();
                    append_ordered(state, context, bytes, format.big_endian);
                    argument += 1;
                }
                b'c' | b's' => {
                    append_string(state, context, argument, item);
                    argument += 1;
                }
                option => format.control(state, option),
            }
        }
        let output = context.output();
        lua_pushlstring(state, output.as_ptr().cast(), output.len());
        1
    }
}

/// Appends to the output, within the limit of memory.
///
/// # Safety
///
/// As a function for scripts.
unsafe fn append(state: *mut lua_State, context: &Context, bytes: &[u8]) {
    // SAFETY: as this function demands; the reference ends at once.
    unsafe {
        if !context.has_room(context.output().len().saturating_add(bytes.len())) {
            luaL_error(state, c"not enough memory".as_ptr());
        }
        context.output().extend_from_slice(bytes);
    }
}

/// # Safety
///
/// As for [`append`].
unsafe fn append_zeros(state: *mut lua_State, context: &Context, count: usize) {
    // SAFETY: as this function demands. There are never more than an alignment asks for.
    unsafe { append(state, context, &[0; MAX_INT as usize][..count.min(MAX_INT as usize)]) }
}

/// # Safety
///
/// As for [`append`].
unsafe fn append_ordered<const N: usize>(
    state: *mut lua_State,
    context: &Context,
    mut little: [u8; N],
    big_endian: bool,
) {
    if big_endian {
        little.reverse();
    }
    // SAFETY: as this function demands.
    unsafe { append(state, context, &little) }
}

/// # Safety
///
/// As for [`append`]; the size is at most [`MAX_INT`].
unsafe fn append_integer(
    state: *mut lua_State,
    context: &Context,
    value: u64,
    size: usize,
    big_endian: bool,
) {
    let mut bytes = [0; MAX_INT as usize];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    let bytes = &mut bytes[..size];
    if big_endian {
        bytes.reverse();
    }
    // SAFETY: as this function demands.
    unsafe { append(state, context, bytes) }
}

/// # Safety
///
/// As for [`append`].
unsafe fn append_string(state: *mut lua_State, context: &Context, argument: c_int, item: Item) {
    // SAFETY: as this function demands; the argument stays on the stack.
    unsafe {
        let mut len = 0;
        let text = luaL_checklstring(state, argument, &mut len);
        let text = std::slice::from_raw_parts(text.cast::<u8>(), len);
        let size = if item.size == 0 { len } else { item.size };
        if len < size {
            // One too many, as in Redis.
            luaL_argerror(state, argument + 1, c"string too short".as_ptr());
        }
        append(state, context, &text[..size]);
        if item.option == b's' {
            append_zeros(state, context, 1);
        }
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn unpack_values(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state; the data stays on the stack.
    unsafe {
        let mut format = Format::first_argument(state);
        let mut len = 0;
        let data = luaL_checklstring(state, 2, &mut len);
        let data = std::slice::from_raw_parts(data.cast::<u8>(), len);
        let mut position = luaL_optinteger(state, 3, 1) as usize;
        if position == 0 {
            luaL_argerror(state, 3, c"offset must be 1 or greater".as_ptr());
        }
        position -= 1;
        let mut results = 0;
        while let Some(item) = format.next(state, position) {
            position = position.wrapping_add(item.padding);
            check_length(state, data, position, item.size);
            luaL_checkstack(state, 2, c"too many results".as_ptr());
            let bytes = &data[position..position + item.size];
            position += item.size;
            match item.option {
                b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                    lua_pushnumber(
                        state,
                        integer(bytes, format.big_endian, item.option.is_ascii_lowercase()),
                    );
                }
                b'x' => continue,
                b'f' => {
                    lua_pushnumber(state, f64::from(f32::from_le_bytes(ordered(bytes, format.big_endian))))
                }
                b'd' => lua_pushnumber(state, f64::from_le_bytes(ordered(bytes, format.big_endian))),
                b'c' => position = push_counted(state, data, position, item.size, &mut results),
                b's' => position = push_terminated(state, data, position),
                option => {
                    format.control(state, option);
                    continue;
                }
            }
            results += 1;
        }
        lua_pushnumber(state, position.wrapping_add(1) as f64);
        results + 1
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn check_length(state: *mut lua_State, data: &[u8], position: usize, size: usize) {
    if size > data.len() || position > data.len() - size {
        // SAFETY: as this function demands.
        unsafe { luaL_argerror(state, 2, c"data string too short".as_ptr()) };
    }
}

/// `c`: the position is after a string of `size` bytes, or before one of as many as the last result says.
///
/// # Safety
///
/// As a function for scripts.
unsafe fn push_counted(
    state: *mut lua_State,
    data: &[u8],
    position: usize,
    size: usize,
    results: &mut c_int,
) -> usize {
    // SAFETY: as this function demands.
    unsafe {
        if size > 0 {
            ffi::push(state, &data[position - size..position]);
            return position;
        }
        if *results == 0 || lua_isnumber(state, -1) == 0 {
            luaL_error(state, c"format 'c0' needs a previous size".as_ptr());
        }
        let size = unsigned(lua_tonumber(state, -1)) as usize;
        lua_pop(state, 1);
        *results -= 1;
        check_length(state, data, position, size);
        ffi::push(state, &data[position..position + size]);
        position + size
    }
}

/// `s`: a string up to a NUL, which is passed over.
///
/// # Safety
///
/// As a function for scripts.
unsafe fn push_terminated(state: *mut lua_State, data: &[u8], position: usize) -> usize {
    let rest = &data[position..];
    let len = rest.iter().position(|byte| *byte == 0);
    // SAFETY: as this function demands.
    unsafe {
        let Some(len) = len else {
            luaL_error(state, c"unfinished string in data".as_ptr());
            return position;
        };
        ffi::push(state, &rest[..len]);
        position + len + 1
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn format_size(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter gives a live state.
    unsafe {
        let mut format = Format::first_argument(state);
        let mut total: usize = 0;
        while let Some(item) = format.next(state, total) {
            total = total.wrapping_add(item.padding).wrapping_add(item.size);
            match item.option {
                b's' => raise_size(state, c"option 's' has no fixed size"),
                b'c' if item.size == 0 => raise_size(state, c"option 'c0' has no fixed size"),
                // Letters that mean nothing have the size 0.
                option if !option.is_ascii_alphanumeric() => format.control(state, option),
                _ => {}
            }
        }
        lua_pushnumber(state, total as f64);
        1
    }
}

/// # Safety
///
/// As a function for scripts.
unsafe fn raise_size(state: *mut lua_State, text: &'static CStr) {
    let text: *const c_char = text.as_ptr();
    // SAFETY: as this function demands.
    unsafe { luaL_argerror(state, 1, text) };
}

/// A number as an unsigned integer, as C converts it on the machines that Redis runs on.
fn unsigned(value: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if value >= HALF {
        truncated(value - HALF).cast_unsigned() ^ 1 << 63
    } else {
        truncated(value).cast_unsigned()
    }
}

/// The integer in `bytes`, of which the lowest eight count.
fn integer(bytes: &[u8], big_endian: bool, signed: bool) -> f64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) };
    if !signed {
        return value as f64;
    }
    let mask = u64::MAX.wrapping_shl((bytes.len() as u32).wrapping_mul(8).wrapping_sub(1));
    let value = if value & mask != 0 { value | mask } else { value };
    value.cast_signed() as f64
}

/// Bytes from the lowest on. There must be as many.
fn ordered<const N: usize>(bytes: &[u8], big_endian: bool) -> [u8; N] {
    let mut little = [0; N];
    little.copy_from_slice(bytes);
    if big_endian {
        little.reverse();
    }
    little
}
