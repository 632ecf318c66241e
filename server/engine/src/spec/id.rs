//! The numbers of commands.

/// A command or subcommand, by its number: as good as the [`Command`](super::Command) to whoever has the registry,
/// and cheap to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandId(u16);

impl CommandId {
    /// # Panics
    /// When there would be more than 65,536 commands.
    pub(crate) fn new(index: usize) -> Self {
        CommandId(u16::try_from(index).expect("there are some hundred commands"))
    }

    /// The number: from 0, without gaps.
    pub fn index(self) -> usize {
        self.0.into()
    }
}
