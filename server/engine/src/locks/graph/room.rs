//! The room of a reply that shows a graph of waits.

/// The most names that a part of a reply shows, and the most bytes of these.
const MAX_SHOWN: usize = 100_000;
const MAX_SHOWN_BYTES: usize = 16 << 20;

/// The room that is left for names, and the number of names that had none.
#[derive(Clone)]
pub(super) struct Room {
    names: usize,
    bytes: usize,
    left_out: usize,
    /// The bytes that a name takes.
    cost: fn(&[u8]) -> usize,
}

impl Room {
    /// The room of a part of a reply in which a name takes so many bytes.
    pub(super) fn new(cost: fn(&[u8]) -> usize) -> Self {
        Room { names: MAX_SHOWN, bytes: MAX_SHOWN_BYTES, left_out: 0, cost }
    }

    /// The number of names that have been left out.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns one of so many equal parts of the room, at least a name of it. It is no room of its own.
    pub(super) fn share(&self, parts: usize) -> Room {
        Room { names: (self.names / parts).max(1), bytes: self.bytes / parts, ..self.clone() }
    }

    /// Takes the room of these names, and the bytes of these keys, if there is enough. Whether there is.
    pub(super) fn take(&mut self, names: &[&[u8]], keys: &[&[u8]]) -> bool {
        let bytes: usize = names.iter().chain(keys).map(|name| (self.cost)(name)).sum();
        let fits = self.names >= names.len() && self.bytes >= bytes;
        if fits {
            self.names -= names.len();
            self.bytes -= bytes;
        }
        fits
    }

    /// Takes the same of a share of the room, if both have enough.
    pub(super) fn take_of(&mut self, share: &mut Room, names: &[&[u8]], keys: &[&[u8]]) -> bool {
        let rest = share.clone();
        let fits = share.take(names, keys) && self.take(names, keys);
        if !fits {
            *share = rest;
        }
        fits
    }

    /// Counts so many names that are left out.
    pub(super) fn leave_out(&mut self, names: usize) {
        self.left_out += names;
    }
}
