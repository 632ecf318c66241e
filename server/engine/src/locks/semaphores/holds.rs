//! The holds of a semaphore's permits that native commands gave out.

use lockwheel_store::keyspace::Order;
use std::collections::BTreeMap;

/// The id of a permit in the layout of `RPermitExpirableSemaphore`.
pub(super) type Id = [u8; 16];

/// An owner, and the number of its hold among all holds of the semaphore.
pub(super) type HoldKey = (Box<[u8]>, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    /// The end of the hold, in wall milliseconds.
    pub(super) deadline_ms: i64,
    /// The order of this deadline among all deadlines.
    pub(super) order: Order,
    /// The order among the deadlines of the semaphore.
    number: u64,
}

impl Lease {
    pub(super) fn new(deadline_ms: i64, order: Order) -> Self {
        Lease { deadline_ms, order, number: 0 }
    }
}

/// Permits that an owner got at once. Each permit with an id is a hold of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) permits: i64,
    pub(super) token: u64,
    /// The end of the hold. Permits with an id have their end in the keyspace.
    pub(super) lease: Option<Lease>,
    pub(super) id: Option<Id>,
}

#[derive(Debug, Default)]
pub(super) struct Holds {
    all: BTreeMap<HoldKey, Hold>,
    /// The holds that have an end, by that end; holds that end at the same instant by the order of their deadlines.
    leases: BTreeMap<(i64, u64), HoldKey>,
    ids: BTreeMap<Id, HoldKey>,
    /// The number of the first hold of each grant. The holds of a grant are of one owner and have successive numbers.
    grants: BTreeMap<u64, u64>,
    made: u64,
    /// Permits without an id.
    plain: i64,
    bytes: usize,
}

/// Bytes of a hold, before an allocator rounds them up, without its owner's name.
const HOLD: usize =
    size_of::<(HoldKey, Hold)>() + size_of::<((i64, u64), HoldKey)>() + size_of::<(u64, u64)>();

impl Holds {
    /// Adds a hold of an owner. O(log n).
    pub(super) fn add(&mut self, owner: &[u8], mut hold: Hold) {
        self.made += 1;
        let place = (Box::from(owner), self.made);
        match hold.id {
            Some(id) => drop(self.ids.insert(id, place.clone())),
            None => self.plain += hold.permits,
        }
        if let Some(lease) = &mut hold.lease {
            lease.number = self.made;
            self.leases.insert((lease.deadline_ms, self.made), place.clone());
        }
        self.bytes += HOLD + 2 * owner.len();
        self.grants.entry(hold.token).or_insert(self.made);
        self.all.insert(place, hold);
    }

    /// Removes and returns a hold that has ended. O(log n).
    pub(super) fn remove(&mut self, place: &HoldKey) -> Option<Hold> {
        let hold = self.all.remove(place)?;
        match hold.id {
            Some(id) => drop(self.ids.remove(&id)),
            None => self.plain -= hold.permits,
        }
        if let Some(lease) = hold.lease {
            self.leases.remove(&(lease.deadline_ms, lease.number));
        }
        self.bytes -= HOLD + 2 * place.0.len();
        self.forget_first(place, hold.token);
        Some(hold)
    }

    /// Makes the next hold of a grant its first, if the removed hold was. Without a next one, forgets the grant.
    fn forget_first(&mut self, removed: &HoldKey, token: u64) {
        if self.grants.get(&token) != Some(&removed.1) {
            return;
        }
        let next = self.of_grant(&removed.0, token).next().map(|(place, _)| place.1);
        match next {
            Some(next) => self.grants.insert(token, next),
            None => self.grants.remove(&token),
        };
    }

    /// Lowers the permits of a hold of which some have been given back, but not all. O(log n).
    pub(super) fn lower(&mut self, place: &HoldKey, by: i64) {
        if let Some(hold) = self.all.get_mut(place) {
            hold.permits -= by;
            self.plain -= by;
        }
    }

    /// Moves the end of a hold that has one, unless `stays`. Returns whether the hold has an end. O(log n).
    fn move_end(&mut self, place: &HoldKey, end: Lease, stays: impl Fn(Lease) -> bool) -> bool {
        let Some(Hold { lease: Some(lease), .. }) = self.all.get_mut(place) else { return false };
        if !stays(*lease) {
            self.made += 1;
            self.leases.remove(&(lease.deadline_ms, lease.number));
            *lease = Lease { number: self.made, ..end };
            self.leases.insert((end.deadline_ms, self.made), place.clone());
        }
        true
    }

    /// Makes a hold that has an end last at least until this one. O(log n).
    pub(super) fn prolong(&mut self, place: &HoldKey, end: Lease) {
        self.move_end(place, end, |lease| lease.deadline_ms >= end.deadline_ms);
    }

    /// Moves the ends of an owner's holds. Returns whether any of its holds has an end. O(log n) each.
    pub(super) fn renew(&mut self, owner: &[u8], end: Lease) -> bool {
        let places: Vec<HoldKey> = self.of(owner).map(|(place, _)| place.clone()).collect();
        let mut is_renewed = false;
        for place in &places {
            is_renewed |= self.move_end(place, end, |_| false);
        }
        is_renewed
    }

    pub(super) fn of(&self, owner: &[u8]) -> impl Iterator<Item = (&HoldKey, &Hold)> {
        self.all.range((owner.into(), 0)..=(owner.into(), u64::MAX))
    }

    /// Returns the holds of a grant to an owner, the oldest first. O(log n).
    pub(super) fn of_grant(&self, owner: &[u8], token: u64) -> impl Iterator<Item = (&HoldKey, &Hold)> {
        let first = self.grants.get(&token).copied().unwrap_or(u64::MAX);
        let from_first = self.all.range((owner.into(), first)..=(owner.into(), u64::MAX));
        from_first.take_while(move |(_, hold)| hold.token == token)
    }

    /// Returns the grant of a permit, if a native command gave it out. O(log n).
    pub(super) fn token_of(&self, id: &Id) -> Option<u64> {
        Some(self.all.get(self.ids.get(id)?)?.token)
    }

    /// Returns the owner and hold of a permit, if a native command gave it out. O(log n).
    pub(super) fn of_id(&self, id: &Id) -> Option<&HoldKey> {
        self.ids.get(id)
    }

    /// Returns all holds, the oldest first. O(n log n).
    pub(super) fn oldest_first(&self) -> Vec<(&HoldKey, &Hold)> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_unstable_by_key(|((_, number), _)| *number);
        all
    }

    /// Returns the hold that ends first. O(log n).
    pub(super) fn first_end(&self) -> Option<(&HoldKey, Lease)> {
        let (_, place) = self.leases.first_key_value()?;
        Some((place, self.all.get(place)?.lease?))
    }

    /// Removes and returns the hold that ends first, if it ends at `until_ms` or earlier. O(log n).
    pub(super) fn pop_over(&mut self, until_ms: i64) -> Option<Hold> {
        let (place, _) = self.first_end().filter(|(_, lease)| lease.deadline_ms <= until_ms)?;
        let place = place.clone();
        self.remove(&place)
    }

    /// Removes the permits with ids that `is_live` no longer knows. O(n log n).
    pub(super) fn keep_ids(&mut self, is_live: impl Fn(&Id) -> bool) {
        let gone: Vec<HoldKey> =
            self.ids.iter().filter(|(id, _)| !is_live(id)).map(|(_, place)| place.clone()).collect();
        for place in &gone {
            self.remove(place);
        }
    }

    pub(super) fn ids(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of permits without an id that are held.
    pub(super) fn plain(&self) -> i64 {
        self.plain
    }

    /// Returns the bytes of memory, approximately. O(1).
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(deadline_ms: i64) -> Lease {
        Lease::new(deadline_ms, Order::default())
    }

    fn hold(permits: i64, deadline_ms: Option<i64>, id: Option<u8>) -> Hold {
        Hold { permits, token: 1, lease: deadline_ms.map(end), id: id.map(|id| [id; 16]) }
    }

    #[test]
    fn holds_are_found_by_owner_by_id_and_by_the_end_of_their_lease() {
        let mut holds = Holds::default();
        for (owner, hold) in [
            (&b"b"[..], hold(2, Some(50), None)),
            (b"a", hold(3, None, None)),
            (b"b", hold(1, None, Some(7))),
            (b"b", hold(4, Some(40), None)),
        ] {
            holds.add(owner, hold);
        }
        assert_eq!(
            (holds.plain(), holds.ids(), holds.first_end().map(|(_, lease)| lease.deadline_ms)),
            (9, 1, Some(40))
        );
        let permits =
            |holds: &Holds, owner: &[u8]| holds.of(owner).map(|(_, hold)| hold.permits).collect::<Vec<_>>();
        assert_eq!(
            (permits(&holds, b"b"), permits(&holds, b"a"), permits(&holds, b"")),
            (vec![2, 1, 4], vec![3], vec![])
        );
        assert_eq!(holds.of_id(&[7; 16]).map(|place| place.1), Some(3));
        assert!(holds.renew(b"b", end(45)) && !holds.renew(b"a", end(45)));
        assert_eq!(holds.pop_over(44), None);
        assert_eq!(holds.pop_over(45).map(|hold| hold.permits), Some(2));
        holds.lower(&(b"b"[..].into(), 4), 3);
        assert_eq!((permits(&holds, b"b"), holds.plain()), (vec![1, 1], 4));
        holds.keep_ids(|_| false);
        assert_eq!((holds.ids(), permits(&holds, b"b")), (0, vec![1]));
        for place in [(b"b"[..].into(), 4), (b"a"[..].into(), 2)] {
            assert!(holds.remove(&place).is_some());
        }
        assert_eq!(
            (holds.bytes(), holds.plain(), holds.first_end().map(|(_, lease)| lease.deadline_ms)),
            (0, 0, None)
        );
    }
}
