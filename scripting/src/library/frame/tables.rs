//! Tables: construction, changes and walks.

use super::protected::put_field;
use super::{Frame, Value};
use crate::ffi::{self, *};
use crate::library::raise::Raise;
use std::ffi::c_int;

/// The most elements or fields for which a table is sized in advance. A larger table grows as it is filled.
const MAX_HINT: usize = 1 << 16;
/// The approximate bytes of a table itself, of an element, and of a field.
const TABLE_BYTES: usize = 64;
const ELEMENT_BYTES: usize = 16;
const FIELD_BYTES: usize = 40;
/// The bytes of memory in use below which no table can reach the largest size of a table.
const TABLES_FIT: usize = 1 << 30;

impl Frame<'_> {
    /// Pushes a table with room for elements and fields.
    pub(crate) fn push_table(&self, elements: usize, fields: usize) -> Result<(), Raise> {
        self.take_slots(1)?;
        let [elements, fields] = [elements, fields].map(|count| count.min(MAX_HINT));
        if !self.context.has_room(TABLE_BYTES + elements * ELEMENT_BYTES + fields * FIELD_BYTES) {
            return Err(Raise::memory());
        }
        // SAFETY: a slot is free, and with these counts only memory could fall short, whose limit is suspended.
        unsafe { lua_createtable(self.state, elements as c_int, fields as c_int) };
        Ok(())
    }

    /// Pops a value and its key below it into the table below both, ignoring metatables.
    ///
    /// # Panics
    ///
    /// Panics if there is no such table, if it is read-only or some table is walked, or if the key is nil or NaN.
    pub(crate) fn set(&self) -> Result<(), Raise> {
        self.before_change();
        if self.may_grow() {
            // SAFETY: the function checks the values on the stack itself. With the limit suspended, and a table of less
            // than the largest size, nothing is raised.
            let put = unsafe { lua_putfield(self.state, self.kept.get()) };
            assert!(put != 0, "a key and a value for a table were pushed");
        } else {
            self.set_protected()?;
        }
        self.free.set(self.free.get() + 2);
        Ok(())
    }

    /// Pops a value into an element of the table below it, ignoring metatables.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`set`](Frame::set).
    pub(crate) fn set_element(&self, element: c_int) -> Result<(), Raise> {
        if !self.may_grow() {
            self.push_number(f64::from(element))?;
            // SAFETY: both values are there.
            unsafe { lua_insert(self.state, -2) };
            return self.set();
        }
        self.before_change();
        // SAFETY: as for `set`.
        let put = unsafe { lua_putelement(self.state, self.kept.get(), element) };
        assert!(put != 0, "a value for a table was pushed");
        self.free.set(self.free.get() + 1);
        Ok(())
    }

    /// Whether any table may grow while the limit of memory is suspended: to twice its size, and not to the largest
    /// one.
    #[inline]
    fn may_grow(&self) -> bool {
        let used = self.context.memory_used();
        used < TABLES_FIT && self.context.has_room(used)
    }

    #[inline]
    fn before_change(&self) {
        assert!(self.walks.get() == 0, "no table changes while one is walked");
    }

    /// Does the same as [`set`](Frame::set) with the limit of memory in force.
    #[cold]
    fn set_protected(&self) -> Result<(), Raise> {
        let state = self.state;
        self.reserve(1, "too many values")?;
        // SAFETY: a slot is free. All three values are there, and the two on top may go. The limit is the only possible
        // cause of an error, and the call is protected.
        unsafe {
            let table = lua_gettop(state) - 2;
            assert!(table >= self.kept.get().max(1), "a key and a value were pushed");
            assert!(lua_type(state, table) == LUA_TTABLE, "a table is below them");
            assert!(lua_isreadonly(state, table) == 0, "the table may be changed");
            assert!(ffi::is_key(state, -2), "the key is neither nil nor nan");
            lua_pushvalue(state, -3);
            lua_insert(state, -3);
            self.protect(put_field, 3, 0)
        }
    }

    /// Passes every key of the table in a slot, with its value, to `visit`, in no particular order. Checks before each
    /// whether the script must end. Values that `visit` pushes are popped when it returns. O(size of the table).
    ///
    /// # Panics
    ///
    /// Panics if there is no table in the slot.
    pub(crate) fn each(
        &self,
        table: c_int,
        visit: &mut dyn FnMut(&Self, Value<'_>, Value<'_>) -> Result<(), Raise>,
    ) -> Result<(), Raise> {
        // SAFETY: the state is live, and the slot in use.
        unsafe {
            assert!((1..=lua_gettop(self.state)).contains(&table), "the slot is in use");
            assert!(lua_type(self.state, table) == LUA_TTABLE, "there is a table in it");
        }
        self.walks.set(self.walks.get() + 1);
        let walked = self.walk(table, visit);
        self.walks.set(self.walks.get() - 1);
        walked
    }

    /// Passes the elements of the table in a slot to `visit`, up to the first nil. Checks before each whether the
    /// script must end. O(elements).
    ///
    /// # Panics
    ///
    /// Panics if there is no table in the slot.
    pub(crate) fn elements(
        &self,
        table: c_int,
        visit: &mut dyn FnMut(Value<'_>) -> Result<(), Raise>,
    ) -> Result<(), Raise> {
        self.take_slots(1)?;
        // SAFETY: the slot is in use and has a table; an element takes the slot that was taken, and stays there while
        // it is shown.
        unsafe {
            assert!((1..=lua_gettop(self.state)).contains(&table), "the slot is in use");
            assert!(lua_type(self.state, table) == LUA_TTABLE, "there is a table in it");
            for index in 1.. {
                self.poll()?;
                lua_rawgeti(self.state, table, index);
                let is_end = lua_type(self.state, -1) == LUA_TNIL;
                if !is_end {
                    visit(self.value_at(lua_gettop(self.state)))?;
                }
                lua_pop(self.state, 1);
                if is_end {
                    break;
                }
            }
        }
        self.free.set(self.free.get() + 1);
        Ok(())
    }

    fn walk(
        &self,
        table: c_int,
        visit: &mut dyn FnMut(&Self, Value<'_>, Value<'_>) -> Result<(), Raise>,
    ) -> Result<(), Raise> {
        let kept = self.kept.get();
        self.take_slots(2)?;
        let free = self.free.get();
        // SAFETY: two slots were taken, for a key and its value. `lua_next` finds the key that it gave: no table
        // changes meanwhile, and the key stays as it is, since `value_at` converts nothing. Both stay on the stack
        // while they are shown, as `kept` says.
        unsafe {
            lua_pushnil(self.state);
            while lua_next(self.state, table) != 0 {
                let value = lua_gettop(self.state);
                self.kept.set(value);
                let visited =
                    self.poll().and_then(|()| visit(self, self.value_at(value - 1), self.value_at(value)));
                self.kept.set(kept);
                visited?;
                lua_settop(self.state, value - 1);
                self.free.set(free);
            }
        }
        self.free.set(free + 2);
        Ok(())
    }
}
