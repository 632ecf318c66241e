//! Deadlocks that are not detected when a lock is requested. Some involve clients that wait as Redisson does and are
//! known only from the queues of waiters. Others arise when a waiting owner is given a lock, or when a lock is taken
//! from an owner that waits for it again.

use super::control::WaitControl;
use super::state::Retry;
use crate::locks::graph::{Waiting, check_foreign, closed_cycle};
use crate::locks::{LOCK_LINE, SEVERAL, shares, wait_events};
use crate::spec::{Args, CommandError, OnKeys};
use lockwheel_store::keyspace::{Place, WaiterId};

/// An owner whose locks have changed, with its database. It may be part of a cycle.
pub(crate) type CheckedOwner = (usize, Box<[u8]>);

impl WaitControl<'_> {
    /// Checks that a request that is about to wait for a lock closes no cycle with waiting Redisson owners; else fails.
    pub(crate) fn check_foreign_cycles(
        &mut self,
        db: usize,
        retry: &Retry,
        args: Args<'_>,
    ) -> Result<(), CommandError> {
        let Retry::OnKeys(on) = retry else { return Ok(()) };
        let Some(label) = on.label.filter(|_| is_for_lock(on)) else { return Ok(()) };
        let (keys, place) = (keys(on, args.all()), Place::of_newcomer(on.rank));
        let (shares, together) = (shares(on.class.name), wants_together(on));
        let waiting = Waiting { owner: &args[label], keys: &keys, place, shares, together };
        let mut tx = self.keyspace.tx(db, self.clock.now());
        let checked = check_foreign(&mut tx, self.pubsub, waiting, self.lock_waits.deadlock_inferred);
        if checked.is_err() {
            on.attempt.leave(&mut tx, args);
            for key in keys {
                wait_events::left(self.keyspace, self.clock.now(), (db, key), &args[label], "cancelled");
            }
        }
        checked
    }

    /// Finds the next deadlock of an owner, `checked`, whose locks have changed while it waits: owners of what it waits
    /// for may now wait behind it. Returns the request, and the error that ends it as if it had come now.
    pub(crate) fn next_deadlock(
        &mut self,
        checked: &mut Option<CheckedOwner>,
    ) -> Option<(WaiterId, CommandError)> {
        loop {
            let (db, owner) = match checked.take() {
                Some(checked) => checked,
                None => self.keyspace.waiters.next_unchecked()?,
            };
            let cycle = closed_cycle(&self.keyspace.tx(db, self.clock.now()), &owner);
            let found =
                cycle.and_then(|(id, cycle)| Some((id, self.deadlock_error((db, &owner), id, &cycle)?)));
            if found.is_some() {
                *checked = Some((db, owner));
                return found;
            }
        }
    }

    /// Notifies listeners that a request is part of a cycle. Returns its error. `None` if it does not wait for locks.
    fn deadlock_error(
        &mut self,
        (db, owner): (usize, &[u8]),
        id: WaiterId,
        cycle: &[u8],
    ) -> Option<CommandError> {
        let blocked = self.waits.get(id)?;
        let Retry::OnKeys(on) = &blocked.retry else { return None };
        if !is_for_lock(on) {
            return None;
        }
        let mut tx = self.keyspace.tx(db, self.clock.now());
        for key in keys(on, &blocked.request.argv()) {
            wait_events::deadlock(&mut tx, key, owner, cycle);
        }
        Some(CommandError::new([b"DEADLOCK ", cycle].concat()))
    }
}

fn is_for_lock(on: &OnKeys) -> bool {
    on.class.line == LOCK_LINE
}

/// Whether a request wants all of its locks together.
fn wants_together(on: &OnKeys) -> bool {
    SEVERAL.contains(&on.class.name)
}

/// Returns the locks that a request with these arguments waits for.
fn keys<'a>(on: &OnKeys, argv: &[&'a [u8]]) -> Vec<&'a [u8]> {
    on.keys.iter().map(|&key| argv[key]).collect()
}
