//! The room for names in a reply that shows a graph of waits.

/// The maximum number of names that a part of a reply shows, and the maximum number of bytes of these names.
const MAX_SHOWN: usize = 100_000;
const MAX_SHOWN_BYTES: usize = 16 << 20;

/// The remaining room for names, and the number of names that did not fit.
#[derive(Clone)]
pub(super) struct Room {
    names: usize,
    bytes: usize,
    left_out: usize,
    /// The bytes that a name takes.
    cost: fn(&[u8]) -> usize,
}

impl Room {
    /// Returns the room of a part of a reply. `cost` is the number of bytes that a name takes.
    pub(super) fn new(cost: fn(&[u8]) -> usize) -> Self {
        Room { names: MAX_SHOWN, bytes: MAX_SHOWN_BYTES, left_out: 0, cost }
    }

    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns one of `parts` equal shares of the room, with room for at least one name. A share does not add room.
    pub(super) fn share(&self, parts: usize) -> Room {
        Room { names: (self.names / parts).max(1), bytes: self.bytes / parts, ..self.clone() }
    }

    /// Takes the room for these names, and the bytes for these keys, if there is enough. Returns whether there was.
    pub(super) fn take(&mut self, names: &[&[u8]], keys: &[&[u8]]) -> bool {
        let bytes: usize = names.iter().chain(keys).map(|name| (self.cost)(name)).sum();
        let fits = self.names >= names.len() && self.bytes >= bytes;
        if fits {
            self.names -= names.len();
            self.bytes -= bytes;
        }
        fits
    }

    /// Takes the room both from the whole and from a share, if both have enough. Returns whether they had.
    pub(super) fn take_of(&mut self, share: &mut Room, names: &[&[u8]], keys: &[&[u8]]) -> bool {
        let rest = share.clone();
        let fits = share.take(names, keys) && self.take(names, keys);
        if !fits {
            *share = rest;
        }
        fits
    }

    pub(super) fn leave_out(&mut self, names: usize) {
        self.left_out += names;
    }
}
