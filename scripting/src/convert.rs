//! A script's result, as a reply.

use crate::call::{trim_lines, until_nul};
use crate::context::Context;
use crate::error::one_line;
use crate::errors::Errors;
use crate::ffi::{self, *};
use lockwheel_resp::{Protocol, Reply};
use std::borrow::Cow;
use std::ffi::c_int;

/// Free slots that Redis requires before it converts a value; with fewer it writes an error instead.
const SLOTS: c_int = 4;
/// Bytes that a value takes in a reply, besides its text; a rough guess.
const VALUE_COST: usize = 8;
/// Bytes of a reply, counted as above, between two checks whether the script must end.
const PIECE: usize = 1 << 12;

/// How writing a result ended.
pub(crate) enum Written {
    /// It is written, including these errors.
    Whole(Errors),
    /// It would exceed the limit; nothing is written.
    TooLarge,
    /// The script was ended meanwhile; part of the result may be written.
    Ended,
}

/// A table whose values are being written. It lies on the stack, a map's or a set's field above it.
enum Frame {
    /// The next index, and the last.
    Array { next: usize, len: usize },
    /// Above the field: nothing before the first key, then the key that was written last.
    Set,
    /// As a set; `value` says that the last key's value is on top and to be written.
    Map { value: bool },
}

/// Writes the value on top of `from`'s stack and pops it. The tables are walked on the stack of `walker`, another
/// coroutine of the same interpreter, whose stack is otherwise empty, so that a result may be nested exactly as deep
/// as in Redis.
///
/// The reply to a table is measured first: the same table may stand in it many times, and it may be no larger than
/// `max_bytes`. Both passes check from time to time whether the script is slow or must end.
///
/// # Safety
///
/// Both states are live, each with some free slots, and the limit of memory is suspended.
pub(crate) unsafe fn write_result(
    from: *mut lua_State,
    walker: *mut lua_State,
    context: &Context,
    max_bytes: usize,
    reply: &mut dyn Reply,
) -> Written {
    // SAFETY: one value is on top of `from`, and goes to the walker's stack, which is otherwise empty and has free
    // slots; the first stands for the one that Redis has in use. With the limit suspended nothing is raised, so the
    // walk's memory is freed.
    unsafe {
        let kind = lua_type(from, -1);
        // A plain value needs no slot but its own, so none is reserved.
        if kind != LUA_TTABLE {
            write_plain(from, kind, context.protocol.get(), reply);
            lua_pop(from, 1);
            return Written::Whole(Errors::default());
        }
        lua_settop(walker, 0);
        lua_pushnil(walker);
        lua_xmove(from, walker, 1);
        lua_pushvalue(walker, -1);
        let mut written = Walk::new(walker, context, &mut Measure).run(max_bytes);
        // Pops the copy, and whatever an aborted walk left on it.
        lua_settop(walker, 2);
        if matches!(written, Written::Whole(_)) {
            written = Walk::new(walker, context, reply).run(usize::MAX);
        }
        lua_settop(walker, 0);
        written
    }
}

struct Walk<'a> {
    state: *mut lua_State,
    context: &'a Context,
    protocol: Protocol,
    reply: &'a mut dyn Reply,
    frames: Vec<Frame>,
    errors: Errors,
    bytes: usize,
    /// When to check next, in those bytes.
    look_at: usize,
    is_ended: bool,
}

impl<'a> Walk<'a> {
    fn new(state: *mut lua_State, context: &'a Context, reply: &'a mut dyn Reply) -> Walk<'a> {
        let (frames, errors) = (Vec::new(), Errors::default());
        let protocol = context.protocol.get();
        Walk { state, context, protocol, reply, frames, errors, bytes: 0, look_at: PIECE, is_ended: false }
    }

    /// Writes the value on top and pops it; with the stack as it then is, if it is broken off.
    ///
    /// # Safety
    ///
    /// As for [`write_result`].
    unsafe fn run(mut self, max_bytes: usize) -> Written {
        // SAFETY: the value to be written is on top, and as long as there are frames their tables lie on the stack as
        // `Frame` says.
        unsafe {
            self.value();
            while !self.frames.is_empty() && self.bytes <= max_bytes && !self.is_ended {
                self.advance();
                if self.bytes >= self.look_at {
                    self.look();
                }
            }
        }
        if self.is_ended {
            Written::Ended
        } else if self.bytes > max_bytes {
            Written::TooLarge
        } else {
            Written::Whole(self.errors)
        }
    }

    /// Checks whether the script must end, and serves others if it is slow.
    fn look(&mut self) {
        self.look_at = self.bytes.saturating_add(PIECE);
        self.is_ended |= self.context.is_ended();
    }

    /// Writes an error. `is_new` if no command has given it.
    fn error(&mut self, text: &[u8], is_new: bool) {
        self.reply.error(text);
        self.errors.add(text, is_new);
    }

    /// Continues with the innermost table: puts its next value on top and writes it, or leaves the table.
    ///
    /// # Safety
    ///
    /// As for [`write_result`].
    unsafe fn advance(&mut self) {
        let state = self.state;
        let Some(frame) = self.frames.last_mut() else { return };
        // SAFETY: the frame's table lies where `Frame` says, with free slots above it, as `value` has asked for some
        // before. `lua_next` gets the key that it gave before, of a table that does not change meanwhile.
        unsafe {
            let field = match frame {
                Frame::Array { next, len } => {
                    let more = *next <= *len;
                    if more {
                        lua_rawgeti(state, -1, *next as c_int);
                        *next += 1;
                    }
                    (!more).then_some(1)
                }
                Frame::Map { value } if *value => {
                    *value = false;
                    None
                }
                Frame::Map { value } => {
                    *value = lua_next(state, -2) != 0;
                    if *value {
                        lua_pushvalue(state, -2);
                    }
                    (!*value).then_some(2)
                }
                Frame::Set => {
                    let more = lua_next(state, -2) != 0;
                    if more {
                        lua_pop(state, 1);
                        lua_pushvalue(state, -1);
                    }
                    (!more).then_some(2)
                }
            };
            match field {
                None => self.value(),
                Some(slots) => {
                    lua_pop(state, slots);
                    self.frames.pop();
                }
            }
        }
    }

    /// Writes the value on top and pops it; or begins with it, if it is a table with values.
    ///
    /// # Safety
    ///
    /// As for [`write_result`].
    unsafe fn value(&mut self) {
        let state = self.state;
        self.bytes = self.bytes.saturating_add(VALUE_COST);
        // SAFETY: a value is on top; `SLOTS` are reserved before anything is pushed.
        unsafe {
            if lua_checkstack(state, SLOTS) == 0 {
                self.error(b"ERR reached lua stack limit", true);
                return lua_pop(state, 1);
            }
            match lua_type(state, -1) {
                LUA_TTABLE => return self.table(),
                kind => {
                    let len = write_plain(state, kind, self.protocol, self.reply);
                    self.bytes = self.bytes.saturating_add(len);
                }
            }
            lua_pop(state, 1);
        }
    }

    /// As [`value`](Walk::value), for a table: one with a field that says what it stands for, or an array.
    ///
    /// # Safety
    ///
    /// As for [`write_result`]; a table is on top, with four free slots.
    unsafe fn table(&mut self) {
        let state = self.state;
        // SAFETY: a table is on top, with the four slots free that `value` has asked for: a field takes one, a key two.
        // A text is read while it lies in its slot, and only of a string.
        unsafe {
            if self.field(b"err", LUA_TSTRING) {
                let text = trim_lines(until_nul(ffi::string(state, -1)));
                self.bytes = self.bytes.saturating_add(text.len());
                let is_new = !is_counted(state, lua_gettop(state) - 1);
                self.error(&line(text), is_new);
            } else if self.field(b"ok", LUA_TSTRING) {
                let text = until_nul(ffi::string(state, -1));
                self.bytes = self.bytes.saturating_add(text.len());
                self.reply.status(&line(text));
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
                self.reply.big_number(&line(digits));
            } else if !self.verbatim() {
                let len = self.count_values();
                self.reply.array(len);
                return self.frames.push(Frame::Array { next: 1, len });
            }
            lua_pop(state, 2);
        }
    }

    /// Pushes a field of the table on top if it is of that type.
    ///
    /// # Safety
    ///
    /// As for [`table`](Walk::table).
    unsafe fn field(&self, name: &[u8], kind: c_int) -> bool {
        // SAFETY: the table is on top and a slot is free for the field, which is popped or left as promised.
        unsafe {
            raw_field(self.state, lua_gettop(self.state), name);
            let found = lua_type(self.state, -1) == kind;
            if !found {
                lua_pop(self.state, 1);
            }
            found
        }
    }

    /// Writes a verbatim string, if the table on top is one, and pushes something.
    ///
    /// # Safety
    ///
    /// As for [`table`](Walk::table).
    unsafe fn verbatim(&mut self) -> bool {
        let state = self.state;
        // SAFETY: the tables lie as `field` has left them, with slots free; both texts stay in their tables while they
        // are used.
        unsafe {
            if !self.field(b"verbatim_string", LUA_TTABLE) {
                return false;
            }
            let whole = self.field(b"string", LUA_TSTRING);
            if whole && self.field_of(b"format", LUA_TSTRING) {
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

    /// As [`field`](Walk::field), of the table below the top.
    ///
    /// # Safety
    ///
    /// As for [`table`](Walk::table).
    unsafe fn field_of(&self, name: &[u8], kind: c_int) -> bool {
        // SAFETY: the table is right below the top, and a slot is free for the field.
        unsafe {
            raw_field(self.state, lua_gettop(self.state) - 1, name);
            let found = lua_type(self.state, -1) == kind;
            if !found {
                lua_pop(self.state, 1);
            }
            found
        }
    }
}

/// Writes the value on top, of a type that is no table's, and leaves it there. The length of its text.
///
/// # Safety
///
/// As for [`write_result`]; a value of this type is on top.
unsafe fn write_plain(
    state: *mut lua_State,
    kind: c_int,
    protocol: Protocol,
    reply: &mut dyn Reply,
) -> usize {
    // SAFETY: a value of this type is on top, and is read as what it is; the text stays there while it is written.
    unsafe {
        match kind {
            LUA_TSTRING => {
                let text = ffi::string(state, -1);
                reply.bulk(text);
                return text.len();
            }
            LUA_TNUMBER => reply.integer(truncated(lua_tonumber(state, -1))),
            LUA_TBOOLEAN => boolean(lua_toboolean(state, -1) != 0, protocol, reply),
            _ => reply.null(),
        }
    }
    0
}

/// A boolean, as the protocol that the script has chosen has it, whatever the client's.
fn boolean(value: bool, protocol: Protocol, reply: &mut dyn Reply) {
    match (protocol, value) {
        (Protocol::Resp3, value) => reply.boolean(value),
        (Protocol::Resp2, true) => reply.integer(1),
        (Protocol::Resp2, false) => reply.null(),
    }
}

impl Walk<'_> {
    /// Values of the array on top, up to the first nil.
    ///
    /// # Safety
    ///
    /// A table is on top, with a free slot.
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

    /// Keys of the table on top.
    ///
    /// # Safety
    ///
    /// A table is on top, with two free slots.
    unsafe fn count_keys(&mut self) -> usize {
        let mut count = 0;
        // SAFETY: the table is below the key, and two slots are free for a key and its value; the table does not
        // change meanwhile, so the key is found again.
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

    /// As [`look`](Walk::look), while the values of one table are counted. If it ends, the count does not matter.
    fn is_counting_ended(&mut self, count: usize) -> bool {
        if count % PIECE == PIECE - 1 {
            self.look();
        }
        self.is_ended
    }
}

/// Whether the error table at `index` says of itself that it has been counted.
///
/// # Safety
///
/// A table is at `index`, which is absolute, with a free slot.
pub(crate) unsafe fn is_counted(state: *mut lua_State, index: c_int) -> bool {
    // SAFETY: the table's index is absolute, and the free slot is given back when the field is popped.
    unsafe {
        raw_field(state, index, b"ignore_error_stats_update");
        let counted = lua_type(state, -1) == LUA_TBOOLEAN && lua_toboolean(state, -1) != 0;
        lua_pop(state, 1);
        counted
    }
}

fn line(text: &[u8]) -> Cow<'_, [u8]> {
    let mut line = Cow::Borrowed(text);
    if text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        one_line(line.to_mut());
    }
    line
}

/// As C converts it on the machines that Redis runs on: what is out of range becomes the least integer.
pub(crate) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

/// A sink that takes everything: the walk itself counts.
struct Measure;

impl Reply for Measure {
    fn protocol(&self) -> Protocol {
        Protocol::Resp3
    }
    fn status(&mut self, _: &[u8]) {}
    fn error(&mut self, _: &[u8]) {}
    fn integer(&mut self, _: i64) {}
    fn bulk(&mut self, _: &[u8]) {}
    fn null(&mut self) {}
    fn null_array(&mut self) {}
    fn double(&mut self, _: f64) {}
    fn decimal(&mut self, _: f64) {}
    fn boolean(&mut self, _: bool) {}
    fn big_number(&mut self, _: &[u8]) {}
    fn verbatim(&mut self, _: [u8; 3], _: &[u8]) {}
    fn array(&mut self, _: usize) {}
    fn map(&mut self, _: usize) {}
    fn set(&mut self, _: usize) {}
    fn push(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::truncated;

    #[test]
    fn numbers_are_cut_as_c_does() {
        for (value, integer) in [
            (3.99, 3),
            (-3.99, -3),
            (1e300, i64::MIN),
            (-1e300, i64::MIN),
            (f64::NAN, i64::MIN),
            (9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784),
            (-9_223_372_036_854_775_808.0, i64::MIN),
        ] {
            assert_eq!(truncated(value), integer);
        }
    }
}
