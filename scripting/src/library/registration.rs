//! Libraries, and their registration as global variables.

use super::frame::{Frame, Function, push_function, push_settings};
use super::raise::Raise;
use crate::ffi::*;
use std::ffi::{CStr, c_int};

/// A table of functions and constants.
pub(crate) struct Library {
    /// The global variable that holds the table. Existing fields of the table stay, unless they are replaced.
    pub(crate) name: &'static CStr,
    pub(crate) functions: &'static [(&'static CStr, Function)],
    pub(crate) constants: &'static [(&'static CStr, Constant)],
    /// The initial values of [`Frame::settings`] of its functions, which share and keep them. Empty for most libraries.
    pub(crate) settings: &'static [c_int],
}

/// A field of a library that is not a function.
pub(crate) enum Constant {
    Number(u32),
    Text(&'static CStr),
    /// A light userdata, the null pointer: `cjson.null`.
    Null,
}

impl Library {
    /// A library without settings.
    pub(crate) const fn plain(
        name: &'static CStr,
        functions: &'static [(&'static CStr, Function)],
        constants: &'static [(&'static CStr, Constant)],
    ) -> Library {
        Library { name, functions, constants, settings: &[] }
    }
}

/// The number of slots that [`fill`] takes.
const SLOTS: c_int = 4;

/// Makes a library a global variable, with its initial settings.
///
/// # Safety
///
/// The state must be live, have been made with a context, and have six free slots. The limit of memory must be
/// suspended, and the globals be writable.
pub(crate) unsafe fn open(state: *mut lua_State, library: &Library) {
    // SAFETY: six slots suffice, and nothing is raised: there is memory, and the tables are writable and plain.
    unsafe {
        raw_field(state, LUA_GLOBALSINDEX, library.name.to_bytes());
        if lua_type(state, -1) != LUA_TTABLE {
            lua_pop(state, 1);
            lua_createtable(state, 0, library.functions.len() as i32);
            lua_pushvalue(state, -1);
            lua_setglobal(state, library.name.as_ptr());
        }
        fill(state, library);
        lua_pop(state, 1);
    }
}

/// Puts the functions and constants of a library into the table on top.
///
/// # Safety
///
/// See [`open`], with four free slots. A writable table must be on top.
unsafe fn fill(state: *mut lua_State, library: &Library) {
    // SAFETY: the settings, a function and what it is made of take four slots; nothing is raised.
    unsafe {
        let table = lua_gettop(state);
        let settings = (!library.settings.is_empty()).then(|| {
            push_settings(state, library.settings);
            lua_insert(state, table);
            table
        });
        for (name, function) in library.functions {
            push_function(state, *function, settings);
            set_field(state, name);
        }
        for (name, constant) in library.constants {
            match constant {
                Constant::Number(number) => lua_pushnumber(state, f64::from(*number)),
                Constant::Text(text) => lua_pushliteral(state, text),
                Constant::Null => lua_pushlightuserdata(state, std::ptr::null_mut()),
            }
            set_field(state, name);
        }
        if let Some(settings) = settings {
            lua_remove(state, settings);
        }
    }
}

impl Frame<'_> {
    /// Pushes a new table with the content of a library, with settings of its own.
    pub(in crate::library) fn push_library(&self, library: &Library) -> Result<(), Raise> {
        self.push_table(0, 0)?;
        self.reserve(SLOTS, "too many values")?;
        // SAFETY: the table was just pushed, the slots are free, and the limit is suspended.
        unsafe { fill(self.state(), library) };
        Ok(())
    }
}
