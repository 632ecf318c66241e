//! The conductor of clock advances, on one engine or on several that share a clock.

use super::engine::Engine;
use crate::clock::{AdvanceEvent, AdvanceProgress, AdvanceStep, ClockAdvance, Due, Opening, Situation};
use crate::deadlines::ClockMoves;
use lockwheel_store::keyspace::{KeyTimer, Keyspace, Order};
use lockwheel_store::time::{Clock, ExpiryRule, Now};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Delivers the data that the engines have sent one another.
pub(crate) type Exchange<'a> = dyn FnMut(&mut [&mut Engine]) + 'a;

/// The first deadline of all engines: the index of its engine, its kind, and the microseconds until it expires.
type Found = (usize, Due, u64);

/// Advances the clock of all these engines, stopping at each deadline and where clients must react. Of equal deadlines,
/// those of the first engine fire first.
pub(crate) fn advance_together(
    nodes: &mut [&mut Engine],
    advance: &mut ClockAdvance,
    exchange: &mut Exchange<'_>,
) -> AdvanceProgress {
    let mut opening = advance.resume(&situation(nodes));
    loop {
        opening = match opening {
            Opening::Stop(progress) => return progress,
            Opening::FinishInstant(mut rest) => advance.finished_instant(go_on(nodes, &mut rest, exchange)),
            Opening::Change(change) => {
                let changed = nodes.iter_mut().try_for_each(|node| node.clock_moves().change(&change));
                advance.changed(changed)
            }
            Opening::Advance => return go_on(nodes, advance, exchange),
        }
    }
}

/// Returns the state of the clock on all engines, which then agree on the number of its resets.
fn situation(nodes: &mut [&mut Engine]) -> Situation {
    let resets = nodes.iter().map(|node| node.clock.resets()).max().unwrap_or(0);
    nodes.iter_mut().for_each(|node| node.clock.set_resets(resets));
    let clock = &nodes[0].clock;
    Situation {
        system_us: clock.system().monotonic_us,
        quiet_since_us: nodes.iter().map(|node| node.clock.quiet_since_us()).max().unwrap_or(0),
        amid: nodes.iter().find_map(|node| node.clock.amid()),
        rule: clock.rule(),
        resets,
        wall_ms: clock.now().wall_ms(),
        room_us: clock.room_us(),
    }
}

/// Continues an advance until it stops.
fn go_on(
    nodes: &mut [&mut Engine],
    advance: &mut ClockAdvance,
    exchange: &mut Exchange<'_>,
) -> AdvanceProgress {
    let is_quiet = advance.is_quiet();
    nodes.iter_mut().for_each(|node| node.keyspace.advance_quietly(is_quiet));
    let advanced = catch_unwind(AssertUnwindSafe(|| carry_out(nodes, advance, exchange)));
    let amid = advance.stopped(advanced.as_ref().ok().copied(), nodes[0].clock.now().wall_ms());
    for node in nodes {
        node.stop_advance(amid);
        node.keyspace.advance_quietly(false);
    }
    advanced.unwrap_or_else(|panic| resume_unwind(panic))
}

fn carry_out(
    nodes: &mut [&mut Engine],
    advance: &mut ClockAdvance,
    exchange: &mut Exchange<'_>,
) -> AdvanceProgress {
    let mut found = None;
    let mut event = AdvanceEvent::GoOn { is_joint: nodes.len() > 1 };
    loop {
        event = match advance.next(event) {
            AdvanceStep::ReadClock => {
                AdvanceEvent::Read(nodes[0].environment.now(&nodes[0].clock).monotonic_us)
            }
            AdvanceStep::FindDeadline => {
                found = find(nodes, advance.rule());
                let wakes = nodes.iter().map(|node| node.sessions.wakes()).sum();
                AdvanceEvent::Found { in_us: found.map(|(_, _, in_us)| in_us), wakes }
            }
            AdvanceStep::MoveBy(us) => {
                nodes.iter_mut().for_each(|node| node.clock_moves().move_by(us, advance.rule()));
                AdvanceEvent::Done
            }
            AdvanceStep::Fire(most) => fire(nodes, found, advance, most),
            AdvanceStep::RetryAfter((db, key), us) => {
                if let Some((place, ..)) = found {
                    let now = nodes[place].clock.now();
                    retry_after(&mut nodes[place].keyspace, now, (db, &key), us);
                }
                AdvanceEvent::Done
            }
            AdvanceStep::Exchange => {
                exchange(nodes);
                AdvanceEvent::Done
            }
            AdvanceStep::LeapOver(ms) => {
                nodes.iter_mut().for_each(|node| node.leap_over(ms));
                AdvanceEvent::Done
            }
            AdvanceStep::Stop(progress) => return progress,
        };
    }
}

/// Returns the first deadline of all engines under this rule; of equal ones, the first engine's.
fn find(nodes: &mut [&mut Engine], rule: ExpiryRule) -> Option<Found> {
    let of_each = nodes.iter_mut().enumerate().filter_map(|(place, node)| {
        let (first, in_us) = node.schedule().first_reachable(rule)?;
        Some((place, first.due, in_us))
    });
    of_each.min_by_key(|(_, _, in_us)| *in_us)
}

fn fire(
    nodes: &mut [&mut Engine],
    found: Option<Found>,
    advance: &mut ClockAdvance,
    most: usize,
) -> AdvanceEvent {
    let Some((place, due, _)) = found else {
        return AdvanceEvent::Fired { deadlines: 0, renewed: 0, has_served: false };
    };
    let node = &mut nodes[place];
    let (served, renewed) = (node.observers.stats.unblocked_clients, node.clock.renewed_leases());
    let deadlines = node.fire(due, advance.rule(), most, |fired| advance.see(fired));
    AdvanceEvent::Fired {
        deadlines,
        renewed: node.clock.renewed_leases() - renewed,
        has_served: node.observers.stats.unblocked_clients != served,
    }
}

/// Postpones the retry of a key's waiters to the end of an advance, this many microseconds ahead.
fn retry_after(keyspace: &mut Keyspace, now: Now, (db, key): (usize, &[u8]), us: u64) {
    let mut tx = keyspace.tx(db, now);
    let end_ms = tx.now().wall_ms().saturating_add_unsigned(us / 1000);
    if tx.retry_at_ms(key).is_some_and(|at_ms| at_ms <= end_ms) {
        let after_ms = end_ms.saturating_add(1);
        tx.set_key_timer(key, KeyTimer::Retry, Some((after_ms, Order::default())));
    }
}

impl Engine {
    /// Advances both clocks, stopping at each deadline, which fires at its own instant, and where clients must react.
    pub fn continue_advance(&mut self, advance: &mut ClockAdvance) -> AdvanceProgress {
        advance_together(&mut [self], advance, &mut |_| ())
    }

    /// Moves everything that recurs forever this many milliseconds ahead.
    fn leap_over(&mut self, ms: u64) {
        self.client_timers().renew_leases_for(ms);
        if let Some(sentinel) = &mut self.sentinel {
            sentinel.leap(ms, self.clock.monotonic_timers(&mut self.keyspace));
        }
        if let Some(cluster) = self.cluster.as_deref_mut() {
            cluster.leap(ms, self.clock.monotonic_timers(&mut self.keyspace));
        }
    }

    /// Returns the clock, with the parts that follow its moves.
    pub(crate) fn clock_moves(&mut self) -> ClockMoves<'_> {
        let is_recorded = self.config.lock_history && self.member.place() == 0;
        ClockMoves { clock: &mut self.clock, keyspace: &mut self.keyspace, is_recorded }
    }

    /// Handles the stop of an advance; `amid`: within an instant. Deadlines still due are hidden until it continues.
    fn stop_advance(&mut self, amid: Option<ExpiryRule>) {
        self.clock.stop_advance(amid);
        let rule = amid.or_else(|| (!self.key_deadlines().expire).then(|| self.clock.rule()));
        self.set_expiry_backlog(rule.map(|rule| rule.until_ms(self.clock.now().wall_ms())));
    }

    /// Moves the clock of a server that hung to that of the others. Deadlines passed meanwhile fire now, in pieces. If
    /// a client of this server changed the clock before the hang, all servers follow that change.
    pub fn catch_up(&mut self, clocks: &Clock, system: Now) {
        let before = self.clock.now();
        if self.clock.amid().is_some() || self.clock.is_behind() {
            // Its clients have seen these keys expire, and the others' clock may have been set back since.
            self.fire_due(usize::MAX, self.clock.rule());
        }
        self.clock.catch_up(clocks, system, self.member.has_changed_clock());
        self.go_on_at(system);
        self.clock_moves().note_moved(before);
    }
}
