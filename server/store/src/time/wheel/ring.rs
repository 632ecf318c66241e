//! A ring of 64 slots, and the content of a slot.

/// The bits of a deadline that one ring distinguishes: 64 slots.
const DIGIT_BITS: u32 = 6;

/// The longest list of a slot wider than 1 ms. With one more timer, the slot opens into a finer ring. The limit bounds
/// the search for the earliest timer in a list, and spreads a ring's 344 bytes over that many timers.
pub(super) const MAX_LIST_LENGTH: u8 = 32;

/// The level of the single slot above all rings: 11 levels of 6 bits cover all 64 bits of a deadline.
pub(super) const ROOT_LEVEL: u8 = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    /// A list of timers, by the id of its tail.
    List(u32),
    /// A finer ring, by its index.
    Ring(u32),
}

/// [`Content`] in 4 bytes: 0, an id (never 0), or the top bit and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u32);

impl Slot {
    const EMPTY: Slot = Slot(0);
    const RING: u32 = 1 << 31;
}

/// The position of a slot: its ring, by index, and its number in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) ring: u32,
    pub(super) digit: u8,
}

/// 64 slots of 64^level ms each, for the deadlines whose higher digits are those of `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    /// Any key of the ring's span.
    pub(super) key: u64,
    /// One bit for each slot that is not empty.
    occupied: u64,
    /// The slot that holds this ring.
    pub(super) home: Position,
    pub(super) level: u8,
    /// The length of the list in each slot that holds one.
    lengths: [u8; 64],
    slots: [Slot; 64],
}

impl Default for Ring {
    fn default() -> Self {
        Ring::new(0, 0, Position { ring: 0, digit: 0 })
    }
}

impl Ring {
    /// An empty ring of `level` for the span around `key`.
    pub(super) fn new(key: u64, level: u8, home: Position) -> Ring {
        Ring { key, occupied: 0, home, level, lengths: [0; 64], slots: [Slot::EMPTY; 64] }
    }

    /// Whether `key` is within this ring's span. Never called for the ring of the root slot.
    pub(super) fn covers(&self, key: u64) -> bool {
        level_apart(self.key, key) <= self.level
    }

    /// The slot of `key` in this ring, which covers it.
    #[inline]
    pub(super) fn digit(&self, key: u64) -> u8 {
        digit(key, self.level)
    }

    #[inline]
    pub(super) fn content(&self, digit: u8) -> Content {
        match self.slots[digit as usize].0 {
            0 => Content::Empty,
            ring if ring & Slot::RING != 0 => Content::Ring(ring & !Slot::RING),
            id => Content::List(id),
        }
    }

    #[inline]
    pub(super) fn put(&mut self, digit: u8, content: Content) {
        let bit = 1 << digit;
        let (slot, mask) = match content {
            Content::Empty => (Slot::EMPTY, 0),
            Content::List(id) => (Slot(id), bit),
            Content::Ring(index) => (Slot(index | Slot::RING), bit),
        };
        self.slots[digit as usize] = slot;
        self.occupied = (self.occupied & !bit) | mask;
    }

    /// Puts a list of at most [`MAX_LIST_LENGTH`] timers, given by its tail, into a slot.
    pub(super) fn put_list(&mut self, digit: u8, tail: u32, length: u8) {
        self.put(digit, Content::List(tail));
        self.lengths[digit as usize] = length;
    }

    /// Makes `id` the tail of the list in a slot that holds no ring; returns the previous tail, if there is one.
    #[inline]
    pub(super) fn append(&mut self, digit: u8, id: u32) -> Option<u32> {
        let (tail, length) = match self.content(digit) {
            Content::List(tail) => (Some(tail), self.length(digit).wrapping_add(1)),
            _ => (None, 1),
        };
        self.put_list(digit, id, length);
        tail
    }

    /// Removes one timer from the count of a list of at least two, whose tail is now `tail`.
    #[inline]
    pub(super) fn shorten(&mut self, digit: u8, tail: u32) {
        self.put_list(digit, tail, self.length(digit).wrapping_sub(1));
    }

    /// Whether the list of a slot wider than 1 ms has no room.
    #[inline]
    pub(super) fn is_full(&self, digit: u8) -> bool {
        self.level > 0 && self.length(digit) >= MAX_LIST_LENGTH
    }

    /// The length of the list in a slot. At level 0, where lists have no limit, it is modulo 256 and never used.
    pub(super) fn length(&self, digit: u8) -> u8 {
        self.lengths[digit as usize]
    }

    /// The number of slots that are not empty.
    pub(super) fn occupied(&self) -> u32 {
        self.occupied.count_ones()
    }

    /// The first slot that is not empty, if any: the earliest.
    pub(super) fn first(&self) -> Option<u8> {
        (self.occupied != 0).then_some(self.occupied.trailing_zeros() as u8)
    }
}

/// The level of the ring that distinguishes `a` from `b`: that of their highest differing digit. 0 if they are equal.
#[inline]
pub(super) fn level_apart(a: u64, b: u64) -> u8 {
    (((a ^ b) | 1).ilog2() / DIGIT_BITS) as u8
}

/// The digit of `key` at `level`; 0 at the root's level.
#[inline]
pub(super) fn digit(key: u64, level: u8) -> u8 {
    (key.checked_shr(DIGIT_BITS * u32::from(level)).unwrap_or(0) & 63) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_the_highest_differing_digit() {
        assert_eq!(level_apart(5, 5), 0);
        assert_eq!(level_apart(0, 63), 0);
        assert_eq!(level_apart(63, 64), 1);
        assert_eq!(level_apart(0, 4096), 2);
        assert_eq!(level_apart(0, u64::MAX), 10);
        assert_eq!((digit(64, 1), digit(u64::MAX, 10), digit(u64::MAX, ROOT_LEVEL)), (1, 15, 0));
    }

    #[test]
    fn a_slot_contains_its_timers() {
        let mut ring = Ring::new(0, 0, Position { ring: 0, digit: 0 });
        assert_eq!((ring.first(), ring.occupied()), (None, 0));
        for content in [Content::List(1), Content::Ring(0), Content::List(Slot::RING - 1), Content::Ring(7)] {
            ring.put(63, content);
            assert_eq!((ring.content(63), ring.first(), ring.occupied()), (content, Some(63), 1));
        }
        ring.put(63, Content::Empty);
        assert_eq!((ring.content(63), ring.first()), (Content::Empty, None));
    }
}
