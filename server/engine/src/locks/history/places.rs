//! Whose the entries are in a history of several servers.

/// The bits of a client's number in a history of several servers; those above say whose client it is.
pub(super) const CLIENT_BITS: u32 = 48;

/// Whose each entry is.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// What the servers are called.
    pub(super) names: Vec<Box<[u8]>>,
    /// By entry.
    pub(super) of: Vec<u8>,
}

impl Places {
    /// The server of an entry, by its place in the ring.
    pub(super) fn name(&self, at: usize) -> Option<&[u8]> {
        self.names.get(usize::from(*self.of.get(at)?)).map(|name| &**name)
    }
}

/// The number of a client at its own server.
pub(super) fn own_number(client: u64) -> u64 {
    client & ((1 << CLIENT_BITS) - 1)
}
