//! The servers of the entries in a history of several servers.

/// The bits of a client's own number in a history of several servers. The bits above hold the server's number.
pub(super) const CLIENT_BITS: u32 = 48;

/// The server of each entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) names: Vec<Box<[u8]>>,
    pub(super) of: Vec<u8>,
}

impl Places {
    /// Returns the server of an entry, by the place of the entry in the ring.
    pub(super) fn name(&self, at: usize) -> Option<&[u8]> {
        self.names.get(usize::from(*self.of.get(at)?)).map(|name| &**name)
    }
}

/// Returns the number of a client at its own server.
pub(super) fn own_number(client: u64) -> u64 {
    client & ((1 << CLIENT_BITS) - 1)
}
