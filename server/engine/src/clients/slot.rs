//! The place of a session.

/// The place of a session, its handle from connect to disconnect. A later session there has another slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub(super) index: u32,
    /// The number of the session among all sessions of the engine. It wraps around.
    pub(super) generation: u32,
}
