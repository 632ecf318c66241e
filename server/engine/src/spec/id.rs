//! Indices of commands, and tables indexed by them.

use lockwheel_store::memory::block;
use std::fmt;
use std::ops::{Index, IndexMut};

/// The index of a command in the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(u16);

impl CommandId {
    /// The most commands: a power of two, so that tables by index need no bounds check.
    pub(super) const MAX: usize = 1024;

    /// The index of no present command. It stands for all commands that may be added later.
    pub(crate) const FUTURE: CommandId = CommandId(Self::MAX as u16 - 1);

    /// # Panics
    /// Panics if there would be more than 1,023 commands.
    pub(crate) fn new(index: usize) -> Self {
        assert!(index < Self::FUTURE.index(), "there are some hundred commands");
        CommandId(index as u16)
    }

    /// The index: from 0, without gaps.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

pub(crate) struct PerCommand<T>(Box<[T; CommandId::MAX]>);

impl<T: Clone> PerCommand<T> {
    /// A table with `value` for all commands.
    pub(crate) fn new(value: T) -> Self {
        let all: Box<[T]> = vec![value; CommandId::MAX].into();
        PerCommand(all.try_into().unwrap_or_else(|_| unreachable!("it has the length of the array")))
    }

    /// A table of values in the order of the commands' numbers, with `rest` for numbers that no command has.
    pub(crate) fn from_values(values: impl IntoIterator<Item = T>, rest: T) -> Self {
        let mut all = Self::new(rest);
        values.into_iter().zip(all.0.iter_mut()).for_each(|(value, place)| *place = value);
        all
    }

    /// Bytes of heap that the table takes, without the heap of its values.
    pub(crate) fn heap_bytes(&self) -> usize {
        block(size_of_val(&*self.0))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<CommandId> for PerCommand<T> {
    type Output = T;

    #[inline]
    fn index(&self, command: CommandId) -> &T {
        &self.0[command.index() & (CommandId::MAX - 1)]
    }
}

impl<T> IndexMut<CommandId> for PerCommand<T> {
    #[inline]
    fn index_mut(&mut self, command: CommandId) -> &mut T {
        &mut self.0[command.index() & (CommandId::MAX - 1)]
    }
}

impl<T> fmt::Debug for PerCommand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PerCommand")
    }
}
