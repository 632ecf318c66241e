//! Deadlocks that no request for a lock sees when it comes: with those who wait as Redisson does, whom only the engine
//! knows, and by a lock that is given to an owner that waits for another, or taken from one that waits for it.

use super::dispatch::Unfinished;
use super::engine::{Engine, Retry};
use crate::keyspace::{Place, WaiterId};
use crate::locks::graph::{ForeignWaits, Waiting, check_foreign, check_waiting, is_held_by};
use crate::locks::{HistoryCause, LOCK_LINE, SEVERAL, conversion, events, shares};
use crate::spec::{Args, CommandError, OnKeys};
use std::collections::BTreeSet;

impl Engine {
    /// Checks that a request that is about to wait for a lock closes no cycle in which owners of Redisson's wait. One
    /// that does waits no more.
    pub(super) fn check_foreign_cycles(
        &mut self,
        db: usize,
        unfinished: &Unfinished,
        args: Args<'_>,
    ) -> Result<(), CommandError> {
        let Retry::OnKeys(on) = &unfinished.wait.retry else { return Ok(()) };
        let Some(label) = on.label.filter(|_| is_for_lock(on)) else { return Ok(()) };
        let (keys, place) = (keys(on, args.all()), Place { rank: on.rank, arrival: u64::MAX });
        let (shares, together) = (shares(on.class.name), wants_together(on));
        let waiting = Waiting { owner: &args[label], keys: &keys, place, shares, together };
        let mut tx = self.keyspace.tx(db, self.time.now);
        let checked = check_foreign(&mut tx, &self.pubsub, waiting, self.config.lock_waits.deadlock_inferred);
        if checked.is_err() {
            on.attempt.leave(&mut tx, args);
            for key in keys {
                events::left(&mut self.keyspace, self.time.now, (db, key), &args[label], "cancelled");
            }
        }
        checked
    }

    /// Owners that wait have been given locks, or have lost such that they wait for again. Those who hold what they
    /// wait for may wait behind them now: such a request ends with an error, as if it came now.
    pub(super) fn end_closed_cycles(&mut self) {
        while let Some((db, owner)) = self.keyspace.waiters.next_unchecked() {
            for id in self.waits_of(db, &owner) {
                if let Err(error) = self.check_wait(id, &owner) {
                    self.cancel_wait_as(id, &error, HistoryCause::Deadlock);
                }
            }
        }
    }

    /// The requests by which an owner waits.
    fn waits_of(&mut self, db: usize, owner: &[u8]) -> BTreeSet<WaiterId> {
        let tx = self.keyspace.tx(db, self.time.now);
        tx.waited_for_as(owner).flat_map(|key| tx.waiting_as(key, owner)).map(|(_, id)| id).collect()
    }

    /// Checks that a request that waits is in no cycle. One for a lock that its owner has come to hold is retried in
    /// this step, and is served or told.
    fn check_wait(&mut self, id: WaiterId, owner: &[u8]) -> Result<(), CommandError> {
        let Some(blocked) = self.parked.get(id) else { return Ok(()) };
        let Retry::OnKeys(on) = &blocked.retry else { return Ok(()) };
        if !is_for_lock(on) {
            return Ok(());
        }
        let argv = blocked.request.argv();
        let keys = keys(on, &argv);
        let (shares, together) = (shares(on.class.name), wants_together(on));
        let waiting = Waiting { owner, keys: &keys, place: blocked.place, shares, together };
        let mut tx = self.keyspace.tx(blocked.db, self.time.now);
        if !together && !converts(on) && keys.iter().any(|key| is_held_by(&tx, key, owner)) {
            return Ok(());
        }
        check_waiting(&mut tx, waiting, &ForeignWaits::default())
    }
}

/// Whether a request waits for locks.
fn is_for_lock(on: &OnKeys) -> bool {
    on.class.line == LOCK_LINE
}

/// Whether its owner holds the lock already, and wants to hold it otherwise.
fn converts(on: &OnKeys) -> bool {
    on.class.name == conversion().name
}

/// Whether it wants all of them together.
fn wants_together(on: &OnKeys) -> bool {
    SEVERAL.contains(&on.class.name)
}

/// The locks that a request of these arguments waits for.
fn keys<'a>(on: &OnKeys, argv: &[&'a [u8]]) -> Vec<&'a [u8]> {
    on.keys.iter().map(|&key| argv[key]).collect()
}
