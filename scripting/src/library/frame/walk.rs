//! Walks through tables and nested tables, without recursion, and without a search for each key.

use super::{Frame, View};
use crate::ffi::{self, *};
use crate::library::raise::Raise;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// A walk. The values that it shows stay until the next request. No table changes while a walk exists.
pub(crate) struct Walk<'f> {
    frame: &'f Frame<'f>,
    /// The number of slots that were kept before the walk.
    kept: c_int,
}

/// A position between the fields of a table, initially before all of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place(c_int);

/// The knowledge of a table's keys.
#[derive(Clone, Copy)]
pub(crate) enum Keys {
    /// The keys are the numbers from 1 to this one.
    List(c_int),
    /// At least one key is not a number. There are this many keys.
    Named(c_int),
    /// Neither is known, or the table is large.
    Unknown,
}

impl Place {
    /// Whether the position is before all fields.
    pub(crate) fn is_start(self) -> bool {
        self.0 == 0
    }
}

impl<'f> Walk<'f> {
    /// Begins a walk through tables that are arguments, and the tables in them.
    pub(crate) fn new(frame: &'f Frame<'f>) -> Walk<'f> {
        frame.walks.set(frame.walks.get() + 1);
        Walk { frame, kept: frame.kept.get() }
    }

    /// The keys of the table in a slot, as far as one step shows them. Checks whether the script must end. O(1) for a
    /// large table, otherwise O(size of the table).
    pub(crate) fn keys(&mut self, slot: c_int) -> Result<Keys, Raise> {
        self.frame.poll()?;
        let mut count = 0;
        // SAFETY: the state is live; a slot without a table has no fields.
        let kind = unsafe { lua_countfields(self.frame.state, slot, &mut count) };
        Ok(match kind {
            1 => Keys::List(count),
            2 => Keys::Named(count),
            _ => Keys::Unknown,
        })
    }

    /// The next field of the table in a slot, if one is left, in the order of `next`. Checks whether the script must
    /// end. O(1), except for empty slots of the table.
    #[inline(always)]
    pub(crate) fn field(
        &mut self,
        slot: c_int,
        place: &mut Place,
    ) -> Result<Option<(View<'_>, View<'_>)>, Raise> {
        let (mut key, mut value) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        loop {
            self.frame.poll()?;
            // SAFETY: the state is live; a slot without a table has no fields.
            let next = unsafe {
                lua_viewfield(self.frame.state, slot, place.0, key.as_mut_ptr(), value.as_mut_ptr())
            };
            match next {
                0 => return Ok(None),
                ..0 => place.0 = -next,
                _ => {
                    place.0 = next;
                    // SAFETY: both were written. What they show is in the table, which stays, unchanged, as long as
                    // this is not asked for more.
                    return Ok(Some(unsafe {
                        (self.value(key.assume_init()), self.value(value.assume_init()))
                    }));
                }
            }
        }
    }

    /// An element of the table in a slot, ignoring its metatable. Nil if there is none.
    #[inline]
    pub(crate) fn element(&mut self, slot: c_int, element: c_int) -> View<'_> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the state is live, and the function writes the value; it stays as above.
        unsafe {
            lua_viewelement(self.frame.state, slot, element, value.as_mut_ptr());
            self.value(value.assume_init())
        }
    }

    /// A border of the table in a slot, as the operator `#` finds it.
    pub(crate) fn border(&mut self, slot: c_int) -> usize {
        assert!((1..=self.frame.kept.get()).contains(&slot), "the slot is in use");
        // SAFETY: there is a value, of which a length can be asked; that of a number could make it a string.
        unsafe {
            if lua_type(self.frame.state, slot) == LUA_TTABLE {
                lua_objlen(self.frame.state, slot)
            } else {
                0
            }
        }
    }

    /// The value in a slot that the walk has pushed.
    pub(crate) fn pushed(&mut self, slot: c_int) -> View<'_> {
        assert!((1..=self.frame.kept.get()).contains(&slot), "the slot is in use");
        // SAFETY: there is a value, which stays as long as this is not asked to leave.
        unsafe { self.frame.value_at(slot) }.in_table()
    }

    /// # Safety
    ///
    /// The view must show a value that stays for `'v`.
    #[inline(always)]
    unsafe fn value<'v>(&self, view: ffi::View) -> View<'v> {
        // SAFETY: the type says what was written.
        unsafe {
            match view.kind {
                LUA_TNIL => View::Nil,
                LUA_TBOOLEAN => View::Boolean(view.content.boolean != 0),
                LUA_TNUMBER => View::Number(view.content.number),
                LUA_TSTRING => View::String(std::slice::from_raw_parts(view.content.text.cast(), view.len)),
                LUA_TTABLE => View::Table(()),
                LUA_TLIGHTUSERDATA if view.content.address.is_null() => View::Null,
                kind => View::Other(self.frame.type_name(kind)),
            }
        }
    }

    /// Pushes the key and the value of the field that was shown last, given by its table and position; returns the
    /// value's slot. Pushes two nils if there is no such field.
    pub(crate) fn push_field(&mut self, slot: c_int, place: Place) -> Result<c_int, Raise> {
        self.frame.take_slots(2)?;
        // SAFETY: two slots are free; there is a table, or no field is found.
        unsafe {
            if lua_pushfield(self.frame.state, slot, place.0) == 0 {
                lua_pushnil(self.frame.state);
                lua_pushnil(self.frame.state);
            }
        }
        Ok(self.keep(2))
    }

    /// Pushes an element of the table in a slot, ignoring its metatable; returns the element's slot.
    pub(crate) fn push_element(&mut self, slot: c_int, element: c_int) -> Result<c_int, Raise> {
        self.frame.take_slots(1)?;
        assert!((1..=self.frame.kept.get()).contains(&slot), "the slot is in use");
        // SAFETY: a slot is free; an element is asked for only of a table.
        unsafe {
            if lua_type(self.frame.state, slot) == LUA_TTABLE {
                lua_rawgeti(self.frame.state, slot, element);
            } else {
                lua_pushnil(self.frame.state);
            }
        }
        Ok(self.keep(1))
    }

    /// Adds the values pushed last to the slots that must stay; returns the top slot.
    fn keep(&mut self, count: c_int) -> c_int {
        let kept = self.frame.kept.get() + count;
        // SAFETY: the state is live.
        let top = unsafe { lua_gettop(self.frame.state) };
        assert!(kept == top, "nothing else lies above what is walked");
        self.frame.kept.set(kept);
        kept
    }

    /// Pops `count` slots that the walk has pushed.
    pub(crate) fn leave(&mut self, count: c_int) {
        let kept = self.frame.kept.get() - count;
        assert!(count >= 0 && kept >= self.kept, "only what was pushed is popped");
        // SAFETY: there are as many, and nothing refers to them.
        unsafe { lua_settop(self.frame.state, kept) };
        self.frame.kept.set(kept);
        self.frame.free.set(self.frame.free.get() + count);
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // Values that an error has left above are popped with the function's stack.
        self.frame.kept.set(self.kept);
        self.frame.walks.set(self.frame.walks.get() - 1);
    }
}
