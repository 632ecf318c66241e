//! The ledger's subscribers: history, connections' leases, news, delays, and warnings before leases end.

use super::super::events::{HoldNews, News};
use super::super::history::{Event, History};
use super::super::ledger::{BegunHold, Delay, EndedHold, LedgerSubscriber, ReleaseCause};
use super::super::redisson;
use super::super::session_leases::SessionLeases;
use super::delays::Delays;
use lockwheel_store::keyspace::{Change, Context, EntryId, KeyTimer};
use lockwheel_store::time::Now;

#[derive(Debug, Default)]
pub(super) struct LedgerSubscribers {
    pub(super) history: Option<Box<History>>,
    /// The holds, and whatever else is leased, that last as long as a connection.
    pub(super) leases: SessionLeases,
    /// News of holds, with the connections that are notified.
    pub(super) news: News,
    pub(super) delays: Delays,
    /// The rest of a lease at which the owner is warned, in milliseconds; 0 for no warning.
    pub(super) jeopardy_ms: i64,
}

impl LedgerSubscriber for LedgerSubscribers {
    #[inline(always)]
    fn begun(&mut self, hold: &BegunHold<'_>, context: &mut Context<'_>) {
        let &BegunHold { place: (db, key, at), owner, grant, declared, now } = hold;
        if self.history.is_some() {
            let what = (Event::Acquired, None, declared);
            self.record_grant(what, (db, key, at), owner, grant, now, context);
        }
        if self.news.is_wanted() {
            let hold = HoldNews { db, key, owner: redisson::owner_of(owner), grant: grant.number };
            self.news.begun(&hold, grant.native);
        }
        if context.is_waited_for(key) {
            self.waits_again((db, key), owner, context);
        }
        if self.jeopardy_ms > 0 {
            self.watch_lease(key, at, now, context);
        }
    }

    #[inline(always)]
    fn ended(&mut self, change: &Change<'_>, hold: &EndedHold<'_>, context: &Context<'_>) {
        let &EndedHold { owner, grant, cause, delay, is_waited_for } = hold;
        let &Change { db, key, .. } = change;
        if let Some(delay) = delay {
            self.delays.begin(db, key, delay);
        }
        if !self.leases.is_empty() {
            self.leases.end(grant.number);
        }
        if self.history.is_some() {
            self.record_end(change, owner, grant, cause, delay.map(|Delay { ms, .. }| ms));
        }
        if is_waited_for {
            self.waits_again((db, key), owner, context);
        }
        if self.news.is_wanted() {
            let hold = HoldNews { db, key, owner: redisson::owner_of(owner), grant: grant.number };
            self.news.ended(&hold, cause.name());
            if cause == ReleaseCause::Deleted && is_delete(change) {
                self.news.lint((db, key), hold.owner, "bare-delete");
            }
        }
    }

    fn converted(&mut self, (db, key): (usize, &[u8]), to: &[u8], context: &Context<'_>) {
        if context.is_waited_for(key) {
            self.waits_again((db, key), to, context);
        }
    }
}

impl LedgerSubscribers {
    /// Sets the timer that warns the owners of a lock when little of its lease is left.
    #[cold]
    pub(super) fn watch_lease(&mut self, key: &[u8], at: EntryId, now: Now, context: &mut Context<'_>) {
        // A script that is taking the lock sets its lease next. The lease is checked after the script.
        let near_ms = context.deadline(at).map(|deadline| deadline.saturating_sub(self.jeopardy_ms));
        context.set_key_timer(key, KeyTimer::Jeopardy, near_ms.unwrap_or(now.wall_ms()));
    }

    /// Notes that an owner now holds an awaited key, or no longer: its own waits may close a cycle now.
    #[cold]
    #[inline(never)]
    fn waits_again(&mut self, (db, key): (usize, &[u8]), owner: &[u8], context: &Context<'_>) {
        let owner = redisson::owner_of(owner);
        if context.waits_as(db, owner) {
            self.news.hold_changed(db, key, owner);
        }
    }

    pub(super) fn flushed(&mut self, db: usize) {
        self.leases.flushed(db);
        self.news.flushed(db);
    }

    /// Exchanges the facts about two databases. O(all facts).
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        self.leases.swapped(one, other);
        self.news.swapped(one, other);
        self.delays.swapped(one, other);
    }

    pub(super) fn is_quiet(&self) -> bool {
        let follows = self.history.is_some() || self.jeopardy_ms > 0;
        let is_for_sessions = !self.leases.is_empty() || self.news.has_connections();
        !(follows || is_for_sessions)
    }
}

/// Whether a client's command removes the keys or fields that it names, and does not flush a database.
fn is_delete(change: &Change<'_>) -> bool {
    const DELETES: [&[u8]; 4] = [b"del", b"unlink", b"getdel", b"hdel"];
    let name = change.actor.command.first().copied().unwrap_or_default();
    DELETES.iter().any(|delete| name.eq_ignore_ascii_case(delete))
}
