//! The place of a session.

/// The place of a session: its handle from connect to disconnect. A later session in the same place has another slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub(super) index: u32,
    /// How many sessions the engine has had before, wrapping around.
    pub(super) generation: u32,
}
