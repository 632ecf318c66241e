//! Conversion of a script's result to a reply.

mod measure;
mod plain;
mod table;

use crate::context::Context;
use crate::errors::Errors;
use crate::ffi::*;
use lockwheel_resp::{Protocol, Reply};
use measure::Measure;
pub(crate) use plain::truncated;
use plain::write_plain;
use std::ffi::c_int;
pub(crate) use table::is_counted;

/// The free slots that Redis requires before it converts a value. With fewer, it writes an error instead.
const SLOTS: c_int = 4;
/// The bytes that a value counts in a reply besides its text; a rough guess.
const VALUE_COST: usize = 8;
/// The bytes of a reply, counted as above, between two checks whether the script must end.
const PIECE: usize = 1 << 12;

/// The outcome of writing a result.
pub(crate) enum Written {
    /// The result is written, including these errors.
    Whole(Errors),
    /// The result would exceed the limit. Nothing is written.
    TooLarge,
    /// The script was ended meanwhile. A part of the result may be written.
    Ended,
}

/// A table whose values are being written. It is on the stack, with the field of a map or a set above it.
enum Frame {
    /// The next index, and the last.
    Array { next: usize, len: usize },
    /// A set. Above the field is nil at first, then the key that was written last.
    Set,
    /// A map, like a set. `value` says that the last key's value is on top and must be written.
    Map { value: bool },
}

/// Writes the value on top of `from`'s stack and pops it. Tables are walked on the stack of `walker`, another coroutine
/// of the same interpreter. Its stack is otherwise empty, so that a result may be nested exactly as deep as in Redis.
///
/// The reply to a table is measured first, because the same table may occur many times in it; it may have at most
/// `max_bytes`. Both passes check from time to time whether the script is slow or must end.
///
/// # Safety
///
/// Both states must be live, each with some free slots, and the limit of memory be suspended.
pub(crate) unsafe fn write_result(
    from: *mut lua_State,
    walker: *mut lua_State,
    context: &Context,
    max_bytes: usize,
    reply: &mut dyn Reply,
) -> Written {
    // SAFETY: one value is on top of `from`, and goes to the walker's stack, which is otherwise empty and has free
    // slots. The first slot of the walker stands for the one that Redis has in use. With the limit suspended nothing is
    // raised, so the walk's memory is freed.
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
        // Pops the copy, and the values that an aborted walk left above it.
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
    /// The number of bytes at which the next check is due.
    look_at: usize,
    is_ended: bool,
}

impl<'a> Walk<'a> {
    fn new(state: *mut lua_State, context: &'a Context, reply: &'a mut dyn Reply) -> Walk<'a> {
        let (frames, errors) = (Vec::new(), Errors::default());
        let protocol = context.protocol.get();
        Walk { state, context, protocol, reply, frames, errors, bytes: 0, look_at: PIECE, is_ended: false }
    }

    /// Writes the value on top and pops it. If it is aborted, values may be left on the stack.
    ///
    /// # Safety
    ///
    /// See [`write_result`].
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

    /// Writes an error. `is_new` says that no command has returned it before.
    fn error(&mut self, text: &[u8], is_new: bool) {
        self.reply.error(text);
        self.errors.add(text, is_new);
    }

    /// Continues with the innermost table: puts its next value on top and writes it, or leaves the table.
    ///
    /// # Safety
    ///
    /// See [`write_result`].
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

    /// Writes the value on top and pops it. If it is a table with values, only begins it.
    ///
    /// # Safety
    ///
    /// See [`write_result`].
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
}
