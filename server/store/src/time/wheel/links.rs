//! How timers hang in lists, these in slots, and slots in rings.

use super::ring::{Content, LIST_MAX, Position, ROOT_LEVEL, Ring, digit, level_apart};
use super::{HEAD, Node, Wheel};
use crate::pages::Store;

/// A ring whose only slot holds a list no longer than this is folded into the slot that held the ring. Half, so that a
/// slot does not open and close alternately.
const FOLD_MAX: u8 = LIST_MAX / 2;

/// The slot above all rings.
pub(super) const ROOT: Position = Position { ring: 0, digit: 0 };

impl<T: Copy, S: Store<Node<T>>> Wheel<T, S> {
    /// Finds the earliest timer: the first slot in use, down to a list, and the least in that.
    pub(super) fn search(&self) -> Option<(u64, u32)> {
        let mut ring = self.rings.get(ROOT.ring);
        loop {
            match ring.content(ring.first()?) {
                Content::Ring(finer) => ring = self.rings.get(finer),
                Content::List(tail) if ring.level == 0 => return self.list(tail).next(),
                // The first of equals, as `min_by_key` returns it.
                Content::List(tail) => return self.list(tail).min_by_key(|&(key, _)| key),
                Content::Empty => return None,
            }
        }
    }

    /// Puts a node that is in no list into that of its key.
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
        // Known and later than this, or the first of all; of equals the older stays.
        if self.earliest.map_or(self.len == 0, |(earliest, _)| key < earliest) {
            self.earliest = Some((key, id));
        }
    }

    /// The slot for `key` in the ring `finer`, which `place` holds; where its span leaves the key out, in a ring
    /// between the two.
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

    /// Opens a slot: its list goes into a new ring, of the level that tells its timers apart, in order. Returns the
    /// slot that holds the new ring: the one opened or, where that was alone in its ring, the one that held this
    /// ring.
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

    /// Takes a node out of the list of its key.
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

    /// Empties a slot, and removes or folds the rings that this leaves without use.
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

    /// Puts what is in the last slot in use of `ring` in place of the ring, unless that is a long list.
    fn fold(&mut self, ring: u32, last: u8) {
        let Ring { home, .. } = *self.rings.get(ring);
        match self.rings.get(ring).content(last) {
            Content::Ring(finer) => self.hold(home, finer),
            Content::List(tail) => {
                let length = self.list(tail).take(usize::from(FOLD_MAX) + 1).count() as u8;
                if length > FOLD_MAX {
                    return;
                }
                self.rings.get_mut(home.ring).put_list(home.digit, tail, length);
            }
            Content::Empty => return,
        }
        self.rings.remove(ring);
    }

    /// Key and id of each timer in a list, in order.
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
