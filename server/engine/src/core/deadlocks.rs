//! Deadlocks that no request for a lock sees when it comes: with those who wait as Redisson does, whom only the engine
//! knows, and by a lock that is given to an owner that waits for another, or taken from one that waits for it.

use super::dispatch::Unfinished;
use super::engine::{Engine, Retry};
use crate::locks::graph::{Waiting, check_foreign, closed_cycle};
use crate::locks::{HistoryCause, LOCK_LINE, SEVERAL, shares, wait_events};
use crate::spec::{Args, CommandError, OnKeys};
use lockwheel_store::keyspace::{Place, WaiterId};

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
        let (keys, place) = (keys(on, args.all()), Place::of_newcomer(on.rank));
        let (shares, together) = (shares(on.class.name), wants_together(on));
        let waiting = Waiting { owner: &args[label], keys: &keys, place, shares, together };
        let mut tx = self.keyspace.tx(db, self.clock.now());
        let checked = check_foreign(&mut tx, &self.pubsub, waiting, self.config.lock_waits.deadlock_inferred);
        if checked.is_err() {
            on.attempt.leave(&mut tx, args);
            for key in keys {
                wait_events::left(&mut self.keyspace, self.clock.now(), (db, key), &args[label], "cancelled");
            }
        }
        checked
    }

    /// Owners that wait have been given locks, or have lost such that they wait for again. Those who hold what they
    /// wait for may wait behind them now: such a request ends with an error, as if it came now. Whether any has ended.
    pub(super) fn end_closed_cycles(&mut self) -> bool {
        let mut has_ended = false;
        while let Some((db, owner)) = self.keyspace.waiters.next_unchecked() {
            while let Some((id, cycle)) = closed_cycle(&self.keyspace.tx(db, self.clock.now()), &owner)
                && self.end_in_deadlock((db, &owner), id, &cycle)
            {
                has_ended = true;
            }
        }
        has_ended
    }

    /// Ends the wait of a request that is in a cycle; whether it waited for locks.
    fn end_in_deadlock(&mut self, (db, owner): (usize, &[u8]), id: WaiterId, cycle: &[u8]) -> bool {
        let Some(blocked) = self.parked.get(id) else { return false };
        let Retry::OnKeys(on) = &blocked.retry else { return false };
        if !is_for_lock(on) {
            return false;
        }
        let mut tx = self.keyspace.tx(db, self.clock.now());
        for key in keys(on, &blocked.request.argv()) {
            wait_events::deadlock(&mut tx, key, owner, cycle);
        }
        let error = CommandError::new([b"DEADLOCK ", cycle].concat());
        self.cancel_wait_as(id, &error, HistoryCause::Deadlock)
    }
}

/// Whether a request waits for locks.
fn is_for_lock(on: &OnKeys) -> bool {
    on.class.line == LOCK_LINE
}

/// Whether it wants all of them together.
fn wants_together(on: &OnKeys) -> bool {
    SEVERAL.contains(&on.class.name)
}

/// The locks that a request of these arguments waits for.
fn keys<'a>(on: &OnKeys, argv: &[&'a [u8]]) -> Vec<&'a [u8]> {
    on.keys.iter().map(|&key| argv[key]).collect()
}
