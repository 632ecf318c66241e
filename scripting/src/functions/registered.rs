//! The functions that a library registers while it is loaded.

use super::library_text::{BAD_NAME, is_name};
use crate::shebang::Flags;
use std::collections::BTreeMap;

/// A function that a library has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The function's name, as it was registered.
    pub name: Box<[u8]>,
    /// The description that its library gives.
    pub description: Option<Box<[u8]>>,
    /// The flags that its library declares.
    pub flags: Flags,
    /// The id by which it is called.
    pub id: FunctionId,
}

/// The id of a function, valid until the function is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionId(pub(crate) u32);

/// The functions that a library has registered so far.
#[derive(Default)]
pub(crate) struct Loading {
    functions: BTreeMap<Box<[u8]>, Registered>,
    slots: Slots,
    /// The number of slots before loading.
    len_before: u32,
}

/// The slots of compiled functions.
#[derive(Default)]
pub(crate) struct Slots {
    /// The number of slots.
    pub(crate) len: u32,
    /// The slots without a function.
    pub(crate) vacant: Vec<u32>,
}

/// The arguments of `redis.register_function`.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) name: Option<Box<[u8]>>,
    pub(crate) description: Option<Box<[u8]>>,
    pub(crate) flags: Flags,
    /// Whether the function is in [`Loading::next_slot`].
    pub(crate) has_callback: bool,
}

impl Loading {
    /// Begins without functions. New functions go to the vacant slots first, then behind all slots.
    pub(crate) fn new(slots: Slots) -> Loading {
        Loading { functions: BTreeMap::new(), len_before: slots.len, slots }
    }

    /// Undoes the registrations: the slots are as before, and those that were filled are vacant. O(functions).
    pub(crate) fn undo(&mut self) -> &Slots {
        let filled = std::mem::take(&mut self.functions).into_values().map(|function| function.id.0);
        self.slots.vacant.extend(filled.filter(|slot| *slot < self.len_before));
        self.slots.len = self.len_before;
        &self.slots
    }

    /// Returns all functions by name, and the present slots.
    pub(crate) fn end(self) -> (Vec<Registered>, Slots) {
        (self.functions.into_values().collect(), self.slots)
    }

    /// The slot of the next function.
    pub(crate) fn next_slot(&self) -> u32 {
        self.slots.vacant.last().copied().unwrap_or(self.slots.len)
    }

    /// Registers a function, or returns Redis' error. O(log functions).
    pub(crate) fn add(&mut self, given: Given) -> Result<(), &'static str> {
        let name = given.name.ok_or("redis.register_function must get a function name argument")?;
        if !given.has_callback {
            return Err("redis.register_function must get a callback argument");
        }
        if !is_name(&name) {
            return Err(BAD_NAME);
        }
        if self.functions.contains_key(&name) {
            return Err("Function already exists in the library");
        }
        let id = FunctionId(self.next_slot());
        if self.slots.vacant.pop().is_none() {
            self.slots.len += 1;
        }
        let Given { description, flags, .. } = given;
        self.functions.insert(name.clone(), Registered { name, description, flags, id });
        Ok(())
    }
}
