//! Links of the wheel: timers in lists, lists in slots, and slots in rings.

use super::ring::{Content, MAX_LIST_LENGTH, Position, ROOT_LEVEL, Ring, digit, level_apart};
use super::{HEAD, Node, Wheel};
use crate::pages::Store;

/// The length up to which the list of a ring's only slot is folded into the slot that holds the ring. Half of the
/// maximum, so that a slot does not open and fold alternately.
const MAX_FOLDED_LENGTH: u8 = MAX_LIST_LENGTH / 2;

/// The slot above all rings.
pub(super) const ROOT: Position = Position { ring: 0, digit: 0 };

impl<T: Copy, S: Store<Node<T>>> Wheel<T, S> {
    /// Finds the earliest timer: follows the first slot in use down to a list, and takes the least timer in that.
    pub(super) fn search(&self) -> Option<(u64, u32)> {
        let mut ring = self.rings.get(ROOT.ring);
        loop {
            match ring.content(ring.first()?) {
                Content::Ring(finer) => ring = self.rings.get(finer),
                Content::List(tail) if ring.level == 0 => return self.list(tail).next(),
                // `min_by_key` returns the first of equal timers.
                Content::List(tail) => return self.list(tail).min_by_key(|&(key, _)| key),
                Content::Empty => return None,
            }
        }
    }

    /// Puts a node that is in no list into the list of its key.
    pub(super) fn link(&mut self, id: u32, key: u64) {
        self.sum += u128::from(key);
        if self.rings.is_empty() {
            self.rings.insert(Ring::new(0, ROOT_LEVEL, ROOT));
        }
        let mut place = ROOT;
        loop {
            let ring = self.rings.get(place.ring);
            match ring.content(place.digit) {
                Content::Ring(finer) => place = self.descend(place, finer, key),
                Content::List(tail) if ring.is_full(place.digit) => place = self.open(place, tail),
                _ => break self.append(place, id),
            }
        }
        // The earliest timer is known and later, or this is the only one. Of equal timers the older one stays.
        if self.earliest.map_or(self.len == 0, |(earliest, _)| key < earliest) {
            self.earliest = Some((key, id));
        }
    }

    /// The slot for `key` in the ring `finer`, which `place` holds, or in a new ring between if that does not span it.
    fn descend(&mut self, place: Position, finer: u32, key: u64) -> Position {
        let ring = self.rings.get(finer);
        if ring.covers(key) {
            return Position { ring: finer, digit: ring.digit(key) };
        }
        let inside = ring.key;
        let level = level_apart(inside, key);
        let between = self.rings.insert(Ring::new(key, level, place));
        self.hold(Position { ring: between, digit: digit(inside, level) }, finer);
        self.rings.get_mut(place.ring).put(place.digit, Content::Ring(between));
        Position { ring: between, digit: digit(key, level) }
    }

    /// Puts a ring into a slot.
    fn hold(&mut self, place: Position, ring: u32) {
        self.rings.get_mut(place.ring).put(place.digit, Content::Ring(ring));
        self.rings.get_mut(ring).home = place;
    }

    /// Opens a slot: moves its list, in order, into a new ring of the level that distinguishes its timers. Returns the
    /// slot of the new ring: this one or, if it was the only one in use of its ring, that ring's.
    fn open(&mut self, mut place: Position, tail: u32) -> Position {
        let around = self.rings.get(place.ring);
        if place.ring != ROOT.ring && around.occupied() == 1 {
            let home = around.home;
            self.rings.remove(place.ring);
            place = home;
        }
        let base = self.node(tail).key();
        let spread = self.list(tail).fold(0, |spread, (key, _)| spread | (key ^ base));
        let ring = self.rings.insert(Ring::new(base, level_apart(spread, 0), place));
        self.hold(place, ring);
        let mut id = self.node(tail).next;
        loop {
            let node = self.node(id);
            let (key, next) = (node.key(), node.next);
            let digit = self.rings.get(ring).digit(key);
            self.append(Position { ring, digit }, id);
            if id == tail {
                return place;
            }
            id = next;
        }
    }

    /// Adds a node at the end of the list of a slot that holds no ring and has room.
    fn append(&mut self, place: Position, id: u32) {
        let (next, prev) = match self.rings.get_mut(place.ring).append(place.digit, id) {
            Some(tail) => (std::mem::replace(&mut self.node_mut(tail).next, id), tail),
            None => (id, HEAD),
        };
        let node = self.node_mut(id);
        (node.next, node.prev) = (next, prev);
    }

    /// Removes a node from the list of its key.
    pub(super) fn unlink(&mut self, id: u32, key: u64) {
        self.sum -= u128::from(key);
        if self.earliest.is_some_and(|(_, earliest)| earliest == id) {
            self.earliest = None;
        }
        let mut place = ROOT;
        loop {
            let ring = self.rings.get_mut(place.ring);
            match ring.content(place.digit) {
                Content::Ring(finer) => {
                    place = Position { ring: finer, digit: self.rings.get(finer).digit(key) };
                }
                Content::List(tail) => {
                    let Node { next, prev, .. } = *self.nodes.get(id - 1);
                    if next == id {
                        return self.vacate(place);
                    }
                    ring.shorten(place.digit, if tail == id { prev } else { tail });
                    let before = if prev == HEAD { tail } else { prev };
                    self.node_mut(before).next = next;
                    if tail != id {
                        self.node_mut(next).prev = prev;
                    }
                    return;
                }
                Content::Empty => unreachable!("a timer is in the slot of its deadline"),
            }
        }
    }

    /// Empties a slot, and removes or folds the rings that are then useless.
    fn vacate(&mut self, mut place: Position) {
        loop {
            let ring = self.rings.get_mut(place.ring);
            ring.put(place.digit, Content::Empty);
            if place.ring == ROOT.ring || ring.occupied() > 1 {
                return;
            }
            let (home, last) = (ring.home, ring.first());
            match last {
                Some(last) => return self.fold(place.ring, last),
                None => self.rings.remove(place.ring),
            }
            place = home;
        }
    }

    /// Replaces `ring` by the content of its last slot in use, unless that is a long list.
    fn fold(&mut self, ring: u32, last: u8) {
        let Ring { home, .. } = *self.rings.get(ring);
        match self.rings.get(ring).content(last) {
            Content::Ring(finer) => self.hold(home, finer),
            Content::List(tail) => {
                let length = self.list(tail).take(usize::from(MAX_FOLDED_LENGTH) + 1).count() as u8;
                if length > MAX_FOLDED_LENGTH {
                    return;
                }
                self.rings.get_mut(home.ring).put_list(home.digit, tail, length);
            }
            Content::Empty => return,
        }
        self.rings.remove(ring);
    }

    /// The key and the id of each timer in a list, in order.
    pub(super) fn list(&self, tail: u32) -> impl Iterator<Item = (u64, u32)> {
        let mut next = Some(self.node(tail).next);
        std::iter::from_fn(move || {
            let id = next?;
            let node = self.node(id);
            next = (id != tail).then_some(node.next);
            Some((node.key(), id))
        })
    }
}
