//! Tables in a result: arrays, and tables that represent another type.

use super::{Frame, PIECE, Walk};
use crate::call::trim_lines;
use crate::error::{one_line, single_line, until_nul};
use crate::ffi::{self, *};
use std::ffi::c_int;

impl Walk<'_> {
    /// Does the same as [`value`](Walk::value) for a table: one with a field that names another type, or an array.
    ///
    /// # Safety
    ///
    /// See [`write_result`](super::write_result). A table must be on top, with four free slots.
    pub(super) unsafe fn table(&mut self) {
        let state = self.state;
        // SAFETY: a table is on top, with the four slots free that `value` has asked for: a field takes one, a key two.
        // A text is read while it lies in its slot, and only of a string.
        unsafe {
            if self.field(b"err", LUA_TSTRING) {
                let text = trim_lines(until_nul(ffi::string(state, -1)));
                self.bytes = self.bytes.saturating_add(text.len());
                let is_new = !is_counted(state, lua_gettop(state) - 1);
                self.error(&single_line(text), is_new);
            } else if self.field(b"ok", LUA_TSTRING) {
                let text = until_nul(ffi::string(state, -1));
                self.bytes = self.bytes.saturating_add(text.len());
                self.reply.status(&single_line(text));
            } else if self.field(b"double", LUA_TNUMBER) {
                self.reply.double(lua_tonumber(state, -1));
            } else if self.field(b"map", LUA_TTABLE) {
                let pairs = self.count_keys();
                self.reply.map(pairs);
                lua_pushnil(state);
                return self.frames.push(Frame::Map { value: false });
            } else if self.field(b"set", LUA_TTABLE) {
                let len = self.count_keys();
                self.reply.set(len);
                lua_pushnil(state);
                return self.frames.push(Frame::Set);
            } else if self.field(b"big_number", LUA_TSTRING) {
                let digits = ffi::string(state, -1);
                self.bytes = self.bytes.saturating_add(digits.len());
                self.reply.big_number(&single_line(digits));
            } else if !self.verbatim() {
                let len = self.count_values();
                self.reply.array(len);
                return self.frames.push(Frame::Array { next: 1, len });
            }
            lua_pop(state, 2);
        }
    }

    /// Pushes a field of the table on top if it has this type; returns whether it did.
    ///
    /// # Safety
    ///
    /// See [`table`](Walk::table).
    unsafe fn field(&self, name: &[u8], kind: c_int) -> bool {
        // SAFETY: the table is on top, with a free slot.
        unsafe { self.field_at(lua_gettop(self.state), name, kind) }
    }

    /// Does the same as [`field`](Walk::field) for the table at `index`.
    ///
    /// # Safety
    ///
    /// A table must be at `index`, which must be absolute, with a free slot.
    unsafe fn field_at(&self, index: c_int, name: &[u8], kind: c_int) -> bool {
        // SAFETY: the table is there and a slot is free for the field, which is popped or left as promised.
        unsafe {
            raw_field(self.state, index, name);
            let found = lua_type(self.state, -1) == kind;
            if !found {
                lua_pop(self.state, 1);
            }
            found
        }
    }

    /// Writes a verbatim string, if the table on top is one, and leaves one value pushed. Otherwise pushes nothing.
    ///
    /// # Safety
    ///
    /// See [`table`](Walk::table).
    unsafe fn verbatim(&mut self) -> bool {
        let state = self.state;
        // SAFETY: the tables lie as `field` has left them, with slots free; both texts stay in their tables while they
        // are used.
        unsafe {
            if !self.field(b"verbatim_string", LUA_TTABLE) {
                return false;
            }
            let whole = self.field(b"string", LUA_TSTRING);
            if whole && self.field_at(lua_gettop(state) - 1, b"format", LUA_TSTRING) {
                let (text, name) = (ffi::string(state, -2), ffi::string(state, -1));
                let mut format = [b' '; 3];
                for (slot, byte) in format.iter_mut().zip(until_nul(name)) {
                    *slot = *byte;
                }
                one_line(&mut format);
                self.bytes = self.bytes.saturating_add(text.len());
                self.reply.verbatim(format, text);
                lua_pop(state, 2);
                return true;
            }
            lua_pop(state, 1 + c_int::from(whole));
            false
        }
    }

    /// The number of values of the array on top, up to the first nil.
    ///
    /// # Safety
    ///
    /// A table must be on top, with a free slot.
    unsafe fn count_values(&mut self) -> usize {
        let mut len = 0;
        loop {
            // SAFETY: the table is on top, and the slot that an element takes is free again when it is popped.
            unsafe {
                lua_rawgeti(self.state, -1, len + 1);
                let end = lua_type(self.state, -1) == LUA_TNIL;
                lua_pop(self.state, 1);
                if end || len == c_int::MAX - 1 || self.is_counting_ended(len as usize) {
                    return len as usize;
                }
            }
            len += 1;
        }
    }

    /// The number of keys of the table on top.
    ///
    /// # Safety
    ///
    /// A table must be on top, with two free slots.
    unsafe fn count_keys(&mut self) -> usize {
        let mut count = 0;
        // SAFETY: the table is below the key, and two slots are free for a key and its value. The table does not change
        // meanwhile, so the key is found again.
        unsafe {
            lua_pushnil(self.state);
            while lua_next(self.state, -2) != 0 {
                lua_pop(self.state, 1);
                count += 1;
                if self.is_counting_ended(count) {
                    lua_pop(self.state, 1);
                    break;
                }
            }
        }
        count
    }

    /// Does the same as [`look`](Walk::look) while the values of one table are counted. If the script must end, the
    /// count does not matter.
    fn is_counting_ended(&mut self, count: usize) -> bool {
        if count % PIECE == PIECE - 1 {
            self.look();
        }
        self.is_ended
    }
}

/// Whether the error table at `index` is marked as counted already.
///
/// # Safety
///
/// A table must be at `index`, which must be absolute, with a free slot.
pub(crate) unsafe fn is_counted(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: the table's index is absolute, and the free slot is given back when the field is popped.
    unsafe {
        raw_field(state, index, b"ignore_error_stats_update");
        let counted = lua_type(state, -1) == LUA_TBOOLEAN && lua_toboolean(state, -1) != 0;
        lua_pop(state, 1);
        counted
    }
}
