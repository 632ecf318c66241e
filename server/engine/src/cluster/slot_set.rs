//! A set of slots, with one bit for each slot, as nodes send it to one another.

use super::slot::SLOTS;

/// The size of a set, in bytes.
const BYTES: usize = SLOTS as usize / 8;

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SlotSet(Box<[u8; BYTES]>);

impl Default for SlotSet {
    fn default() -> Self {
        SlotSet(Box::new([0; BYTES]))
    }
}

impl std::fmt::Debug for SlotSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl SlotSet {
    /// The size of an encoded set, in bytes.
    pub(crate) const LEN: usize = BYTES;

    /// Decodes a set. Returns `None` if the number of bytes is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| SlotSet(Box::new(bytes)))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0[..]
    }

    pub(crate) fn set(&mut self, slot: u16, is_in: bool) {
        let (byte, bit) = (usize::from(slot / 8), 1 << (slot % 8));
        match is_in {
            true => self.0[byte] |= bit,
            false => self.0[byte] &= !bit,
        }
    }

    /// Iterates over the slots, in order. O(slots of the cluster / 8 + slots of the set).
    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> {
        let bytes = self.0.iter().zip((0..SLOTS).step_by(8)).filter(|(byte, _)| **byte != 0);
        bytes.flat_map(|(byte, first)| {
            (0..8).filter(move |bit| byte & (1 << bit) != 0).map(move |bit| first + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_added_and_removed() {
        let mut set = SlotSet::default();
        for slot in [0, 7, 8, 16383] {
            set.set(slot, true);
        }
        set.set(7, false);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 8, 16383]);
        assert_eq!(SlotSet::from_bytes(set.as_bytes()), Some(set));
        assert_eq!(SlotSet::from_bytes(&[0; BYTES - 1]), None);
    }
}
