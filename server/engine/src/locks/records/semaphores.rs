//! The semaphores that the history follows: the numbers of permits that are left, that are held, and in all.
//!
//! Permits that are held natively or have an id are known. Of the permits that a script or a bare command takes without
//! an id only the number is known, from the change of the count.

use lockwheel_store::keyspace::DbKey;
use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Permits {
    pub(super) left: i64,
    /// Permits that have ids and leases of their own.
    pub(super) with_id: i64,
    /// Permits without an id that native commands have given out.
    pub(super) native: i64,
    /// Permits without an id that scripts and bare commands have taken.
    pub(super) foreign: i64,
    /// The number of all permits; `None` if the start of the semaphore was not seen.
    pub(super) total: Option<i64>,
    /// Whether the semaphore began without permits. A permit that is given then is a new one, as a signal.
    pub(super) is_signal: bool,
}

/// A change of a semaphore by a script or a bare command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed<'a> {
    /// Whether the change is by a script that names the semaphore's channel, and so may announce new permits.
    pub(super) names_channel: bool,
    /// The numbers among a script's arguments, in their order.
    pub(super) numbers: &'a [i64],
}

impl Permits {
    /// Returns the permits of a semaphore that begins with this number.
    pub(super) fn new(left: i64) -> Self {
        Permits { left, total: Some(left), is_signal: left == 0, ..Permits::default() }
    }

    /// Returns the permits with the total that another server knew: those of which nothing is known count as taken.
    pub(super) fn inherited(self, total: i64) -> Self {
        let known = self.left.saturating_add(self.held());
        let foreign = self.foreign.saturating_add(total.saturating_sub(known).max(0));
        Permits { foreign, total: Some(total.max(known)), ..self }
    }

    pub(super) fn held(&self) -> i64 {
        self.native.saturating_add(self.foreign).saturating_add(self.with_id)
    }

    /// Adds to the total, or subtracts from it. A total that overflows becomes unknown.
    pub(super) fn add_to_total(&mut self, permits: i64) {
        self.total = self.total.and_then(|total| total.checked_add(permits));
    }

    /// Takes back permits that no native owner held. They come from those that scripts and bare commands have taken, as
    /// far as there are any. The rest increases the total.
    pub(super) fn add_forced(&mut self, permits: i64) {
        let returned = permits.min(self.foreign).max(0);
        self.foreign -= returned;
        self.add_to_total(permits.saturating_sub(returned));
    }

    /// Returns the permits after a deed that leaves `left`, with `with_id` out. Permits taken without an id are held
    /// then. Permits beyond those that were held go to nobody, unless the deed says how many there are to be.
    pub(super) fn after(self, left: i64, with_id: i64, deed: Deed<'_>) -> Self {
        let (more, more_ids) = (left.saturating_sub(self.left), with_id.saturating_sub(self.with_id));
        let mut after = Permits { left, with_id, ..self };
        if more < 0 {
            let taken = more.saturating_add(more_ids.max(0)).min(0).saturating_neg();
            if deed.names_channel {
                after.add_to_total(taken.saturating_neg());
            } else {
                after.foreign = self.foreign.saturating_add(taken);
            }
        } else {
            let given = more.saturating_add(more_ids.min(0)).max(0);
            after.foreign = self.foreign.saturating_sub(given).max(0);
            let beyond = given.saturating_sub(self.foreign).max(0);
            let is_amount = deed.numbers.contains(&given);
            let is_set = !is_amount && deed.numbers.contains(&left.saturating_add(after.held()));
            if beyond > 0 && (self.is_signal || is_set) {
                after.add_to_total(beyond);
            }
        }
        after
    }

    /// Returns the permits after their count was set. The change of the count changes the total. But a count of zero
    /// means that all permits were taken, unless the script names their number.
    pub(super) fn after_set(self, left: i64, numbers: &[i64]) -> Self {
        let more = left.saturating_sub(self.left);
        let mut after = Permits { left, ..self };
        if self.is_drained_by(left, numbers) {
            after.foreign = self.foreign.saturating_add(self.left);
        } else {
            after.add_to_total(more);
        }
        after
    }

    /// Returns the permits after their count was overwritten: none is held natively, the present ones are the total.
    pub(super) fn made_anew(self) -> Self {
        let anew = Permits { native: 0, ..self };
        Permits { total: anew.left.checked_add(anew.held()), ..anew }
    }

    /// Whether setting the count to `left` takes all permits that are left.
    pub(super) fn is_drained_by(&self, left: i64, numbers: &[i64]) -> bool {
        left == 0 && self.left > 0 && !numbers.iter().any(|number| number.checked_abs() == Some(self.left))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) now: Permits,
    pub(super) before: Permits,
    pub(super) request: u64,
    /// The number of permits that the request has taken, and the number that it has given back.
    pub(super) taken: i64,
    pub(super) given: i64,
    /// Whether the request has given back permits by their ids.
    pub(super) names_ids: bool,
}

#[derive(Debug, Default)]
pub(super) struct Semaphores {
    by_key: BTreeMap<DbKey, Followed>,
    names: usize,
}

impl Semaphores {
    /// Returns a semaphore, if it is followed. O(log n).
    pub(super) fn get(&self, db: usize, key: &[u8]) -> Option<&Followed> {
        if self.by_key.is_empty() { None } else { self.by_key.get(&(db, key.into())) }
    }

    /// Follows a semaphore from now on, in this state. O(log n).
    pub(super) fn put(&mut self, db: usize, key: &[u8], followed: Followed) {
        if self.by_key.insert((db, key.into()), followed).is_none() {
            self.names += block(key.len());
        }
    }

    /// Removes and returns a semaphore that has ended. O(log n).
    pub(super) fn take(&mut self, db: usize, key: &[u8]) -> Option<Followed> {
        if self.by_key.is_empty() {
            return None;
        }
        let followed = self.by_key.remove(&(db, key.into()))?;
        self.names -= block(key.len());
        Some(followed)
    }

    /// Returns the keys of the semaphores of a database, in their order. O(n).
    pub(super) fn of_database(&self, db: usize) -> Vec<Box<[u8]>> {
        self.by_key.range((db, Box::default())..).take_while(|((of, _), _)| *of == db).map(key_of).collect()
    }

    /// Exchanges the semaphores of two databases. O(n).
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        let moved = |db: usize| match db {
            db if db == one => other,
            db if db == other => one,
            db => db,
        };
        let all = std::mem::take(&mut self.by_key).into_iter();
        self.by_key = all.map(|((db, key), followed)| ((moved(db), key), followed)).collect();
    }

    /// Returns the bytes of all semaphores, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let entry_bytes = size_of::<(DbKey, Followed)>();
        self.names + tree_heap_bytes(usize::from(!self.by_key.is_empty()), self.by_key.len(), entry_bytes)
    }
}

fn key_of(((_, key), _): (&DbKey, &Followed)) -> Box<[u8]> {
    key.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(names_channel: bool, numbers: &[i64]) -> Deed<'_> {
        Deed { names_channel, numbers }
    }

    fn shown(permits: Permits) -> (i64, i64, Option<i64>) {
        (permits.left, permits.held(), permits.total)
    }

    #[test]
    fn taken_permits_are_held_until_they_are_released() {
        let taken = Permits::new(3).after(1, 0, deed(false, &[2]));
        assert_eq!(shown(taken), (1, 2, Some(3)));
        let given = taken.after(3, 0, deed(true, &[2]));
        assert_eq!(shown(given), (3, 0, Some(3)));
        assert_eq!(shown(given.after(4, 0, deed(true, &[1]))), (4, 0, Some(3)), "more than all");
        let signal = Permits::new(0).after(1, 0, deed(true, &[1]));
        assert_eq!(shown(signal), (1, 0, Some(1)), "a signal");
    }

    #[test]
    fn the_number_of_permits_with_ids_is_the_number_held() {
        let taken = Permits::new(3).after(1, 2, deed(true, &[2]));
        assert_eq!(shown(taken), (1, 2, Some(3)));
        assert_eq!(shown(taken.after(2, 1, deed(true, &[1]))), (2, 1, Some(3)));
        assert_eq!(shown(taken.after(1, 1, deed(false, &[]))), (1, 1, Some(3)), "one is lost");
        assert_eq!(shown(taken.after(1, 3, deed(false, &[]))), (1, 3, Some(3)), "one is made");
    }

    #[test]
    fn the_total_number_of_permits_can_be_set() {
        let taken = Permits::new(3).after(1, 2, deed(true, &[2]));
        assert_eq!(shown(taken.after(3, 2, deed(true, &[5]))), (3, 2, Some(5)), "setPermits, more");
        assert_eq!(shown(taken.after(0, 2, deed(true, &[2]))), (0, 2, Some(2)), "setPermits, fewer");
        let some = Permits::new(3).after(2, 0, deed(false, &[1]));
        assert_eq!(shown(some.after_set(7, &[5])), (7, 1, Some(8)), "addPermits");
        assert_eq!(shown(some.after_set(0, &[])), (0, 3, Some(3)), "drainPermits");
        assert_eq!(shown(some.after_set(0, &[-2])), (0, 1, Some(1)), "addPermits, fewer");
    }
}
