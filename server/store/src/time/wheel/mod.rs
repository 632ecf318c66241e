//! The timing wheel: holds many deadlines, and finds the earliest of them exactly.

mod links;
mod ring;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::num::NonZeroU32;

use crate::pages::{Slab, Sparse, Store};
use ring::Ring;

/// The name of a timer in its [`Wheel`], valid from its insertion until it is cancelled or popped. After that it may
/// name another timer. `Option<TimerId>` is 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(NonZeroU32);

/// A timer that came due and was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired<T> {
    /// The timer's deadline, in ms.
    pub deadline_ms: i64,
    /// The timer's name, which is no longer valid. Its owner can compare it with the stored one.
    pub id: TimerId,
    /// The payload that it was inserted with.
    pub payload: T,
}

/// A hierarchical timing wheel with ticks of 1 ms, on any clock that counts in ms.
///
/// # Layout
///
/// A deadline is 64 bits, 11 digits of 6 bits. A ring distinguishes the deadlines in its span by one digit: it has 64
/// slots of 64^level ms each. So a ring of level 0 spans 64 ms in slots of 1 ms. Level 1 spans 4 s, level 2 4 min,
/// level 3 4.7 h, level 4 12 days, and level 10 all time. A slot holds a list of timers, or a ring of a lower level.
/// Above all rings is one slot for everything. Timers are nodes of a slab, linked in circles by `u32`.
///
/// Unlike in a classic wheel, slots are cut by *absolute* time and no pointer moves. If the list of a slot wider than 1
/// ms would outgrow 32 timers, the slot opens into a ring. The ring has the level that distinguishes these timers, so
/// levels with only one slot in use are left out. If only one slot of a ring is left in use, and holds a ring or a
/// short list, the ring folds back. Its content then goes to the slot that held the ring. So there is
/// - no work when time passes: no tick, no cascade when time reaches a far slot, and a jump of years costs nothing;
/// - no case for the past: a deadline before others is due before them, and a backward step of the clock needs no
///   rebuilding;
/// - always an exact earliest deadline, at most 11 rings and 32 timers away.
///
/// Timers with the same deadline are always in one list, even when slots open or fold. They are in the order in which
/// they were inserted or moved there.
///
/// # Cost
///
/// Insert, move, cancel and pop are O(1): they pass at most 11 rings, in practice 1 to 4, and occasionally move 32
/// timers between lists. A node is 16 bytes and the payload; rings add up to some 10 bytes a timer. Memory is held in
/// pages, so that growth copies nothing. A page is given back when it becomes empty.
///
/// A wheel names its timers itself. An [`IndexedWheel`] has them named by the indices of a slab.
#[derive(Clone, Debug)]
pub struct Wheel<T, S = Slab<Node<T>, PAGE>> {
    nodes: S,
    /// The first ring holds only the root slot, and stays once it exists.
    rings: Slab<Ring, 8>,
    len: usize,
    sum: u128,
    /// The earliest timer, by key and id. `None` if it is unknown.
    earliest: Option<(u64, u32)>,
    of: PhantomData<T>,
}

/// A wheel whose timers are parallel to the values of a [`Slab`], and are named by their indices.
pub type IndexedWheel<T> = Wheel<T, Sparse<Node<T>, PAGE>>;

/// The number of timers in a page: small enough for the allocator to have a size class for it.
const PAGE: usize = 256;

/// The value of `prev` at a list's head.
const HEAD: u32 = u32::MAX;

/// A timer. Ids are slab indices plus 1, so that 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<T> {
    /// The key as bytes, so that no gap follows a small payload.
    key: [u8; 8],
    /// The next node in the list; at the tail, the head.
    next: u32,
    /// The previous node; [`HEAD`] at the head, so that appending touches only the tail. 0: not in use.
    prev: u32,
    payload: T,
}

impl<T, S: Default> Default for Wheel<T, S> {
    fn default() -> Self {
        Wheel { nodes: S::default(), rings: Slab::new(), len: 0, sum: 0, earliest: None, of: PhantomData }
    }
}

impl<T: Copy + Default> Wheel<T> {
    /// A wheel without timers.
    pub fn new() -> Self {
        Wheel::default()
    }

    /// Adds a timer that is due at `deadline_ms`, which may be any number, even in the past. O(1).
    pub fn insert(&mut self, deadline_ms: i64, payload: T) -> TimerId {
        let key = to_key(deadline_ms);
        let id = self.nodes.insert(Node { key: key.to_ne_bytes(), next: 0, prev: 0, payload }) + 1;
        self.link(id, key);
        self.len += 1;
        TimerId::new(id)
    }
}

impl<T: Copy + Default> IndexedWheel<T> {
    /// Adds a timer at an index that has none, due at `deadline_ms`. O(1), except for the pages up to that index.
    pub fn insert_at(&mut self, index: u32, deadline_ms: i64, payload: T) {
        let key = to_key(deadline_ms);
        let node = Node { key: key.to_ne_bytes(), next: 0, prev: 0, payload };
        self.nodes.insert_at(index, node);
        self.link(index + 1, key);
        self.len += 1;
    }

    /// The indices of a page with timers: the first from the fraction `at` / 2^32 of all on, wrapping around. O(pages).
    pub fn page_with_timers(&self, at: u32) -> Option<std::ops::Range<u32>> {
        let from = (u64::from(at) * self.nodes.pages() as u64) >> 32;
        self.nodes.used_page(from as usize)
    }

    /// Bytes of the free slots for timers. O(1).
    pub fn free_bytes(&self) -> usize {
        self.nodes.free_bytes(self.len)
    }

    /// The number of timers that are due at `now_ms`. O(timers), some nanoseconds each.
    pub fn count_due(&self, now_ms: i64) -> usize {
        let now = to_key(now_ms);
        self.nodes.iter().filter(|node| node.prev != 0 && node.key() <= now).count()
    }
}

impl TimerId {
    fn new(id: u32) -> Self {
        let Some(name) = NonZeroU32::new(id) else { unreachable!("an index plus 1 is not 0") };
        TimerId(name)
    }

    /// The name of the timer at an index of an [`IndexedWheel`].
    pub fn at(index: u32) -> Self {
        TimerId::new(index + 1)
    }

    /// The index in an [`IndexedWheel`].
    pub fn index(self) -> u32 {
        self.0.get() - 1
    }
}

impl<T: Copy, S: Store<Node<T>>> Wheel<T, S> {
    /// The number of timers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no timers.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The mean of all deadlines, in ms, rounded down. O(1).
    pub fn mean_deadline(&self) -> Option<i64> {
        let mean = self.sum.checked_div(self.len as u128)?;
        // The mean is no larger than the largest key.
        Some(to_deadline(mean as u64))
    }

    /// Bytes of heap. O(timers / 256).
    pub fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes() + self.rings.heap_bytes()
    }

    /// The timer with the earliest deadline.
    pub fn first_id(&mut self) -> Option<TimerId> {
        self.first().map(|(_, id)| TimerId::new(id))
    }

    /// Removes a timer and returns its payload. O(1).
    ///
    /// # Panics
    /// Panics if `id` names no timer, like an index out of bounds.
    pub fn cancel(&mut self, id: TimerId) -> T {
        let node = *self.checked(id);
        self.remove(id.0.get(), node.key());
        node.payload
    }

    /// Changes the deadline of a timer, which counts as new: it comes after those of that deadline. O(1).
    ///
    /// # Panics
    /// Panics if `id` names no timer.
    pub fn move_to(&mut self, id: TimerId, deadline_ms: i64) {
        let old = self.checked(id).key();
        let id = id.0.get();
        self.unlink(id, old);
        let key = to_key(deadline_ms);
        self.node_mut(id).key = key.to_ne_bytes();
        self.link(id, key);
    }

    /// The deadline of a timer, in ms.
    ///
    /// # Panics
    /// Panics if `id` names no timer.
    pub fn deadline(&self, id: TimerId) -> i64 {
        to_deadline(self.checked(id).key())
    }

    /// The payload of a timer.
    ///
    /// # Panics
    /// Panics if `id` names no timer.
    pub fn payload(&self, id: TimerId) -> T {
        self.checked(id).payload
    }

    /// Replaces the payload of a timer.
    ///
    /// # Panics
    /// Panics if `id` names no timer.
    pub fn set_payload(&mut self, id: TimerId, payload: T) {
        self.checked(id);
        self.node_mut(id.0.get()).payload = payload;
    }

    /// The earliest deadline, in ms. O(1): it is searched again only after the earliest timer is gone.
    pub fn next_deadline(&mut self) -> Option<i64> {
        self.first().map(|(key, _)| to_deadline(key))
    }

    /// The earliest timer's deadline, exactly, in ms, and its payload. O(1), like [`Wheel::next_deadline`].
    pub fn peek(&mut self) -> Option<(i64, T)> {
        let (key, id) = self.first()?;
        Some((to_deadline(key), self.node(id).payload))
    }

    /// Removes and returns the earliest timer if due at `now_ms`; of equal ones, the first inserted or moved. O(1).
    pub fn pop_due(&mut self, now_ms: i64) -> Option<Fired<T>> {
        let (key, id) = self.first()?;
        let deadline_ms = to_deadline(key);
        if deadline_ms > now_ms {
            return None;
        }
        let next = self.node(id).next;
        let payload = self.node(id).payload;
        self.remove(id, key);
        // Timers with equal deadlines follow in order: an equal head would have been popped first.
        if next != id && self.node(next).key() == key {
            self.earliest = Some((key, next));
        }
        Some(Fired { deadline_ms, id: TimerId::new(id), payload })
    }

    /// The earliest timer, by key and id.
    fn first(&mut self) -> Option<(u64, u32)> {
        if self.earliest.is_none() && self.len > 0 {
            self.earliest = self.search();
        }
        self.earliest
    }

    /// Frees a timer and removes it from its list.
    fn remove(&mut self, id: u32, key: u64) {
        self.unlink(id, key);
        self.node_mut(id).prev = 0;
        self.nodes.remove(id - 1);
        self.len -= 1;
    }

    #[inline]
    fn node(&self, id: u32) -> &Node<T> {
        self.nodes.get(id - 1)
    }

    #[inline]
    fn node_mut(&mut self, id: u32) -> &mut Node<T> {
        self.nodes.get_mut(id - 1)
    }

    /// The node of a name that comes from outside, which must be in use.
    fn checked(&self, id: TimerId) -> &Node<T> {
        let node = self.node(id.0.get());
        assert!(node.prev != 0, "a timer id is used after its timer went");
        node
    }
}

impl<T> Node<T> {
    #[inline]
    fn key(&self) -> u64 {
        u64::from_ne_bytes(self.key)
    }
}

/// Converts a deadline to an unsigned number with the same order.
#[inline]
fn to_key(deadline_ms: i64) -> u64 {
    (deadline_ms as u64) ^ (1 << 63)
}

#[inline]
fn to_deadline(key: u64) -> i64 {
    (key ^ (1 << 63)) as i64
}
