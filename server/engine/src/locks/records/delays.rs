//! The delays of locks that were just lost. During the delay nobody gets the lock.

use super::super::ledger::Delay;
use lockwheel_store::keyspace::Context;
use std::collections::VecDeque;

/// The delays that are to begin, in the order of their follow-ups.
#[derive(Debug, Default)]
pub(super) struct Delays {
    delays: VecDeque<(usize, Box<[u8]>, Delay)>,
    /// The number of delays that have no follow-up yet.
    untold: usize,
}

impl Delays {
    pub(super) fn begin(&mut self, db: usize, key: &[u8], delay: Delay) {
        self.delays.push_back((db, key.into(), delay));
        self.untold += 1;
    }

    /// Removes and returns the next delay that is to begin: its database, its key, and its length.
    pub(super) fn next(&mut self) -> Option<(usize, Box<[u8]>, Delay)> {
        self.delays.pop_front()
    }

    /// Asks for the follow-ups of delays that have none yet.
    #[inline]
    pub(super) fn tell(&mut self, context: &mut Context<'_>) {
        if self.untold > 0 {
            self.tell_all(context);
        }
    }

    #[cold]
    fn tell_all(&mut self, context: &mut Context<'_>) {
        let told = self.delays.len() - std::mem::take(&mut self.untold);
        for (_, key, _) in self.delays.iter().skip(told) {
            context.follow_up(key.clone(), Box::default());
        }
    }

    /// Exchanges the delays of two databases. O(n).
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        for (db, ..) in self.delays.iter_mut().filter(|(db, ..)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
    }
}
