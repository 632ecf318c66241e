//! Who holds the permits of a semaphore, as far as native commands gave them out.

use std::collections::BTreeMap;

/// The name of a permit in the layout of `RPermitExpirableSemaphore`.
pub(super) type Id = [u8; 16];

/// An owner, and the number of its hold among all of the semaphore.
pub(super) type Place = (Box<[u8]>, u64);

/// Permits that an owner has been given at once; of those with an id each for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) permits: i64,
    /// The number of the grant.
    pub(super) token: u64,
    /// When they are given back, in wall milliseconds; those with an id have it in the keyspace.
    pub(super) deadline_ms: Option<i64>,
    pub(super) id: Option<Id>,
}

/// The holds of a semaphore.
#[derive(Debug, Default)]
pub(super) struct Holds {
    all: BTreeMap<Place, Hold>,
    /// The holds that end, by when.
    leases: BTreeMap<(i64, u64), Box<[u8]>>,
    ids: BTreeMap<Id, Place>,
    made: u64,
    /// Permits without an id.
    plain: i64,
    bytes: usize,
}

/// Bytes of a hold, before an allocator rounds them up, without its owner's name.
const HOLD: usize = size_of::<(Place, Hold)>() + size_of::<((i64, u64), Box<[u8]>)>();

impl Holds {
    /// An owner has been given permits. O(log n).
    pub(super) fn add(&mut self, owner: &[u8], hold: Hold) {
        self.made += 1;
        let place = (Box::from(owner), self.made);
        match hold.id {
            Some(id) => drop(self.ids.insert(id, place.clone())),
            None => self.plain += hold.permits,
        }
        if let Some(deadline) = hold.deadline_ms {
            self.leases.insert((deadline, self.made), owner.into());
        }
        self.bytes += HOLD + 2 * owner.len();
        self.all.insert(place, hold);
    }

    /// A hold has ended. O(log n).
    pub(super) fn remove(&mut self, place: &Place) -> Option<Hold> {
        let hold = self.all.remove(place)?;
        match hold.id {
            Some(id) => drop(self.ids.remove(&id)),
            None => self.plain -= hold.permits,
        }
        if let Some(deadline) = hold.deadline_ms {
            self.leases.remove(&(deadline, place.1));
        }
        self.bytes -= HOLD + 2 * place.0.len();
        Some(hold)
    }

    /// So many permits of a hold have been given back, not all. O(log n).
    pub(super) fn lower(&mut self, place: &Place, by: i64) {
        if let Some(hold) = self.all.get_mut(place) {
            hold.permits -= by;
            self.plain -= by;
        }
    }

    /// Makes a hold last until an instant at least. O(log n).
    pub(super) fn prolong(&mut self, place: &Place, deadline_ms: i64) {
        let Some(hold) = self.all.get_mut(place) else { return };
        let Some(before) = hold.deadline_ms.filter(|before| *before < deadline_ms) else { return };
        hold.deadline_ms = Some(deadline_ms);
        self.leases.remove(&(before, place.1));
        self.leases.insert((deadline_ms, place.1), place.0.clone());
    }

    /// Moves the ends of an owner's leases; whether it has any. O(log n) each.
    pub(super) fn renew(&mut self, owner: &[u8], deadline_ms: i64) -> bool {
        let (all, leases) = (&mut self.all, &mut self.leases);
        let of_owner = all.range_mut((owner.into(), 0)..=(owner.into(), u64::MAX));
        let mut renewed = false;
        for ((_, number), hold) in of_owner {
            let Some(before) = hold.deadline_ms.filter(|_| hold.id.is_none()) else { continue };
            hold.deadline_ms = Some(deadline_ms);
            leases.remove(&(before, *number));
            leases.insert((deadline_ms, *number), owner.into());
            renewed = true;
        }
        renewed
    }

    /// The holds of an owner, the oldest first.
    pub(super) fn of(&self, owner: &[u8]) -> impl Iterator<Item = (&Place, &Hold)> {
        self.all.range((owner.into(), 0)..=(owner.into(), u64::MAX))
    }

    /// Whose a permit is, if a native command gave it out. O(log n).
    pub(super) fn of_id(&self, id: &Id) -> Option<&Place> {
        self.ids.get(id)
    }

    /// All holds, the oldest first. O(n log n).
    pub(super) fn oldest_first(&self) -> Vec<(&Place, &Hold)> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_unstable_by_key(|((_, number), _)| *number);
        all
    }

    /// When the first lease ends, in wall milliseconds. O(log n).
    pub(super) fn first_deadline(&self) -> Option<i64> {
        self.leases.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// Removes the hold whose lease ends first, if it ends no later than at `until_ms`. O(log n).
    pub(super) fn pop_over(&mut self, until_ms: i64) -> Option<Hold> {
        let (&(deadline, number), owner) = self.leases.first_key_value()?;
        let place = (owner.clone(), number);
        (deadline <= until_ms).then(|| self.remove(&place)).flatten()
    }

    /// Drops the permits with ids that `is_live` does not know any more. O(n log n).
    pub(super) fn keep_ids(&mut self, is_live: impl Fn(&Id) -> bool) {
        let gone: Vec<Place> =
            self.ids.iter().filter(|(id, _)| !is_live(id)).map(|(_, place)| place.clone()).collect();
        gone.iter().for_each(|place| drop(self.remove(place)));
    }

    /// How many permits with ids there are.
    pub(super) fn ids(&self) -> usize {
        self.ids.len()
    }

    /// How many permits without an id are held.
    pub(super) fn plain(&self) -> i64 {
        self.plain
    }

    /// Bytes of memory, about. O(1).
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(permits: i64, deadline_ms: Option<i64>, id: Option<u8>) -> Hold {
        Hold { permits, token: 1, deadline_ms, id: id.map(|id| [id; 16]) }
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
        assert_eq!((holds.plain(), holds.ids(), holds.first_deadline()), (9, 1, Some(40)));
        let permits =
            |holds: &Holds, owner: &[u8]| holds.of(owner).map(|(_, hold)| hold.permits).collect::<Vec<_>>();
        assert_eq!(
            (permits(&holds, b"b"), permits(&holds, b"a"), permits(&holds, b"")),
            (vec![2, 1, 4], vec![3], vec![])
        );
        assert_eq!(holds.of_id(&[7; 16]).map(|place| place.1), Some(3));
        assert!(holds.renew(b"b", 45) && !holds.renew(b"a", 45));
        assert_eq!(holds.pop_over(44), None);
        assert_eq!(holds.pop_over(45).map(|hold| hold.permits), Some(2));
        holds.lower(&(b"b"[..].into(), 4), 3);
        assert_eq!((permits(&holds, b"b"), holds.plain()), (vec![1, 1], 4));
        holds.keep_ids(|_| false);
        assert_eq!((holds.ids(), permits(&holds, b"b")), (0, vec![1]));
        for place in [(b"b"[..].into(), 4), (b"a"[..].into(), 2)] {
            assert!(holds.remove(&place).is_some());
        }
        assert_eq!((holds.bytes(), holds.plain(), holds.first_deadline()), (0, 0, None));
    }
}
