//! Where a session is kept.

/// Where a session is kept: its handle from connect to disconnect. Another session in the same place has another slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub(super) index: u32,
    /// How many sessions the engine has had before, wrapping around.
    pub(super) generation: u32,
}
