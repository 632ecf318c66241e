//! Typed arguments, with the error texts of Lua itself.

use super::protected::read_number;
use super::{Frame, Value};
use crate::convert::truncated;
use crate::ffi::{self, *};
use crate::library::raise::Raise;
use std::ffi::{CStr, c_int};

/// The longest text that the interpreter reads as a number at once. For a longer text it checks for a kill.
const SHORT_NUMERAL: usize = 4096;

impl Frame<'_> {
    /// The number of arguments.
    pub(crate) fn count(&self) -> c_int {
        self.arguments
    }

    /// The type of the value in a slot that may be beyond the last argument.
    fn kind(&self, argument: c_int) -> c_int {
        if !(1..=self.arguments + 1).contains(&argument) {
            return LUA_TNONE;
        }
        // SAFETY: at most one slot beyond the arguments is asked for, and a function has more; where there is no
        // value, the type says so.
        unsafe { lua_type(self.state, argument) }
    }

    /// An argument.
    pub(crate) fn value(&self, argument: c_int) -> Value<'_> {
        if argument < 1 || argument > self.arguments {
            return Value::None;
        }
        // SAFETY: it is an argument, which stays while the frame lives.
        unsafe { self.value_at(argument) }
    }

    /// # Safety
    ///
    /// `slot` must hold a value that stays there for `'v`.
    pub(super) unsafe fn value_at<'v>(&self, slot: c_int) -> Value<'v> {
        // SAFETY: there is a value; its text is asked for only if it is a string, which is not converted.
        unsafe {
            match lua_type(self.state, slot) {
                LUA_TNIL => Value::Nil,
                LUA_TBOOLEAN => Value::Boolean(lua_toboolean(self.state, slot) != 0),
                LUA_TNUMBER => Value::Number(lua_tonumber(self.state, slot)),
                LUA_TSTRING => Value::String(ffi::string(self.state, slot)),
                LUA_TTABLE => Value::Table(slot),
                LUA_TLIGHTUSERDATA if lua_touserdata(self.state, slot).is_null() => Value::Null,
                kind => Value::Other(self.type_name(kind)),
            }
        }
    }

    /// The error of an argument of a wrong type, in Lua's words.
    #[cold]
    fn type_error(&self, argument: c_int, expected: &str) -> Raise {
        let found = self.type_name(self.kind(argument));
        Raise::argument(argument, format!("{expected} expected, got {found}").into_bytes())
    }

    /// The name of a type.
    pub(super) fn type_name(&self, kind: c_int) -> &'static str {
        // SAFETY: the state is live, and any type has a name, a text that is never freed.
        let name: &'static CStr = unsafe { CStr::from_ptr(lua_typename(self.state, kind)) };
        name.to_str().unwrap_or_default()
    }

    /// An argument as a number, or as a string that reads as a number. Returns `None` for anything else.
    #[inline]
    pub(crate) fn to_number(&self, argument: c_int) -> Result<Option<f64>, Raise> {
        match self.kind(argument) {
            // SAFETY: there is a number.
            LUA_TNUMBER => Ok(Some(unsafe { lua_tonumber(self.state, argument) })),
            // SAFETY: there is a string.
            LUA_TSTRING => unsafe { self.read_number(argument) },
            _ => Ok(None),
        }
    }

    /// Returns [`to_number`](Frame::to_number), or an error in place of `None`.
    pub(crate) fn number(&self, argument: c_int) -> Result<f64, Raise> {
        self.to_number(argument)?.ok_or_else(|| self.type_error(argument, "number"))
    }

    /// The number that a string reads as.
    ///
    /// # Safety
    ///
    /// A string must be at `index`.
    pub(super) unsafe fn read_number(&self, index: c_int) -> Result<Option<f64>, Raise> {
        // SAFETY: there is a string, and a short one is read without looking for a kill, which would raise an error. A
        // long one is read in a protected call, of a copy that is then the only argument; its result is popped.
        unsafe {
            if ffi::string(self.state, index).len() <= SHORT_NUMERAL {
                let is_number = lua_isnumber(self.state, index) != 0;
                return Ok(is_number.then(|| lua_tonumber(self.state, index)));
            }
            self.reserve(1, "too many values")?;
            lua_pushvalue(self.state, index);
            self.protect(read_number, 1, 1)?;
            let is_number = lua_type(self.state, -1) == LUA_TNUMBER;
            let number = is_number.then(|| lua_tonumber(self.state, -1));
            lua_pop(self.state, 1);
            Ok(number)
        }
    }

    /// An argument as an integer, truncated as in C.
    pub(crate) fn integer(&self, argument: c_int) -> Result<i64, Raise> {
        self.number(argument).map(truncated)
    }

    /// Returns [`integer`](Frame::integer), or `otherwise` for nil and for a missing argument.
    pub(crate) fn optional_integer(&self, argument: c_int, otherwise: i64) -> Result<i64, Raise> {
        match self.kind(argument) {
            LUA_TNONE | LUA_TNIL => Ok(otherwise),
            _ => self.integer(argument),
        }
    }

    /// An argument as bytes: a string, or the text of a number. Returns `None` for anything else.
    pub(crate) fn text(&self, argument: c_int) -> Option<&[u8]> {
        if argument > self.arguments || !matches!(self.kind(argument), LUA_TSTRING | LUA_TNUMBER) {
            return None;
        }
        // SAFETY: it is an argument. A number becomes a string where it lies, which raises nothing; from then on the
        // slot keeps it.
        unsafe {
            let mut len = 0;
            let text = lua_tolstring(self.state, argument, &mut len);
            Some(std::slice::from_raw_parts(text.cast(), len))
        }
    }

    /// Returns [`text`](Frame::text), or an error in place of `None`.
    pub(crate) fn bytes(&self, argument: c_int) -> Result<&[u8], Raise> {
        self.text(argument).ok_or_else(|| self.type_error(argument, "string"))
    }
}
