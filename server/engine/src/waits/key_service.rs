//! The retries of the waiters of a signalled key, in the order of their places.

use super::control::WaitControl;
use crate::clock::{Timer, TimerKind};
use crate::locks::{self, GrantDelay};
use crate::spec::{Asking, OutOfTurn, WaitClass};
use lockwheel_store::keyspace::{Place, ReadyKey, WaiterId};
use smallvec::SmallVec;

#[derive(Debug)]
pub(crate) struct KeyService {
    ready: ReadyKey,
    /// The place of the last waiter that was retried.
    after: Place,
    /// The lines that are skipped, because the key is not of their type or did not serve their first waiter.
    passed_over: SmallVec<[&'static str; 4]>,
    out_of_turn: Option<OutOfTurn>,
    /// Whether the native waiters of a lock are held back at this instant.
    holds_back: bool,
}

impl KeyService {
    pub(crate) fn new(ready: ReadyKey, control: &mut WaitControl<'_>) -> Self {
        let holds_back = control.holds_back(&ready);
        KeyService { ready, after: Place::FRONT, passed_over: SmallVec::new(), out_of_turn: None, holds_back }
    }

    /// Returns the next waiter to retry.
    pub(crate) fn next(&mut self, control: &mut WaitControl<'_>) -> Option<(WaiterId, &'static WaitClass)> {
        let passed_over = &mut self.passed_over;
        loop {
            let queue = &control.keyspace.waiters;
            let (place, waiter) =
                queue.next_after(&self.ready, self.after, |line| !passed_over.contains(&line))?;
            self.after = place;
            let id = waiter.id;
            let Some(class) = control.waits.class_of(id) else { continue };
            let tx = control.keyspace.tx(self.ready.db, control.clock.now());
            // The key may be gone again or have another type. When that changes, it is signalled once more.
            if !(class.accepts)(tx.peek(&self.ready.key))
                || (self.holds_back && locks::can_be_held_back(class))
            {
                passed_over.push(class.line);
                continue;
            }
            return Some((id, class));
        }
    }

    /// Records that a waiter of this class was not served, and, if that is in order, no waiter behind it can be.
    pub(crate) fn was_not_served(
        &mut self,
        (id, class): (WaiterId, &'static WaitClass),
        control: &mut WaitControl<'_>,
    ) {
        if class.asking == Asking::InOrder {
            self.passed_over.push(class.line);
            control.time_retry(id);
            self.out_of_turn = self.out_of_turn.or(class.out_of_turn);
        }
    }

    /// Returns the waiters to retry in any case, because they need not queue.
    pub(crate) fn out_of_turn(&self, control: &mut WaitControl<'_>) -> Vec<WaiterId> {
        let Some(out_of_turn) = self.out_of_turn else { return Vec::new() };
        out_of_turn(
            &control.keyspace.tx(self.ready.db, control.clock.now()),
            &self.ready.key,
            self.ready.what,
        )
    }
}

impl WaitControl<'_> {
    /// Whether the native waiters of a free lock are held back at this instant because of `lock-handoff-delay`.
    fn holds_back(&mut self, ready: &ReadyKey) -> bool {
        let rule = (self.lock_waits.handoff_delay, self.clock.now());
        match locks::grant_delay(self.keyspace, self.pubsub, ready, rule) {
            GrantDelay::None => false,
            GrantDelay::Runs => true,
            GrantDelay::Begins(until_ms) => {
                let timer =
                    Timer { kind: TimerKind::GrantDelay, client: 0, order: self.keyspace.next_order() };
                self.clock.timers_mut().insert(timer, until_ms);
                true
            }
        }
    }
}
