//! The reply sink of a command that a script calls: it writes straight to the Lua stack.

use crate::error::single_line;
use crate::ffi::{self, *};
use lockwheel_resp::number::{format_decimal, format_double, parse_f64};
use lockwheel_resp::{Protocol, Reply, allocation};
use std::ffi::{CStr, c_int};

/// An aggregate that lacks values. Its table is on the stack; that of a map or a set is inside another table.
struct Level {
    kind: Kind,
    /// The number of values that have not come, including a map's keys.
    left: usize,
    /// The number of values that have come.
    came: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `{a, b}`
    Array,
    /// `{map = {k = v}}`
    Map,
    /// `{set = {k = true}}`
    Set,
}

/// The number of elements from which on the growth of a table is checked.
const MANY: usize = 1 << 16;
/// The most bytes of an element of a table.
const ELEMENT: usize = 40;

/// The stack slots that one level and the values on top of it need.
const SLOTS: c_int = 8;
/// The most keys of an aggregate, since a table has no room for more. More keys count as a bug of the host.
const MAX_KEYS: usize = 1 << 25;

/// A sink that turns a reply into exactly one value on top of the stack, once [`finish`](StackSink::finish) is called.
///
/// Replies become Lua values as in Redis: RESP2's nil is `false`, statuses and errors are tables with one field. The
/// limit of memory must be suspended while the sink is used, so that no call can raise an error.
pub(crate) struct StackSink {
    state: *mut lua_State,
    protocol: Protocol,
    levels: Vec<Level>,
    top: c_int,
    /// Whether the reply is complete. Anything more is dropped.
    done: bool,
    /// The number of values to drop, which belong to an aggregate that did not fit.
    skip: usize,
    too_deep: bool,
    /// Whether the whole reply is an error.
    pub(crate) is_error: bool,
}

impl StackSink {
    /// Makes a sink that pushes onto `state`'s stack, which has `top` values.
    ///
    /// # Safety
    ///
    /// The state must outlive the sink, and nothing else may change its stack meanwhile. It must have [`SLOTS`] free
    /// slots, and the limit of memory must be suspended.
    pub(crate) unsafe fn new(state: *mut lua_State, top: c_int, protocol: Protocol) -> StackSink {
        let levels = Vec::new();
        StackSink { state, protocol, levels, top, done: false, skip: 0, too_deep: false, is_error: false }
    }

    /// Ensures that there is exactly one value. Returns false if the reply was nested deeper than the stack allows.
    pub(crate) fn finish(self) -> bool {
        debug_assert!(self.done, "the host wrote a reply that is not whole");
        // SAFETY: the caller of `new` has promised that the state outlives the sink. Only values that the sink has
        // pushed are above `top`, and a slot is free once they are removed.
        unsafe {
            if !self.done {
                lua_settop(self.state, self.top);
                lua_pushboolean(self.state, 0);
            }
        }
        !self.too_deep
    }

    /// Whether the next value is to be dropped.
    fn drops(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            if self.skip == 0 {
                // SAFETY: the level that waits for this value has left `SLOTS` free for it.
                unsafe { lua_pushboolean(self.state, 0) };
                self.settle();
            }
            return true;
        }
        debug_assert!(!self.done, "the host wrote more than one reply");
        self.done
    }

    /// Pushes a value and puts it into its aggregate. `push` must leave exactly one more value on the stack.
    fn value(&mut self, push: impl FnOnce(*mut lua_State)) {
        if !self.drops() {
            push(self.state);
            self.settle();
        }
    }

    /// Pushes a table with one text.
    fn tagged(&mut self, tag: &CStr, value: &[u8]) {
        self.value(|state| {
            // SAFETY: a table and its field take two of the `SLOTS` that are free; nothing is raised while the limit is
            // suspended.
            unsafe {
                lua_createtable(state, 0, 1);
                ffi::push(state, value);
                set_field(state, tag);
            }
        });
    }

    /// Puts the value on top, which is complete, into the aggregate that waits for it. If that is complete then, puts
    /// it into its own aggregate, and so on.
    #[inline]
    fn settle(&mut self) {
        if self.levels.is_empty() {
            self.done = true;
        } else {
            self.settle_level();
        }
    }

    fn settle_level(&mut self) {
        while let Some(level) = self.levels.last_mut() {
            if level.came >= MANY && level.came.is_power_of_two() {
                // The table is about to double its size.
                check_memory(level.came * 2 * ELEMENT);
            }
            level.came += 1;
            level.left -= 1;
            // SAFETY: the value is on top; below it lies the table of the level, or the key whose value it is.
            unsafe { level.put(self.state) };
            if level.left > 0 {
                return;
            }
            let kind = level.kind;
            self.levels.pop();
            // SAFETY: the inner table of a map or a set lies above the outer one.
            unsafe { close(self.state, kind) };
        }
        self.done = true;
    }

    fn aggregate(&mut self, kind: Kind, len: usize) {
        if self.drops_aggregate(len) {
            return;
        }
        // SAFETY: room is made first, before anything is pushed; the lengths fit, and the limit is suspended, so
        // nothing is raised.
        unsafe {
            let room = lua_checkstack(self.state, SLOTS) != 0 && len <= MAX_KEYS * 2;
            if !room {
                self.too_deep = true;
                self.skip = len;
                if len == 0 {
                    lua_pushboolean(self.state, 0);
                    self.settle();
                }
                return;
            }
            if kind == Kind::Array {
                // A table grows as it is filled. A header that announces very many elements is not trusted in advance.
                lua_createtable(self.state, len.min(1 << 16) as c_int, 0);
            } else {
                let keys = if kind == Kind::Map { len / 2 } else { len };
                lua_createtable(self.state, 0, 1);
                lua_createtable(self.state, 0, keys.min(1 << 16) as c_int);
            }
            if len > 0 {
                self.levels.push(Level { kind, left: len, came: 0 });
            } else {
                close(self.state, kind);
                self.settle();
            }
        }
    }

    fn drops_aggregate(&mut self, len: usize) -> bool {
        if self.skip > 0 {
            self.skip += len;
            // The header itself counts as one value, which may be the last.
            return self.drops();
        }
        self.done
    }
}

/// Unwinds if memory for a large value is short. While the limit is suspended, the interpreter's own failed allocation
/// would end the process.
#[inline]
fn check_memory(bytes: usize) {
    allocation::check(bytes).unwrap_or_else(|error| error.unwind());
}

/// Makes a map's or a set's inner table a field of the outer one.
///
/// # Safety
///
/// Both tables must be on top of the stack.
unsafe fn close(state: *mut lua_State, kind: Kind) {
    // SAFETY: the inner table is on top of the outer one, which is fresh: neither read-only nor with a metatable.
    unsafe {
        match kind {
            Kind::Array => {}
            Kind::Map => set_field(state, c"map"),
            Kind::Set => set_field(state, c"set"),
        }
    }
}

impl Level {
    /// Pops the value on top into the table. A map's key stays until its value comes.
    ///
    /// # Safety
    ///
    /// The level's table must be below the value, or below the key of the value.
    unsafe fn put(&mut self, state: *mut lua_State) {
        // SAFETY: the level's table lies where its kind has it: below the value, or below the key. It is fresh, and a
        // key is checked first, so nothing is raised.
        unsafe {
            match self.kind {
                Kind::Array => lua_rawseti(state, -2, self.came as c_int),
                Kind::Set => {
                    if ffi::is_key(state, -1) {
                        lua_pushboolean(state, 1);
                        lua_rawset(state, -3);
                    } else {
                        lua_pop(state, 1);
                    }
                }
                Kind::Map if self.left % 2 == 1 => {}
                Kind::Map => {
                    if ffi::is_key(state, -2) {
                        lua_rawset(state, -3);
                    } else {
                        lua_pop(state, 2);
                    }
                }
            }
        }
    }
}

/// Pushes a value by calls of the interpreter.
macro_rules! pushes {
    ($self:ident, |$state:ident| $calls:expr) => {
        // SAFETY: `value` is called with at least one free slot, and `SLOTS` free slots suffice for one reply. The
        // limit is suspended, so nothing is raised.
        $self.value(|$state| unsafe { $calls })
    };
}

impl Reply for StackSink {
    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn status(&mut self, text: &[u8]) {
        let text = single_line(text);
        self.tagged(c"ok", &text);
    }

    fn error(&mut self, text: &[u8]) {
        let text = single_line(text);
        self.is_error |= self.levels.is_empty() && !self.done;
        pushes!(self, |state| {
            lua_createtable(state, 0, 2);
            ffi::push(state, &text);
            set_field(state, c"err");
            lua_pushboolean(state, 1);
            set_field(state, c"ignore_error_stats_update");
        });
    }

    fn integer(&mut self, value: i64) {
        pushes!(self, |state| lua_pushnumber(state, value as f64));
    }

    fn bulk(&mut self, bytes: &[u8]) {
        check_memory(bytes.len());
        pushes!(self, |state| ffi::push(state, bytes));
    }

    fn null(&mut self) {
        let resp3 = self.protocol == Protocol::Resp3;
        pushes!(self, |state| if resp3 {
            lua_pushnil(state);
        } else {
            lua_pushboolean(state, 0);
        });
    }

    fn null_array(&mut self) {
        self.null();
    }

    fn double(&mut self, value: f64) {
        if self.protocol == Protocol::Resp3 {
            pushes!(self, |state| {
                lua_createtable(state, 0, 1);
                lua_pushnumber(state, value);
                set_field(state, c"double");
            });
        } else {
            let mut text = Vec::with_capacity(32);
            format_double(value, &mut text);
            self.bulk(&text);
        }
    }

    fn decimal(&mut self, value: f64) {
        let mut text = Vec::with_capacity(32);
        format_decimal(value, &mut text);
        if self.protocol == Protocol::Resp3 {
            // The number is read back from the text, which has too few digits for a number close to zero.
            self.double(parse_f64(&text).unwrap_or(value));
        } else {
            self.bulk(&text);
        }
    }

    fn boolean(&mut self, value: bool) {
        if self.protocol == Protocol::Resp3 {
            pushes!(self, |state| lua_pushboolean(state, c_int::from(value)));
        } else {
            self.integer(i64::from(value));
        }
    }

    fn big_number(&mut self, digits: &[u8]) {
        if self.protocol == Protocol::Resp3 { self.tagged(c"big_number", digits) } else { self.bulk(digits) }
    }

    fn verbatim(&mut self, format: [u8; 3], text: &[u8]) {
        if self.protocol == Protocol::Resp2 {
            return self.bulk(text);
        }
        check_memory(text.len());
        pushes!(self, |state| {
            lua_createtable(state, 0, 1);
            lua_createtable(state, 0, 2);
            ffi::push(state, text);
            set_field(state, c"string");
            ffi::push(state, &format);
            set_field(state, c"format");
            set_field(state, c"verbatim_string");
        });
    }

    fn array(&mut self, len: usize) {
        self.aggregate(Kind::Array, len);
    }

    fn map(&mut self, pairs: usize) {
        let kind = if self.protocol == Protocol::Resp3 { Kind::Map } else { Kind::Array };
        self.aggregate(kind, pairs.saturating_mul(2));
    }

    fn set(&mut self, len: usize) {
        let kind = if self.protocol == Protocol::Resp3 { Kind::Set } else { Kind::Array };
        self.aggregate(kind, len);
    }

    fn push(&mut self, len: usize) {
        self.aggregate(Kind::Array, len);
    }
}
