//! The stack: values are pushed and popped within its bound.

use super::protected::make_string;
use super::{Frame, Value};
use crate::ffi::{self, *};
use crate::library::raise::Raise;
use crate::registry::keep_function;
use lockwheel_resp::allocation;
use std::ffi::c_int;

/// The number of slots that are reserved when the free ones are used up.
const MORE_SLOTS: c_int = 32;

impl Frame<'_> {
    /// Makes room for `count` values at once, or fails with `stack overflow` and the reason. A function with many
    /// results calls it before each result, so that the bound is Lua's own.
    pub(crate) fn reserve(&self, count: c_int, reason: &str) -> Result<(), Raise> {
        // SAFETY: the state is live. With the limit suspended the stack grows, or the call says that it is too long.
        if unsafe { lua_checkstack(self.state, count) } == 0 {
            return Err(Raise::error(format!("stack overflow ({reason})").into_bytes()));
        }
        self.free.set(self.free.get().max(count));
        Ok(())
    }

    /// Whether there is room for `count` values. The bound is Lua's own.
    #[inline]
    pub(crate) fn has_slots(&self, count: c_int) -> bool {
        self.ensure(count, "").is_ok()
    }

    /// Does the same as [`reserve`](Frame::reserve), but returns at once if there is room already.
    #[inline]
    pub(crate) fn ensure(&self, count: c_int, reason: &str) -> Result<(), Raise> {
        if self.free.get() >= count {
            Ok(())
        } else {
            self.reserve(count.max(MORE_SLOTS), "").or_else(|_| self.reserve(count, reason))
        }
    }

    /// Takes `count` free slots for values that are pushed next.
    #[inline(always)]
    pub(super) fn take_slots(&self, count: c_int) -> Result<(), Raise> {
        if self.free.get() < count {
            self.more_slots(count)?;
        }
        self.free.set(self.free.get() - count);
        Ok(())
    }

    #[cold]
    fn more_slots(&self, count: c_int) -> Result<(), Raise> {
        self.reserve(count.max(MORE_SLOTS), "").or_else(|_| self.reserve(count, "too many values"))
    }

    /// Pushes nil.
    pub(crate) fn push_nil(&self) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: a slot is free.
        unsafe { lua_pushnil(self.state) };
        Ok(())
    }

    /// Pushes a boolean.
    pub(crate) fn push_boolean(&self, value: bool) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: a slot is free.
        unsafe { lua_pushboolean(self.state, c_int::from(value)) };
        Ok(())
    }

    /// Pushes a number.
    pub(crate) fn push_number(&self, value: f64) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: a slot is free.
        unsafe { lua_pushnumber(self.state, value) };
        Ok(())
    }

    /// Pushes the value of `cjson.null`.
    pub(crate) fn push_null(&self) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: a slot is free.
        unsafe { lua_pushlightuserdata(self.state, std::ptr::null_mut()) };
        Ok(())
    }

    /// Pushes an argument, or nil if it is missing.
    pub(crate) fn push_argument(&self, argument: c_int) -> Result<(), Raise> {
        if argument < 1 || argument > self.arguments {
            return self.push_nil();
        }
        self.take_slots(1)?;
        // SAFETY: a slot is free, and there is an argument.
        unsafe { lua_pushvalue(self.state, argument) };
        Ok(())
    }

    /// Pushes a string. O(length).
    pub(crate) fn push_bytes(&self, bytes: &[u8]) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: a slot is free. Nothing is raised, as the limit is suspended or the call protected. The slice that
        // the pointer points to lives until then.
        unsafe {
            if allocation::check(bytes.len()).is_err() {
                return Err(Raise::memory());
            }
            if self.context.has_room(bytes.len()) {
                ffi::push(self.state, bytes);
                return Ok(());
            }
            lua_pushlightuserdata(self.state, (&raw const bytes).cast_mut().cast());
            self.protect(make_string, 1, 1)
        }
    }

    /// Pops `count` values, which the function itself must have pushed.
    pub(crate) fn pop(&self, count: c_int) {
        // SAFETY: the state is live.
        let pushed = unsafe { lua_gettop(self.state) } - self.kept.get();
        assert!((0..=pushed).contains(&count), "only what was pushed is popped");
        // SAFETY: there are as many, and nothing refers to them.
        unsafe { lua_pop(self.state, count) };
        self.free.set(self.free.get() + count);
    }

    /// Moves the value on top below `count` others that the function has pushed.
    pub(crate) fn sink(&self, count: c_int) {
        // SAFETY: the state is live.
        let pushed = unsafe { lua_gettop(self.state) } - self.kept.get();
        assert!((0..pushed).contains(&count), "only what was pushed is moved");
        // SAFETY: there are as many.
        unsafe { lua_insert(self.state, -1 - count) };
    }

    /// The value that `below` others, pushed later, lie above. The content of a string is not shown.
    pub(crate) fn pushed(&self, below: c_int) -> Value<'static> {
        // SAFETY: the state is live; there is a value in a slot between those kept and the top, and what is taken of
        // it outlives it.
        unsafe {
            let slot = lua_gettop(self.state) - below;
            assert!(below >= 0 && slot > self.kept.get(), "only what was pushed is shown");
            match self.value_at(slot) {
                Value::String(_) => Value::String(b""),
                Value::Number(value) => Value::Number(value),
                Value::Boolean(value) => Value::Boolean(value),
                Value::Table(slot) => Value::Table(slot),
                Value::Null => Value::Null,
                Value::Nil | Value::None => Value::Nil,
                Value::Other(name) => Value::Other(name),
            }
        }
    }

    /// The slot of the value on top.
    pub(crate) fn top(&self) -> c_int {
        // SAFETY: the state is live.
        unsafe { lua_gettop(self.state) }
    }

    /// A copy of the text on top, which may be a number. Returns `None` for anything else. Its bytes count as a
    /// buffer's.
    pub(crate) fn top_text(&self) -> Result<Option<Box<[u8]>>, Raise> {
        // SAFETY: a value is on top if the stack is not empty. A number becomes a string where it lies, which raises
        // nothing; the text is copied while it lies there.
        unsafe {
            if self.top() == 0 || !matches!(lua_type(self.state, -1), LUA_TSTRING | LUA_TNUMBER) {
                return Ok(None);
            }
            let mut len = 0;
            let text = lua_tolstring(self.state, -1, &mut len);
            self.take_room(len)?;
            Ok(Some(std::slice::from_raw_parts(text.cast(), len).into()))
        }
    }

    /// Counts `len` bytes as a buffer's until the run ends, or fails if they exceed the limit of memory.
    pub(crate) fn take_room(&self, len: usize) -> Result<(), Raise> {
        if self.context.take_room(len) { Ok(()) } else { Err(Raise::memory()) }
    }

    /// Stores the function in a slot of the stack as the compiled function with this number, in an interpreter for
    /// functions. Returns false if the slot holds no function.
    pub(crate) fn keep_function(&self, slot: c_int, number: u32) -> Result<bool, Raise> {
        self.take_slots(2)?;
        // SAFETY: the slot is in use, and two more are free; with the limit suspended nothing is raised.
        unsafe {
            assert!((1..=lua_gettop(self.state)).contains(&slot), "the slot is in use");
            let is_function = lua_type(self.state, slot) == LUA_TFUNCTION;
            if is_function {
                lua_pushvalue(self.state, slot);
                keep_function(self.state, number);
            }
            self.free.set(self.free.get() + 2);
            Ok(is_function)
        }
    }

    /// The value on top as a number, if the function has pushed a number or a string that reads as one.
    pub(crate) fn top_number(&self) -> Result<Option<f64>, Raise> {
        // SAFETY: a value is on top if there are more than those kept; its type is asked first.
        unsafe {
            if lua_gettop(self.state) <= self.kept.get() {
                return Ok(None);
            }
            match lua_type(self.state, -1) {
                LUA_TNUMBER => Ok(Some(lua_tonumber(self.state, -1))),
                LUA_TSTRING => self.read_number(lua_gettop(self.state)),
                _ => Ok(None),
            }
        }
    }
}
